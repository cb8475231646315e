"""Repeat CREPE's check of the caption parser with the project's parser: ``python -m bench.parser_check``.

Source: CREPE (arXiv:2212.07796), appendix A.2 and Table 3. The paper measures precision and recall of object, attribute
and relationship atoms and of (subject, predicate, object) triplets on 20 hand-annotated captions of each of three
corpora. This script does the same with the captions of sample/annotations/parser.yaml, which documents their sampling
and annotation. Differences from the paper: Conceptual Captions and raw alt texts replace YFCC and LAION, and an
additional column shows (object, attribute) pairs. The paper does not define when two facts match and how captions are
averaged; here, matches are exact, averages are micro averages (bench/parser.py), and each fact counts once per caption.
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
"""Published (precision, recall) in percent of the first four :data:`KINDS`."""


class Annotation(NamedTuple):
    source: str
    caption: str
    graph: SceneGraph


def read_annotations(path: Path) -> list[Annotation]:
    """Read annotated captions. The id of an object is its name.

    Raises ValueError if an attribute or a relation belongs to a name that is not an object of the caption.
    """
    rows = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [Annotation(row["source"], row["caption"], _make_graph(row, path)) for row in rows]


def check(parsed: Sequence[GraphFacts], annotated: Sequence[GraphFacts]) -> dict[str, Score]:
    """Return the score of each of :data:`KINDS` over N captions."""
    atoms = score([_detach_atoms(facts) for facts in parsed], [_detach_atoms(facts) for facts in annotated])
    compounds = score(parsed, annotated)
    scores = (*atoms.values(), compounds["relations"], compounds["attributes"])
    return dict(zip(KINDS, scores, strict=True))


def _make_graph(row: Mapping[str, Any], path: Path) -> SceneGraph:
    names, pairs, triples = row["objects"], row["attributes"], row["relations"]
    used = {name for name, _ in pairs} | {name for subject, _, target in triples for name in (subject, target)}
    if unknown := sorted(used.difference(names)):
        raise ValueError(
            f"{path}: caption {row['caption']!r}: {', '.join(unknown)} has an attribute or a relation "
            f"but is not in its list of objects ({', '.join(names)}). Add it to the list."
        )
    objects = (SceneObject(name, name, tuple(value for owner, value in pairs if owner == name)) for name in names)
    return SceneGraph(tuple(objects), tuple(Relation(*triple) for triple in triples))


def _detach_atoms(facts: GraphFacts) -> GraphFacts:
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
    print(f"{len(annotations)} captions: precision / recall in percent (number of annotated facts)")
    print(_format_row("", [f"{kind:>13}" for kind in KINDS]))
    for source in dict.fromkeys(item.source for item in annotations):
        rows = [row for row, item in enumerate(annotations) if item.source == source]
        _print_scores(source, check([parsed[row] for row in rows], [annotated[row] for row in rows]))
    _print_scores("all", check(parsed, annotated))
    for corpus, values in TABLE_3.items():
        print(_format_row(f"{corpus} (paper)", [f"{p:5.1f} / {r:5.1f}" for p, r in values]))


def _print_scores(title: str, scores: Mapping[str, Score]) -> None:
    cells = (
        f"{100 * score.precision:5.1f} / {100 * score.recall:5.1f} ({score.annotated})" for score in scores.values()
    )
    print(_format_row(title, cells))


def _format_row(title: str, cells: Iterable[str]) -> str:
    return f"{title:20}" + "".join(f"{cell:21}" for cell in cells).rstrip()


if __name__ == "__main__":
    main()
