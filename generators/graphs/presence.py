"""The nouns that the objects of an image show: the objects themselves, their parts and their wholes.

The answers are those of generators/language/lexicon/nouns.py for each name, from sets that all names share. An image
with dozens of objects is asked about hundreds of nouns.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from generators.language import wordnet
from generators.language.lexicon import nouns


class Presence:
    """The names of an image's objects."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(dict.fromkeys(names))
        self._implied: dict[str, bool] = {}
        self._included: dict[str, bool] = {}

    def includes(self, noun: str) -> bool:
        """Return True if :func:`nouns.includes` holds for one of the names."""
        if noun not in self._included:
            self._included[noun] = self._may_name(noun) or self._has_part(noun)
        return self._included[noun]

    def implies(self, noun: str) -> bool:
        """Return True if :func:`nouns.implies_presence` holds for one of the names."""
        if noun not in self._implied:
            self._implied[noun] = self.includes(noun) or self._has_whole(noun)
        return self._implied[noun]

    def _may_name(self, noun: str) -> bool:
        """Return True if :func:`nouns.may_name_same_object` holds for one of the names."""
        if (
            noun in self._endings
            or not self._names_of_senses.isdisjoint(wordnet.ancestor_names(noun))
            or not self._ancestors.isdisjoint(wordnet.sense_names(noun))
            or not {*_list_endings(noun)}.isdisjoint(self._names)
        ):
            return True
        is_person, groups = nouns.is_person(noun), nouns.list_overlapping(noun)
        if is_person and any(nouns.may_be_same_person(name, noun) for name in self._persons):
            return True
        others = self._others if is_person else self._names
        return bool(groups) and any(not groups.isdisjoint(nouns.list_overlapping(name)) for name in others)

    def _has_part(self, noun: str) -> bool:
        """Return True if :func:`wordnet.is_part` holds for the noun and one of the names."""
        return not (
            self._kinds_of_parts.isdisjoint(wordnet.sense_names(noun))
            and self._parts.isdisjoint(wordnet.body_part_names(noun))
        )

    def _has_whole(self, noun: str) -> bool:
        """Return True if :func:`wordnet.is_part` holds for one of the names and the noun."""
        parts = wordnet.part_names(noun)
        return not (self._names_of_senses.isdisjoint(wordnet.kind_names(parts)) and self._body_parts.isdisjoint(parts))

    @cached_property
    def _endings(self) -> frozenset[str]:
        return frozenset(ending for name in self._names for ending in _list_endings(name))

    @cached_property
    def _names_of_senses(self) -> frozenset[str]:
        return frozenset().union(*map(wordnet.sense_names, self._names))

    @cached_property
    def _ancestors(self) -> frozenset[str]:
        return frozenset().union(*map(wordnet.ancestor_names, self._names))

    @cached_property
    def _parts(self) -> frozenset[str]:
        return frozenset().union(*map(wordnet.part_names, self._names))

    @cached_property
    def _kinds_of_parts(self) -> frozenset[str]:
        return frozenset().union(*map(wordnet.kind_names, {wordnet.part_names(name) for name in self._names}))

    @cached_property
    def _body_parts(self) -> frozenset[str]:
        return frozenset().union(*map(wordnet.body_part_names, self._names))

    @cached_property
    def _persons(self) -> tuple[str, ...]:
        return tuple(filter(nouns.is_person, self._names))

    @cached_property
    def _others(self) -> tuple[str, ...]:
        return tuple(name for name in self._names if name not in self._persons)


def _list_endings(name: str) -> list[str]:
    """Return the name and what follows each of its spaces: "dining room table", "room table", "table"."""
    words = name.split(" ")
    return [" ".join(words[start:]) for start in range(len(words))]
