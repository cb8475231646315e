"""Text-only baselines on the balanced sets, trained on the same sets of another world, and the other way round.

    python -m bench.other_world crepe ../other/crepe    # the second is built with another microworld.seed

Cross-fitting within a refined set is biased towards less than chance: if a word is true as often as false in all rows,
it is true less often than that in the rows outside a fold in which it is true more often. Sets of two worlds are
independent. Prints the Recall@1 of all baselines with 95 % intervals over images, those above or below chance marked.
The last three were invented after the sets were built.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import typer

from evaluators.metrics.intervals import compute_share_interval
from evaluators.validity.text_only import read
from generators.text_only.baselines import HELD_OUT_BASELINES, Baseline, RetrievalSets, recall_at_1
from generators.text_only.ngram import FOLDS, TOKEN, assign_folds
from generators.text_only.refinement import REFINEMENT_BASELINES
from generators.text_only.relative_baselines import RELATIVE_BASELINES
from generators.text_only.unseen_baselines import UNSEEN_BASELINES

WORLDS = "AB"
PRIOR = 5.0
"""Number that is added to the counts of a property."""
Keys = Callable[[Sequence[str], int], Sequence[object]]
"""Returns the properties of one caption of a set."""


@dataclass(frozen=True, eq=False)
class TwoWorlds(RetrievalSets):
    """Retrieval sets of two worlds. The name of an image begins with the letter of its world."""

    def splits(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield each world as training and the other as test rows.

        If only some rows may be trained on, they are also the test rows of models of each other, fold by fold, because
        a feature of training rows must not come from a model that has seen them.
        """
        world_N = np.array([image[0] for image in self.images])
        if self.trainable_N is None:
            for world in WORLDS:
                yield np.flatnonzero(world_N == world), np.flatnonzero(world_N != world)
            return
        yield np.flatnonzero(self.trainable_N), np.flatnonzero(~self.trainable_N)
        fold_of = assign_folds(np.asarray(self.images)[self.trainable_N])
        fold_N = np.array([fold_of.get(image, -1) for image in self.images])
        for fold in range(FOLDS):
            yield np.flatnonzero(self.trainable_N & (fold_N != fold)), np.flatnonzero(fold_N == fold)


def score_by_keys(sets: RetrievalSets, keys: Keys) -> np.ndarray:
    """Score a caption (N, K) by how often its properties were those of true captions: the mean of their log odds."""
    of_set = [[keys(captions, index) for index in range(sets.size)] for captions in sets.captions]
    score_NK = np.zeros((len(sets), sets.size))
    for train, test in sets.splits():
        num_true = Counter(key for row in train for key in of_set[row][0])
        num_all = Counter(key for row in train for candidate in of_set[row] for key in candidate)
        odds = {key: np.log((num_true[key] * sets.size + PRIOR) / (count + PRIOR)) for key, count in num_all.items()}
        for row in test:
            score_NK[row] = [np.mean([odds.get(key, 0.0) for key in one] or [0.0]) for one in of_set[row]]
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
BASELINES = {**REFINEMENT_BASELINES, **HELD_OUT_BASELINES, **RELATIVE_BASELINES, **UNSEEN_BASELINES, **INVENTED}


def join(folders: Sequence[Path], config: str) -> TwoWorlds:
    """Return the rows of a config in two dataset folders."""
    sets = {world: read(folder.glob(f"{config}/*.parquet")) for world, folder in zip(WORLDS, folders, strict=True)}
    return TwoWorlds(
        [captions for of_world in sets.values() for captions in of_world.captions],
        [f"{world}{image}" for world, of_world in sets.items() for image in of_world.images],
    )


def measure(folders: Sequence[Path], config: str) -> list[str]:
    """Return a line for each baseline."""
    sets, lines = join(folders, config), []
    for name, baseline in BASELINES.items():
        hit_N = recall_at_1(baseline(sets))
        low, high = compute_share_interval(hit_N, sets.images)
        mark = "above" if low > sets.chance + 1e-6 else "below" if high < sets.chance - 1e-6 else ""
        lines.append(f"{config} ({len(sets):,} rows) {name}: {hit_N.mean():.1%} ({low:.1%} to {high:.1%}) {mark}")
    return lines


def main(first: Path, second: Path) -> None:
    """Measure all balanced configs of the dataset folders FIRST and SECOND."""
    configs = sorted(path.name for path in first.glob("*_balanced"))
    with ProcessPoolExecutor() as pool:
        for lines in pool.map(partial(measure, (first, second)), configs):
            print(*lines, sep="\n", flush=True)


if __name__ == "__main__":
    typer.run(main)
