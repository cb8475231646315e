"""The hard negatives of a region caption by the rules of CREPE's authors (``rules: paper``).

Source: CREPE (arXiv:2212.07796), section 4.1, Table 17, and rows of the published systematicity files ("a red brick
paved sidewalk": HN-Atom "a brown brick paved sidewalk", HN-Comp "a red mall and blue sidewalk"):

- HN-Atom: one atom of the caption's compound is replaced (paper_foils.py). Case and final mark of the caption stay.
- HN-Comp: the compound twice, without articles and other words, each time with another atom replaced: "cat on counter
  and cat off sofa" for "a cat on the sofa.". An attribute and its noun stay where they are in the caption, so that what
  is around them stays: "a fully grown brown mule and red horse".

The language model selects the words of an atom; of these, the hard negatives are drawn at random. The paper does not
say how: in Table 17, three of the four HN-Atoms of "boat on the water" replace "water".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from random import Random
from typing import NamedTuple

from compeval.base.schemas.scene_graph import Mention, Parse
from compeval.generators.hard_negatives.crepe.paper_foils import (
    NUM_RANKED_IN_REGIONS,
    Slot,
    list_region_slots,
    select_best,
)
from compeval.generators.hard_negatives.hard_negative import HardNegative


class Compound(NamedTuple):
    """The compound of a caption: its mentions in the order subject, object, and relation or attribute."""

    caption: str
    mentions: tuple[Mention, ...]

    @classmethod
    def find(cls, parse: Parse) -> Compound | None:
        """Return the compound of a caption that has exactly one, and a mention of each of its atoms; else None."""
        if len(parse.graph.compounds) != 1:
            return None
        edges = parse.graph.relations
        ends = (
            [edges[0].subject, edges[0].object]
            if edges
            else [o.id for o in parse.graph.objects if o.attributes]
        )
        first = {(mention.kind, mention.object): mention for mention in reversed(parse.mentions)}
        keys = [*(("object", end) for end in ends), ("relation" if edges else "attribute", ends[0])]
        mentions = tuple(first[key] for key in keys if key in first)
        return cls(parse.caption, mentions) if len(mentions) == len(keys) else None

    def list_slots(self) -> list[Slot]:
        return list_region_slots(self.caption, self.mentions)

    def join(
        self, first: HardNegative, second: HardNegative, slots: Sequence[Slot]
    ) -> HardNegative:
        """Return the HN-Comp of two HN-Atoms of two slots."""
        halves = [
            self._write_bare(item, slot) for item, slot in zip((first, second), slots, strict=True)
        ]
        text = " and ".join(halves)
        noun = self.mentions[0]
        other = self.mentions[-1]
        if other.kind == "attribute" and other.end <= noun.start:
            text = self.caption[: other.start] + text + self.caption[noun.end :]
        return HardNegative(text, first.foils + second.foils)

    def _write_bare(self, negative: HardNegative, slot: Slot) -> str:
        """Return the words of the compound with one atom replaced: "brown mule", "cat on counter"."""
        *nouns, other = (
            negative.foils[0].replacement
            if mention == slot.mention
            else self.caption[mention.start : mention.end].lower()
            for mention in self.mentions
        )
        return " ".join(
            (other, *nouns)
            if self.mentions[-1].kind == "attribute"
            else (nouns[0], other, *nouns[1:])
        )


def draw_region_atoms(
    slots: Sequence[Slot], scores: Sequence[Mapping[str, float]], rng: Random
) -> Iterator[HardNegative]:
    """Yield the HN-Atoms of a caption in random order. ``scores`` are those of the words of each slot."""
    negatives = [negative for foils in _list_best(slots, scores) for negative in foils]
    return iter(rng.sample(negatives, len(negatives)))


def draw_region_compounds(
    compound: Compound, slots: Sequence[Slot], scores: Sequence[Mapping[str, float]], rng: Random
) -> Iterator[HardNegative]:
    """Yield the HN-Comps of a caption in random order. ``scores`` are those of the words of each slot."""
    foils = _list_best(slots, scores)
    pairs = [
        (first, second, (slots[i], slots[j]))
        for i, j in combinations(range(len(slots)), 2)
        for first, second in product(foils[i], foils[j])
    ]
    return (compound.join(*pair) for pair in rng.sample(pairs, len(pairs)))


def _list_best(
    slots: Sequence[Slot], scores: Sequence[Mapping[str, float]]
) -> list[list[HardNegative]]:
    return [
        [slot.write(word) for word in select_best(of_slot, NUM_RANKED_IN_REGIONS)]
        for slot, of_slot in zip(slots, scores, strict=True)
    ]
