"""Compare the frequencies of atoms in training captions between seen and unseen compounds.

Source: CREPE (arXiv:2212.07796), appendix A.6, Figure 12.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from evaluators.report.atom_counts import SPLITS
from evaluators.report.figures import COLOURS, OTHER_COLOUR, draw, share_axes
from evaluators.report.results import Results, get_corpus_name
from evaluators.report.section import Section
from evaluators.report.tables import Table, make_table

CAPTION = "{}: atoms in training captions and in the HN-Atom set (Figure 12 of the paper)."
TITLES = {"sc": "seen compounds (SC)", "uc": "unseen compounds (UC)"}


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if the report is built without counts of atoms."""
    counts = results.atom_counts
    if counts is None or counts.empty:
        return None
    is_synthetic = any(result.is_synthetic for result in results)
    figures = {
        CAPTION.format(get_corpus_name(str(corpus), is_synthetic)): draw_figure(str(corpus), rows)
        for corpus, rows in counts.groupby("corpus")
    }
    return Section("atom_counts", [make_counts_table(counts, is_synthetic)], figures)


def make_counts_table(counts: pd.DataFrame, is_synthetic: bool) -> Table:
    """Make the table of the median number of training captions per atom."""
    rows = [
        [
            get_corpus_name(str(corpus), is_synthetic),
            str(split).upper(),
            len(group),
            f"{group['training'].median():,.0f}",
        ]
        for (corpus, split), group in counts.groupby(["corpus", "split"])
    ]
    return make_table("atom_counts", ["Training data", "Split", "Atoms", "Median captions"], rows)


def draw_figure(corpus: str, rows: pd.DataFrame) -> str:
    """Draw one panel per split with one point per atom, on logarithmic axes. Unseen atoms are at 1/2."""

    def paint(panels: list[Axes]) -> None:
        for axes, split in zip(panels, SPLITS, strict=True):
            points = rows[rows["split"] == split]
            colour = COLOURS.get(corpus, OTHER_COLOUR)
            axes.scatter(points["training"].clip(lower=0.5), points["test"], s=8, color=colour, alpha=0.5)
            axes.set(
                title=f"{TITLES[split]}, {len(points):,} atoms", xlabel="training captions", xscale="log", yscale="log"
            )
            axes.tick_params(axis="x", labelsize=7)
        share_axes(panels, "x", "y")
        for axis in ("x", "y"):
            for axes in panels:
                getattr(axes, f"{axis}axis").set_major_formatter("{x:,.0f}")  # the default needs math text
                getattr(axes, f"{axis}axis").set_minor_formatter(NullFormatter())
        panels[0].set_ylabel("rows of the set")

    return draw(len(SPLITS), paint)
