"""CC-Neg: captions of CC3M, each with a negated one.

    ccneg_preprocessed.pt -> config main, the last 40,000 rows; chance 1/2

Source: Singh et al. 2024 (arXiv:2403.20312), https://github.com/jaisidhsingh/CoN-CLIP. The first rows are for training.
The file was saved with pickle; it is read without executing code. Like the authors' loader, this one removes the commas
of the negated captions.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from compeval.loaders.published import (
    CHOICE_SCHEMA,
    Benchmark,
    DataSource,
    Flaw,
    ImageSet,
    Row,
    Unusable,
)
from compeval.loaders.published.rows import check_text, read_each

EVALUATED = 40_000


def read(path: Path, name: str) -> Iterator[Row | Unusable]:
    """Yield the rows for evaluation, in order. Raises ValueError if the file cannot be read without executing code."""
    import torch

    try:
        with warnings.catch_warnings(action="ignore"):  # about the file's version of pickle
            data = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # the unpickler raises many types for damaged data
        raise ValueError(
            f"{path}: cannot be read without executing code from the file ({type(error).__name__}). In a sandbox, save "
            "its lists and dictionaries with torch.save, then import this copy."
        ) from None
    try:
        pairs = list(zip(data["image_paths"], data["annotations"], strict=True))[-EVALUATED:]
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path}: expected image_paths and as many annotations.") from None
    return read_each(pairs, _make_row)


def _make_row(pair: tuple[str, dict[str, Any]]) -> Row:
    image, annotation = pair
    negated = annotation["sop_data"]["negative-prompt"]
    check_text(negated)
    name = PurePosixPath(image).name
    caption = annotation["json"]["caption"]
    return Row("main", (name,), (caption,), (negated.replace(",", ""),), changed="," in negated)


BENCHMARK = Benchmark(
    description="Which of two captions, one with a negation, describes the image?",
    year=2024,
    licence_id="mit",
    source=DataSource(
        title="CC-Neg",
        homepage="https://github.com/jaisidhsingh/CoN-CLIP",
        licence="MIT; images: CC3M, under their own licences",
        citation='Singh et al. 2024, Learn "No" to Say "Yes" Better, arXiv:2403.20312',
        download_instructions="Follow https://github.com/jaisidhsingh/CoN-CLIP/tree/main/ccneg_dataset to get "
        "ccneg_preprocessed.pt and the images, then run `compeval import "
        "ccneg_preprocessed.pt --images DIR`.",
    ),
    images={
        "ccneg_preprocessed.pt": ImageSet(
            "ccneg",
            ("cc3m_subset_images_extracted_final", "images"),
            download_instructions="Follow https://github.com/jaisidhsingh/CoN-CLIP/tree/main/ccneg_dataset to get "
            "ccneg_images.tar.gz.",
        )
    },
    read_file=read,
    item="a file of torch.save with image_paths and annotations",
    schema=CHOICE_SCHEMA,
    chance={"*": 1 / 2},
    changes={"main": "the negated captions have no commas, as in the authors' loader"},
    rows={"main": 40000},
    flaws=(
        Flaw(
            rows="all rows",
            what="only the wrong caption has a negation, a cue without the image",
            source="by construction",
        ),
    ),
)
