"""Count how often the atoms of CREPE's hard-negative sets occur in the training captions and in the sets.

Source: CREPE (arXiv:2212.07796), appendix A.6, Figure 12. The counts in the training captions are the files
``<corpus>.counts.json`` that ``python -m generators.seen_analysis.seen CORPUS --counts`` writes.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pandas as pd

from generators.storage import parquet
from loaders.datasets.folders import dataset_folder

SUFFIX = ".counts.json"
SPLITS = ("sc", "uc")
KIND = "hnatom"


def read_atom_counts(folder: Path, data_dir: Path | None = None) -> pd.DataFrame:
    """Return one row per corpus, split and atom of the HN-Atom sets.

    The columns are corpus, split, kind, text, training (number of captions) and test (number of rows). Raises
    FileNotFoundError if ``folder`` has no counts.
    """
    paths = sorted(folder.glob(f"*{SUFFIX}"))
    if not paths:
        raise FileNotFoundError(
            f"{folder}: no counts of atoms. `python -m generators.seen_analysis.seen CORPUS --counts` writes them."
        )
    dataset, rows = dataset_folder("crepe", data_dir), []
    for path in paths:
        corpus = path.name.removesuffix(SUFFIX)
        training = {(kind, text): count for kind, text, count in json.loads(path.read_text())["atoms"]}
        for split in SPLITS:
            test = _count_atoms(dataset / f"{corpus}_{split}_{KIND}")
            rows += [(corpus, split, *atom, training.get(atom, 0), count) for atom, count in sorted(test.items())]
    return pd.DataFrame(rows, columns=pd.Index(["corpus", "split", "kind", "text", "training", "test"]))


def _count_atoms(folder: Path) -> Counter[tuple[str, str]]:
    """Return the number of rows of a config that contain each atom."""
    counts = Counter[tuple[str, str]]()
    for path in sorted(folder.glob("*.parquet")):
        for batch in parquet.read_batches(path, columns=["atoms"]):
            for atoms in batch["atoms"].to_pylist():
                counts.update({(atom["kind"], atom["text"]) for atom in atoms})
    return counts
