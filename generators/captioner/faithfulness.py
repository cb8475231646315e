"""A check that a caption states its whole graph and nothing else.

Source: CREPE (arXiv:2212.07796), appendix A.3, which drops captions that omit an atom. Differences from the paper:
additions are also detected, and the graph is compared with the caption's own scene graph (generators/parser), so that
inflections, synonyms, later references ("the cup") and converse relations are recognised.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from compeval.base.schemas.scene_graph import Mention, Parse, Relation, SceneGraph, SceneObject
from compeval.generators.captioner.misread_relations import Reading
from compeval.generators.graphs.assignments import Constraint, find_assignments
from compeval.generators.graphs.entailment import entails
from compeval.generators.language.lexicon.attributes import may_hold_together
from compeval.generators.language.lexicon.nouns import may_name_same_object

_ELLIPSIS = re.compile(
    r"\b(?:too|as well(?! as)|likewise|each(?! other)|so (?:is|are|does|do|has|have))\b"
)


def is_elliptical(caption: str) -> bool:
    """Return True if a caption states something without its words: "and so is a boy", "left of the cactus too".

    No edit of such a caption names the atom that it replaces, and a parser can only guess the atom.
    """
    return bool(_ELLIPSIS.search(caption))


def align_mentions(parse: Parse, graph: SceneGraph) -> tuple[Mention, ...] | None:
    """Return the caption's mentions with the ids and texts of the graph, or None if the caption is not faithful.

    Raises SearchLimitError if too many objects of the graph may be those of the caption.
    """
    parse = _normalise_parse(parse, graph)
    ids = _align_objects(parse, graph)
    if ids is None:
        return None
    mentions = []
    for mention in (_rename_objects(mention, ids) for mention in parse.mentions):
        item = graph.by_id[mention.object]
        if mention.kind == "object":
            texts = [item.name]
        elif mention.kind == "attribute":
            texts = [text for text in item.attributes if may_hold_together(text, mention.text)]
        else:
            ends = (mention.object, mention.target)
            texts = [
                edge.predicate for edge in graph.relations if (edge.subject, edge.object) == ends
            ]
        mentions += [replace(mention, text=texts[0])] if texts else []
    return tuple(mentions)


def describe_difference(parse: Parse, graph: SceneGraph) -> str:
    """Return the first difference of an unfaithful caption ("omits an object", "adds a relation")."""
    stated = _normalise_parse(parse, graph).graph
    for kind, article in (("object", "an"), ("attribute", "an"), ("relation", "a")):
        expected, stated_counts = (
            Counter(
                atom.text if kind != "relation" else ""
                for atom in scene_graph.atoms
                if atom.kind == kind
            )
            for scene_graph in (graph, stated)
        )
        if expected - stated_counts:
            return f"omits {article} {kind}"
        if stated_counts - expected:
            return f"adds {article} {kind}"
    return "says the atoms of the wrong objects"


def _normalise_parse(parse: Parse, graph: SceneGraph) -> Parse:
    return resolve_references(_split_names(parse, graph))


def resolve_references(parse: Parse) -> Parse:
    """Return the parse with "the cup" resolved to the last matching cup before it."""
    ids: dict[str, str] = {}
    heads = {mention.object: mention for mention in parse.mentions if mention.kind == "object"}
    for item in parse.graph.objects:
        definite = (
            re.search(r"\bthe [\w\s-]*$", parse.caption[: heads[item.id].start])
            if item.id in heads
            else None
        )
        earlier = [
            candidate
            for candidate in parse.graph.objects
            if ids.get(candidate.id) == candidate.id
            and candidate.name == item.name
            and set(item.attributes) <= set(candidate.attributes)
        ]
        ids[item.id] = earlier[-1].id if definite and earlier else item.id
    objects = tuple(item for item in parse.graph.objects if ids[item.id] == item.id)
    edges = dict.fromkeys(
        replace(e, subject=ids[e.subject], object=ids[e.object]) for e in parse.graph.relations
    )
    mentions = tuple(_rename_objects(mention, ids) for mention in parse.mentions)
    return Parse(parse.caption, SceneGraph(objects, tuple(edges)), mentions)


def _rename_objects(mention: Mention, ids: dict[str, str]) -> Mention:
    return replace(
        mention, object=ids[mention.object], target=mention.target and ids[mention.target]
    )


def _split_names(parse: Parse, graph: SceneGraph) -> Parse:
    """Return the parse with "round table" read as a table with the attribute "round", if the graph states this."""
    for item in parse.graph.objects:
        for graph_object in graph.objects:
            texts = item.name.removesuffix(graph_object.name).split()
            if item.name.endswith(f" {graph_object.name}") and set(texts) <= set(
                graph_object.attributes
            ):
                parse = _split_name(parse, item, graph_object.name, texts)
                break
    return parse


def _split_name(parse: Parse, item: SceneObject, name: str, texts: Sequence[str]) -> Parse:
    mentions: list[Mention] = []
    for mention in parse.mentions:
        if (mention.kind, mention.object) == ("object", item.id):
            start = mention.start
            for text in texts:
                mentions.append(Mention("attribute", text, start, start + len(text), "JJ", item.id))
                start += len(text) + 1
            mention = replace(mention, text=name, start=start)
        mentions.append(mention)
    new = replace(item, name=name, attributes=(*texts, *item.attributes))
    objects = tuple(
        new if stated_object is item else stated_object for stated_object in parse.graph.objects
    )
    return Parse(parse.caption, SceneGraph(objects, parse.graph.relations), tuple(mentions))


def _align_objects(parse: Parse, graph: SceneGraph) -> dict[str, str] | None:
    """Return the graph's id of each object in the caption's graph, or None if the two graphs differ.

    All objects and attributes must match. The graph must imply every relation of the caption, except for those that the
    parser may have misread (misread_relations.py). A relation of the graph counts as stated if one with the same
    predicate and one of its ends is: "a cat and a dog are on a table" may be parsed as one relation. Raises
    SearchLimitError if too many objects match.
    """
    stated = parse.graph
    if len(stated.objects) != len(graph.objects):
        return None
    domains = {
        item.id: tuple(other.id for other in graph.objects if _may_be_same_object(item, other))
        for item in stated.objects
    }
    constraints = [
        Constraint(edge.subject, edge.object, partial(_is_implied, graph.relations, edge.predicate))
        for edge in stated.relations
        if edge.predicate != "with"
    ]
    for ids in find_assignments(domains, constraints):
        edges = [
            Relation(ids[edge.subject], edge.predicate, ids[edge.object])
            for edge in stated.relations
        ]
        if _imply(edges, graph.relations) and Reading(parse, graph, ids).is_true():
            return ids
    return None


def _is_implied(edges: Iterable[Relation], predicate: str, subject: str, object: str) -> bool:
    return _imply(edges, [Relation(subject, predicate, object)])


def _imply(edges: Iterable[Relation], conclusions: Iterable[Relation]) -> bool:
    """Return True if each conclusion follows from one of the edges, after at most one of its ends is replaced."""
    edges = list(edges)
    return all(
        any(
            entails([edge], variant)
            for edge in edges
            for variant in (
                conclusion,
                replace(conclusion, subject=edge.subject),
                replace(conclusion, object=edge.object),
            )
        )
        for conclusion in conclusions
    )


def _may_be_same_object(first: SceneObject, second: SceneObject) -> bool:
    return (
        may_name_same_object(first.name, second.name)
        and _all_match(first.attributes, second.attributes)
        and _all_match(second.attributes, first.attributes)
    )


def _all_match(texts: Iterable[str], candidates: Sequence[str]) -> bool:
    return all(
        any(may_hold_together(text, candidate) for candidate in candidates) for text in texts
    )
