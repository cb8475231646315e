"""Recognise published files by their names, their SHA-256 or their content.

CREPE's productivity files state their complexity in column ``n``; the type of the negatives follows from their texts.
NegCLIP's split follows from the folders of the images. Some files cannot be told apart by their content
(CREPE's systematicity files, the captions of COCO and Flickr30k, SugarCrepe); they need their published name, or a
SHA-256 in generators/sources/registry.yaml.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from generators.language.texts import have_same_words
from generators.sources import read_registry
from loaders.audit import has_negation
from loaders.benchmarks import aro, crepe, sugarcrepe
from loaders.benchmarks.rows import Family, parse_texts, read_csv, read_json

FAMILIES = (aro.FAMILY, crepe.FAMILY, sugarcrepe.FAMILY)
SAMPLE_ROWS = 200
MIN_SHARE = 0.2
"""Share of negations, or of exchanged words, from which a file is one of negations or swaps. In the published files it
is 0 for the other types, 1 for negations and at least 0.36 for swaps."""


@dataclass(frozen=True)
class PublishedFile:
    """A file of a published benchmark."""

    path: Path
    family: Family
    name: str
    """Its published name, which may differ from the name of ``path``."""

    @cached_property
    def sha256(self) -> str:
        return _hash(self.path)


def identify(path: Path) -> PublishedFile:
    """Return the family of a published file and its published name. A file with a published name is not read.

    Raises FileNotFoundError if there is no such file, and ValueError if it is not recognised.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file.")
    for find_name in (_get_name, _find_by_hash, _find_by_content):
        name = find_name(path)
        for family in FAMILIES:
            if name and family.source(Path(name)):
                return PublishedFile(path, family, name)
    known = "; ".join(f"{', '.join(family.files)} ({family.name})" for family in FAMILIES)
    raise ValueError(
        f"{path}: not recognised as a published file, neither by its name nor by its content. Give it its published "
        f"name: {known}."
    )


def _get_name(path: Path) -> str:
    return path.name


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _find_by_hash(path: Path) -> str | None:
    names = {file.sha256: file.name for source in read_registry().values() for file in source.files if file.sha256}
    return names.get(_hash(path))


def _find_by_content(path: Path) -> str | None:
    try:
        if path.suffix in (".csv", ".tsv"):
            rows = read_csv(path, (), "\t" if path.suffix == ".tsv" else ",")
            return _find_by_columns(list(islice(rows, SAMPLE_ROWS)))
        return _find_by_keys(read_json(path)) if path.suffix == ".json" else None
    except ValueError:
        return None


def _find_by_columns(rows: Sequence[Mapping[str, str]]) -> str | None:
    columns = set(rows[0]) if rows else set()
    if {"n", "hard_negs"} <= columns and len(complexities := {row.get("n") for row in rows}) == 1:
        return f"prod_vg_hard_negs_{_find_type(rows)}_complexity_{complexities.pop()}.csv"
    if {"title", "filepath", "neg_caption"} <= columns:
        split = "train" if any("train2014" in row.get("filepath", "") for row in rows) else "valid"
        return f"{split}_neg_clip.tsv"
    return None


def _find_by_keys(items: Sequence[Any]) -> str | None:
    keys = set(items[0]) if items and isinstance(items[0], dict) else set()
    if {"true_caption", "false_caption", "bbox_x"} <= keys:
        return f"visual_genome_{'attribution' if 'attributes' in keys else 'relation'}.json"
    return None


def _find_type(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the type of the negatives of a productivity file: negate, swap or atom."""
    pairs: list[tuple[str, str]] = []
    for row in rows:
        try:
            pairs += [(row["caption"], negative) for negative in parse_texts(row["hard_negs"])[0]]
        except (ValueError, KeyError):
            continue
    for kind, is_of_kind in (
        ("negate", lambda caption, negative: has_negation(negative) and not has_negation(caption)),
        ("swap", have_same_words),
    ):
        if sum(is_of_kind(*pair) for pair in pairs) > MIN_SHARE * len(pairs):
            return kind
    return "atom"
