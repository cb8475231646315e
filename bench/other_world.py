"""Text-only baselines on the balanced sets of several worlds, trained on the same sets of another world.

    python -m bench.other_world crepe ../one/crepe ../two/crepe    # built with different values of microworld.seed

Cross-fitting within a refined set is biased towards less than chance: if a word is true as often as false in all rows,
it is true less often than that in the rows outside a fold in which it is true more often. Sets of two worlds are
independent. The baselines that score a world are trained on the world before it, those of the first one on the last
one, so that they have as many rows as anybody who has the released sets. ``--train others`` trains them on all other
worlds, and ``--train within`` cross-fits them within each world. The last three baselines were invented after the sets
were built.

Prints a table of Recall@1 over all worlds with 95 % intervals over images, first by config, then by kind (the configs
of all corpora, whose sets are of the same images).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import typer

from compeval.base.schemas.corpus_names import parse_systematicity
from compeval.base.text_only.baselines import (
    Baseline,
    RetrievalSets,
    recall_at_1,
)
from compeval.base.text_only.judges import select_judges
from compeval.base.text_only.ngram import TOKEN
from compeval.base.text_only.transfer import join_sets, score_transferred
from compeval.evaluators.metrics.intervals import compute_share_interval
from compeval.evaluators.validity.text_only import read

PRIOR = 5.0
"""Number that is added to the counts of a property."""
Training = Literal["before", "others", "within"]
"""The training data of the baselines that score a world."""
Keys = Callable[[Sequence[str], int], Sequence[object]]
"""Returns the properties of one caption of a set."""


def score_by_keys(sets: RetrievalSets, keys: Keys) -> np.ndarray:
    """Score a caption (N, K) by how often its properties were those of true captions: the mean of their log odds."""
    of_set = [[keys(captions, index) for index in range(sets.size)] for captions in sets.captions]
    score_NK = np.zeros((len(sets), sets.size))
    for train, test in sets.splits():
        num_true = Counter(key for row in train for key in of_set[row][0])
        num_all = Counter(key for row in train for candidate in of_set[row] for key in candidate)
        odds = {
            key: np.log((num_true[key] * sets.size + PRIOR) / (count + PRIOR))
            for key, count in num_all.items()
        }
        for row in test:
            score_NK[row] = [
                np.mean([odds.get(key, 0.0) for key in properties] or [0.0])
                for properties in of_set[row]
            ]
    return score_NK


def _split_words(captions: Sequence[str]) -> list[set[str]]:
    words = [set(TOKEN.findall(caption.lower())) for caption in captions]
    return [own - set.intersection(*words) for own in words]


def list_rivals(captions: Sequence[str], index: int) -> list[tuple[str, str]]:
    """Return the pairs of an own differing word and a differing word of another caption."""
    words = _split_words(captions)
    return [(own, other) for own in words[index] for other in set.union(*words) - words[index]]


def list_skips(captions: Sequence[str], index: int) -> list[tuple[str, str]]:
    """Return the pairs of words with one word between them."""
    words = TOKEN.findall(captions[index].lower())
    return [*zip(words, words[2:], strict=False)]


def find_alphabetical_place(captions: Sequence[str], index: int) -> list[int]:
    """Return the place of a caption in the alphabetical order of its set, as its only property."""
    return [sorted(captions).index(captions[index])]


INVENTED: dict[str, Baseline] = {
    "rivals": partial(score_by_keys, keys=list_rivals),
    "skipped_bigrams": partial(score_by_keys, keys=list_skips),
    "alphabetical_place": partial(score_by_keys, keys=find_alphabetical_place),
}
SHOWN = ("left_out", "other_rows", *INVENTED)
"""Baselines that have columns of their own."""
ROUNDING = 1e-6
BASELINES = {
    **select_judges("refining", "held_out", "comparing", "unseen"),
    **INVENTED,
}


class Measured(NamedTuple):
    """Recall@1 (N) of each baseline, and the image of each row."""

    chance: float
    images: Sequence[str]
    hits: Mapping[str, np.ndarray]


def score_other(training: Sequence[RetrievalSets], second: RetrievalSets) -> dict[str, np.ndarray]:
    """Return the Recall@1 (N) of each baseline on a world's sets if it is trained on those of other worlds."""
    first = join_sets(training)
    return {
        name: recall_at_1(score_transferred(second, baseline, first))
        for name, baseline in BASELINES.items()
    }


def score_within(sets: RetrievalSets) -> dict[str, np.ndarray]:
    """Return the Recall@1 (N) of each baseline, cross-fitted over images."""
    return {name: recall_at_1(baseline(sets)) for name, baseline in BASELINES.items()}


def score_all(worlds: Sequence[RetrievalSets], train: Training) -> Iterator[dict[str, np.ndarray]]:
    """Yield the Recall@1 (N) of each baseline on each world."""
    for index, sets in enumerate(worlds):
        match train:
            case "within":
                yield score_within(sets)
            case "before":
                yield score_other(worlds[index - 1 : index] or worlds[-1:], sets)
            case "others":
                yield score_other([*worlds[:index], *worlds[index + 1 :]], sets)


def measure(folders: Sequence[Path], train: Training, config: str) -> Measured:
    """Measure the baselines on a config of all dataset folders that have it."""
    worlds = [
        replace(sets, images=[f"{world} {image}" for image in sets.images])
        for world, folder in enumerate(folders)
        if len(sets := read(folder.glob(f"{config}/*.parquet")))
    ]
    scores = list(score_all(worlds, train))
    hits = {name: np.concatenate([score[name] for score in scores]) for name in BASELINES}
    return Measured(worlds[0].chance, [image for sets in worlds for image in sets.images], hits)


def format_row(name: str, measured: Measured) -> str:
    """Return a line of the table."""
    chance = measured.chance
    hits = measured.hits
    intervals = {
        baseline: compute_share_interval(hit_N, measured.images) for baseline, hit_N in hits.items()
    }
    above = sum(low > chance + ROUNDING for low, _ in intervals.values())
    below = sum(high < chance - ROUNDING for _, high in intervals.values())
    text = {
        key: f"{hits[key].mean():.1%} ({low:.1%} to {high:.1%})"
        for key, (low, high) in intervals.items()
    }
    ends = (choose(hits, key=lambda baseline: hits[baseline].mean()) for choose in (max, min))
    cells = [
        name,
        f"{len(measured.images):,}",
        f"{chance:.1%}",
        *(f"{end}, {text[end]}" for end in ends),
    ]
    return f"| {' | '.join([*cells, str(above), str(below), *(text[baseline] for baseline in SHOWN)])} |"


def main(folders: list[Path], train: Training = "before") -> None:
    """Measure all balanced configs of two or more dataset FOLDERS."""
    configs = sorted({path.name for folder in folders for path in folder.glob("*_balanced")})
    columns = ["config", "rows", "chance", "highest", "lowest", "above", "below", *SHOWN]
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}", flush=True)
    by_kind = defaultdict[str, list[Measured]](list)
    with ProcessPoolExecutor() as pool:
        for config, measured in zip(
            configs, pool.map(partial(measure, folders, train), configs), strict=True
        ):
            print(format_row(config, measured), flush=True)
            by_kind[
                config if parse_systematicity(config) is None else config.partition("_")[2]
            ].append(measured)
    for kind, parts in by_kind.items():
        if len(parts) > 1:
            hits = {name: np.concatenate([part.hits[name] for part in parts]) for name in BASELINES}
            images = [image for part in parts for image in part.images]
            print(format_row(f"all {kind}", Measured(parts[0].chance, images, hits)), flush=True)


if __name__ == "__main__":
    typer.run(main)
