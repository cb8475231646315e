"""Find the best text-only baseline on a set.

A model can use what a baseline uses, so a set that one solves does not measure vision. `compeval inspect` examines one
set in detail; here, many are compared. The baselines (base/text_only/judges.py) are cues, the medoid (a truth of which
all negatives are edits is closest to them), and models that learn from the captions of other images. The best one is
chosen with knowledge of the truth. Tied captions share the hit.
Sets whose candidates are images, and pairs of images with the same two captions, cannot be solved by a text alone.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from compeval.base.files.atomic import atomic_file
from compeval.base.files.cache_folder import cache_folder
from compeval.base.pipeline.code_digest import code_digest
from compeval.base.storage import parquet
from compeval.base.text_only import judges
from compeval.base.text_only.baselines import (
    Baseline,
    RetrievalSets,
    measure_on_pairs,
    recall_at_1,
)
from compeval.base.text_only.judges import select_audited
from compeval.evaluators.metrics.intervals import Interval, compute_share_interval
from compeval.loaders.audit import CUE_MARGIN
from compeval.loaders.datasets.folders import list_datasets
from compeval.loaders.datasets.split_names import name_of_stored
from compeval.loaders.datasets.stats import parquet_files, read_version, split_name

MAX_ROWS = 1000
"""Number of distinct random rows of a set on which the baselines are tried."""
MIN_ROWS = 10
"""A set of fewer rows is not compared with chance: of five captions, the interval of one right answer is above it."""
FOLDER = "text_only"
"""Folder of the measured baselines in the cache folder."""
Row = tuple[str, tuple[str, ...]]
"""An image and its candidates, the true one first."""


def beats_chance(recall: float, interval: Interval, chance: float) -> bool:
    """Return True if a recall is above chance by more than ``CUE_MARGIN``, and its whole interval is above chance."""
    return interval[0] > chance and recall > chance + CUE_MARGIN


class BestBaseline(NamedTuple):
    """The best text-only baseline on a set. ``recall`` is Recall@1 or the share of pairs, as a fraction of 1."""

    name: str
    recall: float
    interval: Interval
    chance: float
    rows: int
    recalls: Mapping[str, float] = {}
    """Recall of every baseline that was measured on the set, the best one first."""

    @property
    def beats_chance(self) -> bool:
        """True if the set has ``MIN_ROWS`` rows and the baseline is above chance on it."""
        enough = self.rows >= MIN_ROWS
        return enough and beats_chance(self.recall, self.interval, self.chance)


def find_best(rows: Iterable[Row]) -> BestBaseline | None:
    """Return the best text-only baseline on the rows of a set; None if there are no negatives.

    Of rows with different numbers of negatives, those with the most frequent number are measured.
    """
    sampled = _sample(rows)
    sizes = Counter(len(candidates) for _, candidates in sampled)
    size = max(sizes, key=lambda size: (sizes[size], size), default=1)
    if size == 1:
        return None
    sampled = [row for row in sampled if len(row[1]) == size]
    sets = RetrievalSets.of_any_texts(
        [candidates for _, candidates in sampled], [image for image, _ in sampled]
    )
    best = choose_best(sets, select_audited(with_slow=False))
    recalls = {name.replace("_", " "): recall for name, recall in best.recalls.items()}
    return best._replace(name=best.name.replace("_", " "), recalls=recalls)


def choose_best(
    sets: RetrievalSets, baselines: Mapping[str, Baseline], *, on_pairs: bool = False
) -> BestBaseline:
    """Return the baseline with the highest Recall@1, or with ``on_pairs`` the highest share of pairs in order."""
    hits = {
        name: measure_on_pairs(sets, baseline) if on_pairs else recall_at_1(baseline(sets))
        for name, baseline in baselines.items()
    }
    recalls = {name: float(hit_N.mean()) for name, hit_N in hits.items()}
    best = max(recalls, key=lambda name: recalls[name])
    interval = compute_share_interval(hits[best], sets.images)
    chance = 1 / 2 if on_pairs else sets.chance
    ordered = dict(sorted(recalls.items(), key=lambda item: -item[1]))
    return BestBaseline(best, recalls[best], interval, chance, len(sets), ordered)


def _sample(rows: Iterable[Row]) -> list[Row]:
    """Return at most ``MAX_ROWS`` distinct rows, those with the smallest hashes."""
    by_hash: dict[bytes, Row] = {}
    for image, candidates in rows:
        by_hash[
            hashlib.blake2b("\0".join((image, *candidates)).encode(), digest_size=16).digest()
        ] = image, candidates
        if len(by_hash) == 2 * MAX_ROWS:
            by_hash = {key: by_hash[key] for key in heapq.nsmallest(MAX_ROWS, by_hash)}
    return [by_hash[key] for key in sorted(by_hash)[:MAX_ROWS]]


def find_best_of_dataset(folder: Path) -> dict[str, BestBaseline]:
    """Return the best baseline on each task of a dataset folder that has hard negatives.

    Splits are measured one by one: those of a config may have different numbers of negatives, and a balanced subset
    is a split.
    """
    best_by_task = {
        task: find_best(_read_rows(paths)) for task, paths in _list_files(folder).items()
    }
    return {task: best for task, best in best_by_task.items() if best}


def find_best_of_results(
    results: Iterable[Mapping[str, Any]], data_dir: Path | None = None
) -> dict[str, BestBaseline]:
    """Return the best baseline on each task with hard negatives of some result documents.

    Tasks are left out if their dataset is not here, or is here in another version than that of the results, and if only
    their first rows were evaluated (``--limit``): a baseline is measured on rows of the whole set. What was measured is
    stored in the cache folder, so that each task of a dataset version is measured once.
    """
    versions: dict[str, dict[str, str | None]] = {}
    for result in results:
        if result["protocol"] == "choice" and result["data"].get("limit") is None:
            tasks = versions.setdefault(result["dataset"], {})
            tasks[result["task"]] = result["data"].get("version")
    here = list_datasets(data_dir) if versions else {}
    best_by_task: dict[str, BestBaseline | None] = {}
    for dataset, tasks in versions.items():
        if dataset not in here:
            continue
        # A damaged dataset does not keep results from being shown.
        with suppress(ValueError, OSError):
            version = read_version(here[dataset])
            for task, paths in _list_files(here[dataset]).items():
                if tasks.get(task) == version:
                    best_by_task[task] = _read_or_measure(task, version, paths)
    return {task: best for task, best in best_by_task.items() if best}


def _read_or_measure(task: str, version: str, paths: Sequence[Path]) -> BestBaseline | None:
    """Return the best baseline on a task of a dataset version, from the cache folder if it was measured before."""
    key = json.dumps([task, version, MAX_ROWS, code_digest(judges.__file__)])
    path = cache_folder() / FOLDER / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
    with suppress(OSError, ValueError, TypeError):  # not measured, or a damaged file
        stored = json.loads(path.read_text(encoding="utf-8"))
        return BestBaseline(**stored | {"interval": tuple(stored["interval"])}) if stored else None
    best = find_best(_read_rows(paths))
    with suppress(OSError):  # the cache is a convenience
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as partial:
            partial.write_text(json.dumps(best._asdict() if best else None), encoding="utf-8")
    return best


def _list_files(folder: Path) -> dict[str, list[Path]]:
    """Return the files of each task of a dataset folder that has hard negatives."""
    files: dict[str, list[Path]] = {}
    for path in parquet_files(folder):
        if {"image_id", "hard_negatives"} <= {*parquet.read_schema(path).names}:
            task = name_of_stored(folder.name, path.parent.name, split_name(path))
            files.setdefault(task, []).append(path)
    return files


def _read_rows(paths: Iterable[Path]) -> Iterator[Row]:
    for path in paths:
        for batch in parquet.read_filled(path, columns=["image_id", "caption", "hard_negatives"]):
            for row in batch.to_pylist():
                yield row["image_id"], (row["caption"], *row["hard_negatives"])
