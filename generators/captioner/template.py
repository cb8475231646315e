"""The paper's template for captions of four atoms: "tall and blue boy on green grass and a tree".

Source: CREPE (arXiv:2212.07796), appendix A.3. Attributes precede their objects; subject, relation and object follow
each other; unrelated objects are appended with "and a". Two relations of one pair are joined: "cup above and to the
left of table". Negations keep the style: "tall boy that is not blue", "cup not on green table", "green table and no
cup".
"""

from __future__ import annotations

from generators.captioner.words import (
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
from generators.graphs.entailment import Negated
from generators.language.grammar import follows_noun, predicate_kind
from generators.schemas.scene_graph import Relation, SceneGraph, SceneObject

COMPLEXITY = 4
"""Number of atoms of the captions that are written with the template."""


def can_express(graph: SceneGraph) -> bool:
    """Return True if the template can express the graph: two relations of a pair must both be prepositions."""
    return len(graph.relations) < 2 or all(predicate_kind(edge.predicate) == "preposition" for edge in graph.relations)


def write_caption(graph: SceneGraph, negated: Negated | None = None) -> Words:
    """Return the caption of a graph whose relations all have the same subject and object.

    The negated part comes last, so that the negation does not apply to the other parts.
    """
    if negated and negated.kind == "object":
        denied = (*to_pieces("no"), *_write_noun_phrase(graph.by_id[negated.object], None))
        return (*write_caption(negated.remove_from(graph)), Piece("and"), *denied)
    pieces: Words = ()
    for part in sorted(_split_parts(graph), key=lambda part: negated is not None and negated.object in part):
        item = graph.by_id[part[0]]
        pieces += (*((Piece("and"), *choose_determiner(item)) if pieces else ()), *_write_part(graph, part, negated))
    return pieces


def negate_all(graph: SceneGraph) -> Words:
    """Return the caption that negates the whole graph: "no cup on table and no vase"."""
    return join_with_and([(*to_pieces("no"), *_write_part(graph, part, None)) for part in _split_parts(graph)])


def _split_parts(graph: SceneGraph) -> list[tuple[str, ...]]:
    """Return the ids of the related pair, subject first, then the id of each other object."""
    pair = (graph.relations[0].subject, graph.relations[0].object) if graph.relations else ()
    single = [(item.id,) for item in graph.objects if item.id not in pair]
    return [pair, *single] if pair else single


def _write_part(graph: SceneGraph, part: tuple[str, ...], negated: Negated | None) -> Words:
    subject = graph.by_id[part[0]]
    if len(part) == 1:
        return _write_noun_phrase(subject, negated)
    relations = join_with_and([_write_relation(edge, subject, negated) for edge in graph.relations])
    return (*_write_noun_phrase(subject, negated), *relations, *_write_noun_phrase(graph.by_id[part[1]], negated))


def _write_relation(edge: Relation, subject: SceneObject, negated: Negated | None) -> Words:
    is_negated = negated is not None and negated.relation == edge
    return (*(to_pieces("not") if is_negated else ()), write_predicate([edge], subject, clause=False))


def _write_noun_phrase(item: SceneObject, negated: Negated | None) -> Words:
    """Return a noun phrase such as "tall and blue boy", "wall made of bricks" or "tall boy that is not blue"."""
    denied = negated.text if negated and negated.kind == "attribute" and negated.object == item.id else None
    before = [(attribute_piece(item, text),) for text in item.attributes if text != denied and not follows_noun(text)]
    after = [attribute_piece(item, text) for text in item.attributes if text != denied and follows_noun(text)]
    negation = (*to_pieces(f"that {choose_copula(item)} not"), attribute_piece(item, denied)) if denied else ()
    return (*(join_with_and(before) if before else ()), noun_piece(item), *after, *negation)
