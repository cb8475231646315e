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

from evaluators.leaderboard.published import Published, describe_published, find_places, find_published, get_aliases
from evaluators.leaderboard.scores import BenchmarkScores, make_benchmarks
from evaluators.report.examples import Example, load_split, make_choice_examples, read_frames
from evaluators.report.pages import render
from evaluators.report.results import PARTS, Result, Results, read_results, split_parts
from evaluators.report.tables import MISSING, Table, format_percent, format_with_interval, make_table, to_csv, to_latex

FOLDER = Path(__file__).parent
ABOUT = ("family", "parameters", "date", "training_data", "text_only")
"""Columns that a file about models may have, next to ``model``."""
EXAMPLES_PER_BENCHMARK = 8
NOT_RANKED = "†"
EXTRA = "Install what the leaderboard needs: pip install 'compeval[leaderboard]'"


def build(
    folders: Sequence[Path],
    output: Path,
    data_dir: Path | None = None,
    about: Path | None = None,
    *,
    with_published: bool = True,
) -> Path:
    """Write the leaderboard of all results in the folders and return the path of its page.

    Published models with a comparable score are next to one's own, unless the results are on drawn scenes. ``about``:
    CSV with the column ``model`` and any of ABOUT. Raises ValueError if the results are of drawn scenes and of
    photographs, since these must not be in one table, or if there is no benchmark.
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
    is_synthetic = any(result.is_synthetic for result in results)
    published = {
        benchmark.name: find_published(benchmark) if with_published and not is_synthetic else Published()
        for benchmark in benchmarks
    }
    models = make_models(results, benchmarks, published, read_about(about) if about else {})
    table = make_models_table(models, benchmarks, published)
    output.mkdir(parents=True, exist_ok=True)
    (output / "leaderboard.csv").write_text(to_csv(Table("leaderboard", table.caption, models)), encoding="utf-8")
    models.to_parquet(output / "leaderboard.parquet", index=False)
    (output / "leaderboard.tex").write_text(to_latex(table), encoding="utf-8")
    own = list(models["model"][models["published"] == ""])
    context = {
        "benchmarks": make_benchmarks_table(benchmarks),
        "table": table,
        "models": own,
        "is_synthetic": is_synthetic,
        "own": len(own),
        "sources": make_sources_table(published),
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
    results: Results,
    benchmarks: Sequence[BenchmarkScores],
    published: Mapping[str, Published],
    about: Mapping[str, Mapping[str, str]],
) -> pd.DataFrame:
    """Return one row per model with a score, best mean first. Shares are fractions of 1.

    Published models have no intervals and ranks. The place of a score is among one's own and the published models; it
    is missing if the score cannot be ranked with them.
    """
    first_results = {result.model: result for result in reversed(results)}
    rows = [
        _make_own_row(first_results[name], benchmarks, about.get(name, {}))
        for name in sorted({name for benchmark in benchmarks for name in benchmark.scores})
    ]
    rows += _make_published_rows(benchmarks, published)
    for benchmark in benchmarks:
        own = {name: score.share for name, score in benchmark.scores.items()}
        comparable = published[benchmark.name].comparable
        places = find_places(own, comparable) if comparable else {}
        for row in rows:
            row[f"{benchmark.name} place"], row[f"{benchmark.name} models"] = places.get(row["model"], (None, None))
    counts = [f"{benchmark.name} {part}" for benchmark in benchmarks for part in ("rank", "place", "models")]
    models = pd.DataFrame(rows).astype(dict.fromkeys(counts, "Int64"))
    columns = ["mean", *(benchmark.name for benchmark in benchmarks), "model"]
    return models.sort_values(columns, ascending=[*[False] * (len(columns) - 1), True], ignore_index=True)


def _make_own_row(result: Result, benchmarks: Sequence[BenchmarkScores], about: Mapping[str, str]) -> dict[str, Any]:
    name = result.model
    described = describe_published()
    known = dict.fromkeys(ABOUT, "") | describe_model(result)
    for texts in (*(described.get(alias, {}) for alias in get_aliases(result)), about):
        known |= {key: value for key, value in texts.items() if value}
    mean = average({item.name: item.scores[name].share for item in benchmarks if name in item.scores}, benchmarks)
    row: dict[str, Any] = {"model": name, **known, "contaminated": result.data["model"]["contaminated"] or ""}
    low, high = find_mean_interval(mean, name, benchmarks)
    row |= {"published": "", "mean": mean, "mean low": low, "mean high": high}
    for benchmark in benchmarks:
        score = benchmark.scores.get(name)
        values = (score.share, *score.interval, score.rank) if score else (None,) * 4
        columns = (f"{benchmark.name}{part}" for part in ("", " low", " high", " rank"))
        row |= dict(zip(columns, values, strict=True))
    return row


def _make_published_rows(
    benchmarks: Sequence[BenchmarkScores], published: Mapping[str, Published]
) -> Iterator[dict[str, Any]]:
    """Yield a row for each published model with a comparable score. Its mean is over comparable scores only."""
    described = describe_published()
    for name in sorted({name for item in published.values() for name in item.comparable}):
        row: dict[str, Any] = {"model": name, **dict.fromkeys(ABOUT, ""), **described.get(name, {}), "contaminated": ""}
        shares = {title: item.comparable[name] for title, item in published.items() if name in item.comparable}
        row |= {"published": "yes", "mean": average(shares, benchmarks)}
        for benchmark in benchmarks:
            item = published[benchmark.name]
            row[benchmark.name] = item.comparable.get(name, item.others.get(name))
        yield row


def describe_model(result: Result) -> dict[str, str]:
    """Return the family and the training data that the name of a model contains."""
    model = result.data["model"]
    backend, _, rest = model["spec"].rpartition(":")
    architecture, _, tag = rest.partition("/")
    training_data = result.training_data if model["corpus"] or backend else tag
    return {"family": backend or architecture, "training_data": training_data}


def average(shares: Mapping[str, float], benchmarks: Sequence[BenchmarkScores]) -> float:
    """Return the unweighted mean of a model's scores on the benchmarks of composition, NaN if it lacks one."""
    scores = [shares.get(benchmark.name, float("nan")) for benchmark in benchmarks if not benchmark.is_recognition]
    return sum(scores) / len(scores) if scores else float("nan")


def find_mean_interval(
    mean: float, model: str, benchmarks: Sequence[BenchmarkScores]
) -> tuple[float, float] | tuple[None, None]:
    """Return the 95 % interval of a mean over benchmarks of composition whose images are independent of each other."""
    if np.isnan(mean):
        return None, None
    intervals = [benchmark.scores[model].interval for benchmark in benchmarks if not benchmark.is_recognition]
    half = sum(((high - low) / 2) ** 2 for low, high in intervals) ** 0.5 / len(intervals)
    return max(0.0, mean - half), min(1.0, mean + half)


def make_models_table(
    models: pd.DataFrame, benchmarks: Sequence[BenchmarkScores], published: Mapping[str, Published]
) -> Table:
    """Make the table of the page: the score of each model on each benchmark, with its rank, interval and place."""
    records = []
    rows: list[dict[str, Any]] = models.to_dict("records")  # pyright: ignore[reportAssignmentType]
    for row in rows:
        record = {"Model": row["model"] + (" *" if row["contaminated"] else ""), "Published": row["published"] or None}
        record |= {name.replace("_", " ").capitalize(): row[name] or None for name in ABOUT}
        bounds = (row["mean low"], row["mean high"])
        mean = format_percent(row["mean"]) if row["published"] else format_with_interval(row["mean"], bounds)
        record |= {"Contamination": row["contaminated"] or None, "Mean": mean}
        for benchmark in benchmarks:
            heading = f"{benchmark.name} (chance {format_percent(benchmark.chance)})"
            record[heading] = format_score(row, benchmark.name)
        records.append(record)
    reasons = [f"{name}: {reason}" for name, item in published.items() if item.others for reason in item.reasons]
    note = f"{NOT_RANKED} cannot be ranked with one's own models ({'; '.join(reasons)})." if reasons else ""
    return make_table("leaderboard", records, note=note)


def format_score(row: Mapping[str, Any], name: str) -> str:
    """Format, for example, "95.0 #1 [88.0, 98.0] (3 of 203)", or "61.2 (88 of 203)" for a published model."""
    if pd.isna(row[name]):
        return MISSING
    position, count, rank = (row[f"{name} {part}"] for part in ("place", "models", "rank"))
    place = "" if pd.isna(position) else f"({position} of {count})"
    if row["published"]:
        return f"{format_percent(row[name])} {place or f'({NOT_RANKED})'}"
    interval = (row[f"{name} low"], row[f"{name} high"])
    return f"{format_with_interval(row[name], interval, mark=f' #{rank}')} {place}".strip()


def make_sources_table(published: Mapping[str, Published]) -> Table:
    """Make the table of models whose published scores differ between two sources."""
    records = [
        {
            "Model": first.model,
            "Task": first.task,
            "Metric": first.metric,
            "First source": f"{first.percent:.1f} ({first.source})",
            "Other source": f"{other.percent:.1f} ({other.source})",
            "Cause": cause or "unknown",
        }
        for item in published.values()
        for first, other, cause in item.disagreements
    ]
    return make_table("leaderboard_sources", records)


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
            "recognition": 100 * models[[benchmark.name for benchmark in recognition]].mean(axis=1, skipna=False),
            "published": models["published"],
        }
    ).dropna()
    if not recognition or points.empty:
        return None
    points = points.sort_values("published", kind="stable", ignore_index=True)
    own = points[points["published"] == ""]
    front = find_pareto_front(list(zip(own["recognition"], own["composition"], strict=True)))
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
