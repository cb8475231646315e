"""Divide a test set by what a training corpus contains: ``compeval split NAME --corpus FILES``.

Source: CREPE (arXiv:2212.07796), sections 3.1 and 3.2, on test sets of others. The true captions of a row are parsed
into scene graphs. The row is in the split

    sc    if the corpus contains all their atoms and compounds,
    uc    if it contains all atoms, but not all compounds,
    ua    if it does not contain an atom.

A row without a compound tests no composition: it is in no split, and is counted. Wrong captions play no part: they
have the atoms of the true ones, or ones that are not in the image. ``kinds`` selects the compounds that count: with
``ao``, an attribute and its object, rows are divided by the attribute bindings that the corpus contains.

The derived dataset is next to the divided one, so that both share their images. Its configs are those of the divided
dataset, and its splits are ``sc``, ``uc`` and ``ua``, after the name of the split if that is not ``test``: ``dev_sc``.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa

from compeval.base.files.atomic import atomic_folder
from compeval.base.files.cache_folder import cache_folder
from compeval.base.pipeline.workers import map_in_processes
from compeval.base.schemas.scene_graph import SceneGraph
from compeval.base.storage import parquet
from compeval.generators.parser.caption_parser import CaptionParser, make_parser, parse_each
from compeval.generators.seen_analysis.splits import Seen, choose_split
from compeval.generators.seen_analysis.stored import Corpus, Found, find_seen
from compeval.generators.seen_analysis.targets import Targets
from compeval.loaders.cards.card import render, write_card
from compeval.loaders.datasets.split_names import parse_stored
from compeval.loaders.datasets.stats import Stats, measure, parquet_files, read_stats, split_name
from compeval.loaders.published.schemas import list_caption_columns

SPLITS = ("sc", "uc", "ua")
NO_COMPOUND = "no compound"
UNPARSED = "not parsed"
CLASSES = (*SPLITS, NO_COMPOUND, UNPARSED)
CompoundKinds = Literal["all", "ao", "oro"]
MAX_CHARACTERS = 1_000
"""Longer captions are not parsed: no text tower reads them."""
ROWS_PER_BATCH = 256
FOLDER = "corpora"
"""Folder in the cache of what is known of corpora."""


class Division(NamedTuple):
    """A derived dataset."""

    folder: Path
    rows: dict[str, Counter[str]]
    """Rows by class of each config or, if it has several splits, ``config/split``."""
    result: Found
    targets: Targets


def divide(
    source: Path,
    name: str,
    corpus: Corpus,
    *,
    kinds: CompoundKinds = "all",
    parse_all: bool = False,
    progress: bool = True,
) -> Division:
    """Write the dataset ``name`` next to the dataset folder ``source``, whose rows it divides.

    Raises ValueError if a split has no captions, or if no row is in a split; FileNotFoundError if files of the dataset
    are missing.
    """
    read_stats(source)
    files = _list_files(source)
    captions = dict.fromkeys(text for path in files for row in read_captions(path) for text in row)
    graphs = parse_captions(list(captions), corpus.workers)
    targets = _list_targets(graphs.values(), kinds)
    result = find_seen(
        targets, corpus, cache_folder() / FOLDER, parse_all=parse_all, progress=progress
    )
    folder = source.parent / name
    rows = {}
    with atomic_folder(folder) as scratch:
        for path in files:
            classes = [
                classify([graphs[text] for text in row], result.seen, kinds)
                for row in read_captions(path)
            ]
            label = _label(source, path)
            rows[label] = rows.get(label, Counter()) + Counter(classes)
            _write(path, scratch / path.parent.name, classes)
        if not any(rows[label][split] for label in rows for split in SPLITS):
            raise ValueError(
                f"{source}: no row is in a split; no caption has a compound that counts (--compounds {kinds})."
            )
        _write_card(scratch, source, Division(folder, rows, result, targets), corpus, kinds)
    return Division(folder, rows, result, targets)


def _list_files(source: Path) -> list[Path]:
    """Return the files of a dataset, without those of variants. Raises ValueError if a file has no captions."""
    files = [path for path in parquet_files(source) if not parse_stored(split_name(path))[1]]
    for path in files:
        schema = parquet.read_schema(path)
        if "image_row" in schema.names:
            raise ValueError(f"{path}: rows that share the images of other rows cannot be divided.")
        if not _list_columns(schema):
            raise ValueError(
                f"{path}: its rows have no captions, so that nothing tells what a corpus contains of them."
            )
    if not files:
        raise FileNotFoundError(f"{source}: no rows.")
    return files


def _list_columns(schema: pa.Schema) -> list[str]:
    """Return the columns of true captions."""
    return [name for name in list_caption_columns(schema) if not name.startswith("answers")]


def read_captions(path: Path) -> Iterator[list[str]]:
    """Yield the true captions of each row of a file."""
    columns = _list_columns(parquet.read_schema(path))
    for batch in parquet.read_batches(path, ROWS_PER_BATCH, columns):
        for row in batch.to_pylist():
            values = (row[name] for name in columns)
            yield [
                text
                for value in values
                for text in ([value] if isinstance(value, str) else value or ())
            ]


def parse_captions(captions: Sequence[str], workers: int) -> dict[str, SceneGraph | None]:
    """Return the scene graph of each caption; None for those that the parser cannot parse, or that are too long."""
    batches = [
        captions[start : start + ROWS_PER_BATCH]
        for start in range(0, len(captions), ROWS_PER_BATCH)
    ]
    parsed = map_in_processes(make_parser, _parse, batches, max(1, min(workers, len(batches))))
    return {text: graph for part in parsed for text, graph in part.items()}


def _parse(parser: CaptionParser, captions: Sequence[str]) -> dict[str, SceneGraph | None]:
    short = [text for text in captions if len(text) <= MAX_CHARACTERS]
    results = zip(short, parse_each(parser, short), strict=True)
    graphs = {
        text: None if isinstance(parse, Exception) else parse.graph for text, parse in results
    }
    return {text: graphs.get(text) for text in captions}


def _list_targets(graphs: Iterable[SceneGraph | None], kinds: CompoundKinds) -> Targets:
    targets = Targets.of(graph for graph in graphs if graph is not None)
    compounds = tuple(item for item in targets.compounds if kinds in ("all", item.kind))
    return Targets(targets.atoms, compounds)


def classify(graphs: Sequence[SceneGraph | None], seen: Seen, kinds: CompoundKinds = "all") -> str:
    """Return the class of a row, given the scene graphs of its true captions."""
    parsed = [graph for graph in graphs if graph is not None]
    if len(parsed) < len(graphs):
        return UNPARSED
    compounds = [
        item for graph in parsed for item in graph.compounds if kinds in ("all", item.kind)
    ]
    atoms = [atom for graph in parsed for atom in graph.atoms]
    return choose_split(atoms, compounds, *seen) if compounds else NO_COMPOUND


def _label(source: Path, path: Path) -> str:
    """Return the config of a file, or ``config/split`` if the split is not ``test``."""
    split = split_name(path)
    return path.parent.name if split == "test" else f"{path.parent.name}/{split}"


def _write(path: Path, folder: Path, classes: Sequence[str]) -> None:
    """Write the rows of a file to one file for each split that has rows."""
    schema = parquet.read_schema(path)
    split = split_name(path)
    prefix = "" if split == "test" else f"{split}_"
    for name in (name for name in SPLITS if name in classes):
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"{prefix}{name}{path.name.removeprefix(split)}"
        start = 0
        with parquet.open_writer(target, schema) as writer:
            for batch in parquet.read_batches(path, ROWS_PER_BATCH):
                of_batch = classes[start : start + batch.num_rows]
                start += batch.num_rows
                rows = [number for number, class_ in enumerate(of_batch) if class_ == name]
                writer.write_table(
                    pa.Table.from_batches([batch], schema).take(pa.array(rows, pa.int64()))
                )


def _write_card(
    folder: Path, source: Path, division: Division, corpus: Corpus, kinds: CompoundKinds
) -> None:
    stats: Stats = measure(folder) | {"source": source.name}
    result = division.result
    targets = division.targets
    stats["corpus"] = {
        "files": sorted({path.name for path in corpus.files}),
        "fingerprint": corpus.fingerprint,
        "captions": result.captions,
        "skipped": result.skipped,
        "not parsed": result.failed,
        "compounds": kinds,
        "atoms": {"all": len(targets.atoms), "seen": len(result.seen.atoms)},
        "compound counts": {"all": len(targets.compounds), "seen": len(result.seen.compounds)},
        "divided": {label: dict(counts) for label, counts in division.rows.items()},
    }
    version = read_stats(source)["version"]
    rows = [(label, *(counts[name] for name in CLASSES)) for label, counts in division.rows.items()]
    names = {"name": division.folder.name, "source": source.name}
    text = render("corpus_splits", **names, version=version, stats=stats, rows=rows)
    metadata = {
        "pretty_name": division.folder.name,
        "tags": ["compositionality"],
        "license": "other",
    }
    write_card(folder, metadata, text, stats)
