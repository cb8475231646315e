"""Nouns that images show together, as far as their captions say."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any


class ImageNouns:
    """The nouns of each image.

    Readers know that a bottle stands near a cup and a horse near a cart. A foil that combines nouns of two images is
    therefore recognised without the image, and compounds.py combines only nouns that an image shows together.
    """

    def __init__(self, nouns_by_image: Mapping[str, Iterable[str]]) -> None:
        self._nouns_by_image = {image: frozenset(nouns) for image, nouns in nouns_by_image.items()}
        self._images_by_noun = defaultdict[str, list[str]](list)
        for image, nouns in self._nouns_by_image.items():
            for noun in nouns:
                self._images_by_noun[noun].append(image)
        self._companions = dict[str, Counter[str]]()

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]]) -> ImageNouns:
        """Read the nouns of rows with the columns ``image_id`` and ``atoms``."""
        nouns_by_image = defaultdict[str, set[str]](set)
        for row in rows:
            nouns_by_image[row["image_id"]].update(
                atom["text"] for atom in row["atoms"] if atom["kind"] == "object"
            )
        return cls(nouns_by_image)

    def count(self, noun: str) -> int:
        """Return the number of images with a noun."""
        return len(self._images_by_noun.get(noun, ()))

    def count_companions(self, noun: str) -> Counter[str]:
        """Return the number of images in which each other noun is shown together with this one."""
        if noun not in self._companions:
            images = self._images_by_noun.get(noun, ())
            self._companions[noun] = Counter(
                other for image in images for other in self._nouns_by_image[image]
            )
            del self._companions[noun][noun]
        return self._companions[noun]
