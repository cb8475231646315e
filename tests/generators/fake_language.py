"""A tiny language for the tests of the seen analysis: its parser, its lemmas, and how its sentences are made.

A caption is a run of words. "the ADJECTIVE NOUN" says an attribute, "NOUN VERB NOUN" a relation. Nouns take an s, one
noun and one verb are irregular. The parser is exact by definition, so what it gives can be worked out by hand.
"""

import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

from generators.parser.forms import Forms
from generators.schemas.scene_graph import Parse, Relation, SceneGraph, SceneObject
from generators.seen_analysis.seen import Language

NOUNS = ("cat", "dog", "mouse", "tennis ball")
VERBS = ("see", "catch", "on top of")
ADJECTIVES = ("red", "big")
IRREGULAR = {"mice": "mouse", "saw": "see", "caught": "catch"}


def lemma(word: str) -> str:
    if word in IRREGULAR:
        return IRREGULAR[word]
    return word[:-1] if word.endswith("s") and word[:-1] in {"cat", "dog", "ball"} else word


def forms_of(word: str) -> Iterable[str]:
    return (word, lemma(word))


FORMS = Forms(forms_of)


def graph(caption: str) -> SceneGraph:
    """Reads the caption word for word; whatever it does not know ends a phrase."""
    text = " ".join(lemma(word) for word in caption.lower().split())
    for phrase in ("tennis ball", "on top of"):
        text = text.replace(phrase, phrase.replace(" ", "_"))
    objects: list[SceneObject] = []
    relations: list[Relation] = []
    attribute, pending, last = None, None, None
    for raw in text.split():
        word = raw.replace("_", " ")
        if word in ADJECTIVES:
            attribute = word
        elif word in NOUNS:
            item = SceneObject(str(len(objects)), word, (attribute,) if attribute else ())
            if pending and last:
                relations.append(Relation(last, pending, item.id))
            objects.append(item)
            attribute, pending, last = None, None, item.id
        elif word in VERBS:
            pending, attribute = word, None
        else:
            attribute, pending, last = None, None, None
    return SceneGraph(tuple(objects), tuple(relations))


def parse(captions: Iterable[str]) -> Iterator[Parse]:
    for caption in captions:
        yield Parse(caption, graph(caption))


def make_language() -> Language:
    return Language(parse, FORMS)


def make_mortal_language() -> Language:
    """Its parser kills its process, once, at the caption that the file FATAL names."""
    fatal = Path(os.environ["FATAL"])

    def parse_or_die(captions: Iterable[str]) -> Iterator[Parse]:
        for result in parse(captions):
            if fatal.exists() and result.caption == fatal.read_text():
                fatal.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
            yield result

    return Language(parse_or_die, FORMS)
