"""Write the page "Flaws in the texts of CREPE and SugarCrepe" from published files.

    # measures the files that it lacks; writes the page
    python -m compeval.evaluators.flaws.page docs/flaws.json FILE ...

Writes benchmark-flaws.md and benchmark-flaws.svg next to the JSON file. The texts of a file are counted each time, its
baselines are measured once, by its SHA-256. Shares are fractions of 1 with 95 % intervals over images. The best
text-only baseline is chosen with knowledge of the truth, out of those that take seconds, on at most ``MAX_ROWS`` random
rows, and of the judges of its balanced subset. A file in the folder data_unrefined is a control: it is compared with
the file of that name in data, its neighbour.
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

from compeval.base.files.atomic import write_json
from compeval.base.text_only.baselines import RetrievalSets
from compeval.base.text_only.judges import select_audited
from compeval.base.texts import fold_case_and_space
from compeval.evaluators.metrics.intervals import compute_share_interval
from compeval.evaluators.report.figures import draw
from compeval.evaluators.validity.balanced_subsets import (
    MARGIN,
    MIN_PAIRS,
    measure_pairs,
    read_sets,
)
from compeval.evaluators.validity.best_baselines import choose_best
from compeval.loaders.datasets.sorting import natural_key
from compeval.loaders.importing.identify import identify
from compeval.loaders.importing.read_published import ReadFile, audit_splits, read_published
from compeval.loaders.malformed import KINDS, find_malformed
from compeval.loaders.published.balanced import LISTS, read_lists

MAX_ROWS = 300
OTHER_ROWS = "other_rows"
"""Baseline that is not measured on pairs: all pairs of a row share its truth, which leaks between them."""
PUBLISHED = "data"
CONTROL = "data_unrefined"
"""Folders of SugarCrepe's repository with the published rows, and those before the authors' adversarial refinement."""
TEMPLATE = Path(__file__).with_name("page.md.j2")
HUMAN_CHECKS = {"hnatom": 91.6, "hnswap": 70.1, "hnneg": 72.4}
"""Percent of a sample of negatives that are false, by kind. Source: CREPE (arXiv:2212.07796), Table 7."""

COLOURS = {"recall@1": "#0072b2", "pairwise": "#d55e00"}
TITLES = {"crepe_published": "CREPE", "sugarcrepe": "SugarCrepe"}
FORM = ("capital", "final stop", "unordered", "truth", "case")
"""Flaws of form that the page counts (loaders/audit.py)."""
KIND_NAMES = {
    "seen": "trained on other images",
    "unseen": "trained on other images",
    "cues": "not trained",
    "removed": "trained on removed pairs",
    "siblings": "trained on other files",
    "corpus": "trained on captions of CC3M",
}
"""Kinds of judges (evaluators/validity/balanced_subsets.py) on the page."""

Measured = dict[str, Any]


def measure_texts(read: ReadFile) -> Measured:
    """Return the counts of a published file with one set of rows."""
    sets = read_sets(read)
    (((config, split), rows),) = read.splits.items()
    findings = Counter[str]()
    flawed: dict[str, set[int]] = {kind: set() for kind in KINDS}
    negatives: set[tuple[int, int]] = set()
    for finding in find_malformed([row.texts() for row in rows]):
        if finding.candidate:
            findings[finding.kind] += 1
            flawed[finding.kind].add(finding.row)
            negatives.add((finding.row, finding.candidate))
    texts = [tuple(map(fold_case_and_space, row.list_candidates())) for row in rows]
    shares: Measured = {"identical texts": [len(set(of)) < len(of) for of in texts]}
    shares |= {kind: [row in flawed[kind] for row in range(len(rows))] for kind in KINDS}
    (audit,) = audit_splits(read.splits).values()
    return {
        "benchmark": read.file.benchmark.name,
        "config": f"{config}/{split}".removesuffix("/test"),
        "file": read.counts.file,
        "is_control": read.file.path.parent.name == CONTROL,
        "rows": len(sets),
        "candidates": sets.size,
        "malformed negatives": len(negatives),
        "findings": dict(findings),
        "form": {name: audit.flaws[name] for name in FORM if audit.flaws[name]},
        "shares": {
            name: describe(np.array(hits, dtype=float), sets.images)
            for name, hits in shares.items()
        },
    }


def measure_file(path: Path) -> Measured:
    """Return the text-only baselines of a published file, which take minutes, and of a control the comparison."""
    sets = read_sets(read_published(identify(path)))
    measured: Measured = {"baselines": measure_baselines(draw_rows(sets, MAX_ROWS))}
    return measured | ({"control": measure_control(path)} if path.parent.name == CONTROL else {})


def measure_control(path: Path) -> Measured:
    """Return the best baselines on a published and on its unrefined file, on equally many random rows of both.

    The baselines are those of balanced subsets, which are trained on other images of the same rows.
    """
    sets = {
        folder: read_sets(read_published(identify(path.parent.parent / folder / path.name)))
        for folder in (PUBLISHED, CONTROL)
    }
    rows = min(map(len, sets.values()))
    return {"rows": rows} | {
        folder: measure_pairs(draw_rows(of, rows)) for folder, of in sets.items()
    }


def draw_rows(sets: RetrievalSets, count: int) -> RetrievalSets:
    """Return at most ``count`` random rows, in order."""
    return sets.take(np.sort(np.random.default_rng(0).permutation(len(sets))[:count]))


def describe(value_N: np.ndarray, images: Sequence[str]) -> Measured:
    """Return the mean of values (N) in [0, 1], its 95 % interval over images, and N."""
    low, high = compute_share_interval(value_N, images)
    return {"share": float(value_N.mean()), "interval": [low, high], "rows": len(value_N)}


def measure_baselines(sets: RetrievalSets) -> Measured:
    """Return the best baseline on Recall@1 and on pairs."""
    baselines = select_audited(with_slow=False)
    on_pairs = {name: baseline for name, baseline in baselines.items() if name != OTHER_ROWS}
    best = {
        "recall@1": choose_best(sets, baselines),
        "pairwise": choose_best(sets, on_pairs, on_pairs=True),
    }
    return {
        key: {
            "share": item.recall,
            "interval": [*item.interval],
            "rows": item.rows,
            "baseline": item.name,
        }
        for key, item in best.items()
    }


def find_best(item: Measured, entry: Mapping[str, Any], key: str) -> Measured:
    """Return the best text-only baseline that was measured on a file, here or before its pairs were selected.

    ``key``: ``recall@1``, or ``pairwise``, which is the same for a file with one negative a row. ``entry`` is that of
    the balanced subset, or {}.
    """
    baselines = [item["baselines"][key]]
    if key == "pairwise" or item["candidates"] == 2:
        refinement_scores = [
            *entry.get("before", {}).values(),
            *([entry["excluded_by"]] if "excluded_by" in entry else []),
        ]
        baselines += [{**scores, "share": scores["accuracy"]} for scores in refinement_scores]
    return max(baselines, key=lambda baseline: baseline["share"])


def name_set(item: Measured) -> str:
    """Return the name of a set: "CREPE hnatom, n = 4", "SugarCrepe swap_att"."""
    config = item["config"].removeprefix("prod_").replace("/n", ", n = ")
    return f"{TITLES.get(item['benchmark'], item['benchmark'])} {config}"


def select_best_after(entry: Mapping[str, Any]) -> Measured | None:
    """Return the best judge after refinement, with its kind; None if no pairs were selected."""
    after = entry.get("after", {})
    kind = max(after, key=lambda kind: after[kind]["accuracy"], default=None)
    return after[kind] | {"kind": KIND_NAMES[kind]} if kind else None


def render(
    measured: Mapping[str, Measured], balanced: Sequence[Mapping[str, Any]], date: str = ""
) -> str:
    """Render the page. ``measured``: what is known of each file, by its SHA-256; ``balanced``: entries of subsets."""
    by_hash = {entry.get("sha256"): entry for entry in balanced}
    items = [
        item
        | {"name": name_set(item)}
        | {key: find_best(item, by_hash.get(sha256, {}), key) for key in ("recall@1", "pairwise")}
        for sha256, item in measured.items()
    ]
    names = {sha256: name_set(item) for sha256, item in measured.items()}
    sizes = sorted({item["candidates"] for item in measured.values()}, reverse=True)
    template = jinja2.Template(
        TEMPLATE.read_text(encoding="utf-8"), trim_blocks=True, lstrip_blocks=True
    )
    return template.render(
        items=items,
        chances=[f"{100 / size:.1f}" for size in sizes],
        balanced=[
            {
                **entry,
                "name": names.get(entry.get("sha256", ""), ""),
                "best_after": select_best_after(entry),
            }
            for entry in _sort_as(balanced, list(measured))
        ],
        max_rows=MAX_ROWS,
        margin=MARGIN,
        min_pairs=MIN_PAIRS,
        human_checks=HUMAN_CHECKS,
        date=date,
    )


def _sort_as(
    entries: Sequence[Mapping[str, Any]], hashes: Sequence[str]
) -> list[Mapping[str, Any]]:
    """Return the entries of balanced subsets in the order of the files, those of other files last."""
    order = {sha256: number for number, sha256 in enumerate(hashes)}
    return sorted(entries, key=lambda entry: order.get(entry.get("sha256", ""), len(order)))


def draw_figure(
    measured: Mapping[str, Measured], balanced: Sequence[Mapping[str, Any]] = ()
) -> str:
    """Draw the best text-only baseline on each set on Recall@1 and on pairs, with intervals and both chance levels."""
    by_hash = {entry.get("sha256"): entry for entry in balanced}
    named = [(sha, item) for sha, item in measured.items() if not item["is_control"]][::-1]
    items = [item for _, item in named]
    heights = np.arange(len(items))

    def paint(panels: list[Any]) -> None:
        (axes,) = panels
        for key, label, shift in (
            ("recall@1", "all captions of a row", 0.15),
            ("pairwise", "pairs", -0.15),
        ):
            baselines = [find_best(item, by_hash.get(sha, {}), key) for sha, item in named]
            share = np.array([100 * entry["share"] for entry in baselines])
            bounds = 100 * np.array([entry["interval"] for entry in baselines]).T
            axes.errorbar(
                share,
                heights + shift,
                xerr=np.abs(bounds - share),
                fmt="o",
                markersize=4,
                color=COLOURS[key],
                label=label,
            )
        chance = [100 / item["candidates"] for item in items]
        bar = {"marker": "|", "s": 60, "linewidths": 1.5}
        axes.scatter(chance, heights + 0.15, color=COLOURS["recall@1"], label="chance", **bar)
        axes.scatter(
            [50] * len(items),
            heights - 0.15,
            color=COLOURS["pairwise"],
            label="chance, pairs",
            **bar,
        )
        axes.set_xlim(0, 102)
        axes.set_xlabel("best text-only baseline, %")
        axes.set_yticks(heights, [name_set(item) for item in items])
        axes.legend(loc="upper right", bbox_to_anchor=(1, -0.1), ncols=2)

    # As wide as a phone, so that the letters are not made smaller there.
    return draw(1, paint, size=(4.6, 1.4 + 0.28 * len(items)))


def main(
    output: Path,
    files: Annotated[list[Path] | None, typer.Argument()] = None,
    date: Annotated[str, typer.Option()] = "",
) -> None:
    """Measure files, and write the page from all that are measured. ``--date`` is that of the measurement."""
    measured: dict[str, Measured] = (
        json.loads(output.read_text(encoding="utf-8")) if output.is_file() else {}
    )
    for path in files or []:
        read = read_published(identify(path))
        earlier = measured.get(read.file.sha256, {})
        costly = {key: earlier[key] for key in ("baselines", "control") if key in earlier}
        measured[read.file.sha256] = measure_texts(read) | (costly or measure_file(path))
        write_json(output, measured)
        typer.echo(f"{path}: measured")
    measured = dict(
        sorted(
            measured.items(), key=lambda item: (item[1]["benchmark"], natural_key(item[1]["file"]))
        )
    )
    write_json(output, measured)
    balanced = read_lists(LISTS)
    page = output.parent / "benchmark-flaws.md"
    page.write_text(render(measured, balanced, date), encoding="utf-8")
    page.with_suffix(".svg").write_text(draw_figure(measured, balanced), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
