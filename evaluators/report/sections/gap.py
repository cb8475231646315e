"""Seen against unseen compounds on the same captions (evaluators/metrics/seen_gap.py)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evaluators.metrics.seen_gap import directions, gaps
from evaluators.report.results import SYSTEMATICITY_KINDS, Result, Results, corpus_name
from evaluators.report.section import Section
from evaluators.report.tables import percent, table

KIND = "hnatom"
"""One type of hard negative only, so that Holm's family of tests is the corpora."""


def section(results: Results) -> Section | None:
    """None if no two corpora share captions in both directions."""
    hit = hits(results)
    lines = directions(hit)
    pairs = {(line.seen, line.unseen) for line in lines}
    if not any((unseen, seen) in pairs for seen, unseen in pairs):
        return None
    balanced = gaps(hit)
    seeds = len({result.model for result in results if result.data["model"]["corpus"] in hit}) // len(hit)
    gap_table = table(
        "gap",
        ["Training data", "Gap", "95 % interval", "p"],
        [
            [corpus_name(line.corpus), points(line.gap), f"{points(line.low)} to {points(line.high)}", f"{line.p:.3f}"]
            for line in balanced
        ],
        suffix=f"_{KIND}",
        kind=SYSTEMATICITY_KINDS[KIND],
    )
    directions_table = table(
        "gap_directions",
        ["Seen by", "Unseen by", "Captions", "Images", "R@1 seen", "R@1 unseen", "Difference"],
        [
            [
                *(corpus_name(line.seen), corpus_name(line.unseen), line.captions, line.images),
                *(percent(line.seen_recall, 1), percent(line.unseen_recall, 1)),
                points(line.seen_recall - line.unseen_recall),
            ]
            for line in lines
        ],
    )
    return Section(
        "gap",
        [gap_table, directions_table],
        metrics={"seen_minus_unseen": {KIND: {line.corpus: round(line.gap, 4) for line in balanced}}},
        values={"seeds": f"Hits are means over {seeds} training seeds." if seeds > 1 else ""},
    )


def hits(results: Sequence[Result]) -> dict[str, pd.DataFrame]:
    """Corpus -> crop_id, caption, image_id, split and hit (share of the corpus' models with rank 1)."""
    parts: dict[str, list[pd.DataFrame]] = {}
    for result in results:
        corpus, _, rest = result.data["config"].partition("_")
        if rest in (f"sc_{KIND}", f"uc_{KIND}") and corpus == result.data["model"]["corpus"]:
            rows = result.examples[["crop_id", "caption", "image_id", "rank"]]
            parts.setdefault(corpus, []).append(rows.assign(split=rest.split("_")[0], hit=rows["rank"] == 1))
    keys = ["crop_id", "caption", "image_id", "split"]
    return {corpus: pd.concat(rows).groupby(keys)["hit"].mean().reset_index() for corpus, rows in sorted(parts.items())}


def points(share: float) -> str:
    return f"{100 * share:+.1f}"
