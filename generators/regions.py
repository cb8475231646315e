"""Region descriptions as test captions: filtered, normalised, spelling corrected, parsed, each scene graph once.

Source: CREPE, section 4.1. Of the regions with one scene graph the first stays, in the order of images and regions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from typing import NamedTuple

from generators.scene_graph import Parse
from generators.seen import ParseCaptions
from generators.splits import REPEATED, WORDLESS, Funnel, caption_fault, crop_fault, normalised
from generators.visual_genome import Image, Region
from generators.workers import map_with

IMAGES = 64
"""Images that a worker takes at a time."""


class Candidate(NamedTuple):
    image: Image
    region: Region
    parse: Parse


class Checked(NamedTuple):
    """The candidates of some images, and the reason of each of their regions that was dropped."""

    candidates: list[Candidate]
    faults: list[str]


class Reader(NamedTuple):
    """What turns a phrase into a parse; ``spell`` sees the phrase with its capitals."""

    parse: ParseCaptions
    spell: Callable[[str], str]


def candidates(
    images: Iterable[Image], make_reader: Callable[[], Reader], workers: int, funnel: Funnel
) -> Iterator[list[Candidate]]:
    """The regions that pass every filter, one list an image; ``funnel`` counts them all.

    Memory: the signature of each scene graph and the images under way.
    """
    signatures: set[object] = set()
    for checked in map_with(make_reader, check, groups(images), workers):
        for fault in checked.faults:
            funnel.count(fault)
        kept: list[Candidate] = []
        for candidate in checked.candidates:
            signature = candidate.parse.graph.signature
            if funnel.count(REPEATED if signature in signatures else None):
                signatures.add(signature)
                kept.append(candidate)
        yield from (list(group) for _, group in groupby(kept, key=lambda candidate: candidate.image.image_id))


def check(reader: Reader, images: list[Image]) -> Checked:
    """Every filter that looks at one region alone."""
    faults: list[str] = []
    asked: list[tuple[Image, Region, str]] = []
    for image in images:
        for region in image.regions:
            fault = crop_fault(region.box, image.width, image.height)
            caption = "" if fault else normalised(reader.spell(region.phrase))
            if fault or not caption:
                faults.append(fault or WORDLESS)
            else:
                asked.append((image, region, caption))
    found: list[Candidate] = []
    for (image, region, _), parse in zip(asked, reader.parse([item[2] for item in asked]), strict=True):
        if fault := caption_fault(parse.graph):
            faults.append(fault)
        else:
            found.append(Candidate(image, region, parse))
    return Checked(found, faults)


def groups(images: Iterable[Image]) -> Iterator[list[Image]]:
    stream = iter(images)
    while group := list(islice(stream, IMAGES)):
        yield group
