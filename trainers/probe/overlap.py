"""Overlap of a training text with CompPrompts: whole prompts and pairs of nouns.

A probe that has seen a prompt, or two nouns together, may have memorised them. The paper states that its training text
contains no prompt (Kamath, Hessel and Chang 2023, footnote 3); noun pairs are counted here as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from generators.language import inflection
from generators.language.texts import fold_case_and_space, words
from generators.storage import parquet


class Overlap(NamedTuple):
    """The number of captions, of those that are a prompt, and of those with two nouns of one prompt."""

    captions: int
    prompts: int
    pairs: int

    def __str__(self) -> str:
        return (
            f"{self.captions:,} captions; {self.prompts:,} are a prompt of CompPrompts, {self.pairs:,} have both nouns "
            "of one"
        )


@dataclass(frozen=True)
class Prompts:
    """The prompts and the noun pairs of CompPrompts."""

    texts: frozenset[str]
    """Case-folded, without white space."""
    pairs: frozenset[frozenset[str]]
    """Pairs of lemmas."""

    @cached_property
    def _lemmas(self) -> dict[str, str]:
        """Singular or plural form -> lemma of every noun in a pair."""
        nouns = sorted({noun for pair in self.pairs for noun in pair})
        return {form: noun for noun in nouns for form in (noun, inflection.pluralise(noun))}

    def has(self, caption: str) -> bool:
        """True if the caption is a prompt."""
        return fold_case_and_space(caption) in self.texts

    def has_pair(self, caption: str) -> bool:
        """True if the caption has both nouns of a prompt, singular or plural."""
        nouns = sorted({self._lemmas[phrase] for phrase in _phrases(caption) if phrase in self._lemmas})
        return any(frozenset(pair) in self.pairs for pair in combinations(nouns, 2))

    def overlap(self, captions: Iterable[str]) -> Overlap:
        """Count over all captions of a text."""
        total = same = paired = 0
        for caption in captions:
            total += 1
            same += self.has(caption)
            paired += self.has_pair(caption)
        return Overlap(total, same, paired)


def _phrases(caption: str) -> Iterator[str]:
    """Yield words and word bigrams, such as "guinea pig"."""
    single = words(caption)
    yield from single
    yield from map(" ".join, pairwise(single))


def of_rows(rows: Iterable[Mapping[str, Any]]) -> Prompts:
    """Return the prompts of rows with ``prompt`` and ``atoms``."""
    texts, pairs = set[str](), set[frozenset[str]]()
    for row in rows:
        texts.add(fold_case_and_space(row["prompt"]))
        nouns = sorted({atom["text"] for atom in row["atoms"] if atom["kind"] == "noun"})
        pairs |= {frozenset(pair) for pair in combinations(nouns, 2)}
    return Prompts(frozenset(texts), frozenset(pairs))


def read(folder: Path) -> Prompts:
    """Return the prompts of all configs in the dataset folder. Raises FileNotFoundError if it has none."""
    files = sorted(folder.glob("*/*.parquet"))
    if not files:
        raise FileNotFoundError(f"{folder}: no prompts found. Run `dvc repro compprompts`.")
    columns = ["prompt", "atoms"]
    return of_rows(
        row for path in files for batch in parquet.read_batches(path, 1000, columns) for row in batch.to_pylist()
    )
