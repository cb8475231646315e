"""Captions and phrases of real files, from the folder that COMPEVAL_REAL_DATA names; empty without it."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from generators.readers.corpora import Column, list_shards, read_captions

WEB_CORPORA: tuple[tuple[str, Column], ...] = (
    ("captions/cc3m_validation_8k.tsv", 0),
    ("captions/web_alt_text_1k.tsv", "TEXT"),
    ("cc12m/cc12m-train-0000.tar", "caption"),
    ("benchmarks/laion/test_1000.parquet", "TEXT"),
)


def _find(pattern: str) -> list[Path]:
    folder = os.environ.get("COMPEVAL_REAL_DATA")
    return sorted(Path(folder).glob(pattern)) if folder else []


def _load(pattern: str) -> Iterator[Any]:
    for path in _find(pattern):
        yield from json.loads(path.read_text())


@cache
def read_phrases() -> tuple[str, ...]:
    """Return the region phrases of Visual Genome, unchanged."""
    regions = [
        region for image in _load("visual_genome/v1.2.0/region_descriptions.json") for region in image["regions"]
    ]
    regions += [
        region for image in _load("benchmarks/visual_genome/region_descriptions.json") for region in image["regions"]
    ]
    phrases = [region["phrase"] for region in regions]
    for path in _find("factual/dev.csv"):
        with path.open(newline="") as file:
            phrases += [row["caption"] for row in csv.DictReader(file)]
    return tuple(phrases)


@cache
def read_photo_captions() -> tuple[str, ...]:
    """Return the captions of COCO and Flickr30k, unchanged."""
    files = ("aro/coco_karpathy_test.json", "benchmarks/flickr30k/flickr30k_test.json")
    return tuple(caption for file in files for image in _load(file) for caption in image["caption"])


@cache
def read_web_captions() -> tuple[str, ...]:
    """Return the captions of CC3M, CC12M, LAION and other alt texts, unchanged."""
    return tuple(
        caption
        for file, column in WEB_CORPORA
        for path in _find(file)
        for shard in list_shards(str(path))
        for caption in read_captions(shard, column)
    )
