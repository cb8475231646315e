"""The inputs for hard negatives: an annotations file, its vocabulary and facts, and the negatives to omit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from compeval.base.readers.annotations import Annotations
from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.generators.graphs.facts import ImageFacts
from compeval.generators.graphs.vocabulary import Vocabulary
from compeval.generators.hard_negatives.rejections import Rejections
from compeval.generators.seen_analysis.regions import collect_image_facts


@dataclass(frozen=True)
class Source:
    """The inputs for the hard negatives of one annotations file. Worker processes get a copy."""

    images: Annotations
    vocabulary: Vocabulary
    """The words of the file's scene graphs, from which foils are chosen."""
    rejections: Rejections
    """The negatives that annotators judged true of their image. They are omitted."""

    @classmethod
    def read(cls, annotations: Path) -> Source:
        images = Annotations(annotations)
        return cls(images, Vocabulary.from_counts(*images.count_words()), Rejections.read())


@dataclass(frozen=True)
class ImageSource:
    """An image of a source and its facts, which are collected on first use."""

    image: AnnotatedImage
    source: Source

    @cached_property
    def facts(self) -> ImageFacts:
        """The facts in the scene graph and the region phrases."""
        return collect_image_facts(self.image)
