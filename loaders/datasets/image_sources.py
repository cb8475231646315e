"""The sources of a dataset's images, from the provenance of its rows."""

from collections import defaultdict
from pathlib import Path

import pyarrow as pa

from compeval.base.storage import parquet
from compeval.loaders.datasets.stats import parquet_files

UNKNOWN = "unknown"


def list_image_sources(folder: Path) -> dict[str, list[str]]:
    """Return the sources of each config's images, sorted. Configs without images are left out.

    If a file has no column ``provenance``, its source is ``unknown``.
    """
    sources: defaultdict[str, set[str]] = defaultdict(set)
    for path in parquet_files(folder):
        schema = parquet.read_schema(path)
        if find_image_columns(schema):
            has_sources = "provenance" in schema.names
            batches = parquet.read_batches(path, columns=["provenance"]) if has_sources else ()
            names = {
                name
                for batch in batches
                for name in batch.column(0).field("source").unique().to_pylist()
            }
            sources[path.parent.name] |= names if has_sources else {UNKNOWN}
    return {config: sorted(name or UNKNOWN for name in names) for config, names in sources.items()}


def find_image_columns(schema: pa.Schema) -> list[str]:
    """Return the columns that contain images or paths of local image files."""
    return [
        field.name
        for field in schema
        if field.name == "image_path"
        or (pa.types.is_struct(field.type) and field.type.get_field_index("bytes") >= 0)
    ]
