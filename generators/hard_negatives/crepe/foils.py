"""Hard negatives of one region caption: one atom is replaced (HN-Atom), or two such variants are joined (HN-Comp).

Source: CREPE (arXiv:2212.07796), section 4.1 and appendix A.1, Table 2. HN-Atom replaces exactly one atom by an antonym
or a word with the same grand-hypernym. HN-Comp joins two variants of a caption with one compound, in each of which a
different atom is replaced: "a pink car" becomes "a blue car and a pink toy".
Differences from the paper: a foil is not a synonym, hypernym or hyponym of anything in the image's scene graph or
region phrases. The scene graph must also exclude the new statement (graphs/facts.py). Relations come from our own
lexicon, since WordNet has no prepositions. If a source has too few nouns with the same grand-hypernym (for example of
"cat"), nouns with a more distant shared hypernym are added.

Negatives are sorted by the position of their atom in the caption, then by the hypernym distance and frequency of the
new word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, product
from typing import NamedTuple

from generators.captioner.substitution import (
    PRONOUN,
    choose_synonym,
    keeps_pronouns,
    read_as_written,
    replace_atom_text,
)
from generators.graphs.facts import ImageFacts
from generators.graphs.vocabulary import MAX_STEPS, Vocabulary, relation_key
from generators.hard_negatives.hard_negative import Foil, HardNegative
from generators.language.lexicon import attributes, nouns, relations
from generators.language.texts import fold_case_and_space
from generators.language.wordnet import grand_hypernym_siblings
from generators.schemas.scene_graph import Mention, Parse, Relation, SceneGraph, SceneObject

GRAND_HYPERNYM_STEPS = 2
"""Number of steps from a word to its grand-hypernym."""
MAX_DISTANT = 6
"""Distant words and words outside the vocabulary are used until an atom has this many foils."""
MAX_FOILS = 24
"""Maximum number of foils per atom from which the ranker chooses."""
MAX_COMBINED = 6
"""Maximum number of foils per atom that are combined to HN-Comps."""

WITHOUT = "without"
"""This word is never part of an HN-Comp, because it would also negate what follows "and"."""


class Words(NamedTuple):
    """The words that may replace an atom, best first."""

    near: Sequence[str]
    """Words that are near in meaning and in the vocabulary."""
    distant: Iterator[str]
    """All other words, which are searched when they are needed."""


ALL_WORDS = Vocabulary()
"""The empty vocabulary, in which all words of WordNet and the lexicon count as equally known."""


def make_atom_foils(parse: Parse, image: ImageFacts, vocabulary: Vocabulary = ALL_WORDS) -> list[HardNegative]:
    """Return all HN-Atoms of a caption that are false of the image. Words of the vocabulary come first."""
    facts = image.with_caption(parse.graph)
    negatives: dict[str, HardNegative] = {}
    for mention in parse.mentions:
        for negative in _make_negatives(parse, mention, facts, vocabulary):
            negatives.setdefault(fold_case_and_space(negative.caption), negative)
    negatives.pop(fold_case_and_space(parse.caption), None)
    return list(negatives.values())


def make_comp_foils(parse: Parse, image: ImageFacts, vocabulary: Vocabulary = ALL_WORDS) -> list[HardNegative]:
    """Return all HN-Comps of a caption with exactly one compound, with both halves false of the image; else []."""
    compound = extract_only_compound(parse)
    if compound is None:
        return []
    facts = image.with_caption(parse.graph)
    variants = [
        [item for item in _make_negatives(compound, mention, facts, vocabulary) if item.foils[0].replacement != WITHOUT]
        for mention in compound.mentions
    ]
    negatives: dict[str, HardNegative] = {}
    for firsts, seconds in combinations(variants, 2):
        for (i, first), (j, second) in product(enumerate(firsts[:MAX_COMBINED]), enumerate(seconds[:MAX_COMBINED])):
            halves = (first, second) if (i + j) % 2 == 0 else (second, first)
            caption = _join_captions(halves[0].caption, halves[1].caption)
            negatives.setdefault(fold_case_and_space(caption), HardNegative(caption, halves[0].foils + halves[1].foils))
    return list(negatives.values())


def extract_only_compound(parse: Parse) -> Parse | None:
    """Return the part of a caption that states its only compound, with its determiner, or None for other captions."""
    if len(parse.graph.compounds) != 1:
        return None
    edges = parse.graph.relations
    ends = {edges[0].subject, edges[0].object} if edges else {o.id for o in parse.graph.objects if o.attributes}
    kept = [item for item in parse.mentions if item.object in ends and (item.target or "") in {"", *ends}]
    if len(kept) == len(parse.mentions):
        return parse
    start, end = min(mention.start for mention in kept), max(mention.end for mention in kept)
    if any(mention.start < end and mention.end > start for mention in parse.mentions if mention not in kept):
        return None
    determiner = re.search(r"\b(?:an?|the|one|two|three|some)\s+$", parse.caption[:start], re.IGNORECASE)
    start = determiner.start() if determiner else start
    objects = tuple(item for item in parse.graph.objects if item.id in ends)
    shifted = tuple(replace(mention, start=mention.start - start, end=mention.end - start) for mention in kept)
    return Parse(parse.caption[start:end], SceneGraph(objects, edges), shifted)


def _join_captions(first: str, second: str) -> str:
    body = first.rstrip()
    final_mark = body[-1] if body.endswith((".", "!")) else ""
    second = second.rstrip().rstrip(".!")
    if second[1:2].islower() or second[1:2].isspace():
        second = second[0].lower() + second[1:]
    return f"{body.rstrip('.!')} and {second}{final_mark}"


def _make_negatives(
    parse: Parse, mention: Mention, facts: ImageFacts, vocabulary: Vocabulary
) -> Iterator[HardNegative]:
    """Yield the HN-Atoms of one atom: at most ``MAX_FOILS`` with near words, others only up to ``MAX_DISTANT``.

    ``facts`` contain the caption.
    """
    mention = read_as_written(parse.caption, mention)
    near, distant = find_words(parse, mention, vocabulary)
    count = 0
    for words, limit in ((iter(near), MAX_FOILS), (distant, MAX_DISTANT)):
        while count < limit and (word := next(words, None)) is not None:
            if (negative := make_foil(parse, mention, word, facts)) is not None:
                count += 1
                yield negative


def make_foil(parse: Parse, mention: Mention, word: str, facts: ImageFacts) -> HardNegative | None:
    """Return the HN-Atom with a word in place of an atom, or None if it does not fit or may be true."""
    caption = replace_atom_text(parse.caption, mention, word)
    if caption is None or not may_replace(parse, mention, word, facts):
        return None
    return HardNegative(caption, (Foil(mention.kind, mention.text, word),))


def may_replace(parse: Parse, mention: Mention, word: str, facts: ImageFacts) -> bool:
    """Return True if the caption is false with a word in place of an atom. ``facts`` contain the caption."""
    return _fits_people(parse, mention, word) and _is_false(parse, mention, word, facts)


def _fits_people(parse: Parse, mention: Mention, word: str) -> bool:
    """Return False if only a foil would have a person with the attributes or the pronoun of a thing, or vice versa.

    Text-only models would recognise such foils: "a striped man", "a woman with a cup beside it".
    """
    if mention.kind != "object":
        return True
    changes_kind = nouns.is_person(mention.text) != nouns.is_person(word)
    has_attributes = bool(parse.graph.by_id[mention.object].attributes)
    return not (changes_kind and has_attributes) and keeps_pronouns(parse.caption, mention.text, word)


def _is_false(parse: Parse, mention: Mention, word: str, facts: ImageFacts) -> bool:
    """Return True if the facts exclude the smallest statement with the new word.

    The statement is a noun, a noun with an attribute, or a related pair of nouns.
    """
    if mention.kind == "object":
        return facts.is_absent(word)
    item = parse.graph.by_id[mention.object]
    if mention.kind == "attribute":
        return facts.is_false(SceneGraph((SceneObject(item.id, item.name, (word,)),)))
    assert mention.target is not None
    ends = tuple(SceneObject(end.id, end.name) for end in (item, parse.graph.by_id[mention.target]))
    return facts.is_false(SceneGraph(ends, (Relation(item.id, word, mention.target),)))


def find_words(parse: Parse, mention: Mention, vocabulary: Vocabulary) -> Words:
    """Return the words that may replace an atom."""
    if mention.kind == "object":
        return _find_nouns(mention.text, vocabulary)
    if mention.kind == "attribute":
        known, unknown = _find_attributes(mention.text, vocabulary)
        return Words(known, iter(() if mention.tag.startswith("VB") else unknown))
    if mention.text == "with" and PRONOUN.search(parse.caption, mention.end):
        return Words((), iter(()))  # "a table with a cup on it" states another relation
    if mention.tag == "RB" and all(other.end <= mention.start for other in parse.mentions if other.kind == "object"):
        return Words((), iter(()))  # "a box with a ball inside": other relations need a pronoun
    return _find_relations(parse.caption[mention.start : mention.end], mention, vocabulary)


def _find_nouns(noun: str, vocabulary: Vocabulary) -> Words:
    if not vocabulary.nouns:
        return Words(grand_hypernym_siblings(noun), iter(()))
    return Words(_find_near_nouns(noun, vocabulary), _find_distant_nouns(noun, vocabulary))


@lru_cache(maxsize=1 << 12)
def _find_near_nouns(noun: str, vocabulary: Vocabulary) -> Sequence[str]:
    return vocabulary.find_nouns(noun, GRAND_HYPERNYM_STEPS)


def _find_distant_nouns(noun: str, vocabulary: Vocabulary) -> Iterator[str]:
    near = _find_near_nouns(noun, vocabulary)
    for distance in range(GRAND_HYPERNYM_STEPS + 1, MAX_STEPS + 1):
        nearer, near = set(near), vocabulary.find_nouns(noun, distance)
        yield from (word for word in near if word not in nearer)
    yield from (word for word in grand_hypernym_siblings(noun) if word not in vocabulary.nouns)


def find_known_attributes(attribute: str, vocabulary: Vocabulary) -> Sequence[str]:
    """Return the words of the vocabulary that may replace an attribute, one per value that excludes it."""
    return _find_attributes(attribute, vocabulary)[0]


@lru_cache(maxsize=1 << 14)
def _find_attributes(attribute: str, vocabulary: Vocabulary) -> tuple[Sequence[str], Sequence[str]]:
    """Return the most frequent word of each value that excludes the attribute: those in the vocabulary, and others."""
    counts = vocabulary.attributes
    words = [max(group, key=lambda word: counts.get(word, 0)) for group in attributes.exclusive_attributes(attribute)]
    words.sort(key=lambda word: -counts.get(word, 0))
    known = [word for word in words if not counts or word in counts]
    return known, words[len(known) :]


def _find_relations(surface: str, mention: Mention, vocabulary: Vocabulary) -> Words:
    sense, written = relations.find_sense(mention.text), relations.find_sense(surface)
    if (sense and sense.group) != (written and written.group):
        return Words((), iter(()))  # The caption states the converse: "the trunk of a tree" for (tree, have, trunk).
    if sense is None:
        options = [(verb, relation_key(verb)) for verb in relations.contrasting_verbs(mention.text)]
    else:
        phrases = (
            (choose_synonym(surface, mention, group), group) for group in relations.rank_foil_groups(sense.group)
        )
        options = [(phrase, group) for phrase, group in phrases if phrase is not None]
        preposition = mention.text.split()[sense.num_leading_words :]
        postures = (" ".join([verb, *preposition]) for verb in relations.verbs_of_other_postures(sense.verb))
        options += [(words, relation_key(words)) for words in postures]
    known = [words for words, key in options if not vocabulary.relations or key in vocabulary.relations]
    return Words(known, (words for words, key in options if vocabulary.relations and key not in vocabulary.relations))
