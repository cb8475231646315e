"""Select region descriptions as test captions: correct, normalise, filter and parse them.

Source: CREPE (arXiv:2212.07796), section 4.1. If several regions have equal scene graphs, only the first region is
used; the others are marked as repeated. All phrases of an image, including removed phrases, add facts about the image.
No foil can then name an object that a phrase mentions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import groupby, islice
from typing import NamedTuple

from generators.graphs.facts import ImageFacts, collect_facts
from generators.parser.caption_parser import CaptionParser, make_parser, parse_each
from generators.pipeline.workers import map_with
from generators.schemas.annotated_image import AnnotatedImage, Region
from generators.schemas.scene_graph import Parse
from generators.seen_analysis.spelling import Speller
from generators.seen_analysis.splits import (
    REPEATED,
    UNPARSED,
    WORDLESS,
    Funnel,
    find_caption_fault,
    find_crop_fault,
    normalize_caption,
)

IMAGES_PER_CHUNK = 64
"""Images that a worker processes at once."""


class Candidate(NamedTuple):
    """A region that passes the filters, the parse of its caption, and the facts about the whole image.

    ``repeated`` is True if a region of an earlier image has the same scene graph.
    """

    image: AnnotatedImage
    region: Region
    parse: Parse
    facts: ImageFacts
    repeated: bool = False


class RegionReader(NamedTuple):
    """Corrects and parses region phrases. ``spell`` needs the original capitals, because it skips names."""

    parser: CaptionParser
    spell: Callable[[str], str]

    @classmethod
    def make(cls, spelling: bool, parser: str) -> RegionReader:
        return cls(make_parser(parser), Speller().correct if spelling else str)

    def caption(self, region: Region) -> str:
        """Return the region's phrase, corrected and normalised; empty if it has no words."""
        return normalize_caption(self.spell(region.phrase))

    def parse_images(self, images: Iterable[AnnotatedImage]) -> Iterator[dict[str, Parse]]:
        """Yield caption -> parse for the distinct region captions of each image that the parser can parse."""
        captions_by_image = [list(dict.fromkeys(filter(None, map(self.caption, image.regions)))) for image in images]
        results = iter(parse_each(self.parser, [caption for captions in captions_by_image for caption in captions]))
        for captions in captions_by_image:
            parses = zip(captions, islice(results, len(captions)), strict=True)
            yield {caption: parse for caption, parse in parses if isinstance(parse, Parse)}

    def facts(self, image: AnnotatedImage) -> ImageFacts:
        """Return the facts in the image's scene graph and region phrases."""
        (parses,) = self.parse_images([image])
        return _collect_facts(image, parses)


def _collect_facts(image: AnnotatedImage, parses: Mapping[str, Parse]) -> ImageFacts:
    return collect_facts(image.facts()).with_texts(parse.graph for parse in parses.values())


def find_candidates(
    images: Iterable[AnnotatedImage],
    make_reader: Callable[[], RegionReader],
    workers: int,
    funnel: Funnel,
    keep_repeated: Callable[[Candidate], bool] = lambda _: False,
) -> Iterator[list[Candidate]]:
    """Yield the regions that pass every filter, one list per image; count all regions in ``funnel``.

    ``keep_repeated`` selects the repeated candidates that are yielded, too; of equal graphs in one image, the first.
    Only digests of the scene graphs' signatures (16 bytes each), image ids and the images in progress are held in
    memory.
    """
    signatures: dict[bytes, str] = {}
    """The last image with each scene graph."""
    for results in map_with(make_reader, check_regions, _split_into_chunks(images), workers):
        candidates: list[Candidate] = []
        for result in results:
            if isinstance(result, str):
                funnel.count(result)
                continue
            signature = blake2b(repr(result.parse.graph.signature).encode(), digest_size=16).digest()
            last_image = signatures.get(signature)
            signatures[signature] = result.image.image_id
            if funnel.count(REPEATED if last_image is not None else None):
                candidates.append(result)
            elif last_image != result.image.image_id and keep_repeated(repeated := result._replace(repeated=True)):
                candidates.append(repeated)
        yield from (list(group) for _, group in groupby(candidates, key=lambda candidate: candidate.image.image_id))


def check_regions(reader: RegionReader, images: list[AnnotatedImage]) -> list[Candidate | str]:
    """Return a candidate for each region, or the reason to remove the region.

    These filters look at one region at a time; :func:`find_candidates` removes repeated scene graphs.
    """
    results: list[Candidate | str] = []
    for image, parses in zip(images, reader.parse_images(images), strict=True):
        facts = _collect_facts(image, parses)
        for region in image.regions:
            fault = find_crop_fault(region.box, image.width, image.height)
            caption = reader.caption(region)
            parse = parses.get(caption)
            if fault or parse is None:
                results.append(fault or (UNPARSED if caption else WORDLESS))
            else:
                results.append(find_caption_fault(parse.graph) or Candidate(image, region, parse, facts))
    return results


def _split_into_chunks(images: Iterable[AnnotatedImage]) -> Iterator[list[AnnotatedImage]]:
    stream = iter(images)
    while chunk := list(islice(stream, IMAGES_PER_CHUNK)):
        yield chunk
