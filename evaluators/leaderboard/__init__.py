"""Build a leaderboard: one self-contained page, and its table as CSV, parquet and LaTeX (``compeval leaderboard``).

    build([Path("results")], Path("leaderboard"))

The page works from a file without a network: DataTables (of the package itables) sorts and searches the table,
Vega-Lite (of vl-convert) draws the figure, and both are part of the page.
"""

from __future__ import annotations

import base64
import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from evaluators.leaderboard.scores import BenchmarkScores, make_benchmarks
from evaluators.report.examples import Example, load_split, make_choice_examples, read_frames
from evaluators.report.pages import render
from evaluators.report.results import PARTS, Result, Results, read_results, split_parts
from evaluators.report.tables import Table, format_percent, format_with_interval, make_table, to_csv, to_latex

FOLDER = Path(__file__).parent
ABOUT = ("family", "parameters", "date", "training_data", "text_only")
"""Columns that a file about models may have, next to ``model``."""
EXAMPLES_PER_BENCHMARK = 8
EXTRA = "Install what the leaderboard needs: pip install 'compeval[leaderboard]'"


def build(folders: Sequence[Path], output: Path, data_dir: Path | None = None, about: Path | None = None) -> Path:
    """Write the leaderboard of all results in the folders and return the path of its page.

    ``about``: CSV with the column ``model`` and any of ABOUT. Raises ValueError if the results are of drawn scenes and
    of photographs, since these must not be in one table, or if there is no benchmark.
    """
    bundles = _read_bundles()
    results = read_results(folders)
    parts = split_parts(results)
    if len(parts) > 1:
        names = ", ".join(PARTS[name].lower() for name in parts)
        raise ValueError(
            f"The results are of {names}, which must not be in one leaderboard. Name one folder of results."
        )
    benchmarks = make_benchmarks(results)
    if not benchmarks:
        raise ValueError(f"{', '.join(map(str, folders))}: no complete result of a benchmark.")
    models = make_models(results, benchmarks, read_about(about) if about else {})
    table = make_models_table(models, benchmarks)
    output.mkdir(parents=True, exist_ok=True)
    (output / "leaderboard.csv").write_text(to_csv(Table("leaderboard", table.caption, models)), encoding="utf-8")
    models.to_parquet(output / "leaderboard.parquet", index=False)
    (output / "leaderboard.tex").write_text(to_latex(table), encoding="utf-8")
    context = {
        "benchmarks": make_benchmarks_table(benchmarks),
        "table": table,
        "models": list(models["model"]),
        "is_synthetic": any(result.is_synthetic for result in results),
        "chart": make_chart(models, benchmarks),
        "examples": list(collect_examples(benchmarks, data_dir)),
        **bundles,
    }
    page = output / "index.html"
    page.write_text(render("leaderboard.html.j2", FOLDER, **context), encoding="utf-8")
    return page


def read_about(path: Path) -> dict[str, dict[str, str]]:
    """Return model -> column -> value. Raises ValueError if a column is unknown or ``model`` is missing."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        columns = reader.fieldnames or []
        if "model" not in columns or set(columns) - {"model", *ABOUT}:
            raise ValueError(
                f"{path}: its columns are {', '.join(columns)}; expected model and any of {', '.join(ABOUT)}."
            )
        return {row["model"]: {name: row[name] or "" for name in columns if name != "model"} for row in reader}


def make_models(
    results: Results, benchmarks: Sequence[BenchmarkScores], about: Mapping[str, Mapping[str, str]]
) -> pd.DataFrame:
    """Return one row per model with a score, best mean first. Shares are fractions of 1."""
    first_results = {result.model: result for result in reversed(results)}
    rows = []
    for name in sorted({name for benchmark in benchmarks for name in benchmark.scores}):
        result = first_results[name]
        known = dict.fromkeys(ABOUT, "") | describe_model(result)
        known |= {key: value for key, value in about.get(name, {}).items() if value}
        mean = average(name, [benchmark for benchmark in benchmarks if not benchmark.is_recognition])
        row: dict[str, Any] = {"model": name, **known, "contaminated": result.data["model"]["contaminated"] or ""}
        row["mean"] = mean
        row["mean low"], row["mean high"] = find_mean_interval(mean, name, benchmarks)
        for benchmark in benchmarks:
            score = benchmark.scores.get(name)
            values = (score.share, *score.interval, score.rank) if score else (None,) * 4
            columns = (f"{benchmark.name}{part}" for part in ("", " low", " high", " rank"))
            row |= dict(zip(columns, values, strict=True))
        rows.append(row)
    models = pd.DataFrame(rows).astype({f"{benchmark.name} rank": "Int64" for benchmark in benchmarks})
    return models.sort_values(["mean", "model"], ascending=[False, True], ignore_index=True)


def describe_model(result: Result) -> dict[str, str]:
    """Return the family and the training data that the name of a model contains."""
    model = result.data["model"]
    backend, _, rest = model["spec"].rpartition(":")
    architecture, _, tag = rest.partition("/")
    training_data = result.training_data if model["corpus"] or backend else tag
    return {"family": backend or architecture, "training_data": training_data}


def average(model: str, benchmarks: Sequence[BenchmarkScores]) -> float:
    """Return the unweighted mean score over the benchmarks, NaN if the model lacks one."""
    scores = [benchmark.scores[model].share for benchmark in benchmarks if model in benchmark.scores]
    return sum(scores) / len(scores) if scores and len(scores) == len(benchmarks) else float("nan")


def find_mean_interval(
    mean: float, model: str, benchmarks: Sequence[BenchmarkScores]
) -> tuple[float, float] | tuple[None, None]:
    """Return the 95 % interval of a mean over benchmarks of composition whose images are independent of each other."""
    if mean != mean:
        return None, None
    intervals = [benchmark.scores[model].interval for benchmark in benchmarks if not benchmark.is_recognition]
    half = sum(((high - low) / 2) ** 2 for low, high in intervals) ** 0.5 / len(intervals)
    return max(0.0, mean - half), min(1.0, mean + half)


def make_models_table(models: pd.DataFrame, benchmarks: Sequence[BenchmarkScores]) -> Table:
    """Make the table of the page: the score of each model with its rank and interval on each benchmark."""
    records = []
    for row in models.to_dict("records"):
        mean = format_with_interval(row["mean"], (row["mean low"], row["mean high"]))
        record = {"Model": row["model"] + (" *" if row["contaminated"] else "")}
        record |= {name.replace("_", " ").capitalize(): row[name] or None for name in ABOUT}
        record |= {"Contamination": row["contaminated"] or None, "Mean": mean}
        for benchmark in benchmarks:
            name, mark = benchmark.name, f" #{row[f'{benchmark.name} rank']}"
            interval = (row[f"{name} low"], row[f"{name} high"])
            heading = f"{name} (chance {format_percent(benchmark.chance)})"
            record[heading] = format_with_interval(row[name], interval, mark=mark)
        records.append(record)
    return make_table("leaderboard", records)


def make_benchmarks_table(benchmarks: Sequence[BenchmarkScores]) -> Table:
    records = [
        vars(benchmark)
        | {"measures": "recognition" if benchmark.is_recognition else "composition"}
        | {"tasks": ", ".join(benchmark.tasks), "models": len(benchmark.scores)}
        for benchmark in benchmarks
    ]
    return make_table("leaderboard_benchmarks", records)


def find_pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the indices of the points that no other point dominates, by increasing x."""
    best, front = float("-inf"), []
    for index in sorted(range(len(points)), key=lambda index: (-points[index][0], -points[index][1])):
        if points[index][1] > best:
            best = points[index][1]
            front.append(index)
    return front[::-1]


def make_chart(models: pd.DataFrame, benchmarks: Sequence[BenchmarkScores]) -> dict[str, Any] | None:
    """Return the Vega-Lite figure of composition against recognition. None if no model has both."""
    recognition = [benchmark for benchmark in benchmarks if benchmark.is_recognition]
    points = pd.DataFrame(
        {
            "model": models["model"],
            "training data": models["training_data"],
            "composition": 100 * models["mean"],
            "recognition": [100 * average(model, recognition) for model in models["model"]],
        }
    ).dropna()
    if points.empty:
        return None
    front = find_pareto_front(list(zip(points["recognition"], points["composition"], strict=True)))
    points["on the front"] = np.where(np.isin(np.arange(len(points)), front), "yes", "no")
    chart = yaml.safe_load((FOLDER / "chart.yaml").read_text(encoding="utf-8"))
    return chart | {"data": {"values": points.to_dict("records")}}


def collect_examples(benchmarks: Sequence[BenchmarkScores], data_dir: Path | None) -> Iterator[Example]:
    """Yield the rows with hard negatives of each benchmark on which the models disagree most."""
    for benchmark in benchmarks:
        for task, by_model in benchmark.results.items():
            results = list(by_model.values())
            if results[0].data["protocol"] == "choice":
                frames = read_frames(results)
                hits_N = np.mean([rows["rank"] == 1 for rows in frames.values()], axis=0)
                order = np.argsort(np.abs(hits_N - 0.5), kind="stable")
                count = max(1, EXAMPLES_PER_BENCHMARK // len(benchmark.tasks))
                rows = next(iter(frames.values())).index[order[:count]]
                yield from make_choice_examples(task, frames, list(rows), load_split(results[0], data_dir))


@cache
def _read_bundles() -> dict[str, str]:
    """Return the libraries that the page contains. Raises ModuleNotFoundError with the command that installs them."""
    try:
        import itables
        import vl_convert
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{error.name} is not installed. {EXTRA}", name=error.name) from None
    datatables = Path(itables.__file__).parent / "html" / "dt_bundle.js"
    return {
        "vega": vl_convert.javascript_bundle().replace("</script", "<\\/script"),  # pyright: ignore[reportCallIssue]
        "datatables": base64.b64encode(datatables.read_bytes()).decode(),
    }
