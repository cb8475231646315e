"""Measure accuracy and speed of the caption parsers: ``python -m bench.parser [DEV_CSV]``.

Two parsers are compared with human scene graphs: the project's rules and, if it is installed, SceneGraphParser from
PyPI. Prints precision and recall of objects, (object, attribute) pairs and (subject, predicate, object) triples. Then
prints the captions per second of both parsers on one core, and their ratio.

The human graphs are in FACTUAL's format (Li et al. 2023): a CSV file with the columns ``caption`` and ``scene_graph``,
where ``( object , is , attribute )`` is an attribute and ``( object )`` an object without relations.

A parse and a human graph are compared as three sets: objects, pairs and triples. Counts are summed over all captions
(micro average). Matches are exact after normalisation: lower case, the last word of an object's name in the singular,
the first word of a predicate in the infinitive, number words as digits.

Before that, CREPE's check of its parser is repeated (arXiv:2212.07796, appendix A.2 and Table 3): precision and recall
of object, attribute and relationship atoms and of triplets on 20 hand-annotated captions of each of three corpora
(sample/annotations/parser.yaml). Differences from the paper: Conceptual Captions and raw alt texts replace YFCC and
LAION, and pairs are counted, too. The paper does not define when two facts match and how captions are averaged.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from compeval.base.schemas.scene_graph import Parse, SceneGraph
from compeval.generators.parser import lemmas
from compeval.generators.parser.caption_parser import CaptionParser
from compeval.generators.parser.rule_parser import RuleParser
from compeval.generators.parser.sng import SngParser

DEV_CSV = Path(os.environ.get("COMPEVAL_REAL_DATA", ".")) / "factual" / "dev.csv"
"""FACTUAL's development file."""
PUBLISHED_SNG = {"objects": (0.75, 0.75), "attributes": (0.51, 0.42), "relations": (0.38, 0.33)}
"""Precision and recall of SceneGraphParser's GitHub main branch on FACTUAL's 1,508 test captions."""

WEB_ANNOTATIONS = Path(__file__).parents[1] / "sample" / "annotations" / "parser.yaml"
WEB_KINDS = ("object", "attribute", "relationship", "triplet", "pair")
TABLE_3 = {
    "CC-12M": ((0.8814, 0.8306), (0.9300, 0.5651), (0.9286, 0.7018), (0.9167, 0.6404)),
    "YFCC-15M": ((0.9624, 0.9333), (0.9444, 0.7556), (0.9359, 0.8333), (0.9231, 0.8111)),
    "LAION-400M": ((0.6991, 0.6068), (0.7222, 0.3611), (0.8833, 0.4015), (0.8700, 0.3955)),
}
"""CREPE's precision and recall of the first four :data:`WEB_KINDS`."""


class GraphFacts(NamedTuple):
    """The normalised facts of a scene graph: names, (name, attribute) and (subject, predicate, object)."""

    objects: frozenset[str]
    attributes: frozenset[tuple[str, str]]
    relations: frozenset[tuple[str, str, str]]

    @classmethod
    def of(
        cls, names: Iterable[str], pairs: Iterable[Sequence[str]], triples: Iterable[Sequence[str]]
    ) -> GraphFacts:
        """Normalise facts."""
        return cls(
            frozenset(map(_normalise_name, names)),
            frozenset((_normalise_name(name), _normalise_value(value)) for name, value in pairs),
            frozenset(
                (_normalise_name(subject), _normalise_predicate(predicate), _normalise_name(target))
                for subject, predicate, target in triples
            ),
        )

    def detach_atoms(self) -> GraphFacts:
        """Return the facts with attributes and predicates detached from their objects."""
        attributes = frozenset(("", value) for _, value in self.attributes)
        return GraphFacts(
            self.objects,
            attributes,
            frozenset(("", predicate, "") for _, predicate, _ in self.relations),
        )


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


class WebCaption(NamedTuple):
    """A hand-annotated caption and the corpus that it is from."""

    source: str
    caption: str
    facts: GraphFacts


def read_annotation(text: str) -> GraphFacts:
    """Parse a scene graph in FACTUAL's format. Raises ValueError for a fact with two or with more than three parts."""
    names = []
    pairs = []
    triples = []
    for fact in re.findall(r"\(([^()]*)\)", text):
        parts = [part.strip().lower() for part in fact.split(" , ")]
        match parts:
            case [_]:
                names += parts
            case [name, "is", value]:
                names.append(name)
                pairs.append((name, value))
            case [subject, _, target]:
                names += [subject, target]
                triples.append(parts)
            case _:
                raise ValueError(
                    f"scene graph {text!r}: expected 1 or 3 parts in a fact, got {parts}."
                )
    return GraphFacts.of(names, pairs, triples)


def read_graph(graph: SceneGraph) -> GraphFacts:
    """Return the facts of a scene graph."""
    names = {item.id: item.name for item in graph.objects}
    pairs = [(item.name, value) for item in graph.objects for value in item.attributes]
    triples = [
        (names[edge.subject], edge.predicate, names[edge.object]) for edge in graph.relations
    ]
    return GraphFacts.of(names.values(), pairs, triples)


def read_web_captions() -> list[WebCaption]:
    """Read the hand-annotated captions of sample/annotations/parser.yaml, which documents how they were made."""
    return [
        WebCaption(
            row["source"],
            row["caption"],
            GraphFacts.of(row["objects"], row["attributes"], row["relations"]),
        )
        for row in yaml.safe_load(WEB_ANNOTATIONS.read_text(encoding="utf-8"))
    ]


def score(parsed: Sequence[GraphFacts], annotated: Sequence[GraphFacts]) -> dict[str, Score]:
    """Return the score of each kind of fact, summed over N captions."""
    scores = {}
    for kind in GraphFacts._fields:
        pairs = [
            (getattr(ours, kind), getattr(theirs, kind))
            for ours, theirs in zip(parsed, annotated, strict=True)
        ]
        scores[kind] = Score(
            sum(len(ours & theirs) for ours, theirs in pairs),
            sum(len(ours) for ours, _ in pairs),
            sum(len(theirs) for _, theirs in pairs),
        )
    return scores


def score_web_captions(
    parsed: Sequence[GraphFacts], annotated: Sequence[GraphFacts]
) -> dict[str, Score]:
    """Return the score of each of :data:`WEB_KINDS`. An atom counts once per caption."""
    atoms = score(
        [facts.detach_atoms() for facts in parsed], [facts.detach_atoms() for facts in annotated]
    )
    compounds = score(parsed, annotated)
    return dict(
        zip(
            WEB_KINDS,
            (*atoms.values(), compounds["relations"], compounds["attributes"]),
            strict=True,
        )
    )


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


def check_web_captions(parser: CaptionParser) -> None:
    """Print the scores on the hand-annotated web captions, next to the paper's."""
    captions = read_web_captions()
    parsed = [read_graph(parse.graph) for parse in parser.parse(item.caption for item in captions)]
    print(
        f"{len(captions)} hand-annotated web captions; precision / recall (number of annotated facts)"
    )
    for source in (*dict.fromkeys(item.source for item in captions), "all"):
        pairs = [
            (ours, item.facts)
            for ours, item in zip(parsed, captions, strict=True)
            if source in (item.source, "all")
        ]
        scores = score_web_captions(*zip(*pairs, strict=True))
        print(
            _format_line(
                source,
                {f"{kind} ({s.annotated})": (s.precision, s.recall) for kind, s in scores.items()},
            )
        )
    for corpus, values in TABLE_3.items():
        print(_format_line(f"{corpus} (paper)", dict(zip(WEB_KINDS, values, strict=False))))


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument(
        "annotations", type=Path, metavar="DEV_CSV", nargs="?", default=DEV_CSV, help="human graphs"
    )
    path = arguments.parse_args().annotations
    parsers: dict[str, CaptionParser] = {"rules": RuleParser()}
    check_web_captions(parsers["rules"])
    if not path.is_file():
        arguments.error(
            f"{path}: no such file. Pass the path of FACTUAL's dev.csv or set COMPEVAL_REAL_DATA to the folder of "
            "published files."
        )
    try:
        parsers["sng"] = SngParser(as_published=True)
    except ImportError as error:
        print(error)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    captions = [row["caption"] for row in rows]
    annotated = [read_annotation(row["scene_graph"]) for row in rows]
    speed = {}
    print(f"{len(rows)} captions of {path.name}; precision / recall")
    for name, parser in parsers.items():
        parses, speed[name] = _measure(parser, captions)
        scores = score([read_graph(parse.graph) for parse in parses], annotated)
        print(
            _format_line(
                name, {kind: (item.precision, item.recall) for kind, item in scores.items()}
            )
        )
    print(_format_line("sng (published)", PUBLISHED_SNG))
    print(", ".join(f"{name} {rate:.0f} captions/s" for name, rate in speed.items()))
    if "sng" in speed:
        print(f"ratio {speed['rules'] / speed['sng']:.1f}")


def _format_line(name: str, values: dict[str, tuple[float, float]]) -> str:
    return f"{name:19}" + "   ".join(f"{kind} {p:.3f} / {r:.3f}" for kind, (p, r) in values.items())


if __name__ == "__main__":
    main()
