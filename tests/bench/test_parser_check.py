"""The parser's check on hand-annotated captions: its counts, its annotations and where they come from."""

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


def facts(objects: str, attributes: set[tuple[str, str]], relations: set[tuple[str, str, str]]) -> GraphFacts:
    return GraphFacts(frozenset(objects.split()), frozenset(attributes), frozenset(relations))


def test_check_counts_atoms_and_compounds() -> None:
    """Two captions by hand.

    "a red cup on a table in a room": the parser gives red to the table and has the room on the table.
      objects 3 of 3; attribute red is right, its pair is wrong; predicates {on} of {on, in}; triples 1 of 2 given.
    "a dog near a tall wooden fence": the parser misses the fence.
      objects 1 of 2; attributes none given, 2 annotated; relations none given, 1 annotated.
    """
    annotated = [
        facts("cup table room", {("cup", "red")}, {("cup", "on", "table"), ("table", "in", "room")}),
        facts("dog fence", {("fence", "tall"), ("fence", "wooden")}, {("dog", "near", "fence")}),
    ]
    parsed = [
        facts("cup table room", {("table", "red")}, {("cup", "on", "table"), ("room", "on", "table")}),
        facts("dog", set(), set()),
    ]
    scores = check(parsed, annotated)
    assert scores == {
        "object": Score(4, 4, 5),
        "attribute": Score(1, 1, 3),  # red | red; red, tall, wooden
        "relationship": Score(1, 1, 3),  # "on" twice is one atom of its caption | on; on, in, near
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


def test_a_relation_of_no_object_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "parser.yaml"
    path.write_text(
        '- {source: web, caption: cup on table, objects: [cup], attributes: [], relations: [[cup, "on", table]]}'
    )
    with pytest.raises(ValueError, match=r"'cup on table': table has .* not among its objects, cup\. Add it to them"):
        read_annotations(path)


def test_sixty_captions_are_annotated_beside_table_3() -> None:
    annotations = read_annotations(ANNOTATIONS)
    assert [item.source for item in annotations] == [source for source in SOURCES for _ in range(20)]
    for item in annotations:  # an unquoted YAML "on" would be True
        names = [thing.name for thing in item.graph.objects]
        assert len(names) == len(set(names)), item.caption
        assert all(isinstance(atom.text, str) for atom in item.graph.atoms), item.caption
    assert {len(figures) for figures in TABLE_3.values()} == {len(KINDS) - 1}  # no pairs in the paper


@pytest.mark.parametrize("source", SOURCES)
def test_the_captions_are_the_drawn_ones(source: str, real_data: Path) -> None:
    """The rule that heads the file: the 20 distinct captions with the least SHA-256 of "0:<caption>"."""
    name, column = SOURCES[source]
    distinct = {text for shard in list_shards(str(real_data / name)) for text in read_captions(shard, column)}
    drawn = sorted(distinct, key=lambda text: sha256(f"0:{text}".encode()).digest())[:20]
    assert [item.caption for item in read_annotations(ANNOTATIONS) if item.source == source] == drawn
