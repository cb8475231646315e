"""Words of the realiser: pieces of text that know which atom they are, and the morphology they need.

Inflection comes from generators/language/inflection.py and WordNet; generators/language/grammar.py knows their grammar.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from generators.language.grammar import (
    ActiveVerb,
    active_verb,
    grammar,
    in_adjective_order,
    is_finite,
    is_plural,
    is_possession,
    predicate_kind,
    same_kind,
)
from generators.language.inflection import article, verb
from generators.language.lexicon.nouns import is_mass
from generators.schemas.scene_graph import AtomKind, Mention, Relation, SceneObject


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


def determiner(item: SceneObject) -> Words:
    """What introduces an object: "a", "the" or nothing."""
    head = item.name.split()[-1]
    if head in grammar()["unique"]:
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


def related(edges: Sequence[Relation], subject: SceneObject, *, clause: bool, bare: bool = False) -> Piece:
    """The words of a predicate, which is that of all ``edges``, without "is".

    After a noun it is "with" or "wearing"; in a ``clause`` "has" and "contains" agree with their subject; ``bare`` is
    the form after "does".
    """
    text = edges[0].predicate
    active = ActiveVerb("", "have", "") if is_possession(text) else active_verb(text)
    surface = grammar()["written as"].get(text, text)
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


def adjectives(item: SceneObject, texts: Iterable[str]) -> Words:
    """Attributes in English adjective order; those of a kind are joined: "a large red, white and blue striped ball"."""
    runs: list[list[str]] = []
    for text in in_adjective_order(texts):
        if runs and same_kind(runs[-1][-1], text):
            runs[-1].append(text)
        else:
            runs.append([text])
    return tuple(piece for run in runs for piece in listed([(attribute(item, text),) for text in run]))
