"""HN-Atom for captions of several atoms: one atom is replaced at each position where the caption mentions it.

Source: CREPE (arXiv:2212.07796), section 4.2: a random atom is replaced as in systematicity (foils.py). The hard
negative is written from the edited graph, because a caption may mention an object twice ("a cup ... the cup").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from operator import itemgetter
from random import Random

from generators.captioner.captioner import EditableCaption
from generators.graphs.facts import ImageFacts
from generators.graphs.vocabulary import Vocabulary, relation_key
from generators.graphs.walks import is_redundant
from generators.hard_negatives.foils import make_mention_foils
from generators.hard_negatives.hard_negative import Foil, HardNegative, drop_duplicates
from generators.language.grammar import predicate_kind
from generators.language.inflection import inflect_verb
from generators.language.lexicon import relations
from generators.schemas.scene_graph import Mention, Parse, Relation, SceneGraph

Edit = tuple[Foil, SceneGraph]

FOILS_PER_ATOM = 6
"""Maximum number of foils per atom."""
UNKNOWN_FREQUENCY = 1e-3
"""The frequency assumed for words outside the vocabulary, lower than that of any word in it."""


class AtomFoils:
    """The foils of each atom of a caption. The foils of an atom are computed once.

    ``image`` contains the facts of the graph, as the graph is a part of the image's graph.
    """

    def __init__(self, graph: SceneGraph, image: ImageFacts, caption: EditableCaption, vocabulary: Vocabulary) -> None:
        self.graph, self.image, self.caption, self.vocabulary = graph, image, caption, vocabulary
        self.mentions = select_first_mentions(caption.mentions)
        self._foils: dict[Mention, list[Foil]] = {}

    def list_foils(self, mention: Mention) -> list[Foil]:
        """Return all foils of one atom."""
        if mention not in self._foils:
            parse = Parse(self.caption.text, self.graph, (mention,))
            negatives = make_mention_foils(parse, mention, self.image, self.vocabulary)
            self._foils[mention] = list(
                dict.fromkeys(foil for item in negatives for foil in _list_synonyms(item.foils[0], self.vocabulary))
            )
        return self._foils[mention]

    def draw_edits(self, mention: Mention, rng: Random) -> Iterator[Edit]:
        """Return the foils of one atom with their edited graphs, in a random order weighted by word frequency.

        If the nearest or most frequent word were always taken, few words would be foils, and a text-only model could
        learn them.
        """
        foils = self.list_foils(mention)
        # Weighted sampling without replacement by exponential clocks (Efraimidis and Spirakis 2006).
        clocks = [rng.expovariate(max(_count_word(foil, self.vocabulary), UNKNOWN_FREQUENCY)) for foil in foils]
        ordered = [foil for _, foil in sorted(zip(clocks, foils, strict=True), key=itemgetter(0))]
        edits = ((foil, replace_atom(self.graph, mention, foil.replacement)) for foil in ordered)
        return ((foil, edited) for foil, edited in edits if edited and not is_redundant(edited))


def make_atom_negatives(atoms: AtomFoils, rng: Random) -> Iterator[HardNegative]:
    """Yield HN-Atoms that are false of the image.

    The atoms are in random order: first one foil per atom, then a second foil per atom, and so on. Foils outside the
    vocabulary come last.
    """
    edits_by_atom = [islice(atoms.draw_edits(mention, rng), FOILS_PER_ATOM) for mention in atoms.mentions]
    rng.shuffle(edits_by_atom)
    return _write_negatives(_sort_known_first(edits_by_atom, atoms.vocabulary), atoms.caption)


def _sort_known_first(edits_by_atom: Sequence[Iterator[Edit]], vocabulary: Vocabulary) -> Iterator[Edit]:
    """Yield one edit per atom, then a second edit per atom, and so on; edits outside the vocabulary come last."""
    unknown: list[Edit] = []
    for edits in zip_longest(*edits_by_atom):
        for edit in filter(None, edits):
            if is_known(edit[0], vocabulary):
                yield edit
            else:
                unknown.append(edit)
    yield from unknown


def make_one_atom_negatives(atoms: AtomFoils, count: int, rng: Random) -> list[HardNegative]:
    """Return the HN-Atoms of a single random atom that has at least ``count`` foils in the vocabulary, or [].

    All captions of the retrieval set then differ in one position. If the foils were in several positions, the true
    caption would be the medoid of the set, and random scorers would rank it first less often than 1/K
    (text_only_scorers.py).
    """
    for mention in rng.sample(atoms.mentions, len(atoms.mentions)):
        edits = (edit for edit in atoms.draw_edits(mention, rng) if is_known(edit[0], atoms.vocabulary))
        negatives = list(_write_negatives(edits, atoms.caption))
        if len(negatives) >= count:
            return negatives
    return []


def _write_negatives(edits: Iterable[Edit], caption: EditableCaption) -> Iterator[HardNegative]:
    return drop_duplicates(((caption.edit(edited), foil) for foil, edited in edits), caption.text)


def _list_synonyms(foil: Foil, vocabulary: Vocabulary) -> list[Foil]:
    """Return the foil with each synonym of its relation in the source. Other foils are returned unchanged."""
    sense = relations.find_sense(foil.replacement) if foil.type == "relation" else None
    if sense is None or sense.verb:
        return [foil]
    phrasings = [
        foil._replace(replacement=predicate)
        for predicate in vocabulary.predicates_by_relation.get(sense.group, ())
        if predicate_kind(predicate) is not None
    ]
    return phrasings or [foil]


def _count_word(foil: Foil, vocabulary: Vocabulary) -> int:
    counts = vocabulary.predicates if foil.type == "relation" else _word_counts(foil, vocabulary)
    return counts.get(foil.replacement, 0)


def is_known(foil: Foil, vocabulary: Vocabulary) -> bool:
    """Return True if the foil's word is in the vocabulary."""
    if foil.type == "relation":
        return relation_key(foil.replacement) in vocabulary.relations
    return foil.replacement in _word_counts(foil, vocabulary)


def _word_counts(foil: Foil, vocabulary: Vocabulary) -> Mapping[str, int]:
    return vocabulary.nouns if foil.type == "object" else vocabulary.attributes


def select_first_mentions(mentions: tuple[Mention, ...]) -> list[Mention]:
    """Return the first mention of each atom."""
    first: dict[tuple[str, ...], Mention] = {}
    for mention in mentions:
        first.setdefault((mention.kind, mention.text, mention.object, mention.target or ""), mention)
    return list(first.values())


def replace_atom(graph: SceneGraph, mention: Mention, word: str) -> SceneGraph | None:
    """Return the graph with one atom replaced, or None if the grammar cannot express the new predicate."""
    if mention.kind == "relation":
        # A verb that replaces a preposition or a participle becomes a participle: "holding" for "wearing".
        is_verb_form = predicate_kind(mention.text) == "verb" or predicate_kind(word) != "verb"
        predicate = word if is_verb_form else inflect_verb(word, "VBG")
        if predicate_kind(predicate) is None:
            return None
        old = Relation(mention.object, mention.text, mention.target or "")
        edges = (replace(edge, predicate=predicate) if edge == old else edge for edge in graph.relations)
        return replace(graph, relations=tuple(edges))
    item = graph.by_id[mention.object]
    if mention.kind == "object":
        new = replace(item, name=word)
    else:
        new = replace(item, attributes=tuple(word if text == mention.text else text for text in item.attributes))
    return replace(graph, objects=tuple(new if candidate is item else candidate for candidate in graph.objects))
