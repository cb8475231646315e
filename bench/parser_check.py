"""CREPE's check of the caption parser, applied to ours: ``python -m bench.parser_check``.

Source: CREPE (arXiv:2212.07796), appendix A.2 and Table 3: precision and recall of object, attribute and relationship
atoms and of (subject, predicate, object) triplets on 20 hand-annotated captions of each of three corpora. Ours are
sample/annotations/parser.yaml, which documents sampling and annotation. Differences: Conceptual Captions and raw alt
text replace YFCC and LAION, and an additional column has (object, attribute) pairs. The paper defines neither matches
nor the average over captions; ours are exact matches and micro averages (bench/parser.py), with each atom or compound
counted once per caption.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bench.parser import GraphFacts, Score, read_graph, score
from generators.parser.rule_parser import RuleParser
from generators.schemas.scene_graph import Relation, SceneGraph, SceneObject

ANNOTATIONS = Path(__file__).parents[1] / "sample" / "annotations" / "parser.yaml"

KINDS = ("object", "attribute", "relationship", "triplet", "pair")

TABLE_3 = {
    "CC-12M": ((88.14, 83.06), (93.00, 56.51), (92.86, 70.18), (91.67, 64.04)),
    "YFCC-15M": ((96.24, 93.33), (94.44, 75.56), (93.59, 83.33), (92.31, 81.11)),
    "LAION-400M": ((69.91, 60.68), (72.22, 36.11), (88.33, 40.15), (87.00, 39.55)),
}
"""Published precision and recall in percent of the first four of :data:`KINDS`."""


class Annotation(NamedTuple):
    source: str
    caption: str
    graph: SceneGraph


def read_annotations(path: Path) -> list[Annotation]:
    """Read annotated captions; an object's id is its name.

    Raises ValueError for an attribute or a relation of a name that is not an object of the caption.
    """
    rows = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [Annotation(row["source"], row["caption"], _graph(row, path)) for row in rows]


def check(parsed: Sequence[GraphFacts], annotated: Sequence[GraphFacts]) -> dict[str, Score]:
    """Return the scores of N captions by :data:`KINDS`."""
    atoms = score([_atoms(facts) for facts in parsed], [_atoms(facts) for facts in annotated])
    compounds = score(parsed, annotated)
    scores = (*atoms.values(), compounds["relations"], compounds["attributes"])
    return dict(zip(KINDS, scores, strict=True))


def _graph(row: Mapping[str, Any], path: Path) -> SceneGraph:
    names, pairs, triples = row["objects"], row["attributes"], row["relations"]
    used = {name for name, _ in pairs} | {name for subject, _, target in triples for name in (subject, target)}
    if unknown := sorted(used.difference(names)):
        raise ValueError(
            f"{path}: caption {row['caption']!r}: {', '.join(unknown)} has an attribute or a relation "
            f"but is not among its objects, {', '.join(names)}. Add it to them."
        )
    objects = (SceneObject(name, name, tuple(value for owner, value in pairs if owner == name)) for name in names)
    return SceneGraph(tuple(objects), tuple(Relation(*triple) for triple in triples))


def _atoms(facts: GraphFacts) -> GraphFacts:
    """Return the facts with attributes and predicates detached from their objects."""
    return GraphFacts(
        facts.objects,
        frozenset(("", value) for _, value in facts.attributes),
        frozenset(("", predicate, "") for _, predicate, _ in facts.relations),
    )


def main() -> None:
    annotations = read_annotations(ANNOTATIONS)
    annotated = [read_graph(item.graph) for item in annotations]
    parsed = [read_graph(parse.graph) for parse in RuleParser().parse(item.caption for item in annotations)]
    print(f"{len(annotations)} captions: precision / recall in percent, in brackets the number annotated")
    print(_row("", [f"{kind:>13}" for kind in KINDS]))
    for source in dict.fromkeys(item.source for item in annotations):
        chosen = [number for number, item in enumerate(annotations) if item.source == source]
        _print_scores(source, check([parsed[number] for number in chosen], [annotated[number] for number in chosen]))
    _print_scores("all", check(parsed, annotated))
    for corpus, figures in TABLE_3.items():
        print(_row(f"{corpus} (paper)", [f"{p:5.1f} / {r:5.1f}" for p, r in figures]))


def _print_scores(title: str, scores: Mapping[str, Score]) -> None:
    cells = (f"{100 * it.precision:5.1f} / {100 * it.recall:5.1f} ({it.annotated})" for it in scores.values())
    print(_row(title, cells))


def _row(title: str, cells: Iterable[str]) -> str:
    return f"{title:20}" + "".join(f"{cell:21}" for cell in cells).rstrip()


if __name__ == "__main__":
    main()
