"""Read the result files of MTEB: a JSON file per task, next to the ``model_meta.json`` of the model.

    git clone https://github.com/embeddings-benchmark/results mteb
    compeval results pull mteb
    compeval results pull https://raw.githubusercontent.com/.../results/ORG__NAME/REVISION/SugarCrepe.json

Their scores are added to the user's file of published scores, with which ranks and the leaderboard compare. Models are
those of published_models.csv: names are matched by this table, never by likeness.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import requests

from compeval.base.files.listing import list_files
from compeval.base.plain_text import strip_url, strip_urls
from compeval.evaluators.results.scores import add_pulled_scores, read_columns, read_models

SOURCE = "mteb"
META = "model_meta.json"
TIMEOUT = 60
"""Seconds."""


class PullSummary(NamedTuple):
    """Numbers of the scores and models that were read."""

    scores: int
    models: int
    unknown: tuple[str, ...]
    """Names of models that published_models.csv does not have. Their scores are left out."""


def list_tasks() -> set[str]:
    """Return the names of MTEB's tasks that are known here."""
    return {column.partition(":")[0] for source, column in read_columns() if source == SOURCE}


def parse(name: str, result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the scores of a result file, in percent, given the model's name. Raises ValueError for another format."""
    try:
        task, seconds, (scores, *_) = (
            result["task_name"],
            result["evaluation_time"],
            result["scores"]["test"],
        )
        numbers = {key: 100 * value for key, value in scores.items() if isinstance(value, float)}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ValueError(
            "not a result file of MTEB: it needs task_name, evaluation_time and scores.test"
        ) from None
    for key, percent in numbers.items():
        yield {
            "source": SOURCE,
            "name": name,
            "column": f"{task}:{key}",
            "percent": percent,
            "seconds": seconds,
        }


def pull(place: str) -> PullSummary:
    """Add the scores of a result file at a URL, or of all in a folder. Raises ValueError if no such file is found."""
    rows = list(
        _download(place) if place.startswith(("http://", "https://")) else _read_folder(Path(place))
    )
    rows = [row for row in rows if (SOURCE, row["column"]) in read_columns()]
    of_known_models = [row for row in rows if (SOURCE, row["name"]) in read_models()]
    unknown = tuple(
        sorted({row["name"] for row in rows} - {row["name"] for row in of_known_models})
    )
    if not rows:
        raise ValueError(f"{place}: no result file of MTEB on {', '.join(sorted(list_tasks()))}.")
    add_pulled_scores(of_known_models)
    return PullSummary(len(of_known_models), len({row["name"] for row in of_known_models}), unknown)


def _read_folder(folder: Path) -> Iterator[dict[str, Any]]:
    for path in list_files(folder, "**/*.json"):
        if path.stem in list_tasks():
            meta = path.with_name(META)
            if not meta.is_file():
                raise ValueError(f"{meta}: no such file. MTEB's files of results lie next to it.")
            yield from _parse_texts(str(path), path.read_bytes(), meta.read_bytes())


def _download(url: str) -> Iterable[dict[str, Any]]:
    texts = []
    for address in (url, f"{url.rpartition('/')[0]}/{META}"):
        try:
            answer = requests.get(address, timeout=TIMEOUT)
            answer.raise_for_status()
        except requests.RequestException as error:
            raise ValueError(
                f"{strip_url(address)}: {strip_urls(str(error))}. Download the file and name its folder."
            ) from None
        texts.append(answer.content)
    return _parse_texts(strip_url(url), *texts)


def _parse_texts(place: str, result: bytes, meta: bytes) -> Iterator[dict[str, Any]]:
    try:
        yield from parse(json.loads(meta)["name"], json.loads(result))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{place}: {error}.") from None
