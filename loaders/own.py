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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from generators.readers import shards as tar
from generators.schemas.scene_graph import Box
from generators.sources.unpack import unpack
from generators.storage.crops import crop_id, size_of
from generators.storage.dataset import CHOICE_SCHEMA, RETRIEVAL_SCHEMA, write_config
from loaders.benchmarks.rows import json_items, literal
from loaders.cards.card import Stats, measure, table, write_card

PICTURES = (".jpg", ".jpeg", ".png", ".webp")
KINDS = (".csv", ".tsv", ".jsonl", ".json", ".tar")


class Entry(NamedTuple):
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
        yield Entry(image, captions, negatives)


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
    tar.check_whole(file)
    folder.mkdir(parents=True)
    for name in unpack(file, folder):
        image = folder / name
        if image.suffix.lower() in PICTURES:
            text = image.with_suffix(".txt")
            if not text.is_file():
                raise ValueError(f"{file}: {name} has no caption beside it ({text.name}).")
            yield Entry(image, (text.read_text(encoding="utf-8").strip(),))


def caption_rows(entries: Iterable[Entry], provenance: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row of RETRIEVAL_SCHEMA a picture, with its distinct captions."""
    captions: dict[Path, dict[str, None]] = {}
    for entry in entries:
        captions.setdefault(entry.image, {}).update(dict.fromkeys(entry.captions))
    for image, texts in captions.items():
        yield _picture(image, provenance) | {"captions": list(texts)}


def foil_rows(entries: Iterable[Entry], count: int, provenance: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row of CHOICE_SCHEMA an entry with ``count`` hard negatives."""
    for entry in entries:
        if len(entry.hard_negatives) == count:
            texts = {"caption": entry.captions[0], "hard_negatives": list(entry.hard_negatives)}
            yield _picture(entry.image, provenance) | texts


def _picture(path: Path, provenance: Mapping[str, Any]) -> dict[str, Any]:
    box = Box(0.0, 0.0, *map(float, size_of(path)))
    return {
        "image": {"bytes": path.read_bytes(), "path": None},
        "crop_id": crop_id(path, box),
        "image_id": path.stem,
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
