"""Publish results on the Hugging Face Hub, and get the results of others.

    compeval publish results --to ORG/NAME           documents and per-row parquet as a dataset, and one
                                                     document per model in the schema of Every Eval Ever
    compeval results pull ORG/NAME

With --model-repo, the main metrics are also proposed for the model's own page, as ``.eval_results/compeval.yaml``
(https://huggingface.co/docs/hub/eval-results): one value per task in percent; interval, chance and rows are in the
notes, and the source is the dataset of results. $HF_ENDPOINT selects another server.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import jinja2
import yaml

from compeval.base.files.atomic import atomic_file
from compeval.base.files.untrusted import UnsafeNameError
from compeval.base.plain_text import strip_folders
from compeval.evaluators.results import documents, every_eval_ever
from compeval.evaluators.results.documents import Result
from compeval.evaluators.results.foreign import read_foreign
from compeval.loaders.hub import check_repository, explain_errors

EVAL_RESULTS = ".eval_results/compeval.yaml"
CARD = "README.md"
CARD_TEMPLATE = Path(__file__).with_name("card.md.j2")
SOURCE_NAME = "CompEval"


@dataclass(frozen=True)
class Publication:
    """The files of a publication: path in the repository -> content or local file."""

    repository: str
    files: Mapping[str, bytes | Path]
    """Files of the dataset of results."""
    model_repository: str | None = None
    model_files: Mapping[str, bytes] = field(default_factory=dict)


def prepare(
    folders: Sequence[Path],
    repository: str,
    model_repository: str | None = None,
    benchmarks: Mapping[str, str] | None = None,
) -> Publication:
    """Return the files to publish. ``benchmarks``: name of a dataset -> its repository on the Hub.

    Results on a limited number of rows are left out. Raises ValueError if there is none, if the name of micro-world
    results does not say so, or if the files for a model's page are of several models or of no benchmark on the Hub.
    """
    check_repository(repository)
    results = read_complete(folders)
    if (
        any(result["synthetic"] for result in results.values())
        and "microworld" not in repository.lower()
    ):
        raise ValueError(
            f"{repository}: the results are of the micro-world, a synthetic replacement for real images. The name must "
            f"contain microworld, for example {repository.split('/')[0]}/microworld-results."
        )
    files: dict[str, bytes | Path] = {}
    stored = results
    results = {path: hide_folders(result) for path, result in results.items()}
    for path, result in results.items():
        model = result["model"]["name"]
        task = result["task"]
        folder = documents.get_model_folder(Path(), result["source"], model)
        name = documents.get_result_path(folder, task).as_posix()
        if name in files:
            raise ValueError(f"{path}: a second result of {model} on {task}.")
        files[name] = path if result == stored[path] else documents.format_document(result).encode()
        files[name.removesuffix(".json") + ".parquet"] = path.with_suffix(".parquet")
    files |= every_eval_ever.make_files(results, repository, benchmarks)
    files[CARD] = make_card(list(results.values()), list(files)).encode()
    if model_repository is None:
        return Publication(repository, files)
    check_repository(model_repository)
    entries = make_entries(list(results.values()), repository, benchmarks or {})
    return Publication(repository, files, model_repository, {EVAL_RESULTS: entries.encode()})


def hide_folders(result: Result) -> Result:
    """Return a result without the folders of absolute paths in the names of models, warnings and errors."""
    model = {
        key: strip_folders(value) if isinstance(value, str) else value
        for key, value in result["model"].items()
    }
    skipped = [row | {"error": strip_folders(row["error"])} for row in result["skipped"]]
    return result | {
        "model": model,
        "warnings": list(map(strip_folders, result["warnings"])),
        "skipped": skipped,
    }


def read_complete(folders: Sequence[Path]) -> dict[Path, Result]:
    """Return the results that are not on a limited number of rows. Raises ValueError if there is none."""
    results = {
        path: result
        for path, result in documents.read_all(folders).items()
        if result["data"]["limit"] is None
    }
    if not results:
        raise ValueError(
            f"{', '.join(map(str, folders))}: no complete results. `compeval run` writes them to results/."
        )
    return results


def make_card(results: Sequence[Result], names: Sequence[str]) -> str:
    """Return the card of the dataset of results. A config has the rows of all models on one task."""
    tasks: dict[str, list[str]] = {}
    for name in names:
        if name.endswith(".parquet"):
            tasks.setdefault("--".join(PurePosixPath(name).with_suffix("").parts[2:]), []).append(
                name
            )
    metadata = {
        "tags": [
            "compeval",
            "evaluation-results",
            *(["synthetic"] if results[0]["synthetic"] else []),
        ],
        "configs": [
            {
                "config_name": task.replace("@", "-"),
                "data_files": [{"split": "test", "path": paths}],
            }
            for task, paths in tasks.items()
        ],
    }
    template = jinja2.Template(
        CARD_TEMPLATE.read_text(encoding="utf-8"), trim_blocks=True, keep_trailing_newline=True
    )
    models = sorted({result["model"]["name"] for result in results})
    return template.render(
        metadata=yaml.safe_dump(metadata, sort_keys=False), models=models, tasks=len(tasks)
    )


def make_entries(results: Sequence[Result], repository: str, benchmarks: Mapping[str, str]) -> str:
    """Return the content of ``.eval_results/compeval.yaml``, checked by huggingface_hub's own classes."""
    from huggingface_hub import (
        EvalResultEntry,
        eval_result_entries_to_yaml,
        parse_eval_result_entries,
    )

    models = sorted({result["model"]["name"] for result in results})
    if len(models) > 1:
        raise ValueError(
            f"A model's page takes results of one model; got {', '.join(models)}. Name one model's folder."
        )
    on_hub = [result for result in results if result["dataset"] in benchmarks]
    if not on_hub:
        datasets = ", ".join(sorted({result["dataset"] for result in results}))
        raise ValueError(
            "No result is of a benchmark on the Hub. Name its repository, for example --benchmark NAME=ORG/DATASET; "
            f"the results are of {datasets}."
        )
    entries = [
        EvalResultEntry(
            dataset_id=benchmarks[result["dataset"]],
            task_id=result["task"].partition("/")[2],
            value=round(100 * result["metrics"][result["main"][0]], 2),
            source_url=f"https://huggingface.co/datasets/{repository}",
            source_name=SOURCE_NAME,
            notes=describe(result),
        )
        for result in on_hub
    ]
    text = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)
    assert parse_eval_result_entries(yaml.safe_load(text)) == entries
    return text


def describe(result: Result) -> str:
    """Return what the value of a result is: metric, interval, chance, rows, other main metrics and precision."""
    main, *others = result["main"]
    bounds = result["intervals"].get(main)
    parts = [f"{main} in percent"]
    if bounds:
        parts.append(f"95 % interval over images {100 * bounds[0]:.1f} to {100 * bounds[1]:.1f}")
    parts += [f"chance {100 * result['chance'][main]:.1f}", f"{result['data']['rows']:,} rows"]
    parts += [f"{name} {100 * result['metrics'][name]:.1f}" for name in others]
    parts.append(f"{result['model']['precision']}, CompEval {result['code']['version']}")
    if result["model"]["contaminated"]:
        parts.append(result["model"]["contaminated"])
    return "; ".join(parts)


def publish(publication: Publication, *, private: bool = False) -> list[str]:
    """Upload the files and return the URLs of the commits.

    The file for the model's page becomes a pull request, unless the repository belongs to the user or to one of the
    user's organisations.
    """
    from huggingface_hub import CommitInfo, CommitOperationAdd, HfApi

    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))

    def commit(repository: str, files: Mapping[str, bytes | Path], **options: Any) -> CommitInfo:
        operations = [
            CommitOperationAdd(path_in_repo=name, path_or_fileobj=file)
            for name, file in files.items()
        ]
        return api.create_commit(
            repository, operations, commit_message=f"Results of {SOURCE_NAME}", **options
        )

    with explain_errors(publication.repository, api.endpoint):
        api.create_repo(publication.repository, repo_type="dataset", private=private, exist_ok=True)
        urls = [commit(publication.repository, publication.files, repo_type="dataset").commit_url]
    if publication.model_repository:
        with explain_errors(publication.model_repository, api.endpoint):
            account = api.whoami()
            owners = {account["name"], *(member["name"] for member in account.get("orgs", []))}
            is_foreign = publication.model_repository.split("/")[0] not in owners
            proposal = commit(
                publication.model_repository, publication.model_files, create_pr=is_foreign
            )
        urls.append(proposal.pr_url or proposal.commit_url)
    return urls


def pull(repository: str, output: Path) -> list[Path]:
    """Download the results of a repository to ``output/ORG--NAME`` and return the folders of its models.

    Raises ValueError if there is none, or if a document is not a valid result.
    """
    from huggingface_hub import snapshot_download

    check_repository(repository)
    endpoint = os.environ.get("HF_ENDPOINT")
    with explain_errors(repository, endpoint):
        snapshot = Path(
            snapshot_download(
                repository,
                repo_type="dataset",
                allow_patterns=["*.json", "*.parquet"],
                endpoint=endpoint,
            )
        )
    target = output / repository.replace("/", "--")
    folders = set()
    checked: dict[Path, Path] = {}
    for source in documents.list_documents(snapshot):
        name = source.relative_to(snapshot).as_posix()
        if name.startswith(f"{every_eval_ever.FOLDER}/"):
            continue
        result = read_foreign(source, f"{repository}: {name}")
        try:
            folder = documents.get_model_folder(target, result["source"], result["model"]["name"])
            path = documents.get_result_path(folder, result["task"])
        except UnsafeNameError as error:
            raise ValueError(f"{repository}: {name}: {error}") from None
        checked[source] = path
        folders.add(folder)
    for source, path in checked.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        for suffix in (".parquet", ".json"):
            with atomic_file(path.with_suffix(suffix)) as partial:
                partial.write_bytes(source.with_suffix(suffix).read_bytes())
    if not folders:
        raise ValueError(
            f"{repository}: no results. `compeval publish` writes repositories of results."
        )
    return sorted(folders)


def describe_files(publication: Publication) -> str:
    """Return all files of a publication with their sizes, and the content of those that were made for it."""
    lines = []
    for repository, files in (
        (f"datasets/{publication.repository}", publication.files),
        (publication.model_repository, publication.model_files),
    ):
        for name, content in files.items():
            size = len(content) if isinstance(content, bytes) else content.stat().st_size
            lines.append(f"{repository}/{name}\t{size:,} bytes")
            if isinstance(content, bytes):
                lines += ["", content.decode().rstrip(), ""]
    return "\n".join(lines)
