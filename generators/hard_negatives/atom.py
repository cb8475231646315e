"""HN-Atom for captions of several atoms: one atom is replaced wherever the caption mentions it.

Source: CREPE (arXiv:2212.07796), section 4.2: a random atom is replaced as in systematicity (foils.py). The caption is
generated from the edited graph, because it may mention an object more than once ("a cup ... the cup").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from random import Random

from generators.captioner.captioner import EditableCaption
from generators.graphs.facts import ImageFacts
from generators.graphs.vocabulary import Vocabulary, relation_key
from generators.graphs.walks import redundant
from generators.hard_negatives.foils import atom_foils
from generators.hard_negatives.hard_negative import Foil, HardNegative, distinct
from generators.language.grammar import predicate_kind
from generators.language.inflection import verb
from generators.language.lexicon import relations
from generators.schemas.scene_graph import Mention, Parse, Relation, SceneGraph

Edit = tuple[Foil, SceneGraph]

FOILS_PER_ATOM = 6
UNKNOWN_FREQUENCY = 1e-3
"""Frequency of a word outside the vocabulary: lower than that of any word in it."""


def atom_negatives(
    graph: SceneGraph, image: ImageFacts, caption: EditableCaption, vocabulary: Vocabulary, rng: Random
) -> Iterator[HardNegative]:
    """Yield HN-Atoms that are false of the image: one per atom in random order, then a second per atom, and so on.

    Foils outside the vocabulary come last.
    """
    by_atom = [foil_edits(atom, graph, image, caption, vocabulary, rng) for atom in first_mentions(caption.mentions)]
    rng.shuffle(by_atom)
    edits = [edit for rank in range(FOILS_PER_ATOM) for atom_edits in by_atom for edit in atom_edits[rank : rank + 1]]
    edits.sort(key=lambda edit: not is_known(edit[0], vocabulary))
    return _captioned(edits, caption)


def one_atom_negatives(
    graph: SceneGraph, image: ImageFacts, caption: EditableCaption, vocabulary: Vocabulary, count: int, rng: Random
) -> list[HardNegative]:
    """Return the HN-Atoms of a single atom, with foils of the vocabulary only: the first random atom with ``count``.

    All captions of the retrieval set then differ in one position. With foils in several positions the true caption is
    the medoid of the set, and even random scorers rank it first less often than 1/K (text_only_scorers.py).
    """
    mentions = first_mentions(caption.mentions)
    for mention in rng.sample(mentions, len(mentions)):
        edits = foil_edits(mention, graph, image, caption, vocabulary, rng)
        negatives = list(_captioned((edit for edit in edits if is_known(edit[0], vocabulary)), caption))
        if len(negatives) >= count:
            return negatives
    return []


def _captioned(edits: Iterable[Edit], caption: EditableCaption) -> Iterator[HardNegative]:
    return distinct(((caption.edit(edited), foil) for foil, edited in edits), caption.text)


def foil_edits(
    mention: Mention,
    graph: SceneGraph,
    image: ImageFacts,
    caption: EditableCaption,
    vocabulary: Vocabulary,
    rng: Random,
) -> list[Edit]:
    """Return every foil of one atom with its edited graph, in a random order weighted by word frequency.

    Always taking the nearest or most frequent word would reuse few words as foils, which a text-only model can learn.
    """
    negatives = atom_foils(Parse(caption.text, graph, (mention,)), image, vocabulary)
    foils = dict.fromkeys(foil for item in negatives for foil in _phrasings(item.foils[0], vocabulary))
    edits = [(foil, replace_atom(graph, mention, foil.replacement)) for foil in foils]
    usable = [(foil, edited) for foil, edited in edits if edited and not redundant(edited)]
    # Weighted sampling without replacement by exponential clocks (Efraimidis and Spirakis 2006).
    clocks = [rng.expovariate(max(_frequency(foil, vocabulary), UNKNOWN_FREQUENCY)) for foil, _ in usable]
    return [edit for _, edit in sorted(zip(clocks, usable, strict=True), key=lambda item: item[0])]


def _phrasings(foil: Foil, vocabulary: Vocabulary) -> list[Foil]:
    """The foil with each phrasing of its relation in the source ("under", "below"); other foils unchanged."""
    sense = relations.sense(foil.replacement) if foil.type == "relation" else None
    if sense is None or sense.verb:
        return [foil]
    phrasings = [
        foil._replace(replacement=predicate)
        for predicate in vocabulary.predicates
        if relation_key(predicate) == sense.group and predicate_kind(predicate) is not None
    ]
    return phrasings or [foil]


def _frequency(foil: Foil, vocabulary: Vocabulary) -> int:
    counts = vocabulary.predicates if foil.type == "relation" else _words(foil, vocabulary)
    return counts.get(foil.replacement, 0)


def is_known(foil: Foil, vocabulary: Vocabulary) -> bool:
    """True if the foil's word is in the vocabulary."""
    if foil.type == "relation":
        return relation_key(foil.replacement) in vocabulary.relations
    return foil.replacement in _words(foil, vocabulary)


def _words(foil: Foil, vocabulary: Vocabulary) -> Mapping[str, int]:
    return vocabulary.nouns if foil.type == "object" else vocabulary.attributes


def first_mentions(mentions: tuple[Mention, ...]) -> list[Mention]:
    """Return the first mention of each atom."""
    first: dict[tuple[str, ...], Mention] = {}
    for mention in mentions:
        first.setdefault((mention.kind, mention.text, mention.object, mention.target or ""), mention)
    return list(first.values())


def replace_atom(graph: SceneGraph, mention: Mention, word: str) -> SceneGraph | None:
    """Return the graph with one atom replaced, or None for a predicate that the grammar cannot express."""
    if mention.kind == "relation":
        # A verb that replaces a preposition or a participle becomes a participle: "holding" for "wearing".
        is_verb_form = predicate_kind(mention.text) == "verb" or predicate_kind(word) != "verb"
        predicate = word if is_verb_form else verb(word, "VBG")
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
    return replace(graph, objects=tuple(new if other is item else other for other in graph.objects))
