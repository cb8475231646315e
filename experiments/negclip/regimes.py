"""Two training corpora of the small world: bags of words identify captions in one of them, but not in the other.

    python -m experiments.negclip.regimes        # with the stage `negclip_corpora`: sources/negclip/

Yuksekgonul et al. 2023 (arXiv:2210.01936), section 3.2, argue that contrastive training on web data ignores word order
because batches rarely hold two captions with the same words in different orders. In a world with few nouns and few
attributes per caption, batches do. The regime ``bag_of_words`` resembles the web in this respect: every object has
attributes, and no two captions of the corpus have the same nouns and attributes. Both orders of two nouns still occur,
so the words of a negative caption do not reveal it.

The folder ``test`` has annotated scenes without training captions, from which the usual stages make the test sets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from experiments.negclip.small_world import sample_small_caption, sample_small_scene, write_test_scenes
from generators.microworld.build import Params
from generators.microworld.captions.wording import SYNONYMS
from generators.microworld.corpora import Example, make_example, write_corpus
from generators.microworld.scene import Scene
from generators.microworld.scenes.splits import training_ids
from generators.microworld.world import ALL_NOUNS, COLORS, PATTERNS, SIZES
from generators.schemas.corpus_names import CORPORA
from generators.schemas.scene_graph import Box
from generators.storage import stage
from generators.storage.atomic import atomic_folder, write_json
from generators.storage.params import read_params

PARAMS = Path("experiments/params.yaml")
FOLDER = Path("sources/negclip")
FIRST_SCENE = 500_000
"""Offset of image ids to those of the last corpus."""
MAX_SCENES = 200_000
CANONICAL = {name: name for name in (*ALL_NOUNS, *COLORS, *PATTERNS, *SIZES)} | {
    synonym: name for name, synonyms in SYNONYMS.items() for synonym in synonyms
}


@dataclass(frozen=True)
class Regime:
    """``richness``: the probability of an optional attribute. ``distinct``: no two captions with two
    objects have the same nouns and attributes."""

    richness: float
    drop_repeated_bags: bool


REGIMES = {"default": Regime(0.5, False), "bag_of_words": Regime(1.0, True)}

Described = tuple[Scene, str, Box]
"""A scene, a caption and the part of the scene that the image shows."""


def make_bag(caption: str) -> tuple[str, ...] | None:
    """Return the sorted nouns and attributes of a caption with at least two nouns, else None."""
    words = sorted(CANONICAL[word] for word in re.findall("[a-z]+", caption.lower()) if word in CANONICAL)
    return tuple(words) if sum(word in ALL_NOUNS for word in words) > 1 else None


def drop_repeated_bags(captioned: Iterable[Described]) -> Iterator[Described]:
    """Drop captions with the bag of words of an earlier caption."""
    seen: set[tuple[str, ...]] = set()
    for scene, caption, view in captioned:
        words = make_bag(caption)
        if words is None or words not in seen:
            yield scene, caption, view
        if words is not None:
            seen.add(words)


def estimate_rival_share(captions: Iterable[str], batch_size: int) -> float:
    """Return the probability that a random batch with a two-noun caption holds another one with the same bag."""
    bags = [make_bag(caption) for caption in captions]
    count_by = Counter(words for words in bags if words is not None)
    meets = (number * (1 - (1 - (number - 1) / (len(bags) - 1)) ** (batch_size - 1)) for number in count_by.values())
    return sum(meets) / count_by.total()


def make_examples_of_regime(params: Params, regime: Regime, count: int) -> Iterator[Example]:
    """Yield the examples of a regime's corpus; all regimes start from the same scenes."""
    ids = training_ids(len(CORPORA) - 1, FIRST_SCENE + MAX_SCENES)[FIRST_SCENE:]
    scenes = (sample_small_scene(params.seed, image_id) for image_id in ids)
    captioned = ((scene, *sample_small_caption(params.seed, scene, regime.richness)) for scene in scenes)
    for scene, caption, view in islice(drop_repeated_bags(captioned) if regime.distinct else captioned, count):
        yield make_example(scene, 0, params.train_size, caption, view)


def main() -> None:
    """Write one corpus per regime, and the annotated scenes for the test sets."""
    params, settings = Params.read(), read_params("negclip", PARAMS)
    with atomic_folder(FOLDER) as scratch:
        counts = {}
        for name, regime in REGIMES.items():
            pairs = list(make_examples_of_regime(params, regime, settings["train_images"]))
            write_corpus(scratch / name, pairs)
            captions = [example.caption for example in pairs]
            sizes = {
                f"meet a rival in a batch of {size}": round(estimate_rival_share(captions, size), 4)
                for size in (32, 64)
            }
            counts[name] = {"pairs": len(pairs), **sizes}
        write_test_scenes(scratch / "test", params, settings["test_images"])
        write_json(scratch / "stats.json", counts)


if __name__ == "__main__":
    stage.run(main)
