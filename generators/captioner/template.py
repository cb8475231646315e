"""The paper's template for captions of four atoms: "tall and blue boy on green grass and a tree".

Source: CREPE (arXiv:2212.07796), appendix A.3. Attributes precede their objects; subject, relation and object follow
each other; unrelated objects are appended with "and a". Two relations of one pair are joined: "cup above and to the
left of table". Negations keep the style: "tall boy that is not blue", "cup not on green table", "green table and no
cup", "cup that is not red and not on green table".
Difference from the paper: after a relation, a comma replaces "and" before "no", because "boy holding violin and no
crown" could mean that the boy holds no crown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from compeval.base.schemas.scene_graph import Relation, SceneGraph, SceneObject
from compeval.generators.captioner.words import (
    Piece,
    Words,
    attribute_piece,
    choose_copula,
    choose_determiner,
    join_with_and,
    noun_piece,
    to_pieces,
    write_predicate,
)
from compeval.generators.graphs.entailment import Negated, remove_atoms
from compeval.generators.language.grammar import follows_noun, predicate_kind

COMPLEXITY = 4
"""Number of atoms of the captions that are written with the template."""


def can_express(graph: SceneGraph) -> bool:
    """Return True if the template can express the graph: two relations of a pair must both be prepositions."""
    return len(graph.relations) < 2 or all(
        predicate_kind(edge.predicate) == "preposition" for edge in graph.relations
    )


def write_caption(graph: SceneGraph, negated: Sequence[Negated] = ()) -> Words:
    """Return the caption of a graph whose relations all have the same subject and object.

    Negated parts come last, so that the negation does not apply to the other parts.
    """
    objects = [atom for atom in negated if atom.kind == "object"]
    rest = remove_atoms(graph, objects)
    pieces = ()
    negated_ids = {atom.object for atom in negated}
    for part in sorted(_split_parts(rest), key=lambda part: not negated_ids.isdisjoint(part)):
        item = graph.by_id[part[0]]
        pieces += (
            *((Piece("and"), *choose_determiner(item)) if pieces else ()),
            *_write_part(rest, part, negated),
        )
    for atom in objects:
        joint = to_pieces(", no" if rest.relations else "and no")
        pieces += (*joint, *_write_noun_phrase(graph.by_id[atom.object], ()))
    return pieces


def write_published(graph: SceneGraph) -> Words:
    """Return the caption of any graph in the style of the published files: "cup on table. there is a vase.".

    Subject, relation and object of each relation are strung together to a sentence, and each unrelated object has one:
    "there is a end table", whatever its sound and number, in 1,191 of 1,258 captions. Of several objects with one name,
    all but the first are "another". Attributes are before the first mention of their object.
    """
    sentences: list[Words] = []
    phrases = _Phrases(graph)
    for edge in graph.relations:
        subject = phrases.write(edge.subject)
        predicate = write_predicate([edge], graph.by_id[edge.subject], clause=False)._replace(
            text=edge.predicate
        )
        sentences.append((*subject, predicate, *phrases.write(edge.object)))
    for item in graph.objects:
        if item.id not in phrases.named:
            article = () if item.id in phrases.others else (Piece("a"),)
            sentences.append((*to_pieces("there is"), *article, *phrases.write(item.id)))
    return tuple(chain.from_iterable((*sentence, Piece(".")) for sentence in sentences))


class _Phrases:
    """Writes the noun phrases of a published caption. ``others`` are the objects that are named "another"."""

    def __init__(self, graph: SceneGraph) -> None:
        self.graph = graph
        first = {item.name: item.id for item in reversed(graph.objects)}
        self.others = {item.id for item in graph.objects if first[item.name] != item.id}
        self.named: set[str] = set()

    def write(self, key: str) -> Words:
        item = self.graph.by_id[key]
        phrase = _write_noun_phrase(replace(item, attributes=()) if key in self.named else item, ())
        self.named.add(key)
        return (Piece("another"), *phrase) if key in self.others else phrase


def negate_all(graph: SceneGraph) -> Words:
    """Return the caption that negates the whole graph: "no cup on table, no vase"."""
    parts = [(Piece("no"), *_write_part(graph, part, ())) for part in _split_parts(graph)]
    return join_with_and(parts, last="," if graph.relations else "and")


def _split_parts(graph: SceneGraph) -> list[tuple[str, ...]]:
    """Return the ids of the related pair, subject first, then the id of each other object."""
    pair = (graph.relations[0].subject, graph.relations[0].object) if graph.relations else ()
    single = [(item.id,) for item in graph.objects if item.id not in pair]
    return [pair, *single] if pair else single


def _write_part(graph: SceneGraph, part: tuple[str, ...], negated: Sequence[Negated]) -> Words:
    subject = graph.by_id[part[0]]
    if len(part) == 1:
        return _write_noun_phrase(subject, negated)
    relations = join_with_and([_write_relation(edge, subject, negated) for edge in graph.relations])
    if _find_denied(subject, negated) and relations[0].text == "not":
        relations = (Piece("and"), *relations)
    return (
        *_write_noun_phrase(subject, negated),
        *relations,
        *_write_noun_phrase(graph.by_id[part[1]], negated),
    )


def _write_relation(edge: Relation, subject: SceneObject, negated: Sequence[Negated]) -> Words:
    is_negated = any(atom.relation == edge for atom in negated)
    return (
        *(to_pieces("not") if is_negated else ()),
        write_predicate([edge], subject, clause=False),
    )


def _find_denied(item: SceneObject, negated: Sequence[Negated]) -> list[str]:
    """Return the negated attributes of an object."""
    return [atom.text for atom in negated if atom.kind == "attribute" and atom.object == item.id]


def _write_noun_phrase(item: SceneObject, negated: Sequence[Negated]) -> Words:
    """Return a noun phrase such as "tall and blue boy", "wall made of bricks" or "tall boy that is not blue"."""
    denied = _find_denied(item, negated)
    before = [
        (attribute_piece(item, text),)
        for text in item.attributes
        if text not in denied and not follows_noun(text)
    ]
    after = [
        attribute_piece(item, text)
        for text in item.attributes
        if text not in denied and follows_noun(text)
    ]
    pieces = (*(join_with_and(before) if before else ()), noun_piece(item), *after)
    if denied:
        denials = join_with_and([(Piece("not"), attribute_piece(item, text)) for text in denied])
        pieces += (*to_pieces(f"that {choose_copula(item)}"), *denials)
    return pieces
