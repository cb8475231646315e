"""Write generated datasets in the formats of the real ones, of any size: ``python -m bench.standin COMMAND OUT``.

    python -m bench.standin visual-genome --images 1350 sources/visual_genome
    python -m bench.standin gqa --images 1350 --no-pixels sources/gqa
    python -m bench.standin coco --split test --images 5000 sources/coco
    python -m bench.standin corpus laion --captions 2000000 sources/visual_genome/corpora/laion

The output is deterministic, and a small dataset is the beginning of a larger one with the same seed. Texts come from
real captions if COMPEVAL_REAL_DATA is set.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bench.standin import corpora, karpathy
from bench.standin import gqa as gqa_format
from bench.standin import visual_genome as visual_genome_format

app = typer.Typer(help=__doc__, add_completion=False, pretty_exceptions_enable=False)

Images = Annotated[int, typer.Option(min=1, help="Number of images.")]
Seed = Annotated[int, typer.Option(help="Seed of the images and texts.")]
LongSide = Annotated[int, typer.Option(min=32, help="Longer side of the images, pixels.")]
Pixels = Annotated[bool, typer.Option(help="Whether to write the JPEG files.")]


class Split(StrEnum):
    TRAIN = "train"
    VAL = "val"
    TEST = "test"


class Corpus(StrEnum):
    CC3M = "cc3m"
    CC12M = "cc12m"
    LAION = "laion"


@app.command()
def visual_genome(
    out: Path, images: Images = 1350, seed: Seed = 0, long_side: LongSide = 500, pixels: Pixels = True
) -> None:
    """Write a stand-in for Visual Genome 1.4 (the real one has 108,077 images)."""
    visual_genome_format.write(out, images, seed, long_side, pixels)


@app.command()
def gqa(out: Path, images: Images = 1350, seed: Seed = 0, long_side: LongSide = 500, pixels: Pixels = True) -> None:
    """Write a stand-in for GQA's scene graphs (the real ones have 85,638 images), for the images of visual-genome."""
    gqa_format.write(out, images, seed, long_side, pixels)


@app.command()
def coco(
    out: Path,
    split: Split = Split.TEST,
    images: Images = 5000,
    seed: Seed = 0,
    long_side: LongSide = 640,
    pixels: Pixels = True,
) -> None:
    """Write a stand-in for a Karpathy split of COCO (the real ones have 113,287, 5,000 and 5,000 images)."""
    karpathy.write("coco", split, out, images, seed, long_side, pixels)


@app.command()
def flickr30k(
    out: Path,
    split: Split = Split.TEST,
    images: Images = 1000,
    seed: Seed = 0,
    long_side: LongSide = 500,
    pixels: Pixels = True,
) -> None:
    """Write a stand-in for a Karpathy split of Flickr30k (the real ones have 29,000, 1,014 and 1,000 images)."""
    karpathy.write("flickr30k", split, out, images, seed, long_side, pixels)


@app.command()
def corpus(
    name: Corpus,
    out: Path,
    captions: Annotated[int, typer.Option(min=1, help="Number of captions.")] = 2_000_000,
    seed: Seed = 0,
) -> None:
    """Write a stand-in for a caption corpus (the real ones have 3.3, 12.4 and 407 million captions)."""
    corpora.write(name, out, captions, seed)


if __name__ == "__main__":
    app()
