"""Targets of a seen analysis, and the word filter that says which captions can still add one.

A target is an atom or a compound of the test set. The words of an atom's text are forms of words of its caption
(``Forms``), so a caption without a form of some word of a target cannot have that target in its scene graph. The
filter passes a caption when all words of at least one unseen target are forms of its words; what it holds back could
not have added anything. The property of the parser that this rests on is checked on every caption that is parsed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from generators.parser.forms import Forms
from generators.schemas.scene_graph import Atom, Compound, SceneGraph

Target = Atom | Compound
_RUN = re.compile(r"[^\W\d_]+|\d+")
_WORD = re.compile(rf"{_RUN.pattern}|[^\w\s]|_")
_APOSTROPHES = frozenset("'’")
_AFTER = _APOSTROPHES | {"."}
_MEMORY = 1_000_000
_LONGEST_TOKEN = 6
"""Runs of letters in one token; in longer tokens lemmatisation only ever changes the last run."""


def split_words(text: str) -> list[str]:
    """Runs of letters, runs of digits and single marks, in lower case: no tokeniser joins parts of two of them."""
    return _WORD.findall(text.lower())


@dataclass(frozen=True)
class Targets:
    """Distinct atoms and compounds, sorted, so that a target's index is the same everywhere."""

    atoms: tuple[Atom, ...]
    compounds: tuple[Compound, ...]

    @classmethod
    def of(cls, graphs: Iterable[SceneGraph]) -> Targets:
        atoms: set[Atom] = set()
        compounds: set[Compound] = set()
        for graph in graphs:
            atoms.update(graph.atoms)
            compounds.update(graph.compounds)
        return cls(tuple(sorted(atoms)), tuple(sorted(compounds, key=_order)))

    @classmethod
    def load(cls, path: Path) -> Targets:
        if not path.exists():
            raise FileNotFoundError(f"{path}: not found. Run `python -m generators.crepe_systematicity regions` first.")
        data = json.loads(path.read_text(encoding="utf-8"))
        return cls(tuple(Atom(*item) for item in data["atoms"]), tuple(Compound(*item) for item in data["compounds"]))

    def to_json(self) -> dict[str, Any]:
        """Atoms as [kind, text], compounds as [kind, subject, relation, object]."""
        return {"atoms": self.atoms, "compounds": self.compounds}

    @cached_property
    def items(self) -> tuple[Target, ...]:
        return (*self.atoms, *self.compounds)

    @cached_property
    def index(self) -> dict[Target, int]:
        return {item: number for number, item in enumerate(self.items)}

    @cached_property
    def words(self) -> tuple[frozenset[str], ...]:
        """The words of each target, in the order of ``items``."""
        return tuple(frozenset(split_words(" ".join(filter(None, item[1:])))) for item in self.items)

    @cached_property
    def fingerprint(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json()).encode()).hexdigest()


def _order(compound: Compound) -> tuple[str, ...]:
    return tuple(part or "" for part in compound)


class CaptionWords:
    """The words of ``vocabulary`` that can occur in the atoms of a caption's parse.

    What a parser takes for a token is unknown here, but it is made of whole runs of letters or digits of one word
    between spaces, perhaps with an apostrophe before ('s) and a mark after (etc.); so the forms of all those count.
    """

    def __init__(self, vocabulary: Collection[str], forms: Forms) -> None:
        self._vocabulary, self._forms = frozenset(vocabulary), forms
        self._known: dict[str, tuple[str, ...]] = {}

    def __call__(self, caption: str) -> set[str]:
        found = {word for word in self._forms.always if word in self._vocabulary}
        known = self._known
        for spaced in caption.lower().split():
            if words := known[spaced] if spaced in known else self._learn(spaced):
                found.update(words)
        return found

    def check(self, caption: str, graph: SceneGraph) -> None:
        """ValueError where the parse has a target word that the caption cannot have: then the filter is not exact."""
        words = {word for atom in graph.atoms for word in split_words(atom.text)} & self._vocabulary
        if missing := words - self(caption):
            raise ValueError(
                f"the parser gave {sorted(missing)} for {caption!r}, which is no form of a word of the caption. "
                "The seen analysis would miss targets: the forms must cover all that the parser gives."
            )

    def _learn(self, spaced: str) -> tuple[str, ...]:
        if len(self._known) >= _MEMORY:  # web captions have no end of words
            self._known.clear()
        runs = [match.span() for match in _RUN.finditer(spaced)]
        tokens = {
            spaced[begin:finish]
            for first, (start, _) in enumerate(runs)
            for _, end in runs[first : first + _LONGEST_TOKEN]
            for begin in {start, start - (spaced[start - 1 : start] in _APOSTROPHES)}
            for finish in {end, end + (spaced[end : end + 1] in _AFTER)}
        }
        words = {
            *split_words(spaced),
            *(word for token in tokens for form in self._forms.of(token) for word in split_words(form)),
        }
        return self._known.setdefault(spaced, tuple(sorted(words & self._vocabulary)))


class Unseen:
    """The targets that are still to be found, each filed under the one of its words that the fewest targets share."""

    def __init__(self, words: Sequence[frozenset[str]], found: Collection[int]) -> None:
        wanted = [index for index in range(len(words)) if index not in found]
        shared = Counter(word for index in wanted for word in words[index])
        self._words, self._left, self._taken = words, set(wanted), list[int]()
        self._key = {index: min(words[index], key=lambda word: (shared[word], word), default="") for index in wanted}
        self._filed: dict[str, set[int]] = {}
        for index in wanted:
            self._filed.setdefault(self._key[index], set()).add(index)

    def __len__(self) -> int:
        return len(self._left)

    def __contains__(self, index: int) -> bool:
        return index in self._left

    def possible(self, words: set[str]) -> bool:
        """Whether a caption with these words can add a target; a target without words is always possible."""
        keys = words & self._filed.keys()
        if "" in self._filed:
            keys.add("")
        return any(self._words[index] <= words for key in keys for index in self._filed[key])

    def take(self, index: int) -> None:
        """Mark as found."""
        self._taken.append(index)
        self._left.discard(index)
        filed = self._filed[self._key[index]]
        filed.discard(index)
        if not filed:
            del self._filed[self._key[index]]

    def restore(self) -> None:
        """Undo every ``take``."""
        for index in self._taken:
            self._left.add(index)
            self._filed.setdefault(self._key[index], set()).add(index)
        self._taken.clear()
