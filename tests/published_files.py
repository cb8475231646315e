"""Read a published file at once, as `compeval import` and `compeval audit` do row by row, and make rows of one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compeval.loaders.importing.identify import identify
from compeval.loaders.importing.read_published import read_published
from compeval.loaders.importing.row_counts import ImportedFile
from compeval.loaders.importing.selection import RowSelection
from compeval.loaders.published.rows import Row


def read_file(path: Path, *, repair: bool = False) -> tuple[ImportedFile, list[Row]]:
    """Return the counts and the usable rows of a published file."""
    read = read_published(identify(path), RowSelection(repair))
    return read.counts, list(read)


def list_leaves(value: Any) -> Iterator[str]:
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from list_leaves(item)
    elif isinstance(value, str):
        yield value


def make_rotations(
    answer: str, wrong: str, image: str, question: str = "What is on the mat?", **fields: Any
) -> list[dict[str, Any]]:
    """Return the four lines of a question of CRPE, in which ``answer`` is option A, D, C and B."""
    options = [answer, *wrong.split("|")]
    lines: list[dict[str, Any]] = []
    for shift in range(4):
        rotated = options[shift:] + options[:shift]
        listed = "\n".join(
            f"{letter}. {option}" for letter, option in zip("ABCD", rotated, strict=True)
        )
        text = f"{question}\n{listed}\nAnswer with the option's letter from the given choices directly."
        lines.append(
            {"question_id": shift, "image": image, "text": text, "correct_option": "ADCB"[shift]}
            | fields
        )
    return lines
