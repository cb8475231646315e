"""Measure how often text-only baselines select the true caption without the image (stage ``text_only``).

    python -m compeval.evaluators.validity.text_only        # writes text_only.json and text_only.md

Source: SugarCrepe (arXiv:2306.14610, section 3) showed that such baselines beat vision-language models on published
sets. The baselines are in base/text_only/baselines.py; params.yaml can add a language model. Baselines that learn
are cross-fitted over images. ``refining`` has the baselines of adversarial refinement
(base/text_only/refinement.py), and ``held_out`` baselines that it does not use.

Metrics: Recall@1 with 95 % intervals over images. Tied captions share the hit. Chance is 1/K, but a baseline
that knows nothing can be below chance: every negative is an edit of the true caption, so the scores of a set are not
independent. ``comparing`` has baselines that compare the captions of a set with each other
(base/text_only/relative_baselines.py). ``random_scorers`` is the Recall@1 of random word weights.
``pairwise_accuracy`` is the share of negatives that score lower than their true caption (chance 1/2); it shows if there
is a cue.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from compeval.base.pipeline import stage
from compeval.base.pipeline.params import read_params
from compeval.base.pipeline.workers import map_in_processes
from compeval.base.schemas.corpus_names import get_kind, parse_productivity
from compeval.base.storage import parquet
from compeval.base.text_only.baselines import (
    Baseline,
    RetrievalSets,
    measure_pairwise_accuracy,
    measure_random_recall,
    recall_at_1,
)
from compeval.base.text_only.judges import select_judges
from compeval.base.text_only.language_models import load_language_model
from compeval.evaluators.metrics.intervals import compute_share_interval
from compeval.loaders.cards.card import table
from compeval.loaders.datasets.stats import read_stats

WORKERS = 2
MEDOID = "Negatives edit different parts of the true caption, which therefore tends to differ least from the others."
BY_DESIGN = {
    "hnatom": MEDOID,
    "hncomp": (
        'Every negative joins two captions or compounds by "and"; the true caption is a single one '
        "(section 4.1 of the paper)."
    ),
    "hnall": (
        'Six of the ten negatives join two captions or compounds by "and"; the true caption is a single one.'
    ),
    "prod_hnatom": MEDOID,
    "prod_hnswap": MEDOID,
    "prod_hnneg": "Every negative contains a negation, and no true caption does (appendix A.4 of the paper).",
    "prod_hnall": "Five of the fifteen negatives contain a negation, and no true caption does.",
}
"""Kind of systematicity, or config of productivity -> why text-only baselines are not at chance on the set."""


def read(paths: Iterable[Path]) -> RetrievalSets:
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
            configs.setdefault(path.name if kind.endswith("balanced") else kind, []).append(
                path.name
            )
    return configs


def read_groups(folder: Path, max_rows: int) -> dict[str, RetrievalSets]:
    """Return group name -> retrieval sets: all rows of balanced sets, and ``max_rows`` random ones of other sets."""
    groups: dict[str, RetrievalSets] = {}
    for name, configs in group_configs(folder).items():
        sets = read(
            path for config in configs for path in sorted((folder / config).glob("*.parquet"))
        )
        groups[name] = sets if name.endswith("balanced") else sample(sets, max_rows)
    return groups


def sample(sets: RetrievalSets, max_rows: int) -> RetrievalSets:
    """Return ``max_rows`` random sets, or all if there are no more, in their order."""
    return sets.take(np.sort(np.random.default_rng(0).permutation(len(sets))[:max_rows]))


def measure_baselines(
    sets: RetrievalSets, baselines: Mapping[str, Baseline]
) -> dict[str, dict[str, Any]]:
    """Return Recall@1 with its confidence interval and the pairwise accuracy of each baseline."""
    return {
        name: describe_scores(baseline(sets), sets.images) for name, baseline in baselines.items()
    }


def describe_scores(score_NK: np.ndarray, images: Sequence[str]) -> dict[str, Any]:
    """Return Recall@1 with its confidence interval and the pairwise accuracy of scores."""
    hit_N = recall_at_1(score_NK)
    return {
        "recall@1": float(hit_N.mean()),
        "interval": compute_share_interval(hit_N, images),
        "pairwise_accuracy": float(measure_pairwise_accuracy(score_NK).mean()),
    }


def list_held_out(model: str | None) -> dict[str, Baseline]:
    """Return the held-out baselines, the language model ``model`` included."""
    if not model:
        return select_judges("held_out")
    score = load_language_model(model).score
    return {
        **select_judges("held_out"),
        "language_model": lambda sets: np.reshape(score(sets.texts), (-1, sets.size)),
    }


def measure(held_out: Mapping[str, Baseline], group: tuple[str, RetrievalSets]) -> dict[str, Any]:
    """Return all results of one group, given its name and its sets. ``held_out``: baselines by name."""
    name, sets = group
    return {
        "rows": len(sets),
        "images": len(set(sets.images)),
        "chance": sets.chance,
        "by_design": explain(name),
        "refining": measure_baselines(sets, select_judges("refining")),
        "held_out": measure_baselines(sets, held_out),
        "random_scorers": float(measure_random_recall(sets).mean()),
        "comparing": measure_baselines(sets, select_judges("comparing")),
    }


def measure_all(
    groups: Mapping[str, RetrievalSets], model: str | None
) -> dict[str, dict[str, Any]]:
    """Return the results of the groups that have sets, by name. The largest are measured first."""
    named = sorted(
        ((name, sets) for name, sets in groups.items() if len(sets)),
        key=lambda group: -len(group[1].texts),
    )
    measured = map_in_processes(
        partial(list_held_out, model), measure, named, min(WORKERS, len(named)) or 1
    )
    results = dict(zip((name for name, _ in named), measured, strict=True))
    return {name: results[name] for name in groups if name in results}


def explain(group: str) -> str | None:
    """Return why text-only baselines cannot be at chance on a group of configs; a variant has the default's reason."""
    productivity = parse_productivity(group)
    return BY_DESIGN.get(f"prod_{productivity.kind}" if productivity else group)


def render_page(title: str, file: Path, results: Mapping[str, Mapping[str, Any]]) -> str:
    """Render the results as Markdown: a table with one row per group, and a table of the chat model if there is one."""
    rows = []
    chats = []
    for name, result in results.items():
        chance = f"{result['chance']:.1%}"
        held_out, comparing, refining = (
            _describe_farthest(result, part) for part in ("held_out", "comparing", "refining")
        )
        random_recall = f"{result['random_scorers']:.1%}"
        rows.append(
            [name, result["rows"], chance, *held_out, random_recall, comparing[0], refining[0]]
        )
        if chat := result.get("chat"):
            low, high = chat["interval"]
            recall = f"{chat['recall@1']:.1%} ({low:.1%} to {high:.1%})"
            published = f"{chat['published']:.0%}"
            chats.append(
                [name, chat["asked"], chance, chat["model"], recall, published, chat["unreadable"]]
            )
    template = Path(__file__).with_name("text_only.md.j2").read_text(encoding="utf-8")
    return jinja2.Template(template, trim_blocks=True, lstrip_blocks=True).render(
        title=title,
        file=file.name,
        baselines=max(len(result["held_out"]) for result in results.values()),
        rows=rows,
        reasons=[
            f"`{name}`: {result['by_design']}"
            for name, result in results.items()
            if result["by_design"]
        ],
        chats=chats,
        table=table,
    )


def _describe_farthest(result: Mapping[str, Any], part: str) -> tuple[str, str]:
    """Return the Recall@1 that is farthest above or below chance, with its baseline, and its interval."""
    name, farthest = max(
        result[part].items(), key=lambda item: abs(item[1]["recall@1"] - result["chance"])
    )
    low, high = farthest["interval"]
    return f"{farthest['recall@1']:.1%} ({name})", f"{low:.1%} to {high:.1%}"


def main() -> None:
    folder = Path("crepe")
    settings = read_params("text_only")
    output = Path("text_only.json")
    version = {"version": read_stats(folder)["version"]}
    measured = measure_all(read_groups(folder, settings["rows"]), settings["model"])
    results = {name: result | version for name, result in measured.items()}
    output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    output.with_suffix(".md").write_text(render_page("CREPE", output, results), encoding="utf-8")


if __name__ == "__main__":
    stage.run(main)
