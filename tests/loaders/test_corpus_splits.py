"""A test set is divided by what a corpus contains as if every caption of the corpus were parsed."""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from compeval.base.readers.corpora import list_shards
from compeval.base.schemas.rows import GROUP_SCHEMA
from compeval.base.storage.dataset import make_group_cells, write_config
from compeval.base.storage.parquet import read_table
from compeval.cli import app
from compeval.generators.parser import rule_parser
from compeval.generators.parser.caption_parser import make_parser, parse_each
from compeval.generators.seen_analysis import shards, stored
from compeval.generators.seen_analysis.splits import Seen
from compeval.generators.seen_analysis.stored import Corpus, find_seen
from compeval.generators.seen_analysis.targets import Targets
from compeval.loaders import corpus_splits
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from compeval.loaders.load import load_dataset
from tests.evaluators import tiny

CORPUS = ["A red ball on a table", "the blue box is behind a green lamp", "", "a ball", "two dogs"]
NOUNS = ("dog", "cat", "ball", "box", "table", "woman", "man", "bench", "umbrella", "street sign")
ATTRIBUTES = ("red", "blue", "old", "wooden", "striped", "large", "wet")
VERBS = ("holds", "is next to", "sits on", "looks at", "is carrying", "leans against")


@pytest.fixture(autouse=True)
def _one_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load the parser once for all tests."""
    monkeypatch.setattr(rule_parser, "RuleParser", _load_parser)


_load_parser = cache(rule_parser.RuleParser)


def write_corpus(folder: Path, lines: list[str], name: str = "corpus.txt") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder / name)


def write_groups(folder: Path, pairs: list[tuple[str, str]], name: str = "pairs") -> Path:
    """Write a dataset of Winoground's schema."""
    images = [tiny.picture(color) for color in ("red", "blue")]
    rows = [
        make_group_cells(images, pair)
        | {"image_id": str(number), "categories": [], "provenance": {"source": "drawn"}}
        for number, pair in enumerate(pairs)
    ]
    write_config(folder / name, "main", {"test": rows}, GROUP_SCHEMA)
    write_card(folder / name, {"license": "other"}, f"# {name}\n", measure(folder / name))
    return folder / name


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def make_captions(count: int, seed: int) -> list[str]:
    random = Random(seed)

    def phrase() -> str:
        attribute = random.choice(["", f"{random.choice(ATTRIBUTES)} "])
        return f"{random.choice(['a', 'the', 'two'])} {attribute}{random.choice(NOUNS)}"

    return [
        random.choice([phrase(), f"{phrase()} {random.choice(VERBS)} {phrase()}."])
        for _ in range(count)
    ]


def parse_everything(captions: list[str], targets: Targets) -> Seen:
    """Return the targets that any caption contains, by parsing each of them."""
    found: set[Any] = set()
    for parse in parse_each(make_parser(), captions):
        assert not isinstance(parse, Exception)
        found.update(parse.graph.atoms, parse.graph.compounds)
    return Seen(
        frozenset(found.intersection(targets.atoms)),
        frozenset(found.intersection(targets.compounds)),
    )


def test_the_splits_of_a_set_and_their_results(tmp_path: Path, here: Path):
    """Red ball and table are in the corpus; blue and ball, but not a blue ball; nothing that is pink."""
    data = tiny.write_dataset(tmp_path / "data", {"prod_hnatom": {"n4": tiny.choice_rows(12, 2)}})
    corpus = write_corpus(tmp_path / "corpus", CORPUS)
    arguments = ["--data", data, "--output", tmp_path / "results", "--json"]
    whole = json.loads(invoke("run", "python:toy_models:Knows", *arguments).stdout)
    done = invoke("split", "crepe", "--corpus", corpus, "--data", data, "--json")
    assert done.exit_code == 0, done.output
    rows: Any = load_dataset("crepe", "prod_hnatom", "n4", data_dir=data)
    colors = [row["caption"].split()[1] for row in rows]
    expected = Counter(
        {"red": "sc", "blue": "uc", "green": "uc"}.get(color, "ua") for color in colors
    )
    (record,) = json.loads(done.stdout)
    assert record == {
        "config": "prod_hnatom/n4",
        "rows": 12,
        **{name: expected[name] for name in ("sc", "uc", "ua")},
        "no compound": 0,
        "not parsed": 0,
    }
    assert "The corpus (4 captions) contains " in done.stderr
    for name in ("sc", "uc", "ua"):
        rows = load_dataset("crepe_split", "prod_hnatom", f"n4_{name}", data_dir=data)
        assert len(rows) == expected[name]
    results = json.loads(
        invoke("run", "python:toy_models:Knows", *arguments, "--task", "crepe_split/*").stdout
    )
    names = [f"crepe_split/prod_hnatom/n4_{name}" for name in ("sc", "ua", "uc")]
    assert sorted(item["task"] for item in results) == names
    assert sum(item["data"]["rows"] for item in results) == whole[0]["data"]["rows"]
    side_file = json.loads(
        (tmp_path / "results/microworld/Knows.run.json").read_text(encoding="utf-8")
    )
    assert (side_file["images_encoded"], side_file["texts_encoded"]) == (0, 0), "all are cached"
    card = (data / "crepe_split" / "README.md").read_text(encoding="utf-8")
    assert (
        f"| prod_hnatom/n4 | {expected['sc']} | {expected['uc']} | {expected['ua']} | 0 | 0 |"
        in card
    )


def test_a_row_with_two_captions_needs_the_compounds_of_both(tmp_path: Path):
    pairs = [
        ("a red ball on a table", "a green lamp"),
        ("a red ball on a table", "a red lamp"),
        ("a red ball", "a purple lamp"),
        ("a ball", "a dog"),
        ("a red ball under a table", "a red ball"),
    ]
    folder = write_groups(tmp_path, pairs)
    corpus = Corpus(
        tuple(list_shards(write_corpus(tmp_path / "corpus", [*CORPUS, "a cat under a lamp"]))), 0
    )
    division = corpus_splits.divide(folder, "divided", corpus, progress=False)
    assert division.rows == {"main": {"sc": 1, "uc": 2, "ua": 1, "no compound": 1}}
    read = {
        path.name.split("-")[0]: read_table(path)["caption_1"].to_pylist()
        for path in (tmp_path / "divided" / "main").glob("*.parquet")
    }
    assert read == {
        "sc": ["a green lamp"],
        "uc": ["a red lamp", "a red ball"],
        "ua": ["a purple lamp"],
    }
    bindings = corpus_splits.divide(folder, "bindings", corpus, kinds="ao", progress=False)
    assert bindings.rows == {"main": {"sc": 2, "uc": 1, "ua": 1, "no compound": 1}}


@pytest.mark.parametrize("parse_all", [False, True])
def test_equals_parsing_everything(
    tmp_path: Path, parse_all: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shards, "BATCH_SIZE", 7)
    monkeypatch.setattr("compeval.base.readers.corpora.TEXT_BYTES", 900)  # several shards
    lines, more = make_captions(120, seed=1), make_captions(40, seed=2)
    corpus = Corpus(tuple(list_shards(write_corpus(tmp_path / "corpus", lines))), 0)
    assert len(corpus.shards) > 3
    for captions in (make_captions(30, seed=3), more, make_captions(30, seed=3) + more):
        graphs = corpus_splits.parse_captions(captions, 1)
        targets = Targets.of(graph for graph in graphs.values() if graph)
        found = find_seen(targets, corpus, tmp_path / "store", parse_all=parse_all, progress=False)
        assert found.seen == parse_everything(lines, targets)
        assert 0 < len(found.seen.compounds) < len(targets.compounds)
        assert found.captions == len(lines)
    assert found.searched == 0, "the last set has no target that the first two do not have"
    assert [path.name for path in (tmp_path / "store").iterdir()] == [
        f"{corpus.fingerprint}.parquet"
    ]


def test_what_is_known_of_a_corpus_is_not_searched_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    corpus = write_corpus(tmp_path / "corpus", CORPUS)
    write_groups(tmp_path, [("a red ball", "a green lamp")], "one")
    write_groups(tmp_path, [("a red ball", "a green lamp"), ("a green ball", "a lamp")], "two")
    arguments = ["--corpus", corpus, "--data", tmp_path]
    assert (
        "6 of them were searched for; the others were known."
        in invoke("split", "one", *arguments).stderr
    )
    assert (
        "1 of them were searched for; the others were known."
        in invoke("split", "two", *arguments).stderr
    )
    copy = write_corpus(tmp_path / "elsewhere", CORPUS, "another.txt")
    again = invoke("split", "two", "--corpus", copy, "--data", tmp_path)
    assert "All of them were known: the corpus was not read." in again.stderr
    write_groups(tmp_path, [("an old boat", "a wet cat in a green hat")], "three")
    everything = invoke("split", "one", *arguments, "--parse-all")
    assert everything.exit_code == 0, everything.output

    def refuse(*_: Any) -> Any:
        raise AssertionError("the corpus is read")

    monkeypatch.setattr(stored, "read_captions", refuse)
    monkeypatch.setattr(stored, "analyse", refuse)
    third = invoke("split", "three", *arguments, "--json")
    assert third.exit_code == 0, third.output
    assert json.loads(third.stdout)[0]["ua"] == 1
    changed = write_corpus(tmp_path / "corpus", [*CORPUS, "more"])
    with pytest.raises(AssertionError, match="the corpus is read"):
        CliRunner().invoke(
            app,
            ["split", "three", "--corpus", changed, "--data", str(tmp_path)],
            catch_exceptions=False,
        )


def test_answers_are_not_reused_for_a_sampled_file_that_was_written_later(tmp_path: Path):
    """A file of more than 1 MiB is compared by samples: another one with equal samples is distinguished by its time."""
    size = 2 * shards.BLOCKS * shards.BLOCK_BYTES
    text = ("a red ball\n" * (size // 11 + 1))[:size]
    path = Path(write_corpus(tmp_path / "corpus", [text]))
    kept = tmp_path / "store.parquet"
    kept.write_bytes(b"")
    assert stored.is_current(kept, [path])
    path.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    assert not stored.is_current(kept, [path])


def test_what_cannot_be_divided_is_one_clear_message(tmp_path: Path):
    corpus = write_corpus(tmp_path / "corpus", CORPUS)
    write_groups(tmp_path, [("a ball", "a dog")])
    arguments = ["--corpus", corpus, "--data", tmp_path]

    def fails(*more: object) -> str:
        done = invoke("split", *more, *arguments)
        assert done.exit_code == 2, done.output
        return " ".join(done.stderr.split()).replace(str(tmp_path), "T")

    assert "no row is in a split; no caption has a compound that counts (--compounds all)" in fails(
        "pairs"
    )
    assert not (tmp_path / "pairs_split").exists()
    assert "T/pairs is another dataset. Choose another name with --output." in fails(
        "pairs", "--output", "pairs"
    )
    assert "cannot be the name of a dataset" in fails("pairs", "--output", "a b")
    assert "nowhere*: no caption file found" in fails("pairs", "--corpus", "nowhere*")
    assert "sugarcrepe_multilingual: its captions are not in English" in fails(
        write_groups(tmp_path, [("ein Ball", "zwei Hunde")], "sugarcrepe_multilingual")
    )
    (tmp_path / "bare" / "main").mkdir(parents=True)
    table = pa.table({"image_id": ["1"], "label": [0]})
    pq.write_table(table, tmp_path / "bare" / "main" / "test-00000-of-00001.parquet")
    stats = measure(tmp_path / "bare")
    (tmp_path / "bare" / "stats.json").write_text(json.dumps(stats), encoding="utf-8")
    assert "its rows have no captions" in fails("bare")
