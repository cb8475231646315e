"""A tiny language with a parser, for the tests of the seen analysis.

A caption is a sequence of words. "the ADJECTIVE NOUN" states an attribute, and "NOUN VERB NOUN" states a relation.
Plurals end in s; one noun and two verbs are irregular. The rules are simple enough to derive expected results manually.
"""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from compeval.base.schemas.scene_graph import AtomKind, Parse, Relation, SceneGraph, SceneObject

NOUNS = ("cat", "dog", "mouse", "tennis ball")
VERBS = ("see", "catch", "on top of")
ADJECTIVES = ("red", "big")
IRREGULAR = {"mice": "mouse", "saw": "see", "caught": "catch"}


def lemma(word: str) -> str:
    if word in IRREGULAR:
        return IRREGULAR[word]
    return word[:-1] if word.endswith("s") and word[:-1] in {"cat", "dog", "ball"} else word


def graph(caption: str) -> SceneGraph:
    """Parse a caption word by word; an unknown word ends a phrase."""
    text = " ".join(lemma(word) for word in caption.lower().split())
    for phrase in ("tennis ball", "on top of"):
        text = text.replace(phrase, phrase.replace(" ", "_"))
    objects: list[SceneObject] = []
    relations: list[Relation] = []
    attribute, predicate, subject = None, None, None
    for raw in text.split():
        word = raw.replace("_", " ")
        if word in ADJECTIVES:
            attribute = word
        elif word in NOUNS:
            item = SceneObject(str(len(objects)), word, (attribute,) if attribute else ())
            if predicate and subject:
                relations.append(Relation(subject, predicate, item.id))
            objects.append(item)
            attribute, predicate, subject = None, None, item.id
        elif word in VERBS:
            predicate, attribute = word, None
        else:
            attribute, predicate, subject = None, None, None
    return SceneGraph(tuple(objects), tuple(relations))


class FakeParser:
    """A CaptionParser of the tiny language. Tests can replace ``forms`` and ``added_words``."""

    reciprocal_words = frozenset({"other"})

    def __init__(
        self,
        forms: Callable[[str], Iterable[str]] | None = None,
        added_words: frozenset[str] = frozenset(),
    ) -> None:
        self._forms, self.added_words = forms, added_words

    def parse(self, captions: Iterable[str]) -> Iterator[Parse]:
        for caption in captions:
            yield Parse(caption, graph(caption))

    def forms(self, token: str, kind: AtomKind) -> Iterable[str]:
        return self._forms(token) if self._forms else (token, lemma(token))


class MortalParser(FakeParser):
    """Kills its process once, at a given caption. The environment variable FATAL is the path of a file with this
    caption."""

    def parse(self, captions: Iterable[str]) -> Iterator[Parse]:
        fatal = Path(os.environ["FATAL"])
        for parse in super().parse(captions):
            if fatal.exists() and parse.caption == fatal.read_text(encoding="utf-8"):
                fatal.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
            yield parse
