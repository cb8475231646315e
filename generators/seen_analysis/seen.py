"""Which atoms and compounds of the test set occur in a training corpus (stage ``seen``).

    python -m generators.seen_analysis.seen CORPUS [--counts]

Writes ``seen/CORPUS.json``, with ``--counts`` ``seen/CORPUS.counts.json``. Source: CREPE, section 3.2 (Seen) and 4.1,
Figure 12 (counts). Differs from it in: the paper parses every
training caption; here a caption is parsed only where its words allow an unseen target
(generators/seen_analysis/targets.py), with the same answer. Counting parses every caption that can have any target.

The corpus is cut into shards and the shards into rounds, each as long as all before it together. Within a round a
shard looks for what the rounds before left unseen, so that its result depends neither on the workers nor on their
order. It is written at once; a run that was killed goes on with the shards that have no result yet.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property, lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from tqdm import tqdm

from generators.parser.choice import RULES, make_parser
from generators.parser.forms import Forms
from generators.parser.parser import MODELS
from generators.readers.corpora import Column, Shard, Skipped, captions, shards
from generators.schemas.scene_graph import Parse
from generators.seen_analysis.targets import CaptionWords, Targets, Unseen
from generators.storage import stage
from generators.storage.atomic import write_json
from generators.storage.code import code_digest
from generators.storage.params import block
from generators.storage.workers import map_with

BATCH = 256
"""Captions that are parsed together; what one batch finds spares the next."""
REMEMBERED = 200_000
"""Captions whose targets a worker remembers, since corpora repeat themselves: some 60 MB."""
FIRST_ROUND = 16
"""Shards in the first round."""

ParseCaptions = Callable[[Iterable[str]], Iterator[Parse]]


class Language(NamedTuple):
    """A parser, and the forms that it can give to words."""

    parse: ParseCaptions
    forms: Forms


@dataclass
class ShardResult:
    """What one shard holds: rows by kind, and by target index the number of captions that have the target.

    ``parsed`` are the captions that the word filter lets through, a repeated one each time. Where targets are searched
    and not counted, every number in ``counts`` is 1.
    """

    captions: int = 0
    skipped: int = 0
    parsed: int = 0
    counts: dict[int, int] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> ShardResult:
        data = json.loads(path.read_text())
        return cls(**data | {"counts": {int(index): count for index, count in data["counts"].items()}})

    def __add__(self, other: ShardResult) -> ShardResult:
        return ShardResult(
            self.captions + other.captions,
            self.skipped + other.skipped,
            self.parsed + other.parsed,
            dict(Counter(self.counts) + Counter(other.counts)),
        )


@dataclass(frozen=True)
class Search:
    """One analysis: what to look for, where, and whether to count it. Small and picklable, the same for all workers.

    ``code`` names the parser and its version: results of another one are not reused.
    """

    targets: Targets
    shards: tuple[Shard, ...]
    column: Column
    counting: bool = False
    code: str = ""

    @cached_property
    def fingerprint(self) -> str:
        files = [(str(shard), _digest(shard.path)) for shard in self.shards]
        parts = [self.targets.fingerprint, files, self.column, self.counting, self.code]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@cache
def _digest(path: Path) -> str:
    """SHA-256 of a file's bytes: sizes do not tell two tars apart, which are padded, and times change with a copy."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class ShardWorker:
    """Does shards of one search, one after the other; made once in each process, since parsers load slowly."""

    def __init__(self, search: Search, language: Language) -> None:
        self._search, self._parse = search, language.parse
        self._words = CaptionWords(frozenset().union(*search.targets.words), language.forms)
        self._unseen = Unseen(search.targets.words, ())
        self._found: frozenset[int] = frozenset()
        self._known: dict[str, tuple[int, ...]] = {}

    def __call__(self, number: int, found: frozenset[int]) -> ShardResult:
        """The result of shard ``number``, where the targets ``found`` need not be looked for."""
        if found != self._found:
            self._unseen, self._found = Unseen(self._search.targets.words, found), found
        skipped, result, counts = Skipped(), ShardResult(), Counter[int]()
        stream = captions(self._search.shards[number], self._search.column, skipped)
        while batch := list(islice(self._worth_parsing(stream, result), BATCH)):
            result.parsed += len(batch)
            for numbers in self._targets(batch):
                self._note(numbers, counts)
        self._unseen.restore()
        result.skipped, result.counts = skipped.rows, dict(sorted(counts.items()))
        return result

    def _worth_parsing(self, stream: Iterator[str], result: ShardResult) -> Iterator[str]:
        for caption in stream:
            result.captions += 1
            if self._unseen.possible(self._words(caption)):
                yield caption

    def _targets(self, batch: Sequence[str]) -> list[tuple[int, ...]]:
        """The targets, by their indexes, that each caption has."""
        if len(self._known) > REMEMBERED:
            self._known.clear()
        index = self._search.targets.index
        for parse in self._parse([caption for caption in dict.fromkeys(batch) if caption not in self._known]):
            self._words.check(parse.caption, parse.graph)
            items = {*parse.graph.atoms, *parse.graph.compounds}
            self._known[parse.caption] = tuple(sorted(index[item] for item in items if item in index))
        return [self._known[caption] for caption in batch]

    def _note(self, numbers: Iterable[int], counts: Counter[int]) -> None:
        for number in numbers:
            if number in self._unseen:
                counts[number] += 1
                if not self._search.counting:
                    self._unseen.take(number)


RunShards = Callable[[Search, Sequence[int], frozenset[int], Path], Iterable[int]]
"""Engine: does the given shards, writes each result into the folder, and gives each shard's number when it is done."""


def analyse(search: Search, folder: Path, run_shards: RunShards, progress: bool = True) -> ShardResult:
    """The whole corpus' result; per-shard results lie under ``folder`` and are taken from there where they exist."""
    folder = folder / search.fingerprint
    folder.mkdir(parents=True, exist_ok=True)
    total = ShardResult()
    with tqdm(total=len(search.shards), unit="shard", disable=not progress) as bar:
        for numbers in rounds(len(search.shards)):
            found = frozenset() if search.counting else frozenset(total.counts)
            done = [number for number in numbers if result_path(folder, number).exists()]
            bar.update(len(done))
            for _ in run_shards(search, sorted(set(numbers) - set(done)), found, folder):
                bar.update()
            total = sum((ShardResult.load(result_path(folder, number)) for number in numbers), total)
            unseen = len(search.targets.items) - len(total.counts)
            bar.set_postfix(captions=total.captions, parsed=total.parsed, unseen=unseen, refresh=False)
    return total


def rounds(count: int) -> Iterator[range]:
    """Consecutive ranges of shard numbers: FIRST_ROUND, then always as many as went before."""
    start, stop = 0, FIRST_ROUND
    while start < count:
        yield range(start, min(stop, count))
        start, stop = stop, 2 * stop


def result_path(folder: Path, number: int) -> Path:
    return folder / f"{number:06d}.json"


def do_shard(worker: ShardWorker, number: int, found: frozenset[int], folder: Path) -> int:
    """Do one shard and write its result whole or not at all; every engine runs this."""
    write_json(result_path(folder, number), asdict(worker(number, found)))
    return number


class LocalEngine:
    """Runs shards in ``workers`` processes of this machine, or in this one where ``workers`` is 1."""

    def __init__(self, make_language: Callable[[], Language], workers: int) -> None:
        self._make_language, self._workers = make_language, workers

    def __call__(self, search: Search, numbers: Sequence[int], found: frozenset[int], folder: Path) -> Iterator[int]:
        make_worker = partial(shard_worker, search, self._make_language)
        do = partial(do_shard, found=found, folder=folder)
        return map_with(make_worker, do, numbers, min(self._workers, len(numbers))) if numbers else iter(())


@lru_cache(maxsize=1)
def shard_worker(search: Search, make_language: Callable[[], Language]) -> ShardWorker:
    """The worker of this process, the same one in every round."""
    return ShardWorker(search, make_language())


def our_language(name: str = RULES) -> Language:
    """The parser of that name, see generators/parser/choice.py, and its forms."""
    parser = make_parser(name)
    return Language(parser.parse, parser.forms)


def engine_of(settings: Mapping[str, Any], parser: str = RULES) -> RunShards:
    """The engine that the block ``seen`` of params.yaml names."""
    make_language = partial(our_language, parser)
    match settings.get("engine", "local"):
        case "local":
            return LocalEngine(make_language, settings["workers"])
        case "ray":
            from generators.seen_analysis.ray_engine import RayEngine

            return RayEngine(make_language, settings["workers"], settings.get("ray_address"))
        case other:
            raise ValueError(f"params.yaml: seen.engine is {other!r}; it can be local or ray.")


def our_code(parser: str = RULES) -> str:
    """All that decides the answer: which parser, the code of parser and analysis, the model, the dictionary."""
    versions = [parser]
    for package in ("spacy", "lemminflect", "SceneGraphParser", *MODELS):
        with contextlib.suppress(PackageNotFoundError):
            versions.append(f"{package} {version(package)}")
    return f"{code_digest(__file__)} {', '.join(versions)}"


def summary(corpus: str, search: Search, result: ShardResult) -> dict[str, Any]:
    """What ``seen/<corpus>.json`` holds: the seen targets, sorted, or all targets with their counts."""
    items, counts, first_compound = search.targets.items, result.counts, len(search.targets.atoms)
    indexes = range(len(items)) if search.counting else sorted(counts)
    rows = [(index, [*items[index], counts.get(index, 0)] if search.counting else [*items[index]]) for index in indexes]
    return {
        "corpus": corpus,
        "captions": result.captions,
        "skipped": result.skipped,
        "parsed": result.parsed,
        "atoms": [row for index, row in rows if index < first_compound],
        "compounds": [row for index, row in rows if index >= first_compound],
    }


def main(corpus: str, counts: Annotated[bool, typer.Option(help="count every target, for Figure 12")] = False) -> None:
    """Find which of the test set's atoms and compounds CORPUS has."""
    corpora, settings, parser = block("corpora"), block("seen"), block("parser")
    if corpus not in corpora:
        raise ValueError(f"params.yaml: no corpus {corpus!r} in the block corpora; it has {', '.join(corpora)}.")
    targets = Targets.load(Path("regions/targets.json"))
    files = tuple(shards(corpora[corpus]["files"]))
    search = Search(targets, files, corpora[corpus]["column"], counts, our_code(parser))
    result = analyse(search, Path("seen") / "shards" / corpus, engine_of(settings, parser))
    write_json(Path("seen") / f"{corpus}{'.counts' if counts else ''}.json", summary(corpus, search, result))


if __name__ == "__main__":
    stage.run(main)
