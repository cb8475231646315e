"""Build two training corpora of the small world; in one of them, the set of words identifies a caption.

    python -m experiments.negclip.regimes        # stage `negclip_corpora`: writes sources/negclip/

Yuksekgonul et al. 2023 (arXiv:2210.01936), section 3.2, argue that contrastive training on web data ignores word order
because a batch rarely contains two captions with the same words in different orders. In a world with few nouns and few
attributes per caption (the regime ``default``), a batch often contains such captions. The regime ``bag_of_words`` is
similar to web data: every object has attributes, and two captions never have the same nouns and attributes. Both orders
of two nouns still occur, so the words of a negative caption do not identify it as negative.

The folder ``test`` contains annotated scenes without training captions, from which the pipeline builds the test sets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from compeval.base.files.atomic import atomic_folder, write_json
from compeval.base.pipeline import stage
from compeval.base.pipeline.params import read_params
from compeval.base.schemas.corpus_names import CORPORA
from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.build import Params
from compeval.generators.microworld.captions.wording import SYNONYMS
from compeval.generators.microworld.corpora import Example, make_example, write_corpus
from compeval.generators.microworld.scene import Scene
from compeval.generators.microworld.scenes.splits import training_ids
from compeval.generators.microworld.world import ALL_NOUNS, COLORS, PATTERNS, SIZES, STATES
from experiments.negclip.small_world import (
    sample_small_caption,
    sample_small_scene,
    write_test_scenes,
)

PARAMS = Path("experiments/params.yaml")
FOLDER = Path("sources/negclip")
FIRST_SCENE = 500_000
"""Offset to the first image id of the last corpus."""
MAX_SCENES = 200_000
"""Maximum number of scenes per regime."""
CANONICAL = {name: name for name in (*ALL_NOUNS, *COLORS, *PATTERNS, *SIZES, *chain(*STATES))} | {
    synonym: name for name, synonyms in SYNONYMS.items() for synonym in synonyms
}
"""Word of a caption -> noun or attribute."""


@dataclass(frozen=True)
class Regime:
    """The settings of a corpus.

    ``richness`` is the probability of an optional attribute. If ``distinct`` is True, two captions of two objects never
    have the same nouns and attributes.
    """

    richness: float
    distinct: bool


REGIMES = {"default": Regime(0.5, False), "bag_of_words": Regime(1.0, True)}

CaptionedScene = tuple[Scene, str, Box]
"""A scene, a caption, and the visible part of the scene."""


def make_bag(caption: str) -> tuple[str, ...] | None:
    """Return the sorted nouns and attributes of a caption; None if it has less than two nouns."""
    words = sorted(
        CANONICAL[word] for word in re.findall("[a-z]+", caption.lower()) if word in CANONICAL
    )
    return tuple(words) if sum(word in ALL_NOUNS for word in words) > 1 else None


def drop_repeated_bags(captioned_scenes: Iterable[CaptionedScene]) -> Iterator[CaptionedScene]:
    """Yield the scenes whose captions have another bag of words than all earlier captions."""
    seen: set[tuple[str, ...]] = set()
    for scene, caption, view in captioned_scenes:
        words = make_bag(caption)
        if words is None or words not in seen:
            yield scene, caption, view
        if words is not None:
            seen.add(words)


def estimate_rival_share(captions: Iterable[str], batch_size: int) -> float:
    """Return the probability that the batch of a random two-noun caption contains a rival.

    A rival is another caption with the same nouns and attributes.
    """
    bags = [make_bag(caption) for caption in captions]
    counts = Counter(words for words in bags if words is not None)
    expected = (
        count * (1 - (1 - (count - 1) / (len(bags) - 1)) ** (batch_size - 1))
        for count in counts.values()
    )
    return sum(expected) / counts.total()


def make_regime_examples(params: Params, regime: Regime, count: int) -> Iterator[Example]:
    """Yield ``count`` examples of a regime. All regimes use the same sequence of scenes."""
    ids = training_ids(len(CORPORA) - 1, FIRST_SCENE + MAX_SCENES)[FIRST_SCENE:]
    scenes = (sample_small_scene(params.seed, image_id) for image_id in ids)
    captioned_scenes = (
        (scene, *sample_small_caption(params.seed, scene, regime.richness)) for scene in scenes
    )
    if regime.distinct:
        captioned_scenes = drop_repeated_bags(captioned_scenes)
    for scene, caption, view in islice(captioned_scenes, count):
        yield make_example(scene, 0, params.train_size, caption, view)


def main() -> None:
    """Write one corpus per regime, and the annotated scenes for the test sets."""
    params = Params.read()
    settings = read_params("negclip", PARAMS)
    with atomic_folder(FOLDER) as scratch:
        counts = {}
        for name, regime in REGIMES.items():
            examples = list(make_regime_examples(params, regime, settings["train_images"]))
            write_corpus(scratch / name, examples)
            captions = [example.caption for example in examples]
            shares = {
                f"meet a rival in a batch of {size}": round(estimate_rival_share(captions, size), 4)
                for size in (32, 64)
            }
            counts[name] = {"pairs": len(examples), **shares}
        write_test_scenes(scratch / "test", params, settings["test_images"])
        write_json(scratch / "stats.json", counts)


if __name__ == "__main__":
    stage.run(main)
