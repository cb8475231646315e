"""The words of captions: pieces of text that know which atoms they mention, and their morphology."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
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
from generators.schemas.scene_graph import Mention, Relation, SceneObject


class Piece(NamedTuple):
    """A piece of text and its mentions, without positions: "wearing" in "wearing a hat and a coat" has two."""

    text: str
    mentions: tuple[Mention, ...] = ()


Words = tuple[Piece, ...]

ARTICLE = Piece("a")
"""Becomes "an" before a vowel sound."""


def words(text: str) -> Words:
    """Return words without mentions."""
    return tuple(Piece(word) for word in text.split())


def listed(items: Iterable[Words], last: str = "and") -> Words:
    """Return the items as an English list: "x", "x and y", "x, y and z"."""
    *head, tail = items
    if not head:
        return tail
    pieces = head[0]
    for item in head[1:]:
        pieces += (Piece(","), *item)
    return (*pieces, Piece(last), *tail)


def linearise(pieces: Words) -> tuple[str, tuple[Mention, ...]]:
    """Return the text of the pieces and their mentions, with positions, in order."""
    text = ""
    mentions: list[Mention] = []
    for piece, following in zip(pieces, (*pieces[1:], None), strict=True):
        surface = piece.text
        if piece is ARTICLE and following is not None:
            surface = article(following.text.split()[0])
        if text and surface not in (",", "."):
            text += " "
        start, text = len(text), text + surface
        mentions += [replace(mention, start=start, end=len(text)) for mention in piece.mentions]
    return text, tuple(mentions)


def determiner(item: SceneObject) -> Words:
    """Return "a", "the" or no word."""
    head = item.name.split()[-1]
    if head in grammar()["unique"]:
        return words("the")
    if is_mass(head) or is_plural(item.name):
        return ()
    return (ARTICLE,)


def noun(item: SceneObject) -> Piece:
    tag = "NNS" if is_plural(item.name) else "NN"
    return Piece(item.name, (Mention("object", item.name, 0, 0, tag, item.id),))


def attribute(item: SceneObject, text: str) -> Piece:
    return Piece(text, (Mention("attribute", text, 0, 0, "JJ", item.id),))


def copula(item: SceneObject) -> str:
    return "are" if is_plural(item.name) else "is"


def related(edges: Sequence[Relation], subject: SceneObject, *, clause: bool, bare: bool = False) -> Piece:
    """Return the words of a predicate, shared by all ``edges``, without "is".

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
    return Piece(surface, tuple(map(_relation_mention, edges)))


def _relation_mention(edge: Relation) -> Mention:
    tag = {"preposition": "IN", "participle": "VBG", "verb": "VBZ"}[predicate_kind(edge.predicate) or "preposition"]
    return Mention("relation", edge.predicate, 0, 0, tag, edge.subject, edge.object)


def adjectives(item: SceneObject, texts: Iterable[str]) -> Words:
    """Return attributes in English order, joined within a kind: "a large red, white and blue striped ball"."""
    runs: list[list[str]] = []
    for text in in_adjective_order(texts):
        if runs and same_kind(runs[-1][-1], text):
            runs[-1].append(text)
        else:
            runs.append([text])
    return tuple(piece for run in runs for piece in listed([(attribute(item, text),) for text in run]))
