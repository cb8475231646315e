"""Targets of a seen analysis, and the word filter for captions that can still add one.

A target is an atom or a compound of the test set. The words of an atom's text are forms of words of its caption
(``CaptionParser.forms``), so a caption without a form of some word of a target cannot have that target in its scene
graph. The filter passes a caption if all words of at least one unseen target are forms of its words; the captions that
it rejects could not have added anything. The property of the parser is checked on every caption that is parsed.
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

from generators.parser.caption_parser import CaptionParser
from generators.schemas.scene_graph import Atom, Compound, SceneGraph

Target = Atom | Compound
_RUN = re.compile(r"[^\W\d_]+|\d+")
_WORD = re.compile(rf"{_RUN.pattern}|[^\w\s]|_")
_APOSTROPHES = frozenset("'’")
_AFTER = _APOSTROPHES | {"."}
_CACHE_SIZE = 1_000_000
_RUNS_PER_TOKEN = 6
"""Most runs of letters in one token; in longer tokens lemmatisation only changes the last run."""


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
        return cls(tuple(sorted(atoms)), tuple(sorted(compounds, key=lambda item: [part or "" for part in item])))

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


class CaptionWords:
    """The words of ``vocabulary`` that can occur in the atoms of a caption's parse.

    The tokens of the parser are unknown here, but every token consists of whole runs of letters or digits of one word
    between spaces, optionally with an apostrophe before ('s) and a mark after (etc.); the forms of all those count.
    """

    def __init__(self, vocabulary: Collection[str], parser: CaptionParser) -> None:
        self._vocabulary, self._parser = frozenset(vocabulary), parser
        self._always = parser.added_words & self._vocabulary
        self._cache: dict[str, tuple[str, ...]] = {}

    def __call__(self, caption: str) -> set[str]:
        words = set(self._always)
        cache = self._cache
        for spaced in caption.lower().split():
            if forms := cache[spaced] if spaced in cache else self._forms(spaced):
                words.update(forms)
        return words

    def check(self, caption: str, graph: SceneGraph) -> None:
        """Raise ValueError if the parse has a target word that is no form of the caption: the filter must be exact."""
        words = {word for atom in graph.atoms for word in split_words(atom.text)} & self._vocabulary
        if missing := words - self(caption):
            raise ValueError(
                f"the parser returned {sorted(missing)} for {caption!r}, which is no form of a word of the caption. "
                "The seen analysis would miss targets: `forms` must cover every word that the parser returns."
            )

    def _forms(self, spaced: str) -> tuple[str, ...]:
        if len(self._cache) >= _CACHE_SIZE:  # the vocabulary of web captions has no bound
            self._cache.clear()
        runs = [match.span() for match in _RUN.finditer(spaced)]
        tokens = {
            spaced[begin:finish]
            for first, (start, _) in enumerate(runs)
            for _, end in runs[first : first + _RUNS_PER_TOKEN]
            for begin in {start, start - (spaced[start - 1 : start] in _APOSTROPHES)}
            for finish in {end, end + (spaced[end : end + 1] in _AFTER)}
        }
        forms = {word for token in tokens for form in self._parser.forms(token) for word in split_words(form)}
        forms.update(split_words(spaced))
        return self._cache.setdefault(spaced, tuple(sorted(forms & self._vocabulary)))


class UnseenTargets:
    """The targets that are still unseen, each indexed under the one of its words that the fewest targets share."""

    def __init__(self, words: Sequence[frozenset[str]], seen: Collection[int]) -> None:
        unseen = [index for index in range(len(words)) if index not in seen]
        shared = Counter(word for index in unseen for word in words[index])
        self._words, self._unseen, self._marked = words, set(unseen), list[int]()
        self._key = {index: min(words[index], key=lambda word: (shared[word], word), default="") for index in unseen}
        self._by_key: dict[str, set[int]] = {}
        for index in unseen:
            self._by_key.setdefault(self._key[index], set()).add(index)

    def __len__(self) -> int:
        return len(self._unseen)

    def __contains__(self, index: int) -> bool:
        return index in self._unseen

    def any_possible(self, words: set[str]) -> bool:
        """Whether a caption with these words can add a target; a target without words is always possible."""
        keys = words & self._by_key.keys()
        if "" in self._by_key:
            keys.add("")
        return any(self._words[index] <= words for key in keys for index in self._by_key[key])

    def mark_seen(self, index: int) -> None:
        self._marked.append(index)
        self._unseen.discard(index)
        same_key = self._by_key[self._key[index]]
        same_key.discard(index)
        if not same_key:
            del self._by_key[self._key[index]]

    def reset(self) -> None:
        """Undo every :meth:`mark_seen`."""
        for index in self._marked:
            self._unseen.add(index)
            self._by_key.setdefault(self._key[index], set()).add(index)
        self._marked.clear()
