"""Seen against unseen compounds on the same captions, as tables (see evaluators/metrics/seen_gap.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from evaluators.metrics.seen_gap import Gap, directions, gaps
from evaluators.report.read import Result
from evaluators.report.tables import KINDS, Table, corpus_name


@dataclass(frozen=True)
class GapReport:
    """Both tables for one kind of hard negative, and the gaps as numbers."""

    kind: str
    seeds: int
    gaps: list[Gap]
    tables: list[Table]


def hits(results: Sequence[Result], kind: str) -> dict[str, pd.DataFrame]:
    """Corpus -> crop_id, caption, image_id, split and hit (share of the corpus' models whose rank is 1)."""
    found: dict[str, list[pd.DataFrame]] = {}
    for result in results:
        corpus, _, rest = result.data["config"].partition("_")
        if rest in (f"sc_{kind}", f"uc_{kind}") and corpus == result.data["model"]["corpus"]:
            rows = result.examples[["crop_id", "caption", "image_id", "rank"]]
            found.setdefault(corpus, []).append(rows.assign(split=rest.split("_")[0], hit=rows["rank"] == 1))
    keys = ["crop_id", "caption", "image_id", "split"]
    return {
        corpus: pd.concat(parts).groupby(keys)["hit"].mean().reset_index() for corpus, parts in sorted(found.items())
    }


def points(share: float) -> str:
    return f"{100 * share:+.1f}"


def gap_report(results: Sequence[Result], kind: str) -> GapReport | None:
    """None where fewer than two corpora share captions in both directions."""
    hit = hits(results, kind)
    ways = directions(hit)
    pairs = {(way.seen, way.unseen) for way in ways}
    if not any((unseen, seen) in pairs for seen, unseen in pairs):
        return None
    found = gaps(hit)
    one_way = [
        [
            corpus_name(line.seen),
            corpus_name(line.unseen),
            f"{line.captions:,}",
            f"{line.images:,}",
            f"{100 * line.seen_recall:.1f}",
            f"{100 * line.unseen_recall:.1f}",
            points(line.seen_recall - line.unseen_recall),
        ]
        for line in ways
    ]
    balanced = [
        [
            "all" if line.corpus == "all" else corpus_name(line.corpus),
            points(line.gap),
            f"{points(line.low)} to {points(line.high)}",
            f"{line.p:.3f}",
        ]
        for line in found
    ]
    seeds = {result.data["model"]["name"] for result in results if result.data["model"]["corpus"] in hit}
    columns = ["Seen by", "Unseen by", "Captions", "Images", "R@1 seen", "R@1 unseen", "Difference"]
    return GapReport(
        kind,
        len(seeds) // len(hit),
        found,
        [
            Table(
                f"gap_{kind}",
                f"Gap between seen and unseen compounds on the same captions, {KINDS[kind]}: points of Recall@1, 95 % "
                "interval over images for these checkpoints, p by bootstrap (Holm-corrected over the corpora).",
                pd.DataFrame(balanced, columns=pd.Index(["Training data", "Gap", "95 % interval", "p"])),
            ),
            Table(
                f"gap_{kind}_directions",
                "The same, one direction at a time: captions that are SC for one corpus and UC for the other.",
                pd.DataFrame(one_way, columns=pd.Index(columns)),
            ),
        ],
    )
