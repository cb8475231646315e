"""Options of ``compeval make`` for captions, checked before anything heavy is imported."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TypeVar

from compeval.base.progress import ProgressCallback
from compeval.base.readers.corpora import Shard, list_shards, read_captions
from compeval.generators.hard_negatives.own.kinds import KINDS
from compeval.generators.hard_negatives.own.language_model import LanguageModel
from compeval.generators.hard_negatives.rejections import Rejections

Item = TypeVar("Item")


@dataclass(frozen=True)
class NegativeOptions:
    """Options of ``compeval make`` for captions."""

    kinds: Sequence[str]
    corpus: Sequence[str] = ()
    """Globs of the files of a training corpus; none: no splits."""
    corpus_column: str | int = "caption"
    graphs: Sequence[Path] = ()
    """Files or folders of scene graphs (own_data/graphs.py)."""
    annotations: Path | None = None
    """Folder with ``rejected.csv``, the texts that people judged true."""
    workers: int = 1
    refine: bool = True
    """True if rows are removed from balanced sets until text-only baselines are at chance."""
    model: LanguageModel | None = None
    """The language model that writes and judges negatives; None: the rules write them."""
    max_cost: float | None = None
    """Maximum cost of new requests to it; None: only cached answers are used."""
    report: ProgressCallback = lambda step, done, total: None
    """Called with a step, its number of finished images and the number of all (None if unknown)."""

    def __post_init__(self) -> None:
        """Raise ValueError or FileNotFoundError for unknown kinds and missing files."""
        if unknown := sorted(set(self.kinds) - set(KINDS)):
            raise ValueError(
                f"--negatives: unknown kind {', '.join(unknown)}; known: {', '.join(KINDS)}."
            )
        if missing := next((path for path in self.graphs if not path.exists()), None):
            raise FileNotFoundError(f"{missing}: no such file or folder of scene graphs.")
        self._check_corpus()

    def _check_corpus(self) -> None:
        """Raise ValueError if a file of the corpus lacks the column, so that a typo costs no parsing."""
        checked = set[Path]()
        for shard in self.list_shards():
            if shard.path in checked:
                continue
            checked.add(shard.path)
            if next(read_captions(shard, self.corpus_column), None) is None:
                raise ValueError(
                    f"{shard.path}: no caption in {self.corpus_column!r}. Name its caption column, or the position of "
                    "the column in a table without a header: --corpus-column."
                )

    @cached_property
    def rejected(self) -> Mapping[str, frozenset[str]]:
        """The texts that people judged true, by crop id."""
        return Rejections.read(self.annotations).by_crop if self.annotations else {}

    def list_shards(self) -> tuple[Shard, ...]:
        """Return the shards of the corpus. Raises FileNotFoundError or ValueError for files that cannot be read."""
        return tuple(chain.from_iterable(map(list_shards, self.corpus)))

    def track(self, items: Iterable[Item], step: str, total: int | None = None) -> Iterator[Item]:
        """Yield the items, and report each and the end."""
        number = 0
        for number, item in enumerate(items, 1):
            yield item
            self.report(step, number, total)
        self.report(step, number, number)
