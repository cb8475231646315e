"""HN-Atom for captions of several atoms: one atom is replaced at each position where the caption mentions it.

Source: CREPE (arXiv:2212.07796), section 4.2: a random atom is replaced as in systematicity (replacements.py). The hard
negative is written from the edited graph, because a caption may mention an object twice ("a cup ... the cup").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, zip_longest
from operator import itemgetter
from random import Random

from compeval.base.schemas.scene_graph import AtomKey, Mention, Parse, Relation, SceneGraph
from compeval.generators.captioner.captioner import EditableCaption
from compeval.generators.captioner.substitution import read_as_written
from compeval.generators.graphs.facts import ImageFacts
from compeval.generators.graphs.vocabulary import Vocabulary, relation_key
from compeval.generators.graphs.walks import is_redundant
from compeval.generators.hard_negatives.crepe.replacements import (
    find_known_attributes,
    find_words,
    make_foil,
)
from compeval.generators.hard_negatives.crepe.selection import POOL
from compeval.generators.hard_negatives.hard_negative import Foil, HardNegative, drop_duplicates
from compeval.generators.language.grammar import predicate_kind
from compeval.generators.language.inflection import inflect_verb
from compeval.generators.language.lexicon import relations

Edit = tuple[Foil, SceneGraph]

FOILS_PER_ATOM = 6
"""Maximum number of foils per atom."""
UNKNOWN_FREQUENCY = 1e-3
"""The frequency assumed for words outside the vocabulary, lower than that of any word in it."""


class AtomFoils:
    """The foils of each atom of a caption. Each word is checked at most once.

    ``image`` contains the facts of the graph, as the graph is a part of the image's graph.
    """

    def __init__(
        self, graph: SceneGraph, image: ImageFacts, caption: EditableCaption, vocabulary: Vocabulary
    ) -> None:
        self.graph = graph
        self.image = image
        self.caption = caption
        self.vocabulary = vocabulary
        first_mentions: dict[AtomKey, Mention] = {}
        for mention in caption.mentions:
            first_mentions.setdefault(mention.atom_key, mention)
        self.mentions = list(first_mentions.values())
        self._parse = Parse(caption.text, graph, caption.mentions)
        self._are_foils: dict[tuple[Mention, str], bool] = {}

    def draw_balanced_edits(self, mention: Mention, num_foils: int, rng: Random) -> Iterator[Edit]:
        """Yield foils of one atom with their edited graphs, such that words are not more often true than false.

        ``num_foils`` is the number of foils that the caller uses. A text-only model finds the true caption if a word is
        rarely a foil, as "egg" would be if foils were the nearest nouns in WordNet. Here each word is a foil of its own
        foils: the other nouns of a noun's family (vocabulary.py), the attributes of the same kind, or the converse of a
        relation. They are drawn by frequency. A word that is more frequent than its foils together, divided by
        ``num_foils``, has foils in a part of the captions only. Plural nouns have none.
        """
        words, counts = self._find_exchangeable_words(mention)
        make_key = relation_key if mention.kind == "relation" else str
        own, *others = (counts.get(make_key(word), 0) for word in (mention.text, *words))
        return self._draw_edits(
            mention, words if rng.random() * num_foils * own < sum(others) else (), rng
        )

    def _find_exchangeable_words(self, mention: Mention) -> tuple[Sequence[str], Mapping[str, int]]:
        """Return the words that replace an atom and are replaced by it, and the frequencies of words of its kind."""
        if mention.kind == "object":
            family = self.vocabulary.families.get(mention.text, ())
            return [noun for noun in family if noun != mention.text], self.vocabulary.nouns
        written = read_as_written(self.caption.text, mention)
        near = find_words(self._parse, written, self.vocabulary).near
        if mention.kind == "attribute":
            words = [
                word
                for word in near
                if mention.text in find_known_attributes(word, self.vocabulary)
            ]
            return words, self.vocabulary.attributes
        sense = relations.find_sense(written.text)
        converse = sense and relations.find_converse(sense.group)
        return [word for word in near if relation_key(word) == converse], self.vocabulary.relations

    def draw_near_and_distant(
        self, mention: Mention, rng: Random
    ) -> tuple[Iterator[Edit], Iterator[Edit]]:
        """Return the foils of one atom with their edited graphs; nothing is checked before it is needed.

        Near words are in a random order weighted by frequency. If the nearest or most frequent word were always taken,
        few words would be foils, and a text-only model could learn them. Of the synonyms of a relation, one is used.
        Distant words and words outside the vocabulary are at most ``FOILS_PER_ATOM``.
        """
        near, distant = find_words(
            self._parse, read_as_written(self.caption.text, mention), self.vocabulary
        )
        distant_edits = self._make_edits(mention, ((word, word) for word in distant))
        return self._draw_edits(mention, near, rng), islice(distant_edits, FOILS_PER_ATOM)

    def _draw_edits(self, mention: Mention, words: Iterable[str], rng: Random) -> Iterator[Edit]:
        """Yield the edits with these words in a random order weighted by frequency."""
        phrases = [
            (word, phrase)
            for word in words
            for phrase in _list_phrases(mention, word, self.vocabulary)
        ]
        # Weighted sampling without replacement by exponential clocks (Efraimidis and Spirakis 2006).
        counts = _phrase_counts(mention.kind, self.vocabulary)
        clocks = [
            rng.expovariate(max(counts.get(phrase, 0), UNKNOWN_FREQUENCY)) for _, phrase in phrases
        ]
        phrase_by_word: dict[str, str] = {}
        for _, (word, phrase) in sorted(zip(clocks, phrases, strict=True), key=itemgetter(0)):
            phrase_by_word.setdefault(word, phrase)
        return self._make_edits(mention, phrase_by_word.items())

    def _make_edits(self, mention: Mention, pairs: Iterable[tuple[str, str]]) -> Iterator[Edit]:
        """Yield the edits of (word, phrase) pairs that are false of the image."""
        for word, phrase in pairs:
            edited = (
                replace_atom(self.graph, mention, phrase) if self._is_foil(mention, word) else None
            )
            if edited is not None and not is_redundant(edited):
                yield Foil(mention.kind, mention.text, phrase), edited

    def _is_foil(self, mention: Mention, word: str) -> bool:
        if (mention, word) not in self._are_foils:
            written = read_as_written(self.caption.text, mention)
            self._are_foils[mention, word] = (
                make_foil(self._parse, written, word, self.image) is not None
            )
        return self._are_foils[mention, word]


def _list_phrases(mention: Mention, word: str, vocabulary: Vocabulary) -> list[str]:
    """Return the synonyms of a relation in the source, or the word itself."""
    sense = relations.find_sense(word) if mention.kind == "relation" else None
    if sense is None or sense.verb:
        return [word]
    predicates = vocabulary.predicates_by_relation.get(sense.group, ())
    return [predicate for predicate in predicates if predicate_kind(predicate) is not None] or [
        word
    ]


def make_atom_negatives(atoms: AtomFoils, rng: Random) -> Iterator[HardNegative]:
    """Yield HN-Atoms that are false of the image.

    The atoms are in random order: first one foil per atom, then a second foil per atom, and so on. Distant words follow
    after all near words, and words outside the vocabulary come last.
    """
    edits_by_atom = [atoms.draw_near_and_distant(mention, rng) for mention in atoms.mentions]
    rng.shuffle(edits_by_atom)
    near = _alternate([islice(near, FOILS_PER_ATOM) for near, _ in edits_by_atom])
    distant = _sort_known_first(
        _alternate([distant for _, distant in edits_by_atom]), atoms.vocabulary
    )
    return _write_negatives(chain(near, distant), atoms.caption)


def _alternate(edits_by_atom: Sequence[Iterator[Edit]]) -> Iterator[Edit]:
    """Yield one edit per atom, then a second edit per atom, and so on."""
    return (edit for edits in zip_longest(*edits_by_atom) for edit in edits if edit is not None)


def _sort_known_first(edits: Iterable[Edit], vocabulary: Vocabulary) -> Iterator[Edit]:
    """Yield the edits with words of the vocabulary, then the others."""
    unknown: list[Edit] = []
    for edit in edits:
        if is_known(edit[0], vocabulary):
            yield edit
        else:
            unknown.append(edit)
    yield from unknown


def make_one_attribute_negatives(atoms: AtomFoils, count: int, rng: Random) -> list[HardNegative]:
    """Return the HN-Atoms of a single random attribute that has at least ``count`` foils in the vocabulary.

    All captions of the retrieval set then differ in one position. If the foils were in several positions, the true
    caption would be the medoid of the set, and random baselines would rank it first less often than 1/K
    (text_only). Nouns are not replaced: the true one fits the other objects of the scene, and few foils do,
    so that a model of the other captions finds it (horses occur with carrots, not with cactuses). Relations are not
    replaced: some can never be proven false ("near"), so that a text-only model would recognise them as true. Returns
    [] if no attribute has enough foils.
    """
    mentions = [mention for mention in atoms.mentions if mention.kind == "attribute"]
    for mention in rng.sample(mentions, len(mentions)):
        edits = (
            edit
            for edit in atoms.draw_balanced_edits(mention, count, rng)
            if is_known(edit[0], atoms.vocabulary)
        )
        negatives = list(islice(_write_negatives(edits, atoms.caption), POOL))
        if len(negatives) >= count:
            return negatives
    return []


def _write_negatives(edits: Iterable[Edit], caption: EditableCaption) -> Iterator[HardNegative]:
    return drop_duplicates(((caption.edit(edited), foil) for foil, edited in edits), caption.text)


def is_known(foil: Foil, vocabulary: Vocabulary) -> bool:
    """Return True if the foil's word is in the vocabulary."""
    if foil.type == "relation":
        return relation_key(foil.replacement) in vocabulary.relations
    return foil.replacement in _phrase_counts(foil.type, vocabulary)


def _phrase_counts(kind: str, vocabulary: Vocabulary) -> Mapping[str, int]:
    if kind == "relation":
        return vocabulary.predicates
    return vocabulary.nouns if kind == "object" else vocabulary.attributes


def replace_atom(graph: SceneGraph, mention: Mention, word: str) -> SceneGraph | None:
    """Return the graph with one atom replaced, or None if the grammar cannot express the new predicate."""
    if mention.kind == "relation":
        # A verb that replaces a preposition or a participle becomes a participle: "holding" for "wearing".
        is_verb_form = predicate_kind(mention.text) == "verb" or predicate_kind(word) != "verb"
        predicate = word if is_verb_form else inflect_verb(word, "VBG")
        if predicate_kind(predicate) is None:
            return None
        old = Relation(mention.object, mention.text, mention.target or "")
        edges = (
            replace(edge, predicate=predicate) if edge == old else edge for edge in graph.relations
        )
        return replace(graph, relations=tuple(edges))
    item = graph.by_id[mention.object]
    if mention.kind == "object":
        new = replace(item, name=word)
    else:
        new = replace(
            item,
            attributes=tuple(word if text == mention.text else text for text in item.attributes),
        )
    return replace(
        graph, objects=tuple(new if candidate is item else candidate for candidate in graph.objects)
    )
