"""Draw the picture of the README: an image, its true caption, and hard negatives with the changed words marked.

python docs/figure.py crepe/prod_hnall n6 150 docs/figure.png        # config folder, split, row, output
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

import matplotlib
import pyarrow.parquet as pq
import typer
from PIL import Image, ImageDraw, ImageFont

from compeval.loaders.datasets.referenced_images import read_stored

WIDTH = 1440
MARGIN = 40
IMAGE_SIDE = 480
SIZE = 27
LINE = 36
INK = "#1f2328"
MUTED = "#57606a"
TRUE = "#1a7f37"
CHANGED = "#cf222e"
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
TYPES = (("one atom replaced", 0), ("two atoms swapped", 5), ("one atom negated", 10))
"""Title and position of one hard negative per type in a row of ``prod_hnall``."""


def mark_changes(caption: str, negative: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of a negative, and whether the caption has another word there."""
    before = caption.split()
    after = negative.split()
    bare = [[word.strip(".,") for word in words] for words in (before, after)]
    for kind, _, _, start, end in SequenceMatcher(None, *bare, autojunk=False).get_opcodes():
        yield from ((word, kind != "equal") for word in after[start:end])


class Page:
    """A column of text, right of the image."""

    def __init__(self, height: int) -> None:
        self.image = Image.new("RGB", (WIDTH, height), "white")
        self.draw = ImageDraw.Draw(self.image)
        self.left = 2 * MARGIN + IMAGE_SIDE
        self.y = MARGIN

    def write(self, words: list[tuple[str, bool]], color: str, bold: bool = False) -> None:
        """Write words, wrapped to the width; marked words are red, bold and underlined."""
        x = self.left
        for word, marked in words:
            font = ImageFont.truetype(
                FONTS / f"DejaVuSans{'-Bold' if bold or marked else ''}.ttf", SIZE
            )
            width = self.draw.textlength(word + " ", font)
            if x + width > WIDTH - MARGIN:
                x = self.left
                self.y = self.y + LINE
            self.draw.text((x, self.y), word, CHANGED if marked else color, font)
            if marked:
                end = x + self.draw.textlength(word, font)
                self.draw.line((x, self.y + LINE - 4, end, self.y + LINE - 4), CHANGED, 2)
            x += width
        self.y += LINE


def main(config: Path, split: str, row: int, output: Path) -> None:
    """Draw ROW of the SPLIT of the dataset folder CONFIG."""
    columns = ["image", "caption", "hard_negatives"]
    (cells,) = (
        pq.read_table(sorted(config.glob(f"{split}-*.parquet")), columns=columns)
        .slice(row, 1)
        .to_pylist()
    )
    picture = Image.open(io.BytesIO(read_stored(cells["image"], config.parent))).convert("RGB")
    picture = picture.resize(
        [round(side * IMAGE_SIDE / max(picture.size)) for side in picture.size]
    )
    page = Page(4 * IMAGE_SIDE)  # cropped below
    page.image.paste(picture, (MARGIN, MARGIN))
    page.write([("true caption", False)], TRUE, bold=True)
    page.write([(word, False) for word in cells["caption"].split()], INK)
    for title, position in TYPES:
        page.y += LINE // 2
        page.write([(f"hard negative: {title}", False)], MUTED)
        page.write(list(mark_changes(cells["caption"], cells["hard_negatives"][position])), INK)
    page.image.crop((0, 0, WIDTH, max(page.y, picture.height + MARGIN) + MARGIN // 2)).save(output)


if __name__ == "__main__":
    typer.run(main)
