"""Build two caption corpora that differ only in compound nouns: one shows and names the drawn compounds, one does not.

    python -m experiments.compun.corpora        # writes sources/compun/{compounds,constituents}/

Compun (Kumar et al. 2024, arXiv:2404.00419) tests if a model distinguishes a compound from its constituents. These
corpora vary if the model has seen the compound. Both corpora show and name all constituents; scenes.py describes the
difference. Images and captions are made as for the micro-world's corpora (generators/microworld/corpora.py). The test
images (generators/microworld/compun_images.py) are other renderings of the same nouns.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path

from compeval.base.files.atomic import atomic_folder
from compeval.base.pipeline import stage
from compeval.generators.compun import Noun, read_nouns, select_drawable_nouns
from compeval.generators.microworld.build import WORKERS, Params
from compeval.generators.microworld.corpora import (
    IMAGES_PER_SCENE,
    Example,
    make_examples,
    write_corpus,
)
from experiments.compun.scenes import COMPOUNDS, CONSTITUENTS, sample_scene

FOLDER = Path("sources/compun")
FIRST_ID = 30_000_000
"""First image id, above the image ids of all other scenes."""


def make_scene_examples(
    seed: int, corpus: str, nouns: list[Noun], image_size: int, image_id: int
) -> list[Example]:
    return make_examples(seed, sample_scene(seed, corpus, nouns, image_id), image_size)


def build(folder: Path, nouns: list[Noun], params: Params, workers: int = WORKERS) -> None:
    """Write both corpora atomically."""
    ids = range(FIRST_ID, FIRST_ID + -(-params.train_images // IMAGES_PER_SCENE))
    with atomic_folder(folder) as scratch, ProcessPoolExecutor(workers) as pool:
        for corpus in (COMPOUNDS, CONSTITUENTS):
            make = partial(make_scene_examples, params.seed, corpus, nouns, params.train_size)
            examples = chain.from_iterable(pool.map(make, ids, chunksize=50))
            write_corpus(scratch / corpus, examples)


def main() -> None:
    """Write the folder sources/compun/."""
    build(FOLDER, select_drawable_nouns(read_nouns(Path("data/words/compun.csv"))), Params.read())


if __name__ == "__main__":
    stage.run(main)
