"""Compare seen with unseen compounds on the same captions (evaluators/metrics/seen_gap.py)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evaluators.metrics.seen_gap import compute_directions, compute_gaps
from evaluators.report.results import SYSTEMATICITY_KINDS, Result, Results
from evaluators.report.section import Section
from evaluators.report.tables import format_percent, make_table
from generators.schemas.corpus_names import parse_systematicity

KIND = "hnatom"
"""The gap is measured on one type of hard negative, so that Holm's correction is over the corpora only."""


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if no two corpora share captions in both directions."""
    rows = results.select("crepe")
    hits = read_hits(rows)
    lines = compute_directions(hits)
    pairs = {(line.seen, line.unseen) for line in lines}
    if not any((unseen, seen) in pairs for seen, unseen in pairs):
        return None
    gaps = compute_gaps(hits)
    seeds = len({result.model for result in rows if result.data["model"]["corpus"] in hits}) // len(hits)
    titles = {result.data["model"]["corpus"]: result.training_data for result in rows} | {"all": "all"}
    gap_table = make_table(
        "gap",
        ["Training data", "Gap", "95 % interval", "p"],
        [
            [
                titles[line.corpus],
                format_points(line.gap),
                f"{format_points(line.low)} to {format_points(line.high)}",
                f"{line.p:.3f}",
            ]
            for line in gaps
        ],
        suffix=f"_{KIND}",
        kind=SYSTEMATICITY_KINDS[KIND],
    )
    directions_table = make_table(
        "gap_directions",
        ["Seen by", "Unseen by", "Captions", "Images", "R@1 seen", "R@1 unseen", "Difference"],
        [
            [
                *(titles[line.seen], titles[line.unseen], line.captions, line.images),
                *(format_percent(line.seen_recall), format_percent(line.unseen_recall)),
                format_points(line.seen_recall - line.unseen_recall),
            ]
            for line in lines
        ],
    )
    return Section(
        "gap",
        [gap_table, directions_table],
        metrics={"seen_minus_unseen": {KIND: {line.corpus: round(line.gap, 4) for line in gaps}}},
        values={"seeds": f"Hits are means over {seeds} training seeds." if seeds > 1 else ""},
    )


def read_hits(results: Sequence[Result]) -> dict[str, pd.DataFrame]:
    """Return corpus -> rows with crop_id, caption, image_id, split and hit, given the results on one dataset.

    ``hit`` is the share of the corpus' models (training seeds) with rank 1.
    """
    parts: dict[str, list[pd.DataFrame]] = {}
    for result in results:
        config = parse_systematicity(result.data["config"])
        if config and config.kind == KIND and config.corpus == result.data["model"]["corpus"]:
            rows = result.examples[["crop_id", "caption", "image_id", "rank"]]
            parts.setdefault(config.corpus, []).append(rows.assign(split=config.split, hit=rows["rank"] == 1))
    keys = ["crop_id", "caption", "image_id", "split"]
    return {corpus: pd.concat(rows).groupby(keys)["hit"].mean().reset_index() for corpus, rows in sorted(parts.items())}


def format_points(share: float) -> str:
    """Format a difference of shares in percentage points."""
    return f"{100 * share:+.1f}"
