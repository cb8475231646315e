import csv
import io
import json
import os
import subprocess
import sys
import time
from importlib.metadata import version
from itertools import permutations
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import compeval
from compeval.base.files.cache_folder import cache_folder
from compeval.base.text_only.score_cache import ScoreCache
from compeval.cli import app, console
from compeval.cli.audit import write_malformed
from compeval.loaders.malformed import Finding
from tests.evaluators import tiny
from tests.rows import picture

KNOWS = "python:toy_models:Knows"


def call(*arguments: object) -> Result:
    """Call ``compeval`` with the arguments."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run_toy(data: Path, name: str = "Knows", *options: object) -> Result:
    """Evaluate a toy model on ``crepe/prod_hnatom``."""
    return call(
        "run",
        "--model",
        f"python:toy_models:{name}",
        "--data",
        data,
        "--task",
        "crepe/prod_hnatom",
        *options,
    )


def test_run_prints_metric_interval_and_chance(here: Path, data: Path):
    result = run_toy(data)
    assert result.exit_code == 0
    line = next(line for line in result.stdout.splitlines() if "crepe/prod_hnatom/n4" in line)
    assert [cell.strip() for cell in line.strip("│").split("│")] == [
        "crepe/prod_hnatom/n4",
        "5",
        "100.0",
        "43.9 to 100.0",  # Wilson, 3 of 3 images
        "25.0",
        "25.0 no negation word",  # best of the text-only baselines, all at chance
    ]
    assert result.stdout.lstrip().startswith("Knows"), "the model is the title"
    assert "hnatom: one object, attribute or relation is replaced" in result.stderr
    assert "Synthetic data" in result.stderr
    assert Path("results/microworld/Knows/crepe/prod_hnatom/n4.json").is_file()


def test_default_tasks_are_those_of_the_models_corpus_without_raw_tasks(
    here: Path, data: Path, clip: Path
):
    result = call("run", "--model", f"local:{clip}", "--data", data, "--json")
    assert [item["task"] for item in json.loads(result.stdout)] == [
        "crepe/laion_uc_hnatom",
        "crepe/prod_hnatom/n4",
        "crepe/prod_hnatom/n5",
    ]


def test_model_without_a_supported_task(here: Path, data: Path):
    Path("toy_recoverer.py").write_text(
        "class Echo:\n    fingerprint = 'echo'\n    def __init__(self, device): ...\n"
        "    def recover(self, texts): return texts\n",
        encoding="utf-8",
    )
    result = call("run", "--model", "python:toy_recoverer:Echo", "--data", data)
    assert (result.exit_code, result.stdout) == (2, "")
    assert (
        "None of the 6 tasks here is for Echo. crepe/cc12m_uc_hnatom: Echo encodes no images."
        in result.stderr
    )


def test_ctrl_c_exits_with_130(here: Path, data: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("compeval.evaluators.run.score_all", interrupt)
    result = run_toy(data)
    assert result.exit_code == 130
    assert "run the same command again to continue" in result.stderr
    monkeypatch.undo()


def test_list_tasks_configs_and_models(here: Path, data: Path, clip: Path):
    assert call("list", "tasks", "--data", data).stdout.splitlines()[0] == "crepe/cc12m_uc_hnatom"
    configs = json.loads(call("list", "configs", "--data", data, "--json").stdout)
    assert configs[0] == {"config": "crepe/cc12m_uc_hnatom", "split": "test", "rows": 7}
    Path("checkpoints").mkdir()
    Path("checkpoints/clip-laion").symlink_to(clip)
    models = call("list", "models").stdout.splitlines()
    assert models[0] == "local:checkpoints/clip-laion"
    assert "ViT-B-32/laion400m_e32" in models


def test_show_and_compare(here: Path, data: Path):
    run_toy(data)
    run_toy(data, "Constant")
    shown = call("show", "results/microworld/Knows")
    assert "crepe/prod_hnatom/n5" in shown.stdout
    compared = call("compare", *(f"results/microworld/{name}" for name in ("Constant", "Knows")))
    assert "-10.1 to +100.0" in compared.stdout
    assert call("compare", "results/microworld").stdout == compared.stdout, "a folder of models"


def test_results_that_are_read_again_are_named(here: Path, data: Path):
    run_toy(data)
    again = run_toy(data)
    assert "up to date: computed 20" in again.stderr
    assert "--no-cache computes them again" in again.stderr
    # A test before this one may have imported the module, from its own folder.
    file = Path(str(sys.modules["toy_models"].__file__))
    before = file.stat().st_mtime
    os.utime(file, (time.time() + 60, time.time() + 60))
    message = "toy_models.py has changed since, but not the fingerprint of the class"
    changed = run_toy(data)
    os.utime(file, (before, before))
    assert message in " ".join(changed.stderr.split())


def test_markup_in_a_model_name_is_printed_as_it_is(here: Path, data: Path):
    num_rows = len(pq.read_table(next(data.glob("crepe/prod_hnatom/n4-*.parquet"))))
    scores = pa.table({"row": list(range(num_rows)), "scores": [[0.9, 0.1, 0.2, 0.3]] * num_rows})
    pq.write_table(scores, "scores.parquet")
    result = call(
        "score",
        "scores.parquet",
        "--task",
        "crepe/prod_hnatom/n4",
        "--name",
        "run[/x/y]",
        "--data",
        data,
    )
    assert "run[/x/y]" in result.stdout


def test_cache_info_and_prune(here: Path, data: Path):
    run_toy(data)
    ScoreCache(cache_folder(), "a language model").score(["a red cup"], lambda texts: [[0.5]])
    names = [file["file"] for file in json.loads(call("cache", "info", "--json").stdout)["files"]]
    assert len(names) == 2
    assert "a language model.scores.sqlite" in names
    assert "Deleted 0 files" in call("cache", "prune").stdout
    assert "Deleted 2 files" in call("cache", "prune", "--days", 0).stdout
    assert json.loads(call("cache", "info", "--json").stdout)["files"] == []


def test_no_cache_stores_results_and_no_features(here: Path, data: Path):
    assert run_toy(data, "Knows", "--no-cache").exit_code == 0
    assert len(list(Path("results").rglob("*.parquet"))) == 2
    assert not list(cache_folder().glob("*.features.sqlite"))
    again = run_toy(data, "Knows", "--no-cache")
    assert "up to date" not in again.stderr, "stored results are not read"


def test_baselines_are_measured_if_they_are_shown(here: Path, data: Path):
    run_toy(data, "Knows", "--json")
    folder = cache_folder() / "text_only"
    assert not folder.exists()
    run_toy(data)
    assert len(list(folder.iterdir())) == 2, "one file for each of the two tasks"


def test_help_imports_no_heavy_library():
    heavy = {
        "torch",
        "datasets",
        "open_clip",
        "transformers",
        "pandas",
        "pyarrow",
        "numpy",
        "jinja2",
    }
    code = (
        "import sys; from typer.testing import CliRunner; from compeval.cli import app;"
        "assert CliRunner().invoke(app, ['run', '--help']).exit_code == 0;"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout == "[]\n"


def test_mistakes_are_found_before_torch_is_imported(tmp_path: Path, data: Path):
    run = ["run", "--data", str(data), "--output", str(tmp_path / "results"), "--tasks"]
    task = "crepe/prod_hnatom/n4"
    (tmp_path / "file").touch()
    commands = [
        [*run, task, "local:nowhere"],
        [*run, task, "ViT-B-32/openay"],
        [*run, task, "ViT-B-33/openai"],
        [*run, task, "python:nowhere:X"],
        [*run, task, "transformers:./nowhere"],
        [*run, task, "ViT-B-32/openai"],
        [*run, task, "ViT-B-32/openai", "--device", "gpu"],
        [*run, "crep/*", "ViT-B-32/openai"],
        [*run, task, "ViT-B-32/openai", "--output", str(tmp_path / "file")],
        ["compare", "nowhere", "nowhere"],
        ["report", "nowhere"],
        ["inspect", "nowhere"],
        [
            "train",
            "negclip",
            "--model",
            "local:nowhere",
            "--data",
            "nowhere",
            "--output",
            str(tmp_path),
        ],
        ["probe", "run", "local:nowhere"],
        ["validate", "ViT-B-32/openai", "--results", str(tmp_path / "file")],
    ]
    code = (
        "import sys; from typer.testing import CliRunner; from compeval.cli import app\n"
        f"for command in {commands}:\n"
        "    code = CliRunner().invoke(app, command).exit_code\n"
        "    if code != 2 or 'torch' in sys.modules: sys.exit(f'{code}: {command}')"
    )
    offline = os.environ | {
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "HF_HOME": str(tmp_path / "hub"),
        "no_proxy": "*",
    }
    process = subprocess.run(
        [sys.executable, "-c", code], env=offline, capture_output=True, text=True
    )
    assert process.stderr == ""


def test_report_prints_its_path_and_headline(
    here: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    def build(folders: list[Path], output: Path, *_: object) -> str:
        output.mkdir()
        (output / "index.html").write_text(str(folders), encoding="utf-8")
        return "Seen beats unseen."

    monkeypatch.setattr("compeval.evaluators.report.build", build)
    for name in ("a", "b"):
        Path(f"results/{name}").mkdir(parents=True)
    written = call("report", "results/a", "results/b")
    assert (
        written.stdout
        == call("report", "--show-last").stdout
        == "Seen beats unseen.\n\nThe report: report/index.html\n"
    )


def test_audit_counts_unreadable_rows_of_a_file(tmp_path: Path):
    path = tmp_path / "swap_obj.json"
    row = {"filename": "1.jpg", "caption": "a b", "negative_caption": "b a"}
    path.write_text(json.dumps([row, row, {"caption": "a b"}, {}]), encoding="utf-8")
    result = call("audit", path, "--json")
    assert {name: audit["rows"] for name, audit in json.loads(result.stdout).items()} == {
        "swap_obj.json": 2
    }
    assert (
        f"{path}: 2 of 4 rows cannot be read and are not counted (2 fields are missing)."
        in result.stderr
    )
    path.write_text(json.dumps([row]), encoding="utf-8")
    assert call("audit", path, "--json").stderr == ""


def test_audit_of_two_files_with_the_same_name(tmp_path: Path):
    row = {"filename": "1.jpg", "caption": "a b", "negative_caption": "b a"}
    files = [tmp_path / folder / "swap_obj.json" for folder in "ab"]
    for number, file in enumerate(files, 1):
        file.parent.mkdir()
        file.write_text(json.dumps([row] * number), encoding="utf-8")
    audits = json.loads(call("audit", *files, "--json").stdout)
    assert {name: audit["rows"] for name, audit in audits.items()} == {
        "swap_obj.json": 1,
        f"{files[1]}: swap_obj.json": 2,
    }


def test_the_audit_has_one_verdict(here: Path):
    """The truth differs from each negative in one word, negatives differ in two: the truth is the medoid."""
    words = ("red", "blue", "green", "black", "white", "grey", "pink", "brown")
    picture(here, 1)
    rows = []
    for number, (first, second, third) in enumerate(permutations(words, 3)):
        truth = [first, second, third, "cup"]
        wrong = [
            " ".join([*truth[:place], f"x{number}", *truth[place + 1 :]]) for place in range(4)
        ]
        rows.append({"image": "1.jpg", "caption": " ".join(truth), "hard_negatives": wrong})
    Path("pairs.json").write_text(json.dumps(rows), encoding="utf-8")
    call("make", "mine", "pairs.json")
    result = call("audit", "mine", "--data", ".")
    assert "text-only baseline" in result.stdout
    assert "1 of 1 sets have flaws, or cues to the correct caption in the texts." in result.stderr
    (audit,) = json.loads(call("audit", "mine", "--data", ".", "--json").stdout).values()
    assert "cues" in audit["verdict"]
    assert any("selects the caption in 100.0% of rows" in found for found in audit["findings"])


def test_json_and_csv_of_the_audit_contain_what_the_tables_show(here: Path):
    """All 12 negatives repeat a word, which is a flaw, and *fewest words* selects all captions."""
    words = (
        "red",
        "blue",
        "green",
        "black",
        "white",
        "grey",
        "pink",
        "gold",
        "new",
        "old",
        "big",
        "wet",
    )
    rows = []
    for number, word in enumerate(words):
        picture(here, number)
        negative = f"{word} {word} cup"
        rows.append(
            {"image": f"{number}.jpg", "caption": f"{word} cup", "hard_negatives": [negative]}
        )
    Path("pairs.json").write_text(json.dumps(rows), encoding="utf-8")
    call("make", "mine", "pairs.json")
    (audit,) = json.loads(call("audit", "mine", "--data", ".", "--json").stdout).values()
    assert audit["verdict"] == "flaws and cues"
    assert "12 negatives are malformed (doubled word)" in audit["findings"]
    example = {"row": 0, "detail": "red red"}
    assert audit["malformed"] == {"doubled word": {"negatives": 12, "rows": 12, "example": example}}
    assert (audit["baseline"]["name"], audit["baseline"]["recall"]) == ("fewest words", 1)
    assert audit["baseline"]["beats_chance"]
    recalls = audit["baseline"]["recalls"]
    assert (recalls["fewest words"], recalls["most words"]) == (1, 0)
    printed = call("audit", "mine", "--data", ".", "--format", "csv").stdout
    lines = list(csv.DictReader(io.StringIO(printed)))
    assert {line["verdict"] for line in lines} == {"flaws and cues"}
    values = {(line["kind"], line["name"]): float(line["value"]) for line in lines}
    assert values["baseline", "fewest words"] == 1
    assert values["malformed", "doubled word"] == 12


def test_formulas_in_malformed_texts_are_escaped(tmp_path: Path):
    write_malformed(
        tmp_path / "a.csv", {"d/c": [Finding(3, 1, "doubled word", "a a", "=A1", "=A1 a a")]}
    )
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["set"], row["row"], row["caption"], row["text"]) == ("d/c", "3", "'=A1", "'=A1 a a")


def test_version_and_short_help():
    assert call("--version").stdout == f"compeval {compeval.__version__}\n"
    assert compeval.__version__ == version("compeval")
    for command in ((), ("run",), ("annotate", "sample"), ("cache", "info")):
        assert call(*command, "-h").stdout == call(*command, "--help").stdout


def test_the_model_is_an_argument_or_an_option(here: Path, data: Path):
    tasks = ("--tasks", "crepe/prod_hnatom/n5,crepe/prod_hnatom/n4", "--data", data, "--json")
    outputs = [
        call("run", *model, *tasks).stdout
        for model in ([KNOWS], ["--model", KNOWS], ["-m", KNOWS], [f"--model={KNOWS}"])
    ]
    assert len(set(outputs)) == 1
    assert [result["task"] for result in json.loads(outputs[0])] == [
        "crepe/prod_hnatom/n4",
        "crepe/prod_hnatom/n5",
    ]


def test_short_options_limit_and_quiet(here: Path, data: Path):
    result = run_toy(data, "Knows", "-n", 2, "-q", "--json")
    assert [item["data"]["limit"] for item in json.loads(result.stdout)] == [2, 2]
    assert result.stderr == ""
    assert "Synthetic data" in run_toy(data, "Knows", "-n", 2).stderr
    # Errors are printed in any case.
    assert run_toy(data, "Broken", "-q").stderr.startswith("Error: Broken: ")


def test_csv_has_one_line_per_metric_and_markdown_is_a_table(here: Path, data: Path):
    lines = list(csv.DictReader(run_toy(data, "Knows", "--format", "csv").stdout.splitlines()))
    recall = [line for line in lines if line["metric"] == "recall@1"]
    assert [
        (line["model"], line["task"], line["rows"], line["value"], line["chance"])
        for line in recall
    ] == [
        ("Knows", "crepe/prod_hnatom/n4", "5", "1.0", "0.25"),
        ("Knows", "crepe/prod_hnatom/n5", "4", "1.0", "0.25"),
    ]
    assert {"recall@1", "recall@3", "mean_rank", "tie_rate"} <= {line["metric"] for line in lines}
    shown = call("show", "results", "--format", "md").stdout.splitlines()
    assert shown[2] == "| crepe/prod_hnatom/n4 | Knows | 5 | 100.0 | 43.9 to 100.0 | 25.0 |"


def test_long_results_are_summarised(here: Path, tmp_path: Path):
    splits = {f"n{number}": tiny.choice_rows(3, 3) for number in range(4, 13)}
    variants = {
        "test" + suffix: tiny.choice_rows(2, 3)
        for suffix in ("", *(f".mix.s{seed}" for seed in range(12)))
    }
    data = tiny.write_dataset(tmp_path / "data", {"prod_hnatom": splits, "coco": variants})
    result = call("run", KNOWS, "--data", data)
    cells = [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in result.stdout.splitlines()
        if "│" in line
    ]
    assert [line[:5] for line in cells] == [
        ["crepe/coco", "1", "100.0", "", "25.0"],
        ["crepe/coco@mix", "12", "100.0", "100.0 to 100.0", "25.0"],
        ["crepe/prod_hnatom", "9", "100.0", "100.0 to 100.0", "25.0"],
    ]
    command = "compeval show results/microworld/Knows"
    assert f"Means over 22 tasks. `{command}` prints each task with its interval." in result.stderr
    shown = call(*command.split()[1:]).stdout
    tasks = [line.split("│")[1].strip() for line in shown.splitlines() if "│" in line]
    variants = [f"crepe/coco@mix-s{seed}" for seed in range(12)]
    assert list(dict.fromkeys(tasks)) == [
        "crepe/coco",
        *variants,
        *(f"crepe/prod_hnatom/n{number}" for number in range(4, 13)),
    ]


def test_nine_tasks_are_a_table_with_intervals_and_text_only_baselines(here: Path, tmp_path: Path):
    splits = {f"n{number}": tiny.choice_rows(3, 3) for number in range(4, 13)}
    data = tiny.write_dataset(tmp_path / "data", {"prod_hnatom": splits})
    result = call("run", KNOWS, "--data", data, "--format", "md")
    header, _, *lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in result.stdout.splitlines()
    ]
    assert header == [*("task", "model", "rows", "%", "95 % interval", "chance", "text-only %")]
    tasks = [f"crepe/prod_hnatom/n{number}" for number in range(4, 13)]
    assert [line[:4] for line in lines] == [[task, "Knows", "3", "100.0"] for task in tasks]
    assert all(" to " in line[4] and line[6].split()[0] for line in lines)
    folder = "results/microworld/Knows"
    shown = call("show", folder, "--data", data, "--format", "md").stdout
    assert shown == result.stdout
    asked = call("show", folder, "--all-metrics", "--format", "md").stdout.splitlines()
    assert len(asked) == 2 + 2 * 9
    records = csv.DictReader(
        io.StringIO(call("show", folder, "--data", data, "--format", "csv").stdout)
    )
    found = {row["task"]: row["text_only"] for row in records if row["metric"] == "recall@1"}
    assert [f"{100 * float(found[task]):.1f}" for task in tasks] == [
        line[6].split()[0] for line in lines
    ]


def test_refused_tasks_are_named_and_the_others_run(here: Path, data: Path):
    result = call(
        "run",
        "python:toy_models:Pairs",
        "--data",
        data,
        "--tasks",
        "crepe/laion_uc_raw,crepe/prod_hnatom",
    )
    assert result.exit_code == 1
    assert {line.split()[1] for line in result.stdout.splitlines() if "│" in line} == {
        "crepe/prod_hnatom/n4",
        "crepe/prod_hnatom/n5",
    }
    assert (
        "Not evaluated: crepe/laion_uc_raw: recall needs a score for each of 16 pairs"
        in result.stderr
    )
    assert Path("results/microworld/Pairs/crepe/prod_hnatom/n5.json").is_file()


@pytest.mark.parametrize("what", ["datasets", "configs"])
def test_an_empty_list_says_how_to_make_a_dataset(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "none").mkdir()
    monkeypatch.chdir(tmp_path)
    result = call("list", what, "--data", "none")
    assert (result.exit_code, result.stdout.strip()) == (0, "")
    assert "No dataset was found in none." in result.stderr
    assert "`compeval make`" in result.stderr


def test_tasks_of_a_glob_that_a_model_cannot_do_are_skipped(here: Path, data: Path):
    command = ("run", "python:toy_models:Pairs", "--data", data, "--task")
    result = call(*command, "crepe/*")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count("Skipped crepe/laion_uc_raw: recall needs a score for each of") == 1
    assert "Not evaluated" not in result.stderr
    # A name without a glob is a demand.
    assert call(*command, "crepe/*,crepe/laion_uc_raw").exit_code == 1
    nothing = call(*command, "crepe/*_raw")
    assert nothing.exit_code == 2
    assert "scores pair by pair" in nothing.stderr


def test_results_whose_data_is_not_here_say_why_they_have_no_baseline(here: Path, data: Path):
    run_toy(data)
    shown = call("show", "results")
    assert "text-only" not in shown.stdout
    assert "No text-only baselines of crepe: the data is not here. --data names" in shown.stderr
    assert "No text-only baselines" not in call("show", "results", "--data", data).stderr


def test_a_set_of_one_picture_does_not_end_the_run(here: Path, tmp_path: Path):
    Path("one.png").write_bytes(tiny.picture("red"))
    Path("one.csv").write_text(
        "image,caption,hard_negatives\none.png,a red cup,\"['a blue cup']\"\n", encoding="utf-8"
    )
    assert call("make", "mine", "one.csv", "--output", "made").exit_code == 0
    result = call("run", KNOWS, "--data", "made")
    assert result.exit_code == 1
    assert "mine/foils_1" in result.stdout
    message = "Not evaluated: mine/captions: retrieval needs a wrong candidate for each image and each caption"
    assert message in result.stderr
    assert "--limit" not in result.stderr


def test_the_name_of_a_model_in_the_results(here: Path, data: Path, clip: Path):
    for options, name in (((), clip.name), (("--name", "run 7"), "run 7")):
        call("run", f"local:{clip}", *options, "--data", data, "--tasks", "crepe/prod_hnatom/n4")
        result = json.loads(
            Path(f"results/microworld/{name}/crepe/prod_hnatom/n4.json").read_text(encoding="utf-8")
        )
        assert result["model"]["name"] == name


def test_variants_have_one_spelling(here: Path, tmp_path: Path):
    splits = {name: tiny.choice_rows(3, 3) for name in ("test", "test.shuffle_trigrams.s0")}
    data = tiny.write_dataset(tmp_path / "data", {"coco_order": splits}, "aro")
    names = ["aro/coco_order", "aro/coco_order@shuffle_trigrams-s0"]
    assert call("list", "tasks", "--data", data).stdout.splitlines() == names
    configs = json.loads(call("list", "configs", "--data", data, "--json").stdout)
    assert [line["split"] for line in configs] == ["test", "test@shuffle_trigrams-s0"]
    assert list(json.loads(call("audit", "aro", "--data", data, "--json").stdout)) == names
    for pattern, expected in (("aro/coco_order", names[:1]), ("aro/coco_order@*", names[1:])):
        results = json.loads(call("run", KNOWS, "--data", data, "-t", pattern, "--json").stdout)
        assert [result["task"] for result in results] == expected


@pytest.mark.parametrize(
    ("speed", "text"), [(1354.4, "1,354/s"), (2.51, "2.5/s"), (0.156, "6.4 s each")]
)
def test_rate_of_a_progress_bar(speed: float, text: str):
    assert console.format_rate(speed) == text


def test_progress_in_a_log(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Where stderr is no terminal, a line says how far a stage is; the first one after ``LOG_SECONDS``."""
    now = 1000.0
    monkeypatch.setattr("compeval.cli.console.time.monotonic", lambda: now)
    with console.progress() as report:
        report("images", 0, 1200)
        now += console.LOG_SECONDS - 1
        report("images", 500, 1200)
        assert capsys.readouterr().err == ""
        now += 1
        report("images", 1024, 1200)
        report("images", 1025, 1200)
        lines = capsys.readouterr().err.splitlines()
        assert [line.partition(", ")[0] for line in lines] == ["images: 1,024 of 1,200"]
        now += console.LOG_SECONDS
        report("texts", 7, None)
        assert capsys.readouterr().err.splitlines() == ["texts: 7"]
