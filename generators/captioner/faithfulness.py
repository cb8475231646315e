"""Does a caption say its graph, the whole of it and no more?

Source: CREPE (arXiv:2212.07796), appendix A.3, which drops captions that omit an atom. Differs from it in: what is
added counts too, and the caption's own scene graph (generators/parser/caption_parser.py) decides, so that inflections,
synonyms, later references ("the cup") and relations said the other way round are understood.
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


def merged(parse: Parse) -> Parse:
    """The parse with "the cup" taken for the last cup before it that it may be."""
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
    relations = dict.fromkeys(
        Relation(ids[edge.subject], edge.predicate, ids[edge.object]) for edge in parse.graph.relations
    )
    mentions = tuple(
        replace(mention, object=ids[mention.object], target=mention.target and ids[mention.target])
        for mention in parse.mentions
    )
    return Parse(parse.caption, SceneGraph(objects, tuple(relations)), mentions)


def split_names(parse: Parse, graph: SceneGraph) -> Parse:
    """The parse with "round table" read as a table that is round, where the graph has it so."""
    found = parse
    for item in parse.graph.objects:
        for other in graph.objects:
            texts = item.name.removesuffix(other.name).split()
            if item.name.endswith(f" {other.name}") and set(texts) <= set(other.attributes):
                found = _split(found, item, other.name, texts)
                break
    return found


def _split(parse: Parse, item: SceneObject, name: str, texts: Sequence[str]) -> Parse:
    mentions: list[Mention] = []
    for mention in parse.mentions:
        if (mention.kind, mention.object) != ("object", item.id):
            mentions.append(mention)
            continue
        at = mention.start
        for text in texts:
            mentions.append(Mention("attribute", text, at, at + len(text), "JJ", item.id))
            at += len(text) + 1
        mentions.append(replace(mention, text=name, start=at))
    new = replace(item, name=name, attributes=(*texts, *item.attributes))
    objects = tuple(new if other is item else other for other in parse.graph.objects)
    return Parse(parse.caption, SceneGraph(objects, parse.graph.relations), tuple(mentions))


def alignment(said: SceneGraph, graph: SceneGraph) -> dict[str, str] | None:
    """Which object of the graph each object of a caption is, where both say the same; else None.

    Objects and attributes must agree. Of a relation the predicate and one end must: where a phrase attaches is where
    the parser errs, and no caption that exchanges the ends passes.
    """
    if len(said.objects) != len(graph.objects):
        return None
    for order in permutations(graph.objects):
        pairs = list(zip(said.objects, order, strict=True))
        if all(_same_object(one, other) for one, other in pairs):
            ids = {one.id: other.id for one, other in pairs}
            edges = [Relation(ids[edge.subject], edge.predicate, ids[edge.object]) for edge in said.relations]
            if _cover(graph.relations, [edge for edge in edges if edge.predicate != "with"]) and _cover(
                edges, graph.relations
            ):
                return ids
    return None


def _cover(known: Iterable[Relation], claims: Iterable[Relation]) -> bool:
    """Whether each claim, perhaps with one of its ends changed, follows from a known relation."""
    known = list(known)
    return all(
        any(
            entails([edge], claim)
            or entails([edge], replace(claim, subject=edge.subject))
            or entails([edge], replace(claim, object=edge.object))
            for edge in known
        )
        for claim in claims
    )


def _same_object(one: SceneObject, other: SceneObject) -> bool:
    return (
        may_name_the_same(one.name, other.name)
        and _covered(one.attributes, other.attributes)
        and _covered(other.attributes, one.attributes)
    )


def _covered(texts: Iterable[str], by: Sequence[str]) -> bool:
    return all(any(may_mean_the_same(text, other) for other in by) for text in texts)


def difference(said: SceneGraph, graph: SceneGraph) -> str:
    """The first way in which a caption is unfaithful: "omits an object", "adds a relation", ..."""
    for kind, article in (("object", "an"), ("attribute", "an"), ("relation", "a")):
        ours = Counter(_kinds(graph, kind))
        theirs = Counter(_kinds(said, kind))
        if ours - theirs:
            return f"omits {article} {kind}"
        if theirs - ours:
            return f"adds {article} {kind}"
    return "says the atoms of the wrong objects"


def _kinds(graph: SceneGraph, kind: str) -> list[str]:
    return [atom.text if kind != "relation" else "" for atom in graph.atoms if atom.kind == kind]
