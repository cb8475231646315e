"""Collect examples with images, as in CREPE's Table 17: crop, true caption, hard negatives, and the models' choices.

For each model, an example shows whether the true caption ranks first, and the three captions that rank first.

Rows are chosen by a hash of their content, so the same results always have the same examples. On half of them, at least
one model is wrong.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import reduce
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from compeval.evaluators.engine.task_dataset import load
from compeval.evaluators.engine.tasks import Task
from compeval.evaluators.report.results import Result
from compeval.evaluators.results.task_names import PAPER_KINDS
from compeval.loaders.datasets.sorting import natural_key
from compeval.loaders.load import load_dataset

EXAMPLES_PER_TASK = 4
IMAGE_SIZE = 480
CHOSEN_SIZE = 160
NUM_TOP = 3
"""Number of captions that are shown per model."""
KINDS = {"swap": "HN-Swap", "negation": "HN-Neg"}
POSITIONS = ["i2t_wrong", "t2i_wrong"]
Frames = Mapping[str, pd.DataFrame]
"""Model -> its per-example rows, by number of the row."""


@dataclass(frozen=True)
class Candidate:
    """A caption and the models that ranked it first.

    ``kind`` is the type of hard negative ("" for the true caption). For retrieval tasks, it lists the models' image
    ranks.
    """

    caption: str
    is_truth: bool
    picked_by: Sequence[str] = ()
    kind: str = ""
    parts: Sequence[tuple[str, bool]] = ()
    """The caption in parts, and for each part whether it differs from the true caption."""
    image: str | None = None
    """The image that was retrieved for the caption instead of the true one, a data URI."""


@dataclass(frozen=True)
class Example:
    """A row of a task (or of a set) with its image, a data URI; None if the dataset is not here."""

    task: str
    row: int
    image: str | None
    candidates: Sequence[Candidate]
    is_failure: bool = False
    """True if a model ranked a wrong candidate first."""
    top: Mapping[str, Sequence[Candidate]] = field(default_factory=dict)
    """Model -> the captions that it ranked first, best first. Empty for retrieval tasks."""

    @property
    def id(self) -> str:
        return f"row-{self.task}-{self.row}".replace("/", "-").replace("@", "-")


def collect_examples(
    results: Sequence[Result],
    tasks: Sequence[str],
    data_dir: Path | None,
    count: int = EXAMPLES_PER_TASK,
) -> list[Example]:
    """Return ``count`` examples per task that has results, unless its dataset has changed since the evaluation."""
    examples = []
    for task in tasks:
        members = [result for result in results if result.data["task"] == task]
        protocol = members[0].data["protocol"] if members else None
        if protocol in ("choice", "recall") and (split := load_split(members[0], data_dir)):
            frames = read_frames(members)
            if protocol == "choice":
                examples += make_choice_examples(task, frames, choose_rows(frames, count), split)
            else:
                examples += make_retrieval_examples(task, frames, split, count)
    return examples


def load_split(result: Result, data_dir: Path | None) -> Any:
    """Return the rows of a result's task with their images, None if they are not here or have changed since then."""
    data = result.data
    task = Task(data["dataset"], data["config"], data["split"], data.get("variant") or "")
    try:
        dataset = load(task, data_dir, data["data"]["limit"])
    except ValueError:
        return None
    if dataset.fingerprint != data["data"]["fingerprint"]:
        return None
    return load_dataset(task.dataset, task.config, task.stored_split, data_dir)


def read_frames(results: Sequence[Result]) -> Frames:
    """Return the per-example rows of each model, of the rows that all of them scored.

    If models scored different rows, the columns with positions of other rows are dropped.
    """
    frames = {result.model: result.examples.set_index("row") for result in results}
    shared = reduce(pd.Index.intersection, (rows.index for rows in frames.values()))
    return {
        model: rows
        if len(rows) == len(shared)
        else rows.loc[shared].drop(columns=POSITIONS, errors="ignore")
        for model, rows in frames.items()
    }


def find_other_tasks(results: Sequence[Result], excluded_datasets: Sequence[str]) -> list[str]:
    """Return the tasks (without variants) of all other datasets, such as imported datasets."""
    others = [result.data for result in results if result.data["dataset"] not in excluded_datasets]
    return sorted({data["task"] for data in others if not data["variant"]}, key=natural_key)


def make_choice_examples(
    task: str, frames: Frames, rows: Sequence[int], split: Any, size: int = IMAGE_SIZE
) -> list[Example]:
    """Make examples of some rows of a task with hard negatives. ``split``: the rows with images, or None."""
    return [
        _make_choice_example(task, frames, int(row), _read_row(split, int(row)), size)
        for row in rows
    ]


def _read_row(split: Any, row: int) -> Mapping[str, Any]:
    """Return a row of a dataset, {} if it is not here or has no readable image."""
    try:
        return split[row] if split else {}
    except (OSError, ValueError):
        return {}


def _make_choice_example(
    task: str, frames: Frames, row: int, columns: Mapping[str, Any], size: int
) -> Example:
    texts = next(iter(frames.values())).loc[row]
    captions = [texts["caption"], *texts["hard_negatives"]]
    kinds = ["", *map(get_kind, columns.get("foils") or [[]] * (len(captions) - 1))]
    ranking = {name: find_top(rows["scores"][row]) for name, rows in frames.items()}
    candidates = []
    for index, caption in enumerate(captions):
        picked_by = [name for name, best in ranking.items() if best[0] == index]
        candidates.append(
            Candidate(
                caption, not index, picked_by, kinds[index], mark_changes(captions[0], caption)
            )
        )
    top = {name: [candidates[index] for index in best] for name, best in ranking.items()}
    image = make_data_uri(columns["image"], size) if columns else None
    return Example(task, row, image, candidates, any(best[0] for best in ranking.values()), top)


def mark_changes(truth: str, text: str) -> list[tuple[str, bool]]:
    """Return the text in parts, each with True if its words differ from those of the true caption.

    Words are compared in an alignment, or place by place if this marks fewer words, as in an exchange of two words.
    """
    true_words = truth.split()
    words = text.split()
    changed = [True] * len(words)
    for block in SequenceMatcher(None, true_words, words, autojunk=False).get_matching_blocks():
        changed[block.b : block.b + block.size] = [False] * block.size
    if len(words) == len(true_words):
        changed = min(changed, [a != b for a, b in zip(true_words, words, strict=True)], key=sum)
    parts = groupby(zip(words, changed, strict=True), key=itemgetter(1))
    return [(" ".join(word for word, _ in part), is_changed) for is_changed, part in parts]


def choose_rows(frames: Frames, count: int) -> list[int]:
    """Choose ``count`` rows by content hash. On half of them, some model is wrong, if there are enough such rows."""
    captions = next(iter(frames.values()))["caption"]
    is_wrong = dict(
        zip(
            captions.index,
            np.any([rows["rank"] > 1 for rows in frames.values()], axis=0),
            strict=True,
        )
    )
    order = sort_by_hash(captions)
    wrong, right = (
        [row for row in order if is_wrong[row] == expected] for expected in (True, False)
    )
    half = wrong[: count // 2]
    return [*half, *right, *wrong[len(half) :]][:count]


def find_top(scores: Sequence[float], count: int = NUM_TOP) -> list[int]:
    """Return the indices of the best scores, best first.

    Of equal scores, the last is best, so the truth (index 0) never wins a tie.
    """
    return sorted(range(len(scores)), key=lambda index: (-scores[index], -index))[:count]


def get_kind(foils: Sequence[Mapping[str, str]]) -> str:
    """Return the type of a hard negative with its meaning, given its foils."""
    if not foils:
        return ""
    name = KINDS.get(foils[0]["type"], "HN-Comp" if len(foils) > 1 else "HN-Atom")
    return PAPER_KINDS[name]


def make_retrieval_examples(task: str, frames: Frames, split: Any, count: int) -> list[Example]:
    """Make examples of a retrieval task: images with their captions, their ranks, and what ranks first instead."""
    captions_by_row: dict[Any, Sequence[str]] = next(iter(frames.values()))["captions"].to_dict()
    examples = []
    for row in sorted(captions_by_row, key=lambda row: hash_text(str(list(captions_by_row[row]))))[
        :count
    ]:
        first_hit = [
            name for name, rows in frames.items() if np.atleast_1d(rows["i2t_rank"][row])[0] == 1
        ]
        image_ranks = {name: np.atleast_1d(rows["t2i_rank"][row]) for name, rows in frames.items()}
        candidates = []
        for index, caption in enumerate(captions_by_row[row]):
            ranks = "; ".join(
                f"{name}: image rank {ranks[index]}" for name, ranks in image_ranks.items()
            )
            candidates.append(Candidate(caption, True, first_hit, ranks, [(caption, False)]))
        candidates += find_retrieved_instead(frames, row, split)
        is_failure = len(first_hit) < len(frames) or any(
            (ranks > 1).any() for ranks in image_ranks.values()
        )
        examples.append(
            Example(task, int(row), make_data_uri(split[int(row)]["image"]), candidates, is_failure)
        )
    return examples


def find_retrieved_instead(frames: Frames, row: int, split: Any) -> list[Candidate]:
    """Return the wrong caption that ranks first for an image, and the wrong image for the first caption that has one.

    Each names the models that rank it first. Results of earlier versions do not have the columns: then, [].
    """
    captions = dict[str, list[str]]()
    images = dict[tuple[str, Any], list[str]]()
    for name, rows in frames.items():
        if "i2t_wrong" in rows and np.atleast_1d(rows["i2t_rank"][row])[0] > 1:
            texts = list(chain.from_iterable(rows["captions"]))
            captions.setdefault(texts[np.atleast_1d(rows["i2t_wrong"][row])[0]], []).append(name)
        if (
            "t2i_wrong" in rows
            and (missed := np.flatnonzero(np.atleast_1d(rows["t2i_rank"][row]) > 1)).size
        ):
            image = rows.index[rows["t2i_wrong"][row][missed[0]]]
            images.setdefault((rows["captions"][row][missed[0]], image), []).append(name)
    candidates = [
        Candidate(text, False, names, "Ranks first for this image", [(text, False)])
        for text, names in captions.items()
    ]
    for (text, image), names in images.items():
        picture = make_data_uri(split[int(image)]["image"], CHOSEN_SIZE)
        candidates.append(
            Candidate(
                text,
                False,
                names,
                "This image ranks first for a caption above",
                [(text, False)],
                picture,
            )
        )
    return candidates


def sort_by_hash(captions: pd.Series) -> list[int]:
    """Return the numbers of the rows, in the order of the hashes of their captions."""
    return captions.map(lambda text: hash_text(str(text))).sort_values().index.tolist()


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def make_data_uri(image: Any, size: int = IMAGE_SIZE) -> str:
    """Return the image as a JPEG data URI of at most ``size`` pixels per side."""
    small = image.convert("RGB")
    small.thumbnail((size, size))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
