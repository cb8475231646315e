"""Compun's Table 1 for CLIP, computed as in the authors' notebook, next to the published numbers.

    python -m experiments.compun.published ViT-L-14/openai

``rules: paper`` builds the sets (``dvc repro compun``) from the authors' pictures (``compun.images``) and the answers
of a language model (``compun.captioner``). The notebook (compun_notebook.ipynb of https://github.com/sonalkum/Compun,
commit 4f2ef4edbf420d955c1c3436d7fda8b4c3b15d55) differs from the paper's text in two ways, so each score is shown with
the model's own preprocessing and with the notebook's:

- images are resized to 224 x 224 pixels, whatever their shape, and not normalised by CLIP's mean and deviation;
- the prompts with captions are "An example of X in an image is: C. Some of its features are: D." (``notebook-5``).

Difference from the notebook: a tie counts as wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import compeval
from compeval.base.pipeline import stage
from compeval.evaluators.engine.tasks import discover, select
from compeval.loaders.cards.card import table
from compeval.loaders.papers.figures import figures

if TYPE_CHECKING:
    from torchvision.transforms import Compose

PIXELS = 224
PUBLISHED = {
    "main": "CLIP",
    "main@reversed": "CLIP, reversed",
    "main@descriptors": "CLIP, descriptors",
    "main@examples-5": "CLIP, examples",
    "main@notebook-5": "CLIP, examples",
}
"""Task -> the row of Table 1 (loaders/papers/compun.yaml)."""
HEADER = ("task", "own preprocessing", "the notebook's", "published")


def make_notebook_transform() -> Compose:
    """Return the notebook's preprocessing: pixels between 0 and 1, resized to a square."""
    from torchvision import transforms

    return transforms.Compose([transforms.Resize((PIXELS, PIXELS)), transforms.ToTensor()])


def load(name: str, device: str) -> tuple[Any, Any, Any]:
    """Return a model of open_clip, its own preprocessing and its tokeniser."""
    from compeval.evaluators.models import openclip

    model, preprocess = openclip.create_named(name, device, "fp32")
    built, *_ = openclip.parse_name(name)
    tokenizer = openclip.load_tokenizer(built, name, openclip.get_context_length(model))
    return model, preprocess, tokenizer


def measure(
    model: Any, preprocess: Any, tokenizer: Any, data_dir: Path | None = None
) -> dict[str, float]:
    """Return the accuracy in percent of each task of PUBLISHED that the data has."""
    tasks = [
        task.name
        for task in select(discover(data_dir), "compun/main*")
        if task.name.removeprefix("compun/") in PUBLISHED
    ]
    scores = compeval.evaluate(model, preprocess, tokenizer, tasks, data_dir=data_dir)
    return {name.removeprefix("compun/"): 100 * score.recall_at_1 for name, score in scores.items()}


def make_rows(own: Mapping[str, float], notebook: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table. A task that the data lacks has no score."""
    published = figures("compun")["accuracy"]
    for task, row in PUBLISHED.items():
        cells = (f"{scores[task]:.2f}" if task in scores else "-" for scores in (own, notebook))
        yield (task, *cells, f"{published[row]:.2f}")


def main(
    model: str,
    data: Annotated[Path | None, typer.Option("--data")] = None,
    device: str = "cpu",
) -> None:
    """Print the accuracies of MODEL (architecture/tag of open_clip) on compun/ with both kinds of preprocessing."""
    network, preprocess, tokenizer = load(model, device)
    own, notebook = (
        measure(network, transform, tokenizer, data)
        for transform in (preprocess, make_notebook_transform())
    )
    print(table(HEADER, make_rows(own, notebook)))


if __name__ == "__main__":
    stage.run(main)
