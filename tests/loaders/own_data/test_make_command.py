"""``compeval make --negatives``: what is checked before the work, and what the command prints at its end."""

import csv
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from compeval.cli import app
from compeval.generators.parser.caption_parser import make_parser
from compeval.loaders.own_data import captions
from tests.rows import picture

load_parser = cache(make_parser)
CAPTIONS = {
    1: "A black dog on a white couch.",
    2: "A red car next to a green truck.",
    3: "a white dog on a black couch",
    4: "a green car next to a red truck",
    5: "where is my dog?",
    6: "Ein Hund liegt auf dem Sofa neben einem Kissen",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with (tmp_path / "captions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "caption"])
        writer.writerows(
            (picture(tmp_path, number).name, text) for number, text in CAPTIONS.items()
        )
    (tmp_path / "corpus.tsv").write_text("text\turl\na black dog\tx\n", encoding="utf-8")
    (tmp_path / "corpus.jsonl").write_text('{"text": "a black dog"}\n', encoding="utf-8")
    return tmp_path


def make(folder: Path, name: str = "mine", *options: str) -> Result:
    arguments = ["make", name, str(folder / "captions.csv"), "--negatives", "atom,swap"]
    return CliRunner().invoke(app, [*arguments, "--output", str(folder), *options])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mine", ("--corpus", "corpus.tsv"), "corpus.tsv: no column 'caption'; it has text, url"),
        (
            "mine",
            ("--corpus", "corpus.tsv", "--corpus-column", "txet"),
            "corpus.tsv: no column 'txet'; it has text, url",
        ),
        (
            "mine",
            ("--corpus", "corpus.jsonl", "--corpus-column", "txet"),
            "corpus.jsonl: no caption in 'txet'",
        ),
        ("mine!", (), "'mine!' cannot be used as a file name"),
    ],
)
def test_columns_and_names_are_checked_before_captions_are_parsed(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    options: tuple[str, ...],
    message: str,
):
    def parse() -> None:
        raise AssertionError("the captions were parsed")

    monkeypatch.setattr(captions, "make_parser", parse)
    monkeypatch.chdir(folder)
    result = make(folder, name, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not (folder / name).exists()


def test_a_column_of_the_corpus_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(captions, "make_parser", load_parser)
    options = ("--corpus", str(folder / "corpus.jsonl"), "--corpus-column", "text")
    assert make(folder, "mine", *options).exit_code == 0


def test_the_end_says_how_many_captions_qualify_why_others_do_not_and_what_comes_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """Colours are exchanged in four captions; two are not read."""
    monkeypatch.setattr(captions, "make_parser", load_parser)
    result = make(folder)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    rows = {line.split()[0]: line for line in lines if line.startswith("mine/")}
    assert rows["mine/captions"].split() == ["mine/captions", "6"]
    assert rows["mine/swap"].split()[1] == "4"
    assert "% " in rows["mine/swap"]
    assert rows["mine/swap"].endswith("(chance 50.0%)")
    assert "swap: 4 of 4 captions qualify." in lines
    qualify = next(line for line in lines if line.startswith("atom: "))
    without = 4 - int(qualify.split()[1])
    start = lines.index(qualify) + 1
    reasons = [line for line in lines[start : start + 3] if line.startswith("  ")]
    assert sum(int(line.split(":")[0]) for line in reasons) == without
    assert all("the caption has no " in line for line in reasons)
    assert "1 captions that describe no picture are left out." in lines
    assert "1 captions that are not English are left out." in lines
    assert "swap: no balanced variant, because it has 4 rows; 100 are needed." in lines
    data = f"--data {folder}"
    assert lines[-3:] == [
        "Next:",
        f"  compeval inspect mine {data}",
        f"  compeval run --model ViT-B-32/laion400m_e32 {data} --task 'mine/*'",
    ]
