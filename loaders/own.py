"""Pictures and captions of one's own as a dataset folder.

    compeval make mine pairs.csv --images photos

A file is a table (csv, tsv, jsonl, json) with the columns ``image``, a file name, and ``caption`` or ``captions``, and
where there are any ``hard_negatives`` of the caption (in csv and tsv lists are Python literals); or a webdataset shard
(tar) of pictures and .txt. Configs: ``captions``, an image and all its captions, for retrieval both ways; and
``foils_K``, a caption beside K hard negatives, chance 1 / (K + 1).
"""

from __future__ import annotations

import csv
import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from generators.readers import shards
from generators.schemas.rows import CHOICE_SCHEMA, RETRIEVAL_SCHEMA
from generators.schemas.scene_graph import Box
from generators.storage.crops import crop_id, size_of
from generators.storage.dataset import write_config
from loaders.benchmarks.rows import json_items, literal
from loaders.cards.card import Stats, measure, table, write_card

KINDS = (".csv", ".tsv", ".jsonl", ".json", ".tar")


class Entry(NamedTuple):
    image_id: str
    image: Path
    captions: tuple[str, ...]
    hard_negatives: tuple[str, ...] = ()
    """Of the first caption."""


def make(name: str, files: Sequence[Path], images: Path | None, output: Path) -> Stats:
    """Write ``output/name``; gives its statistics. ``images`` is the folder that file names start from; by default each
    file's own.

    ValueError, naming the row, for a table that is none and for a picture that cannot be read; FileNotFoundError for a
    missing picture. Nothing is written before every row is read.
    """
    with tempfile.TemporaryDirectory() as scratch:
        entries = [entry for file in files for entry in read_entries(file, images or file.parent, Path(scratch))]
        if not entries:
            raise ValueError(f"{', '.join(map(str, files))}: no row.")
        for entry in entries:
            size_of(entry.image)
        provenance = {"source": name, "captioner": "own", "seed": 0}
        folder = output / name
        write_config(folder, "captions", {"test": caption_rows(entries, provenance)}, RETRIEVAL_SCHEMA)
        for count in sorted({len(entry.hard_negatives) for entry in entries} - {0}):
            write_config(folder, f"foils_{count}", {"test": foil_rows(entries, count, provenance)}, CHOICE_SCHEMA)
    stats = measure(folder) | {"source": name}
    write_card(
        folder, {"pretty_name": name, "language": ["en"], "tags": ["compositionality"]}, body(name, stats), stats
    )
    return stats


def read_entries(file: Path, images: Path, scratch: Path) -> Iterator[Entry]:
    """The rows of one file, in its order."""
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file.")
    if file.suffix not in KINDS:
        raise ValueError(f"{file}: unknown kind of file; known are {', '.join(KINDS)}.")
    if file.suffix == ".tar":
        yield from _of_tar(file, scratch / hashlib.sha256(str(file).encode()).hexdigest()[:8])
        return
    for number, row in enumerate(_rows(file), 1):
        try:
            captions = _texts(row.get("captions") or row["caption"])
            negatives = _texts(row.get("hard_negatives") or [])
            image = images / str(row["image"])
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{file}, row {number}: {error}. A row has image, caption or captions, and perhaps hard_negatives."
            ) from None
        if not image.is_file():
            raise FileNotFoundError(f"{file}, row {number}: no picture {image}. --images names their folder.")
        yield Entry(image.stem, image, captions, negatives)


def _rows(file: Path) -> Iterable[Any]:
    if file.suffix == ".json":
        return json_items(file)
    text = file.read_text(encoding="utf-8-sig")
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return csv.DictReader(text.splitlines(keepends=True), delimiter="\t" if file.suffix == ".tsv" else ",")


def _texts(value: str | Sequence[str]) -> tuple[str, ...]:
    """One text, a list of them, or the literal of a list."""
    if isinstance(value, str):
        value = literal(value)[0] if value.lstrip().startswith("[") else [value]
    found = tuple(text.strip() for text in value)
    if not all(found):
        raise ValueError("a text is empty")
    return found


def _of_tar(file: Path, folder: Path) -> Iterator[Entry]:
    """The readable pairs of a shard, with their images in ``folder``; no name of the shard becomes a path."""
    folder.mkdir(parents=True)
    skipped = Counter[str]()
    for number, (pair, _) in enumerate(shards.decoded_pairs(file, skipped)):
        image = folder / str(number)
        image.write_bytes(pair.image.content or b"")
        yield Entry(PurePosixPath(pair.key).name, image, (pair.caption,))
    shards.show(file, skipped)


def caption_rows(entries: Iterable[Entry], provenance: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row of RETRIEVAL_SCHEMA a picture, with its distinct captions."""
    captions: dict[Path, dict[str, None]] = {}
    first: dict[Path, Entry] = {}
    for entry in entries:
        first.setdefault(entry.image, entry)
        captions.setdefault(entry.image, {}).update(dict.fromkeys(entry.captions))
    for image, texts in captions.items():
        yield _picture(first[image], provenance) | {"captions": list(texts)}


def foil_rows(entries: Iterable[Entry], count: int, provenance: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row of CHOICE_SCHEMA an entry with ``count`` hard negatives."""
    for entry in entries:
        if len(entry.hard_negatives) == count:
            texts = {"caption": entry.captions[0], "hard_negatives": list(entry.hard_negatives)}
            yield _picture(entry, provenance) | texts


def _picture(entry: Entry, provenance: Mapping[str, Any]) -> dict[str, Any]:
    box = Box(0.0, 0.0, *map(float, size_of(entry.image)))
    return {
        "image": {"bytes": entry.image.read_bytes(), "path": None},
        "crop_id": crop_id(entry.image, box),
        "image_id": entry.image_id,
        **box._asdict(),
        "categories": [],
        "provenance": dict(provenance),
    }


def body(name: str, stats: Stats) -> str:
    """The card's text."""
    counts = [
        (config, splits["test"], "1 / images" if config == "captions" else f"1 / {int(config.rpartition('_')[2]) + 1}")
        for config, splits in stats["rows"].items()
    ]
    return (
        f"# {name}\n\nMade by `compeval make` of files of one's own; dataset version `{stats['version']}`.\n\n"
        + table(("config", "rows", "chance of Recall@1"), counts)
    )
