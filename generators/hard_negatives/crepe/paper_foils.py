"""The foils of an atom by the rules of CREPE's authors (``rules: paper``).

Source: CREPE (arXiv:2212.07796), sections 4.1 and 4.2, appendix A.1 and B.4, and the 27,500 edits of the published
productivity files with 4, 8 and 12 atoms, which say what the paper leaves open:

- One atom of one word is replaced at the first place of this word, also if another atom has it there; other mentions,
  articles and the number of nouns stay as they are ("an grape" for "an apple"). If the graph has "car" and the caption
  "cars", the ending stays ("trucks", but also "couchs" and "benchs"). In systematicity, the whole word is replaced
  (Table 17: "park" for "plants").
- The words are those of ``wordnet.list_published_foils``. Prepositions replace one another: PREPOSITIONS, without those
  that may mean the same. In systematicity, they also have WordNet's antonyms (Table 17: "cat off sofa").
- BERT predicts the masked atom once, and the NUM_RANKED most probable of the words remain: words with five candidates
  or fewer have each of them equally often ("car": 33 truck, 31 bike, 29 tank, 28 motorcycle, 28 cat), and of more, none
  is above a fifth. Of these five, the hard negatives are drawn at random, in productivity at most MAX_PER_ATOM.

No scene graph is consulted: 539 of the published foils are words of their own caption.
Difference from the published files: an atom is a whole word, or its beginning as above. Theirs also replace "on" in
"person" ("persinside", 1,002 edits).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from random import Random
from typing import NamedTuple

from compeval.base.schemas.scene_graph import AtomKey, Mention
from compeval.base.text_only.gaps import Gap
from compeval.generators.hard_negatives.crepe.in_place import ENDINGS, split_ending
from compeval.generators.hard_negatives.hard_negative import Foil, HardNegative
from compeval.generators.language.wordnet import list_published_foils

_ALL = (
    "above",
    "across",
    "around",
    "at",
    "below",
    "by",
    "in",
    "inside",
    "near",
    "on",
    "over",
    "under",
)
_SAME = {"around": "near", "near": "around", "below": "under", "under": "below"}
"""Prepositions that do not replace each other."""
PREPOSITIONS: dict[str, tuple[str, ...]] = {
    word: tuple(other for other in _ALL if other not in (word, _SAME.get(word))) for word in _ALL
} | {
    "on": ("across", "below", "inside", "under"),
    "in": ("above", "across", "around", "below", "by", "near", "over", "under"),
    "at": ("above", "across", "around", "below", "by", "near", "over", "under"),
}
"""The foils of each preposition in the published files."""
PHRASES = {"on top of": ("underneath",), "underneath": ("on top of",)}
"""Relations of several words in the examples of the paper (section 4.1 and Table 2)."""
POSSESSION = ("has", "have")
"""Verbs with foils in the published files ("lack", "refuse"). "wearing" and "holding" have antonyms, but no foils."""
NUM_RANKED = 5
"""Words of an atom that the language model selects in productivity."""
NUM_RANKED_IN_REGIONS = 10
"""The same in systematicity: the published row of "a red brick paved sidewalk" has six colours for "red"."""
MAX_PER_ATOM = 2
"""Hard negatives of a productivity caption that replace the same atom. In 162 of 5,500 published rows, three to five
replace the same word, which several atoms have."""


class Slot(NamedTuple):
    """An atom at its first mention, the gap that foils fill, and what follows the gap in the same word."""

    mention: Mention
    gap: Gap
    ending: str = ""

    def write(self, word: str) -> HardNegative:
        """Return the caption with a word in the gap."""
        return HardNegative(
            self.gap.fill(word), (Foil(self.mention.kind, self.mention.text, word + self.ending),)
        )


def list_words(mention: Mention, text: str, *, in_region: bool = False) -> tuple[str, ...]:
    """Return the foils of an atom that is written ``text``.

    Of relations, those of POSSESSION have WordNet's antonyms, and in systematicity (``in_region``) prepositions, too.
    """
    if mention.kind != "relation":
        return list_published_foils(text, mention.kind)
    listed = PREPOSITIONS.get(text, PHRASES.get(text, ()))
    has_antonyms = text in POSSESSION or (in_region and bool(listed))
    return (*listed, *(list_published_foils(text, "relation") if has_antonyms else ()))


def list_slots(caption: str, mentions: Sequence[Mention]) -> list[Slot]:
    """Return the atoms of a productivity caption that have foils, in the order of their first mentions.

    Atoms with one word have one place: of the 5,166 published edits of a word that a caption has twice, none is of the
    second.
    """
    first: dict[AtomKey, Slot] = {}
    for mention in sorted(mentions, key=lambda mention: mention.start):
        if mention.atom_key not in first:
            first[mention.atom_key] = _make_slot(caption, mention)
    return [slot for slot in first.values() if slot.gap.words]


def _make_slot(caption: str, mention: Mention) -> Slot:
    """Return the slot of an atom at the first place of its word, which may be that of another atom.

    The word is the name of the graph, which the caption may write with an ending, or else what the caption has.
    """
    name, _ = split_ending(caption, mention)
    pattern = rf"(?<!\w)({re.escape(name)})({'|'.join(ENDINGS)})?(?!\w)"
    place = re.search(pattern, caption, re.IGNORECASE)
    # A mention that is a part of a word is where it is.
    start, end = place.span(1) if place else (mention.start, mention.start + len(name))
    gap = Gap(caption, start, end, _list_single(mention, name.lower()))
    return Slot(mention, gap, (place[2] or "") if place else "")


def _list_single(mention: Mention, text: str, *, in_region: bool = False) -> tuple[str, ...]:
    """Return the foils of an atom of one word, or of a phrase of PHRASES; other atoms have none."""
    is_single = re.fullmatch(r"[^\W\d_]+", text) is not None
    return list_words(mention, text, in_region=in_region) if is_single or text in PHRASES else ()


def list_region_slots(caption: str, mentions: Sequence[Mention]) -> list[Slot]:
    """Return the atoms of a region caption that have foils. The whole word is replaced, whatever its number."""
    slots = [
        Slot(
            mention,
            Gap(caption, mention.start, mention.end, _list_single(mention, text, in_region=True)),
        )
        for mention in mentions
        for text in [caption[mention.start : mention.end].lower()]
    ]
    return [slot for slot in slots if slot.gap.words]


def select_best(scores: Mapping[str, float], count: int = NUM_RANKED) -> list[str]:
    """Return the most plausible words, best first; of equal ones, the first in the alphabet."""
    return nlargest(count, sorted(scores), key=lambda word: scores[word])


def draw_atoms(
    slots: Sequence[Slot], scores: Sequence[Mapping[str, float]], count: int, rng: Random
) -> Iterator[HardNegative]:
    """Yield the hard negatives of a productivity caption in random order, at most MAX_PER_ATOM of each atom.

    ``scores`` are those of the words of each slot. If there are ``count``, the other words of the five best follow,
    which are used only if annotators rejected negatives. If there are fewer, nothing follows.
    """
    best = [rng.sample(words, len(words)) for words in map(select_best, scores)]
    seen: set[str] = set()
    for part in (slice(MAX_PER_ATOM), slice(MAX_PER_ATOM, None)):
        negatives = [
            slot.write(word)
            for slot, words in zip(slots, best, strict=True)
            for word in words[part]
        ]
        for negative in rng.sample(negatives, len(negatives)):
            if negative.caption not in seen:
                seen.add(negative.caption)
                yield negative
        if len(seen) < count:
            return
