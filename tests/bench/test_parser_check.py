"""Tests of the parser's check on hand-annotated captions: counts, annotations and sampling."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from bench.parser import GraphFacts, Score
from bench.parser_check import ANNOTATIONS, KINDS, TABLE_3, check, read_annotations
from generators.readers.corpora import Column, list_shards, read_captions
from generators.schemas.scene_graph import Relation, SceneGraph, SceneObject

SOURCES: dict[str, tuple[str, Column]] = {
    "cc3m": ("captions/cc3m_validation_8k.tsv", 0),
    "web_alt_text": ("captions/web_alt_text_1k.tsv", "TEXT"),
    "cc12m": ("cc12m/cc12m-train-0000.tar", "caption"),
}


def make_facts(objects: str, attributes: set[tuple[str, str]], relations: set[tuple[str, str, str]]) -> GraphFacts:
    return GraphFacts(frozenset(objects.split()), frozenset(attributes), frozenset(relations))


def test_check_counts_atoms_and_compounds() -> None:
    """Expected counts are derived by hand.

    "a red cup on a table in a room" is parsed as a red table and a room on the table: 3 of 3 objects are right; the
    attribute red is right, but not its pair; predicate "on" is right, "in" is missing; 1 of 2 parsed triples is right.
    "a dog near a tall wooden fence" is parsed without the fence: 1 of 2 objects; 0 of 2 attributes; 0 of 1 relations.
    """
    annotated = [
        make_facts("cup table room", {("cup", "red")}, {("cup", "on", "table"), ("table", "in", "room")}),
        make_facts("dog fence", {("fence", "tall"), ("fence", "wooden")}, {("dog", "near", "fence")}),
    ]
    parsed = [
        make_facts("cup table room", {("table", "red")}, {("cup", "on", "table"), ("room", "on", "table")}),
        make_facts("dog", set(), set()),
    ]
    scores = check(parsed, annotated)
    assert scores == {
        "object": Score(4, 4, 5),
        "attribute": Score(1, 1, 3),  # parsed: red; annotated: red, tall, wooden
        "relationship": Score(1, 1, 3),  # parsed: on (twice, counts once); annotated: on, in, near
        "triplet": Score(1, 2, 3),
        "pair": Score(0, 1, 3),
    }
    assert scores["triplet"].precision == 1 / 2
    assert scores["object"].recall == 4 / 5


def test_annotations_are_read_as_graphs(tmp_path: Path) -> None:
    path = tmp_path / "parser.yaml"
    path.write_text(
        "- source: web\n  caption: a red cup on a table\n  objects: [cup, table]\n"
        '  attributes: [[cup, red]]\n  relations: [[cup, "on", table]]\n'
    )
    [annotation] = read_annotations(path)
    assert annotation == (
        "web",
        "a red cup on a table",
        SceneGraph(
            (SceneObject("cup", "cup", ("red",)), SceneObject("table", "table")), (Relation("cup", "on", "table"),)
        ),
    )


def test_error_for_a_relation_with_an_unknown_object(tmp_path: Path) -> None:
    path = tmp_path / "parser.yaml"
    path.write_text(
        '- {source: web, caption: cup on table, objects: [cup], attributes: [], relations: [[cup, "on", table]]}'
    )
    with pytest.raises(ValueError, match=r"'cup on table': table has .* not in its list of objects \(cup\)\. Add it"):
        read_annotations(path)


def test_sixty_captions_are_annotated() -> None:
    annotations = read_annotations(ANNOTATIONS)
    assert [item.source for item in annotations] == [source for source in SOURCES for _ in range(20)]
    for item in annotations:  # an unquoted YAML "on" would be True
        names = [scene_object.name for scene_object in item.graph.objects]
        assert len(names) == len(set(names)), item.caption
        assert all(isinstance(atom.text, str) for atom in item.graph.atoms), item.caption
    assert {len(values) for values in TABLE_3.values()} == {len(KINDS) - 1}  # the paper has no pairs


@pytest.mark.parametrize("source", SOURCES)
def test_annotated_captions_are_the_sampled_captions(source: str, real_data: Path) -> None:
    """The file documents the rule: the 20 distinct captions with the smallest SHA-256 of "0:<caption>"."""
    name, column = SOURCES[source]
    distinct = {text for shard in list_shards(str(real_data / name)) for text in read_captions(shard, column)}
    sampled = sorted(distinct, key=lambda text: sha256(f"0:{text}".encode()).digest())[:20]
    assert [item.caption for item in read_annotations(ANNOTATIONS) if item.source == source] == sampled
