"""Write the page "What is wrong with compositionality benchmarks" from published files.

    # measures the files that it lacks; writes the page
    python -m compeval.evaluators.flaws.page docs/flaws.json FILE ...

Writes benchmark-flaws.md and benchmark-flaws.svg next to the JSON file. A file is measured once, by its SHA-256. Shares
are fractions of 1 with 95 % intervals over images. The best text-only baseline is chosen with knowledge of the truth,
out of those that take seconds (best_baselines.py), on at most ``MAX_ROWS`` random rows. A file in the folder
data_unrefined is a control: it is compared with the file of that name in data, its neighbour.
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
from compeval.base.text_only.relative_baselines import score_medoid_of_words
from compeval.base.texts import fold_case_and_space
from compeval.evaluators.metrics.intervals import compute_share_interval
from compeval.evaluators.report.figures import draw
from compeval.evaluators.validity.balanced_subsets import measure_pairs, read_sets
from compeval.evaluators.validity.best_baselines import FAST_BASELINES, choose_best
from compeval.loaders.datasets.natural import natural_key
from compeval.loaders.importing.identify import identify
from compeval.loaders.importing.importing import read_published
from compeval.loaders.malformed import KINDS, find_malformed
from compeval.loaders.published.balanced import LISTS, read_lists

MAX_ROWS = 300
OTHER_ROWS = "other_rows"
"""Baseline that is not measured on pairs: all pairs of a row share its truth, which leaks between them."""
PUBLISHED, CONTROL = "data", "data_unrefined"
"""Folders of SugarCrepe's repository with the published rows, and those before the authors' adversarial refinement."""
TEMPLATE = Path(__file__).with_name("page.md.j2")
HUMAN_CHECKS = {
    f"crepe_published/prod_{kind}": f"{share} % of a sample are (CREPE, Table 7)"
    for kind, share in (("hnatom", 91.6), ("hnswap", 70.1), ("hnneg", 72.4))
}
"""What is known of the negatives' falsehood, by config. Source: CREPE (arXiv:2212.07796), appendix A.5."""

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
    is_control = path.parent.name == CONTROL
    return {
        "benchmark": read.file.benchmark.name,
        "config": "/".join(next(iter(read.splits))).removesuffix("/test"),
        "file": read.counts.file,
        "is_control": is_control,
        "rows": len(sets),
        "candidates": sets.size,
        "negatives": dict(malformed),
        "shares": {
            name: describe(np.array(hits, dtype=float), sets.images)
            for name, hits in shares.items()
        },
        "baselines": measure_baselines(draw_rows(sets, MAX_ROWS)),
        **({"control": measure_control(path)} if is_control else {}),
    }


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
    """Return the best baseline on Recall@1 and on pairs, and the medoid on pairs."""
    on_pairs = {name: baseline for name, baseline in FAST_BASELINES.items() if name != OTHER_ROWS}
    best = {
        "recall@1": choose_best(sets, FAST_BASELINES),
        "pairwise": choose_best(sets, on_pairs, on_pairs=True),
        "medoid on pairs": choose_best(
            sets, {"medoid_of_words": score_medoid_of_words}, on_pairs=True
        ),
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


def render(measured: Mapping[str, Measured], balanced: Sequence[Mapping[str, Any]]) -> str:
    """Render the page. ``measured``: what is known of each file, by its SHA-256; ``balanced``: entries of subsets."""
    items = list(measured.values())
    template = jinja2.Template(
        TEMPLATE.read_text(encoding="utf-8"), trim_blocks=True, lstrip_blocks=True
    )
    return template.render(
        items=items, balanced=balanced, max_rows=MAX_ROWS, human_checks=HUMAN_CHECKS
    )


def draw_figure(measured: Mapping[str, Measured]) -> str:
    """Draw the best text-only baseline on each set on Recall@1 and on pairs, with intervals and chance."""
    items = [item for item in measured.values() if not item["is_control"]][::-1]
    heights = np.arange(len(items))

    def paint(panels: list[Any]) -> None:
        (axes,) = panels
        for key, label, shift in (
            ("recall@1", "Recall@1", 0.15),
            ("pairwise", "on pairs (chance 50)", -0.15),
        ):
            known = [item["baselines"][key] for item in items]
            share = np.array([100 * entry["share"] for entry in known])
            bounds = 100 * np.array([entry["interval"] for entry in known]).T
            axes.errorbar(
                share,
                heights + shift,
                xerr=np.abs(bounds - share),
                fmt="o",
                markersize=4,
                label=label,
            )
        axes.scatter(
            [100 / item["candidates"] for item in items],
            heights,
            marker="|",
            color="#777777",
            label="chance",
        )
        axes.set_xlim(0, 102)
        axes.set_xlabel("best text-only baseline, %")
        axes.set_yticks(heights, [f"{item['benchmark']}/{item['config']}" for item in items])
        axes.legend(loc="lower left")

    return draw(1, paint, size=(6.5, 1 + 0.28 * len(items)))


def main(output: Path, files: Annotated[list[Path] | None, typer.Argument()] = None) -> None:
    """Measure files, and write the page from all that are measured."""
    measured: dict[str, Measured] = (
        json.loads(output.read_text(encoding="utf-8")) if output.is_file() else {}
    )
    for path in files or []:
        sha256 = identify(path).sha256
        if sha256 not in measured:
            measured[sha256] = measure_file(path)
            write_json(output, measured)
            typer.echo(f"{path}: measured")
    measured = dict(
        sorted(
            measured.items(), key=lambda item: (item[1]["benchmark"], natural_key(item[1]["file"]))
        )
    )
    write_json(output, measured)
    text = render(measured, read_lists(LISTS))
    (output.parent / "benchmark-flaws.md").write_text(text, encoding="utf-8")
    (output.parent / "benchmark-flaws.svg").write_text(draw_figure(measured), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
