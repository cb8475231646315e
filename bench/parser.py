"""Measure accuracy and speed of the caption parsers: ``python -m bench.parser [DEV_CSV]``.

Two parsers are compared with human scene graphs: the project's rules and, if it is installed, SceneGraphParser from
PyPI. Prints precision and recall of objects, (object, attribute) pairs and (subject, predicate, object) triples. Then
prints the captions per second of both parsers on one core, and their ratio.

The human graphs are in FACTUAL's format (Li et al. 2023): a CSV file with the columns ``caption`` and ``scene_graph``,
where ``( object , is , attribute )`` is an attribute and ``( object )`` an object without relations.

A parse and a human graph are compared as three sets: objects, pairs and triples. Counts are summed over all captions
(micro average). Matches are exact after normalisation: lower case, the last word of an object's name in the singular,
the first word of a predicate in the infinitive, number words as digits.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from generators.parser import lemmas
from generators.parser.caption_parser import CaptionParser
from generators.parser.rule_parser import RuleParser
from generators.parser.sng import SngParser
from generators.schemas.scene_graph import Parse, SceneGraph

KINDS = ("objects", "attributes", "relations")

DEV_CSV = Path(os.environ.get("COMPEVAL_REAL_DATA", ".")) / "factual" / "dev.csv"
"""FACTUAL's development file."""
PUBLISHED_SNG = {"objects": (0.75, 0.75), "attributes": (0.51, 0.42), "relations": (0.38, 0.33)}
"""Precision and recall of SceneGraphParser's GitHub main branch on FACTUAL's 1,508 test captions."""


class GraphFacts(NamedTuple):
    """The normalised facts of a scene graph: names, (name, attribute) and (subject, predicate, object)."""

    objects: frozenset[str]
    attributes: frozenset[tuple[str, str]]
    relations: frozenset[tuple[str, str, str]]


class Score(NamedTuple):
    """Numbers of matching facts, parsed facts and annotated facts."""

    matched: int
    parsed: int
    annotated: int

    @property
    def precision(self) -> float:
        return self.matched / self.parsed if self.parsed else 0.0

    @property
    def recall(self) -> float:
        return self.matched / self.annotated if self.annotated else 0.0


def read_annotation(text: str) -> GraphFacts:
    """Parse a scene graph in FACTUAL's format. Raises ValueError for a fact with two or with more than three parts."""
    objects, attributes, relations = set(), set(), set()
    for fact in re.findall(r"\(([^()]*)\)", text):
        match [part.strip().lower() for part in fact.split(" , ")]:
            case [name]:
                objects.add(_normalise_name(name))
            case [name, "is", value]:
                objects.add(_normalise_name(name))
                attributes.add((_normalise_name(name), _normalise_value(value)))
            case [subject, predicate, target]:
                objects |= {_normalise_name(subject), _normalise_name(target)}
                relations.add((_normalise_name(subject), _normalise_predicate(predicate), _normalise_name(target)))
            case parts:
                raise ValueError(f"scene graph {text!r}: expected 1 or 3 parts in a fact, got {parts}.")
    return GraphFacts(frozenset(objects), frozenset(attributes), frozenset(relations))


def read_graph(graph: SceneGraph) -> GraphFacts:
    """Return the facts of a scene graph."""
    names = {item.id: _normalise_name(item.name) for item in graph.objects}
    return GraphFacts(
        frozenset(names.values()),
        frozenset((names[item.id], _normalise_value(value)) for item in graph.objects for value in item.attributes),
        frozenset(
            (names[edge.subject], _normalise_predicate(edge.predicate), names[edge.object]) for edge in graph.relations
        ),
    )


def score(parsed: Sequence[GraphFacts], annotated: Sequence[GraphFacts]) -> dict[str, Score]:
    """Return the score of each kind of fact, summed over N captions."""
    scores = {}
    for kind in KINDS:
        pairs = [(getattr(ours, kind), getattr(theirs, kind)) for ours, theirs in zip(parsed, annotated, strict=True)]
        scores[kind] = Score(
            sum(len(ours & theirs) for ours, theirs in pairs),
            sum(len(ours) for ours, _ in pairs),
            sum(len(theirs) for _, theirs in pairs),
        )
    return scores


def _normalise_name(text: str) -> str:
    *modifiers, noun = text.split() or [""]
    return " ".join([*modifiers, lemmas.singular(noun)])


def _normalise_predicate(text: str) -> str:
    verb, *following = text.split() or [""]
    return " ".join([lemmas.infinitive(verb), *following])


def _normalise_value(text: str) -> str:
    return " ".join(lemmas.NUMBERS.get(word, word) for word in text.split())


def _measure(parser: CaptionParser, captions: Sequence[str]) -> tuple[list[Parse], float]:
    """Return the parses and the number of captions per second of processor time, after a warm-up."""
    list(parser.parse(captions[:50]))
    start = time.process_time()
    parses = list(parser.parse(captions))
    return parses, len(captions) / (time.process_time() - start)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("annotations", type=Path, metavar="DEV_CSV", nargs="?", default=DEV_CSV, help="human graphs")
    path = arguments.parse_args().annotations
    if not path.is_file():
        arguments.error(
            f"{path}: no such file. Pass the path of FACTUAL's dev.csv or set COMPEVAL_REAL_DATA to the folder of "
            "published files."
        )
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    captions = [row["caption"] for row in rows]
    annotated = [read_annotation(row["scene_graph"]) for row in rows]
    parsers: dict[str, CaptionParser] = {"rules": RuleParser()}
    try:
        parsers["sng"] = SngParser()
    except ImportError as error:
        print(error)
    speed = {}
    print(f"{len(rows)} captions of {path.name}; precision / recall")
    for name, parser in parsers.items():
        parses, speed[name] = _measure(parser, captions)
        scores = score([read_graph(parse.graph) for parse in parses], annotated)
        print(_format_line(name, {kind: (item.precision, item.recall) for kind, item in scores.items()}))
    print(_format_line("sng (published)", PUBLISHED_SNG))
    print(", ".join(f"{name} {rate:.0f} captions/s" for name, rate in speed.items()))
    if "sng" in speed:
        print(f"ratio {speed['rules'] / speed['sng']:.1f}")


def _format_line(name: str, values: dict[str, tuple[float, float]]) -> str:
    return f"{name:16}" + "   ".join(f"{kind} {p:.3f} / {r:.3f}" for kind, (p, r) in values.items())


if __name__ == "__main__":
    main()
