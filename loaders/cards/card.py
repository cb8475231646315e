"""Write the card (``README.md``), the statistics (``stats.json``) and the Croissant metadata of a dataset folder.

The YAML block of the card makes the folder a Hugging Face dataset, which ``datasets.load_dataset`` can read from disk
or from a repository on the Hub. The text of the card is rendered from ``templates/<dataset>.md.j2``.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from compeval.base.schemas.rows import get_image_storage
from compeval.base.storage import parquet
from compeval.loaders.cards.croissant import make_croissant
from compeval.loaders.datasets.image_sources import list_image_sources
from compeval.loaders.datasets.stats import Stats, measure, parquet_files

LICENCES = {
    "microworld": ("cc0-1.0", "made by this project, CC0-1.0"),
    "visual_genome": ("cc-by-4.0", "Visual Genome, CC BY 4.0"),
    "coco": ("other", "COCO, captions CC BY 4.0, images under their Flickr licences"),
    "flickr30k": ("other", "Flickr30k, for research, under Flickr's terms"),
    "compun": ("cc-by-nc-4.0", "Compun, CC BY-NC 4.0"),
}
"""Licence of each source: its identifier on the Hub, and the text shown in the card."""
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""The Hub's size categories with their upper limits."""
PIXELS_HEADING = "\n## Pixels\n"
"""Heading of the card's last section if some rows do not contain the image that they show."""


def write_card(
    folder: Path, metadata: Mapping[str, Any], text: str, stats: Stats, *notes: str
) -> None:
    """Write README.md, stats.json and croissant.json of a dataset folder.

    Adds a section with ``notes`` on missing images and on rows that do not contain the image that they show.
    """
    schemas = {path.parent.name: parquet.read_schema(path) for path in parquet_files(folder)}
    storage = {config: get_image_storage(schema) for config, schema in schemas.items()}
    referencing = [config for config in storage if storage[config] == "by_reference"]
    sharing = [config for config in storage if {"image", "image_row"} <= set(schemas[config].names)]
    rendered = [*notes]
    rendered += [render("referenced_images", configs=referencing)] if referencing else []
    rendered += [render("shared_images", configs=sharing)] if sharing else []
    # Sets by reference have lists of crops as well, which are empty.
    has_crops = any((folder / name).stat().st_size for name in stats["images"])
    rendered += [render("image_files", name=folder.name)] if has_crops else []
    if rendered:
        text += PIXELS_HEADING + "\n" + "\n".join(rendered)
    (folder / "stats.json").write_text(
        json.dumps(stats, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
    sources = {source for names in list_image_sources(folder).values() for source in names}
    croissant = make_croissant(folder.name, metadata, stats, schemas, sources)
    (folder / "croissant.json").write_text(
        json.dumps(croissant, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    (folder / "README.md").write_text(front_matter(stats, metadata) + "\n" + text, encoding="utf-8")


def front_matter(stats: Stats, metadata: Mapping[str, Any]) -> str:
    """Return the YAML block of the card: the metadata, and for each config the files of its splits.

    The description of each config contains a hash of its files. ``datasets`` uses only this block as the cache key of a
    local folder, so without the hash it would return the old rows of a rebuilt folder.
    """
    configs: list[dict[str, Any]] = []
    for config, splits in stats["rows"].items():
        hashes = "".join(
            file["sha256"]
            for name, file in stats["files"].items()
            if Path(name).parent.name == config
        )
        description = f"data {hashlib.sha256(hashes.encode()).hexdigest()[:12]}"
        files = [{"split": split, "path": f"{config}/{split}-*.parquet"} for split in splits]
        configs.append({"config_name": config, "description": description, "data_files": files})
    block = yaml.safe_dump({**metadata, "configs": configs}, sort_keys=False, allow_unicode=True)
    return f"---\n{block}---\n"


def hub_metadata(name: str, stats: Stats, tasks: Sequence[str]) -> dict[str, Any]:
    """Return the metadata of the card in the terms that the Hub uses."""
    sources = list_sources(stats)
    licences = {LICENCES.get(source, ("other",))[0] for source in sources}
    rows = sum(count for splits in stats["rows"].values() for count in splits.values())
    return {
        "pretty_name": f"{name} ({', '.join(sources)})",
        "license": licences.pop() if len(licences) == 1 else "other",
        "language": ["en"],
        "task_categories": list(tasks),
        "tags": ["compositionality", "vision-language", *sources],
        "size_categories": [next((name for limit, name in SIZES if rows < limit), "1M<n<10M")],
    }


def list_sources(stats: Stats) -> list[str]:
    """Return the sources of all images of a dataset, sorted."""
    return sorted({source for sources in stats["sources"].values() for source in sources})


def describe_licence(source: str) -> str:
    """Return the name and licence of a source as shown in the card."""
    return LICENCES[source][1] if source in LICENCES else f"{source}, licence unknown"


def list_licences(stats: Stats) -> list[str]:
    """Return a line for each source of the images, with its configs if the dataset has several sources."""
    sources = list_sources(stats)
    if len(sources) == 1:
        return [describe_licence(sources[0])]
    configs = {
        source: [config for config, names in stats["sources"].items() if source in names]
        for source in sources
    }
    return [
        f"{describe_licence(source)}: `{'`, `'.join(names)}`" for source, names in configs.items()
    ]


def collect_stats(folder: Path, parent: Path | None = None, without: str | None = None) -> Stats:
    """Return the statistics of a folder, with the counts of the generating stages in ``stats/<dataset>/*.json``.

    The folder ``stats`` is in ``parent``, by default next to the dataset folder. Files in whose name the regular
    expression ``without`` is found are left out.
    """
    stats: Stats = measure(folder) | {
        "sources": list_image_sources(folder),
        "funnels": {},
        "unique": {},
    }
    for path in sorted(((parent or folder.parent) / "stats" / folder.name).glob("*.json")):
        if without is not None and re.search(without, path.name):
            continue
        counts = json.loads(path.read_text(encoding="utf-8"))
        for key in ("funnels", "unique"):
            stats[key] |= counts.get(key, {})
    return stats


def render(template: str, **values: Any) -> str:
    """Render ``templates/<template>.md.j2``."""
    return _environment().get_template(f"{template}.md.j2").render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= {
        "table": table,
        "list_licences": list_licences,
        "list_sources": list_sources,
    }
    environment.filters |= {
        "number": number,
        "percent": lambda share, digits=1: f"{share:.{digits}%}",
    }
    return environment


def number(value: int | None) -> str:
    """Format an integer with thousands separators, and None as a dash."""
    return "-" if value is None else f"{value:,}"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table. Integers get thousands separators."""

    def line(cells: Iterable[object]) -> str:
        return (
            "| "
            + " | ".join(number(cell) if isinstance(cell, int) else str(cell) for cell in cells)
            + " |"
        )

    return "\n".join([line(header), line("---" for _ in header), *map(line, rows)]) + "\n"
