"""Region descriptions as test captions: filtered, normalised, spelling corrected, parsed, each scene graph once.

Source: CREPE, section 4.1. Of the regions with equal scene graphs the first is used, in the order of images and
regions. All phrases of an image, dropped ones included, add to its facts, so that no foil names an object that one of
them mentions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby, islice
from typing import NamedTuple

from generators.graphs.facts import ImageFacts, collect_facts
from generators.parser.caption_parser import CaptionParser, make_parser
from generators.schemas.annotated_image import AnnotatedImage, Region
from generators.schemas.scene_graph import Parse
from generators.seen_analysis.spelling import Speller
from generators.seen_analysis.splits import (
    REPEATED,
    WORDLESS,
    Funnel,
    find_caption_fault,
    find_crop_fault,
    normalize_caption,
)
from generators.storage.workers import map_with

IMAGES_PER_CHUNK = 64
"""Images that a worker processes at a time."""


class Candidate(NamedTuple):
    """A region that passes the filters, with the facts of the whole image."""

    image: AnnotatedImage
    region: Region
    parse: Parse
    facts: ImageFacts


class RegionReader(NamedTuple):
    """Parses region phrases; ``spell`` corrects a phrase that still has its capitals."""

    parser: CaptionParser
    spell: Callable[[str], str]

    @classmethod
    def make(cls, spelling: bool, parser: str) -> RegionReader:
        return cls(make_parser(parser), Speller().correct if spelling else str)

    def caption(self, region: Region) -> str:
        """The region's phrase as a caption; empty if it has no words."""
        return normalize_caption(self.spell(region.phrase))

    def parses(self, images: Iterable[AnnotatedImage]) -> Iterator[dict[str, Parse]]:
        """Per image, the parse of each distinct caption of its regions."""
        captions = [list(dict.fromkeys(filter(None, map(self.caption, image.regions)))) for image in images]
        parsed = self.parser.parse(caption for of_image in captions for caption in of_image)
        for of_image in captions:
            yield dict(zip(of_image, islice(parsed, len(of_image)), strict=True))

    def facts(self, image: AnnotatedImage) -> ImageFacts:
        """The facts of the image's scene graph and of its region phrases."""
        (parses,) = self.parses([image])
        return _facts(image, parses)


def _facts(image: AnnotatedImage, parses: Mapping[str, Parse]) -> ImageFacts:
    return collect_facts(image.facts()).with_texts(parse.graph for parse in parses.values())


def find_candidates(
    images: Iterable[AnnotatedImage], make_reader: Callable[[], RegionReader], workers: int, funnel: Funnel
) -> Iterator[list[Candidate]]:
    """The regions that pass every filter, one list per image; ``funnel`` counts all regions.

    Memory: the signature of each scene graph, and the images in progress.
    """
    signatures: set[object] = set()
    for checked in map_with(make_reader, check_regions, _chunks(images), workers):
        passed: list[Candidate] = []
        for item in checked:
            if isinstance(item, str):
                funnel.count(item)
                continue
            signature = item.parse.graph.signature
            if funnel.count(REPEATED if signature in signatures else None):
                signatures.add(signature)
                passed.append(item)
        yield from (list(group) for _, group in groupby(passed, key=lambda candidate: candidate.image.image_id))


def check_regions(reader: RegionReader, images: list[AnnotatedImage]) -> list[Candidate | str]:
    """For each region a candidate, or the reason to drop it, by the filters that see one region."""
    checked: list[Candidate | str] = []
    for image, parses in zip(images, reader.parses(images), strict=True):
        facts = _facts(image, parses)
        for region in image.regions:
            fault = find_crop_fault(region.box, image.width, image.height)
            parse = parses.get(reader.caption(region))
            if fault or parse is None:
                checked.append(fault or WORDLESS)
            else:
                checked.append(find_caption_fault(parse.graph) or Candidate(image, region, parse, facts))
    return checked


def _chunks(images: Iterable[AnnotatedImage]) -> Iterator[list[AnnotatedImage]]:
    stream = iter(images)
    while chunk := list(islice(stream, IMAGES_PER_CHUNK)):
        yield chunk
