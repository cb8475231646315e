"""Run all commands of the three guides in docs/, in this process, on a tiny micro-world."""

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

from compeval.cli import app
from generators.microworld.build import Params, build
from generators.schemas.rows import HARD_NEGATIVE_SCHEMA
from generators.storage.dataset import write_config
from loaders.cards.card import write_card
from loaders.datasets.stats import measure
from tests.evaluators import tiny
from tests.evaluators.chat_server import ChatModel, serve
from tests.evaluators.tiny_vlms import write_vlm
from tests.hub_server import Repositories
from tests.rows import hard_negative_row, picture
from tests.trainers import toy

ROOT = Path(__file__).parents[2]
PAGES = ("evaluate-my-model", "splits-for-my-corpus", "hard-negatives-for-training")
OTHER_PAGES = (
    "add-a-benchmark",
    "add-to-the-micro-world",
    "api",
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
)
"""The commands of crepe-on-visual-genome are run by tests/test_paper_preset.py, and those of the others by
test_front_pages.py."""
WORLD = Params(seed=3, test_images=20, train_images=6, train_size=64, annotation_recall=0.9)
BLOCK = re.compile(r"^```(\w+)\n([\s\S]*?)^```$|((?:^    \S.*\n)+)", re.MULTILINE)


def read_blocks(page: str) -> list[tuple[str, str]]:
    """Return the language and the text of each code block of a page. Indented blocks contain shell commands."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    return [(match[1] or "sh", match[2] or match[3]) for match in BLOCK.finditer(text)]


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


def run_page(page: str, monkeypatch: pytest.MonkeyPatch, addresses: Mapping[str, str] | None = None) -> int:
    """Run all commands and snippets of a page and return their number. ``addresses`` are replaced in commands."""
    count = 0
    for language, text in read_blocks(page):
        if language == "yaml":
            params = yaml.safe_load(Path("params.yaml").read_text()) | yaml.safe_load(text)
            Path("params.yaml").write_text(yaml.safe_dump(params))
        elif language == "python":
            exec(compile(text, page, "exec"), {})
            count += 1
        else:
            for line in text.strip().splitlines():
                if "annotate import" in line:
                    answer_all(Path("to_label/items.csv"), Path("downloads/anna.csv"))
                for address, local in (addresses or {}).items():
                    line = line.replace(address, local)
                run(line.strip(), monkeypatch)
                count += 1
    return count


def answer_all(form: Path, output: Path) -> None:
    """Fill in a form with the answer "false" for all items."""
    with form.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with output.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows([row | {"answer": "false"} for row in rows])


@pytest.fixture
def world(tmp_path: Path, clip: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Working directory like a checkout, with a trained model."""
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "downloads" / "val2017").mkdir(parents=True)
    (tmp_path / "checkpoints" / "clip-laion-s0").symlink_to(clip)
    shutil.copy2(ROOT / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_evaluate_my_model(world: Path, monkeypatch: pytest.MonkeyPatch):
    tiny.write_dataset(world, {"prod_hnatom": {"n4": tiny.choice_rows(5, 3), "n5": tiny.choice_rows(4, 3)}})
    (world / "my_model.py").write_text(tiny.MODELS + "\nMyModel = Knows\n")
    monkeypatch.delitem(sys.modules, "my_model", raising=False)
    images = world / "downloads" / "val2017"
    names = [picture(images, number).name for number in range(4)]
    pairs = {str(n): {"filename": name, "caption": "a b", "negative_caption": "b a"} for n, name in enumerate(names)}
    (world / "downloads" / "swap_obj.json").write_text(json.dumps(pairs))
    lines = [f"{name},a cup {number},\"['a hat']\"" for number, name in enumerate(names)]
    (world / "downloads" / "pairs.csv").write_text("\n".join(["image,caption,hard_negatives", *lines]) + "\n")
    write_vlm("internvl", world / "checkpoints" / "my-vlm")
    with serve(ChatModel()) as server:
        addresses = {"http://localhost:8000/v1": server.url_for("/v1")}
        assert run_page(PAGES[0], monkeypatch, addresses) == 16
    assert "nan" not in Path("my_report/report.md").read_text()
    assert Path("my_report/index.html").is_file()
    assert "data:image/jpeg;base64," in Path("mine_report/index.html").read_text()


def test_splits_for_my_corpus(world: Path, monkeypatch: pytest.MonkeyPatch):
    source = world / "downloads" / "visual_genome"
    build(source, WORLD, workers=1)
    (source / "VG_100K_2").mkdir()
    shutil.copy2(next((source / "VG_100K").iterdir()), source / "VG_100K_2" / "9999.jpg")
    (world / "downloads" / "captions").mkdir()
    phrases = [
        region["phrase"]
        for image in json.loads((source / "region_descriptions.json").read_text())[:10]
        for region in image["regions"]
    ]
    (world / "downloads" / "captions" / "a.tsv").write_text("\n".join(["caption", *phrases]) + "\n")
    params = yaml.safe_load((world / "params.yaml").read_text())
    params["crepe_systematicity"] |= {"workers": 1, "at_least": 1}
    (world / "params.yaml").write_text(yaml.safe_dump(params))
    assert run_page(PAGES[1], monkeypatch) == 11
    stats = json.loads(Path("crepe/stats.json").read_text())
    assert set(map(tuple, stats["sources"].values())) - {()} == {("visual_genome",)}  # a config may have no rows
    assert stats["rows"]["mine_sc_raw"]["test"] > 0
    assert stats["rows"]["mine_sc_raw"]["test"] + stats["rows"]["mine_uc_raw"]["test"] + stats["rows"]["mine_ua_raw"][
        "test"
    ] == sum(1 for _ in _regions())


def _regions():
    from generators.crepe_regions import FOLDER, read_negatives

    return (row for row in read_negatives(FOLDER, ["repeated"]) if not row["repeated"])


def test_hard_negatives_for_training(world: Path, hub_server: Repositories, monkeypatch: pytest.MonkeyPatch):
    toy.write_karpathy(world / "downloads")
    folder = world / "crepe"
    rows = [hard_negative_row(world, number) for number in range(4)]
    write_config(folder, "prod_hnatom", {"n4": rows}, HARD_NEGATIVE_SCHEMA)
    write_card(folder, {"license": "mit"}, "", measure(folder) | {"source": "microworld"})
    assert run_page(PAGES[2], monkeypatch) == 8
    assert Path("sample/annotations/crepe/answers/anna.csv").is_file()
    mined = pq.read_table("my_negatives").to_pylist()
    assert len(mined) == 19, "one of 20 images has only a caption without two exchangeable parts"
    assert all(row["neighbours"] and row["captions"][0]["negatives"] for row in mined)
    assert "prod_hnatom/n4-00000-of-00001.parquet" in hub_server.files["my-name/microworld-crepe"]


@pytest.mark.parametrize("page", PAGES)
def test_no_page_runs_help_commands(page: str):
    assert not [text for _, text in read_blocks(page) if "--help" in text]


def test_index_lists_all_pages():
    text = (ROOT / "docs" / "index.md").read_text()
    assert set(re.findall(r"\((\S+?)\.md\)", text)) == {*PAGES, *OTHER_PAGES}
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} == {*PAGES, *OTHER_PAGES, "index"}
