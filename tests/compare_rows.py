"""Print rows that were read from published files next to the original records, to compare them by eye.

    python -m tests.compare_rows FILE ... --rows 10

The rows are at equal distances. The original of a row is the record that contains its texts and images, or else the
first one with its caption or image; ``-`` if there is none.
"""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from compeval.loaders.published.rows import Row
from tests.published_files import read_file


def read_records(path: Path) -> list[Any]:
    """Return the records of a JSON, JSON Lines, CSV or TSV file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".csv", ".tsv"):
        return list(
            csv.DictReader(
                text.splitlines(keepends=True), delimiter="\t" if path.suffix == ".tsv" else ","
            )
        )
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines() if line]
    content = json.loads(text)
    return list(content.items()) if isinstance(content, dict) else content


def list_leaves(value: Any) -> Iterator[str]:
    """Yield all strings of a record."""
    if isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from list_leaves(item)
    elif isinstance(value, str):
        yield value


def find_original(row: Row, records: list[Any]) -> str:
    """Return the record with all texts and images of a row, or else one with its first caption."""
    texts, images = (
        (*row.captions, *row.hard_negatives),
        [Path(image).stem.lstrip("0") for image in row.images],
    )
    with_caption = [
        record for record in records if row.captions[0] in "\n".join(list_leaves(record))
    ]
    for record in with_caption:
        leaves, shown = "\n".join(list_leaves(record)), json.dumps(record, ensure_ascii=False)
        if all(text in leaves for text in texts) and all(image in shown for image in images):
            return shown
    with_image = [record for record in records if images[0] in json.dumps(record)]
    return json.dumps(next(iter(with_caption + with_image), "-"), ensure_ascii=False)


def main(
    files: list[Path],
    rows: Annotated[int, typer.Option(help="Rows of each file.")] = 10,
    width: int = 400,
) -> None:
    for path in files:
        counts, read = read_file(path)
        records = read_records(path)
        print(
            f"\n# {path.name}: {len(records):,} records, {counts.read:,} rows read, {len(read):,} usable"
        )
        for row in read[:: -(-len(read) // rows)]:
            print(f"  original {find_original(row, records)[:width]}")
            label = "" if row.label is None else f" label={row.label}"
            print(
                f"  row      {row.config} {row.images} TRUE {row.captions} FALSE {row.hard_negatives}{label}"[
                    :width
                ]
            )


if __name__ == "__main__":
    typer.run(main)
