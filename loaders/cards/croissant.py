"""Croissant metadata (``croissant.json``) of a dataset folder: its files, its columns, and the responsible-AI fields.

Formats: Croissant 1.0 (http://mlcommons.org/croissant/1.0) and its RAI extension 1.0. The tests validate the result
with the library ``mlcroissant``, which takes 2.5 seconds to import.
"""

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from compeval.base.schemas.rows import RAW_SCHEMA

REPOSITORY = "https://github.com/compeval/compeval"
PARQUET = "application/x-parquet"
CROPS = "Crops that several configs show."


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
    title = metadata.get("pretty_name", name)
    return {
        "@context": facts["context"],
        "@type": "sc:Dataset",
        "name": name,
        "description": f"{title}: a dataset of CompEval for vision-language compositionality. README.md describes it.",
        "version": f"0.1.0+{stats['version']}",
        "license": facts["licences"].get(metadata.get("license"), f"{REPOSITORY}#licence"),
        "url": REPOSITORY,
        "creator": {
            "@type": "sc:Organization",
            "name": "The CompEval developers",
            "url": REPOSITORY,
        },
        "keywords": list(metadata.get("tags", ())),
        "inLanguage": "en",
        "citeAs": f"The CompEval developers, CompEval, {REPOSITORY}. Cite the benchmark's paper as well (README.md).",
        **facts["common"],
        **facts[origin],
        "distribution": _list_files(stats, schemas),
        "recordSet": [
            _make_record_set(config, schema, bool(stats["images"]))
            for config, schema in schemas.items()
        ],
    }


@cache
def _read_facts() -> dict[str, Any]:
    return yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def _make_node(kind: str, name: str, **properties: Any) -> dict[str, Any]:
    return {"@type": f"cr:{kind}", "@id": name, "name": name, **properties}


def _list_files(stats: Mapping[str, Any], configs: Collection[str]) -> list[dict[str, Any]]:
    """Return the parquet files, the sets of the files of each config, and the sets of image files."""
    files = [
        _make_node(
            "FileObject",
            name,
            contentUrl=name,
            contentSize=f"{entry['bytes']} B",
            encodingFormat=PARQUET,
            sha256=entry["sha256"],
        )
        for name, entry in stats["files"].items()
    ]
    sets = [
        (f"{config}-files", f"All splits of {config}.", PARQUET, f"{config}/*.parquet")
        for config in configs
    ]
    for hashes in stats["images"]:
        folder = Path(hashes).parent.as_posix()
        description = f"{CROPS} {hashes} lists their SHA-256."
        sets.append((folder, description, "image/jpeg", f"{folder}/*.jpg"))
    return files + [
        _make_node(
            "FileSet", name, description=description, encodingFormat=encoding, includes=pattern
        )
        for name, description, encoding, pattern in sets
    ]


def _make_record_set(config: str, schema: pa.Schema, has_image_files: bool) -> dict[str, Any]:
    """Return the record set of a config. ``has_image_files``: its rows contain the paths of their images.

    Croissant readers cannot extract nested lists of records, such as ``foils``. The description names these columns.
    """
    fields = []
    nested = []
    for column in schema:
        is_image = column.type == RAW_SCHEMA.field("image").type
        is_list = pa.types.is_list(column.type)
        item = column.type.value_type if is_list else column.type
        if pa.types.is_nested(item) and not is_image:
            nested.append(column.name)
            continue
        source: dict[str, Any] = {
            "fileSet": {"@id": f"{config}-files"},
            "extract": {"column": column.name},
        }
        kind = (
            "Integer"
            if pa.types.is_integer(item)
            else "Float"
            if pa.types.is_floating(item)
            else "Text"
        )
        if is_image:
            kind = "Text" if has_image_files else "ImageObject"
            source["transform"] = {"jsonPath": "path" if has_image_files else "bytes"}
        field = _make_node("Field", f"{config}/{column.name}", dataType=f"sc:{kind}", source=source)
        fields.append(field | ({"repeated": True} if is_list else {}))
    note = (
        f" Further columns, described by the Arrow schema of the files: {', '.join(nested)}."
        if nested
        else ""
    )
    return _make_node("RecordSet", config, description=f"The rows of {config}.{note}", field=fields)
