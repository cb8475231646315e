"""Measure `compeval list tasks` and the loading of all tasks with every benchmark imported: python -m bench.listing

A data folder gets one dataset for each published benchmark, with its declared configs and schemas, and more configs of
its first schema until there are CONFIGS. The first one has IMAGE_FILES images in its own folder, as generated datasets
have; imported ones refer to the images of their sources.
Printed: the seconds of the first and of the second call, in the process of this script, after all modules are imported.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from evaluators.engine.task_dataset import load
from evaluators.engine.tasks import discover
from evaluators.protocols import all_protocols
from evaluators.results.compose import get_code
from generators.storage import parquet
from generators.storage.crops import HASHES, IMAGES
from loaders import benchmarks
from loaders.cards.card import write_card
from loaders.datasets.stats import measure
from loaders.published.declaration import Benchmark

CONFIGS, ROWS, IMAGE_FILES = 400, 20, 1000


def make_value(kind: pa.DataType, number: int) -> Any:
    """Return a value of an Arrow type."""
    if pa.types.is_struct(kind):
        return {field.name: make_value(field.type, number) for field in kind}
    if pa.types.is_list(kind):
        return [make_value(kind.value_type, number)]
    if pa.types.is_string(kind):
        return f"text {number}"
    return b"" if pa.types.is_binary(kind) else number % 2


def make_rows(schema: pa.Schema) -> Iterator[dict[str, Any]]:
    for number in range(ROWS):
        yield {field.name: make_value(field.type, number) for field in schema}


def write_benchmark(benchmark: Benchmark, folder: Path, configs: int, images: int) -> int:
    """Write a dataset of at least ``configs`` configs, and return their number."""
    names = list(dict.fromkeys(name.partition("/")[0] for name in benchmark.rows)) or ["main"]
    names += [f"{names[0]}_{number}" for number in range(len(names), configs)]
    for name in names:
        schema = benchmark.find_schema(name)
        (folder / name).mkdir(parents=True)
        table = pa.Table.from_pylist(list(make_rows(schema)), schema)
        with parquet.open_writer(folder / name / "test-00000-of-00001.parquet", schema) as writer:
            writer.write_table(table)
    if images:
        write_images(folder / IMAGES / "main", images)
    write_card(folder, {}, "", measure(folder))
    return len(names)


def write_images(files: Path, images: int) -> None:
    files.mkdir(parents=True)
    for number in range(images):
        (files / f"{number}.jpg").write_bytes(b"")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    (files / HASHES).write_text("".join(f"{empty}  {number}.jpg\n" for number in range(images)))


def time_twice(what: str, function: Callable[[], Any]) -> None:
    for call in ("first", "second"):
        start, start_cpu = time.perf_counter(), time.process_time()
        function()
        seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
        print(f"{what:<22} {call:<6} {seconds:6.2f} s, {cpu:6.2f} s of the processor")


def main(
    configs: int = CONFIGS, images: Annotated[int, typer.Option(help="Image files of the first dataset.")] = IMAGE_FILES
) -> None:
    declared = benchmarks.load_all()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["COMPEVAL_CACHE"] = str(Path(scratch, "cache"))
        data = Path(scratch, "data")
        per_benchmark = -(-configs // len(declared))
        total = sum(
            write_benchmark(item, data / item.name, per_benchmark, 0 if number else images)
            for number, item in enumerate(declared)
        )
        print(f"{len(declared)} benchmarks, {total} configs, {images} image files")
        all_protocols()
        time_twice("list tasks", lambda: discover(data))
        tasks = discover(data)
        time_twice("dry run: load tasks", lambda: [load(task, data, verify=False) for task in tasks])
        time_twice("dry run: their code", lambda: [get_code(task.dataset, task.config) for task in tasks])
        time_twice("run: load tasks", lambda: [load(task, data) for task in tasks])


if __name__ == "__main__":
    typer.run(main)
