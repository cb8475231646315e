"""Measure the stages that read Visual Genome and GQA on synthetic data of two sizes: ``python -m bench.real_size``.

    python -m bench.real_size --images 250 1000         # two sizes; COMPEVAL_REAL_DATA makes the phrases real
    python -m bench.real_size --stages regions aro      # some of the stages, by the start of their names
    python -m bench.real_size --models small            # count the texts that the language models score
    python -m bench.real_size --models full --rows 20 --images 250    # what a text costs

The parameters are those of ``params/paper.yaml``, with the grammar as the captioner. For each stage and size, prints
the wall time, the processor time of all processes, the peak memory of all processes, and the number of texts that
language models scored; then the ratios between the sizes, and the projection to all images of the real files by the
line through both sizes. Time and memory that follow the rows, not the images, have a ratio near 1.

By default, no stage uses a language model. With ``--models``, they use those of bench/stand_in_models.py. The processor
time of ``full`` without that of ``small``, divided by the number of texts, is what a text costs.

The peak is the largest sum, over the stage's processes, of the proportional share of anonymous and shared memory
(``Pss_Anon`` and ``Pss_Shmem`` of /proc/PID/smaps_rollup, sampled twice per second). It does not include files and
libraries, which processes share.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import yaml

from bench.stand_in_models import FULL, SMALL, write_language_models
from bench.synthetic_data.formats import write_corpus, write_gqa, write_visual_genome
from compeval.base.text_only.score_cache import SUFFIX, ScoreCache

ROOT = Path(__file__).parents[1]
SAMPLE_SECONDS = 0.5
SIZES = [150, 600]
CAPTIONS = 20_000
"""Captions of the corpus."""
CACHE = Path("cache")


class Stage(NamedTuple):
    """A command of the pipeline, the stages whose output it reads, and the number of real images that it reads."""

    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...] = ()
    real_images: int = 108_077


STAGES = (
    Stage("annotations", ("compeval.base.readers.annotations", "visual_genome")),
    Stage("annotations_gqa", ("compeval.base.readers.annotations", "gqa"), (), 85_638),
    Stage("parsed_regions", ("compeval.generators.seen_analysis.regions",), ("annotations",)),
    Stage("regions", ("compeval.generators.crepe_regions",), ("parsed_regions",)),
    Stage("seen", ("compeval.generators.seen_analysis.seen", "laion"), ("regions",)),
    Stage("systematicity", ("compeval.generators.crepe_systematicity", "laion"), ("seen",)),
    Stage(
        "systematicity_balanced",
        ("compeval.generators.crepe_systematicity", "laion", "--balanced"),
        ("seen",),
    ),
    Stage("captioned_walks", ("compeval.generators.captioned_walks",), ("parsed_regions",)),
    Stage(
        "captioned_walks_balanced",
        ("compeval.generators.captioned_walks", "--balanced"),
        ("parsed_regions",),
    ),
    Stage("productivity", ("compeval.generators.crepe_productivity",), ("captioned_walks",)),
    Stage(
        "productivity_balanced",
        ("compeval.generators.crepe_productivity", "--balanced"),
        ("captioned_walks_balanced",),
    ),
    Stage("aro", ("compeval.generators.aro",), ("annotations_gqa",), 85_638),
)


class Usage(NamedTuple):
    """Wall time and processor time in seconds, and peak memory in bytes, of a command with all its processes.

    ``texts`` is the number of texts that language models scored.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    texts: int


def measure(command: Sequence[str], folder: Path) -> Usage:
    """Run a command in the folder. Raises ValueError with the end of its output if it fails."""
    log = folder / "log.txt"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    peak = 0
    texts = count_scored_texts(folder)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COMPEVAL_CACHE": str(folder / CACHE)}
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        while process.poll() is None:
            peak = max(peak, read_tree_memory(process.pid))
            with suppress(subprocess.TimeoutExpired):
                process.wait(SAMPLE_SECONDS)
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise ValueError(
            f"{' '.join(command)} failed with code {process.returncode}:\n{log.read_text(encoding='utf-8')[-2000:]}"
        )
    cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Usage(seconds, cpu_seconds, peak, count_scored_texts(folder) - texts)


def count_scored_texts(folder: Path) -> int:
    """Return the number of texts whose scores the cache of the folder has."""
    count = 0
    for path in (folder / CACHE).glob(f"*{SUFFIX}"):
        with closing(sqlite3.connect(path)) as connection:
            (rows,) = connection.execute(f"select count(*) from {ScoreCache.table}").fetchone()
            count += rows
    return count


def read_tree_memory(pid: int) -> int:
    """Return the anonymous and shared memory, in bytes, of a process and its descendants; each page counts once."""
    kilobytes = 0
    with suppress(psutil.NoSuchProcess, OSError):  # a process has ended
        for process in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True)):
            memory = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="utf-8")
            kilobytes += sum(map(int, re.findall(r"Pss_(?:Anon|Shmem): +(\d+)", memory)))
    return 1024 * kilobytes


def write_params(folder: Path, models: Mapping[str, str], rows: int | None) -> None:
    """Write params.yaml of the paper, with the language models by use, and other numbers of rows if they are given."""
    params: dict[str, Any] = yaml.safe_load(
        (ROOT / "params/paper.yaml").read_text(encoding="utf-8")
    )
    params["crepe_systematicity"]["ranker"] = models.get("ranker", "statistics")
    params["captioned_walks"]["captioner"] = {}
    params["crepe_productivity"]["entailment"] = models.get("entailment")
    if rows:
        params["crepe_productivity"]["rows"] = rows
        params["captioned_walks"]["walks"] = rows
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")


def write_models(folder: Path, name: str) -> dict[str, str]:
    """Write the language models ``small`` or ``full`` for the region phrases of the folder; return them by use."""
    if name == "none":
        return {}
    file = folder / "sources/visual_genome/region_descriptions.json"
    images = json.loads(file.read_text(encoding="utf-8"))
    phrases = [region["phrase"] for image in images for region in image["regions"]]
    sizes = {"small": SMALL, "full": FULL}[name]
    return write_language_models(folder / "models", phrases, sizes)


def measure_stages(
    folder: Path, images: int, stages: Sequence[Stage], models: str, rows: int | None
) -> Iterator[tuple[Stage, Usage]]:
    """Write the data and run the stages in order; a stage reads what earlier stages wrote."""
    write_visual_genome(folder / "sources/visual_genome", images)
    write_gqa(folder / "sources/gqa", images, pixels=False)
    write_corpus("laion", folder / "corpora/visual_genome/laion", CAPTIONS)
    (folder / "data").symlink_to(ROOT / "sample")
    write_params(folder, write_models(folder, models), rows)
    needed = list_needed(stages)
    for stage in STAGES:
        if stage.name in needed:
            usage = measure([sys.executable, "-m", *stage.command], folder)
            if stage in stages:
                yield stage, usage


def list_needed(stages: Sequence[Stage]) -> set[str]:
    """Return the names of the stages and of those whose output they read."""
    needed = {stage.name for stage in stages}
    for stage in reversed(STAGES):
        if stage.name in needed:
            needed.update(stage.needs)
    return needed


def print_usage(stage: Stage, images: int, usage: Usage) -> None:
    print(
        f"{stage.name:<24} {images:>8,} images {usage.seconds:>9,.1f} s {usage.cpu_seconds:>9,.1f} CPU s"
        f" {usage.peak_bytes / 1e6:>8,.0f} MB {usage.texts:>9,} texts",
        flush=True,
    )


def print_slopes(stage: Stage, usages: Mapping[int, Usage]) -> None:
    """Print the ratios between the smallest and the largest size, and the projection to the real number of images."""
    small = min(usages)
    large = max(usages)
    ratios = [
        last / first for first, last in zip(usages[small][:3], usages[large][:3], strict=True)
    ]
    seconds, cpu_seconds, peak_bytes, texts = (
        last + (last - first) / (large - small) * (stage.real_images - large)
        for first, last in zip(usages[small], usages[large], strict=True)
    )
    print(
        f"{stage.name:<24} {large / small:>7.1f} x images {ratios[0]:>8.2f} x {ratios[1]:>11.2f} x {ratios[2]:>9.2f} x"
        f"   all {stage.real_images:,} images: {seconds / 3600:,.2f} h, {cpu_seconds / 3600:,.2f} CPU h, "
        f"{peak_bytes / 1e9:,.1f} GB, {texts:,.0f} texts"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, nargs="+", default=SIZES, help="numbers of images")
    parser.add_argument("--stages", nargs="+", default=[""], help="starts of the names of stages")
    parser.add_argument("--models", choices=("none", "small", "full"), default="none")
    parser.add_argument(
        "--rows", type=int, help="rows and walks of each complexity; default: those of the paper"
    )
    parser.add_argument("--folder", type=Path, help="a new folder that keeps the files")
    arguments = parser.parse_args()
    stages = [stage for stage in STAGES if stage.name.startswith(tuple(arguments.stages))]
    usages: dict[Stage, dict[int, Usage]] = {stage: {} for stage in stages}
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.folder or Path(scratch)
        for images in sorted(arguments.images):
            (folder / str(images)).mkdir(parents=True)
            measured = measure_stages(
                folder / str(images), images, stages, arguments.models, arguments.rows
            )
            for stage, usage in measured:
                usages[stage][images] = usage
                print_usage(stage, images, usage)
    if len(arguments.images) > 1:
        for stage in stages:
            print_slopes(stage, usages[stage])


if __name__ == "__main__":
    main()
