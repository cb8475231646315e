"""The vocabulary of the micro-world: nouns, attributes and relations, under their canonical names.

``nouns.csv`` has one line per noun. Every noun is in WordNet. A hard negative replaces a noun by a noun with the same
grand-hypernym (the hypernym of its hypernym), so every noun belongs to a cluster of nouns that share one. The drawings
are in drawings/, and synonyms are in captions/wording.py.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

NOUNS_FILE = Path(__file__).with_name("nouns.csv")


class NounEntry(NamedTuple):
    """A line of nouns.csv."""

    cluster: str
    side: float
    """Geometric mean of the width and height of a medium-sized object, in pixels of a scene of 640 x 480 pixels."""
    themes: tuple[str, ...]
    """The themes of scenes in which the noun occurs."""
    roles: frozenset[str]
    """What can be done with the object (``ROLES``)."""
    sense: str
    """The WordNet synset."""


ROLES = ("portable", "held", "food", "worn", "pulled", "pushed", "filled")
"""``portable``: can be on a carrier or in a container; ``held``: fits in a hand; ``worn``: by people; ``pulled`` and
``pushed``: by people; ``filled``: water can be poured into it. What an object can carry, contain or wear follows from
its drawing."""


def read_nouns(path: Path) -> dict[str, NounEntry]:
    """Read nouns.csv. Raises ValueError if a line is incomplete or has an unknown role."""
    entries: dict[str, NounEntry] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            noun, roles, themes = row["noun"], frozenset(row["roles"].split()), tuple(row["themes"].split())
            if noun in entries:
                raise ValueError(f"{path.name}: {noun!r} has two lines; keep one.")
            if unknown := sorted(roles - set(ROLES)):
                raise ValueError(f"{path.name}, {noun}: unknown role {unknown[0]!r}, expected {', '.join(ROLES)}.")
            if not (row["cluster"] and row["side"] and themes):
                raise ValueError(f"{path.name}, {noun}: cluster, side and themes are needed.")
            sense = row["sense"] or f"{noun}.n.01"
            entries[noun] = NounEntry(row["cluster"], float(row["side"]), themes, roles, sense)
    return entries


def _group_by_cluster(entries: Mapping[str, NounEntry]) -> dict[str, tuple[str, ...]]:
    clusters: dict[str, tuple[str, ...]] = {}
    for noun, entry in entries.items():
        clusters[entry.cluster] = (*clusters.get(entry.cluster, ()), noun)
    return clusters


NOUN_TABLE = read_nouns(NOUNS_FILE)
"""Noun -> line of nouns.csv."""
NOUNS = _group_by_cluster(NOUN_TABLE)
"""The nouns by cluster."""
PEOPLE = NOUNS["person"]
ALL_NOUNS = tuple(noun for cluster in NOUNS.values() for noun in cluster)

COLORS: dict[str, str] = {
    "red": "#d7263d",
    "orange": "#f58a1f",
    "yellow": "#f7d038",
    "green": "#2e9e4f",
    "blue": "#2767c9",
    "purple": "#7d3cb5",
    "white": "#f6f4ee",
    "black": "#26262b",
}

PATTERNS = ("plain", "striped", "spotted", "checkered")
"""``plain`` is the default; captions do not name it."""

SIZES = ("small", "medium", "large")
"""Captions do not name ``medium``. They name the other sizes only where the view also shows an object of the same noun
with the opposite size (``Scene.comparable``), because a crop with one object does not show how large it is."""

STATES = (("open", "closed"), ("lit", "unlit"), ("broken", "intact"), ("full", "empty"))
"""Pairs of states that exclude each other. A noun has the states of its drawings."""

RELATIONS: dict[str, str] = {
    "on": "rests on the upper side of, touching; every `on` is also `above`",
    "above": "wholly higher than, with horizontal overlap, whether touching or not",
    "below": "converse of above ('under' and 'beneath' are its synonyms)",
    "left of": "wholly to the left of; the horizontal ranges do not overlap",
    "right of": "converse of left of",
    "in front of": "nearer to the viewer and covering a part of",
    "behind": "converse of in front of",
    "in": "inside a container, whose front covers a part of it",
    "containing": "converse of in",
    "supporting": "converse of on",
    "next to": "at about the same height, with a gap smaller than the smaller width; symmetric",
    "wearing": "a person or an animal with a hat or a crown on its head",
    "worn by": "converse of wearing",
    "holding": "a person with an object in the hand",
    "held by": "converse of holding",
    "eating": "a person with food in the hand, at the mouth; every `eating` is also `holding`",
    "eaten by": "converse of eating",
    "pulling": "a person in front of an object, with a rope to it",
    "pulled by": "converse of pulling",
    "pushing": "a person with both hands against an object",
    "pushed by": "converse of pushing",
    "riding": "a person on the back of an animal or on a bicycle; every `riding` is also `on`",
    "ridden by": "converse of riding",
    "pouring into": "a tilted vessel whose water falls into the other",
    "filled by": "converse of pouring into",
}
"""A short definition of every relation. scenes/spatial_relations.py has the full definitions."""

CONVERSE = {
    "on": "supporting",
    "above": "below",
    "left of": "right of",
    "in front of": "behind",
    "in": "containing",
    "wearing": "worn by",
    "holding": "held by",
    "eating": "eaten by",
    "pulling": "pulled by",
    "pushing": "pushed by",
    "riding": "ridden by",
    "pouring into": "filled by",
    "next to": "next to",
}
CONVERSE |= {converse: relation for relation, converse in CONVERSE.items()}
"""The converse of every relation; ``next to`` is its own."""
