"""Write results in the schema of Every Eval Ever 0.3 (https://github.com/evaleval/every_eval_ever).

    data/compeval/<developer>/<model>/<uuid>.json    all main metrics of a model, as shares

The path is that of the project's datastore. Its validator needs Python 3.12 and huggingface-hub 1, so it has an
environment of its own:

    uvx --from every-eval-ever every_eval_ever validate "data/**/*.json"
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from compeval.base.files.untrusted import safe_name
from compeval.evaluators.models import BACKENDS, split_spec
from compeval.evaluators.results.documents import Result, read_time
from compeval.loaders import benchmarks

FOLDER = "data/compeval"
SCHEMA_VERSION = "0.3.0"
LIBRARY = "compeval"
HOMEPAGE = "https://huggingface.co/datasets"


def make_files(
    results: Mapping[Path, Result], repository: str, repositories: Mapping[str, str] | None = None
) -> dict[str, bytes]:
    """Return path in the repository -> document, one per model, of the results that are not on drawn scenes.

    ``repositories``: name of a dataset -> its repository on the Hub.
    """
    by_model: dict[str, dict[Path, Result]] = {}
    for path, result in results.items():
        if not result["synthetic"]:
            by_model.setdefault(result["model"]["name"], {})[path] = result
    files: dict[str, bytes] = {}
    for members in by_model.values():
        document = make_document(
            list(members.values()), repository, _read_seconds(members), repositories or {}
        )
        content = (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
        name = uuid.UUID(bytes=hashlib.sha256(content).digest()[:16], version=4)
        developer, _, model = document["model_info"]["id"].partition("/")
        folder = f"{FOLDER}/{safe_name(developer)}/{safe_name(model.replace('/', '--'))}"
        files[f"{folder}/{name}.json"] = content
    return files


def _read_seconds(results: Mapping[Path, Result]) -> str:
    """Return when the model of these results was evaluated, in seconds since 1970; "0" if it is not known."""
    times = (read_time(path, result["task"]) for path, result in results.items())
    return next((str(int(time.timestamp())) for time in times if time), "0")


def make_document(
    results: Sequence[Result], repository: str, time: str, repositories: Mapping[str, str]
) -> dict[str, Any]:
    """Return the document of one model."""
    model = _describe_model(results[0]["model"])
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{LIBRARY}/{model['id'].replace('/', '_')}/{time}",
        "retrieved_timestamp": time,
        "source_metadata": {
            "source_name": "CompEval",
            "source_type": "evaluation_run",
            "source_organization_name": repository.partition("/")[0],
            "source_organization_url": f"{HOMEPAGE}/{repository}",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": LIBRARY, "version": results[0]["code"]["version"]},
        "model_info": model,
        "evaluation_results": [
            entry for result in results for entry in _make_entries(result, repositories)
        ],
    }


def _describe_model(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return the model. The id of open_clip's models begins with open_clip, since their weights have several makers."""
    prefix, name = split_spec(model["spec"])
    backend = BACKENDS.get(prefix)
    is_on_hub = backend is not None and backend.is_on_hub and name.count("/") == 1
    is_open = backend is not None and backend.loads_weights
    details = {
        name: str(model[name])
        for name in ("spec", "effective", "precision", "fingerprint")
        if model.get(name)
    }
    details |= {
        "deployment_type": "self_deployed" if is_open else "unknown",
        "model_availability": "open_weights" if is_open else "unknown",
    }
    developer = name.partition("/")[0] if is_on_hub else prefix
    identifier = name if is_on_hub else f"{prefix}/{model['name'].replace('/', '--')}"
    return {
        "name": model["name"],
        "id": identifier,
        "developer": developer,
        "additional_details": details,
    }


def _make_entries(result: Result, repositories: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the main metrics of a result, as shares."""
    for metric in result["main"]:
        bounds = result["intervals"].get(metric)
        uncertainty: dict[str, Any] = {"num_samples": result["data"]["rows"]}
        if bounds:
            interval = {"lower": bounds[0], "upper": bounds[1], "confidence_level": 0.95}
            uncertainty["confidence_interval"] = interval | {"method": "bootstrap over images"}
        yield {
            "evaluation_result_id": f"{result['task']}#{metric}",
            "evaluation_name": result["task"],
            "source_data": _describe_data(result, repositories),
            "metric_config": {
                "evaluation_description": "A tie with a wrong candidate is an error.",
                **{"metric_id": metric, "metric_name": metric, "metric_unit": "proportion"},
                **{
                    "lower_is_better": False,
                    "score_type": "continuous",
                    "min_score": 0.0,
                    "max_score": 1.0,
                },
                "additional_details": {
                    "chance": str(result["chance"][metric]),
                    "protocol": result["protocol"],
                },
            },
            "score_details": {"score": result["metrics"][metric], "uncertainty": uncertainty},
        }


def _describe_data(result: Result, repositories: Mapping[str, str]) -> dict[str, Any]:
    """Return the data of a result: its repository on the Hub, the homepage of a published benchmark, or its name."""
    dataset = result["dataset"]
    details = {"rows": str(result["data"]["rows"]), "fingerprint": result["data"]["fingerprint"]}
    described = {"dataset_name": dataset, "additional_details": details}
    if dataset in repositories:
        return described | {"source_type": "hf_dataset", "hf_repo": repositories[dataset]}
    if dataset in benchmarks.list_names() and (
        homepage := benchmarks.load(dataset).source.homepage
    ):
        return described | {"source_type": "url", "url": [homepage]}
    return described | {"source_type": "other"}
