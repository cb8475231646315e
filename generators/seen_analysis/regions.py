"""Region descriptions as test captions: filtered, normalised, spelling corrected, parsed, each scene graph once.

Source: CREPE, section 4.1. Of the regions with one scene graph the first stays, in the order of images and regions.

All of an image's phrases, those that are filtered too, tell what is in it, so that no foil names it (facts.py: told).
Each distinct phrase of an image is parsed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby, islice
from typing import NamedTuple

from generators.graphs.facts import Facts, closure
from generators.parser.choice import make_parser
from generators.schemas.annotated_image import AnnotatedImage, Region
from generators.schemas.scene_graph import Parse
from generators.seen_analysis.seen import ParseCaptions
from generators.seen_analysis.splits import REPEATED, WORDLESS, Funnel, Speller, caption_fault, crop_fault, normalised
from generators.storage.workers import map_with

IMAGES = 64
"""Images that a worker takes at a time."""


class Candidate(NamedTuple):
    """A region that passes the filters; ``facts`` are those of the whole image."""

    image: AnnotatedImage
    region: Region
    parse: Parse
    facts: Facts


class Checked(NamedTuple):
    """The candidates of some images, and the reason of each of their regions that was dropped."""

    candidates: list[Candidate]
    faults: list[str]


class Reader(NamedTuple):
    """What turns a phrase into a parse; ``spell`` sees the phrase with its capitals."""

    parse: ParseCaptions
    spell: Callable[[str], str]

    @classmethod
    def make(cls, spelling: bool, parser: str) -> Reader:
        return cls(make_parser(parser).parse, Speller().correct if spelling else str)

    def caption(self, region: Region) -> str:
        """The region's phrase as a caption; "" where it has no words."""
        return normalised(self.spell(region.phrase))

    def parses(self, images: Iterable[AnnotatedImage]) -> Iterator[dict[str, Parse]]:
        """For each image the parse of each distinct caption of its regions."""
        captions = [list(dict.fromkeys(filter(None, map(self.caption, image.regions)))) for image in images]
        parsed = self.parse(caption for of_image in captions for caption in of_image)
        for of_image in captions:
            yield dict(zip(of_image, islice(parsed, len(of_image)), strict=True))

    def facts(self, image: AnnotatedImage) -> Facts:
        """What the image's graph says, and what its region phrases name."""
        (parses,) = self.parses([image])
        return _facts(image, parses)


def _facts(image: AnnotatedImage, parses: Mapping[str, Parse]) -> Facts:
    return closure(image.facts()).told(parse.graph for parse in parses.values())


def candidates(
    images: Iterable[AnnotatedImage], make_reader: Callable[[], Reader], workers: int, funnel: Funnel
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


def check(reader: Reader, images: list[AnnotatedImage]) -> Checked:
    """Every filter that looks at one region alone."""
    faults: list[str] = []
    found: list[Candidate] = []
    for image, parses in zip(images, reader.parses(images), strict=True):
        facts = _facts(image, parses)
        for region in image.regions:
            parse = parses.get(reader.caption(region))
            fault = crop_fault(region.box, image.width, image.height) or _fault(parse)
            if fault:
                faults.append(fault)
            else:
                assert parse is not None
                found.append(Candidate(image, region, parse, facts))
    return Checked(found, faults)


def _fault(parse: Parse | None) -> str | None:
    return WORDLESS if parse is None else caption_fault(parse.graph)


def groups(images: Iterable[AnnotatedImage]) -> Iterator[list[AnnotatedImage]]:
    stream = iter(images)
    while group := list(islice(stream, IMAGES)):
        yield group
