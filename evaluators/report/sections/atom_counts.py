"""Compare the frequencies of atoms in training captions between seen and unseen compounds.

Source: CREPE (arXiv:2212.07796), appendix A.6, Figure 12. The counts in the training captions are the files
``<corpus>.counts.json`` that ``python -m compeval.generators.seen_analysis.seen CORPUS --counts`` writes.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from compeval.base.storage import parquet
from compeval.evaluators.report.figures import COLOURS, OTHER_COLOUR, draw, share_axes
from compeval.evaluators.report.pages import Section
from compeval.evaluators.report.results import Results, get_corpus_name
from compeval.evaluators.report.tables import make_table
from compeval.loaders.datasets.folders import dataset_folder

SUFFIX = ".counts.json"
TITLES = {"sc": "seen compounds (SC)", "uc": "unseen compounds (UC)"}


def read_atom_counts(folder: Path, data_dir: Path | None = None) -> pd.DataFrame:
    """Return one row per corpus, split and atom of the HN-Atom sets.

    The columns are corpus, split, kind, text, training (number of captions) and test (number of rows). Raises
    FileNotFoundError if ``folder`` has no counts.
    """
    paths = sorted(folder.glob(f"*{SUFFIX}"))
    if not paths:
        raise FileNotFoundError(
            f"{folder}: no counts of atoms. "
            "`python -m compeval.generators.seen_analysis.seen CORPUS --counts` writes them."
        )
    dataset = dataset_folder("crepe", data_dir)
    rows = []
    for path in paths:
        corpus = path.name.removesuffix(SUFFIX)
        training = {
            (kind, text): count
            for kind, text, count in json.loads(path.read_text(encoding="utf-8"))["atoms"]
        }
        for split in TITLES:
            test = _count_atoms(dataset / f"{corpus}_{split}_hnatom")
            rows += [
                (corpus, split, *atom, training.get(atom, 0), count)
                for atom, count in sorted(test.items())
            ]
    return pd.DataFrame(
        rows, columns=pd.Index(["corpus", "split", "kind", "text", "training", "test"])
    )


def _count_atoms(folder: Path) -> Counter[tuple[str, str]]:
    """Return the number of rows of a config that contain each atom."""
    counts = Counter[tuple[str, str]]()
    for path in sorted(folder.glob("*.parquet")):
        for batch in parquet.read_batches(path, columns=["atoms"]):
            for atoms in batch["atoms"].to_pylist():
                counts.update({(atom["kind"], atom["text"]) for atom in atoms})
    return counts


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None if the report is built without counts of atoms."""
    counts = results.atom_counts
    if counts is None or counts.empty:
        return None
    is_synthetic = any(result.is_synthetic for result in results)
    titles = {
        corpus: get_corpus_name(str(corpus), is_synthetic) for corpus in counts["corpus"].unique()
    }
    records = [
        {
            "corpus": titles[corpus],
            "split": str(split).upper(),
            "atoms": len(training),
            "median": training.median(),
        }
        for (corpus, split), training in counts.groupby(["corpus", "split"])["training"]
    ]
    figures = {
        f"{titles[corpus]}: atoms in training captions and in the HN-Atom set (Figure 12 of the paper).": draw_figure(
            str(corpus), group
        )
        for corpus, group in counts.groupby("corpus")
    }
    return Section("atom_counts", [make_table("atom_counts", records)], figures)


def draw_figure(corpus: str, counts: pd.DataFrame) -> str:
    """Draw one panel per split with one point per atom, on logarithmic axes. Unseen atoms are at 1/2."""

    def paint(panels: list[Axes]) -> None:
        for axes, (split, title) in zip(panels, TITLES.items(), strict=True):
            points = counts[counts["split"] == split]
            colour = COLOURS.get(corpus, OTHER_COLOUR)
            axes.scatter(
                points["training"].clip(lower=0.5), points["test"], s=8, color=colour, alpha=0.5
            )
            axes.set(
                title=f"{title}, {len(points):,} atoms",
                xlabel="training captions",
                xscale="log",
                yscale="log",
            )
            axes.tick_params(axis="x", labelsize=7)
        share_axes(panels, "x", "y")
        for axis in (axis for axes in panels for axis in (axes.xaxis, axes.yaxis)):
            axis.set_major_formatter("{x:,.0f}")  # the default needs math text
            axis.set_minor_formatter(NullFormatter())
        panels[0].set_ylabel("rows of the set")

    return draw(len(TITLES), paint)
