"""The paper's template for captions of four atoms: "tall and blue boy on green grass and a tree".

Source: CREPE (arXiv:2212.07796), appendix A.3: attributes before their objects, then subject, relation and object;
unrelated objects are appended with "and a". Two relations of one pair are coordinated: "cup above and to the left of
table". Negations keep the style: "tall boy that is not blue", "cup not on green table", "green table and no cup".
"""

from __future__ import annotations

from generators.captioner.words import Piece, Words, attribute, copula, determiner, listed, noun, related, words
from generators.graphs.entailment import Negated
from generators.language.grammar import follows_noun, predicate_kind
from generators.schemas.scene_graph import Relation, SceneGraph, SceneObject

SIZE = 4


def supports(graph: SceneGraph) -> bool:
    """True if the template can express the graph: two relations of a pair must both be prepositions."""
    return len(graph.relations) < 2 or all(predicate_kind(edge.predicate) == "preposition" for edge in graph.relations)


def caption(graph: SceneGraph, negated: Negated | None = None) -> Words:
    """Return the caption of a graph whose relations all have the same subject and object.

    The negated part comes last, so that the negation covers no other part.
    """
    if negated and negated.kind == "object":
        denied = (*words("no"), *_noun_phrase(graph.by_id[negated.object], None))
        return (*caption(negated.rest(graph)), Piece("and"), *denied)
    pieces: Words = ()
    for part in sorted(_parts(graph), key=lambda part: negated is not None and negated.object in part):
        item = graph.by_id[part[0]]
        pieces += (*((Piece("and"), *determiner(item)) if pieces else ()), *_phrase(graph, part, negated))
    return pieces


def negate_all(graph: SceneGraph) -> Words:
    """Return the caption that negates the whole graph: "no cup on table and no vase"."""
    return listed([(*words("no"), *_phrase(graph, part, None)) for part in _parts(graph)])


def _parts(graph: SceneGraph) -> list[tuple[str, ...]]:
    """The related pair, subject first, then each other object by itself."""
    pair = (graph.relations[0].subject, graph.relations[0].object) if graph.relations else ()
    single = [(item.id,) for item in graph.objects if item.id not in pair]
    return [pair, *single] if pair else single


def _phrase(graph: SceneGraph, part: tuple[str, ...], negated: Negated | None) -> Words:
    subject = graph.by_id[part[0]]
    if len(part) == 1:
        return _noun_phrase(subject, negated)
    relations = listed([_relation(edge, subject, negated) for edge in graph.relations])
    return (*_noun_phrase(subject, negated), *relations, *_noun_phrase(graph.by_id[part[1]], negated))


def _relation(edge: Relation, subject: SceneObject, negated: Negated | None) -> Words:
    is_negated = negated is not None and negated.relation == edge
    return (*(words("not") if is_negated else ()), related([edge], subject, clause=False))


def _noun_phrase(item: SceneObject, negated: Negated | None) -> Words:
    """ "tall and blue boy", "wall made of bricks", "tall boy that is not blue"."""
    denied = negated.text if negated and negated.kind == "attribute" and negated.object == item.id else None
    before = [(attribute(item, text),) for text in item.attributes if text != denied and not follows_noun(text)]
    after = [attribute(item, text) for text in item.attributes if text != denied and follows_noun(text)]
    negation = (*words(f"that {copula(item)} not"), attribute(item, denied)) if denied else ()
    return (*(listed(before) if before else ()), noun(item), *after, *negation)
