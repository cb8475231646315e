"""An annotations file, with all that hard negatives require: vocabulary, facts of its images, and rejected texts."""

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
CACHED_FACTS = 2000
"""Number of images whose facts each process keeps (about 20 KB per image), because every complexity needs them."""


@dataclass(frozen=True)
class Source:
    images: Annotations
    vocabulary: Vocabulary
    rejections: Rejections
    parser: str
    spelling: bool

    @classmethod
    def read(cls, annotations: Path, parser: str = "rules", spelling: bool = False) -> Source:
        images = Annotations(annotations)
        return cls(images, Vocabulary.of(image.graph for image in images), Rejections.read(), parser, spelling)

    @cached_property
    def facts(self) -> Callable[[str], ImageFacts]:
        """A function from an image id to the facts of its graph and region phrases. Phrases are parsed on first use."""
        reader = RegionReader.make(self.spelling, self.parser)
        return lru_cache(CACHED_FACTS)(lambda image_id: reader.facts(self.image(image_id)))

    @cached_property
    def image(self) -> Callable[[str], AnnotatedImage]:
        """A function from an image id to the image."""
        return lru_cache(CACHED_IMAGES)(self.images.__getitem__)
