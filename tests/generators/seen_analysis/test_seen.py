"""The seen analysis has the same result as parsing every caption, with any rounds, workers and interruptions."""

import os
import subprocess
import sys
from collections import Counter
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compeval.base.readers.corpora import Shard, list_shards, read_captions
from compeval.generators.parser.caption_parser import make_parser
from compeval.generators.parser.spacy_model import MAX_CHARACTERS
from compeval.generators.seen_analysis import seen
from compeval.generators.seen_analysis import shards as shards_module
from compeval.generators.seen_analysis.engines import make_local_engine
from compeval.generators.seen_analysis.seen import analyse, split_into_rounds
from compeval.generators.seen_analysis.shards import Search, ShardResult
from compeval.generators.seen_analysis.targets import Targets
from tests.generators import fake_language as fake
from tests.generators.parser.test_caption_parser import FailingParser

WORDS = (
    "cats",
    "Cat",
    "dog",
    "mice",
    "tennis ball",
    "balls",
    "saw",
    "see",
    "caught",
    "on top of",
    "top",
    "red",
    "big",
)
captions_strategy = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join), max_size=12
)


def write_corpus(folder: Path, parts: list[list[str]]) -> tuple[Shard, ...]:
    paths = [folder / f"{number}.txt" for number in range(len(parts))]
    for path, lines in zip(paths, parts, strict=True):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tuple(map(Shard, paths))


def parse_everything(targets: Targets, captions: list[str]) -> dict[int, int]:
    """Return target index -> number of captions with the target, by parsing every caption."""
    counts = Counter(
        item for text in captions for item in {*fake.graph(text).atoms, *fake.graph(text).compounds}
    )
    return {index: counts[item] for index, item in enumerate(targets.items) if counts[item]}


def run(search: Search, folder: Path, workers: int = 1) -> ShardResult:
    return analyse(search, folder, make_local_engine(fake.FakeParser, workers), progress=False)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
@given(
    test_set=captions_strategy,
    parts=st.lists(captions_strategy.filter(bool), max_size=6),
    batch=st.integers(1, 3),
)
def test_equals_parsing_everything(tmp_path_factory, monkeypatch, test_set, parts, batch) -> None:
    monkeypatch.setattr(shards_module, "BATCH_SIZE", batch)
    monkeypatch.setattr(seen, "FIRST_ROUND", 1)
    folder = tmp_path_factory.mktemp("corpus")
    targets = Targets.of(map(fake.graph, test_set))
    lines = [line for part in parts for line in part]
    expected = parse_everything(targets, lines)
    searched = run(Search(targets, write_corpus(folder, parts), "caption"), folder / "work")
    counted = run(
        Search(targets, write_corpus(folder, parts), "caption", counting=True), folder / "work"
    )
    assert searched.counts.keys() == expected.keys()
    assert counted.counts == expected
    assert searched.captions == counted.captions == len(lines)
    assert searched.parsed <= counted.parsed <= len(lines)


@pytest.mark.parametrize("name", ["rules", "sng"])
def test_equals_parsing_everything_on_real_captions(tmp_path, real_data, name) -> None:
    if name == "sng":
        pytest.importorskip("sng_parser", reason="SceneGraphParser is an optional extra")
    parser = make_parser(name)
    (web,) = list_shards(str(real_data / "captions" / "web_alt_text_1k.tsv"))
    (conceptual,) = list_shards(str(real_data / "captions" / "cc3m_validation_8k.tsv"))
    captions = (
        *islice(read_captions(conceptual, 0), 200),
        *islice(read_captions(web, "TEXT"), 100),
    )
    texts = [" ".join(text.split()) for text in captions]
    targets = Targets.of(parse.graph for parse in parser.parse(texts[::2]))
    graphs = [parse.graph for parse in parser.parse(texts[1::2])]
    expected = {
        targets.index[item]
        for graph in graphs
        for item in (*graph.atoms, *graph.compounds)
        if item in targets.index
    }
    search = Search(targets, write_corpus(tmp_path, [texts[1::2]]), "caption")
    result = analyse(search, tmp_path, make_local_engine(lambda: parser, 1), progress=False)
    assert result.counts.keys() == expected
    assert len(expected) > 10
    assert result.parsed <= result.captions == 150


def test_only_captions_that_can_add_a_target_are_parsed(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(shards_module, "BATCH_SIZE", 1)
    targets = Targets.of([fake.graph("red cat")])  # atoms red, cat; compound red cat
    captions = [
        "dog see dog",
        "cats",
        "red dog",
        "cat",
        "cat see red dog",
        "the red cats",
        "red cat",
    ]
    shards = write_corpus(tmp_path, [captions])
    # "dog see dog" has no target word. "cats" adds cat, "red dog" adds red, and "cat" adds nothing new. "cat see red
    # dog" has both words of the compound, so it is parsed, but the compound is not in it. "the red cats" adds the
    # compound. No target is left for "red cat".
    result = run(Search(targets, shards, "caption"), tmp_path / "work")
    assert result == ShardResult(captions=7, skipped=0, parsed=4, counts={0: 1, 1: 1, 2: 1})


def test_a_round_does_not_search_for_targets_of_earlier_rounds(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(seen, "FIRST_ROUND", 1)
    shards = write_corpus(tmp_path, [["red cat"]] * 4)
    result = run(Search(Targets.of([fake.graph("red cat")]), shards, "caption"), tmp_path / "work")
    assert (result.captions, result.parsed) == (4, 1)


def test_rounds_double() -> None:
    assert [*map(len, split_into_rounds(100))] == [16, 16, 32, 36]
    assert [number for numbers in split_into_rounds(100) for number in numbers] == [*range(100)]


def test_a_caption_without_a_result_is_counted_and_stops_nothing(tmp_path, monkeypatch) -> None:
    """The word "bad" raises an error in the parser, and ``forms`` lacks "mouse" for "mice"."""
    monkeypatch.setattr(seen, "FIRST_ROUND", 1)
    targets = Targets.of([fake.graph("red cat see mouse")])
    parts = [["bad cat", "red cat"], ["bad mouse", "cat see mice"], ["cat see mouse"]]
    search = Search(targets, write_corpus(tmp_path, parts), "caption")
    make_parser = partial(FailingParser, lambda token: (token,))
    result = analyse(search, tmp_path, make_local_engine(make_parser, 1), progress=False)
    raised, unexpected = "the parser raised IndexError", shards_module.UNEXPECTED
    assert result.failures == {raised: 2, unexpected: 1}
    assert result.examples == {raised: "bad cat", unexpected: "cat see mice"}
    assert {targets.items[index] for index in result.counts} == set(targets.items)
    summary = seen.make_summary("mine", search, result)
    assert (summary["failures"], summary["examples"]) == (result.failures, result.examples)
    line = seen.describe("mine", search, result)
    assert "2 without a result because the parser raised IndexError, such as 'bad cat'." in line
    assert f"1 without a result because {unexpected}, such as 'cat see mice'." in line


def test_only_the_parsed_part_of_a_long_caption_is_kept(tmp_path) -> None:
    captions: list[str] = []

    class Parser(fake.FakeParser):
        def parse(self, texts):
            for parse in super().parse(texts):
                captions.append(parse.caption)
                yield parse

    targets = Targets.of([fake.graph("red cat see dog")])
    shards = write_corpus(tmp_path, [[f"red cat {'a ' * MAX_CHARACTERS}dog", "dog"]])
    result = analyse(
        Search(targets, shards, "caption"), tmp_path, make_local_engine(Parser, 1), progress=False
    )
    assert [len(caption) for caption in captions] == [MAX_CHARACTERS, 3]
    seen_texts = {getattr(targets.items[index], "text", "compound") for index in result.counts}
    assert seen_texts == {"red", "cat", "dog", "compound"}


def test_the_caption_of_a_failure_can_be_saved(tmp_path) -> None:
    (tmp_path / "c.jsonl").write_text('{"caption": "bad \\ud800 cat"}\n', encoding="utf-8")
    search = Search(Targets.of([fake.graph("cat")]), (Shard(tmp_path / "c.jsonl"),), "caption")
    result = analyse(search, tmp_path, make_local_engine(FailingParser, 1), progress=False)
    assert result.examples == {"the parser raised IndexError": "bad ? cat"}


def make_search(folder: Path) -> Search:
    others = ["red mice", "the big dog", "tennis ball on top of cats"]
    parts = [[f"cat see dog {n}", f"caught {n}", *others] for n in range(20)]
    targets = Targets.of([fake.graph("big mouse see dog"), fake.graph("red mouse")])
    return Search(targets, write_corpus(folder, parts), "caption")


def read_results(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*.json"))}


def test_two_workers_write_the_same_bytes_as_one(tmp_path) -> None:
    search = make_search(tmp_path)
    assert run(search, tmp_path / "one") == run(search, tmp_path / "two", workers=2)
    assert read_results(tmp_path / "one") == read_results(tmp_path / "two")
    assert len(read_results(tmp_path / "one")) == 20


def test_finished_shards_are_not_repeated(tmp_path) -> None:
    search = make_search(tmp_path)
    first = run(search, tmp_path / "work")

    def no_parser():
        raise AssertionError("a parser was made")

    assert (
        analyse(search, tmp_path / "work", make_local_engine(no_parser, 1), progress=False) == first
    )


def test_other_targets_columns_code_or_files_do_not_share_results(tmp_path) -> None:
    search = make_search(tmp_path)
    different_searches = [
        Search(Targets.of([fake.graph("cat")]), search.shards, "caption"),
        Search(search.targets, search.shards[:-1], "caption"),
        Search(search.targets, search.shards, 0),
        Search(search.targets, search.shards, "caption", counting=True),
        Search(search.targets, search.shards, "caption", code="parser 2"),
    ]
    fingerprints = {
        search.fingerprint,
        *(different.fingerprint for different in different_searches),
    }
    path = search.shards[3].path
    path.write_text(path.read_text(encoding="utf-8").replace("red", "big"), encoding="utf-8")
    assert (
        len(fingerprints | {Search(search.targets, search.shards, search.column).fingerprint}) == 7
    )


KILLED = """
import sys
from pathlib import Path
from random import Random
from compeval.generators.seen_analysis.engines import make_local_engine
from compeval.generators.seen_analysis.seen import analyse
from tests.generators.fake_language import MortalParser
from tests.generators.seen_analysis.test_seen import make_search

if __name__ == "__main__":
    folder, work, workers = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    try:
        analyse(make_search(folder), work, make_local_engine(MortalParser, workers), progress=False)
    except ChildProcessError as error:
        sys.exit(str(error))
"""


def start_mortal(folder: Path, workers: int, fatal: str) -> subprocess.CompletedProcess[str]:
    """Run the analysis in another process that dies at the caption ``fatal``; its results are in folder/killed."""
    (folder / "run.py").write_text(KILLED, encoding="utf-8")
    (folder / "FATAL").write_text(fatal, encoding="utf-8")
    command = [sys.executable, folder / "run.py", folder, folder / "killed", str(workers)]
    env = os.environ | {"FATAL": str(folder / "FATAL"), "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def list_finished(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in (folder / "killed").rglob("0*.json")}


def test_a_killed_run_resumes_and_writes_the_same_bytes(tmp_path) -> None:
    search = make_search(tmp_path)
    assert start_mortal(tmp_path, 1, "cat see dog 11").returncode == -9
    before = list_finished(tmp_path)
    assert len(before) == 11  # shards 0 to 10
    assert run(search, tmp_path / "killed") == run(search, tmp_path / "undisturbed")
    assert read_results(tmp_path / "killed") == read_results(tmp_path / "undisturbed")
    assert list_finished(tmp_path).items() >= before.items()


@pytest.mark.acceptance
def test_a_run_that_is_killed_ten_times(tmp_path) -> None:
    search = make_search(tmp_path)
    for shard in sorted(Random(0).sample(range(16), 10)):
        before = list_finished(tmp_path)
        assert start_mortal(tmp_path, 1, f"cat see dog {shard}").returncode == -9
        assert list_finished(tmp_path).items() >= before.items()
    assert run(search, tmp_path / "killed") == run(search, tmp_path / "undisturbed")
    assert read_results(tmp_path / "killed") == read_results(tmp_path / "undisturbed")


@pytest.mark.acceptance
def test_a_killed_worker_is_an_error_and_finished_shards_are_reused(tmp_path) -> None:
    search = make_search(tmp_path)
    assert "a worker process died" in start_mortal(tmp_path, 2, "cat see dog 11").stderr
    before = list_finished(tmp_path)
    assert len(before) < 16
    assert start_mortal(tmp_path, 2, "never").returncode == 0
    assert read_results(tmp_path / "killed").keys() == {f"{n:06d}.json" for n in range(20)}
    assert list_finished(tmp_path).items() >= before.items()
    run(search, tmp_path / "undisturbed")
    assert read_results(tmp_path / "killed") == read_results(tmp_path / "undisturbed")
