"""The blind baseline: how often do text-only scorers pick the true caption without the picture?

    python -m evaluators.validity.text_only        # the `blind` stage: writes blind.json and crepe/BLIND.md

Source: SugarCrepe (arXiv:2306.14610, section 3) showed that such scorers beat vision-language models on published sets.
The scorers are those of generators/hard_negatives/blind_scorers.py and, if params.yaml names one, a masked or causal
language model;
what learns is cross-fitted over images. Of productivity, each config is also measured after adversarial refinement
(generators/hard_negatives/refinement.py), by scorers that did not refine and that learn anew from what is left.

Recall@1 with ties shared, beside chance 1/K, with 95 % intervals that resample images. A negative is one edit away from
its truth, and edits that change a score up as often as down leave the truth first of all six less often than one time
in six: ``guessing``, what random weights of words get, says how often, and ``duels``, the share of its negatives that a
truth beats, whether there is a cue (chance 1/2).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from evaluators.metrics.statistics import bootstrap_intervals
from generators.hard_negatives.blind_scorers import HELD_OUT, REFINING, Scorer, Sets, duels, guessed, hits, most_alike
from generators.hard_negatives.plausibility import language_model
from generators.hard_negatives.refinement import refined
from generators.storage import parquet, stage
from generators.storage.params import block
from loaders.cards.card import table

WORKERS = 2
PRODUCTIVITY = "prod_"
BY_DESIGN = {
    "prod_hnneg": "Each negative holds a denial, and no true caption does (appendix A.4 of the paper).",
    "prod_hnall": "Five of the fifteen negatives hold a denial, and no true caption does; the other ten compete.",
    "hncomp": 'Each negative is two captions joined by "and", the true one is one (section 4.1 of the paper).',
    "hnall": 'Six of the ten negatives are two captions joined by "and", the true one is one.',
}
"""Why blind scorers cannot be at chance, by config or kind of systematicity."""


def read(folder: Path, configs: Iterable[str]) -> Sets:
    """The distinct rows of some configs, all splits."""
    return read_files(path for config in configs for path in sorted((folder / config).glob("*.parquet")))


def read_files(paths: Iterable[Path]) -> Sets:
    """The distinct rows of parquet files."""
    rows: dict[tuple[str, ...], str] = {}
    for path in paths:
        found = parquet.read_table(path, ["image_id", "caption", "hard_negatives"]).to_pylist()
        rows |= {(row["caption"], *row["hard_negatives"], row["image_id"]): row["image_id"] for row in found}
    return Sets([key[:-1] for key in rows], list(rows.values()))


def groups(folder: Path) -> dict[str, list[str]]:
    """What is measured together: each productivity config, and a kind of systematicity over all corpora.

    The sets of different corpora hold the same captions, each with the same negatives.
    """
    found: dict[str, list[str]] = {}
    for path in sorted(folder.iterdir()):
        kind = path.name.rsplit("_", 1)[-1]
        if path.is_dir() and kind != "raw":
            found.setdefault(path.name if path.name.startswith(PRODUCTIVITY) else kind, []).append(path.name)
    return found


def scores(sets: Sets, scorers: Mapping[str, Scorer]) -> dict[str, dict[str, Any]]:
    """Recall@1 with its interval, and duels, of each scorer."""
    score_by = {name: scorer(sets) for name, scorer in scorers.items()}
    hit_by = {name: hits(score_NK) for name, score_NK in score_by.items()}
    intervals = bootstrap_intervals(hit_by, sets.images)
    return {
        name: {
            "recall@1": float(hit_by[name].mean()),
            "interval": intervals[name],
            "duels": float(duels(score_NK).mean()),
        }
        for name, score_NK in score_by.items()
    }


def measure(name: str, sets: Sets, seed: int, model: str | None) -> dict[str, Any]:
    """Everything about one group; of productivity also what refinement leaves."""
    held_out = {**HELD_OUT, **({"language_model": partial(_under, model)} if model else {})}
    found: dict[str, Any] = {
        "rows": len(sets),
        "images": len(set(sets.images)),
        "chance": sets.chance,
        "by_design": BY_DESIGN.get(name),
        "refining": scores(sets, REFINING),
        "held_out": scores(sets, held_out),
        "guessing": float(guessed(sets).mean()),
        "comparing": scores(sets, {"most_alike": most_alike}),
    }
    if name.startswith(PRODUCTIVITY):
        keep_N = refined(sets, seed)
        found["kept"] = float(keep_N.mean())
        found["held_out_after"] = scores(sets.where(keep_N), held_out)
    return found


def _under(model: str, sets: Sets) -> np.ndarray:
    return np.array(language_model(model).score(sets.texts)).reshape(len(sets), sets.size)


def farthest(chance: float, found: Mapping[str, Mapping[str, Any]]) -> tuple[str, float]:
    """The scorer whose Recall@1 is farthest from chance, on either side, and that Recall@1."""
    name = max(found, key=lambda name: abs(found[name]["recall@1"] - chance))
    return name, found[name]["recall@1"]


def page(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The part of CREPE's card that needs the finished sets."""
    rows = []
    for name, found in results.items():
        scorer, value = farthest(found["chance"], found["held_out"])
        after = ("-", "-")
        if "kept" in found:
            last, left = farthest(found["chance"], found["held_out_after"])
            after = (f"{found['kept']:.0%}", f"{left:.1%} ({last})")
        guess = f"{found['guessing']:.1%}"
        rows.append((name, found["rows"], f"{found['chance']:.1%}", f"{value:.1%} ({scorer})", *after, guess))
    header = ("sets", "rows", "chance", "farthest from chance", "rows kept", "after refinement", "guessers")
    reasons = "".join(f"- `{name}`: {found['by_design']}\n" for name, found in results.items() if found["by_design"])
    return f"""# CREPE without the pictures

Recall@1 of text-only scorers that refinement does not use; of {len(HELD_OUT)} or more, the one farthest from chance on
either side. `blind.json` has all of them, with intervals. Guessers know nothing; where negatives are edits in several
places of the truth, random weights of words seldom put the truth before all of them.

{table(header, rows)}
Where no scorer can be at chance:

{reasons}
A reader who compares the captions of a set with each other finds the truth in nearly all of the paper's types, whatever
their words: it is the one that differs least from all others. Encoders, which read one caption at a time, cannot.
"""


def main() -> None:
    folder, settings = Path("crepe"), block("blind")
    named = {name: read(folder, configs) for name, configs in groups(folder).items()}
    work = {name: sets for name, sets in named.items() if len(sets) > 0}
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        jobs = {
            name: pool.submit(measure, name, sets, settings["seed"], settings["model"]) for name, sets in work.items()
        }
        results = {name: job.result() for name, job in jobs.items()}
    Path("blind.json").write_text(json.dumps(results, indent=1) + "\n")
    (folder / "BLIND.md").write_text(page(results))


if __name__ == "__main__":
    stage.run(main)
