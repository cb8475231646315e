"""Check results that others wrote: their form, and their numbers against their rows.

Whatever can be computed from the rows is computed again: the main metrics, recall, ranks and ties from
the ranks or hits of each row, and all metrics of the protocol from the scores. The other numbers must
be shares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from compeval.base.storage import parquet
from compeval.evaluators.metrics.intervals import compute_share_interval
from compeval.evaluators.protocols import all_protocols, authors
from compeval.evaluators.protocols.base import RowProtocol
from compeval.evaluators.results import documents
from compeval.evaluators.results.compose import get_clusters
from compeval.evaluators.results.documents import Result

OBJECTS = ("model", "data", "code", "metrics", "intervals", "chance", "std", "categories")
TEXTS = ("task", "dataset", "config", "split", "protocol", "source")
LISTS = ("main", "warnings", "skipped")

TOLERANCE = 1e-6
INTERVAL_TOLERANCE = 0.05
"""Versions of this package may compute intervals in different ways."""
UNBOUNDED = ("mean_rank", "median_rank")
"""Ends of the names of metrics that are not between -1 and 1."""
MAIN_COLUMNS = ("rank", "hit")
KINDS: Mapping[str, str] = {
    "row": "whole numbers",
    "image_id": "texts",
    "crop_id": "texts",
    "caption": "texts",
    "hard_negatives": "lists of texts",
    "captions": "lists of texts",
    "categories": "lists of by of texts, name of texts",
    "scores": "lists of numbers",
}
"""Types of the columns that commands read; a result need not have all."""


def read_foreign(path: Path, name: str) -> Result:
    """Read a result that someone else wrote. Raises ValueError, with ``name``, if it lacks a part or its rows."""
    try:
        result = documents.read(path)
    except ValueError as error:
        raise ValueError(f"{name}: {str(error).removeprefix(str(path)).lstrip(': ')}") from None
    if fault := find_fault(result):
        raise ValueError(f"{name}: {fault}, so it is not a result of CompEval.")
    rows = path.with_suffix(".parquet")
    try:
        table = parquet.read_table(rows)
    except (ValueError, OSError) as error:
        raise ValueError(f"{name}: its rows cannot be read ({error}).") from None
    if len(table) != result["data"]["rows"] or "row" not in table.column_names:
        raise ValueError(
            f"{name}: {len(table):,} rows in its parquet file, {result['data']['rows']} in the document."
        )
    try:
        contradiction = find_contradiction(result, table)
    except (ValueError, TypeError, LookupError, AttributeError, pa.ArrowException) as error:
        raise ValueError(f"{name}: its rows are not those of a result ({error}).") from None
    if contradiction:
        raise ValueError(
            f"{name}: {contradiction}. The document and its rows are not of one run: do not use them."
        )
    return result


def find_fault(result: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the form of a document, or None."""
    try:
        _check_document(result)
    except ValueError as error:
        return str(error)
    return None


def _check_document(result: Mapping[str, Any]) -> None:
    """Raise ValueError for a part that is missing or of another type."""
    for names, kind, title in (
        (TEXTS, str, "text"),
        (OBJECTS, dict, "object"),
        (LISTS, list, "list"),
    ):
        for name in names:
            _require(isinstance(result.get(name), kind), f"{name!r} is not of type {title}")
    for name in ("spec", "name", "effective", "fingerprint", "precision"):
        _require(isinstance(result["model"].get(name), str), f"'model.{name}' is not a text")
    for name in ("corpus", "contaminated", "text_encoder", "corpus_source"):
        _require(isinstance(result["model"].get(name), str | None), f"'model.{name}' is not a text")
    _require(isinstance(result.get("variant"), str | None), "'variant' is not a text")
    _require(isinstance(result.get("authors", ""), str), "'authors' is not a text")
    _require(isinstance(result.get("synthetic"), bool), "'synthetic' is not true or false")
    data = result["data"]
    _require(isinstance(data.get("fingerprint"), str), "'data.fingerprint' is not a text")
    _require(
        _is_count(data.get("rows")) and "limit" in data, "'data' has no number of rows or no limit"
    )
    for name in ("limit", "set_size"):
        _require(data.get(name) is None or _is_count(data[name]), f"'data.{name}' is not a number")
    _require(all(isinstance(text, str) for text in result["warnings"]), "'warnings' are not texts")
    for item in result["skipped"]:
        is_row = (
            isinstance(item, dict)
            and _is_count(item.get("row"))
            and isinstance(item.get("error"), str)
        )
        _require(is_row, "'skipped' is not a list of rows with errors")
    _check_numbers(result)
    named = "/".join((result["dataset"], result["config"]))
    _require(
        f"{result['task']}/".startswith((f"{named}/", f"{named}@")), f"the task is not of {named}"
    )


def _check_numbers(result: Mapping[str, Any]) -> None:
    numbers = [number for part in ("metrics", "chance", "std") for number in result[part].values()]
    for bounds in result["intervals"].values():
        is_pair = isinstance(bounds, list) and len(bounds) == 2
        numbers += [] if bounds is None else bounds if is_pair else [None]
    for by_name in result["categories"].values():
        _require(isinstance(by_name, dict), "'categories' is not of type object")
        for values in by_name.values():
            _require(isinstance(values, dict), "'categories' is not of type object")
            numbers += values.values()
    _require(all(map(_is_number, numbers)), "a metric is not a finite number")
    main = result["main"]
    _require(bool(main) and all(isinstance(name, str) for name in main), "there is no main metric")
    for name in main:
        is_known = name in result["metrics"] and name in result["chance"]
        _require(is_known, f"the main metric {name!r} has no value or no chance")


def _require(condition: bool, fault: str) -> None:
    if not condition:
        raise ValueError(fault)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def find_contradiction(result: Mapping[str, Any], table: pa.Table) -> str | None:
    """Return which number of a document contradicts its rows, or None. Raises ValueError for rows of another form."""
    _check_columns(table)
    row_N = _read_numbers(table["row"], "row")
    if len(np.unique(row_N)) < len(row_N) or row_N.min(initial=0) < 0:
        raise ValueError("a row occurs twice or is negative")
    metrics: Mapping[str, float] = result["metrics"]
    for name, expected in (
        *_compute_from_columns(result, table),
        *_compute_from_scores(result, table),
    ):
        if name in metrics and abs(metrics[name] - expected) > TOLERANCE * max(1, abs(expected)):
            return f"{name} is {metrics[name]:g} in the document and {expected:g} over its rows"
    for part in ("metrics", "chance", "std"):
        for name, value in result[part].items():
            if not name.endswith(UNBOUNDED) and value is not None and not -1 <= value <= 1:
                return f"{name} ({part}) is {value:g}, no share between 0 and 1"
    return _find_wrong_interval(result, table)


def _check_columns(table: pa.Table) -> None:
    """Raise ValueError if a column that commands read has another type, or an empty cell."""
    for field in table.schema:
        if field.name in KINDS:
            kind = _describe_type(field.type)
            expected = KINDS[field.name]
            if kind != expected:
                raise ValueError(f"{field.name} has {kind}, {expected} expected")
            if _has_null(table[field.name]):
                raise ValueError(f"{field.name} has an empty cell")


def _describe_type(kind: pa.DataType) -> str:
    """Return an Arrow type in words; types of different sizes are the same."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"lists of {_describe_type(kind.value_type)}"
    if pa.types.is_struct(kind):
        return ", ".join(f"{field.name} of {_describe_type(field.type)}" for field in kind)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "texts"
    return (
        "whole numbers"
        if pa.types.is_integer(kind)
        else "numbers"
        if pa.types.is_floating(kind)
        else str(kind)
    )


def _has_null(column: Any) -> bool:
    """Return True if a cell, or an element of a list in a cell, is empty."""
    is_list = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
    return bool(column.null_count) or (
        is_list and any(chunk.flatten().null_count for chunk in column.chunks)
    )


def _find_wrong_interval(result: Mapping[str, Any], table: pa.Table) -> str | None:
    """Return which interval of a main metric is not that of its rows, or None."""
    cluster_N = get_clusters(table)
    for name, column in _list_main_columns(result, table):
        bounds = result["intervals"].get(name)
        hit_Q, row_Q = _read_hits(table, column)
        expected = compute_share_interval(hit_Q, cluster_N[row_Q])
        if bounds is not None and not np.allclose(
            bounds, expected, rtol=0, atol=INTERVAL_TOLERANCE
        ):
            stated = " to ".join(f"{bound:g}" for bound in bounds)
            return f"the interval of {name} is {stated}, and {expected[0]:g} to {expected[1]:g} over its rows"
    return None


def _list_main_columns(result: Mapping[str, Any], table: pa.Table) -> list[tuple[str, str]]:
    """Return each main metric with the column of its ranks or hits. Raises ValueError if one of them is missing."""
    columns = [name for name in table.column_names if name.split("_")[-1] in MAIN_COLUMNS]
    if len(columns) != len(result["main"]):
        raise ValueError(
            f"{len(result['main'])} main metrics, and the columns {', '.join(columns) or 'of none'}"
        )
    return list(zip(result["main"], columns, strict=True))


def _compute_from_columns(
    result: Mapping[str, Any], table: pa.Table
) -> Iterator[tuple[str, float]]:
    """Yield the metrics that the ranks, hits and ties of the rows determine."""
    for name, column in _list_main_columns(result, table):
        value_Q, _ = _read_queries(table, column)
        if value_Q.dtype != bool and value_Q.min(initial=1) < 1:
            raise ValueError(f"{column} has a value below 1")
        yield name, float((value_Q == 1).mean())
        prefix = column.removesuffix("rank").removesuffix("hit")
        if column.endswith("rank"):
            yield f"{prefix}mean_rank", float(value_Q.mean())
            yield f"{prefix}median_rank", float(np.median(value_Q))
            for metric in result["metrics"]:
                start, _, cutoff = metric.partition("@")
                if start == f"{prefix}recall" and cutoff.isdecimal():
                    yield metric, float((value_Q <= int(cutoff)).mean())
        if f"{prefix}tie" in table.column_names:
            yield f"{prefix}tie_rate", float(_read_queries(table, f"{prefix}tie")[0].mean())


def _compute_from_scores(result: Mapping[str, Any], table: pa.Table) -> Iterator[tuple[str, float]]:
    """Yield the metrics of the scores, and check the ranks or hits against them.

    Not of protocols whose scores are not stored, and not of metrics among the images of all rows.
    """
    protocol = next(
        (candidate for candidate in all_protocols() if candidate.name == result["protocol"]), None
    )
    if "scores" not in table.column_names or not isinstance(protocol, RowProtocol):
        return
    scores = table["scores"].combine_chunks()
    sizes = np.diff(scores.offsets.to_numpy())
    if (
        scores.null_count
        or scores.values.null_count
        or len(np.unique(sizes)) != 1
        or sizes[0] % len(protocol.images)
    ):
        raise ValueError("the lists of scores have different lengths")
    flat = scores.values.to_numpy(zero_copy_only=False)[
        scores.offsets[0].as_py() : scores.offsets[-1].as_py()
    ]
    score_NIT = flat.reshape(len(table), len(protocol.images), -1)
    label_N = (
        _read_numbers(table[protocol.label], protocol.label)
        if protocol.label
        else np.zeros(len(table), int)
    )
    directions = protocol.compute(score_NIT, label_N)
    if protocol.among_all is None:
        for direction, measured in directions.items():
            for name, value_Q in measured.columns.items():
                column = f"{direction}_{name}" if direction else name
                if column in table.column_names and name in MAIN_COLUMNS:
                    stored_Q, _ = _read_queries(table, column)
                    if not np.array_equal(stored_Q, value_Q):
                        raise ValueError(f"{column} is not that of the scores")
    else:
        directions = {}
    if rule := authors.find_rule(result["dataset"], result["config"]):
        directions |= authors.evaluate(rule, score_NIT)
    for direction, measured in directions.items():
        for name, value in measured.summarise().items():
            yield f"{direction}_{name}" if direction else name, value


def _read_queries(table: pa.Table, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of all queries in a column, and the row of each. Raises ValueError for a null."""
    values = table[column].combine_chunks()
    is_list = pa.types.is_list(values.type)
    flat = values.flatten() if is_list else values
    if values.null_count or not len(flat):
        raise ValueError(f"{column} has an empty cell")
    rows = values.value_parent_indices().to_numpy() if is_list else np.arange(len(values))
    return _read_numbers(flat, column), rows


def _read_hits(table: pa.Table, column: str) -> tuple[np.ndarray, np.ndarray]:
    value_Q, row_Q = _read_queries(table, column)
    return (value_Q == 1).astype(np.float64), row_Q


def _read_numbers(values: Any, column: str) -> np.ndarray:
    """Return whole numbers or truth values as an array. Raises ValueError for other values and for nulls."""
    is_number = pa.types.is_integer(values.type) or pa.types.is_boolean(values.type)
    if not is_number or values.null_count:
        raise ValueError(
            f"{column} has {values.type} values or empty cells, whole numbers expected"
        )
    return (
        values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy()
    )
