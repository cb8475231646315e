"""Read the hard-negative sets of a dataset folder or of a published file, and keep what a page about them needs.

Rows are streamed. Kept in memory: hashes of all texts, to count duplicates, and a random sample of rows per set.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from compeval.base.schemas.texts import Texts
from compeval.base.storage import parquet
from compeval.loaders.audit import Audit, audit, read_texts
from compeval.loaders.datasets.folders import resolve_folder
from compeval.loaders.datasets.image_sources import list_image_sources
from compeval.loaders.datasets.sorting import natural_key
from compeval.loaders.datasets.stats import parquet_files, read_stats, split_name
from compeval.loaders.importing.identify import PublishedFile, identify
from compeval.loaders.importing.read_published import read_published
from compeval.loaders.load import load_dataset

SAMPLE_ROWS = 500
"""Random rows per set that the learned baselines and the tests use."""


PAIR_COLUMNS = ("caption_0", "caption_1")
TEXT_COLUMNS = frozenset(("hard_negatives", *PAIR_COLUMNS))
"""Columns of sets that can be inspected."""


class TextRow(NamedTuple):
    """The texts of a row, and its position in the split.

    A row with two images and two captions, such as Winoground's, is two of these: each caption is the hard negative of
    the other one.
    """

    set: str
    split: str
    position: int
    image_id: str
    """Identifier of the row's image, or of both images of a pair: what does not vary independently."""
    texts: Texts
    column: str = "image"
    """Name of the image's column."""

    @property
    def caption(self) -> str:
        return self.texts.caption

    @property
    def hard_negatives(self) -> tuple[str, ...]:
        return tuple(self.texts.hard_negatives)


@dataclass
class SetRows:
    """The counts and the sample of a set's rows."""

    audit: Audit
    images: int
    candidates: Mapping[int, int]
    """Number of candidates -> rows."""
    sample: list[TextRow]
    """Random rows with the most frequent number of candidates, in random order."""
    duplicates: Mapping[str, int]
    """Kind of duplicate -> number of rows or negatives."""


@dataclass
class Source:
    """A dataset or a published file."""

    name: str
    sets: Mapping[str, SetRows]
    is_synthetic: bool
    version: str | None
    """Version of the dataset. None for published files."""
    read_image: Callable[[TextRow], Any]
    """Function that returns the image of a row, or None if images are not here."""
    origin: str = ""
    """The source of the images, as in results: for a user's own data the name of the dataset."""
    validity: Mapping[str, Any] | None = None
    """Results of the stage ``validity``, for the generated dataset crepe."""


def open_sources(targets: Sequence[str], data_dir: Path | None = None) -> list[Source]:
    """Read datasets, by name or folder, and published files. The files of a benchmark are one source.

    Raises ValueError if one is unknown or damaged, or has no hard negatives.
    """
    folders = dict.fromkeys(
        resolve_folder(target, data_dir) for target in targets if not Path(target).is_file()
    )
    files: defaultdict[str, list[PublishedFile]] = defaultdict(list)
    for file in (identify(Path(target)) for target in targets if Path(target).is_file()):
        files[file.benchmark.name].append(file)
    return [
        *map(_open_folder, folders),
        *(_open_files(name, of_one) for name, of_one in files.items()),
    ]


def _open_files(name: str, files: Iterable[PublishedFile]) -> Source:
    sets: dict[str, SetRows] = {}
    for read in map(read_published, files):
        for (config, split), rows in read.splits.items():
            if any(row.hard_negatives for row in rows):
                sets[config if split == "test" else f"{config}/{split}"] = gather(
                    TextRow(config, split, index, row.image_id or row.images[0], row.texts())
                    for index, row in enumerate(rows)
                    if row.hard_negatives
                )
    if not sets:
        raise ValueError(f"{name}: no row of the files has hard negatives to inspect.")
    return Source(name, _sort(sets), is_synthetic=False, version=None, read_image=lambda row: None)


def _open_folder(folder: Path) -> Source:
    files: defaultdict[str, list[Path]] = defaultdict(list)
    for path in parquet_files(folder):
        if not TEXT_COLUMNS.isdisjoint(parquet.read_schema(path).names):
            files[path.parent.name].append(path)
    if not files:
        raise ValueError(f"{folder}: no split has hard negatives to inspect.")
    splits: dict[tuple[str, str], Any] = {}

    def read_image(row: TextRow) -> Any:
        if (row.set, row.split) not in splits:
            splits[row.set, row.split] = load_dataset(str(folder), row.set, row.split)
        return splits[row.set, row.split][row.position][row.column]

    origins = {name for names in list_image_sources(folder).values() for name in names}
    sets = {config: gather(_read_rows(paths)) for config, paths in files.items()}
    path = folder.parent / "validity.json"
    validity = (
        json.loads(path.read_text(encoding="utf-8"))
        if folder.name == "crepe" and path.is_file()
        else None
    )
    return Source(
        name=folder.name,
        sets=_sort(sets),
        is_synthetic="microworld" in origins,
        version=read_stats(folder)["version"],
        read_image=read_image,
        origin=next(iter(origins)) if len(origins) == 1 else "",
        validity=validity,
    )


def _sort(sets: Mapping[str, SetRows]) -> Mapping[str, SetRows]:
    return dict(sorted(sets.items(), key=lambda item: natural_key(item[0])))


def _read_rows(paths: Iterable[Path]) -> Iterator[TextRow]:
    """Yield the rows of all splits of a config, without rows that lack a text.

    The positions of a split continue over its files.
    """
    count = Counter[str]()
    for path in paths:
        split = split_name(path)
        for image, texts_by_column in _read_texts(path):
            for column, texts in texts_by_column.items():
                if all((texts.caption, *texts.hard_negatives)):
                    yield TextRow(path.parent.name, split, count[split], image, texts, column)
            count[split] += 1


def _read_texts(path: Path) -> Iterator[tuple[str, Mapping[str, Texts]]]:
    """Yield the image of each row, and its texts by column of the image."""
    is_pair = "hard_negatives" not in parquet.read_schema(path).names
    batches = parquet.read_filled(path, columns=["image_id", *(PAIR_COLUMNS if is_pair else ())])
    rows = (row for batch in batches for row in batch.to_pylist())
    if is_pair:
        for row in rows:
            first, second = (row[name] for name in PAIR_COLUMNS)
            pairs = {
                "image_0": Texts(first, [second], [False]),
                "image_1": Texts(second, [first], [False]),
            }
            yield row["image_id"], pairs
    else:
        for row, texts in zip(rows, read_texts(path), strict=True):
            yield row["image_id"], {"image": texts}


def gather(rows: Iterable[TextRow]) -> SetRows:
    """Audit the rows of a set, count duplicates, and draw the sample. Raises ValueError if there are no rows."""
    sizes = Counter[int]()
    images = set[bytes]()
    samples: defaultdict[int, list[tuple[bytes, TextRow]]] = defaultdict(list)
    captions = Counter[bytes]()
    sets = Counter[bytes]()
    true_of_image = set[bytes]()
    negatives_of_image = Counter[bytes]()

    def observe() -> Iterator[Texts]:
        for row in rows:
            size = 1 + len(row.hard_negatives)
            sizes[size] += 1
            images.add(_hash(row.image_id))
            captions[_hash(row.caption)] += 1
            sets[_hash(row.image_id, row.caption, *sorted(row.hard_negatives))] += 1
            true_of_image.add(_hash(row.image_id, row.column, row.caption))
            negatives_of_image.update(
                _hash(row.image_id, row.column, text)
                for text in set(row.hard_negatives) - {row.caption}
            )
            sample = samples[size]
            sample.append((_hash(row.set, row.split, str(row.position)), row))
            if len(sample) == 2 * SAMPLE_ROWS:
                sample[:] = heapq.nsmallest(SAMPLE_ROWS, sample, key=itemgetter(0))
            yield row.texts

    result = audit(observe())
    sample = sorted(samples[max(sizes, key=lambda size: sizes[size])], key=itemgetter(0))[
        :SAMPLE_ROWS
    ]
    true_elsewhere = sum(
        count for text, count in negatives_of_image.items() if text in true_of_image
    )
    duplicates = {
        "rows that repeat another row": sum(sets.values()) - len(sets),
        "rows that repeat the caption of another row": sum(captions.values()) - len(captions),
        "negatives that are a true caption of the same image in another row": true_elsewhere,
    }
    return SetRows(
        result, len(images), dict(sorted(sizes.items())), [row for _, row in sample], duplicates
    )


def _hash(*texts: str) -> bytes:
    return hashlib.blake2b("\0".join(texts).encode(), digest_size=8).digest()
