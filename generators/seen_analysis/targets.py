"""Targets of the seen analysis, and a word filter that selects the captions worth parsing.

A target is an atom or a compound of the test set. Every word of an atom is a form of a word in its caption
(``CaptionParser.forms`` returns these forms). A caption can therefore contain a target only if all words of the target
are forms of the caption's words. The filter rejects captions that cannot contain any unseen target.
:meth:`CaptionWords.find_unexpected` verifies the assumption about the parser for every parsed caption.
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
from generators.parser.spacy_model import limit_text
from generators.schemas.scene_graph import Atom, Compound, SceneGraph

Target = Atom | Compound
_RUN = re.compile(r"[^\W\d_]+|\d+")
_WORD = re.compile(rf"{_RUN.pattern}|[^\w\s]|_")
_APOSTROPHES = frozenset("'’")
_MARKS_AFTER = _APOSTROPHES | {"."}
_CACHE_SIZE = 1_000_000
_RUNS_PER_TOKEN = 6
"""Maximum number of letter runs in one token. In longer tokens, lemmatisation changes only the last run."""


def split_words(text: str) -> list[str]:
    """Split text into runs of letters, runs of digits and single marks, in lower case.

    Every tokeniser's tokens consist of whole pieces of this kind.
    """
    return _WORD.findall(text.lower())


@dataclass(frozen=True)
class Targets:
    """Distinct atoms and compounds. They are sorted, so every process uses the same index for a target."""

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
        """Return atoms as [kind, text] and compounds as [kind, subject, relation, object]."""
        return {"atoms": self.atoms, "compounds": self.compounds}

    @cached_property
    def items(self) -> tuple[Target, ...]:
        return (*self.atoms, *self.compounds)

    @cached_property
    def index(self) -> dict[Target, int]:
        return {item: number for number, item in enumerate(self.items)}

    @cached_property
    def words(self) -> tuple[frozenset[str], ...]:
        """The words of each target, in the same order as ``items``."""
        return tuple(frozenset(split_words(" ".join(filter(None, item[1:])))) for item in self.items)

    @cached_property
    def fingerprint(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json()).encode()).hexdigest()


class CaptionWords:
    """Finds the words of a vocabulary that can occur in the atoms of a caption's parse, without parsing the caption.

    The parser's tokens are not known before parsing. A token consists of adjacent runs of letters or digits between two
    spaces, possibly with an apostrophe before it ('s) or a mark after it (etc.). The forms of all such tokens are used.
    """

    def __init__(self, vocabulary: Collection[str], parser: CaptionParser) -> None:
        self._vocabulary, self._parser = frozenset(vocabulary), parser
        self._added_words = parser.added_words & self._vocabulary
        self._cache: dict[str, tuple[str, ...]] = {}

    def __call__(self, caption: str) -> set[str]:
        words = set(self._added_words)
        cache = self._cache
        for word in limit_text(caption).lower().split():
            if forms := cache[word] if word in cache else self._find_forms(word):
                words.update(forms)
        return words

    def find_unexpected(self, caption: str, graph: SceneGraph) -> set[str]:
        """Return the vocabulary words in the atoms of the parse that are not among the caption's words."""
        return ({word for atom in graph.atoms for word in split_words(atom.text)} & self._vocabulary) - self(caption)

    def _find_forms(self, word: str) -> tuple[str, ...]:
        """Return the vocabulary words among the forms of all possible tokens of ``word`` (text between two spaces)."""
        if len(self._cache) >= _CACHE_SIZE:  # web captions contain an unlimited number of words
            self._cache.clear()
        runs = [match.span() for match in _RUN.finditer(word)]
        tokens = {
            word[token_start:token_end]
            for first, (start, _) in enumerate(runs)
            for _, end in runs[first : first + _RUNS_PER_TOKEN]
            for token_start in {start, start - (word[start - 1 : start] in _APOSTROPHES)}
            for token_end in {end, end + (word[end : end + 1] in _MARKS_AFTER)}
        }
        forms = {part for token in tokens for form in self._parser.forms(token) for part in split_words(form)}
        forms.update(split_words(word))
        return self._cache.setdefault(word, tuple(sorted(forms & self._vocabulary)))


class UnseenTargets:
    """The targets that are still unseen. Each target is indexed by one word, the word that the fewest targets share."""

    def __init__(self, words: Sequence[frozenset[str]], seen: Collection[int]) -> None:
        unseen = [index for index in range(len(words)) if index not in seen]
        num_targets = Counter(word for index in unseen for word in words[index])
        self._words, self._unseen, self._marked = words, set(unseen), list[int]()
        self._key = {
            index: min(words[index], key=lambda word: (num_targets[word], word), default="") for index in unseen
        }
        self._by_key: dict[str, set[int]] = {}
        for index in unseen:
            self._by_key.setdefault(self._key[index], set()).add(index)

    def __len__(self) -> int:
        return len(self._unseen)

    def __contains__(self, index: int) -> bool:
        return index in self._unseen

    def any_possible(self, words: set[str]) -> bool:
        """Return True if a caption with these words can contain an unseen target.

        Every caption can contain a target without words.
        """
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
