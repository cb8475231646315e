"""Hard negatives with atomic and compound foils (HN-Atom, HN-Comp).

Source: CREPE (arXiv:2212.07796), section 4.1 and appendix A.1, Table 2. HN-Atom replaces exactly one atom of a caption
by an antonym or a word of the same grand-hypernym. HN-Comp joins two variants of a one-compound caption, each with
another atom replaced: "a pink car" becomes "a blue car and a pink toy". Differs from it in what counts as false: not
only is a foil no synonym, hypernym or hyponym of anything in the image's whole scene graph or that its region phrases
name, but the graph must rule the new claim out (facts.py); relations come from a lexicon of ours, since WordNet has no
prepositions; and where a source knows too few words of the same grand-hypernym (of a cat, a clock or an umbrella),
nouns come from higher up.

The order of the negatives is that of the atoms in the caption, and of how near and how common the words are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Literal, NamedTuple

from generators.captioner.substitution import apply, as_written, relation_phrase
from generators.graphs.facts import ImageFacts
from generators.graphs.vocabulary import Vocabulary, relation_key
from generators.language.lexicon import attributes, relations
from generators.language.wordnet import are_related, grand_hypernym_siblings, hypernym_distance
from generators.schemas.scene_graph import Mention, Parse, Relation, SceneGraph, SceneObject

FoilType = Literal["object", "attribute", "relation", "swap", "negation"]

GRAND = 2
"""The hypernym distance of words that share a grand-hypernym."""
FARTHEST = 6
"""How many steps up a shared ancestor may lie where nearer words are too few."""
ENOUGH = 6
"""With so many foils of one atom, no words are taken from farther away or from outside the vocabulary."""
AT_MOST = 24
"""Foils of one atom, for the ranker to choose from."""
IN_COMPOUND = 6
"""Of each atom's foils, so many are combined to HN-Comp."""

WITHOUT = "without"
"""Never in HN-Comp: what follows the "and" would be denied as well."""

PRONOUN = re.compile(r"\b(?:it|its|them|their|him|his|her)\b", re.IGNORECASE)
"""After "with" it says that another relation is meant: "a table with a cup on it"."""

EVERYTHING = Vocabulary()
"""No vocabulary: all words of WordNet and the lexicon are equally known."""


class Foil(NamedTuple):
    """One replaced atom; ``original`` and ``replacement`` are lemmas."""

    type: FoilType
    original: str
    replacement: str


class HardNegative(NamedTuple):
    caption: str
    foils: tuple[Foil, ...]


def atom_foils(parse: Parse, image: ImageFacts, vocabulary: Vocabulary = EVERYTHING) -> list[HardNegative]:
    """Every HN-Atom of a caption that is false of the image.

    ``image`` is what is known of the whole image, ``vocabulary`` the words to prefer (others only where those are few).
    """
    facts = image.with_caption(parse.graph)
    negatives: dict[str, HardNegative] = {}
    for mention in parse.mentions:
        for negative in _negatives(parse, mention, facts, vocabulary):
            negatives.setdefault(normal(negative.caption), negative)
    negatives.pop(normal(parse.caption), None)
    return list(negatives.values())


def comp_foils(parse: Parse, image: ImageFacts, vocabulary: Vocabulary = EVERYTHING) -> list[HardNegative]:
    """Every HN-Comp of a caption with exactly one compound, both halves false of the image; none for other captions."""
    core = one_compound(parse)
    if core is None:
        return []
    facts = image.with_caption(parse.graph)
    by_mention = [
        [
            negative
            for negative in _negatives(core, mention, facts, vocabulary)
            if negative.foils[0].replacement != WITHOUT
        ]
        for mention in core.mentions
    ]
    negatives: dict[str, HardNegative] = {}
    for at, first_choices in enumerate(by_mention):
        for second_choices in by_mention[at + 1 :]:
            for i, first in enumerate(first_choices[:IN_COMPOUND]):
                for j, second in enumerate(second_choices[:IN_COMPOUND]):
                    halves = (first, second) if (i + j) % 2 == 0 else (second, first)
                    caption = _joined(halves[0].caption, halves[1].caption)
                    foils = halves[0].foils + halves[1].foils
                    negatives.setdefault(normal(caption), HardNegative(caption, foils))
    return list(negatives.values())


def normal(caption: str) -> str:
    """A caption up to case and spacing: two negatives of one caption never agree in it."""
    return " ".join(caption.lower().split())


def one_compound(parse: Parse) -> Parse | None:
    """The part of a caption that says its only compound, from the determiner before it; None if there are others."""
    if len(parse.graph.compounds) != 1:
        return None
    wanted = _compound_ids(parse.graph)
    inside = [
        mention for mention in parse.mentions if mention.object in wanted and (mention.target or "") in {"", *wanted}
    ]
    if len(inside) == len(parse.mentions):
        return parse
    start, end = min(mention.start for mention in inside), max(mention.end for mention in inside)
    if any(mention.start < end and mention.end > start for mention in parse.mentions if mention not in inside):
        return None
    determiner = re.search(r"\b(?:an?|the|one|two|three|some)\s+$", parse.caption[:start], re.IGNORECASE)
    start = determiner.start() if determiner else start
    objects = tuple(item for item in parse.graph.objects if item.id in wanted)
    moved = tuple(replace(mention, start=mention.start - start, end=mention.end - start) for mention in inside)
    return Parse(parse.caption[start:end], SceneGraph(objects, parse.graph.relations), moved)


def _compound_ids(graph: SceneGraph) -> set[str]:
    if graph.relations:
        return {graph.relations[0].subject, graph.relations[0].object}
    return {item.id for item in graph.objects if item.attributes}


def _joined(first: str, second: str) -> str:
    body = first.rstrip()
    stop = body[-1] if body.endswith((".", "!")) else ""
    second = second.rstrip().rstrip(".!")
    if second[1:2].islower() or second[1:2].isspace():
        second = second[0].lower() + second[1:]
    return f"{body.rstrip('.!')} and {second}{stop}"


def _negatives(parse: Parse, mention: Mention, facts: ImageFacts, vocabulary: Vocabulary) -> Iterator[HardNegative]:
    """The HN-Atoms of one atom, at most ``AT_MOST``: words of the vocabulary, others only up to ``ENOUGH``."""
    mention = as_written(parse.caption, mention)
    made = 0
    for word, is_near in _candidates(parse, mention, vocabulary):
        if made >= (AT_MOST if is_near else ENOUGH):
            return
        caption = apply(parse.caption, mention, word)
        if caption is not None and _is_false(parse, mention, word, facts):
            made += 1
            yield HardNegative(caption, (Foil(mention.kind, mention.text, word),))


def _is_false(parse: Parse, mention: Mention, word: str, facts: ImageFacts) -> bool:
    """Whether the smallest claim that a foil makes is ruled out: a noun, an attribute of a noun, a relation of two."""
    if mention.kind == "object":
        return facts.is_absent(word)
    item = parse.graph.by_id[mention.object]
    if mention.kind == "attribute":
        return facts.is_false(SceneGraph((SceneObject(item.id, item.name, (word,)),)))
    assert mention.target is not None
    ends = tuple(SceneObject(end.id, end.name) for end in (item, parse.graph.by_id[mention.target]))
    return facts.is_false(SceneGraph(ends, (Relation(item.id, word, mention.target),)))


def _candidates(parse: Parse, mention: Mention, vocabulary: Vocabulary) -> Iterator[tuple[str, bool]]:
    """Words that may replace an atom, the best first, and whether each is both near in meaning and known."""
    if mention.kind == "object":
        return _nouns(mention.text, vocabulary)
    if mention.kind == "attribute":
        words = _attributes(mention.text, vocabulary)
        return (word for word in words if word[1] or not mention.tag.startswith("VB"))
    if mention.text == "with" and PRONOUN.search(parse.caption, mention.end):
        return iter(())
    return _relations(parse.caption[mention.start : mention.end], mention, vocabulary)


def _nouns(noun: str, vocabulary: Vocabulary) -> Iterator[tuple[str, bool]]:
    yield from _known_nouns(noun, vocabulary)
    for word in grand_hypernym_siblings(noun):
        if word not in vocabulary.nouns:
            yield word, not vocabulary.nouns


@lru_cache(maxsize=1 << 14)
def _known_nouns(noun: str, vocabulary: Vocabulary) -> tuple[tuple[str, bool], ...]:
    found = []
    for word, count in vocabulary.nouns.items():
        steps = hypernym_distance(noun, word)
        if steps is not None and steps <= FARTHEST and not are_related(noun, word):
            found.append((max(steps, GRAND), -count, word))
    return tuple((word, steps == GRAND) for steps, _, word in sorted(found))


@lru_cache(maxsize=1 << 14)
def _attributes(attribute: str, vocabulary: Vocabulary) -> tuple[tuple[str, bool], ...]:
    """The commonest word of each value that excludes the attribute."""
    counts = vocabulary.attributes
    words = [max(group, key=lambda word: counts.get(word, 0)) for group in attributes.foils(attribute)]
    return tuple((word, not counts or word in counts) for word in sorted(words, key=lambda word: -counts.get(word, 0)))


def _relations(surface: str, mention: Mention, vocabulary: Vocabulary) -> Iterator[tuple[str, bool]]:
    sense, written = relations.sense(mention.text), relations.sense(surface)
    if (sense and sense.group) != (written and written.group):
        return  # "the trunk of a tree" says that the tree has the trunk, in other words and the other way round
    if sense is None:
        options = [(verb, relation_key(verb)) for verb in relations.contrasting_verbs(mention.text)]
    else:
        phrases = ((relation_phrase(surface, mention, group), group) for group in relations.foil_groups(sense.group))
        options = [(phrase, group) for phrase, group in phrases if phrase is not None]
        preposition = mention.text.split()[sense.at :]
        postures = (" ".join([verb, *preposition]) for verb in relations.other_postures(sense.verb))
        options += [(words, relation_key(words)) for words in postures]
    known = [(words, not vocabulary.relations or key in vocabulary.relations) for words, key in options]
    yield from sorted(known, key=lambda option: not option[1])
