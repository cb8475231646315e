"""The words that may replace an atom of a caption, and whether the caption is then false of its image.

Source: CREPE (arXiv:2212.07796), section 4.1 and appendix A.1: antonyms, and words with the same grand-hypernym.
Differences from the paper: a foil is not a synonym, hypernym or hyponym of anything in the image's scene graph or
region phrases. The scene graph must also exclude the new statement (graphs/facts.py). Relations come from our own
lexicon, since WordNet has no prepositions. If a source has too few nouns with the same grand-hypernym (for example of
"cat"), nouns with a more distant shared hypernym are added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from compeval.base.schemas.scene_graph import Mention, Parse, Relation, SceneGraph, SceneObject
from compeval.generators.captioner.substitution import (
    PRONOUN,
    choose_synonym,
    keeps_pronouns,
    replace_atom_text,
)
from compeval.generators.graphs.facts import ImageFacts
from compeval.generators.graphs.vocabulary import MAX_STEPS, Vocabulary, relation_key
from compeval.generators.hard_negatives.hard_negative import Foil, HardNegative
from compeval.generators.language.lexicon import attributes, nouns, relations
from compeval.generators.language.wordnet import grand_hypernym_siblings

GRAND_HYPERNYM_STEPS = 2
"""Number of steps from a word to its grand-hypernym."""


class Words(NamedTuple):
    """The words that may replace an atom, best first."""

    near: Sequence[str]
    """Words that are near in meaning and in the vocabulary."""
    distant: Iterator[str]
    """All other words, which are searched when they are needed."""


FindWords = Callable[[Parse, Mention, Vocabulary], Words]
"""Returns the words that may replace an atom."""
ALL_WORDS = Vocabulary()
"""The empty vocabulary, in which all words of WordNet and the lexicon count as equally known."""


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
    return not (changes_kind and has_attributes) and keeps_pronouns(
        parse.caption, mention.text, word
    )


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
        in_vocabulary, others = _find_attributes(mention.text, vocabulary)
        return Words(in_vocabulary, iter(() if mention.tag.startswith("VB") else others))
    if mention.text == "with" and PRONOUN.search(parse.caption, mention.end):
        return Words((), iter(()))  # "a table with a cup on it" states another relation
    if mention.tag == "RB" and all(
        other.end <= mention.start for other in parse.mentions if other.kind == "object"
    ):
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
        nearer = set(near)
        near = vocabulary.find_nouns(noun, distance)
        yield from (word for word in near if word not in nearer)
    yield from (word for word in grand_hypernym_siblings(noun) if word not in vocabulary.nouns)


def find_known_attributes(attribute: str, vocabulary: Vocabulary) -> Sequence[str]:
    """Return the words of the vocabulary that may replace an attribute, one per value that excludes it."""
    return _find_attributes(attribute, vocabulary)[0]


@lru_cache(maxsize=1 << 14)
def _find_attributes(attribute: str, vocabulary: Vocabulary) -> tuple[Sequence[str], Sequence[str]]:
    """Return the most frequent word of each value that excludes the attribute: those in the vocabulary, and others."""
    counts = vocabulary.attributes
    words = [
        max(group, key=lambda word: counts.get(word, 0))
        for group in attributes.exclusive_attributes(attribute)
    ]
    words.sort(key=lambda word: -counts.get(word, 0))
    in_vocabulary = [word for word in words if not counts or word in counts]
    return in_vocabulary, words[len(in_vocabulary) :]


def _find_relations(surface: str, mention: Mention, vocabulary: Vocabulary) -> Words:
    sense = relations.find_sense(mention.text)
    written = relations.find_sense(surface)
    if (sense and sense.group) != (written and written.group):
        # The caption states the converse: "the trunk of a tree" for (tree, have, trunk).
        return Words((), iter(()))
    if sense is None:
        options = [(verb, relation_key(verb)) for verb in relations.contrasting_verbs(mention.text)]
    else:
        phrases = (
            (choose_synonym(surface, mention, group), group)
            for group in relations.rank_foil_groups(sense.group)
        )
        options = [(phrase, group) for phrase, group in phrases if phrase is not None]
        preposition = mention.text.split()[sense.num_leading_words :]
        postures = (
            " ".join([verb, *preposition]) for verb in relations.verbs_of_other_postures(sense.verb)
        )
        options += [(words, relation_key(words)) for words in postures]
    in_vocabulary = [
        words for words, key in options if not vocabulary.relations or key in vocabulary.relations
    ]
    return Words(
        in_vocabulary,
        (
            words
            for words, key in options
            if vocabulary.relations and key not in vocabulary.relations
        ),
    )
