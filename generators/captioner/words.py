"""Words of the realiser: pieces of text that know which atom they are, and the morphology they need.

Inflection comes from generators/language/inflection.py and WordNet; grammar.yaml has the words whose grammar they do not tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Literal, NamedTuple

import yaml

from generators.language.inflection import article, noun_lemma, verb
from generators.language.lexicon.nouns import is_mass, is_plural_only
from generators.language.wordnet import is_entry, is_visible, wordnet
from generators.schemas.scene_graph import AtomKind, Mention, Relation, SceneObject

PredicateKind = Literal["preposition", "participle", "verb"]


class Mark(NamedTuple):
    """The atom node that a piece is: the fields of a Mention but its place in the text."""

    kind: AtomKind
    text: str
    tag: str
    object: str
    target: str | None = None


class Piece(NamedTuple):
    """A stretch of text, and what it names: "wearing" in "wearing a hat and a coat" is two relations."""

    text: str
    marks: tuple[Mark, ...] = ()


Words = tuple[Piece, ...]

ARTICLE = Piece("a")
"""Becomes "an" where the next word asks for it."""


def words(text: str) -> Words:
    """Unmarked words."""
    return tuple(Piece(word) for word in text.split())


def listed(items: Iterable[Words], last: str = "and") -> Words:
    """The items as an English list: "x", "x and y", "x, y and z"."""
    *head, tail = items
    if not head:
        return tail
    pieces = head[0]
    for item in head[1:]:
        pieces += (Piece(","), *item)
    return (*pieces, Piece(last), *tail)


def linearise(pieces: Words) -> tuple[str, tuple[Mention, ...]]:
    """The text of the pieces and, in order, a mention for each marked one."""
    text = ""
    mentions: list[Mention] = []
    for piece, following in zip(pieces, (*pieces[1:], None), strict=True):
        surface = piece.text
        if piece is ARTICLE and following is not None:
            surface = article(following.text.split()[0])
        if text and surface not in (",", "."):
            text += " "
        for mark in piece.marks:
            span = len(text), len(text) + len(surface)
            mentions.append(Mention(mark.kind, mark.text, *span, mark.tag, mark.object, mark.target))
        text += surface
    return text, tuple(mentions)


@cache
def _grammar() -> Mapping[str, Any]:
    return yaml.safe_load(resources.files("generators.captioner").joinpath("grammar.yaml").read_text("utf-8"))


@cache
def is_plural(noun: str) -> bool:
    """Whether a noun, by its last word, is a plural form."""
    return is_plural_only(noun.split()[-1]) or noun_lemma(noun) != noun


def determiner(item: SceneObject) -> Words:
    """What introduces an object: "a", "the" or nothing."""
    head = item.name.split()[-1]
    if head in _grammar()["unique"]:
        return words("the")
    if is_mass(head) or is_plural(item.name):
        return ()
    return (ARTICLE,)


def noun(item: SceneObject) -> Piece:
    tag = "NNS" if is_plural(item.name) else "NN"
    return Piece(item.name, (Mark("object", item.name, tag, item.id),))


def attribute(item: SceneObject, text: str) -> Piece:
    return Piece(text, (Mark("attribute", text, "JJ", item.id),))


def copula(item: SceneObject) -> str:
    return "are" if is_plural(item.name) else "is"


@cache
def predicate_kind(predicate: str) -> PredicateKind | None:
    """How a predicate behaves in a clause, or None for one that cannot be said of two objects.

    ``preposition``: "is on"; ``participle``: "is wearing", "is worn by"; ``verb``: "wears", "have".
    """
    first, *rest = predicate.split()
    if first.endswith("ly") and rest:  # "partly hidden by"
        return predicate_kind(" ".join(rest))
    grammar = _grammar()
    if predicate in grammar["prepositions"] or (rest and predicate.startswith(tuple(grammar["phrases"]))):
        return "preposition"
    lemma = _verb(first)
    if lemma is None or lemma in grammar["empty verbs"]:
        return None
    if rest and rest[-1] not in (*grammar["prepositions"], *grammar["closing"]):
        return None
    if first.endswith("ing"):
        return "participle"
    if first == lemma or first.endswith("s"):
        return "verb"
    return "participle" if rest else None


def _verb(word: str) -> str | None:
    """The lemma of a verb form, None for what is no verb's."""
    return wordnet().morphy(word, "v")


class _Verb(NamedTuple):
    """An active verb: "partly covering" is the adverb "partly", the lemma "cover" and nothing after."""

    adverb: str
    lemma: str
    rest: str


@cache
def _active(predicate: str) -> _Verb | None:
    """The predicate as an active verb, whatever its form; None for prepositions and passives."""
    *adverbs, first = predicate.split()[:2] if predicate.split()[0].endswith("ly") else predicate.split()[:1]
    rest = " ".join(predicate.split()[len(adverbs) + 1 :])
    kind = predicate_kind(predicate)
    if kind == "verb" or (kind == "participle" and first.endswith("ing")):
        return _Verb(" ".join(adverbs), _verb(first) or first, rest)
    return None


def is_possession(predicate: str) -> bool:
    """Whether a predicate is "with" or "has"."""
    active = _active(predicate)
    return predicate == "with" or (active is not None and active.lemma == "have" and not active.rest)


def is_active(predicate: str) -> bool:
    """Whether a predicate is an active verb, "with" included."""
    return predicate == "with" or _active(predicate) is not None


def is_finite(predicate: str) -> bool:
    """Whether a clause says a predicate by its own verb ("has", "contains"), not with "is" ("is partly hiding")."""
    active = _active(predicate)
    stative = active is not None and not active.adverb and active.lemma in _grammar()["stative verbs"]
    return is_possession(predicate) or stative


def is_same_verb(one: str, other: str) -> bool:
    """Whether two predicates are one active verb, perhaps in two forms: "wears" and "wearing"."""
    return is_active(one) and (one == other or (_active(one) is not None and _active(one) == _active(other)))


def related(edges: Sequence[Relation], subject: SceneObject, *, clause: bool, bare: bool = False) -> Piece:
    """The words of a predicate, which is that of all ``edges``, without "is".

    After a noun it is "with" or "wearing"; in a ``clause`` "has" and "contains" agree with their subject; ``bare`` is
    the form after "does".
    """
    text = edges[0].predicate
    active = _Verb("", "have", "") if is_possession(text) else _active(text)
    surface = _grammar()["said as"].get(text, text)
    if is_possession(text) and not clause:
        surface = "with"
    elif active:
        tag = "VBZ" if is_finite(text) and clause else "VBG"
        plain = bare or (tag == "VBZ" and is_plural(subject.name))
        form = active.lemma if plain else verb(active.lemma, tag)
        surface = " ".join(filter(None, (active.adverb, form, active.rest)))
    return Piece(surface, tuple(_mark(edge) for edge in edges))


def _mark(edge: Relation) -> Mark:
    tag = {"preposition": "IN", "participle": "VBG", "verb": "VBZ"}[predicate_kind(edge.predicate) or "preposition"]
    return Mark("relation", edge.predicate, tag, edge.subject, edge.object)


def same_kind(one: str, other: str) -> bool:
    """Whether both are sizes, ages, shapes, colours, patterns or materials."""
    return any(one in group and other in group for group in _grammar()["kinds"].values())


def adjectives(item: SceneObject, texts: Iterable[str]) -> Words:
    """Attributes in English adjective order; those of a kind are joined: "a large red, white and blue striped ball"."""
    runs: list[list[str]] = []
    for text in ordered(texts):
        if runs and same_kind(runs[-1][-1], text):
            runs[-1].append(text)
        else:
            runs.append([text])
    return tuple(piece for run in runs for piece in listed([(attribute(item, text),) for text in run]))


def ordered(texts: Iterable[str]) -> list[str]:
    """Adjectives in English order: size, age, shape, colour, pattern, material."""
    return sorted(texts, key=_rank)


def _rank(text: str) -> int:
    """The place of an adjective's kind among the kinds."""
    kinds = _grammar()["kinds"]
    kind = next((kind for kind, group in kinds.items() if text in group), "other")
    return list(kinds).index(kind)


@cache
def is_quality(text: str) -> bool:
    """Whether an attribute can be said of a thing: "red", "parked", "made of bricks", not "tennis" or "phone"."""
    last = text.split()[-1]
    if last in _grammar()["no things"]:
        return False
    if any(text in group for group in _grammar()["kinds"].values()) or follows_noun(text):
        return True
    participle = last.endswith(("ing", "ed", "en")) and _verb(last) is not None
    return participle or wordnet().morphy(last, "a") is not None


@cache
def is_thing(name: str) -> bool:
    """Whether a name is that of something to be seen, by its last word: not "pluged", "color" or "area"."""
    head = noun_lemma(name).split()[-1]
    return head not in _grammar()["no things"] and is_entry(head) and is_visible(head)


@cache
def follows_noun(text: str) -> bool:
    """Whether an attribute can only stand after its noun: "made of bricks", "turned off"."""
    first, *rest = text.split()
    return bool(rest) and (first in _grammar()["prepositions"] or _verb(first) is not None)
