"""Find and select tasks. A task is a split of a dataset on which a model is evaluated.

Its name is ``dataset/config[/split][@variant]``; the split ``test`` is omitted. A variant is stored as a separate
split: the split ``test.shuffle_trigrams.s0`` of a config is the task ``dataset/config@shuffle_trigrams-s0``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from evaluators import protocols
from evaluators.models import Model
from generators.schemas.corpus_names import CORPORA, CREPE_DATASETS, parse_systematicity
from generators.storage import parquet
from loaders.datasets.folders import list_datasets, search_path, unknown_name
from loaders.datasets.stats import list_configs


@dataclass(frozen=True, order=True)
class Task:
    """Name of a split. Tasks are ordered by name, each task before its variants."""

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
        """Return the task of a split in a dataset folder."""
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
        """Training corpus of a systematicity config; None for other configs."""
        parts = parse_systematicity(self.config) if self.dataset in CREPE_DATASETS else None
        return parts.corpus if parts else None


def discover(data_dir: Path | None = None) -> list[Task]:
    """Return the tasks of all built datasets, ordered by name.

    Splits without rows, raw splits with a single row, and splits whose columns fit no protocol are not tasks. Raises
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
        if _is_task(Task.of(name, config, split), sorted(folder.glob(f"{config}/{split}-*.parquet")))
    )


def _is_task(task: Task, files: Sequence[Path]) -> bool:
    """Return True if a split has a row (raw retrieval needs two) and a protocol supports the columns of its files."""
    num_rows = sum(map(parquet.count_rows, files))
    return num_rows > int(task.is_raw) and protocols.match_protocol(parquet.read_schema(files[0]).names) is not None


def select(known: Sequence[Task], patterns: Sequence[str]) -> list[Task]:
    """Return the known tasks that match one of the globs, in order.

    A name such as ``crepe/prod_hnatom`` also selects all its splits and variants. Raises ValueError if a pattern
    matches nothing.
    """
    selected: set[Task] = set()
    for pattern in patterns:
        matches = {task for task in known if any(fnmatchcase(task.name, glob) for glob in (pattern, f"{pattern}[/@]*"))}
        if not matches:
            raise unknown_name("task", pattern, [task.name for task in known], "compeval list tasks")
        selected |= matches
    return sorted(selected)


def defaults(known: Sequence[Task], model: Model) -> list[Task]:
    """Return all known tasks except raw retrieval.

    If the model was trained on a corpus of CREPE or of the known tasks, the systematicity tasks of the other corpora
    are left out too.
    """
    corpora = {*CORPORA, *(task.corpus for task in known if task.corpus)}
    return [
        task
        for task in known
        if not task.is_raw and (task.corpus is None or model.corpus not in corpora or task.corpus == model.corpus)
    ]


def warnings(task: Task, source: str, model: Model) -> list[str]:
    """Return the warnings for the result of a task: systematicity needs the corpus that the model was trained on."""
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
