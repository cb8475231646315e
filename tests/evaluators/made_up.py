"""A made-up table of all published models and columns: five models have their scores, and the others made-up ones.

swap_obj and swap_att of SugarCrepe have chosen numbers of models above the scores that tests use.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compeval.evaluators.results.scores import (
    KEY,
    read_columns,
    read_csv,
    read_models,
    write_scores,
)

SWAP_OBJ = [
    (74.0, 5),
    (70.0, 13),
    (67.0, 18),
    (63.0, 53),
    (62.8571, 85),
    (61.2245, 93),
    (61.0, 100),
]
SWAP_OBJ += [(60.4082, 130), (58.0, 179), (50.0, 201)]
"""Score, and how many models have it or a higher one. NegCLIP's 75.9 is one of the first five."""
SWAP_ATT = [(62.0, 120), (50.0, 201)]
CHOSEN = {
    "sugarcrepe::swap_obj": SWAP_OBJ,
    "sugarcrepe::swap_att": SWAP_ATT,
    "ImageCoDe:accuracy": [(13.2, 49)],
}


def make_rows() -> Iterator[dict[str, Any]]:
    """Yield a row for each model and column of each source. Equal models of a source have equal scores."""
    known = {(row["name"], row["column"]): row["percent"] for row in read_csv("scores")}
    columns: dict[str, list[str]] = {}
    for source, column in read_columns():
        columns.setdefault(source, []).append(column)
    scores: dict[tuple[str, str, str], float] = {}
    models = {(source, name): model.name for (source, name), model in read_models().items()}
    for (source, name), model in models.items():
        if source == "vl_compo":
            scores |= {
                (source, model, column): known[name, column]
                for column in columns[source]
                if (name, column) in known
            }
    for (source, name), model in models.items():
        for column in columns[source]:
            if source == "predicate_noun" and (name == "Human") != (column == "single rows"):
                continue  # people answered single rows, models pairs
            if (source, model, column) not in scores:
                taken = [
                    score
                    for (origin, _, part), score in scores.items()
                    if column in CHOSEN and (origin, part) == (source, column)
                ]
                scores[source, model, column] = choose_score(column, taken)
            percent = scores[source, model, column]
            yield dict(zip(KEY, (source, name, column), strict=True)) | {
                "percent": percent,
                "seconds": None,
            }


def choose_score(column: str, taken: list[float]) -> float:
    """Return the first score of a chosen column that has less models than it needs, 50 in other columns."""
    counts = Counter(taken)
    for percent, needed in CHOSEN.get(column, ()):
        if sum(count for score, count in counts.items() if score >= percent) < needed:
            return percent
    return 50.0


def write_table(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_scores(path, make_rows())
