"""Parse a user's own captions, and make the hard negatives of each."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import NamedTuple, Self

from compeval.base.draw_keys import make_source_key
from compeval.base.pipeline.workers import map_in_processes
from compeval.base.readers.annotations import Annotations
from compeval.base.readers.corpora import read_captions
from compeval.base.schemas.annotated_image import AnnotatedImage, Region
from compeval.base.schemas.scene_graph import Parse
from compeval.generators.graphs.vocabulary import Vocabulary
from compeval.generators.hard_negatives.aro.word_order import Tagger, make_wrong_captions
from compeval.generators.hard_negatives.hard_negative import HardNegative
from compeval.generators.hard_negatives.own.companions import Companions
from compeval.generators.hard_negatives.own.foils import FoilMaker
from compeval.generators.hard_negatives.own.kinds import ORDER
from compeval.generators.hard_negatives.own.lists import load_words
from compeval.generators.hard_negatives.own.slots import SlotCounts
from compeval.generators.language.inflection import lemmatise_noun
from compeval.generators.parser.caption_parser import CaptionParser, make_parser, parse_each
from compeval.loaders.own_data.options import NegativeOptions
from compeval.loaders.own_data.rows import Row, Rows, describe

MAX_CHARACTERS = 1_000
"""Longer captions are not parsed: a text of thousands of words takes minutes, and no text tower reads it."""
IMAGES_PER_CHUNK = 64
"""Images that a worker parses at once."""
MAX_CORPUS = 200_000
"""Captions of a training corpus in which slots are counted, in addition to the user's own."""
NO_ORDER = "has too few words for four different shuffles"


def parse_images(
    images: Iterable[AnnotatedImage], workers: int, counts: Counter[str]
) -> Iterator[AnnotatedImage]:
    """Yield the images with the parses of their captions; count the captions, and those that are not parsed."""
    stream = iter(images)
    chunks = iter(lambda: list(islice(stream, IMAGES_PER_CHUNK)), [])
    for chunk in map_in_processes(make_parser, _parse, chunks, workers):
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
    options: NegativeOptions,
    annotated: frozenset[str],
) -> FoilMaker:
    """Read all captions in five passes, and a part of the corpus; memory follows the vocabulary."""
    graphs = (region.parse.graph for image in images for region in image.regions if region.parse)
    vocabulary = Vocabulary.of(graphs)
    slots = SlotCounts(frozenset(vocabulary.nouns) | load_words("common_nouns"))
    for text in _list_captions(images):
        slots.add_slots(text)
    for text in chain(_list_captions(images), read_part_of_corpus(options)):
        slots.count(text)
    return FoilMaker(
        options.kinds,
        vocabulary,
        slots,
        Companions.of(map(_list_nouns, images)),
        options.rejected,
        make_source_key(_list_captions(images)),
        annotated,
    )


def _list_captions(images: Annotations) -> Iterator[str]:
    return (region.caption for image in images for region in image.regions)


def read_part_of_corpus(options: NegativeOptions) -> Iterator[str]:
    """Yield the first captions of each shard of the corpus, ``MAX_CORPUS`` of all together."""
    shards = options.list_shards()
    for shard in shards:
        records = read_captions(shard, options.corpus_column)
        texts = (text for text in records if len(text) <= MAX_CHARACTERS)
        yield from islice(texts, MAX_CORPUS // len(shards))


def _list_nouns(image: AnnotatedImage) -> set[str]:
    parses = (region.parse for region in image.regions if region.parse)
    return {lemmatise_noun(item.name) for parse in parses for item in parse.graph.objects}


class CaptionWorker(NamedTuple):
    """Makes the rows of an image in a worker process."""

    maker: FoilMaker
    rows: Rows
    tagger: Tagger | None

    @classmethod
    def make(cls, maker: FoilMaker, rows: Rows) -> Self:
        return cls(maker, rows, Tagger() if ORDER in maker.kinds else None)

    def make_rows(self, image: AnnotatedImage) -> tuple[list[Row], Counter[str]]:
        """Return the rows of TABLE_SCHEMA of an image, and the numbers of captions without a row by reason."""
        counts = Counter[str]()
        with_negatives = list(self.maker.make(image, image.files[0].stem, counts))
        captions = [self.rows.make_caption(image, item) for item in with_negatives]
        rejected = self.maker.rejected.get(image.files[0].stem, frozenset())
        if self.tagger:
            tagged = self.tagger(row["caption"] for row in captions)
            for row, item, words in zip(captions, with_negatives, tagged, strict=True):
                shuffles = make_wrong_captions(words, f"{item.caption.draw_key}:{ORDER}") or []
                shuffles = shuffles if rejected.isdisjoint(shuffles) else []
                row[ORDER] = [
                    describe(HardNegative(text, ()), None, words.text) for text in shuffles
                ]
                if not shuffles:
                    row["reasons"].append({"kind": ORDER, "reason": NO_ORDER})
        return captions, counts


def make_captions(
    images: Iterable[AnnotatedImage], maker: FoilMaker, rows: Rows, workers: int
) -> Iterator[tuple[list[Row], Counter[str]]]:
    """Yield the rows of TABLE_SCHEMA of each image: one for each caption with atoms. See ``make_rows``."""
    make_worker = partial(CaptionWorker.make, maker, rows)
    yield from map_in_processes(make_worker, CaptionWorker.make_rows, images, workers)
