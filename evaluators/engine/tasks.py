"""Tasks: splits of datasets that a model is evaluated on, by name.

A task is ``dataset/config[/split][@variant]``; the split ``test`` is omitted. A variant is a split of its own: the
split ``test.shuffle_trigrams.s0`` of a config is the task ``dataset/config@shuffle_trigrams-s0``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from evaluators import protocols
from evaluators.models import Model
from generators.schemas.corpus_names import CORPORA
from generators.storage import parquet
from loaders.datasets.folders import list_datasets, search_path, unknown_name
from loaders.datasets.stats import list_configs


@dataclass(frozen=True, order=True)
class Task:
    """Ordered by name, a task before its variants."""

    dataset: str
    config: str
    split: str = "test"
    variant: str = ""

    @property
    def name(self) -> str:
        split = "" if self.split == "test" else f"/{self.split}"
        return f"{self.dataset}/{self.config}{split}" + (f"@{self.variant}" if self.variant else "")

    @classmethod
    def of(cls, dataset: str, config: str, stored_split: str) -> Task:
        """The task of a split in a dataset folder."""
        split, _, variant = stored_split.partition(".")
        return cls(dataset, config, split, variant.replace(".", "-"))

    @property
    def stored_split(self) -> str:
        """Name of the split in the dataset folder."""
        return f"{self.split}.{self.variant.replace('-', '.')}" if self.variant else self.split

    @property
    def is_raw(self) -> bool:
        return self.config.endswith("_raw")

    @property
    def corpus(self) -> str | None:
        """The training corpus of a systematicity config; None for other configs."""
        corpus = self.config.split("_")[0]
        return corpus if self.dataset == "crepe" and corpus in CORPORA else None


def discover(data_dir: Path | None = None) -> list[Task]:
    """The tasks of all built datasets, in name order, without splits that are empty or have no protocol.

    ValueError if no dataset is built.
    """
    folders = list_datasets(data_dir)
    if not folders:
        searched = ", ".join(map(str, search_path(data_dir)))
        raise ValueError(
            f"No dataset was found in {searched}. Build one with `dvc repro`, or name its folder with --data."
        )
    return sorted(
        Task.of(name, config, split)
        for name, folder in folders.items()
        for config, splits in list_configs(name, data_dir).items()
        for split in splits
        if _is_task(sorted(folder.glob(f"{config}/{split}-*.parquet")))
    )


def _is_task(files: Sequence[Path]) -> bool:
    """True if the files of a split hold a row, and a protocol fits their columns."""
    return (
        any(map(parquet.count_rows, files))
        and protocols.match_protocol(parquet.read_schema(files[0]).names) is not None
    )


def select(known: Sequence[Task], patterns: Sequence[str]) -> list[Task]:
    """The known tasks that match a glob, with their splits and variants (``crepe/prod_hnatom``).

    ValueError for a pattern that matches nothing.
    """
    selected: set[Task] = set()
    for pattern in patterns:
        matches = {task for task in known if any(fnmatchcase(task.name, glob) for glob in (pattern, f"{pattern}[/@]*"))}
        if not matches:
            raise unknown_name("task", pattern, [task.name for task in known], "compeval list tasks")
        selected |= matches
    return sorted(selected)


def defaults(known: Sequence[Task], model: Model) -> list[Task]:
    """All tasks but raw retrieval and the systematicity of corpora other than the model's own, if that is known."""
    return [
        task
        for task in known
        if not task.is_raw and (task.corpus is None or model.corpus not in CORPORA or task.corpus == model.corpus)
    ]


def warnings(task: Task, source: str, model: Model) -> list[str]:
    """Warnings for the result document, if a systematicity task is not of the model's training corpus."""
    if task.corpus is None:
        return []
    if model.corpus is None:
        reason = f"the training data of {model.name} is not known"
    elif model.corpus != task.corpus:
        reason = f"{model.name} was trained on {model.corpus}"
    elif (model.corpus_source == "microworld") != (source == "microworld"):
        corpus = f"{model.corpus} of {model.corpus_source}"
        reason = f"{model.name} was trained on the {corpus}, these splits are of {source}"
    else:
        return []
    return [
        f"{task.name}: seen and unseen are those of the training corpus {task.corpus}, but {reason}. Its seen-unseen "
        "gap does not measure systematicity."
    ]
