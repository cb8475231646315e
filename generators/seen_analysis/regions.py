"""Read the region descriptions of annotated images: correct, normalise and parse them, and select test captions.

    python -m compeval.generators.seen_analysis.regions     # stage `parsed_regions`; writes annotations/parsed.parquet

Source: CREPE (arXiv:2212.07796), section 4.1. If several regions have equal scene graphs, only the first region is
used; the others are marked as repeated. All phrases of an image, including removed phrases, add facts about the image.
No foil can then name an object that a phrase mentions. Phrases are parsed once, by this stage; later stages read the
parses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from compeval.base.pipeline import stage
from compeval.base.pipeline.params import (
    OURS,
    PAPER,
    read_params,
    read_parser_params,
    read_rules,
)
from compeval.base.pipeline.workers import map_in_processes
from compeval.base.readers.annotations import Annotations, write_images
from compeval.base.schemas.annotated_image import AnnotatedImage, Region
from compeval.base.schemas.scene_graph import Parse, SceneGraph
from compeval.generators.graphs.facts import ImageFacts, collect_facts
from compeval.generators.parser.caption_parser import CaptionParser, make_parser, parse_each
from compeval.generators.seen_analysis.spelling import Speller
from compeval.generators.seen_analysis.splits import (
    REPEATED,
    UNPARSED,
    WORDLESS,
    Funnel,
    find_caption_fault,
    find_crop_fault,
    normalize_caption,
)

IMAGES_PER_CHUNK = 64
"""Images that a worker parses at once."""


class RegionReader(NamedTuple):
    """Corrects and parses region phrases. ``spell`` needs the original capitals, because it skips names."""

    parser: CaptionParser
    spell: Callable[[str], str]
    keep_mark: bool = False
    """If True, captions keep their final mark (``rules: paper``)."""

    @classmethod
    def make(cls, parser: str, spelling: bool, rules: str = OURS) -> RegionReader:
        spell = Speller().correct if spelling else str
        return cls(make_parser(parser), spell, keep_mark=rules == PAPER)

    def read(self, images: Iterable[AnnotatedImage]) -> list[AnnotatedImage]:
        """Return the images with the captions and the parses of their regions.

        Each distinct caption of an image is parsed once. A caption that the parser cannot parse has no parse.
        """
        images = list(images)
        captions = [
            [
                normalize_caption(self.spell(region.phrase), keep_mark=self.keep_mark)
                for region in image.regions
            ]
            for image in images
        ]
        distinct = [dict.fromkeys(filter(None, texts)) for texts in captions]
        results = iter(parse_each(self.parser, list(chain.from_iterable(distinct))))
        read_images: list[AnnotatedImage] = []
        for image, texts, distinct_texts in zip(images, captions, distinct, strict=True):
            parses = {
                text: parse for text in distinct_texts if isinstance(parse := next(results), Parse)
            }
            regions = zip(image.regions, texts, strict=True)
            described = (
                replace(region, caption=text, parse=parses.get(text)) for region, text in regions
            )
            read_images.append(replace(image, regions=tuple(described)))
        return read_images


def read_regions(
    images: Iterable[AnnotatedImage], make_reader: Callable[[], RegionReader], workers: int = 1
) -> Iterator[AnnotatedImage]:
    """Yield the images with the captions and parses of their regions, in constant memory."""
    stream = iter(images)
    chunks = iter(lambda: list(islice(stream, IMAGES_PER_CHUNK)), [])
    for chunk in map_in_processes(make_reader, RegionReader.read, chunks, workers):
        yield from chunk


def collect_image_facts(image: AnnotatedImage) -> ImageFacts:
    """Return the facts in an image's scene graph and region phrases."""
    graphs = {region.caption: region.parse.graph for region in image.regions if region.parse}
    return collect_facts(image.facts()).with_texts(graphs.values())


class Candidate(NamedTuple):
    """A region that passes the filters. ``repeated`` is True if an earlier region has the same scene graph."""

    region: Region
    parse: Parse
    repeated: bool


class ImageCandidates(NamedTuple):
    """The candidates of an image, at least one."""

    image: AnnotatedImage
    candidates: list[Candidate]


def find_candidates(
    images: Iterable[AnnotatedImage],
    funnel: Funnel,
    keep_repeated: Callable[[AnnotatedImage, SceneGraph], bool] = lambda image, graph: False,
) -> Iterator[ImageCandidates]:
    """Yield the regions that pass every filter, by image; count all regions in ``funnel``.

    ``keep_repeated`` selects the repeated regions that are yielded, too; of equal graphs in one image, the first.
    Only digests of the scene graphs' signatures (16 bytes each) and image ids are held in memory.
    """
    signatures: dict[bytes, str] = {}
    """The last image with each scene graph."""
    for image in images:
        candidates: list[Candidate] = []
        for region in image.regions:
            fault = find_fault(image, region)
            parse = region.parse
            if fault or parse is None:
                funnel.count(fault)
                continue
            signature = blake2b(repr(parse.graph.signature).encode(), digest_size=16).digest()
            last_image = signatures.get(signature)
            signatures[signature] = image.image_id
            is_first = funnel.count(REPEATED if last_image is not None else None)
            if is_first or (last_image != image.image_id and keep_repeated(image, parse.graph)):
                candidates.append(Candidate(region, parse, not is_first))
        if candidates:
            yield ImageCandidates(image, candidates)


def find_fault(image: AnnotatedImage, region: Region) -> str | None:
    """Return the reason to remove a region whatever the other regions are, or None."""
    if fault := find_crop_fault(region.box, image.width, image.height):
        return fault
    if region.parse is None:
        return UNPARSED if region.caption else WORDLESS
    return find_caption_fault(region.parse.graph)


def main() -> None:
    images = Annotations(Path("annotations/visual_genome.parquet"))
    make_reader = partial(RegionReader.make, **read_parser_params(), rules=read_rules())
    workers = read_params("crepe_systematicity")["workers"]
    write_images(Path("annotations/parsed.parquet"), read_regions(images, make_reader, workers))


if __name__ == "__main__":
    stage.run(main)
