"""Measure how often text-only scorers select the true caption without the image (stage ``text_only``).

    python -m evaluators.validity.text_only        # writes text_only.json and text_only.md

Source: SugarCrepe (arXiv:2306.14610, section 3) showed that such scorers beat vision-language models on published sets.
The scorers are in generators/text_only/baselines.py; params.yaml can add a language model. Scorers that
learn are cross-fitted over images. ``refining`` has the scorers of adversarial refinement
(generators/text_only/refinement.py), and ``held_out`` scorers that it does not use.

Metrics: Recall@1 with 95 % intervals over images. Tied captions share the hit. Chance is 1/K, but a scorer
that knows nothing can be below chance: every negative is an edit of the true caption, so the scores of a set are not
independent. ``comparing`` has scorers that compare the captions of a set with each other
(generators/text_only/relative_baselines.py). ``random_scorers`` is the Recall@1 of random word weights.
``pairwise_accuracy`` is the share of negatives that score lower than their true caption (chance 1/2); it shows if there
is a cue.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from evaluators.metrics.intervals import compute_share_interval
from generators.pipeline import stage
from generators.pipeline.params import read_params
from generators.schemas.corpus_names import get_kind, parse_productivity
from generators.storage import parquet
from generators.text_only.baselines import (
    HELD_OUT_SCORERS,
    RetrievalSets,
    Scorer,
    measure_pairwise_accuracy,
    measure_random_recall,
    recall_at_1,
)
from generators.text_only.language_models import load_language_model
from generators.text_only.refinement import REFINEMENT_SCORERS
from generators.text_only.relative_baselines import COMPARING_SCORERS
from loaders.cards.card import table
from loaders.datasets.stats import read_stats

WORKERS = 2
MEDOID = "Negatives edit different parts of the true caption, which therefore tends to differ least from the others."
BY_DESIGN = {
    "hnatom": MEDOID,
    "hncomp": 'Every negative is two captions joined by "and"; the true caption is one (section 4.1 of the paper).',
    "hnall": 'Six of the ten negatives are two captions joined by "and"; the true caption is one.',
    "prod_hnatom": MEDOID,
    "prod_hnswap": MEDOID,
    "prod_hnneg": "Every negative contains a negation, and no true caption does (appendix A.4 of the paper).",
    "prod_hnall": "Five of the fifteen negatives contain a negation, and no true caption does.",
}
"""Kind of systematicity, or config of productivity -> why text-only scorers are not at chance on the set."""


def read(folder: Path, configs: Iterable[str]) -> RetrievalSets:
    """Return the distinct rows of all splits of some configs."""
    return read_files(path for config in configs for path in sorted((folder / config).glob("*.parquet")))


def read_files(paths: Iterable[Path]) -> RetrievalSets:
    """Return the distinct rows of parquet files."""
    rows: dict[tuple[str, ...], str] = {}
    for path in paths:
        for row in parquet.read_table(path, ["image_id", "caption", "hard_negatives"]).to_pylist():
            rows[row["caption"], *row["hard_negatives"], row["image_id"]] = row["image_id"]
    return RetrievalSets([key[:-1] for key in rows], list(rows.values()))


def group_configs(folder: Path) -> dict[str, list[str]]:
    """Return group name -> configs that are measured together.

    A productivity config and a balanced config are groups of their own. Another kind of systematicity forms one group
    over all corpora, because the sets of all corpora contain the same captions with the same negatives.
    """
    configs: dict[str, list[str]] = {}
    for path in sorted(folder.iterdir()):
        kind = get_kind(path.name)
        if path.is_dir() and not kind.endswith("raw") and kind != "images":
            configs.setdefault(path.name if kind.endswith("balanced") else kind, []).append(path.name)
    return configs


def take_random_rows(sets: RetrievalSets, count: int) -> RetrievalSets:
    """Return at most ``count`` random rows."""
    return sets.take(np.sort(np.random.default_rng(0).permutation(len(sets))[:count]))


def read_groups(folder: Path, max_rows: int) -> dict[str, RetrievalSets]:
    """Return group name -> retrieval sets: all rows of balanced sets, and at most ``max_rows`` of the paper's sets."""
    groups = {name: read(folder, configs) for name, configs in group_configs(folder).items()}
    return {
        name: sets if name.endswith("balanced") else take_random_rows(sets, max_rows) for name, sets in groups.items()
    }


def measure_scorers(sets: RetrievalSets, scorers: Mapping[str, Scorer]) -> dict[str, dict[str, Any]]:
    """Return Recall@1 with its confidence interval and the pairwise accuracy of each scorer."""
    score_by = {name: scorer(sets) for name, scorer in scorers.items()}
    hit_by = {name: recall_at_1(score_NK) for name, score_NK in score_by.items()}
    return {
        name: {
            "recall@1": float(hit_by[name].mean()),
            "interval": compute_share_interval(hit_by[name], sets.images),
            "pairwise_accuracy": float(measure_pairwise_accuracy(score_NK).mean()),
        }
        for name, score_NK in score_by.items()
    }


def measure(name: str, sets: RetrievalSets, model: str | None) -> dict[str, Any]:
    """Return all results of one group."""
    held_out = {**HELD_OUT_SCORERS, **({"language_model": partial(_score_by_language_model, model)} if model else {})}
    return {
        "rows": len(sets),
        "images": len(set(sets.images)),
        "chance": sets.chance,
        "by_design": explain(name),
        "refining": measure_scorers(sets, REFINEMENT_SCORERS),
        "held_out": measure_scorers(sets, held_out),
        "random_scorers": float(measure_random_recall(sets).mean()),
        "comparing": measure_scorers(sets, COMPARING_SCORERS),
    }


def explain(group: str) -> str | None:
    """Return why text-only scorers cannot be at chance on a group of configs; a variant has the default's reason."""
    productivity = parse_productivity(group)
    return BY_DESIGN.get(f"prod_{productivity.kind}" if productivity else group)


def _score_by_language_model(model: str, sets: RetrievalSets) -> np.ndarray:
    return np.array(load_language_model(model).score(sets.texts)).reshape(len(sets), sets.size)


def farthest_from_chance(chance: float, results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the name of the scorer whose Recall@1 is farthest above or below chance."""
    return max(results, key=lambda name: abs(results[name]["recall@1"] - chance))


def render_page(title: str, file: Path, results: Mapping[str, Mapping[str, Any]]) -> str:
    """Render the results as Markdown: a table with one row per group, and a table of the chat model if there is one."""
    rows, chats = [], []
    for name, result in results.items():
        chance, scorers = result["chance"], result["held_out"]
        best = farthest_from_chance(chance, scorers)
        low, high = scorers[best]["interval"]
        row = [name, result["rows"], f"{chance:.1%}", f"{scorers[best]['recall@1']:.1%} ({best})"]
        row += [f"{low:.1%} to {high:.1%}", f"{result['random_scorers']:.1%}"]
        best = farthest_from_chance(chance, result["comparing"])
        row.append(f"{result['comparing'][best]['recall@1']:.1%} ({best})")
        best = farthest_from_chance(chance, result["refining"])
        row.append(f"{result['refining'][best]['recall@1']:.1%} ({best})")
        rows.append(row)
        if chat := result.get("chat"):
            low, high = chat["interval"]
            recall = f"{chat['recall@1']:.1%} ({low:.1%} to {high:.1%})"
            chats.append([name, chat["asked"], f"{chance:.1%}", chat["model"], recall, chat["unreadable"]])
    header = ["sets", "rows", "chance", "farthest from chance", "95 % interval", "random weights", "comparing captions"]
    header.append("scorers of refinement")
    template = jinja2.Template(
        Path(__file__).with_name("text_only.md.j2").read_text(), trim_blocks=True, lstrip_blocks=True
    )
    return template.render(
        title=title,
        file=file.name,
        scorers=max(len(result["held_out"]) for result in results.values()),
        header=header,
        rows=rows,
        reasons=[f"`{name}`: {result['by_design']}" for name, result in results.items() if result["by_design"]],
        chats=chats,
        table=table,
    )


def main() -> None:
    folder, settings, output = Path("crepe"), read_params("text_only"), Path("text_only.json")
    all_sets = read_groups(folder, settings["rows"])
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        jobs = {
            name: pool.submit(measure, name, sets, settings["model"]) for name, sets in all_sets.items() if len(sets)
        }
        results = {name: job.result() for name, job in jobs.items()}
    version = read_stats(folder)["version"]
    output.write_text(
        json.dumps({name: result | {"version": version} for name, result in results.items()}, indent=1) + "\n"
    )
    output.with_suffix(".md").write_text(render_page("CREPE", output, results))


if __name__ == "__main__":
    stage.run(main)
