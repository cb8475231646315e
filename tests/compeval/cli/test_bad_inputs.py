"""Bad inputs at the command line, and the message of each: never a traceback, and nothing is written."""

import logging
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from compeval.cli import app
from compeval.loaders.benchmarks import read_sources
from tests.evaluators import tiny

KNOWS = "python:toy_models:Knows"
ATOM = "crepe/prod_hnatom/n4"
FILES = {
    "a.txt": "x",
    "a.csv": "a,b\n1,2\n",
    "empty.csv": "",
    "empty.txt": "\n",
    "broken.json": "{",
    "list.json": "[1, 2]",
    "scores.csv": "row,scores\n0,0.5\n",
    "missing.csv": "image,caption\nnothere.png,a cup\n",
    "outside.csv": "image,caption\n../../etc/passwd,a cup\n",
    "no_picture.csv": "image,caption\na.txt,a cup\n",
    "one_item.csv": "id,answer\nx,maybe\n",
    "no_methods.py": "class M:\n    def __init__(self, device): ...\n",
    "odd_fingerprint.py": "class M:\n    fingerprint = 7\n",
    "boom.py": "raise RuntimeError('no weights')\n",
    "needs.py": "import not_installed\n",
    "fails.py": "class M:\n    def __init__(self, device): raise OSError('no such weights')\n",
}
NO_LOCAL = (
    "/open_clip_config.json: not found. A local model is a folder with open_clip_config.json and "
    "open_clip_model.safetensors; `dvc repro train` trains the models of the micro-world."
)
NO_DATASET = (
    "No dataset was found in {}. Download a published one with `compeval get NAME`, make one of your own "
    "captions with `compeval make`, build one with `dvc repro`, or name its folder with --data."
)
ONE_MODEL = "Name one model, for example ViT-B-32/openai; {} `compeval list models` lists models."
FILE_NAME = (
    "cannot be used as a file name: it has to begin with a letter, a digit or an underscore, without slashes, and have "
    "at most 200 characters."
)
NOT_PUBLISHED = (
    "not recognised as a published file, neither by its name nor by its content. It has "
)
OTHERWISE = (
    r"\. Give it its published name, or name the benchmark: `compeval import NAME {0}`\. "
    r"Captions of your own become a dataset with `compeval make NAME {0} --images FOLDER`\. "
    r"Known benchmarks: amber, aro_"
)
SOURCES = f"Known: {', '.join(sorted(read_sources()))}."
NO_SAMPLE = "notes/crepe/items.csv: no sample. Draw a sample with `compeval annotate sample`."
NOT_JSON = "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
DATASET_NAME = "cannot be the name of a dataset: use letters of the English alphabet, digits, '_', '-' and '.'."

ERRORS = {
    "run": ONE_MODEL.format("got none."),
    f"run {KNOWS} --model other --name x DATA": f"--name names one model; got 2: {KNOWS}, other.",
    "run --model a --model b --name x DATA": "--name names one model; got 2: a, b.",
    "run ViT-B-32/openay": "Unknown open_clip weights of ViT-B-32: neither a tag nor a file, 'openay'. Did you mean "
    "openai? `compeval list models` lists them all.",
    "run ViT-B-23/openai": "Unknown open_clip architecture 'ViT-B-23'. Did you mean ViT-B-32 or ViT-S-32 or ViT-M-32? "
    "`compeval list models` lists them all. Other models begin with api:, hf-hub:, local:, python:, "
    "sentence-transformers:, transformers: or vlm:.",
    "run locl:x": "Unknown model backend 'locl'. Did you mean local? Known: api, hf-hub, local, open_clip, "
    "python, sentence-transformers, transformers, vlm.",
    "run :x": "Unknown model backend ''. Known: api, hf-hub, local, open_clip, python, sentence-transformers, "
    "transformers, vlm.",
    "run local:": "Model 'local:' has no name after local:.",
    "run local:nowhere DATA": f"nowhere{NO_LOCAL}",
    "run local:empty DATA": f"empty{NO_LOCAL}",
    "run python:toy_models DATA": "python:toy_models: expected python:module:Class.",
    "run python:nomodule:M DATA": "python:nomodule:M: No module named 'nomodule'. The current folder and PYTHONPATH "
    "are searched.",
    "run python:toy_models.py:Knows DATA": "python:toy_models.py:Knows: expected a module, not a file. Did you mean "
    "python:toy_models:Knows?",
    "run python:./toys/models.py:Knows DATA": "python:./toys/models.py:Knows: expected a module, not a file. Did you "
    "mean python:toys.models:Knows?",
    "run python:/toys/models.py:Knows DATA": "python:/toys/models.py:Knows: expected a module, not a file. Add its "
    "folder to PYTHONPATH, and name it without the folder.",
    "run python:needs:M DATA": "python:needs:M: needs imports not_installed, which is not installed.",
    "run python:toy_models:Nope DATA": "python:toy_models:Nope: toy_models has no Nope.",
    "run python:no_methods:M DATA": "python:no_methods:M: has no encode_image. A model needs encode_image and "
    "encode_text, or score, or recover.",
    "run python:odd_fingerprint:M DATA": "python:odd_fingerprint:M: its fingerprint is 7, a string expected that "
    "changes with the weights.",
    "run python:boom:M DATA": "python:boom:M: importing boom failed (RuntimeError: no weights). --verbose prints the "
    "traceback.",
    "run python:fails:M --device cpu DATA": "python:fails:M: M('cpu') failed (OSError: no such weights). --verbose "
    "prints the traceback.",
    "run python:toy_models:NoTexts DATA": "python:toy_models:NoTexts: has no encode_text. A model needs encode_image "
    "and encode_text, or score, or recover.",
    f"run {KNOWS} --tasks , DATA": f"No task is given. Name at least one task or glob, for example {ATOM}.",
    f"run {KNOWS} --tasks crepe/prod_hnatm DATA": "Unknown task 'crepe/prod_hnatm'. Did you mean crepe/prod_hnatom/n4 "
    "or crepe/laion_uc_hnatom? `compeval list tasks` lists all 3.",
    f"run {KNOWS} --tasks {ATOM},aro/x DATA": "Unknown task 'aro/x'. `compeval list tasks` lists all 3. "
    "--data, or data_dir, names the folder of other datasets.",
    f"run {KNOWS} --tasks {ATOM}@s0 DATA": f"Unknown task '{ATOM}@s0'. Did you mean {ATOM} or crepe/laion_uc_hnatom? "
    "`compeval list tasks` lists all 3.",
    f"run {KNOWS} --data nowhere": "nowhere: no such folder. --data, or data_dir, is the folder that contains the "
    "datasets.",
    f"run {KNOWS} --data empty": NO_DATASET.format("empty"),
    f"run {KNOWS} --device cuda:99 DATA": r"Device 'cuda:99' cannot be used \(.*\). Try --device cpu.",
    f"run {KNOWS} --output a.txt --tasks {ATOM} DATA": "a.txt: nothing can be written there (a.txt is a "
    "file). Choose another --output.",
    f"run {KNOWS} --tasks crep/* DATA": r"Unknown task 'crep/\*'. Did you mean crepe/\*\? .*",
    f"run {KNOWS} --tasks prod_* DATA": r"Unknown task 'prod_\*'. Did you mean \*/prod_\*\? .*",
    f"run {KNOWS} --device gpu DATA": "Device 'gpu' cannot be used (expected cpu, cuda, mps or, of several devices, "
    "cuda:1). Try --device cpu.",
    "report nowhere": "nowhere: no such result. `compeval run` writes results to results/.",
    f"run {KNOWS} --name .. --tasks {ATOM} DATA": f"'..' {FILE_NAME}",
    f"run {KNOWS} -n 1 --tasks crepe/laion_uc_raw DATA": "crepe/laion_uc_raw: retrieval needs a wrong candidate for "
    "each image and each caption, and some image or caption of the 1 rows has none. Use more images with different "
    "captions.",
    "run python:toy_models:Pairs --tasks crepe/laion_uc_raw DATA": "crepe/laion_uc_raw: recall needs a score for each "
    "of 16 pairs, and Pairs scores pair by pair. Choose tasks with a few candidates per row.",
    f"run -q python:toy_models:Broken --tasks {ATOM} DATA": "Broken: 20 of 20 text features are zero, infinite or not "
    "a number. Check the weights; in 16 bits, try fp32 (--precision).",
    "list tasks --data nowhere": "nowhere: no such folder. --data, or data_dir, is the folder that contains the "
    "datasets.",
    "show": "results: no such result. `compeval run` writes results to results/.",
    "show nowhere": "nowhere: no such result. `compeval run` writes results to results/.",
    "show emty/clip": r"emty/clip: no such result. Did you mean empty/clip\? `compeval run` writes "
    "results to results/.",
    "show empty": "empty: no result files. `compeval run` writes them to results/.",
    "show broken.json": f"broken.json: not a result document ({NOT_JSON}).",
    "show list.json": "list.json: not a result document of schema 1.",
    "compare nowhere nowhere": "nowhere: no such result. `compeval run` writes results to results/.",
    "compare empty": "Name the result folders of two or more models; got 1.",
    "compare a b c --by-category": "Name the result folders of two models; got 3.",
    "power": "Name the result folders of two models, or --agreement, for example --agreement 90.",
    "power empty": "Name either the result folders of two models, or --agreement with or without --rows.",
    "power --agreement 99 --difference 2": "A difference of 2 points needs models that disagree on at least as many "
    "percent of the rows; got 1 %.",
    "compare empty empty": "empty: no result documents. `compeval run` writes results to results/.",
    f"score nowhere.csv --task {ATOM} --name x DATA": "nowhere.csv: no such file.",
    f"score a.txt --task {ATOM} --name x DATA": "a.txt: unknown file type; supported: .parquet, .csv, .tsv, .jsonl.",
    f"score a.csv --task {ATOM} --name x DATA": "a.csv: no column row, scores; its columns are a, b.",
    f"score scores.csv --task {ATOM} --name x DATA": f"scores.csv: row 1 occurs 0 times; {ATOM} has rows 0 to 4, "
    "and each must occur once.",
    "score scores.csv --task * --name x DATA": "'*' matches 3 tasks; a file contains the scores of one task.",
    "score scores.csv --task crepe/laion_uc_raw --name x DATA": "crepe/laion_uc_raw: only tasks whose rows are scored "
    "independently can be scored from a file.",
    "validate": ONE_MODEL.format("got none."),
    "validate nobody/none": r"nobody/none: no published scores. Models with .* scores: .*, .*; \d+ in all\.",
    "validate ViT-B-32/openai --results empty": r"empty: no result of ViT-B-32/openai on a published dataset. "
    r"\d+ scores on .*aro_published, .*Import the files with `compeval import`, .*",
    "report --show-last": "report/index.html: no such report. `make demo` or `compeval report` writes one.",
    "import nowhere.csv --images empty": "nowhere.csv: no such file.",
    "import a.csv --images empty": rf"a.csv: {NOT_PUBLISHED}the columns a, b{OTHERWISE.format('a.csv')}.*winoground\.",
    "audit nowhere DATA": "Unknown dataset 'nowhere'. Known: crepe.",
    "audit a.txt DATA": rf"a.txt: {NOT_PUBLISHED}no items that can be read{OTHERWISE.format('a.txt')}.*winoground\.",
    "make ../../escape missing.csv": f"'../../escape' {FILE_NAME}",
    "make a,b missing.csv": f"'a,b' {DATASET_NAME}",
    "make a@b missing.csv": f"'a@b' {DATASET_NAME}",
    "make mine nowhere.csv": "nowhere.csv: no such file.",
    "make mine a.csv": "a.csv, row 1: no column image, caption; its columns are a, b. Name them with --image-column, "
    "--caption-column, --negative-columns and --kind-column.",
    "make mine empty.csv": "empty.csv: no rows found.",
    "make mine a.txt": "a.txt: unknown file type; supported: .csv, .tsv, .jsonl, .json, .tar, .tar.gz.",
    "make mine broken.json": f"broken.json: broken JSON ({NOT_JSON}).",
    "make mine latin.csv": "latin.csv: not in UTF-8. Save it as CSV UTF-8.",
    "make mine missing.csv": "missing.csv, row 1: image nothere.png not found. Restore it, or set the folder "
    "with --images.",
    "make mine outside.csv": "outside.csv, row 1: '../../etc/passwd' does not name a file below the folder '.'.",
    "make mine no_picture.csv": "a.txt: not a readable image (cannot identify image file).",
    "make empty no_picture.csv": "a.txt: not a readable image (cannot identify image file).",
    "make mine a.tar --caption-column text": "a.tar: a shard has neither columns nor a folder of images: it contains "
    "the images, with their captions in .txt files. Leave out these options.",
    "push crep org/x DATA": "Unknown dataset 'crep'. Did you mean crepe? Known: crepe.",
    "push crepe org/x DATA": "org/x: crepe is generated from the micro-world, a synthetic replacement for real images, "
    "and its name must contain microworld, for example org/microworld-crepe.",
    "push crepe microworld DATA": "'microworld' is not ORG/NAME, for example ORG/microworld-crepe.",
    "push crepe org/microworld..crepe DATA": r"'org/microworld..crepe' is not ORG/NAME \(.*\)\.",
    "annotate sample crep DATA": "Unknown dataset 'crep'. Did you mean crepe? Known: crepe.",
    "annotate export crepe --output forms --annotations notes DATA": NO_SAMPLE,
    "annotate import crepe one_item.csv --annotations notes": NO_SAMPLE,
    "annotate report crepe --annotations notes": NO_SAMPLE,
    "sources get visual_genom": f"Unknown source 'visual_genom'. Did you mean visual_genome? {SOURCES}",
    "sources check nothing": f"Unknown source 'nothing'. {SOURCES}",
    "examples nowhere.txt": "nowhere.txt: no such file. Write one class name per line.",
    "examples empty.txt": "empty.txt: no class in the file. Write one class name per line.",
    "examples a.txt --ask": "--ask: set --model (and --base-url for an endpoint other than OpenAI).",
    "examples a.txt --ask --model m": "The cost is unknown, because the endpoint has no price_in and price_out (per "
    "million tokens; 0 for a free endpoint). Set them in params.yaml, captioner, or with --price-in and --price-out.",
    "make d pairs.csv --negatives atom --ask": "--ask and --base-url need --model, the name of the language model.",
    "make d pairs.csv --negatives atom --ask --model m": "OPENAI_API_KEY is not set. Export it, or use the "
    "cached answers.",
    "make d pairs.csv --model m": "--model writes hard negatives: name their kinds with --negatives.",
    "examples a.txt --ask --model m --price-in 9 --price-out 9": "the estimated cost 0.01 is above --max-cost "
    "0.00. No request was sent.",
    "probe run local:nowhere DATA": f"nowhere{NO_LOCAL}",
    f"probe run {KNOWS} DATA": f"{KNOWS} is not a probe. Train a probe with `compeval train probe`.",
    "train negclip --model ViT-B-32/openai --data nowhere.json --output x": "nowhere.json: not found.",
    "train probe --text-encoder local:nowhere DATA": f"nowhere{NO_LOCAL}",
}
"""Command -> its message. DATA stands for --data and the folder of a small dataset. A message with ``.*`` or a
backslash is a regular expression."""

IGNORED = {
    f"run {KNOWS} --max-requests 5 DATA": ("--max-requests", "without a model api:"),
    f"run {KNOWS} --precision fp16 DATA": (
        "--precision",
        "on models api: and python:, which choose their own",
    ),
    "import a.csv --drop-equal": ("--drop-equal", "without the name of a column"),
    "import a.csv --image-column a --repair --skip-missing": (
        "--repair, --skip-missing",
        "on tables of your own",
    ),
    "import a.csv --image-column a --json": ("--format", "on tables of your own"),
    "make mine a.csv --corpus a.txt --graphs list.json": (
        "--corpus, --graphs",
        "without --negatives",
    ),
    "make mine a.csv --no-refine --workers 2": ("--no-refine, --workers", "without --negatives"),
    "make mine a.csv --negatives atom --corpus-column 1": ("--corpus-column", "without --corpus"),
    "get sugarcrepe --partial": ("--partial", "without --from"),
    "get sugarcrepe --from empty --refresh": ("--refresh", "with --from"),
    "compare empty empty --by-category DATA": ("--data", "with --by-category"),
    "compare empty empty empty --all-metrics": ("--all-metrics", "on more than two models"),
    "power --agreement 90 --rows 100 --difference 3": (
        "--difference",
        "with --rows, which prints the smallest one",
    ),
    "validate ViT-B-32/openai --no-run --device cpu": ("--device", "with --no-run"),
    "report --show-last --rows 5 --counts empty": ("--counts, --rows", "with --show-last"),
    "examples a.txt --price-in 1 --max-cost 2": ("--price-in, --max-cost", "without --ask"),
    "examples a.txt --base-url http://x": ("--base-url", "without --model"),
    "list models DATA": ("--data", "on models"),
    "train probe --text-encoder ViT-B-32/openai --column 1 DATA": ("--column", "without --text"),
    "train autoencoder --text a.txt --captions 50 DATA": ("--captions", "with --text"),
    "train negclip --model a --data empty --images empty --output x": (
        "--images",
        "on webdataset shards",
    ),
}
"""Command -> its options that have no effect, and why."""

UNWRITABLE = {
    "audit a.txt --csv a.txt/b.csv DATA": "--csv",
    "balance a.csv --output a.txt/b.yaml": "--output",
    f"probe run {KNOWS} --summary a.txt DATA": "--summary",
    "compare empty empty --disagreements a.txt": "--disagreements",
    "sources get coco --output a.txt": "--output",
}
ERRORS |= {
    command: f"{options} have no effect {reason}; remove them."
    if ", " in options
    else f"{options} has no effect {reason}; remove it."
    for command, (options, reason) in IGNORED.items()
}
ERRORS |= {
    command: f"a.txt: nothing can be written there (a.txt is a file). Choose another {option}."
    for command, option in UNWRITABLE.items()
}
ERRORS["audit a.txt --csv empty DATA"] = "empty is a folder. Name a file: --csv."

USAGE_ERRORS = {
    "ruin": "No such command 'ruin'. Did you mean 'run', 'train'?",
    f"run {KNOWS} extra": "Got unexpected extra argument(s) (extra)",
    f"run {KNOWS} --nonsense": "No such option: --nonsense",
    f"run {KNOWS} -n 0": "Invalid value for '--limit' / '-n': Input should be greater than or equal to 1",
    f"run {KNOWS} -n x": "Invalid value for '--limit' / '-n': Input should be a valid integer",
    f"run {KNOWS} --batch-size 0": "Invalid value for '--batch-size': Input should be greater than or equal to 1",
    f"run {KNOWS} --precision fp8": "'fp8' is not one of 'auto', 'fp32', 'bf16', 'fp16'.",
    f"run {KNOWS} --format xml": "'xml' is not one of 'table', 'csv', 'md', 'latex', 'json'.",
    f"run {KNOWS} --on-error ignore": "'ignore' is not one of 'stop', 'skip'.",
    "list taks": "'taks' is not one of 'datasets', 'benchmarks', 'models', 'tasks', 'configs'.",
    f"score scores.csv --task {ATOM}": "Missing option '--name'.",
    "make mine": "Missing argument 'files'.",
    "annotate sample crepe --queries 2": "Invalid value for '--queries': Input should be less than or equal to 1",
    "cache prune --days -1": "Invalid value for '--days': Input should be greater than or equal to 0",
    "examples a.txt --count 0": "Invalid value for '--count': Input should be greater than or equal to 1",
}
"""Command -> message of the parser, which prints the usage as well."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    configs = {
        "laion_uc_hnatom": {"test": tiny.choice_rows(6)},
        "laion_uc_raw": {"test": tiny.raw_rows(4)},
        "prod_hnatom": {"n4": tiny.choice_rows(5, 3)},
    }
    return tiny.write_dataset(tmp_path_factory.mktemp("data"), configs)


@pytest.fixture
def folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with bad files."""
    for name, content in FILES.items():
        Path(name).write_text(content, encoding="utf-8")
    Path("latin.csv").write_bytes("image,caption\nmüller.png,a\n".encode("latin-1"))
    Path("empty").mkdir()
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr("compeval.loaders.datasets.folders.CHECKOUT", here / "no checkout")
    return here


def call(command: str, data: Path) -> tuple[int, str]:
    """Return the exit code and the messages of a command. Asserts that it wrote nothing and raised no exception."""
    before = sorted(Path().rglob("*"))
    arguments = [
        part
        for word in command.split()
        for part in (("--data", str(data)) if word == "DATA" else (word,))
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    assert result.stdout == ""
    new = [
        path
        for path in Path().rglob("*")
        if path not in before and path.is_file() and path.suffix != ".pyc"
    ]
    assert new == []
    # An empty progress display prints a line break.
    return result.exit_code, result.stderr.lstrip("\n")


@pytest.mark.parametrize(("command", "message"), ERRORS.items(), ids=list(ERRORS))
def test_message(folder: Path, data: Path, command: str, message: str):
    code, stderr = call(command, data)
    assert code == 2
    if ".*" in message or "\\" in message:
        assert re.fullmatch(f"Error: {message}\n", stderr, re.DOTALL), stderr
    else:
        assert stderr == f"Error: {message}\n"


@pytest.mark.parametrize(("command", "message"), USAGE_ERRORS.items(), ids=list(USAGE_ERRORS))
def test_usage_message(folder: Path, data: Path, command: str, message: str):
    code, stderr = call(command, data)
    assert code == 2
    assert "Usage: " in stderr
    assert message in stderr


def test_push_without_a_network_is_one_message(
    folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    code, stderr = call("push crepe org/microworld-crepe DATA", data)
    assert (code, stderr) == (
        2,
        "Error: org/microworld-crepe: the Hub at http://127.0.0.1:9 cannot be reached ([Errno 111] Connection "
        "refused). Check the network.\n",
    )


def test_verbose_prints_the_traceback(folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch):
    # --verbose adds one that writes to the runner's closed stream.
    monkeypatch.setattr(logging.root, "handlers", [])
    result = CliRunner().invoke(app, ["run", "python:boom:M", "--verbose", "--data", str(data)])
    assert "raise RuntimeError('no weights')" in result.stderr
    assert result.stderr.endswith("--verbose prints the traceback.\n")
