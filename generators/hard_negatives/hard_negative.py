"""The record of a hard negative: a caption that is false of its image, and the foils that make it false."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

FoilType = Literal["object", "attribute", "relation", "swap", "negation"]


class Foil(NamedTuple):
    """One change of the caption. If an atom is replaced, ``original`` and ``replacement`` are lemmas."""

    type: FoilType
    original: str
    replacement: str


class HardNegative(NamedTuple):
    caption: str
    foils: tuple[Foil, ...]

    @property
    def foil_rows(self) -> list[dict[str, str]]:
        """The foils in the format of the column ``foils``."""
        return [
            {"type": foil.type, "from": foil.original, "to": foil.replacement}
            for foil in self.foils
        ]


def drop_duplicates(
    candidates: Iterable[tuple[str | None, Foil]], truth: str
) -> Iterator[HardNegative]:
    """Yield each candidate that has a caption, without duplicates and without the true caption."""
    seen = {truth}
    for caption, foil in candidates:
        if caption is not None and caption not in seen:
            seen.add(caption)
            yield HardNegative(caption, (foil,))
