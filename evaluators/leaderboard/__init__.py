"""Build a leaderboard: one self-contained page, and its table as CSV, parquet and LaTeX (``compeval leaderboard``).

    build([Path("results")], Path("leaderboard"))
    build_published(Path("leaderboard"))

The page works from a file without a network: DataTables (of the package itables) sorts and searches the table,
Vega-Lite (of vl-convert) draws the figure, and both are part of the page.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from compeval.base.files import csv_tables
from compeval.evaluators.leaderboard.published import (
    Published,
    describe_published,
    find_published,
    get_aliases,
    measure_ties,
)
from compeval.evaluators.leaderboard.published_page import (
    choose_averaged,
    make_columns,
    make_columns_table,
)
from compeval.evaluators.leaderboard.published_page import make_models as make_published_models
from compeval.evaluators.leaderboard.published_page import make_models_table as make_published_table
from compeval.evaluators.leaderboard.scores import BenchmarkScores, make_benchmarks
from compeval.evaluators.report.examples import (
    Example,
    load_split,
    make_choice_examples,
    read_frames,
)
from compeval.evaluators.report.pages import render
from compeval.evaluators.report.results import PARTS, Result, Results, read_results, split_parts
from compeval.evaluators.report.tables import (
    MISSING,
    Table,
    format_percent,
    format_with_interval,
    make_table,
    to_csv,
    to_latex,
)
from compeval.evaluators.results.ranks import DECIMALS
from compeval.evaluators.results.scores import describe_missing
from compeval.evaluators.results.task_names import explain_names
from compeval.evaluators.validity.best_baselines import find_best_of_results

FOLDER = Path(__file__).parent
ABOUT = ("family", "parameters", "date", "training_data", "text_only")
"""Columns that a file about models may have, next to ``model``."""
EXAMPLES_PER_BENCHMARK = 8
NOT_RANKED = "†"
SCORE = ("", " low", " high", " rank")
PLACE = (" place", " best place", " models")
"""Suffixes of a benchmark's columns; the prefix is its name. The best place is that with ties right."""
COUNTED = " counted"
"""Suffix of the column with the scores that count for a mean."""
TEXT_ONLY = " text-only"
"""Suffix of the column with the best text-only baseline, the same in each row."""
NOT_ABOVE_TEXTS = "‡"
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
    _read_bundles()  # before the work: the extra may be missing
    results, benchmarks = read_benchmarks(folders, data_dir)
    is_synthetic = any(result.is_synthetic for result in results)
    published = {
        benchmark.name: find_published(benchmark)
        if with_published and not is_synthetic
        else Published()
        for benchmark in benchmarks
    }
    models = make_models(results, benchmarks, published, read_about(about) if about else {})
    table = make_models_table(models, benchmarks, published)
    context = {
        "benchmarks": make_benchmarks_table(benchmarks),
        "models": list(models["model"][models["published"] == ""]),
        "is_synthetic": is_synthetic,
        "sources": make_sources_table(published),
        "chart": make_chart(models, benchmarks),
        "examples": put_tasks_first(list(collect_examples(benchmarks, data_dir))),
        "findings": describe_findings(benchmarks),
        "explained": explain_names(result.data for result in results),
        "columns": (),
        "missing": describe_missing() if any(map(_has_models, published.values())) else "",
    }
    return _write(output, models, table, context)


def build_published(output: Path, benchmarks: Collection[str] = ()) -> Path:
    """Write the leaderboard of the published models alone and return the path of its page.

    It has one column per benchmark, or all columns of the given benchmarks. Raises ValueError for a benchmark without
    published scores.
    """
    columns = make_columns(benchmarks)
    models = make_published_models(columns)
    context = {
        "benchmarks": make_columns_table(columns),
        "models": [],
        "is_synthetic": False,
        "sources": None,
        "chart": None,
        "examples": [],
        "findings": [],
        "explained": [],
        "averaged": len(choose_averaged(columns)),
        "columns": [column.name for column in columns],
        "missing": describe_missing(),
    }
    return _write(output, models, make_published_table(models, columns), context)


def _has_models(published: Published) -> bool:
    return bool(published.comparable or published.others)


def _write(output: Path, models: pd.DataFrame, table: Table, context: Mapping[str, Any]) -> Path:
    """Write the page and the table as CSV, parquet and LaTeX, and return the path of the page."""
    bundles = _read_bundles()
    output.mkdir(parents=True, exist_ok=True)
    csv = to_csv(Table("leaderboard", table.caption, models))
    (output / "leaderboard.csv").write_text(csv, encoding="utf-8")
    models.to_parquet(output / "leaderboard.parquet", index=False)
    (output / "leaderboard.tex").write_text(to_latex(table), encoding="utf-8")
    page = output / "index.html"
    text = render("leaderboard.html.j2", FOLDER, table=table, **context, **bundles)
    page.write_text(text, encoding="utf-8")
    return page


def read_benchmarks(
    folders: Sequence[Path], data_dir: Path | None = None
) -> tuple[Results, list[BenchmarkScores]]:
    """Return the results in the folders and their benchmarks. Raises ValueError as ``build``."""
    results = read_results(folders)
    parts = split_parts(results)
    if len(parts) > 1:
        names = ", ".join(PARTS[name].lower() for name in parts)
        raise ValueError(
            f"The results are of {names}, which must not be in one leaderboard. Name one folder of results."
        )
    baselines = find_best_of_results((result.data for result in results), data_dir)
    benchmarks = make_benchmarks(results, baselines)
    if not benchmarks:
        raise ValueError(f"{', '.join(map(str, folders))}: no complete result of a benchmark.")
    return results, benchmarks


def read_about(path: Path) -> dict[str, dict[str, str]]:
    """Return model -> column -> value. Raises ValueError if a column is unknown or ``model`` is missing."""
    rows = csv_tables.read(path)
    columns = list(rows[0]) if rows else ["model"]
    if "model" not in columns or set(columns) - {"model", *ABOUT}:
        raise ValueError(
            f"{path}: its columns are {', '.join(columns)}; expected model and any of {', '.join(ABOUT)}."
        )
    return {row.pop("model"): row for row in rows}


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
    scores = pd.concat(
        {item.name: make_scores(item, published[item.name]) for item in benchmarks}, axis="columns"
    )
    counted = pd.DataFrame({item.name: scores[item.name, COUNTED] for item in benchmarks})
    scores = scores.loc[counted.notna().any(axis="columns")]
    first_results = {result.model: result for result in reversed(results)}
    described = [
        describe(name, None if of_others else first_results[name], about)
        for of_others, name in scores.index
    ]
    means = average(
        scores,
        [item.name for item in benchmarks if not (item.is_recognition or item.kind)],
    )
    columns = [
        (item.name, part) for parts in (SCORE, PLACE) for item in benchmarks for part in parts
    ]
    values = scores[columns].set_axis([f"{name}{part}" for name, part in columns], axis="columns")
    models = pd.concat(
        [pd.DataFrame(described, scores.index), means, values], axis="columns"
    ).reset_index()
    models = models[["model", *described[0], "published", *means, *values]]
    models = models.astype(
        {f"{name}{part}": "Int64" for name, part in columns if part in (" rank", *PLACE)}
    )
    order = ["mean", *(benchmark.name for benchmark in benchmarks), "model"]
    texts = {f"{item.name}{TEXT_ONLY}": item.baseline for item in benchmarks if item.baseline}
    return models.assign(**texts).sort_values(
        order, ascending=[*[False] * (len(order) - 1), True], ignore_index=True
    )


def make_scores(benchmark: BenchmarkScores, published: Published) -> pd.DataFrame:
    """Return one row per model: its score, and its place among one's own and the comparable published scores.

    The index is ``published`` ("yes" or "") and ``model``; the columns are SCORE, PLACE and COUNTED.
    """
    rows = [
        ("", model, score.share, *score.interval, score.rank, True)
        for model, score in benchmark.scores.items()
    ]
    for shares, is_comparable in ((published.others, False), (published.comparable, True)):
        rows += [
            ("yes", model, share, None, None, None, is_comparable)
            for model, share in shares.items()
        ]
    scores = pd.DataFrame(rows, columns=pd.Index(["published", "model", *SCORE, COUNTED]))
    scores[COUNTED] = scores[""].where(scores[COUNTED])
    rounded = (
        (100 * scores[COUNTED]).round(DECIMALS)
        if published.comparable
        else pd.Series(np.nan, scores.index)
    )
    scores[" place"] = rounded.rank(method="min", ascending=False)
    scores[" models"] = np.where(rounded.notna(), rounded.count(), np.nan)
    with_ties = rounded + 100 * scores["model"].map(measure_ties(benchmark)).where(
        scores["published"] == "", 0.0
    )
    may_have_ties = scores["model"].isin(published.lenient) & (scores["published"] == "yes")
    limit_NN = np.where(
        may_have_ties.to_numpy(), with_ties.to_numpy()[:, None], rounded.to_numpy()[:, None]
    )
    best_places = pd.Series(1 + (rounded.to_numpy() > limit_NN).sum(axis=1), scores.index)
    scores[" best place"] = best_places.where(rounded.notna())
    return scores.set_index(["published", "model"])


def describe(
    name: str, result: Result | None, about: Mapping[str, Mapping[str, str]]
) -> dict[str, str]:
    """Return what is known about a model, by the columns ABOUT and ``contaminated``. ``result``: one of its results."""
    described = describe_published()
    sources = [described.get(name, {})]
    if result:
        aliases = (described.get(alias, {}) for alias in get_aliases(result))
        sources = [describe_model(result), *aliases, about.get(name, {})]
    facts = dict.fromkeys(ABOUT, "")
    for source in sources:
        facts |= {key: value for key, value in source.items() if value}
    return facts | {"contaminated": (result and result.data["model"]["contaminated"]) or ""}


def describe_model(result: Result) -> dict[str, str]:
    """Return the family and the training data that the name of a model contains."""
    model = result.data["model"]
    backend, _, rest = model["spec"].rpartition(":")
    architecture, _, tag = rest.partition("/")
    training_data = result.training_data if model["corpus"] or backend else tag
    family = "" if backend.startswith("python:") else backend or architecture
    return {"family": family, "training_data": "" if training_data == MISSING else training_data}


def average(scores: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the unweighted mean over some benchmarks, NaN for a model that lacks one, and its 95 % interval.

    The interval takes the images of different benchmarks as independent.
    """
    mean = scores[[(name, COUNTED) for name in names]].mean(axis="columns", skipna=False)
    halves = pd.DataFrame(
        {name: (scores[name, " high"] - scores[name, " low"]) / 2 for name in names}, scores.index
    )
    half = (halves.astype(float) ** 2).sum(axis="columns", skipna=False) ** 0.5 / max(len(names), 1)
    return pd.DataFrame(
        {
            "mean": mean,
            "mean low": (mean - half).clip(lower=0),
            "mean high": (mean + half).clip(upper=1),
        }
    )


def make_models_table(
    models: pd.DataFrame, benchmarks: Sequence[BenchmarkScores], published: Mapping[str, Published]
) -> Table:
    """Make the table of the page: the score of each model on each benchmark, with its rank, interval and place."""
    records = []
    headings = make_headings(benchmarks)
    rows: list[dict[str, Any]] = models.to_dict("records")  # pyright: ignore[reportAssignmentType]
    for row in rows:
        bounds = (row["mean low"], row["mean high"])
        mean = (
            format_percent(row["mean"])
            if row["published"]
            else format_with_interval(row["mean"], bounds)
        )
        record = {"Model": row["model"] + (" *" if row["contaminated"] else ""), "Mean": mean}
        for benchmark, heading in zip(benchmarks, headings, strict=True):
            record[heading] = format_score(row, benchmark)
        record["Published"] = row["published"] or None
        record |= {name.replace("_", " ").capitalize(): row[name] or None for name in ABOUT}
        record["Contamination"] = row["contaminated"] or None
        records.append(record)
    reasons = [
        f"{name}: {reason}"
        for name, item in published.items()
        if item.others
        for reason in item.reasons
    ]
    notes = [f"{NOT_RANKED} cannot be ranked with one's own models ({'; '.join(reasons)})."]
    notes = notes if reasons else []
    if any(NOT_ABOVE_TEXTS in cell for record in records for cell in record.values() if cell):
        notes.append(
            f"{NOT_ABOVE_TEXTS} not above the best text-only baseline, which selects as many without the image."
        )
    return make_table("leaderboard", records, note=" ".join(notes))


def make_headings(benchmarks: Sequence[BenchmarkScores]) -> list[str]:
    """Return the headings of the columns: "mine, atom (293 rows, chance 20.0, text-only 98.0)".

    The name of the dataset is left out if all benchmarks are kinds of one.
    """
    parts = [benchmark.name.partition(", ") for benchmark in benchmarks]
    is_one = len({dataset for dataset, _, _ in parts}) == 1 and all(rest for _, _, rest in parts)
    return [
        _make_heading(benchmark, rest if is_one else benchmark.name)
        for benchmark, (_, _, rest) in zip(benchmarks, parts, strict=True)
    ]


def _make_heading(benchmark: BenchmarkScores, name: str) -> str:
    facts = [f"chance {format_percent(benchmark.chance)}"]
    if benchmark.kind:
        facts.insert(0, f"{benchmark.rows:,} row{'s' if benchmark.rows != 1 else ''}")
    if benchmark.baseline is not None:
        facts.append(f"text-only {format_percent(benchmark.baseline)}")
    return f"{name} ({', '.join(facts)})"


def describe_findings(benchmarks: Sequence[BenchmarkScores]) -> list[str]:
    """Return sentences on how many benchmarks tell models apart, and on how many a model is above text alone."""
    compared = [benchmark for benchmark in benchmarks if len(benchmark.scores) > 1]
    measured = [benchmark for benchmark in benchmarks if benchmark.baseline is not None]
    findings: list[str] = []
    if compared:
        different = sum(benchmark.has_differences for benchmark in compared)
        findings.append(
            f"The models are shown to differ on {different} of {count_benchmarks(len(compared))}."
        )
    if measured:
        above = sum(
            any(
                score.interval[0] > benchmark.baseline
                for score in benchmark.scores.values()
                if benchmark.baseline is not None
            )
            for benchmark in measured
        )
        findings.append(
            f"A model is above the best text-only baseline, which sees no image, on {above} of "
            f"{count_benchmarks(len(measured))}."
        )
    return findings


def count_benchmarks(number: int) -> str:
    return "1 benchmark" if number == 1 else f"{number} benchmarks"


def format_score(row: Mapping[str, Any], benchmark: BenchmarkScores) -> str:
    """Format, for example, "95.0 #1 [88.0, 98.0] (3 of 203)", or "61.2 (88 of 203)" for a published model.

    There is no rank if the models are not shown to differ. With ties, the place is a range: "(3 to 9 of 203)". A score
    that is not above the best text-only baseline is marked.
    """
    name = benchmark.name
    if pd.isna(row[name]):
        return MISSING
    position, count, rank = (row[f"{name} {part}"] for part in ("place", "models", "rank"))
    best = row[f"{name} best place"]
    span = f"{position}" if best == position else f"{best} to {position}"
    place = "" if pd.isna(position) else f"({span} of {count})"
    if row["published"]:
        return f"{format_percent(row[name])} {place or f'({NOT_RANKED})'}"
    interval = (row[f"{name} low"], row[f"{name} high"])
    remarks = [place[1:-1]] if place else []
    if interval[0] <= row.get(f"{name}{TEXT_ONLY}", -1):
        remarks.append(NOT_ABOVE_TEXTS)
    remark = f" ({', '.join(remarks)})" if remarks else ""
    mark = f" #{rank}" if benchmark.has_differences else ""
    return f"{format_with_interval(row[name], interval, mark=mark)}{remark}"


def make_sources_table(published: Mapping[str, Published]) -> Table:
    """Make the table of models whose published scores differ between two sources."""
    records = [
        {"first": first, "other": other, "cause": cause or "unknown"}
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
    best = float("-inf")
    front = []
    for index in sorted(
        range(len(points)), key=lambda index: (-points[index][0], -points[index][1])
    ):
        if points[index][1] > best:
            best = points[index][1]
            front.append(index)
    return front[::-1]


def make_chart(
    models: pd.DataFrame, benchmarks: Sequence[BenchmarkScores]
) -> dict[str, Any] | None:
    """Return the Vega-Lite figure of composition against recognition. None if no model has both."""
    recognition = [benchmark for benchmark in benchmarks if benchmark.is_recognition]
    points = pd.DataFrame(
        {
            "model": models["model"],
            "training data": models["training_data"],
            "composition": 100 * models["mean"],
            "recognition": 100
            * models[[benchmark.name for benchmark in recognition]].mean(axis=1, skipna=False),
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


def collect_examples(
    benchmarks: Sequence[BenchmarkScores], data_dir: Path | None
) -> Iterator[Example]:
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
                yield from make_choice_examples(
                    task, frames, list(rows), load_split(results[0], data_dir)
                )


def put_tasks_first(examples: Sequence[Example]) -> list[Example]:
    """Return the examples with one of each task before all others, those with short captions first.

    The top of the page shows two of them.
    """
    first = {example.task: example for example in reversed(examples)}
    top = sorted(
        first.values(),
        key=lambda example: (
            sum(len(candidate.caption) for candidate in example.candidates),
            example.task,
        ),
    )
    return [*top, *(example for example in examples if example not in top)]


@cache
def _read_bundles() -> dict[str, str]:
    """Return the libraries that the page contains. Raises ModuleNotFoundError with the command that installs them."""
    try:
        import itables
        import vl_convert
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{error.name} is not installed. {EXTRA}", name=error.name
        ) from None
    datatables = Path(itables.__file__).parent / "html" / "dt_bundle.js"
    return {
        "vega": vl_convert.javascript_bundle().replace("</script", "<\\/script"),  # pyright: ignore[reportCallIssue]
        "datatables": base64.b64encode(datatables.read_bytes()).decode(),
    }
