"""Does a caption state its whole graph, and nothing else?

Source: CREPE (arXiv:2212.07796), appendix A.3, which drops captions that omit an atom. Differs from it in: additions
count too, and the comparison is with the caption's own scene graph (generators/parser), so that inflections, synonyms,
later references ("the cup") and inverse relations are recognised.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import permutations

from generators.graphs.entailment import entails
from generators.language.lexicon.attributes import may_mean_the_same
from generators.language.lexicon.nouns import may_name_the_same
from generators.schemas.scene_graph import Mention, Parse, Relation, SceneGraph, SceneObject


def aligned(parse: Parse, graph: SceneGraph) -> tuple[Mention, ...] | None:
    """Return the caption's mentions with the ids and texts of the graph, or None for an unfaithful caption."""
    parse = _normalised(parse, graph)
    ids = _alignment(parse.graph, graph)
    if ids is None:
        return None
    mentions = []
    for mention in (_renamed(mention, ids) for mention in parse.mentions):
        item = graph.by_id[mention.object]
        if mention.kind == "object":
            texts = [item.name]
        elif mention.kind == "attribute":
            texts = [text for text in item.attributes if may_mean_the_same(text, mention.text)]
        else:
            ends = (mention.object, mention.target)
            texts = [edge.predicate for edge in graph.relations if (edge.subject, edge.object) == ends]
        mentions += [replace(mention, text=texts[0])] if texts else []
    return tuple(mentions)


def difference(parse: Parse, graph: SceneGraph) -> str:
    """Return the first difference of an unfaithful caption: "omits an object", "adds a relation", ..."""
    stated = _normalised(parse, graph).graph
    for kind, article in (("object", "an"), ("attribute", "an"), ("relation", "a")):
        expected, stated_counts = (
            Counter(atom.text if kind != "relation" else "" for atom in one.atoms if atom.kind == kind)
            for one in (graph, stated)
        )
        if expected - stated_counts:
            return f"omits {article} {kind}"
        if stated_counts - expected:
            return f"adds {article} {kind}"
    return "says the atoms of the wrong objects"


def _normalised(parse: Parse, graph: SceneGraph) -> Parse:
    return _with_references(_with_split_names(parse, graph))


def _with_references(parse: Parse) -> Parse:
    """The parse with "the cup" resolved to the last cup before it that matches."""
    ids: dict[str, str] = {}
    heads = {mention.object: mention for mention in parse.mentions if mention.kind == "object"}
    for item in parse.graph.objects:
        definite = re.search(r"\bthe [\w\s-]*$", parse.caption[: heads[item.id].start]) if item.id in heads else None
        earlier = [
            other
            for other in parse.graph.objects
            if ids.get(other.id) == other.id
            and other.name == item.name
            and set(item.attributes) <= set(other.attributes)
        ]
        ids[item.id] = earlier[-1].id if definite and earlier else item.id
    objects = tuple(item for item in parse.graph.objects if ids[item.id] == item.id)
    edges = dict.fromkeys(replace(e, subject=ids[e.subject], object=ids[e.object]) for e in parse.graph.relations)
    mentions = tuple(_renamed(mention, ids) for mention in parse.mentions)
    return Parse(parse.caption, SceneGraph(objects, tuple(edges)), mentions)


def _renamed(mention: Mention, ids: dict[str, str]) -> Mention:
    return replace(mention, object=ids[mention.object], target=mention.target and ids[mention.target])


def _with_split_names(parse: Parse, graph: SceneGraph) -> Parse:
    """The parse with "round table" read as a table that is round, if the graph has it so."""
    for item in parse.graph.objects:
        for other in graph.objects:
            texts = item.name.removesuffix(other.name).split()
            if item.name.endswith(f" {other.name}") and set(texts) <= set(other.attributes):
                parse = _split(parse, item, other.name, texts)
                break
    return parse


def _split(parse: Parse, item: SceneObject, name: str, texts: Sequence[str]) -> Parse:
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
    objects = tuple(new if other is item else other for other in parse.graph.objects)
    return Parse(parse.caption, SceneGraph(objects, parse.graph.relations), tuple(mentions))


def _alignment(stated: SceneGraph, graph: SceneGraph) -> dict[str, str] | None:
    """The graph's id for each object of a caption's graph if both state the same, else None.

    Objects and attributes must match. Of a relation, the predicate and one end must match: attachment is the parser's
    most frequent error, and no caption with exchanged ends passes.
    """
    if len(stated.objects) != len(graph.objects):
        return None
    for order in permutations(graph.objects):
        pairs = list(zip(stated.objects, order, strict=True))
        if all(_same_object(one, other) for one, other in pairs):
            ids = {one.id: other.id for one, other in pairs}
            edges = [Relation(ids[edge.subject], edge.predicate, ids[edge.object]) for edge in stated.relations]
            required = [edge for edge in edges if edge.predicate != "with"]
            if _imply(graph.relations, required) and _imply(edges, graph.relations):
                return ids
    return None


def _imply(edges: Iterable[Relation], others: Iterable[Relation]) -> bool:
    """True if each of the others, with at most one of its ends changed, follows from one of the edges."""
    edges = list(edges)
    return all(
        any(
            entails([edge], variant)
            for edge in edges
            for variant in (other, replace(other, subject=edge.subject), replace(other, object=edge.object))
        )
        for other in others
    )


def _same_object(one: SceneObject, other: SceneObject) -> bool:
    return (
        may_name_the_same(one.name, other.name)
        and _covered(one.attributes, other.attributes)
        and _covered(other.attributes, one.attributes)
    )


def _covered(texts: Iterable[str], by: Sequence[str]) -> bool:
    return all(any(may_mean_the_same(text, other) for other in by) for text in texts)
