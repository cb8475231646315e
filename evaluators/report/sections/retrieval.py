"""Retrieval under perturbations of captions and images: the paper's tables for our models.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 3.1, Tables 3 (captions) and 4 (images): recall@1 and
recall@5 both ways, mean and standard deviation over the seeds of the perturbations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from evaluators.report.read import Result
from evaluators.report.sections import Section, by_series, mean_and_deviation
from evaluators.report.tables import Table

PLAIN = "No shuffling"
OF_CAPTIONS = {
    "shuffle_nouns_and_adjectives": "Shuffle only nouns and adjectives",
    "shuffle_all_words": "Shuffle all words",
    "shuffle_all_but_nouns_and_adjectives": "Shuffle all but nouns and adjectives",
    "shuffle_trigrams": "Shuffle trigrams",
    "shuffle_within_trigrams": "Shuffle within trigrams",
}
OF_IMAGES = {
    "shuffle_rows": "Shuffle rows (4)",
    "shuffle_columns": "Shuffle columns (4)",
    "shuffle_patches": "Shuffle patches (9)",
}
SETS = {"coco": "COCO", "flickr30k": "Flickr30k"}
METRICS = {
    "i2t_recall@1": "Text R@1",
    "i2t_recall@5": "Text R@5",
    "t2i_recall@1": "Image R@1",
    "t2i_recall@5": "Image R@5",
}
PERTURBATION = re.compile(r"-s\d+$")


def section(results: Sequence[Result]) -> Section | None:
    """None where no result is of perturbed retrieval."""
    models = by_series([result for result in results if result.data["dataset"] == "retrieval"])
    if not models:
        return None
    return Section(
        "retrieval",
        "Retrieval without order",
        "Image-to-text and text-to-image retrieval among all pictures of a set, as they are and with the order of the "
        "words of their captions, or of their tiles, destroyed. A model that loses little does not use order.",
        [
            table
            for config, title in SETS.items()
            for what, strategies in (("captions", OF_CAPTIONS), ("images", OF_IMAGES))
            for table in strategies_table(models, config, title, what, strategies)
        ],
    )


def strategies_table(
    models: Mapping[str, list[Result]], config: str, title: str, what: str, strategies: Mapping[str, str]
) -> Iterator[Table]:
    """One row a strategy and model, over the seeds; nothing where nothing was measured."""
    body = []
    for strategy, named in {"": PLAIN, **strategies}.items():
        for name, results in models.items():
            measured = [
                result.data["metrics"]
                for result in results
                if result.data["config"] == config and PERTURBATION.sub("", result.data["variant"] or "") == strategy
            ]
            if measured:
                cells = (mean_and_deviation([one[metric] for one in measured if metric in one]) for metric in METRICS)
                body.append([named, name, *cells])
    if any(row[0] != PLAIN for row in body) or (body and what == "captions"):
        header = ["Strategy", "Model", *METRICS.values()]
        caption = f"{title}, {what} perturbed: recall (percent), mean and deviation over seeds."
        yield Table(f"retrieval_{config}_{what}", caption, pd.DataFrame(body, columns=pd.Index(header)))
