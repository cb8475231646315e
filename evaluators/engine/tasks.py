"""Find and select tasks. A task is a split of a dataset on which a model is evaluated.

Its name is ``dataset/config[/split][@variant]``, for example ``retrieval/coco@shuffle_trigrams-s0``
(loaders/datasets/split_names.py). Tasks are in natural order, each before its variants.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from compeval.base.schemas.corpus_names import CORPORA, CREPE_DATASETS, parse_systematicity
from compeval.base.storage import parquet
from compeval.evaluators import protocols
from compeval.evaluators.models import Model
from compeval.loaders.datasets.folders import (
    is_published,
    list_datasets,
    missing_benchmark,
    search_path,
    unknown_name,
)
from compeval.loaders.datasets.sorting import natural_key
from compeval.loaders.datasets.split_names import join_name, parse_stored, to_stored
from compeval.loaders.datasets.stats import list_rows

GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Task:
    """Name of a split."""

    dataset: str
    config: str
    split: str = "test"
    variant: str = ""

    @cached_property
    def name(self) -> str:
        return f"{self.set_name}@{self.variant}" if self.variant else self.set_name

    @cached_property
    def set_name(self) -> str:
        """Name of the original set, without the variant."""
        return join_name(self.dataset, self.config, self.split)

    @classmethod
    def of(cls, dataset: str, config: str, stored_split: str) -> Task:
        """Return the task of a split in a dataset folder."""
        return cls(dataset, config, *parse_stored(stored_split))

    @cached_property
    def stored_split(self) -> str:
        """Name of the split in the dataset folder."""
        return to_stored(f"{self.split}@{self.variant}") if self.variant else self.split

    @property
    def is_raw(self) -> bool:
        return self.config.endswith("_raw")

    @property
    def corpus(self) -> str | None:
        """Training corpus of a systematicity config; None for other configs."""
        parts = parse_systematicity(self.config) if self.dataset in CREPE_DATASETS else None
        return parts.corpus if parts else None


def sort_tasks(tasks: Iterable[Task]) -> list[Task]:
    """Return the tasks in natural order."""
    return sorted(tasks, key=lambda task: list(map(natural_key, astuple(task))))


def discover(data_dir: Path | str | None = None) -> list[Task]:
    """Return the tasks of all built datasets.

    Splits without rows, raw splits with a single row, and splits whose columns fit no protocol are not tasks. A damaged
    split is a task, which cannot be loaded. Raises ValueError if no dataset is built.
    """
    folders = list_datasets(data_dir)
    if data_dir is not None and not Path(data_dir).is_dir():
        raise ValueError(
            f"{data_dir}: no such folder. --data, or data_dir, is the folder that contains the datasets."
        )
    if not folders:
        searched = ", ".join(map(str, search_path(data_dir)))
        raise ValueError(
            f"No dataset was found in {searched}. Download a published one with `compeval get NAME`, make one of "
            "your own captions with `compeval make`, build one with `dvc repro`, or name its folder with --data."
        )
    return sort_tasks(
        task
        for name, folder in folders.items()
        for config, splits in list_rows(folder).items()
        for split, rows in splits.items()
        if _is_task(
            task := Task.of(name, config, split),
            rows,
            min(folder.glob(f"{config}/{split}-*"), default=None),
        )
    )


def _is_task(task: Task, rows: int, file: Path | None) -> bool:
    """Return True if a split has a row (raw retrieval needs two) and a protocol supports the columns of its file."""
    if rows <= int(task.is_raw):
        return False
    try:
        return file is None or protocols.match_protocol(parquet.read_schema(file).names) is not None
    except ValueError:
        return True


def select(available: Sequence[Task], patterns: str | Sequence[str]) -> list[Task]:
    """Return the known tasks that match one of the patterns, in natural order.

    A pattern is a name or a glob, or several separated by commas. ``crepe/prod_hnatom`` selects all splits of the
    config, ``retrieval/coco`` the original set without its variants, and ``retrieval/coco@*`` the variants. Variants
    without an original set are selected by the name of their config (``aro/coco_order``). Raises ValueError if there is
    no pattern or if one matches nothing.
    """
    patterns = _split(patterns)
    if not patterns:
        raise ValueError(
            "No task is given. Name at least one task or glob, for example crepe/prod_hnatom/n4."
        )
    selected: set[Task] = set()
    datasets = {task.dataset for task in available}
    for pattern in patterns:
        matches = _match(available, pattern)
        dataset = pattern.partition("/")[0]
        if not matches and is_published(dataset) and dataset not in datasets:
            raise missing_benchmark(dataset)
        if not matches:
            names = [task.name for task in available]
            error = unknown_name(
                "task", pattern, names, "compeval list tasks", _find_similar(available, pattern)
            )
            elsewhere = (
                ""
                if dataset in datasets
                else " --data, or data_dir, names the folder of other datasets."
            )
            raise ValueError(f"{error}{elsewhere}")
        selected |= matches
    return sort_tasks(selected)


def find_named(selected: Sequence[Task], patterns: str | Sequence[str]) -> set[Task]:
    """Return the tasks that a pattern selects by name: it is neither a glob nor the name of a dataset."""
    named: set[Task] = set()
    for pattern in _split(patterns):
        if "/" in pattern and GLOB.search(pattern) is None:
            named |= _match(selected, pattern)
    return named


def _find_similar(available: Sequence[Task], pattern: str) -> list[str]:
    """Return similar patterns that match known tasks: "crepe/*" for "crep/*", "*/prod_*" for "prod_*"."""
    if not (glob := GLOB.search(pattern)):
        return []
    stem = pattern[: glob.start()]
    rest = pattern[glob.start() :]
    beginnings = {task.name[: len(stem) + change] for task in available for change in (-1, 0, 1)}
    similar = [
        f"{beginning}{rest}"
        for beginning in difflib.get_close_matches(stem, sorted(beginnings), n=9)
    ]
    return [other for other in (f"*/{pattern}", *similar) if _match(available, other)][:1]


def select_datasets(patterns: str | Sequence[str], data_dir: Path | None = None) -> set[str]:
    """Return the names of the datasets that the patterns select tasks of.

    A dataset that is named without a glob need not be built: a revision may contain it. Raises ValueError if a glob
    matches no task.
    """
    names: set[str] = set()
    for pattern in _split(patterns):
        dataset = pattern.partition("/")[0]
        names |= (
            {task.dataset for task in select(discover(data_dir), pattern)}
            if GLOB.search(dataset)
            else {dataset}
        )
    return names


def _split(patterns: str | Sequence[str]) -> list[str]:
    """Return the parts between commas. A variant may also be written as it is stored, with dots."""
    joined = patterns if isinstance(patterns, str) else ",".join(patterns)
    parts = (part.strip().partition("@") for part in joined.split(",") if part.strip())
    return [name + at + variant.replace(".", "-") for name, at, variant in parts]


def _match(available: Sequence[Task], pattern: str) -> set[Task]:
    matches = {task for task in available if fnmatchcase(task.name, pattern)}
    if "@" in pattern:
        return matches
    splits = f"{pattern}/*"
    of_sets = [
        task
        for task in available
        if fnmatchcase(task.set_name, pattern) or fnmatchcase(task.set_name, splits)
    ]
    originals = {task.set_name for task in of_sets if not task.variant}
    return matches | {
        task for task in of_sets if not task.variant or task.set_name not in originals
    }


def defaults(available: Sequence[Task], model: Model) -> list[Task]:
    """Return all known tasks except raw retrieval.

    If the model was trained on a corpus of CREPE or of the known tasks, the systematicity tasks of the other corpora
    are left out too.
    """
    corpora = {*CORPORA, *(task.corpus for task in available if task.corpus)}
    return [
        task
        for task in available
        if not task.is_raw
        and (task.corpus is None or model.corpus not in corpora or task.corpus == model.corpus)
    ]


def list_warnings(task: Task, source: str, model: Model) -> list[str]:
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
