"""Tests of the parser's check on hand-annotated web captions: counts, annotations and sampling."""

from __future__ import annotations

import csv
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from bench.parser import (
    TABLE_3,
    WEB_ANNOTATIONS,
    WEB_KINDS,
    GraphFacts,
    Score,
    read_web_captions,
    score_web_captions,
)
from compeval.base.readers.corpora import Column, list_shards, read_captions

SOURCES: dict[str, tuple[str, Column]] = {
    "cc3m": ("captions/cc3m_validation_8k.tsv", 0),
    "web_alt_text": ("captions/web_alt_text_1k.tsv", "TEXT"),
    "cc12m": ("cc12m/cc12m-train-0000.tar", "caption"),
}


def make_facts(
    objects: str, attributes: set[tuple[str, str]], relations: set[tuple[str, str, str]]
) -> GraphFacts:
    return GraphFacts(frozenset(objects.split()), frozenset(attributes), frozenset(relations))


def test_check_counts_atoms_and_compounds() -> None:
    """Expected counts are derived by hand.

    "a red cup on a table in a room" is parsed as a red table and a room on the table: 3 of 3 objects are right; the
    attribute red is right, but not its pair; predicate "on" is right, "in" is missing; 1 of 2 parsed triples is right.
    "a dog near a tall wooden fence" is parsed without the fence: 1 of 2 objects; 0 of 2 attributes; 0 of 1 relations.
    """
    annotated = [
        make_facts(
            "cup table room", {("cup", "red")}, {("cup", "on", "table"), ("table", "in", "room")}
        ),
        make_facts(
            "dog fence", {("fence", "tall"), ("fence", "wooden")}, {("dog", "near", "fence")}
        ),
    ]
    parsed = [
        make_facts(
            "cup table room", {("table", "red")}, {("cup", "on", "table"), ("room", "on", "table")}
        ),
        make_facts("dog", set(), set()),
    ]
    scores = score_web_captions(parsed, annotated)
    assert scores == {
        "object": Score(4, 4, 5),
        "attribute": Score(1, 1, 3),  # parsed: red; annotated: red, tall, wooden
        "relationship": Score(1, 1, 3),  # parsed: on (twice, counts once); annotated: on, in, near
        "triplet": Score(1, 2, 3),
        "pair": Score(0, 1, 3),
    }
    assert scores["triplet"].precision == 1 / 2
    assert scores["object"].recall == 4 / 5


def test_facts_are_normalised() -> None:
    assert GraphFacts.of(
        ["red cups", "tables"], [("red cups", "two")], [("red cups", "sitting on", "tables")]
    ) == make_facts("table", set(), set())._replace(
        objects=frozenset({"red cup", "table"}),
        attributes=frozenset({("red cup", "2")}),
        relations=frozenset({("red cup", "sit on", "table")}),
    )


def test_sixty_captions_are_annotated() -> None:
    assert [item.source for item in read_web_captions()] == [
        source for source in SOURCES for _ in range(20)
    ]
    for row in yaml.safe_load(WEB_ANNOTATIONS.read_text(encoding="utf-8")):
        names = row["objects"]
        assert len(names) == len(set(names)), row["caption"]
        assert {name for name, _ in row["attributes"]} <= {*names}, row["caption"]
        assert {name for subject, _, target in row["relations"] for name in (subject, target)} <= {
            *names
        }, row["caption"]
        texts = [
            *names,
            *(text for fact in (*row["attributes"], *row["relations"]) for text in fact),
        ]
        # An unquoted YAML "on" would be True.
        assert all(isinstance(text, str) for text in texts), row["caption"]
    # The paper has no pairs.
    assert {len(values) for values in TABLE_3.values()} == {len(WEB_KINDS) - 1}


@pytest.mark.parametrize("source", SOURCES)
def test_annotated_captions_are_the_sampled_captions(source: str, real_data: Path) -> None:
    """The file documents the rule: the 20 distinct captions with the smallest SHA-256 of "0:<caption>".

    Tab-separated files were sampled with their quotes as they are.
    """
    name, column = SOURCES[source]
    if name.endswith(".tsv"):
        with (real_data / name).open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        position = column if isinstance(column, int) else rows[0].index(column)
        distinct = {row[position].strip() for row in rows[isinstance(column, str) :]}
    else:
        distinct = {
            text
            for shard in list_shards(str(real_data / name))
            for text in read_captions(shard, column)
        }
    sampled = sorted(distinct, key=lambda text: sha256(f"0:{text}".encode()).digest())[:20]
    assert [item.caption for item in read_web_captions() if item.source == source] == sampled
