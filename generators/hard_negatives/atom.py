"""HN-Atom for captions of many atoms: one atom replaced wherever the caption names it.

Source: CREPE (arXiv:2212.07796), section 4.2: an atom at random, replaced as in systematicity
(generators/hard_negatives/foils.py).
The caption is worded anew, since it may come back to an object ("a cup ... the cup").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

from generators.captioner.captioner import Wording
from generators.graphs.facts import ImageFacts
from generators.graphs.vocabulary import Vocabulary, relation_key
from generators.graphs.walks import redundant
from generators.hard_negatives.foils import Foil, HardNegative, atom_foils
from generators.language.grammar import predicate_kind
from generators.language.inflection import verb
from generators.language.lexicon import relations
from generators.schemas.scene_graph import Mention, Parse, Relation, SceneGraph

Edit = tuple[Foil, SceneGraph]

PER_ATOM = 6
"""So many foils of one atom are used."""
UNKNOWN = 1e-3
"""How often a word that the source does not use counts as used: after all that it does."""


def atom_negatives(
    graph: SceneGraph, image: ImageFacts, wording: Wording, vocabulary: Vocabulary, rng: Random
) -> Iterator[HardNegative]:
    """HN-Atoms that are false of the image: one of each atom in random order, then a second of each, and so on.

    Words that the source does not use come after all that it does.
    """
    by_atom = [
        foil_edits(mention, graph, image, wording, vocabulary, rng) for mention in first_mentions(wording.mentions)
    ]
    rng.shuffle(by_atom)
    turns = [edit for at in range(PER_ATOM) for edits in by_atom for edit in edits[at : at + 1]]
    turns.sort(key=lambda edit: not is_known(edit[0], vocabulary))
    yield from _worded(turns, wording)


def one_atom_negatives(
    graph: SceneGraph, image: ImageFacts, wording: Wording, vocabulary: Vocabulary, count: int, rng: Random
) -> list[HardNegative]:
    """HN-Atoms that all replace one atom by words of the source: the first, in random order, that has ``count``.

    So the truth is one of several captions of a kind, and not the middle that they all are one edit away from, which
    even those who guess would seldom rank first (generators/hard_negatives/blind_scorers.py: guessed).
    """
    mentions = first_mentions(wording.mentions)
    for mention in rng.sample(mentions, len(mentions)):
        edits = foil_edits(mention, graph, image, wording, vocabulary, rng)
        found = list(_worded((edit for edit in edits if is_known(edit[0], vocabulary)), wording))
        if len(found) >= count:
            return found
    return []


def _worded(edits: Iterable[Edit], wording: Wording) -> Iterator[HardNegative]:
    """The captions of edited graphs, each once."""
    said = {wording.caption}
    for foil, edited in edits:
        caption = wording.say(edited)
        if caption is not None and caption not in said:
            said.add(caption)
            yield HardNegative(caption, (foil,))


def foil_edits(
    mention: Mention, graph: SceneGraph, image: ImageFacts, wording: Wording, vocabulary: Vocabulary, rng: Random
) -> list[Edit]:
    """Every foil of one atom with the graph that it makes, in random order: a common word comes early more often.

    Its chance is its share of the source's words. The nearest or commonest word each time would make few words stand
    in for all others, and a reader would know a foil by them, without the picture.
    """
    negatives = atom_foils(Parse(wording.caption, graph, (mention,)), image, vocabulary)
    foils = dict.fromkeys(foil for item in negatives for foil in _as_the_source_says(item.foils[0], vocabulary))
    edits = [(foil, replaced(graph, mention, foil.replacement)) for foil in foils]
    usable = [(foil, edited) for foil, edited in edits if edited and not redundant(edited)]
    # Exponential clocks (Efraimidis and Spirakis 2006): the order of draws without replacement, weighted by frequency.
    turns = [rng.expovariate(max(frequency(foil, vocabulary), UNKNOWN)) for foil, _ in usable]
    return [edit for _, edit in sorted(zip(turns, usable, strict=True), key=lambda turn: turn[0])]


def _as_the_source_says(foil: Foil, vocabulary: Vocabulary) -> list[Foil]:
    """A relation in each way that the source puts it: "under" and "below", as its captions do; other foils as is."""
    meant = relations.sense(foil.replacement) if foil.type == "relation" else None
    if meant is None or meant.verb:
        return [foil]
    said = [
        foil._replace(replacement=text)
        for text in vocabulary.predicates
        if relation_key(text) == meant.group and predicate_kind(text) is not None
    ]
    return said or [foil]


def frequency(foil: Foil, vocabulary: Vocabulary) -> int:
    """How often the source uses the foil's word."""
    if foil.type == "relation":
        return vocabulary.predicates.get(foil.replacement, 0)
    return (vocabulary.nouns if foil.type == "object" else vocabulary.attributes).get(foil.replacement, 0)


def is_known(foil: Foil, vocabulary: Vocabulary) -> bool:
    """Whether the source uses the foil's word."""
    if foil.type == "relation":
        return relation_key(foil.replacement) in vocabulary.relations
    return foil.replacement in (vocabulary.nouns if foil.type == "object" else vocabulary.attributes)


def first_mentions(mentions: tuple[Mention, ...]) -> list[Mention]:
    """One mention for each atom node: the first."""
    first: dict[tuple[str, ...], Mention] = {}
    for mention in mentions:
        first.setdefault((mention.kind, mention.text, mention.object, mention.target or ""), mention)
    return list(first.values())


def replaced(graph: SceneGraph, mention: Mention, word: str) -> SceneGraph | None:
    """The graph with one atom replaced; None for a predicate that the grammar has no place for."""
    if mention.kind == "relation":
        predicate = _like(mention.text, word)
        if predicate_kind(predicate) is None:
            return None
        old = Relation(mention.object, mention.text, mention.target or "")
        edges = tuple(replace(edge, predicate=predicate) if edge == old else edge for edge in graph.relations)
        return SceneGraph(graph.objects, edges)
    item = graph.by_id[mention.object]
    if mention.kind == "object":
        new = replace(item, name=word)
    else:
        new = replace(item, attributes=tuple(word if text == mention.text else text for text in item.attributes))
    return SceneGraph(tuple(new if other is item else other for other in graph.objects), graph.relations)


def _like(predicate: str, word: str) -> str:
    """A verb in place of a preposition or participle as a participle: "holding" for "wearing"."""
    if predicate_kind(predicate) == "verb" or predicate_kind(word) != "verb":
        return word
    return verb(word, "VBG")
