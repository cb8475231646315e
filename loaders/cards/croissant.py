"""Croissant metadata (``croissant.json``) of a dataset folder: its files, its columns, and the responsible-AI fields.

Formats: Croissant 1.0 (http://mlcommons.org/croissant/1.0) and its RAI extension 1.0. The tests validate the result
with the library ``mlcroissant``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from generators.schemas.rows import RAW_SCHEMA

REPOSITORY = "https://github.com/compeval/compeval"
PARQUET = "application/x-parquet"
IMAGE = RAW_SCHEMA.field("image").type
LICENCES = {
    "cc0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "cc-by-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "cc-by-nc-4.0": "https://creativecommons.org/licenses/by-nc/4.0/",
    "mit": "https://opensource.org/license/mit",
}
TERMS = (
    *("citeAs", "column", "containedIn", "extract", "field", "fileObject", "fileProperty", "fileSet", "format"),
    *("includes", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex", "repeated"),
    *("replace", "separator", "source", "subField", "transform", "isLiveDataset", "samplingRate", "equivalentProperty"),
)
"""Properties of Croissant's own vocabulary."""
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in TERMS},
}


def make_croissant(
    name: str,
    metadata: Mapping[str, Any],
    stats: Mapping[str, Any],
    schemas: Mapping[str, pa.Schema],
    sources: Collection[str],
) -> dict[str, Any]:
    """Return the metadata of a dataset, given the metadata of its card and the Arrow schema of each config.

    ``sources`` are the sources of all images; empty for a dataset without images.
    """
    facts = _read_facts()
    origin = "drawn" if set(sources) == {"microworld"} else "collected" if sources else "text"
    licence = str(metadata.get("license", "other"))
    title = str(metadata.get("pretty_name", name))
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": name,
        "description": f"{title}: a dataset of CompEval for vision-language compositionality. README.md describes it.",
        "version": f"0.1.0+{stats['version']}",
        "license": LICENCES.get(licence, f"{REPOSITORY}#licence"),
        "url": REPOSITORY,
        "creator": {"@type": "sc:Organization", "name": "The CompEval developers", "url": REPOSITORY},
        "keywords": list(metadata.get("tags", ())),
        "inLanguage": "en",
        "citeAs": f"The CompEval developers, CompEval, {REPOSITORY}. Cite the benchmark's paper as well (README.md).",
        **facts["common"],
        **facts[origin],
        "distribution": [*_list_files(stats), *map(_make_file_set, schemas), *map(_make_image_set, stats["images"])],
        "recordSet": [_make_record_set(config, schema, bool(stats["images"])) for config, schema in schemas.items()],
    }


@cache
def _read_facts() -> dict[str, Any]:
    return yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def _list_files(stats: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parquet files with their sizes and hashes."""
    for name, entry in stats["files"].items():
        yield {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "contentUrl": name,
            "contentSize": f"{entry['bytes']} B",
            "encodingFormat": PARQUET,
            "sha256": entry["sha256"],
        }


def _make_file_set(config: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": f"{config}-files",
        "name": f"{config}-files",
        "description": f"All splits of {config}.",
        "encodingFormat": PARQUET,
        "includes": f"{config}/*.parquet",
    }


def _make_image_set(hashes: str) -> dict[str, Any]:
    """Return the set of the image files next to a list of their hashes."""
    folder = Path(hashes).parent.as_posix()
    return {
        "@type": "cr:FileSet",
        "@id": folder,
        "name": folder,
        "description": f"Crops that several configs show. {hashes} lists their SHA-256.",
        "encodingFormat": "image/jpeg",
        "includes": f"{folder}/*.jpg",
    }


def _make_record_set(config: str, schema: pa.Schema, has_image_files: bool) -> dict[str, Any]:
    """Return the record set of a config. ``has_image_files``: its rows contain the paths of their images.

    Croissant readers cannot extract nested lists of records, such as ``foils``. The description names these columns.
    """
    fields, nested = [], []
    for column in schema:
        if column.type == IMAGE:
            kind, part = ("sc:Text", "path") if has_image_files else ("sc:ImageObject", "bytes")
            fields.append(_make_field(config, column.name, kind, part))
        elif pa.types.is_list(column.type) and not pa.types.is_nested(column.type.value_type):
            field = _make_field(config, column.name, _name_type(column.type.value_type))
            fields.append(field | {"repeated": True})
        elif not pa.types.is_nested(column.type):
            fields.append(_make_field(config, column.name, _name_type(column.type)))
        else:
            nested.append(column.name)
    note = f" Further columns, described by the Arrow schema of the files: {', '.join(nested)}." if nested else ""
    description = f"The rows of {config}.{note}"
    return {"@type": "cr:RecordSet", "@id": config, "name": config, "description": description, "field": fields}


def _make_field(config: str, column: str, kind: str, json_path: str | None = None) -> dict[str, Any]:
    """Return the field of a column, or of a part of its records."""
    source: dict[str, Any] = {"fileSet": {"@id": f"{config}-files"}, "extract": {"column": column}}
    if json_path:
        source["transform"] = {"jsonPath": json_path}
    name = f"{config}/{column}"
    return {"@type": "cr:Field", "@id": name, "name": name, "dataType": kind, "source": source}


def _name_type(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if pa.types.is_floating(kind) else "sc:Text"
