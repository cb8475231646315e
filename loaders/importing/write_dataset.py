"""Import published benchmarks as datasets with the same schema and tasks as the generated datasets.

identify.py recognises the files, read_published.py reads their rows, and images.py finds the images of the rows. This
module writes a dataset folder named after the benchmark, whose rows reference their images. For each file, the card and
stats.json list the numbers of rows that were read, dropped and repaired, and the flaws.
"""

import fnmatch
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from compeval.base.files.atomic import MARKER, atomic_folder
from compeval.base.files.untrusted import SOURCES, allow_images, count_oddities
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage.crops import Crop, crop_id, read_sha256, read_size, round_corners
from compeval.base.storage.dataset import remove_empty_splits, write_split
from compeval.loaders.audit import FLAW_NAMES
from compeval.loaders.cards.card import render, write_card
from compeval.loaders.datasets.split_names import parse_stored
from compeval.loaders.datasets.stats import measure, parquet_files, split_name
from compeval.loaders.importing.identify import PublishedFile, identify
from compeval.loaders.importing.images import ImageFinder
from compeval.loaders.importing.read_published import ReadFile, audit_splits, read_files
from compeval.loaders.importing.row_counts import ImportedFile, read_imported
from compeval.loaders.importing.selection import ALL, RowSelection
from compeval.loaders.published import Benchmark, Row
from compeval.loaders.published.schemas import arrange_captions, list_image_columns


def import_files(
    files: Sequence[Path],
    image_folder: Path | None,
    output: Path,
    selection: RowSelection = ALL,
    *,
    benchmark: Benchmark | None = None,
) -> list[ImportedFile]:
    """Recognise published files, of any benchmark or of ``benchmark``, and write their datasets.

    ``image_folder`` contains the images. None: the files contain their images, or ``output`` has them. See
    :func:`import_published`. Raises FileNotFoundError if there is no such folder.
    """
    images = ImageFinder(output, image_folder)
    published = [identify(path, benchmark) for path in dict.fromkeys(files)]
    read = read_files(published, output, selection)
    return import_published(read, images, skip_missing=selection.skip_missing)


def import_published(
    files: Sequence[ReadFile], images: ImageFinder, *, skip_missing: bool = False
) -> list[ImportedFile]:
    """Write the datasets of published files, one folder per benchmark in the data folder of ``images``. Returns the
    counts of each file.

    Splits that were imported before stay, unless the files replace them. All inputs are checked before a dataset is
    written. Raises FileNotFoundError if an image is missing, unless ``skip_missing`` drops its rows. Raises ValueError
    if two files contain the same split of a benchmark that keeps each split in one file.
    """
    # The rows that have all their images, of each benchmark.
    by_benchmark: defaultdict[str, list[ReadFile]] = defaultdict(list)
    for read in files:
        for image_set, names in read.images.items():
            images.check_distinct(image_set, names)
            if not skip_missing:
                images.require(image_set, names)
        by_benchmark[read.file.benchmark.name].append(_select_rows(read, images))
    for of_benchmark in by_benchmark.values():
        _check_distinct_splits(of_benchmark)

    # Further splits, which a benchmark may make from the rows of several files.
    for name, of_benchmark in by_benchmark.items():
        by_benchmark[name] = _add_joined_splits(of_benchmark)

    # The datasets, which may refer to images in the folder of the user.
    images.output.mkdir(parents=True, exist_ok=True)
    if images.folder is not None:
        allow_images(images.output, [images.folder.resolve()])
    imported: dict[Path, ImportedFile] = {}
    for of_benchmark in by_benchmark.values():
        counts = [_count_written(read, images) for read in of_benchmark]
        if any(read.splits for read in of_benchmark):
            _write(of_benchmark, counts, images)
        imported |= {
            read.file.path: of_file for read, of_file in zip(of_benchmark, counts, strict=True)
        }
    return [imported[read.file.path] for read in files]


def _select_rows(read: ReadFile, images: ImageFinder) -> ReadFile:
    """Return a file without the rows that lack an image or whose box is outside its image, and without splits that have
    no other rows.

    Counts these rows, and those whose box is partly outside. Raises ValueError if all boxes of a split are outside.
    """
    dropped = Counter(read.counts.dropped)
    cut = 0
    splits: dict[tuple[str, str], list[Row]] = {}
    for (config, split), rows in read.splits.items():
        selected: list[Row] = []
        num_outside = 0
        for row in rows:
            paths = _find_images(read, row, images)
            if len(paths) < len(row.images):
                dropped["image missing"] += 1
                continue
            share = measure_outside(row.box, paths[0]) if row.box else 0.0
            cut += 0 < share < 1
            if share < 1:
                selected.append(row)
            else:
                num_outside += 1
        if num_outside and not selected:
            raise ValueError(
                f"{read.file.path}: all boxes of {config}/{split} are outside their images, which must have another "
                "size than those that were annotated. Use the original images."
            )
        dropped += Counter({"the box is outside the image": num_outside})
        if selected:
            splits[config, split] = selected
    return replace(read, splits=splits, counts=replace(read.counts, dropped=dropped, cut=cut))


def _find_images(read: ReadFile, row: Row, images: ImageFinder) -> list[Path]:
    """Return the paths of those images of a row that are not missing."""
    image_set = row.image_set or read.file.images
    paths = [images.find(image_set, name) for name in row.images]
    return [path for path in paths if path is not None]


def measure_outside(box: Box, path: Path) -> float:
    """Return the share of a box that is outside its image; 0 if it exceeds the image by at most a pixel.

    Returns 1 for a box that is too large to be cut, and 0 for an unreadable image, which is reported when it is
    evaluated.
    """
    try:
        width, height = read_size(path)
    except ValueError:
        return 0.0
    left, top, right, bottom = round_corners(box)
    if left >= -1 and top >= -1 and right <= width + 1 and bottom <= height + 1:
        return 0.0
    if right - left > 2 * width or bottom - top > 2 * height:
        return 1.0
    inside = max(0, min(right, width) - max(left, 0)) * max(0, min(bottom, height) - max(top, 0))
    return 1 - inside / ((right - left) * (bottom - top))


def _check_distinct_splits(files: Sequence[ReadFile]) -> None:
    """Raise ValueError if two files of a benchmark have the same rows."""
    parts: defaultdict[tuple[str, str], list[PublishedFile]] = defaultdict(list)
    for read in files:
        file = read.file
        for config, split in read.splits:
            for part in parts[config, split]:
                if not file.benchmark.split_files or part.name == file.name:
                    raise ValueError(
                        f"{file.path} and {part.path} are both {config}/{split} of {file.benchmark.name}."
                    )
            parts[config, split].append(file)


def _add_joined_splits(files: Sequence[ReadFile]) -> list[ReadFile]:
    """Return the files of a benchmark with the splits that it makes from their rows. These are added to the first file
    of their rows."""
    benchmark = files[0].file.benchmark
    if benchmark.join is None:
        return [*files]
    joined: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in benchmark.join({key: rows for read in files for key, rows in read.splits.items()}):
        joined[row.config, row.split].append(row)
    splits = [dict(read.splits) for read in files]
    for (config, split), rows in joined.items():
        base = parse_stored(split)[0]
        with_split = [
            number
            for number, read in enumerate(files)
            if any(base == other for _, other in read.splits)
        ]
        with_config = [number for number in with_split if (config, base) in files[number].splits]
        first = (with_config or with_split)[0]
        splits[first][config, split] = rows
    return [replace(read, splits=of_file) for read, of_file in zip(files, splits, strict=True)]


def _write(files: Sequence[ReadFile], counts: Iterable[ImportedFile], images: ImageFinder) -> None:
    """Write the dataset folder of a benchmark, all or nothing. Splits that no file replaces stay."""
    benchmark = files[0].file.benchmark
    folder = images.output / benchmark.name
    splits: dict[str, dict[str, list[ReadFile]]] = {}
    for read in files:
        for config, split in read.splits:
            splits.setdefault(config, {}).setdefault(split, []).append(read)

    # A file whose split is replaced is replaced as a whole: its other splits may be of another version.
    replaced = {f"{config}/{split}" for config, by_split in splits.items() for split in by_split}
    earlier = read_imported(folder)
    entries = {
        file: entry for file, entry in earlier.items() if replaced.isdisjoint(entry["written"])
    }
    for file, entry in earlier.items():
        if file not in entries:
            replaced.update(entry["written"])
    entries |= {of_file.file: of_file.to_json() for of_file in counts}

    if earlier:
        (folder / MARKER).touch()  # earlier versions wrote the configs one by one
    with atomic_folder(folder) as scratch:
        for path in parquet_files(folder):
            if f"{path.parent.name}/{split_name(path)}" not in replaced:
                (scratch / path.parent.name).mkdir(exist_ok=True)
                shutil.copy2(path, scratch / path.parent.name)
        for config, by_split in splits.items():
            (scratch / config).mkdir(exist_ok=True)
            schema = benchmark.find_schema(config)
            # A crop has its image's path and a box; other images have a path and no bytes in their cell.
            storage = "by_reference" if "x" in schema.names else "embedded"
            for split, parts in by_split.items():
                rows = chain.from_iterable(
                    _make_dataset_rows(part, config, split, schema, images) for part in parts
                )
                write_split(scratch / config, split, rows, schema, storage)
            remove_empty_splits(scratch / config)
        _write_card(benchmark, scratch, entries)


def _make_dataset_rows(
    read: ReadFile, config: str, split: str, schema: pa.Schema, images: ImageFinder
) -> Iterator[dict[str, Any]]:
    """Yield the dataset rows of one split of a file."""
    seed = re.fullmatch(r"s(\d+)", parse_stored(split)[1])
    for row in read.splits[config, split]:
        provenance = {
            "source": (row.image_set or read.file.images).name,
            "captioner": "published",
            "seed": int(seed[1]) if seed else 0,
        }
        yield make_dataset_row(row, _find_images(read, row, images), schema, provenance, images)


def make_dataset_row(
    row: Row,
    paths: Sequence[Path],
    schema: pa.Schema,
    provenance: Mapping[str, Any],
    images: ImageFinder,
) -> dict[str, Any]:
    """Make a row of ``schema`` that references whole images, or a crop of its only image.

    The paths of shared images in the finder's data folder are relative, so that the folder can be moved. Published
    files contain neither scene graphs nor foils, so these columns of HARD_NEGATIVE_SCHEMA are empty. A row that states
    no id gets that of its first image's content, which reads like the image's name.
    """
    output = images.output
    stored = [
        path.relative_to(output) if path.is_relative_to(output / SOURCES) else path.resolve()
        for path in paths
    ]
    boxes = [row.box or Box(0.0, 0.0, *map(float, read_size(path))) for path in paths]
    crop_ids = [crop_id(path, box) for path, box in zip(paths, boxes, strict=True)]
    columns: dict[str, Any] = {
        "image_id": row.image_id
        or images.ids.find(read_sha256(paths[0]), PurePosixPath(row.images[0]).stem),
        "hard_negatives": list(row.hard_negatives),
        "categories": [{"by": by, "name": name} for by, name in row.categories],
        "provenance": dict(provenance),
        "atoms": [],
        "compounds": [],
        "scene_graph": {"objects": [], "relations": []},
        "complexity": row.complexity,
        "foils": [[] for _ in row.hard_negatives],
        "label": row.label,
        "rating": row.label,
    }
    columns |= arrange_captions(schema, row.captions)
    for column, path, crop in zip(list_image_columns(schema), stored, crop_ids, strict=True):
        columns[column] = {"bytes": None, "path": path.as_posix()}
        columns[column.replace("image", "crop_id")] = crop
    if "x" in schema.names:
        columns |= boxes[0]._asdict()
        columns["image"] = Crop(stored[0], boxes[0])
    return {name: columns[name] for name in schema.names}


def _count_written(read: ReadFile, images: ImageFinder) -> ImportedFile:
    """Return the counts of a file whose rows are written as they are.

    The card shows only counts of this function and of rows that were not written. With repair, the flaws are those of
    the rows before it (:func:`read_published`).
    """
    paths = {path for row in read for path in _find_images(read, row, images)}
    splits = {f"{config}/{split}": rows for (config, split), rows in read.splits.items()}
    return replace(
        read.counts,
        written={name: len(rows) for name, rows in splits.items()},
        unordered={name: sum(row.unordered for row in rows) for name, rows in splits.items()},
        changed=sum(row.changed for row in read),
        images=count_oddities(sorted(paths)),
        audits=read.counts.audits if read.counts.repair else audit_splits(read.splits),
    )


def _write_card(benchmark: Benchmark, folder: Path, imported: Mapping[str, Any]) -> None:
    """Write the card of a dataset folder, given the counts of the files from which its splits were imported."""
    stats = measure(folder) | {"imported": dict(sorted(imported.items()))}
    metadata = {
        "pretty_name": benchmark.source.title,
        "license": benchmark.licence_id,
        "language": list(benchmark.languages),
        "tags": ["compositionality", "vision-language", "imported"],
    }
    changes = {
        configs: change
        for configs, change in benchmark.changes.items()
        if fnmatch.filter(stats["rows"], configs)
    }
    content = render(
        "published", benchmark=benchmark, stats=stats, flaws=FLAW_NAMES, changes=changes
    )
    write_card(folder, metadata, content, stats)
