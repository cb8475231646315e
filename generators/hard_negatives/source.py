"""The inputs for hard negatives: an annotations file, its vocabulary and facts, and the negatives to omit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from generators.graphs.facts import ImageFacts
from generators.graphs.vocabulary import Vocabulary
from generators.hard_negatives.rejections import Rejections
from generators.readers.annotations import Annotations
from generators.schemas.annotated_image import AnnotatedImage
from generators.seen_analysis.regions import RegionReader

CACHED_IMAGES = 32
"""Maximum number of images with annotations that each process keeps in memory."""
CACHED_FACTS = 2000
"""Maximum number of images whose facts each process keeps in memory (about 20 KB per image). A process makes the
captions of several complexities (numbers of atoms in a caption), which need the facts of the same images."""


@dataclass(frozen=True)
class Source:
    """The inputs for the hard negatives of one annotations file."""

    images: Annotations
    vocabulary: Vocabulary
    """The words of the file's scene graphs, from which foils are chosen."""
    rejections: Rejections
    """The negatives that annotators judged true of their image. They are omitted."""
    parser: str
    """Name of the parser of region phrases (generators/parser/caption_parser.py)."""
    spelling: bool
    """True if the spelling of region phrases is corrected before they are parsed."""

    @classmethod
    def read(cls, annotations: Path, parser: str = "rules", spelling: bool = False) -> Source:
        images = Annotations(annotations)
        return cls(images, Vocabulary.of(image.graph for image in images), Rejections.read(), parser, spelling)

    @cached_property
    def facts(self) -> Callable[[str], ImageFacts]:
        """Function that returns the facts in the scene graph and the region phrases of an image, given the image id."""
        reader = RegionReader.make(self.spelling, self.parser)
        return lru_cache(CACHED_FACTS)(lambda image_id: reader.facts(self.image(image_id)))

    @cached_property
    def image(self) -> Callable[[str], AnnotatedImage]:
        """Function that returns the image with an image id."""
        return lru_cache(CACHED_IMAGES)(self.images.__getitem__)
