"""Search one shard of a corpus for targets (atoms and compounds). Every engine calls :func:`run_shard`."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path

from compeval.base.files.atomic import write_json
from compeval.base.readers.corpora import Column, Shard, Skipped, read_captions
from compeval.base.schemas.scene_graph import Parse
from compeval.generators.parser.caption_parser import CaptionParser, parse_each
from compeval.generators.parser.spacy_model import MAX_CHARACTERS
from compeval.generators.seen_analysis.targets import CaptionWords, Targets, UnseenTargets

BATCH_SIZE = 256
"""Captions per parser call. Targets found in one batch are not searched for in the next."""
EXAMPLE_LENGTH = 200
"""Characters of a caption without a result that are shown."""
UNEXPECTED = "the words of the parse are not those that the word filter expects"
"""The reason to skip a caption with a target that the word filter excludes."""
BLOCKS = 16
"""Number of blocks of a corpus file in the sample that identifies it."""
BLOCK_BYTES = 1 << 16
MAX_CACHED_LENGTH = 500
"""Characters of the longest caption whose targets are cached."""
MAX_CACHED_CAPTIONS = 200_000
"""Maximum number of captions whose targets a worker caches (about 60 MB); corpora contain repeated captions."""


@dataclass
class ShardResult:
    """The number of read, skipped and parsed captions, and target index -> number of captions with this target.

    ``skipped`` counts rows without a readable caption, ``quoted`` those that needed the dialect of their file
    (base/readers/corpora.py). ``parsed`` counts the captions that pass the word filter,
    including repeated captions. Some of these have no result: ``failures`` maps the reason to their number, and
    ``examples`` maps it to the start of the first one. Without ``--counts``, all values of ``counts`` are 1.
    """

    captions: int = 0
    skipped: int = 0
    parsed: int = 0
    counts: dict[int, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)
    quoted: int = 0

    @classmethod
    def load(cls, path: Path) -> ShardResult:
        data = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            **data | {"counts": {int(index): count for index, count in data["counts"].items()}}
        )

    def __add__(self, other: ShardResult) -> ShardResult:
        return ShardResult(
            self.captions + other.captions,
            self.skipped + other.skipped,
            self.parsed + other.parsed,
            dict(Counter(self.counts) + Counter(other.counts)),
            dict(Counter(self.failures) + Counter(other.failures)),
            other.examples | self.examples,
            self.quoted + other.quoted,
        )

    def count_failure(self, reason: str, caption: str) -> None:
        self.failures[reason] = self.failures.get(reason, 0) + 1
        self.examples.setdefault(
            reason, caption[:EXAMPLE_LENGTH].encode("utf-8", "replace").decode()
        )


@dataclass(frozen=True)
class Search:
    """The settings of one analysis, which are small and sent to all workers.

    If ``counting`` is True, all captions with a target are counted. ``code`` identifies the parser and the versions of
    the code; the results of other code are not reused. Files are identified by their paths, sizes and samples of their
    contents, because a corpus can have terabytes.
    """

    targets: Targets
    shards: tuple[Shard, ...]
    column: Column
    counting: bool = False
    code: str = ""

    @cached_property
    def fingerprint(self) -> str:
        digests = {path: sampled_digest(path) for path in {shard.path for shard in self.shards}}
        files = [(str(shard), digests[shard.path]) for shard in self.shards]
        parts = [self.targets.fingerprint, files, self.column, self.counting, self.code]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def sampled_digest(path: Path) -> str:
    """Return the SHA-256 of the size of a file and of 16 evenly spaced blocks of 64 KiB, with its start and its end.

    Files of up to 1 MiB are read completely. In a larger file, a change that keeps the size and lies between the blocks
    does not change the digest, but the time at which the file was written here, which :func:`has_result` compares.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(f"{size}:".encode())
    with path.open("rb") as file:
        for block in range(BLOCKS):
            file.seek(max(size - BLOCK_BYTES, 0) * block // (BLOCKS - 1))
            digest.update(file.read(BLOCK_BYTES))
    return digest.hexdigest()


class ShardWorker:
    """Runs the shards of one search. A process has one worker, because loading a parser is slow."""

    def __init__(self, search: Search, parser: CaptionParser) -> None:
        self._search = search
        self._parser = parser
        self._words = CaptionWords(frozenset().union(*search.targets.words), parser)
        self._unseen = UnseenTargets(search.targets.words, ())
        self._seen = frozenset[int]()
        self._cache: dict[str, tuple[int, ...] | str] = {}

    def __call__(self, number: int, seen: frozenset[int]) -> ShardResult:
        """Return the result of shard ``number``; the targets in ``seen`` are not searched for."""
        if seen != self._seen:
            self._unseen = UnseenTargets(self._search.targets.words, seen)
            self._seen = seen
        skipped = Skipped()
        result = ShardResult()
        counts = Counter[int]()
        stream = read_captions(self._search.shards[number], self._search.column, skipped)
        while batch := list(islice(self._select_captions(stream, result), BATCH_SIZE)):
            result.parsed += len(batch)
            for caption, indexes in zip(batch, self._find_targets(batch), strict=True):
                if isinstance(indexes, str):
                    result.count_failure(indexes, caption)
                    continue
                unseen = [index for index in indexes if index in self._unseen]
                counts.update(unseen)
                if not self._search.counting:
                    for index in unseen:
                        self._unseen.mark_seen(index)
        self._unseen.reset()
        result.skipped = skipped.rows
        result.quoted = skipped.quoted
        result.counts = dict(sorted(counts.items()))
        return result

    def _select_captions(self, stream: Iterator[str], result: ShardResult) -> Iterator[str]:
        """Yield the captions that can contain an unseen target, without the part that is not parsed.

        All captions are counted in ``result``.
        """
        for caption in stream:
            result.captions += 1
            if self._unseen.any_possible(self._words(caption)):
                yield caption[:MAX_CHARACTERS]

    def _find_targets(self, batch: Sequence[str]) -> list[tuple[int, ...] | str]:
        """Return the target indexes of each caption, or the reason why the caption has no result."""
        if len(self._cache) > MAX_CACHED_CAPTIONS:
            self._cache.clear()
        results = {caption: self._cache[caption] for caption in batch if caption in self._cache}
        new = [caption for caption in dict.fromkeys(batch) if caption not in results]
        for caption, parse in zip(new, parse_each(self._parser, new), strict=True):
            results[caption] = self._list_targets(caption, parse)
            if len(caption) <= MAX_CACHED_LENGTH:
                self._cache[caption] = results[caption]
        return [results[caption] for caption in batch]

    def _list_targets(self, caption: str, parse: Parse | Exception) -> tuple[int, ...] | str:
        if isinstance(parse, Exception):
            return f"the parser raised {type(parse).__name__}"
        targets = self._search.targets
        words = self._words(caption)
        items = {*parse.graph.atoms, *parse.graph.compounds}
        indexes = tuple(sorted(targets.index[item] for item in items if item in targets.index))
        return indexes if all(targets.words[index] <= words for index in indexes) else UNEXPECTED


MakeParser = Callable[[], CaptionParser]
RunShards = Callable[[Search, Sequence[int], frozenset[int], Path], Iterable[int]]
"""An engine: a function of the search, the numbers of the shards to run, the targets that earlier rounds found, and the
folder of the results. Yields the number of each shard when its result is saved."""


@lru_cache(maxsize=1)
def get_shard_worker(search: Search, make_parser: MakeParser) -> ShardWorker:
    """Return the worker of this process, which is created once."""
    return ShardWorker(search, make_parser())


def run_shard(worker: ShardWorker, number: int, seen: frozenset[int], folder: Path) -> int:
    """Run one shard and save its result atomically."""
    write_json(result_path(folder, number), asdict(worker(number, seen)))
    return number


def has_result(search: Search, number: int, folder: Path) -> bool:
    """Return True if the result of a shard was saved, and its file, if only samples of it were compared, is older.

    The time of the last change of the status (``ctime``) counts, too: copies may keep an earlier modification time.
    """
    result = result_path(folder, number)
    if not result.exists():
        return False
    status = search.shards[number].path.stat()
    written_ns = max(status.st_mtime_ns, status.st_ctime_ns)
    return status.st_size <= BLOCKS * BLOCK_BYTES or written_ns <= result.stat().st_mtime_ns


def result_path(folder: Path, number: int) -> Path:
    return folder / f"{number:06d}.json"
