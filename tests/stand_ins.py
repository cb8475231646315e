"""Stand-in images for published files whose pixels are not at hand.

    python -m tests.stand_ins FILE ... --output FOLDER

writes a JPEG of noise under each name that the files' rows use, as large as their boxes ask for.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from PIL import Image

from loaders.benchmarks.importing import read_file

SMALLEST = 64


def write_stand_ins(files: list[Path], output: Path) -> int:
    """Write the images below ``output``; gives how many."""
    sizes: dict[str, tuple[int, int]] = {}
    for row in (row for file in files for row in read_file(file)[1]):
        wide, high = sizes.get(row.image, (SMALLEST, SMALLEST))
        if row.box:
            wide, high = max(wide, round(row.box.x + row.box.width)), max(high, round(row.box.y + row.box.height))
        sizes[row.image] = wide, high
    for number, (name, size) in enumerate(sizes.items()):
        noise = np.random.default_rng(number).integers(0, 256, (8, 8, 3), np.uint8)
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(noise).resize(size, Image.Resampling.NEAREST).save(output / name, quality=50)
    return len(sizes)


def main(files: list[Path], output: Annotated[Path, typer.Option()]) -> None:
    print(f"{write_stand_ins(files, output):,} images")


if __name__ == "__main__":
    typer.run(main)
