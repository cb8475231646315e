"""Compare seen with unseen compounds on the same captions (evaluators/metrics/seen_gap.py)."""

from __future__ import annotations

import pandas as pd

from compeval.evaluators.metrics.seen_gap import compute_directions, compute_gaps
from compeval.evaluators.report.headlines import read_hits
from compeval.evaluators.report.pages import Section
from compeval.evaluators.report.results import Results
from compeval.evaluators.report.sections.crepe import SYSTEMATICITY_KINDS
from compeval.evaluators.report.tables import make_table

KIND = "hnatom"
"""The gap is measured on one type of hard negative, so that Holm's correction is over the corpora only."""


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if no two corpora share captions in both directions."""
    values = results.values
    values = values[
        (values["family"] == "crepe") & values["is_own_corpus"] & (values["metric"] == "recall@1")
    ]
    values = values[values["kind"] == KIND]
    hits = average_hits(results, values)
    directions = compute_directions(hits)
    pairs = {(line.seen, line.unseen) for line in directions}
    if not any((unseen, seen) in pairs for seen, unseen in pairs):
        return None
    gaps = compute_gaps(hits)
    seeds = values["model"].nunique() // len(hits)
    titles = dict(zip(values["trained_on"], values["training_data"], strict=True)) | {"all": "all"}
    gap_records = [vars(line) | {"corpus": titles[line.corpus]} for line in gaps]
    direction_records = [
        vars(line)
        | {"seen": titles[line.seen], "unseen": titles[line.unseen]}
        | {"difference": line.seen_recall - line.unseen_recall}
        for line in directions
    ]
    return Section(
        "gap",
        [
            make_table("gap", gap_records, f"_{KIND}", kind=SYSTEMATICITY_KINDS[KIND]),
            make_table("gap_directions", direction_records),
        ],
        metrics={"seen_minus_unseen": {KIND: {line.corpus: round(line.gap, 4) for line in gaps}}},
        text_values={"seeds": f"Hits are means over {seeds} training seeds." if seeds > 1 else ""},
    )


def average_hits(results: Results, values: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return corpus -> rows with crop_id, caption, image_id, split and hit, given values on the corpora's own sets.

    ``hit`` is the share of the corpus' models (training seeds) with rank 1.
    """
    keys = ["crop_id", "caption", "image_id", "split"]
    return {
        str(corpus): read_hits(results, rows, "split").groupby(keys)["hit"].mean().reset_index()
        for corpus, rows in values.groupby("trained_on")
    }
