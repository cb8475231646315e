"""The nouns that the objects of an image show: the objects themselves, their parts and their wholes.

The answers are those of generators/language/lexicon/nouns.py and of :func:`wordnet.is_part` for each name, from sets
that all names share. An image with dozens of objects is asked about hundreds of nouns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, wraps
from typing import Any, TypeVar

from compeval.generators.language import wordnet
from compeval.generators.language.lexicon import nouns

Result = TypeVar("Result")


def cached_method(method: Callable[..., Result]) -> Callable[..., Result]:
    """Store the results of a method in its object, so that they are deleted with the object."""
    attribute = f"_results_of_{method.__name__}"

    @wraps(method)
    def call(self: Any, *arguments: Any) -> Result:
        results = self.__dict__.setdefault(attribute, {})
        if arguments not in results:
            results[arguments] = method(self, *arguments)
        return results[arguments]

    return call


class Presence:
    """The names of an image's objects."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(dict.fromkeys(names))
        self._persons = tuple(filter(nouns.is_person, self._names))
        self._endings = frozenset(ending for name in self._names for ending in _list_endings(name))
        self._senses = frozenset().union(*map(wordnet.sense_names, self._names))
        self._ancestors = frozenset().union(*map(wordnet.ancestor_names, self._names))
        self._parts = frozenset().union(*map(wordnet.part_names, self._names))

    @cached_property
    def _kinds_of_parts(self) -> frozenset[str]:
        return frozenset().union(
            *map(wordnet.kind_names, {wordnet.part_names(name) for name in self._names})
        )

    @cached_property
    def _body_parts(self) -> frozenset[str]:
        return frozenset().union(*map(wordnet.body_part_names, self._names))

    @cached_method
    def includes(self, noun: str) -> bool:
        """Return True if the noun may name one of the objects, or a part of it."""
        return self._may_name(noun) or not (
            self._kinds_of_parts.isdisjoint(wordnet.sense_names(noun))
            and self._parts.isdisjoint(wordnet.body_part_names(noun))
        )

    @cached_method
    def implies(self, noun: str) -> bool:
        """Return True if the noun may name one of the objects, a part of it, or its whole."""
        parts = wordnet.part_names(noun)
        return self.includes(noun) or not (
            self._senses.isdisjoint(wordnet.kind_names(parts))
            and self._body_parts.isdisjoint(parts)
        )

    def _may_name(self, noun: str) -> bool:
        """Return True if :func:`nouns.may_name_same_object` holds for one of the names."""
        if (
            noun in self._endings
            or not self._senses.isdisjoint(wordnet.ancestor_names(noun))
            or not self._ancestors.isdisjoint(wordnet.sense_names(noun))
            or not {*_list_endings(noun)}.isdisjoint(self._names)
        ):
            return True
        is_person = nouns.is_person(noun)
        groups = nouns.list_overlapping(noun)
        if is_person and any(nouns.may_be_same_person(name, noun) for name in self._persons):
            return True
        others = set(self._names).difference(self._persons if is_person else ())
        return bool(groups) and any(
            not groups.isdisjoint(nouns.list_overlapping(name)) for name in others
        )


def _list_endings(name: str) -> list[str]:
    """Return the name and what follows each of its spaces: "dining room table", "room table", "table"."""
    words = name.split(" ")
    return [" ".join(words[start:]) for start in range(len(words))]
