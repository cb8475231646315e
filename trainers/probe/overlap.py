"""Count the captions of a training text that are a prompt of CompPrompts or contain two nouns of a prompt.

A probe may memorise prompts, or pairs of nouns, that it has seen in training. The paper states that its training text
contains no prompt (Kamath, Hessel and Chang 2023, footnote 3). Difference from the paper: noun pairs are counted, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from compeval.base.storage import parquet
from compeval.base.texts import fold_case_and_space, words
from compeval.generators.language import inflection


class Overlap(NamedTuple):
    """Number of captions, of captions that are a prompt, and of captions with two nouns of the same prompt."""

    captions: int
    prompts: int
    pairs: int

    def __str__(self) -> str:
        return (
            f"{self.captions:,} captions; {self.prompts:,} are a prompt of CompPrompts, {self.pairs:,} contain two "
            "nouns of the same prompt"
        )


@dataclass(frozen=True)
class Prompts:
    """The prompts and the noun pairs of CompPrompts."""

    texts: frozenset[str]
    """Prompts, case-folded and with normalised white space."""
    pairs: frozenset[frozenset[str]]
    """Pairs of lemmas."""

    @cached_property
    def _lemmas(self) -> dict[str, str]:
        """Singular or plural form -> lemma of every noun in a pair."""
        nouns = sorted({noun for pair in self.pairs for noun in pair})
        return {form: noun for noun in nouns for form in (noun, inflection.pluralise(noun))}

    def has_prompt(self, caption: str) -> bool:
        """Return True if the caption is a prompt."""
        return fold_case_and_space(caption) in self.texts

    def has_pair(self, caption: str) -> bool:
        """Return True if the caption contains two nouns of the same prompt, singular or plural."""
        single = words(caption)
        # Of one word and two words, such as "guinea pig".
        phrases = (
            *single,
            *map(" ".join, pairwise(single)),
        )
        nouns = sorted({self._lemmas[phrase] for phrase in phrases if phrase in self._lemmas})
        return any(frozenset(pair) in self.pairs for pair in combinations(nouns, 2))

    def count_overlap(self, captions: Iterable[str]) -> Overlap:
        """Count the captions that overlap with the prompts."""
        total = prompts = pairs = 0
        for caption in captions:
            total += 1
            prompts += self.has_prompt(caption)
            pairs += self.has_pair(caption)
        return Overlap(total, prompts, pairs)


def collect_prompts(rows: Iterable[Mapping[str, Any]]) -> Prompts:
    """Collect the prompts of dataset rows, which have ``prompt`` and ``atoms``."""
    texts = set[str]()
    pairs = set[frozenset[str]]()
    for row in rows:
        texts.add(fold_case_and_space(row["prompt"]))
        nouns = sorted({atom["text"] for atom in row["atoms"] if atom["kind"] == "noun"})
        pairs |= {frozenset(pair) for pair in combinations(nouns, 2)}
    return Prompts(frozenset(texts), frozenset(pairs))


def read_prompts(folder: Path) -> Prompts:
    """Read the prompts of all configs of a dataset folder. Raises FileNotFoundError if it has none."""
    files = sorted(folder.glob("*/*.parquet"))
    if not files:
        raise FileNotFoundError(f"{folder}: no prompts found. Run `dvc repro compprompts`.")
    columns = ["prompt", "atoms"]
    return collect_prompts(
        row
        for path in files
        for batch in parquet.read_batches(path, 1000, columns)
        for row in batch.to_pylist()
    )
