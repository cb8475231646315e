"""Two training corpora of the small world, which differ in whether a bag of words suffices to tell captions apart.

    python -m experiments.negclip.regimes        # with the stage `negclip_corpora`: sources/negclip/

Yuksekgonul et al. 2023 (arXiv:2210.01936), section 3.2, hold that contrastive training on web data ignores order since
hardly a batch holds two captions with the same words in another order. In a world of few nouns whose looks are often
left unsaid, batches do hold such captions. The regime ``bag_of_words`` is as the web in this: every thing is described,
so that one is told from another by hundreds of noun phrases and not by two dozen nouns, and no two captions of the
corpus have the same nouns and attributes. Both arrangements of two nouns occur all the same, so that a negative caption
cannot be told by its words alone.

Beside the two lie annotated scenes that no caption was written of, ``test``, from which the test sets are made by the
stages' own commands.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from experiments.negclip.small_world import described, drawn, scene_of, write_test_scenes
from generators.microworld.build import Example, Params, write_corpus
from generators.microworld.captions.wording import SYNONYMS
from generators.microworld.scene import Scene
from generators.microworld.scenes.held_out import ALL_NOUNS
from generators.microworld.scenes.sampler import training_ids
from generators.microworld.world import COLORS, PATTERNS, SIZES
from generators.schemas.corpus_names import CORPORA
from generators.schemas.scene_graph import Box
from generators.storage import stage
from generators.storage.dataset import whole_folder
from generators.storage.params import block

PARAMS = Path("experiments/params.yaml")
FOLDER = Path("sources/negclip")
FIRST_SCENE = 500_000
"""Image ids start so far above those of the last corpus' own scenes."""
MOST_SCENES = 200_000
CANONICAL = {name: name for name in (*ALL_NOUNS, *COLORS, *PATTERNS, *SIZES)} | {
    synonym: name for name, synonyms in SYNONYMS.items() for synonym in synonyms
}


@dataclass(frozen=True)
class Regime:
    """``richness``: the chance that a thing is described that need not be. ``distinct``: no two captions that name two
    things have the same nouns and attributes."""

    richness: float
    distinct: bool


REGIMES = {"default": Regime(0.5, False), "bag_of_words": Regime(1.0, True)}

Described = tuple[Scene, str, Box]
"""A scene with a caption and the part of it that its picture shows."""


def bag(caption: str) -> tuple[str, ...] | None:
    """The nouns and attributes of a caption that names two nouns or more, sorted; None for any other."""
    found = sorted(CANONICAL[word] for word in re.findall("[a-z]+", caption.lower()) if word in CANONICAL)
    return tuple(found) if sum(word in ALL_NOUNS for word in found) > 1 else None


def distinct(found: Iterable[Described]) -> Iterator[Described]:
    """Those whose caption has a bag that no caption before it has."""
    seen: set[tuple[str, ...]] = set()
    for scene, caption, view in found:
        words = bag(caption)
        if words is None or words not in seen:
            yield scene, caption, view
        if words is not None:
            seen.add(words)


def rivals(captions: Iterable[str], batch_size: int) -> float:
    """The chance that a caption of two nouns meets another with the same bag in a random batch of its corpus."""
    bags = [bag(caption) for caption in captions]
    count_by = Counter(words for words in bags if words is not None)
    meets = (number * (1 - (1 - (number - 1) / (len(bags) - 1)) ** (batch_size - 1)) for number in count_by.values())
    return sum(meets) / count_by.total()


def examples(params: Params, regime: Regime, count: int) -> Iterator[Example]:
    """The pictures of a regime's corpus, from the same scenes in all regimes."""
    ids = training_ids(len(CORPORA) - 1, FIRST_SCENE + MOST_SCENES)[FIRST_SCENE:]
    scenes = (scene_of(params.seed, image_id) for image_id in ids)
    found = ((scene, *described(params.seed, scene, regime.richness)) for scene in scenes)
    for scene, caption, view in islice(distinct(found) if regime.distinct else found, count):
        yield drawn(scene, params.train_size, caption, view)


def main() -> None:
    """Write a corpus a regime, and the annotated scenes that the test sets are made from."""
    params, settings = Params.read(), block("negclip", PARAMS)
    with whole_folder(FOLDER) as scratch:
        counts = {}
        for name, regime in REGIMES.items():
            made = list(examples(params, regime, settings["train_images"]))
            write_corpus(scratch / name, made)
            captions = [example.caption for example in made]
            sizes = {f"meet a rival in a batch of {size}": round(rivals(captions, size), 4) for size in (32, 64)}
            counts[name] = {"pairs": len(made), **sizes}
        write_test_scenes(scratch / "test", params, settings["test_images"])
        stage.write_json(scratch / "stats.json", counts)


if __name__ == "__main__":
    stage.run(main)
