"""Two training corpora of one world, which differ in whether a bag of words suffices to tell captions apart.

    python -m generators.microworld.regimes        # with the stage `negclip_corpora`: sources/negclip/<regime>/

Yuksekgonul et al. 2023 (arXiv:2210.01936), section 3.2, hold that contrastive training on web data ignores order since
hardly a batch holds two captions with the same words in another order. In a world of 40 nouns whose looks are often
left unsaid, batches do hold such captions. The regime ``bag_of_words`` is as the web in this: every thing is described,
so that one is told from another by hundreds of noun phrases and not by 40 nouns, and no two captions of the corpus have
the same nouns and attributes. Both arrangements of two nouns occur all the same, so that a negative caption cannot be
told by its words alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path

from generators import stage
from generators.corpus_names import CORPORA
from generators.dataset import whole_folder
from generators.microworld.build import WORKERS, Example, Params, captioned, training_scene, write_corpus
from generators.microworld.captions import SYNONYMS, TRAINING_RICHNESS
from generators.microworld.left_out import ALL_NOUNS
from generators.microworld.scenes import training_ids
from generators.microworld.world import COLORS, PATTERNS, SIZES
from generators.params import block

PARAMS = Path("experiments/params.yaml")
FOLDER = Path("sources/negclip")
WORLD = "laion"
"""The corpus whose scenes both regimes draw from, beyond those of its own pictures."""
FIRST_SCENE = 500_000
CANONICAL = {name: name for name in (*ALL_NOUNS, *COLORS, *PATTERNS, *SIZES)} | {
    synonym: name for name, synonyms in SYNONYMS.items() for synonym in synonyms
}


@dataclass(frozen=True)
class Regime:
    """``richness``: the chance that a thing is described that need not be. ``distinct``: no two captions that name two
    things have the same nouns and attributes."""

    richness: float
    distinct: bool


REGIMES = {"default": Regime(TRAINING_RICHNESS, False), "bag_of_words": Regime(1.0, True)}


def bag(caption: str) -> tuple[str, ...] | None:
    """The nouns and attributes of a caption that names two nouns or more, sorted; None for any other."""
    found = sorted(CANONICAL[word] for word in re.findall("[a-z]+", caption.lower()) if word in CANONICAL)
    return tuple(found) if sum(word in ALL_NOUNS for word in found) > 1 else None


def distinct(examples: Iterable[Example]) -> Iterator[Example]:
    """The examples whose caption has a bag that no caption before it has."""
    seen: set[tuple[str, ...]] = set()
    for example in examples:
        words = bag(example.caption)
        if words is None or words not in seen:
            yield example
        if words is not None:
            seen.add(words)


def rivals(captions: Iterable[str], batch_size: int) -> float:
    """The chance that a caption of two nouns meets another with the same bag in a random batch of its corpus."""
    bags = [bag(caption) for caption in captions]
    count_by = Counter(words for words in bags if words is not None)
    meets = (number * (1 - (1 - (number - 1) / (len(bags) - 1)) ** (batch_size - 1)) for number in count_by.values())
    return sum(meets) / count_by.total()


def _examples(seed: int, size: int, richness: float, image_id: int) -> list[Example]:
    return captioned(seed, training_scene(seed, WORLD, image_id), size, richness)


def main() -> None:
    """Write a corpus a regime, from the same scenes."""
    params, images = Params.read(), block("negclip", PARAMS)["train_images"]
    ids = training_ids(list(CORPORA).index(WORLD), FIRST_SCENE + images)[FIRST_SCENE:]
    with whole_folder(FOLDER) as scratch, ProcessPoolExecutor(WORKERS) as pool:
        counts = {}
        for name, regime in REGIMES.items():
            make = partial(_examples, params.seed, params.train_size, regime.richness)
            made = _flat(pool, make, ids)
            examples = list(islice(distinct(made) if regime.distinct else made, images))
            write_corpus(scratch / name, examples)
            captions = [example.caption for example in examples]
            sizes = {f"meet a rival in a batch of {size}": round(rivals(captions, size), 4) for size in (32, 128)}
            counts[name] = {"pairs": len(examples), **sizes}
        stage.write_json(scratch / "stats.json", counts)


def _flat(pool: ProcessPoolExecutor, make: partial[list[Example]], ids: range) -> Iterator[Example]:
    """The examples of as many scenes as are asked for, in order, some hundreds of scenes ahead."""
    groups = (ids[start : start + 500] for start in range(0, len(ids), 500))
    return chain.from_iterable(chain.from_iterable(pool.map(make, group, chunksize=25) for group in groups))


if __name__ == "__main__":
    stage.run(main)
