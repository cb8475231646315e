"""The paper's template for captions of four atoms: "tall and blue boy on green grass and a tree".

Source: CREPE (arXiv:2212.07796), appendix A.3: attributes before their objects, then subject, relation and object in
order; what is not connected is appended with "and a".
Where two relations join the same objects they are coordinated:
"cup above and to the left of table". Denials keep the style: "tall boy that is not blue", "cup not on green table",
"green table and no cup".
"""

from __future__ import annotations

from generators.captioner.words import Piece, Words, attribute, copula, determiner, listed, noun, related, words
from generators.graphs.entailment import Negated
from generators.language.grammar import follows_noun, predicate_kind
from generators.schemas.scene_graph import Relation, SceneGraph, SceneObject

SIZE = 4


def fits(graph: SceneGraph) -> bool:
    """Whether the template can say the graph: two relations of a pair must both be prepositions."""
    return len(graph.relations) < 2 or all(predicate_kind(edge.predicate) == "preposition" for edge in graph.relations)


def caption(graph: SceneGraph, negated: Negated | None = None) -> Words:
    """The caption of a graph whose relations, if any, all join the same two objects in one direction.

    What is denied comes last, so that the denial covers no other part.
    """
    if negated and negated.kind == "object":
        denied = (*words("no"), *_named(graph.by_id[negated.object], None))
        return (*_caption(negated.rest(graph), None), Piece("and"), *denied)
    return _caption(graph, negated)


def _caption(graph: SceneGraph, negated: Negated | None) -> Words:
    parts = sorted(_parts(graph), key=lambda part: negated is not None and negated.object in part)
    pieces: Words = ()
    for part in parts:
        item = graph.by_id[part[0]]
        pieces += (*((Piece("and"), *determiner(item)) if pieces else ()), *_phrase(graph, part, negated))
    return pieces


def denial(graph: SceneGraph) -> Words:
    """The caption that denies all of the graph: "no cup on table and no vase"."""
    return listed([(*words("no"), *_phrase(graph, part, None)) for part in _parts(graph)])


def _parts(graph: SceneGraph) -> list[tuple[str, ...]]:
    """The related pair, subject first, then each other object by itself."""
    pair = (graph.relations[0].subject, graph.relations[0].object) if graph.relations else ()
    single = [(item.id,) for item in graph.objects if item.id not in pair]
    return [pair, *single] if pair else single


def _phrase(graph: SceneGraph, part: tuple[str, ...], negated: Negated | None) -> Words:
    subject = graph.by_id[part[0]]
    if len(part) == 1:
        return _named(subject, negated)
    relations = listed([_relation(edge, subject, negated) for edge in graph.relations])
    return (*_named(subject, negated), *relations, *_named(graph.by_id[part[1]], negated))


def _relation(edge: Relation, subject: SceneObject, negated: Negated | None) -> Words:
    denied = negated is not None and negated.relation == edge
    return (*(words("not") if denied else ()), related([edge], subject, clause=False))


def _named(item: SceneObject, negated: Negated | None) -> Words:
    """ "tall and blue boy", "wall made of bricks", "tall boy that is not blue"."""
    denied = negated.text if negated and negated.kind == "attribute" and negated.object == item.id else None
    before = [(attribute(item, text),) for text in item.attributes if text != denied and not follows_noun(text)]
    after = [attribute(item, text) for text in item.attributes if text != denied and follows_noun(text)]
    denial = (*words(f"that {copula(item)} not"), attribute(item, denied)) if denied else ()
    return (*(listed(before) if before else ()), noun(item), *after, *denial)
