"""Build a leaderboard: one self-contained page, and its table as CSV, parquet and LaTeX (``compeval leaderboard``).

    build([Path("results")], Path("leaderboard"))

The page works from a file without a network: DataTables (of the package itables) sorts and searches the table,
Vega-Lite (of Altair and vl-convert) draws the figure, and both are part of the page.
"""

from __future__ import annotations

import base64
import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from evaluators.leaderboard.examples import collect_examples
from evaluators.leaderboard.scores import BenchmarkScores, make_benchmarks
from evaluators.report.results import PARTS, Result, Results, read_results, split_parts
from evaluators.report.tables import Table, format_percent, to_csv, to_latex

ABOUT = ("family", "parameters", "date", "training_data", "text_only")
"""Columns that a file about models may have, next to ``model``."""
EXTRA = "Install what the leaderboard needs: pip install 'compeval[leaderboard]'"


@dataclass(frozen=True)
class Entry:
    """A model of the leaderboard."""

    name: str
    about: Mapping[str, str]
    contaminated: str | None
    composition: float | None
    """Unweighted mean over all benchmarks of composition; None if the model lacks one."""
    recognition: float | None

    @property
    def id(self) -> str:
        return "model-" + "".join(letter if letter.isalnum() else "-" for letter in self.name)


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
    entries = make_entries(results, benchmarks, read_about(about) if about else {})
    table = make_table(entries, benchmarks)
    output.mkdir(parents=True, exist_ok=True)
    printed = Table("leaderboard", CAPTION, format_table(table, benchmarks))
    (output / "leaderboard.csv").write_text(to_csv(Table("leaderboard", CAPTION, table)))
    table.to_parquet(output / "leaderboard.parquet", index=False)
    (output / "leaderboard.tex").write_text(to_latex(printed))
    context = {
        "benchmarks": benchmarks,
        "entries": entries,
        "scores": {entry.name: [benchmark.scores.get(entry.name) for benchmark in benchmarks] for entry in entries},
        "columns": [name for name in ABOUT if any(entry.about.get(name) for entry in entries)],
        "is_synthetic": any(result.is_synthetic for result in results),
        "spec": make_chart(entries),
        "examples": collect_examples(benchmarks, data_dir),
        "models": [entry.name for entry in entries],
        **bundles,
    }
    page = output / "index.html"
    page.write_text(_render(context))
    return page


CAPTION = (
    "Scores in percent. A mean is unweighted over the tasks of a benchmark or over the benchmarks. Ranks are 1 + the "
    "number of models that are significantly better (paired test, Holm over all pairs)."
)


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


def make_entries(
    results: Results, benchmarks: Sequence[BenchmarkScores], about: Mapping[str, Mapping[str, str]]
) -> list[Entry]:
    """Return the models with a score, best mean first."""
    entries = []
    for name in sorted({name for benchmark in benchmarks for name in benchmark.scores}):
        result = next(result for result in results if result.model == name)
        known = dict.fromkeys(ABOUT, "") | describe_model(result)
        entries.append(
            Entry(
                name,
                known | {key: value for key, value in about.get(name, {}).items() if value},
                result.data["model"]["contaminated"],
                _average(name, [benchmark for benchmark in benchmarks if not benchmark.is_recognition]),
                _average(name, [benchmark for benchmark in benchmarks if benchmark.is_recognition]),
            )
        )
    return sorted(
        entries, key=lambda entry: (-(entry.composition if entry.composition is not None else -1), entry.name)
    )


def describe_model(result: Result) -> dict[str, str]:
    """Return the family and the training data that the name of a model contains."""
    model = result.data["model"]
    backend, _, rest = model["spec"].rpartition(":")
    architecture, _, tag = rest.partition("/")
    return {
        "family": backend or architecture,
        "training_data": result.training_data if model["corpus"] or backend else tag,
    }


def _average(model: str, benchmarks: Sequence[BenchmarkScores]) -> float | None:
    scores = [benchmark.scores[model].share for benchmark in benchmarks if model in benchmark.scores]
    return sum(scores) / len(scores) if scores and len(scores) == len(benchmarks) else None


def make_table(entries: Sequence[Entry], benchmarks: Sequence[BenchmarkScores]) -> pd.DataFrame:
    """Return one row per model. Shares are fractions of 1."""
    rows = []
    for entry in entries:
        row: dict[str, Any] = {"model": entry.name, **{name: entry.about.get(name, "") for name in ABOUT}}
        row |= {"contaminated": entry.contaminated or "", "mean": entry.composition}
        for benchmark in benchmarks:
            score = benchmark.scores.get(entry.name)
            low, high = score.interval if score else (None, None)
            values = (score and score.share, low, high, score and score.rank)
            row |= dict(
                zip((f"{benchmark.name}{part}" for part in ("", " low", " high", " rank")), values, strict=True)
            )
        rows.append(row)
    return pd.DataFrame(rows).astype({f"{benchmark.name} rank": "Int64" for benchmark in benchmarks})


def format_table(table: pd.DataFrame, benchmarks: Sequence[BenchmarkScores]) -> pd.DataFrame:
    """Return the table as text, with ranks in parentheses."""
    cells = {"Model": table["model"], "Mean": table["mean"].map(format_percent)}
    for benchmark in benchmarks:
        ranks = table[f"{benchmark.name} rank"]
        cells[benchmark.name] = [
            format_percent(share) if pd.isna(share) else f"{format_percent(share)} ({rank})"
            for share, rank in zip(table[benchmark.name], ranks, strict=True)
        ]
    return pd.DataFrame(cells)


def find_pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the indices of the points that no other point dominates, by increasing x."""
    best, front = float("-inf"), []
    for index in sorted(range(len(points)), key=lambda index: (-points[index][0], -points[index][1])):
        if points[index][1] > best:
            best = points[index][1]
            front.append(index)
    return front[::-1]


def make_chart(entries: Sequence[Entry]) -> dict[str, Any] | None:
    """Return the Vega-Lite figure of composition against recognition. None if no model has both."""
    import altair

    both = [entry for entry in entries if entry.composition is not None and entry.recognition is not None]
    if not both:
        return None
    front = set(find_pareto_front([(entry.recognition or 0, entry.composition or 0) for entry in both]))
    points = [
        {
            "model": entry.name,
            "recognition": 100 * (entry.recognition or 0),
            "composition": 100 * (entry.composition or 0),
            "training data": entry.about.get("training_data", ""),
            "on the front": "yes" if index in front else "no",
        }
        for index, entry in enumerate(both)
    ]
    base = altair.Chart(altair.Data(values=points)).encode(
        x=altair.X("recognition:Q", title="recognition (%)", scale=altair.Scale(zero=False)),
        y=altair.Y("composition:Q", title="composition (%)", scale=altair.Scale(zero=False)),
    )
    line = base.transform_filter("datum['on the front'] == 'yes'").mark_line(strokeDash=[4, 3], color="#c0561a")
    dots = base.mark_circle(size=90, opacity=0.85).encode(
        color=altair.Color(
            "on the front:N", scale=altair.Scale(domain=["yes", "no"], range=["#c0561a", "#3f7fbf"]), legend=None
        ),
        tooltip=[
            *("model:N", "training data:N"),
            *(altair.Tooltip(f"{name}:Q", format=".1f") for name in ("composition", "recognition")),
        ],
    )
    grey, faint = "#808690", "#80869040"
    chart = (line + dots).properties(width="container", height=320, background="transparent")
    chart = chart.configure_axis(labelColor=grey, titleColor=grey, gridColor=faint, domainColor=faint, tickColor=grey)
    return chart.configure_view(stroke=None).to_dict()


@cache
def _read_bundles() -> dict[str, str]:
    """Return the libraries that the page contains. Raises ModuleNotFoundError with the command that installs them."""
    try:
        import_module("altair")
        import itables
        import vl_convert
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{error.name} is not installed. {EXTRA}", name=error.name) from None
    folder = Path(itables.__file__).parent / "html"
    return {
        "vega": vl_convert.javascript_bundle().replace("</script", "<\\/script"),  # pyright: ignore[reportCallIssue]
        "datatables": base64.b64encode((folder / "dt_bundle.js").read_bytes()).decode(),
    }


def _render(context: Mapping[str, Any]) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([Path(__file__).parent, Path(__file__).parent.parent / "report"]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = format_percent
    environment.filters["script_json"] = lambda value: json.dumps(value).replace("<", "\\u003c")
    return environment.get_template("page.html.j2").render(context)
