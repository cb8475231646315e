"""Write random images for published files whose images are not available.

    python -m tests.stand_ins FILE ... --output FOLDER

writes a JPEG of random pixels for each image name in the files, large enough for all boxes of the image.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from PIL import Image

from tests.published_files import read_file

MIN_SIZE = 64


def write_stand_ins(files: list[Path], output: Path) -> int:
    """Write the images to ``output`` and return their number."""
    sizes: dict[str, tuple[int, int]] = {}
    for name, box in (
        (name, row.box) for file in files for row in read_file(file)[1] for name in row.images
    ):
        width, height = sizes.get(name, (MIN_SIZE, MIN_SIZE))
        if box:
            width, height = (
                max(width, round(box.x + box.width)),
                max(height, round(box.y + box.height)),
            )
        sizes[name] = width, height
    for number, (name, size) in enumerate(sizes.items()):
        noise = np.random.default_rng(number).integers(0, 256, (8, 8, 3), np.uint8)
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(noise).resize(size, Image.Resampling.NEAREST).save(
            output / name, quality=50
        )
    return len(sizes)


def main(files: list[Path], output: Annotated[Path, typer.Option()]) -> None:
    print(f"{write_stand_ins(files, output):,} images")


if __name__ == "__main__":
    typer.run(main)
