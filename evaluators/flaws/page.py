"""Write the page "What is wrong with compositionality benchmarks" from published files.

    python -m evaluators.flaws.page docs/flaws.json FILE ...    # measures the files that it lacks; writes the page

Writes benchmark-flaws.md and benchmark-flaws.svg next to the JSON file. A file is measured once, by its SHA-256. Shares
are fractions of 1 with 95 % intervals over images. The best rule is chosen with knowledge of the truth, out of the
baselines that take seconds (best_baselines.py), on at most ``MAX_ROWS`` random rows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import jinja2
import numpy as np
import typer

from evaluators.metrics.intervals import compute_share_interval
from evaluators.report.figures import draw
from evaluators.validity.balanced_subsets import read_sets
from evaluators.validity.best_baselines import BASELINES, SLOW_BASELINES
from generators.files.atomic import write_json
from generators.language.texts import fold_case_and_space
from generators.text_only.baselines import RetrievalSets, measure_on_pairs, recall_at_1
from generators.text_only.relative_baselines import score_medoid_of_words
from loaders.importing.identify import identify
from loaders.importing.importing import read_published
from loaders.malformed import KINDS, find_malformed
from loaders.published.balanced import LISTS, read_lists

MAX_ROWS = 300
OTHER_ROWS = "other_rows"
"""Baseline that is not measured on pairs: all pairs of a row share its truth, which leaks between them."""
TEMPLATE = Path(__file__).with_name("page.md.j2")
HUMAN_CHECKS = {
    "sugarcrepe": "negatives checked by people before release (paper)",
    "crepe_published": "8 to 30 % of negatives are true (paper's own check of samples)",
}
"""What is known of the negatives' falsehood, by benchmark."""

Measured = dict[str, Any]


def measure_file(path: Path) -> Measured:
    """Return what the page says of a published file with one set of rows."""
    read = read_published(identify(path))
    sets = read_sets(read)
    rows = next(iter(read.splits.values()))
    malformed = Counter[str]()
    flawed: dict[str, set[int]] = {kind: set() for kind in KINDS}
    for finding in find_malformed([row.texts() for row in rows]):
        if finding.candidate:
            malformed[finding.kind] += 1
            flawed[finding.kind].add(finding.row)
    texts = [tuple(map(fold_case_and_space, row.list_candidates())) for row in rows]
    seen = Counter((image, *sorted(of)) for image, of in zip(sets.images, texts, strict=True))
    identical = [len(set(of)) < len(of) for of in texts]
    repeated = [seen[image, *sorted(of)] > 1 for image, of in zip(sets.images, texts, strict=True)]
    shares: Measured = {"repeated rows": repeated, "identical texts": identical}
    shares |= {kind: [row in flawed[kind] for row in range(len(rows))] for kind in KINDS}
    sample = sets.take(np.sort(np.random.default_rng(0).permutation(len(sets))[:MAX_ROWS]))
    return {
        "benchmark": read.file.benchmark.name,
        "config": "/".join(next(iter(read.splits))).removesuffix("/test"),
        "file": read.counts.file,
        "rows": len(sets),
        "candidates": sets.size,
        "negatives": dict(malformed),
        "shares": {name: describe(np.array(hits, dtype=float), sets.images) for name, hits in shares.items()},
        "rules": measure_rules(sample),
    }


def describe(value_N: np.ndarray, images: Sequence[str]) -> Measured:
    """Return the mean of values (N) in [0, 1], its 95 % interval over images, and N."""
    low, high = compute_share_interval(value_N, images)
    return {"share": float(value_N.mean()), "interval": [low, high], "rows": len(value_N)}


def measure_rules(sets: RetrievalSets) -> Measured:
    """Return the best rule on Recall@1 and on pairs, and the medoid on both."""
    baselines = {name: baseline for name, baseline in BASELINES.items() if name not in SLOW_BASELINES}
    recall = {name: recall_at_1(baseline(sets)) for name, baseline in baselines.items()}
    pairs = {name: measure_on_pairs(sets, baseline) for name, baseline in baselines.items() if name != OTHER_ROWS}
    best = {"recall@1": max(recall, key=lambda name: recall[name].mean())}
    best["pairwise"] = max(pairs, key=lambda name: pairs[name].mean())
    hits = {"recall@1": recall[best["recall@1"]], "pairwise": pairs[best["pairwise"]]}
    rules = {key: describe(value_N, sets.images) | {"rule": best[key]} for key, value_N in hits.items()}
    medoid_N = measure_on_pairs(sets, score_medoid_of_words)
    return rules | {"medoid on pairs": describe(medoid_N, sets.images)}


def render(measured: Mapping[str, Measured], balanced: Mapping[str, Mapping[str, Any]]) -> str:
    """Render the page. ``measured`` and ``balanced``: what is known of each file, by its SHA-256."""
    lines = [make_line(item, balanced.get(sha256)) for sha256, item in measured.items()]
    text = TEMPLATE.read_text(encoding="utf-8")
    return jinja2.Template(text, trim_blocks=True, lstrip_blocks=True).render(
        lines=lines, max_rows=MAX_ROWS, rows=f"{sum(item['rows'] for item in measured.values()):,}"
    )


def make_line(item: Measured, balanced: Mapping[str, Any] | None) -> dict[str, str]:
    rules = item["rules"]
    mangled = sum(item["negatives"].get(kind, 0) for kind in KINDS)
    return {
        "set": f"{item['benchmark']}/{item['config']}".replace("/", " / "),
        "rows": f"{item['rows']:,}",
        "repeated": cell(item["shares"]["repeated rows"]),
        "identical": cell(item["shares"]["identical texts"]),
        "mangled": cell(item["shares"]["mangled word"]),
        "article": cell(item["shares"]["article"]),
        "malformed": f"{mangled:,}",
        "recall": f"{cell(rules['recall@1'])}, {rules['recall@1']['rule'].replace('_', ' ')}",
        "chance": f"{100 / item['candidates']:.1f}",
        "pairs": describe_rule(rules.get("pairwise")),
        "medoid": cell(rules["medoid on pairs"]),
        "balanced": describe_balanced(balanced),
        "people": HUMAN_CHECKS.get(item["benchmark"], "not known"),
    }


def describe_rule(entry: Measured | None) -> str:
    return f"{cell(entry)}, {entry['rule'].replace('_', ' ')}" if entry else "not measured"


def cell(entry: Measured) -> str:
    low, high = entry["interval"]
    return f"{100 * entry['share']:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def describe_balanced(entry: Mapping[str, Any] | None) -> str:
    if entry is None:
        return "not computed"
    if "kept" not in entry:
        return "no subset"
    scores = [entry[when]["unseen"] for when in ("before", "after")]
    before, after = (cell({"share": item["accuracy"], "interval": item["interval"]}) for item in scores)
    return f"{entry['pairs_kept']:,} of {entry['pairs']:,} pairs: {before} before, {after} after"


def draw_figure(measured: Mapping[str, Measured]) -> str:
    """Draw the best rule of each set on Recall@1 and on pairs, with intervals and chance."""
    items = list(measured.values())[::-1]
    heights = np.arange(len(items))

    def paint(panels: list[Any]) -> None:
        (axes,) = panels
        for key, label, shift in (("recall@1", "Recall@1", 0.15), ("pairwise", "on pairs (chance 50)", -0.15)):
            known = [item["rules"].get(key, {"share": np.nan, "interval": [np.nan, np.nan]}) for item in items]
            share = np.array([100 * entry["share"] for entry in known])
            bounds = 100 * np.array([entry["interval"] for entry in known]).T
            axes.errorbar(share, heights + shift, xerr=np.abs(bounds - share), fmt="o", markersize=4, label=label)
        axes.scatter([100 / item["candidates"] for item in items], heights, marker="|", color="#777777", label="chance")
        axes.set_xlim(0, 102)
        axes.set_xlabel("best text-only rule, %")
        axes.set_yticks(heights, [f"{item['benchmark']}/{item['config']}" for item in items])
        axes.legend(loc="lower left")

    return draw(1, paint, size=(6.5, 1 + 0.28 * len(items)))


def main(output: Path, files: Annotated[list[Path] | None, typer.Argument()] = None) -> None:
    """Measure files, and write the page from all that are measured."""
    measured: dict[str, Measured] = json.loads(output.read_text(encoding="utf-8")) if output.is_file() else {}
    for path in files or []:
        sha256 = identify(path).sha256
        if sha256 not in measured:
            measured[sha256] = measure_file(path)
            write_json(output, measured)
            typer.echo(f"{path}: measured")
    measured = dict(sorted(measured.items(), key=lambda item: (item[1]["benchmark"], item[1]["file"])))
    write_json(output, measured)
    balanced = {entry["sha256"]: entry for entry in read_lists(LISTS)}
    (output.parent / "benchmark-flaws.md").write_text(render(measured, balanced), encoding="utf-8")
    (output.parent / "benchmark-flaws.svg").write_text(draw_figure(measured), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
