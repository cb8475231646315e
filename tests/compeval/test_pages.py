"""Run the commands of README.md, of the three guides in docs/ and of other pages, in this process, on a tiny world.

Blocks after ``<!-- needs a download -->`` are not run; of these, only the names of commands and options are checked.
"""

import csv
import json
import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from typer.testing import CliRunner

from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA
from compeval.base.storage.dataset import write_config
from compeval.cli import app
from compeval.generators.microworld.build import Params, build
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from tests.compeval.conftest import Demo
from tests.evaluators import tiny
from tests.evaluators.chat_server import ChatModel, serve
from tests.evaluators.tiny_vlms import write_vlm
from tests.hub_server import Repositories
from tests.rows import hard_negative_row, picture
from tests.trainers import toy

ROOT = Path(__file__).parents[2]
PAGES = ("evaluate-my-model", "splits-for-my-corpus", "hard-negatives-for-training", "my-own-data")
OTHER_PAGES = (
    "benchmark-flaws",
    "reports",
    "add-a-benchmark",
    "add-to-the-micro-world",
    "api",
    "architecture",
    "benchmarks",
    "cli",
    "concepts",
    "crepe-on-visual-genome",
    "first-steps",
    "install",
    "many-models",
    "papers",
    "security",
    "versioned-data",
    "versions",
)
"""The commands of crepe-on-visual-genome are run by tests/test_paper_preset.py."""
WORLD = Params(seed=3, test_images=20, train_images=6, train_size=64, annotation_recall=0.9)
DOWNLOAD = "<!-- needs a download -->"
RUN_BY_CI = ("pip", "make", "dvc", "uv")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(\w+)\n([\s\S]*?)^```$|((?:^    \S.*\n)+)", re.MULTILINE)


def read_blocks(page: str) -> list[tuple[str, str, bool]]:
    """Return language and text of each code block of a page, and whether it needs a download.

    Indented blocks contain shell commands. Comments behind commands are removed.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        (
            match[1] or "sh",
            match[2] or re.sub(r"  +#.*", "", match[3]),
            text[: match.start()].rstrip().endswith(DOWNLOAD),
        )
        for match in BLOCK.finditer(text)
    ]


def run(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, *arguments = shlex.split(line)
    if program == "compeval":
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, f"{line}\n{result.output}"
        return
    assert (program, arguments[0]) == ("python", "-m"), line
    monkeypatch.setattr(sys, "argv", arguments[1:])
    with pytest.raises(SystemExit) as end:
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    assert end.value.code in (0, None), line


def run_page(
    page: str, monkeypatch: pytest.MonkeyPatch, replaced: Mapping[str, str] | None = None
) -> int:
    """Run all commands and snippets of a page and return their number. ``replaced`` are replaced in commands."""
    count = 0
    for language, text, needs_download in read_blocks(page):
        if language == "yaml":
            params = yaml.safe_load(
                Path("params.yaml").read_text(encoding="utf-8")
            ) | yaml.safe_load(text)
            Path("params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
        elif language == "python" and text.startswith("# my_model.py"):
            write_my_model(text, monkeypatch)
        elif language == "python":
            exec(compile(text, page, "exec"), {})
            count += 1
        elif language == "sh" and not needs_download:
            lines = [
                line.strip() for line in text.splitlines() if shlex.split(line)[0] not in RUN_BY_CI
            ]
            count += len(lines)
            for line in lines:
                if "annotate import" in line:
                    answer_all(Path("to_label/items.csv"), Path("downloads/anna.csv"))
                for old, new in (replaced or {}).items():
                    line = line.replace(old, new)
                run(line, monkeypatch)
    return count


def write_my_model(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("my_model.py").write_text(text, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "my_model", raising=False)


def write_pairs(folder: Path) -> list[str]:
    """Write four pictures and ``pairs.csv``, a table with them. Returns the names of the pictures."""
    names = [picture(folder / "val2017", number).name for number in range(4)]
    lines = [f"{name},a cup {number},\"['a hat']\"" for number, name in enumerate(names)]
    (folder / "pairs.csv").write_text(
        "\n".join(["image,caption,hard_negatives", *lines]) + "\n", encoding="utf-8"
    )
    return names


def answer_all(form: Path, output: Path) -> None:
    """Fill in a form with the answer "false" for all items."""
    with form.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with output.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows([row | {"answer": "false"} for row in rows])


@pytest.fixture
def world(tmp_path: Path, clip: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Working directory like a checkout, with a trained model and a dataset."""
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "downloads" / "val2017").mkdir(parents=True)
    (tmp_path / "checkpoints" / "clip-laion-s0").symlink_to(clip)
    (tmp_path / "models.txt").write_text(
        "local:checkpoints/clip-laion-s0  # tiny\n", encoding="utf-8"
    )
    shutil.copy2(ROOT / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def write_dataset() -> None:
    tiny.write_dataset(
        Path(), {"prod_hnatom": {"n4": tiny.choice_rows(5, 3), "n5": tiny.choice_rows(4, 3)}}
    )


@pytest.mark.parametrize(
    ("page", "number"),
    [
        ("README.md", 10),
        ("docs/install.md", 1),
        ("docs/first-steps.md", 5),
        ("docs/papers.md", 0),
        ("docs/concepts.md", 0),
        ("docs/many-models.md", 4),
    ],
)
def test_the_commands_of_a_page(
    page: str, number: int, world: Path, demo: Demo, monkeypatch: pytest.MonkeyPatch
):
    write_dataset()
    write_pairs(world / "downloads")
    shutil.copytree(demo.folder, "compeval-demo")
    assert run_page(page, monkeypatch, {"compeval demo": "compeval --version"}) == number


def test_evaluate_my_model(world: Path, monkeypatch: pytest.MonkeyPatch):
    write_dataset()
    write_my_model(tiny.MODELS + "\nMyModel = Knows\n", monkeypatch)
    names = write_pairs(world / "downloads")
    pairs = {
        str(n): {"filename": name, "caption": "a b", "negative_caption": "b a"}
        for n, name in enumerate(names)
    }
    (world / "downloads" / "swap_obj.json").write_text(json.dumps(pairs), encoding="utf-8")
    write_vlm("internvl", world / "checkpoints" / "my-vlm")
    with serve(ChatModel()) as server:
        addresses = {"http://localhost:8000/v1": server.url_for("/v1")}
        assert run_page(f"docs/{PAGES[0]}.md", monkeypatch, addresses) == 17
    assert "nan" not in Path("my_report/report.md").read_text(encoding="utf-8")
    assert Path("my_report/index.html").is_file()
    assert "data:image/jpeg;base64," in Path("mine_report/index.html").read_text(encoding="utf-8")


def test_splits_for_my_corpus(world: Path, monkeypatch: pytest.MonkeyPatch):
    source = world / "downloads" / "visual_genome"
    build(source, WORLD, workers=1)
    (source / "VG_100K_2").mkdir()
    shutil.copy2(next((source / "VG_100K").iterdir()), source / "VG_100K_2" / "9999.jpg")
    (world / "downloads" / "captions").mkdir()
    phrases = [
        region["phrase"]
        for image in json.loads((source / "region_descriptions.json").read_text(encoding="utf-8"))[
            :10
        ]
        for region in image["regions"]
    ]
    (world / "downloads" / "captions" / "a.tsv").write_text(
        "\n".join(["caption", *phrases]) + "\n", encoding="utf-8"
    )
    params = yaml.safe_load((world / "params.yaml").read_text(encoding="utf-8"))
    params["crepe_systematicity"] |= {"workers": 1, "at_least": 1}
    (world / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    assert run_page(f"docs/{PAGES[1]}.md", monkeypatch) == 11
    stats = json.loads(Path("crepe/stats.json").read_text(encoding="utf-8"))
    # A config may have no rows.
    assert set(map(tuple, stats["sources"].values())) - {()} == {("visual_genome",)}
    assert stats["rows"]["mine_sc_raw"]["test"] > 0
    assert stats["rows"]["mine_sc_raw"]["test"] + stats["rows"]["mine_uc_raw"]["test"] + stats[
        "rows"
    ]["mine_ua_raw"]["test"] == sum(1 for _ in _regions())


def _regions():
    from compeval.generators.crepe_regions import FOLDER, read_negatives

    return (row for row in read_negatives(FOLDER, ["repeated"]) if not row["repeated"])


def test_hard_negatives_for_training(
    world: Path, hub_server: Repositories, monkeypatch: pytest.MonkeyPatch
):
    toy.write_karpathy(world / "downloads")
    folder = world / "crepe"
    rows = [hard_negative_row(world, number) for number in range(4)]
    write_config(folder, "prod_hnatom", {"n4": rows}, HARD_NEGATIVE_SCHEMA)
    write_card(folder, {"license": "mit"}, "", measure(folder) | {"source": "microworld"})
    assert run_page(f"docs/{PAGES[2]}.md", monkeypatch) == 8
    assert Path("sample/annotations/crepe/answers/anna.csv").is_file()
    mined = pq.read_table("my_negatives").to_pylist()
    assert len(mined) == 19, "one of 20 images has only a caption without two exchangeable parts"
    assert all(row["neighbours"] and row["captions"][0]["negatives"] for row in mined)
    assert "prod_hnatom/n4-00000-of-00001.parquet" in hub_server.files["my-name/microworld-crepe"]


@pytest.mark.usefixtures("few_trees", "one_process")
def test_my_own_data(world: Path, monkeypatch: pytest.MonkeyPatch):
    names = write_pairs(world / "downloads")
    texts = [
        "a black dog on a white couch",
        "a red car on a street",
        "a young boy next to a small horse",
        "a cat on a bed",
    ]
    lines = [f"{name},{text}" for name, text in zip(names, texts, strict=True)]
    (world / "downloads" / "captions.csv").write_text(
        "\n".join(["file_name,text", *lines]) + "\n", encoding="utf-8"
    )
    (world / "downloads" / "corpus").mkdir()
    # A wrong caption is usual: the corpus has its words in the same places.
    usual = [
        f"a {first} {animal} on a {second} {place}"
        for first in ("black", "white", "brown", "red")
        for second in ("black", "white", "brown", "red")
        for animal in ("dog", "cat", "horse")
        for place in ("couch", "bed", "street")
    ]
    (world / "downloads" / "corpus" / "a.txt").write_text(
        "\n".join([*texts[:2], "a boy", "a young horse", "a small cat", *usual]), encoding="utf-8"
    )
    trained = {"compeval-demo/clip-laion-s0": "checkpoints/clip-laion-s0"}
    assert run_page(f"docs/{PAGES[3]}.md", monkeypatch, trained) == 14
    assert "Own data" in Path("mine_report/report.md").read_text(encoding="utf-8")
    assert Path("sample/annotations/mine/answers/anna.csv").is_file()


def test_no_guide_runs_help_commands():
    assert not [
        text for page in PAGES for _, text, _ in read_blocks(f"docs/{page}.md") if "--help" in text
    ]


def test_index_lists_all_pages():
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\((\S+?)\.md\)", text)) == {*PAGES, *OTHER_PAGES}
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} == {*PAGES, *OTHER_PAGES, "index"}


@pytest.mark.parametrize(
    "page", ["README.md", *(f"docs/{name}.md" for name in (*PAGES, *OTHER_PAGES, "index"))]
)
def test_commands_exist(page: str):
    """Marked blocks: the command and its options exist. make and dvc: the target and the stage exist."""
    targets = re.findall(
        r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    for language, text, needs_download in read_blocks(page):
        for line in text.strip().splitlines() if language == "sh" else ():
            program, *arguments = shlex.split(line)
            if program == "make":
                assert set(arguments) <= set(targets), line
            elif re.match("dvc (repro|pull)", line.strip()):
                assert {
                    name for name in arguments[1:] if not name.startswith("experiments/")
                } <= set(stages), line
            elif program == "compeval" and needs_download:
                result = CliRunner().invoke(app, [*arguments, "--help"])
                assert result.exit_code == 0, f"{line}\n{result.output}"


def test_links_of_the_readme_and_of_pages_exist():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            if not re.match(r"https?:|#", target):
                assert (page.parent / target.partition("#")[0]).exists(), f"{page.name}: {target}"
