"""The words of captions: pieces of text that record which atoms they mention, and the grammar to form them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from compeval.base.schemas.scene_graph import Mention, Relation, SceneObject
from compeval.generators.language.grammar import (
    ActiveVerb,
    are_same_kind,
    is_finite,
    is_plural,
    is_with_or_has,
    load_grammar,
    parse_active_verb,
    predicate_kind,
    sort_adjectives,
)
from compeval.generators.language.inflection import choose_article, inflect_verb
from compeval.generators.language.lexicon.nouns import is_mass


class Piece(NamedTuple):
    """A piece of text and its mentions, whose positions are not set yet.

    "wearing" in "wearing a hat and a coat" has two mentions.
    """

    text: str
    mentions: tuple[Mention, ...] = ()


Words = tuple[Piece, ...]

ARTICLE = Piece("a")
"""An article, which becomes "an" before a vowel sound."""


def to_pieces(text: str) -> Words:
    """Return the words of a text as pieces without mentions."""
    return tuple(Piece(word) for word in text.split())


def join_with_and(items: Iterable[Words], last: str = "and") -> Words:
    """Return the items as an English list: "x", "x and y", "x, y and z"."""
    *head, tail = items
    if not head:
        return tail
    pieces = head[0]
    for item in head[1:]:
        pieces += (Piece(","), *item)
    return (*pieces, Piece(last), *tail)


def join_pieces(pieces: Words) -> tuple[str, tuple[Mention, ...]]:
    """Return the text of the pieces, and their mentions with positions, in order."""
    text = ""
    mentions: list[Mention] = []
    for piece, surface in zip(pieces, _list_surfaces(pieces), strict=True):
        start = len(text) + len(surface) - len(surface.lstrip())
        text += surface
        mentions += [replace(mention, start=start, end=len(text)) for mention in piece.mentions]
    return text, tuple(mentions)


def join_text(pieces: Words) -> str:
    """Return the text of the pieces."""
    return "".join(_list_surfaces(pieces))


def _list_surfaces(pieces: Words) -> Iterator[str]:
    """Yield the text of each piece with the space before it."""
    for index, piece in enumerate(pieces):
        surface = piece.text
        if piece is ARTICLE and index + 1 < len(pieces):
            surface = choose_article(pieces[index + 1].text.split(maxsplit=1)[0])
        yield surface if index == 0 or surface in (",", ".") else f" {surface}"


def choose_determiner(item: SceneObject) -> Words:
    """Return "a", "the" or no word."""
    head = item.name.split()[-1]
    if head in load_grammar()["unique nouns"]:
        return to_pieces("the")
    if is_mass(head) or is_plural(item.name):
        return ()
    return (ARTICLE,)


def noun_piece(item: SceneObject) -> Piece:
    tag = "NNS" if is_plural(item.name) else "NN"
    return Piece(item.name, (Mention("object", item.name, 0, 0, tag, item.id),))


def attribute_piece(item: SceneObject, text: str) -> Piece:
    return Piece(text, (Mention("attribute", text, 0, 0, "JJ", item.id),))


def choose_copula(item: SceneObject) -> str:
    return "are" if is_plural(item.name) else "is"


def write_predicate(
    edges: Sequence[Relation], subject: SceneObject, *, clause: bool, after_does: bool = False
) -> Piece:
    """Return the words of a predicate that all ``edges`` share, without "is".

    - After a noun, the predicate is "with" or a participle such as "wearing".
    - With ``clause``, verbs such as "has" and "contains" agree with their subject.
    - With ``after_does``, the verb is in the form after "does".
    """
    predicate = edges[0].predicate
    active = (
        ActiveVerb("", "have", "") if is_with_or_has(predicate) else parse_active_verb(predicate)
    )
    text = load_grammar()["spellings"].get(predicate, predicate)
    if is_with_or_has(predicate) and not clause:
        text = "with"
    elif active:
        tag = "VBZ" if is_finite(predicate) and clause else "VBG"
        is_uninflected = after_does or (tag == "VBZ" and is_plural(subject.name))
        form = active.lemma if is_uninflected else inflect_verb(active.lemma, tag)
        text = " ".join(filter(None, (active.adverb, form, active.particles)))
    return Piece(text, tuple(map(_make_relation_mention, edges)))


def _make_relation_mention(edge: Relation) -> Mention:
    tag = {"preposition": "IN", "participle": "VBG", "verb": "VBZ"}[
        predicate_kind(edge.predicate) or "preposition"
    ]
    return Mention("relation", edge.predicate, 0, 0, tag, edge.subject, edge.object)


def write_adjectives(item: SceneObject, texts: Iterable[str]) -> Words:
    """Return attributes in English order, joined within a kind: "a large red, white and blue striped ball"."""
    groups: list[list[str]] = []
    for text in sort_adjectives(texts):
        if groups and are_same_kind(groups[-1][-1], text):
            groups[-1].append(text)
        else:
            groups.append([text])
    return tuple(
        piece
        for group in groups
        for piece in join_with_and([(attribute_piece(item, text),) for text in group])
    )
