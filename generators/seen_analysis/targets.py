"""Targets of the seen analysis, and a word filter that selects the captions worth parsing.

A target is an atom or a compound of the test set. Every word of an atom is a form of a word in its caption
(``CaptionParser.forms`` returns these forms for each kind of atom). A caption can therefore contain a target only if
all words of the target are forms of the caption's words. A word that occurs twice in a compound needs two words of the
caption. The filter rejects captions that cannot contain any unseen target. The parse of a caption that breaks this
assumption is not used (shards.py).

The words of targets and captions are written "<kind> <word>", such as "object cat", and "two cat" if there are two.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, get_args

from compeval.base.schemas.scene_graph import Atom, AtomKind, Compound, SceneGraph
from compeval.generators.parser.caption_parser import CaptionParser
from compeval.generators.parser.spacy_model import clean_text

Target = Atom | Compound
KINDS: tuple[AtomKind, ...] = get_args(AtomKind)
_TWO = "two"
_RUN = re.compile(r"[^\W\d_]+|\d+")
_WORD = re.compile(rf"{_RUN.pattern}|[^\w\s]|_")
_APOSTROPHES = frozenset("'’")
_MARKS_AFTER = _APOSTROPHES | {"."}
CACHE_SIZE = 400_000
"""Texts between spaces whose forms are cached."""
_RUNS_PER_TOKEN = 6
"""Maximum number of letter runs in one token. In longer tokens, lemmatisation changes only the last run."""


def split_words(text: str) -> list[str]:
    """Split text into runs of letters, runs of digits and single marks, in lower case.

    Every tokeniser's tokens consist of whole pieces of this kind.
    """
    return _WORD.findall(text.lower())


def list_words(target: Target) -> frozenset[str]:
    """Return the words that a caption with the target must have."""
    if isinstance(target, Atom):
        return _tag_words(target.kind, target.text)
    kind: AtomKind = "attribute" if target.kind == "ao" else "object"
    ends = set(split_words(target.subject)) & set(split_words(target.object))
    return frozenset().union(
        _tag_words("object", target.subject),
        _tag_words("relation", target.relation or ""),
        _tag_words(kind, target.object),
        (f"{_TWO} {word}" for word in ends),
    )


def _tag_words(kind: AtomKind, text: str) -> frozenset[str]:
    return frozenset(f"{kind} {word}" for word in split_words(text))


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
        return cls(
            tuple(sorted(atoms)),
            tuple(sorted(compounds, key=lambda item: [part or "" for part in item])),
        )

    @classmethod
    def load(cls, path: Path) -> Targets:
        if not path.exists():
            raise FileNotFoundError(
                f"{path}: not found. Run `python -m compeval.generators.crepe_regions` first."
            )
        data = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            tuple(Atom(*item) for item in data["atoms"]),
            tuple(Compound(*item) for item in data["compounds"]),
        )

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
        return tuple(map(list_words, self.items))

    @cached_property
    def fingerprint(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json()).encode()).hexdigest()


class _Forms(NamedTuple):
    """The words that the text between two spaces of a caption can become.

    ``words`` are the words of the vocabulary. ``single`` are those of them that count as two if another part of the
    caption has them, too.
    """

    words: tuple[str, ...]
    single: tuple[str, ...]
    is_reciprocal: bool


_NO_FORMS = _Forms((), (), False)
"""Shared by all entries of the cache without a word of the vocabulary, which are most of them in web text."""


class CaptionWords:
    """Finds the words of a vocabulary that can occur in the atoms of a caption's parse, without parsing the caption.

    The parser's tokens are not known before parsing. A token consists of adjacent runs of letters or digits between two
    spaces, possibly with an apostrophe before it ('s) or a mark after it (etc.). The forms of all such tokens are used.
    """

    def __init__(self, vocabulary: Set[str], parser: CaptionParser) -> None:
        self._vocabulary = vocabulary
        self._parser = parser
        added = {f"{kind} {word}" for kind in (*KINDS, _TWO) for word in parser.added_words}
        self._added_words = added & self._vocabulary
        self._cache: dict[str, _Forms] = {}

    def __call__(self, caption: str) -> set[str]:
        words = set(self._added_words)
        once = set[str]()
        is_reciprocal = False
        cache = self._cache
        for text in clean_text(caption).lower().split():
            forms = cache[text] if text in cache else self._find_forms(text)
            if forms.words:
                words.update(forms.words)
                words.update(once.intersection(forms.single))
                once.update(forms.single)
            is_reciprocal = is_reciprocal or forms.is_reciprocal
        return words | once if is_reciprocal else words

    def _find_forms(self, text: str) -> _Forms:
        """Return the forms of all possible tokens of ``text``, which has no spaces."""
        if len(self._cache) >= CACHE_SIZE:  # web captions contain an unlimited number of words
            self._cache.clear()
        runs = [match.span() for match in _RUN.finditer(text)]
        tokens = {
            text[token_start:token_end]
            for first, (start, _) in enumerate(runs)
            for _, end in runs[first : first + _RUNS_PER_TOKEN]
            for token_start in {start, start - (text[start - 1 : start] in _APOSTROPHES)}
            for token_end in {end, end + (text[end : end + 1] in _MARKS_AFTER)}
        }
        pieces = split_words(text)
        words = {f"{kind} {piece}" for kind in KINDS for piece in pieces}
        for kind in KINDS:
            forms = {form for token in tokens for form in self._parser.forms(token, kind)} - tokens
            words.update(f"{kind} {piece}" for form in forms for piece in split_words(form))
        two = {f"{_TWO} {word.split(' ', 1)[1]}" for word in words} & self._vocabulary
        words &= self._vocabulary
        # Two tokens of the text may become the same word.
        if len(runs) > 1 or len(set(pieces)) < len(pieces):
            words |= two
        is_reciprocal = not self._parser.reciprocal_words.isdisjoint(pieces)
        forms = _Forms(tuple(sorted(words)), tuple(sorted(two)), is_reciprocal)
        return self._cache.setdefault(text, forms if forms != _NO_FORMS else _NO_FORMS)


class UnseenTargets:
    """The targets that are still unseen, indexed by their two words that the fewest targets share."""

    def __init__(self, words: Sequence[frozenset[str]], seen: Collection[int]) -> None:
        unseen = [index for index in range(len(words)) if index not in seen]
        num_targets = Counter(word for index in unseen for word in words[index])
        self._words = words
        self._unseen = set(unseen)
        self._marked = list[int]()
        self._keys: dict[int, tuple[str, str]] = {}
        self._by_key: dict[str, dict[str, set[int]]] = {}
        for index in unseen:
            first, second, *_ = [
                *sorted(words[index], key=lambda word: (num_targets[word], word))[:2],
                "",
                "",
            ]
            self._keys[index] = first, second
            self._insert(index)

    def _insert(self, index: int) -> None:
        first, second = self._keys[index]
        self._by_key.setdefault(first, {}).setdefault(second, set()).add(index)

    def __len__(self) -> int:
        return len(self._unseen)

    def __contains__(self, index: int) -> bool:
        return index in self._unseen

    def any_possible(self, words: Set[str]) -> bool:
        """Return True if a caption with these words can contain an unseen target.

        Every caption can contain a target without words.
        """
        if "" in self._by_key:
            return True
        for first in self._by_key.keys() & words:
            by_second = self._by_key[first]
            if "" in by_second:
                return True
            for second in by_second.keys() & words:
                if any(self._words[index] <= words for index in by_second[second]):
                    return True
        return False

    def mark_seen(self, index: int) -> None:
        self._marked.append(index)
        self._unseen.discard(index)
        first, second = self._keys[index]
        by_second = self._by_key[first]
        by_second[second].discard(index)
        if not by_second[second]:
            del by_second[second]
            if not by_second:
                del self._by_key[first]

    def reset(self) -> None:
        """Undo every :meth:`mark_seen`."""
        for index in self._marked:
            self._unseen.add(index)
            self._insert(index)
        self._marked.clear()
