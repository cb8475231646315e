"""Negations in which the number of words and of "not" says nothing of the truth.

A row has a statement and its denial. In a random half of the captions, the statement is the caption, which is true, and
the denial is false. In the other half, the statement has another word ("a white cat" of a black one), so it is false,
and its denial is the true caption. Only captions with a fitting other word are used, in both halves. Source of the
denials: CREPE (arXiv:2212.07796), section 4.2.

"It is not true that" is used only where nothing else can be denied.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from compeval.base.schemas.scene_graph import Mention, SceneGraph
from compeval.generators.graphs.entailment import Negated, proves_false
from compeval.generators.hard_negatives.crepe.negation import NOT, find_negatable_atoms
from compeval.generators.hard_negatives.hard_negative import Foil, HardNegative
from compeval.generators.hard_negatives.own.caption import (
    OwnCaption,
    is_joined,
    is_named,
    is_part_of_name,
)
from compeval.generators.hard_negatives.own.lists import load_words
from compeval.generators.language.inflection import lemmatise_noun
from compeval.generators.language.lexicon.nouns import is_plural_only

WITH = re.compile(r"\bwith (?:an?|the) (?:[\w-]+ )?$")
BARE_WITH = re.compile(r"\bwith $")
ADVERB = re.compile(r"\b(?:very|really|so|too|quite|more|most|middle|\w+ly)\s+$")
ARTICLE = re.compile(r"^an? ")
MANY_WORDS = 3
"""A name of as many words is rarely parsed well."""
NOT_TRUE = "it is not true that "
RELATIVE = re.compile(r"\b(?:who|that|which|where)\b")
THERE_IS = "that there is "
VERBS = frozenset({"VB", "VBD", "VBP", "VBZ"})
"""Penn tags of verbs that make a clause of a caption."""


class Denial(NamedTuple):
    """An atom of a caption, the word that may replace it, and the caption with this word, which is false."""

    mention: Mention
    word: str
    negative: HardNegative


def make_negation(
    caption: OwnCaption, denials: Sequence[Denial]
) -> tuple[str, HardNegative] | None:
    """Return a true text and its negative, one of which denies what the other states; None if nothing is deniable."""
    for write in (_deny_atom, _deny_company, _deny_all):
        for denial in denials:
            texts = write(caption, denial)
            if texts is None:
                continue
            denied, denied_foil = texts
            is_asserted = Random(f"{caption.draw_key}:negation").random() < 0.5
            word = denial.mention.text if is_asserted else denial.word
            foil = Foil("negation", "" if write is _deny_all else word, NOT)
            if is_asserted:
                return caption.parse.caption, HardNegative(denied, (foil,))
            return denied_foil, HardNegative(denial.negative.caption, (foil,))
    return None


def _deny_atom(caption: OwnCaption, denial: Denial) -> tuple[str, str] | None:
    """Return "a man not riding a horse", and the same of the other word, or None."""
    graph = caption.parse.graph
    mention = denial.mention
    atoms = (atom for atom in find_negatable_atoms(graph) if atom.atom_key == mention.atom_key)
    atom = next(filter(caption.is_negatable, atoms), None)
    if atom is None or atom.kind == "object" or not proves_false(caption.facts, graph, atom):
        return None
    if atom.kind == "attribute":
        noun = next(
            m for m in caption.parse.mentions if m.kind == "object" and m.object == atom.object
        )
        text = caption.parse.caption
        if (
            ADVERB.search(text[: mention.start])
            or noun.tag != "NN"
            or is_plural_only(noun.text)
            or is_part_of_name(text, noun)
            or not caption.has_determiner(noun)
            or len(noun.text.split()) >= MANY_WORDS
        ):
            return None  # "a plane in sky. the sky is not blue"
    edited = _replace_atom(graph, atom, denial.word)
    texts = caption.editable.negate(atom), caption.editable.negate(atom, edited=edited)
    return (texts[0], texts[1]) if texts[0] and texts[1] else None


def _replace_atom(graph: SceneGraph, atom: Negated, word: str) -> SceneGraph:
    if atom.kind == "relation":
        edges = (
            replace(edge, predicate=word) if edge == atom.relation else edge
            for edge in graph.relations
        )
        return SceneGraph(graph.objects, tuple(edges))
    objects = (
        replace(
            item,
            attributes=tuple(word if text == atom.text else text for text in item.attributes),
        )
        if item.id == atom.object
        else item
        for item in graph.objects
    )
    return SceneGraph(tuple(objects), graph.relations)


def _deny_company(caption: OwnCaption, denial: Denial) -> tuple[str, str] | None:
    """Return "a kitchen without a stove", and the same of the other word, or None."""
    mention = denial.mention
    if mention.kind != "object" or lemmatise_noun(mention.text) == denial.word:
        return None
    if is_joined(caption.parse.caption, mention):
        return None  # "topped without cheese and spinach"
    start = mention.start
    written = []
    for text in (caption.parse.caption, denial.negative.caption):
        match = (
            WITH.search(text[: start + 1])
            or WITH.search(text[:start])
            or BARE_WITH.search(text[:start])
        )
        if match is None:
            return None
        written.append(f"{text[: match.start()]}without{text[match.start() + len('with') :]}")
    return written[0], written[1]


def _deny_all(caption: OwnCaption, denial: Denial) -> tuple[str, str] | None:
    """Return "there is no man on a horse", or "it is not true that ...", and the same of the other word, or None."""
    text = caption.parse.caption
    has_verb = any(mention.tag in VERBS for mention in caption.parse.mentions)
    for whole in sorted(caption.negate_all(), key=lambda whole: whole.startswith(NOT_TRUE)):
        if THERE_IS in whole and (has_verb or text.startswith("the ")):
            continue  # "it is not true that there is a group of zebras stand on a hill"
        if whole.startswith(NOT_TRUE) and RELATIVE.search(text):
            continue  # "it is not true that a man who is wearing a hat"
        is_phrase = whole == f"there is no {ARTICLE.sub('', text)}"
        if is_phrase and not _begins_with_name(caption):
            continue  # "there is no group of zebras"
        if is_phrase and ARTICLE.match(denial.negative.caption):
            return whole, f"there is no {ARTICLE.sub('', denial.negative.caption)}"
        if whole.endswith(text):
            return whole, whole.removesuffix(text) + denial.negative.caption
    return None


def _begins_with_name(caption: OwnCaption) -> bool:
    """Return True if the first noun names an object of its own: no "group", no "picture"."""
    nouns = (mention for mention in caption.parse.mentions if mention.kind == "object")
    first = min(nouns, key=lambda mention: mention.start)
    before = caption.parse.caption[: first.start].split()
    return is_named(first.text) and load_words("unnamed").isdisjoint(before)
