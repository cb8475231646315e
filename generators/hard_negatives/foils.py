"""Hard negatives of one region caption: one atom replaced (HN-Atom) or two variants joined (HN-Comp).

Source: CREPE (arXiv:2212.07796), section 4.1 and appendix A.1, Table 2. HN-Atom replaces exactly one atom by an antonym
or a word with the same grand-hypernym. HN-Comp joins two variants of a one-compound caption, each with another atom
replaced: "a pink car" becomes "a blue car and a pink toy". Differs from it in: a foil is no synonym, hypernym or
hyponym of anything in the image's whole scene graph or region phrases, and the graph must also rule out the new
statement (graphs/facts.py); relations come from our own lexicon, since WordNet has no prepositions; and where a source
has too few nouns with the same grand-hypernym (of a cat, a clock or an umbrella), nouns come from higher up.

Negatives are sorted by the position of their atom in the caption, then by nearness and frequency of the new word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, product

from generators.captioner.substitution import apply, as_written, relation_phrase
from generators.graphs.facts import ImageFacts
from generators.graphs.vocabulary import Vocabulary, relation_key
from generators.hard_negatives.hard_negative import Foil, HardNegative
from generators.language.lexicon import attributes, relations
from generators.language.texts import fold_case_and_space
from generators.language.wordnet import are_related, grand_hypernym_siblings, hypernym_distance
from generators.schemas.scene_graph import Mention, Parse, Relation, SceneGraph, SceneObject

GRAND = 2
"""Steps from a word to its grand-hypernym."""
MAX_STEPS = 6
"""Steps up to a shared hypernym, where nearer words are too few."""
MAX_DISTANT = 6
"""Foils per atom above which no word is taken from farther away or from outside the vocabulary."""
MAX_FOILS = 24
"""Foils per atom that the ranker chooses from."""
MAX_COMBINED = 6
"""Foils per atom that are combined to HN-Comp."""

WITHOUT = "without"
"""Never part of HN-Comp: it would negate what follows the "and" as well."""

PRONOUN = re.compile(r"\b(?:it|its|them|their|him|his|her)\b", re.IGNORECASE)
"""After "with", a pronoun marks another relation: "a table with a cup on it"."""

Word = tuple[str, bool]
"""A word that may replace an atom, and whether it is both near in meaning and in the vocabulary."""

ALL_WORDS = Vocabulary()
"""The empty vocabulary: all words of WordNet and the lexicon are equally known."""


def atom_foils(parse: Parse, image: ImageFacts, vocabulary: Vocabulary = ALL_WORDS) -> list[HardNegative]:
    """Return every HN-Atom of a caption that is false of the image; words of the vocabulary are preferred."""
    facts = image.with_caption(parse.graph)
    negatives: dict[str, HardNegative] = {}
    for mention in parse.mentions:
        for negative in _negatives(parse, mention, facts, vocabulary):
            negatives.setdefault(fold_case_and_space(negative.caption), negative)
    negatives.pop(fold_case_and_space(parse.caption), None)
    return list(negatives.values())


def comp_foils(parse: Parse, image: ImageFacts, vocabulary: Vocabulary = ALL_WORDS) -> list[HardNegative]:
    """Return every HN-Comp of a caption with exactly one compound, both halves false of the image; else no negative."""
    core = one_compound(parse)
    if core is None:
        return []
    facts = image.with_caption(parse.graph)
    variants = [
        [item for item in _negatives(core, mention, facts, vocabulary) if item.foils[0].replacement != WITHOUT]
        for mention in core.mentions
    ]
    negatives: dict[str, HardNegative] = {}
    for one, other in combinations(variants, 2):
        for (i, first), (j, second) in product(enumerate(one[:MAX_COMBINED]), enumerate(other[:MAX_COMBINED])):
            halves = (first, second) if (i + j) % 2 == 0 else (second, first)
            caption = _joined(halves[0].caption, halves[1].caption)
            negatives.setdefault(fold_case_and_space(caption), HardNegative(caption, halves[0].foils + halves[1].foils))
    return list(negatives.values())


def one_compound(parse: Parse) -> Parse | None:
    """Return the part of a caption that states its only compound, with its determiner; None for other captions."""
    if len(parse.graph.compounds) != 1:
        return None
    edges = parse.graph.relations
    ends = {edges[0].subject, edges[0].object} if edges else {o.id for o in parse.graph.objects if o.attributes}
    inside = [item for item in parse.mentions if item.object in ends and (item.target or "") in {"", *ends}]
    if len(inside) == len(parse.mentions):
        return parse
    start, end = min(mention.start for mention in inside), max(mention.end for mention in inside)
    if any(mention.start < end and mention.end > start for mention in parse.mentions if mention not in inside):
        return None
    determiner = re.search(r"\b(?:an?|the|one|two|three|some)\s+$", parse.caption[:start], re.IGNORECASE)
    start = determiner.start() if determiner else start
    objects = tuple(item for item in parse.graph.objects if item.id in ends)
    moved = tuple(replace(mention, start=mention.start - start, end=mention.end - start) for mention in inside)
    return Parse(parse.caption[start:end], SceneGraph(objects, edges), moved)


def _joined(first: str, second: str) -> str:
    body = first.rstrip()
    stop = body[-1] if body.endswith((".", "!")) else ""
    second = second.rstrip().rstrip(".!")
    if second[1:2].islower() or second[1:2].isspace():
        second = second[0].lower() + second[1:]
    return f"{body.rstrip('.!')} and {second}{stop}"


def _negatives(parse: Parse, mention: Mention, facts: ImageFacts, vocabulary: Vocabulary) -> Iterator[HardNegative]:
    """The HN-Atoms of one atom: at most ``MAX_FOILS`` near words, others only up to ``MAX_DISTANT``."""
    mention = as_written(parse.caption, mention)
    count = 0
    for word, is_near in _words(parse, mention, vocabulary):
        if count >= (MAX_FOILS if is_near else MAX_DISTANT):
            return
        caption = apply(parse.caption, mention, word)
        if caption is not None and _is_false(parse, mention, word, facts):
            count += 1
            yield HardNegative(caption, (Foil(mention.kind, mention.text, word),))


def _is_false(parse: Parse, mention: Mention, word: str, facts: ImageFacts) -> bool:
    """True if the smallest statement with the new word is ruled out: a noun, an attributed noun, a related pair."""
    if mention.kind == "object":
        return facts.is_absent(word)
    item = parse.graph.by_id[mention.object]
    if mention.kind == "attribute":
        return facts.is_false(SceneGraph((SceneObject(item.id, item.name, (word,)),)))
    assert mention.target is not None
    ends = tuple(SceneObject(end.id, end.name) for end in (item, parse.graph.by_id[mention.target]))
    return facts.is_false(SceneGraph(ends, (Relation(item.id, word, mention.target),)))


def _words(parse: Parse, mention: Mention, vocabulary: Vocabulary) -> Iterator[Word]:
    """The words that may replace an atom, the best first."""
    if mention.kind == "object":
        return _nouns(mention.text, vocabulary)
    if mention.kind == "attribute":
        is_verb = mention.tag.startswith("VB")
        return (word for word in _attributes(mention.text, vocabulary) if word[1] or not is_verb)
    if mention.text == "with" and PRONOUN.search(parse.caption, mention.end):
        return iter(())
    return _relations(parse.caption[mention.start : mention.end], mention, vocabulary)


def _nouns(noun: str, vocabulary: Vocabulary) -> Iterator[Word]:
    yield from _known_nouns(noun, vocabulary)
    for word in grand_hypernym_siblings(noun):
        if word not in vocabulary.nouns:
            yield word, not vocabulary.nouns


@lru_cache(maxsize=1 << 14)
def _known_nouns(noun: str, vocabulary: Vocabulary) -> tuple[Word, ...]:
    nouns = []
    for word, count in vocabulary.nouns.items():
        steps = hypernym_distance(noun, word)
        if steps is not None and steps <= MAX_STEPS and not are_related(noun, word):
            nouns.append((max(steps, GRAND), -count, word))
    return tuple((word, steps == GRAND) for steps, _, word in sorted(nouns))


@lru_cache(maxsize=1 << 14)
def _attributes(attribute: str, vocabulary: Vocabulary) -> tuple[Word, ...]:
    """The most frequent word of each value that excludes the attribute."""
    counts = vocabulary.attributes
    words = [max(group, key=lambda word: counts.get(word, 0)) for group in attributes.foils(attribute)]
    return tuple((word, not counts or word in counts) for word in sorted(words, key=lambda word: -counts.get(word, 0)))


def _relations(surface: str, mention: Mention, vocabulary: Vocabulary) -> Iterator[Word]:
    sense, written = relations.sense(mention.text), relations.sense(surface)
    if (sense and sense.group) != (written and written.group):
        return  # "the trunk of a tree" states that the tree has the trunk, in other words and the other direction
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
