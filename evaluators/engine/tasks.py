"""Tasks: what can be measured, by name.

A task is ``dataset/config[/split][@variant]``; the split is left out where it is ``test``. A variant is data: the split
``test.shuffle_trigrams.s0`` of a config is the task ``dataset/config@shuffle_trigrams-s0``. By default a model gets
everything but raw retrieval, and of systematicity only the corpus that it was trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import loaders
from evaluators import protocols
from evaluators.models import Model
from generators.schemas.corpus_names import CORPORA
from generators.storage import parquet


@dataclass(frozen=True)
class Task:
    dataset: str
    config: str
    split: str = "test"
    variant: str | None = None

    def __lt__(self, other: Task) -> bool:
        """In name order, a task before its variants."""
        mine, others = ((task.dataset, task.config, task.split, task.variant or "") for task in (self, other))
        return mine < others

    @property
    def name(self) -> str:
        split = "" if self.split == "test" else f"/{self.split}"
        variant = f"@{self.variant}" if self.variant else ""
        return f"{self.dataset}/{self.config}{split}{variant}"

    @classmethod
    def of(cls, dataset: str, config: str, split: str) -> Task:
        """The task of a dataset's split."""
        name, _, variant = split.partition(".")
        return cls(dataset, config, name, variant.replace(".", "-") or None)

    @property
    def stored_split(self) -> str:
        """The split's name in the dataset's folder."""
        return f"{self.split}.{self.variant.replace('-', '.')}" if self.variant else self.split

    @property
    def is_raw(self) -> bool:
        return self.config.endswith("_raw")

    @property
    def corpus(self) -> str | None:
        """The training corpus that a systematicity config is about; None for any other config."""
        first = self.config.split("_")[0]
        return first if self.dataset == "crepe" and first in CORPORA else None


def discover(data_dir: Path | None = None) -> list[Task]:
    """Every task of the datasets that are built, in name order; splits without rows or without a protocol are none.

    ValueError if no dataset is built.
    """
    names = loaders.list_datasets(data_dir)
    if not names:
        places = ", ".join(map(str, loaders.search_path(data_dir)))
        raise ValueError(
            f"No dataset was found in {places}. Build one with `dvc repro`, or name its folder with --data."
        )
    return sorted(
        Task.of(name, config, split)
        for name, folder in names.items()
        for config, splits in loaders.list_configs(name, data_dir).items()
        for split in splits
        if _is_task(sorted(folder.glob(f"{config}/{split}-*.parquet")))
    )


def _is_task(files: Sequence[Path]) -> bool:
    """Whether a split's files hold a row, and columns that there is a protocol for."""
    return any(map(parquet.count_rows, files)) and protocols.is_for(parquet.read_schema(files[0]).names)


def select(known: Sequence[Task], patterns: Sequence[str]) -> list[Task]:
    """The known tasks that a glob matches, or below a matched name (``crepe/prod_hnatom``: its splits and variants).

    ValueError for a pattern that matches nothing.
    """
    chosen: set[Task] = set()
    for pattern in patterns:
        found = {task for task in known if fnmatchcase(task.name, pattern) or fnmatchcase(task.name, f"{pattern}[/@]*")}
        if not found:
            raise loaders.unknown("task", pattern, [task.name for task in known], "compeval list tasks")
        chosen |= found
    return sorted(chosen)


def worth_running(known: Sequence[Task], model: Model) -> list[Task]:
    """All but raw retrieval; of systematicity only the model's own corpus where that is known."""
    return [
        task
        for task in known
        if not task.is_raw and (task.corpus is None or model.corpus not in CORPORA or task.corpus == model.corpus)
    ]


def warnings(task: Task, source: str, model: Model) -> list[str]:
    """What a reader of this result must know; the texts land in the result."""
    if task.corpus is None:
        return []
    if model.corpus is None:
        told = f"what {model.name} was trained on is not known"
    elif model.corpus != task.corpus:
        told = f"{model.name} was trained on {model.corpus}"
    elif (model.corpus_source == "microworld") != (source == "microworld"):
        told = f"{model.name} was trained on the {model.corpus} of {model.corpus_source}, these splits are of {source}"
    else:
        return []
    return [
        f"{task.name}: seen and unseen are those of the training corpus {task.corpus}, but {told}. Its seen-unseen gap "
        "says nothing about systematicity."
    ]
