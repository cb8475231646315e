"""The card and the statistics of a dataset folder: ``README.md`` and ``stats.json``.

The card's YAML block makes the folder a Hugging Face dataset: plain ``datasets.load_dataset`` reads it from disk, and
the Hub does from a repository. ``stats.json`` says what was built, and the loader refuses a folder that differs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from generators.schemas.rows import pixels_of
from generators.storage import parquet

Stats = dict[str, Any]

LICENCES = {
    "microworld": ("cc0-1.0", "made by this project, CC0-1.0"),
    "visual_genome": ("cc-by-4.0", "Visual Genome, CC BY 4.0"),
    "compun": ("cc-by-nc-4.0", "Compun, CC BY-NC 4.0"),
}
"""Source -> the Hub's name of its licence, and the licence in words."""
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""The Hub's size categories: fewer rows than the number."""


def parquet_files(folder: Path) -> list[Path]:
    """Every parquet file of a dataset folder, in name order."""
    return sorted(folder.glob("*/*.parquet"))


def split_name(path: Path) -> str:
    """``n4`` of ``n4-00000-of-00001.parquet``."""
    return path.name.rsplit("-", 3)[0]


def describe(folder: Path) -> dict[str, dict[str, Any]]:
    """Relative path -> rows and bytes of each parquet file, as the loader checks them."""
    return {
        str(path.relative_to(folder)): {"rows": parquet.count_rows(path), "bytes": path.stat().st_size}
        for path in parquet_files(folder)
    }


def measure(folder: Path) -> Stats:
    """The folder's files with their SHA-256, rows by config and split, and the version: a hash over all files."""
    files: dict[str, dict[str, Any]] = {
        name: entry | {"sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest()}
        for name, entry in describe(folder).items()
    }
    rows: dict[str, dict[str, int]] = {}
    for name, entry in files.items():
        path = Path(name)
        splits = rows.setdefault(path.parent.name, {})
        splits[split_name(path)] = splits.get(split_name(path), 0) + entry["rows"]
    digest = hashlib.sha256("".join(f"{name} {entry['sha256']}\n" for name, entry in files.items()).encode())
    return {"version": digest.hexdigest()[:16], "rows": rows, "files": files}


def config_digest(stats: Stats, config: str) -> str:
    """12 hex digits over the files of one config."""
    hashes = "".join(entry["sha256"] for name, entry in stats["files"].items() if Path(name).parent.name == config)
    return hashlib.sha256(hashes.encode()).hexdigest()[:12]


def front_matter(stats: Stats, metadata: Mapping[str, Any]) -> str:
    """The YAML block: the card's metadata, and for each config its splits' files.

    Each config's description holds a hash of its files: ``datasets`` caches a local folder by this block alone, and
    would go on giving the old rows of a folder that was built anew.
    """
    configs = [
        {
            "config_name": config,
            "description": f"data {config_digest(stats, config)}",
            "data_files": [{"split": split, "path": f"{config}/{split}-*.parquet"} for split in splits],
        }
        for config, splits in stats["rows"].items()
    ]
    block = yaml.safe_dump({**metadata, "configs": configs}, sort_keys=False, allow_unicode=True)
    return f"---\n{block}---\n"


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; whole numbers get thousands separators."""

    def cell(value: object) -> str:
        return f"{value:,}" if isinstance(value, int) else str(value)

    lines = ["| " + " | ".join(header) + " |", "| " + " | ".join("---" for _ in header) + " |"]
    return "\n".join([*lines, *("| " + " | ".join(map(cell, row)) + " |" for row in rows)]) + "\n"


PIXELS = "\n## Pixels\n"
"""What opens the last part of a card whose rows do not hold all their pixels."""


def write_card(folder: Path, metadata: Mapping[str, Any], body: str, stats: Stats) -> None:
    """Write README.md and stats.json of a dataset folder."""
    (folder / "stats.json").write_text(json.dumps(stats, indent=1, sort_keys=True) + "\n")
    (folder / "README.md").write_text(front_matter(stats, metadata) + "\n" + body + _referred(folder))


def _referred(folder: Path) -> str:
    """What a card says of the configs whose rows name their source images; nothing where there are none."""
    paths = parquet_files(folder)
    named = {path.parent.name: None for path in paths if pixels_of(parquet.read_schema(path)) == "by_reference"}
    if not named:
        return ""
    return f"""{PIXELS}
The rows of {", ".join(f"`{config}`" for config in named)} hold no pixels. A row names its source image
(`image_path`, as seen from the folder that holds this one, if it is not absolute) and the part of it that is meant
(`x`, `y`, `width`, `height`). `compeval.load_dataset` adds that crop as `image`; plain `datasets` gives path and box.
"""


def measured(folder: Path, source: str) -> Stats:
    """What was built, with what the generating stages counted of it in ``stats/<dataset>/*.json``."""
    stats: Stats = measure(folder) | {"source": source, "funnels": {}, "unique": {}}
    for path in sorted((folder.parent / "stats" / folder.name).glob("*.json")):
        counted = json.loads(path.read_text())
        for key in ("funnels", "unique"):
            stats[key] |= counted.get(key, {})
    return stats


def write_measured_card(
    folder: Path, name: str, source: str, tasks: Sequence[str], body: Callable[[Stats], str]
) -> None:
    """Measure the folder, add what the generating stages counted, and write the card with ``body``'s text."""
    stats = measured(folder, source)
    write_card(folder, hub_metadata(name, stats, tasks), body(stats), stats)


def hub_metadata(name: str, stats: Stats, tasks: Sequence[str]) -> dict[str, Any]:
    """The card's YAML metadata, in the Hub's vocabulary."""
    source = stats["source"]
    rows = sum(count for splits in stats["rows"].values() for count in splits.values())
    return {
        "pretty_name": f"{name} ({source})",
        "license": LICENCES[source][0],
        "language": ["en"],
        "task_categories": list(tasks),
        "tags": ["compositionality", "vision-language", source],
        "size_categories": [next((name for limit, name in SIZES if rows < limit), "1M<n<10M")],
    }


def stand_in(source: str, also: str = "") -> str:
    """What opens the card of a synthetic dataset; nothing for a real one."""
    if source != "microworld":
        return ""
    told = "> **Synthetic stand-in.** These images and captions come from the embedded micro-world."
    return f"{told} {also}".rstrip() + " Compare numbers on this set with each other, never with the paper's.\n\n"


def funnels(stats: Stats) -> str:
    """A table for each funnel: how many went at which step."""
    return "".join(
        f"### {title}\n\n{table(('step', 'rows'), list(counts.items()))}\n"
        for title, counts in stats["funnels"].items()
    )


def licence(source: str) -> str:
    return f"Code MIT. Pixels and annotations: {LICENCES[source][1]}."
