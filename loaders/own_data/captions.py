"""Parse a user's own captions, and make the hard negatives of each."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import NamedTuple, Self

from compeval.base.draw_keys import make_source_key
from compeval.base.pipeline.workers import map_with
from compeval.base.readers.annotations import Annotations
from compeval.base.schemas.annotated_image import AnnotatedImage, Region
from compeval.base.schemas.scene_graph import Parse
from compeval.base.text_only.corpus_statistics import CorpusStatistics
from compeval.generators.crepe_regions import is_in_balanced_sets
from compeval.generators.graphs.vocabulary import Vocabulary
from compeval.generators.hard_negatives.aro.word_order import Tagger, make_wrong_captions
from compeval.generators.hard_negatives.hard_negative import HardNegative
from compeval.generators.hard_negatives.own.companions import Companions
from compeval.generators.hard_negatives.own.foils import FoilMaker, extend_vocabulary
from compeval.generators.hard_negatives.own.kinds import ORDER
from compeval.generators.language.inflection import lemmatise_noun
from compeval.generators.parser.caption_parser import CaptionParser, make_parser, parse_each
from compeval.loaders.own_data.rows import Row, Rows, describe

MAX_CHARACTERS = 1_000
"""Longer captions are not parsed: a text of thousands of words takes minutes, and no text tower reads it."""
IMAGES_PER_CHUNK = 64
"""Images that a worker parses at once."""
MANY_CAPTIONS, MIN_COUNT = 5_000, 3
"""In larger datasets, a word must occur this often in the captions to be a foil."""


def parse_images(
    images: Iterable[AnnotatedImage], workers: int, counts: Counter[str]
) -> Iterator[AnnotatedImage]:
    """Yield the images with the parses of their captions; count the captions, and those that are not parsed."""
    stream = iter(images)
    chunks = iter(lambda: list(islice(stream, IMAGES_PER_CHUNK)), [])
    for chunk in map_with(make_parser, _parse, chunks, workers):
        for image in chunk:
            counts["captions"] += len(image.regions)
            too_long = sum(len(region.caption) > MAX_CHARACTERS for region in image.regions)
            counts[f"captions of more than {MAX_CHARACTERS:,} characters"] += too_long
            unread = sum(region.parse is None for region in image.regions) - too_long
            counts["captions that the parser cannot read"] += unread
            yield image


def _parse(parser: CaptionParser, images: Sequence[AnnotatedImage]) -> list[AnnotatedImage]:
    captions = [region.caption for image in images for region in image.regions]
    parses = iter(
        parse_each(parser, [caption for caption in captions if len(caption) <= MAX_CHARACTERS])
    )

    def add_parse(region: Region) -> Region:
        parse = next(parses) if len(region.caption) <= MAX_CHARACTERS else None
        return replace(region, parse=parse if isinstance(parse, Parse) else None)

    return [replace(image, regions=tuple(map(add_parse, image.regions))) for image in images]


def make_foil_maker(
    images: Annotations,
    kinds: Sequence[str],
    counts: Counter[str],
    rejected: Mapping[str, frozenset[str]],
    annotated: frozenset[str],
) -> FoilMaker:
    """Read all captions in four passes; memory follows the vocabulary. See :class:`FoilMaker`."""
    graphs = (region.parse.graph for image in images for region in image.regions if region.parse)
    min_count = MIN_COUNT if counts["captions"] >= MANY_CAPTIONS else 1
    return FoilMaker(
        kinds,
        extend_vocabulary(Vocabulary.of(graphs, min_count)),
        CorpusStatistics.of(region.caption for image in images for region in image.regions),
        Companions.of(map(_list_nouns, images)),
        rejected,
        make_source_key(region.caption for image in images for region in image.regions),
        annotated,
    )


def _list_nouns(image: AnnotatedImage) -> set[str]:
    parses = (region.parse for region in image.regions if region.parse)
    return {lemmatise_noun(item.name) for parse in parses for item in parse.graph.objects}


class CaptionWorker(NamedTuple):
    """Makes the rows of an image in a worker process."""

    maker: FoilMaker
    rows: Rows
    balanced_share: float
    tagger: Tagger | None

    @classmethod
    def make(cls, maker: FoilMaker, rows: Rows, balanced_share: float) -> Self:
        return cls(maker, rows, balanced_share, Tagger() if ORDER in maker.kinds else None)

    def make_rows(self, image: AnnotatedImage) -> list[Row]:
        """Return the rows of TABLE_SCHEMA of an image."""
        made = list(self.maker.make(image, image.files[0].stem))
        captions = [self.rows.make_caption(image, item) for item in made]
        for row, (caption, _) in zip(captions, made, strict=True):
            if is_in_balanced_sets(image, caption.parse.graph, self.balanced_share):
                row["parts"] = self.maker.find_parts(caption, row["caption"])
                row["draw_key"] = caption.draw_key
        rejected = self.maker.rejected.get(image.files[0].stem, frozenset())
        if self.tagger:
            tagged = self.tagger(row["caption"] for row in captions)
            for row, (caption, _), words in zip(captions, made, tagged, strict=True):
                shuffles = make_wrong_captions(words, f"{caption.draw_key}:{ORDER}") or []
                shuffles = shuffles if rejected.isdisjoint(shuffles) else []
                row |= {
                    "shuffled": words.text,
                    ORDER: [describe(HardNegative(text, ()), None) for text in shuffles],
                }
        return captions


def make_captions(
    images: Iterable[AnnotatedImage],
    maker: FoilMaker,
    rows: Rows,
    balanced_share: float,
    workers: int,
) -> Iterator[list[Row]]:
    """Yield the rows of TABLE_SCHEMA of each image: one for each caption with atoms."""
    make_worker = partial(CaptionWorker.make, maker, rows, balanced_share)
    yield from map_with(make_worker, CaptionWorker.make_rows, images, workers)
