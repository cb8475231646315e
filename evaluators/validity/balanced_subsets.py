"""Select the pairs of a published file on which text-only baselines are at chance (``compeval balance``).

A pair is a true caption with one of its negatives, so that baselines that compare the captions of a set with each other
have nothing to compare. Of a row with several negatives, one is drawn before any score is computed, because the pairs
of a row reveal the truth of each other. Adversarial refinement (base/text_only/refinement.py, after SugarCrepe)
selects the pairs. A subset is only offered if every judge is at chance on it:

- ``seen``, ``unseen``: the baselines of refinement, and others that it never uses, cross-fitted over images
- ``cues``: baselines that learn nothing
- ``removed``: baselines that are trained on the removed pairs of other images
- ``siblings``: baselines that are trained on other files of the benchmark, without the images of the pairs
- ``corpus``: n-gram models of captions of any corpus

Cross-fitting alone is too kind: within the selected pairs it is biased below chance (base/text_only/transfer.py).
Refinement uses the last four kinds as well.

A baseline without training that orders a share a of the pairs correctly orders at least 1 - (1 - a) / k of any subset
with a share k of the pairs. If this is too far above chance for half of the pairs, there is no subset.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from compeval.base.readers.corpora import list_shards, read_captions
from compeval.base.text_only.baselines import Baseline, RetrievalSets, split_pairs
from compeval.base.text_only.judges import select_judges, select_transferable, select_untrained
from compeval.base.text_only.ngram import NgramModel
from compeval.base.text_only.refinement import MIN_KEPT, select_rows_at_chance
from compeval.base.text_only.transfer import (
    join_sets,
    score_by_corpus,
    score_removed,
    score_transferred,
    train_corpus_models,
)
from compeval.evaluators.validity.best_baselines import BestBaseline, choose_best
from compeval.loaders.importing.identify import identify
from compeval.loaders.importing.read_published import ReadFile, read_published
from compeval.loaders.published.balanced import pack

SEED = 0
MAX_PAIRS = 800
"""Largest number of pairs that are tried; of more, random ones are drawn."""
MAX_SIBLING_PAIRS = 3000
"""Largest number of pairs of other files that judges are trained on."""
MIN_PAIRS = 100
"""Fewest pairs of a subset."""
MARGIN = 0.03
"""Largest distance from chance, as a share of pairs, of the best judge of each kind on a subset."""
CORPUS_ORDERS = (1, 2, 3)


class Corpus(NamedTuple):
    """N-gram models of the captions of a corpus, by name, and the number of captions."""

    models: Mapping[str, NgramModel]
    captions: int


@dataclass(frozen=True)
class Outside:
    """Texts that a reader has besides the pairs of a file."""

    siblings: RetrievalSets | None = None
    """Pairs of other files of the benchmark."""
    sibling_files: Sequence[str] = ()
    corpus: Corpus | None = None

    def leave_out(self, images: Iterable[str]) -> Outside:
        """Return the same without the pairs of some images."""
        if self.siblings is None:
            return self
        own = frozenset(images)
        others = self.siblings.select(
            np.array([image not in own for image in self.siblings.images])
        )
        return replace(self, siblings=others if len(others) else None)

    def list_baselines(self) -> dict[str, dict[str, Baseline]]:
        """Return the baselines that learn from other files, by kind of judge."""
        groups: dict[str, dict[str, Baseline]] = {}
        if self.siblings is not None:
            groups["siblings"] = {
                name: partial(score_transferred, baseline=baseline, training=self.siblings)
                for name, baseline in select_transferable().items()
            }
        if self.corpus is not None:
            groups["corpus"] = {
                name: partial(score_by_corpus, model=model)
                for name, model in self.corpus.models.items()
            }
        return groups


def read_corpus(pattern: str, column: str | int) -> Corpus:
    """Train n-gram models on all captions of a corpus. Raises FileNotFoundError or ValueError if it cannot be read."""
    shards = list_shards(pattern)
    captions = [caption for shard in shards for caption in read_captions(shard, column)]
    if not captions:
        raise ValueError(f"{pattern}: no caption in the column {column!r}.")
    return Corpus(train_corpus_models(captions, CORPUS_ORDERS), len(captions))


def read_siblings(path: Path, files: Sequence[Path]) -> tuple[RetrievalSets | None, list[str]]:
    """Return one pair of each row of the other files of the benchmark among ``files``, and their names.

    Raises ValueError for a file with several sets, or rows without or with different numbers of negatives.
    """
    own = identify(path)
    parts: list[RetrievalSets] = []
    names: list[str] = []
    for other in map(identify, files):
        if other.benchmark.name == own.benchmark.name and other.sha256 != own.sha256:
            read = read_published(other)
            sets = read_sets(read)
            parts.append(split_pairs(sets).take(draw_pairs(sets)))
            names.append(read.counts.file)
    if not parts:
        return None, []
    pairs = join_sets(parts)
    drawn = np.random.default_rng(SEED).permutation(len(pairs))[:MAX_SIBLING_PAIRS]
    return pairs.take(np.sort(drawn)), names


def balance_file(path: Path, outside: Outside = Outside()) -> dict[str, Any]:
    """Return the entry of a published file for loaders/published/balanced.yaml; without ``kept`` if there is no subset.

    Raises ValueError if the file has several sets, or rows without or with different numbers of negatives.
    """
    read = read_published(identify(path))
    sets = read_sets(read)
    tried = draw_pairs(sets)
    pairs = split_pairs(sets).take(tried)
    outside = outside.leave_out(pairs.images)
    entry = {
        "file": f"{read.file.benchmark.name}: {read.counts.file}",
        "sha256": read.file.sha256,
        "seed": SEED,
        "rows": len(sets),
        "pairs": len(sets) * (sets.size - 1),
        "pairs_tried": len(tried),
        "sibling_files": [*outside.sibling_files],
        "sibling_pairs": 0 if outside.siblings is None else len(outside.siblings),
        "corpus_captions": outside.corpus.captions if outside.corpus else 0,
    }
    untrained = choose_best(pairs, select_untrained())
    least = 1 - (1 - untrained.recall) / MIN_KEPT
    if least > 0.5 + MARGIN:
        return entry | {"excluded_by": describe(untrained) | {"least": round(least, 4)}}
    keep_P = select_rows_at_chance(pairs, SEED, list_selecting(outside))
    selected_pairs = tried[keep_P]
    before = measure_pairs(pairs, np.ones(len(pairs), dtype=bool), outside)
    after = measure_pairs(pairs, keep_P, outside)
    entry |= {"pairs_kept": len(selected_pairs), "before": before, "after": after}
    balanced = len(selected_pairs) >= MIN_PAIRS and all(map(is_at_chance, after.values()))
    return entry | (
        {"kept": pack(np.isin(np.arange(entry["pairs"]), selected_pairs))} if balanced else {}
    )


def list_selecting(outside: Outside) -> dict[str, Baseline]:
    """Return the baselines with which pairs are selected."""
    selecting = {**select_judges("refining"), **select_untrained()}
    for name, baseline in select_transferable().items():
        selecting[f"removed: {name}"] = partial(score_removed, baseline=baseline)
    for kind, baselines in outside.list_baselines().items():
        selecting |= {f"{kind}: {name}": baseline for name, baseline in baselines.items()}
    return selecting


def draw_pairs(sets: RetrievalSets) -> np.ndarray:
    """Return the indices in ``split_pairs(sets)`` of one random pair of each row, of at most ``MAX_PAIRS`` rows."""
    rng = np.random.default_rng(SEED)
    pair_N = np.arange(len(sets)) * (sets.size - 1) + rng.integers(sets.size - 1, size=len(sets))
    return np.sort(rng.permutation(pair_N)[:MAX_PAIRS])


def read_sets(read: ReadFile) -> RetrievalSets:
    """Return the sets of a file.

    Raises ValueError if it has several sets, no negatives, or rows with different numbers of them.
    """
    if len(read.splits) != 1:
        raise ValueError(
            f"{read.file.path}: has {len(read.splits)} sets; a balanced subset is of a file with one."
        )
    (rows,) = read.splits.values()
    sizes = {len(row.hard_negatives) for row in rows}
    if len(sizes) != 1 or 0 in sizes:
        raise ValueError(
            f"{read.file.path}: rows have {sorted(sizes)} negatives; expected one positive number."
        )
    return RetrievalSets(
        [row.list_candidates() for row in rows], [row.image_id or row.images[0] for row in rows]
    )


def measure_pairs(
    pairs: RetrievalSets, keep_P: np.ndarray | None = None, outside: Outside = Outside()
) -> dict[str, dict[str, Any]]:
    """Return the best judge of each kind on the pairs that are kept, a boolean mask (P); None keeps all.

    There are no judges ``removed`` if all pairs are kept, and none of another file if there is none.
    """
    keep_P = np.ones(len(pairs), dtype=bool) if keep_P is None else keep_P
    selected = pairs.select(keep_P)
    groups = {
        "seen": select_judges("refining"),
        "unseen": select_judges("held_out", "unseen"),
        "cues": select_untrained(),
        **outside.list_baselines(),
    }
    best = {group: choose_best(selected, baselines) for group, baselines in groups.items()}
    if not keep_P.all():
        masked = replace(pairs, trainable_N=keep_P)
        removed = {
            name: partial(_take_scores, keep_P=keep_P, score_PK=score_removed(masked, baseline))
            for name, baseline in select_transferable().items()
        }
        best["removed"] = choose_best(selected, removed)
    return {group: describe(judge) for group, judge in best.items()}


def _take_scores(sets: RetrievalSets, keep_P: np.ndarray, score_PK: np.ndarray) -> np.ndarray:
    return score_PK[keep_P]


def describe(best: BestBaseline) -> dict[str, Any]:
    interval = [round(bound, 4) for bound in best.interval]
    return {"baseline": best.name, "accuracy": round(best.recall, 4), "interval": interval}


def is_at_chance(scores: Mapping[str, Any]) -> bool:
    """Return True if the best judge of a kind is at most ``MARGIN`` above chance, 1/2."""
    return scores["accuracy"] - 0.5 <= MARGIN
