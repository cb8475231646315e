"""The inputs for hard negatives: an annotations file, its vocabulary and facts, and the negatives to omit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from generators.graphs.facts import ImageFacts, collect_facts
from generators.graphs.vocabulary import Vocabulary
from generators.hard_negatives.rejections import Rejections
from generators.readers.annotations import Annotations
from generators.schemas.annotated_image import AnnotatedImage
from generators.seen_analysis.regions import RegionReader


@dataclass(frozen=True)
class Source:
    """The inputs for the hard negatives of one annotations file. Worker processes get a copy."""

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
        vocabulary = Vocabulary.from_counts(*images.count_words())
        return cls(images, vocabulary, Rejections.read(), parser, spelling)

    @cached_property
    def region_reader(self) -> RegionReader:
        return RegionReader.make(self.spelling, self.parser)


@dataclass(frozen=True)
class ImageSource:
    """An image of a source and its facts, which are collected on first use."""

    image: AnnotatedImage
    source: Source

    @cached_property
    def annotated_facts(self) -> ImageFacts:
        """The facts in the scene graph. The region phrases prove no further statement false."""
        return collect_facts(self.image.facts())

    @cached_property
    def facts(self) -> ImageFacts:
        """The facts in the scene graph and the region phrases, which are parsed once."""
        return self.source.region_reader.facts(self.image)
