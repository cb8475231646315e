"""A training script in a repository that has packages named like CompEval's folders.

tests/compeval/test_package.py and tools/check-wheel copy this file next to these packages and run it.
"""

from pathlib import Path

import numpy as np

import compeval
import compeval.demo
import evaluators
import generators
import loaders
import trainers


class Model:
    """An encoder with random features."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def encode_image(self, images):
        return self.random.normal(size=(len(images), 8)).astype(np.float32)

    def encode_text(self, texts):
        return self.random.normal(size=(len(texts), 8)).astype(np.float32)


def main() -> None:
    here = Path(__file__).parent
    for package in (evaluators, generators, loaders, trainers):
        assert package.__file__ is not None
        assert Path(package.__file__).parent.parent == here, package.__file__
    for step in range(2):
        scores = compeval.evaluate(
            Model(step), tasks="crepe/prod_hnatom/n4", data_dir=compeval.demo.FOLDER, limit=8
        )
        print(f"step {step}: {scores['crepe/prod_hnatom/n4']['data']['rows']} rows")


if __name__ == "__main__":
    main()
