"""The vocabulary of the micro-world: nouns, attributes and relations, under their canonical names.

``nouns.csv`` has one line per noun. Every noun is in WordNet. A hard negative replaces a noun by a noun with the same
grand-hypernym (the hypernym of its hypernym), so every noun belongs to a cluster of nouns that share one. The drawings
are in drawings/. ``world.yaml`` has the colours, the synonyms, the relations and their words, and the backgrounds.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

NOUNS_FILE = Path(__file__).with_name("nouns.csv")
WORLD: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("world.yaml").read_text("utf-8"))
"""The tables of world.yaml."""


class NounEntry(NamedTuple):
    """A line of nouns.csv."""

    cluster: str
    side: float
    """Geometric mean of the width and height of a medium-sized object, in pixels of a scene of 640 x 480 pixels."""
    themes: tuple[str, ...]
    """The themes of scenes in which the noun occurs."""
    roles: frozenset[str]
    """Actions that are possible with the object (``ROLES``)."""
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
            noun = row["noun"]
            roles = frozenset(row["roles"].split())
            themes = tuple(row["themes"].split())
            if noun in entries:
                raise ValueError(f"{path.name}: {noun!r} has two lines; keep one.")
            if unknown := sorted(roles - set(ROLES)):
                raise ValueError(
                    f"{path.name}, {noun}: unknown role {unknown[0]!r}, expected {', '.join(ROLES)}."
                )
            if not (row["cluster"] and row["side"] and themes):
                raise ValueError(f"{path.name}, {noun}: cluster, side and themes are needed.")
            sense = row["sense"] or f"{noun}.n.01"
            entries[noun] = NounEntry(row["cluster"], float(row["side"]), themes, roles, sense)
    return entries


NOUN_TABLE = read_nouns(NOUNS_FILE)
"""Noun -> line of nouns.csv."""
NOUNS: dict[str, tuple[str, ...]] = {}
"""The nouns by cluster."""
for _noun, _entry in NOUN_TABLE.items():
    NOUNS[_entry.cluster] = (*NOUNS.get(_entry.cluster, ()), _noun)
PEOPLE = NOUNS["person"]
ALL_NOUNS = tuple(noun for cluster in NOUNS.values() for noun in cluster)

COLORS: dict[str, str] = {name: tones["base"] for name, tones in WORLD["colors"].items()}
"""Colour -> #rrggbb."""

PATTERNS = ("plain", "striped", "spotted", "checkered")
"""``plain`` is the default; captions do not name it."""

SIZES = ("small", "medium", "large")
"""Captions do not name ``medium``. They name the other sizes only where the view also shows an object of the same noun
with the opposite size (``Scene.comparable``), because a crop with one object does not show how large it is."""

STATES = (("open", "closed"), ("lit", "unlit"), ("broken", "intact"), ("full", "empty"))
"""Pairs of states that exclude each other. A noun has the states of its drawings."""


class RelationEntry(NamedTuple):
    """A relation of world.yaml, which explains the fields."""

    converse: str
    weight: float
    phrases: Sequence[str]
    verbs: Sequence[str] = ()
    tails: Sequence[str] = ()
    implied_by: Sequence[str] = ()
    unsaid_after: Sequence[str] = ()
    sense: str = ""


RELATIONS = {name: RelationEntry(**entry) for name, entry in WORLD["relations"].items()}
CONVERSE = {name: entry.converse for name, entry in RELATIONS.items()}
"""The converse of every relation; ``next to`` is its own."""
