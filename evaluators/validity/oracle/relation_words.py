"""How relations are said in English: phrases, verbs and postures, and the world's relations that they stand for.

Keyed by hand to the ids of the world. A phrase may stand for several ids: then any of them makes it true.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

Relations = frozenset[str]

Meaning = TypeVar("Meaning")
Phrases = dict[str, list[tuple[tuple[str, ...], Meaning]]]
"""Phrases of several words with what they mean, by their first word, the longest first."""


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def phrases(table: Mapping[str, Meaning]) -> Phrases[Meaning]:
    """{"next to|by": x} with both phrases meaning x."""
    spelled = [(tuple(phrase.split()), meaning) for group, meaning in table.items() for phrase in group.split("|")]
    found: Phrases[Meaning] = {}
    for phrase, meaning in sorted(spelled, key=lambda item: -len(item[0])):
        found.setdefault(phrase[0], []).append((phrase, meaning))
    return found


def _relations(table: Mapping[str, str]) -> Phrases[Relations]:
    return phrases({group: frozenset(relations.split("|")) for group, relations in table.items()})


WORN: Relations = frozenset({"wearing"})
HAS: Relations = frozenset({"supporting", "containing", "wearing"})
WITH: Relations = HAS | {"next to"}
"""'a table with a lamp': on it, in it, worn by it, or keeping it company."""
NEVER: Relations = frozenset()
"""A relation that the world cannot draw: no pair of things stands in it."""

PREPOSITIONS: Phrases[Relations] = _relations(
    {
        "on|on top of|on the top of|atop|upon|onto": "on|worn by",
        "above|over|higher than": "above",
        "below|under|beneath|underneath|lower than": "below",
        "in|inside|inside of|within|into": "in|wearing",
        "beside|by|near|next to|alongside|alongside of|close to|near to|adjacent to": "next to",
        "by the side of|at the side of|side by side with": "next to",
        "left of|to the left of|on the left of|at the left of|leftward of": "left of",
        "to the left side of|on the left side of": "left of",
        "right of|to the right of|on the right of|at the right of|rightward of": "right of",
        "to the right side of|on the right side of": "right of",
        "in front of|in the front of|ahead of|before": "in front of",
        "behind|in back of|at the back of": "behind",
        "of|full of": "containing",
        "outside|outside of|out of": "next to|left of|right of|in front of|behind",
        "far from|far away from|away from": "far from",
    }
)
"""Phrases that start from a place: 'a ball ON a table'. A hat on a cat is worn by it, a cat in a hat wears it. What is
far from a thing is to its left or right and not next to it (logic.World)."""

UNDRAWN_PREPOSITIONS = word_set(
    "about across after against along amid amidst among amongst around astride at between beyond despite "
    "down during for from like off opposite past round since through throughout to toward towards up via"
)
"""Prepositions that name no relation of the world; with a noun phrase they read as a relation that never holds."""

ADVERBS: Phrases[Relations] = _relations(
    {
        "on top": "on|worn by",
        "inside|within": "in",
        "underneath|beneath|below": "below",
        "above|overhead": "above",
        "behind": "behind",
        "in front": "in front of",
        "nearby|alongside|close by": "next to",
        "to its left|on its left": "left of",
        "to its right|on its right": "right of",
    }
)
"""Phrases whose object is understood: 'a table with a lamp ON TOP'."""

SIDES: Phrases[str] = phrases(
    {
        "|".join(
            f"{start} {side}{end}" for start in ("on the", "at the", "to the", "in the", "at") for end in ("", " side")
        ): side
        for side in ("left", "right")
    }
)
"""'a cup on the left': the thing's middle lies in that half of the picture."""


class Verb(NamedTuple):
    """Its forms, its relations and their converses. ``vague``: the object may say how ("carrying a lamp on top")."""

    base: str
    third: str
    present: str
    past: str
    active: Relations
    passive: Relations
    vague: bool


def _verb(forms: str, active: str, passive: str) -> Verb:
    base, third, present, past = forms.split()
    relations = frozenset(active.split("|"))
    return Verb(base, third, present, past, relations, frozenset(passive.split("|")), vague=len(relations) > 1)


_VERBS = (
    _verb("wear wears wearing worn", "wearing", "worn by"),
    _verb("contain contains containing contained", "containing", "in"),
    _verb("enclose encloses enclosing enclosed", "containing", "in"),
    _verb("hold holds holding held", "containing|supporting", "in|on"),
    _verb("carry carries carrying carried", "containing|supporting", "in|on"),
    _verb("support supports supporting supported", "supporting", "on"),
    _verb("bear bears bearing borne", "supporting", "on"),
    *(
        _verb(forms, "in front of", "behind")
        for forms in (
            "hide hides hiding hidden",
            "cover covers covering covered",
            "block blocks blocking blocked",
            "obscure obscures obscuring obscured",
            "conceal conceals concealing concealed",
            "occlude occludes occluding occluded",
            "overlap overlaps overlapping overlapped",
        )
    ),
)
BASE_VERBS = {verb.base: verb for verb in _VERBS}
THIRD_VERBS = {verb.third: verb for verb in _VERBS}
PRESENT_VERBS = {verb.present: verb for verb in _VERBS}
PAST_VERBS = {verb.past: verb for verb in _VERBS}

PARTICIPLES: Phrases[Relations] = _relations(
    {
        "hidden behind": "behind",
        "contained in|contained within|held in|held inside|enclosed in": "in",
        "held up by": "on",
        "holding up|propping up": "supporting",
        "topped by|topped with": "supporting",
        "filled with": "containing",
        "dressed in|clad in": "wearing",
        "flanked by": "next to",
    }
)
"""Participle phrases that are no plain passive."""

POSTURES = word_set("sit stand rest lie perch balance remain appear")
POSTURES_THIRD = word_set("sits stands rests lies perches balances remains appears")
POSTURES_PARTICIPLE = word_set(
    "sitting standing resting lying perching balancing seated perched balanced placed located positioned situated set "
    "put seen shown visible found"
)
"""Words for being somewhere that say nothing more than 'is': they must be followed by where."""

DEGREES = word_set("directly immediately just partly partially right slightly fully completely also still")
"""Adverbs before a place that leave its truth alone: 'right behind', 'partly hidden by'."""

SINGLE: frozenset[str] = frozenset().union(
    UNDRAWN_PREPOSITIONS,
    *(BASE_VERBS, THIRD_VERBS, PRESENT_VERBS, PAST_VERBS),
    *(POSTURES, POSTURES_THIRD, POSTURES_PARTICIPLE, DEGREES),
)
"""Every word of this file that stands alone; the others stand in phrases."""
