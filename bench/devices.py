"""Compare the scores of a GPU with those of the CPU: ``python -m bench.devices [--device cuda]``.

Models: the trained tiny CLIP of ``compeval demo`` on its sample of CREPE; random models of each family of transformers
(dual encoders, matching heads, generative models) on 40 rows. The reference is the CPU in fp32. Prints for fp32 and
bf16 on the device: the largest difference of two scores, and the rows whose rank differs. Ties count as wrong.

Then encodes a batch that does not fit into the device's memory, which the engine divides, and compares the features.
Without a GPU, the script runs on the CPU, only to test that it works.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
import torch
from PIL import Image

from compeval.demo import FOLDER, write_model
from compeval.evaluators.engine.compute import retry_with_smaller_batches
from compeval.evaluators.engine.tasks import discover
from compeval.evaluators.models import Precision, resolve
from compeval.evaluators.protocols.choice import rank_truth
from compeval.evaluators.run import run
from tests.evaluators import tiny
from tests.evaluators.tiny_transformers import write_model as write_transformers
from tests.evaluators.tiny_vlms import FAMILIES, num2words_installed, write_vlm

NUM_ROWS = 40
MEMORY = 2**30
"""Bytes of the device that the batch that does not fit may take."""
BATCH = 2**15


def write_models(folder: Path) -> Iterator[tuple[str, Path]]:
    """Write the models. Yields the spec of each, and the folder of its data."""
    write_model(folder / "clip")
    yield f"local:{folder / 'clip'}", FOLDER
    rows = tiny.write_varied_rows(folder / "rows", NUM_ROWS)
    torch.manual_seed(0)
    for family in ("clip", "metaclip_2", "siglip2", "blip-2"):
        yield f"transformers:{write_transformers(family, folder / family)}", rows
    yield f"transformers:{folder / 'blip-2'}@itm", rows
    for family in FAMILIES:
        yield f"vlm:{write_vlm(family, folder / f'{family}-vlm')}", rows


def read_all_scores(
    spec: str, data: Path, device: str, precision: Precision
) -> tuple[list[np.ndarray], Sequence[str]]:
    """Return the scores (N, K) of each task, and the warnings of the model."""
    tasks = discover(data)
    with (
        tempfile.TemporaryDirectory() as output,
        mock.patch.dict(os.environ, COMPEVAL_CACHE=f"{output}/cache"),
    ):
        model = resolve(spec, device, precision)
        run(model, tasks, data_dir=data, output=Path(output), device=device)
        tables = [pq.read_table(next(Path(output).rglob(f"{task.name}.parquet"))) for task in tasks]
        return [
            np.stack(table["scores"].to_numpy()).astype(np.float32) for table in tables
        ], model.warnings


def compare(expected: Sequence[np.ndarray], actual: Sequence[np.ndarray]) -> str:
    """Describe the largest difference of two scores, and how many rows have another rank."""
    difference = max(
        float(np.abs(one - other).max()) for one, other in zip(expected, actual, strict=True)
    )
    pairs = [
        [rank_truth(score_NK).rank_N for score_NK in scores]
        for scores in zip(expected, actual, strict=True)
    ]
    ranks = sum(int((one_N != other_N).sum()) for one_N, other_N in pairs)
    return f"{difference:.1e} | {ranks} of {sum(map(len, expected)):,}"


def encode_what_does_not_fit(folder: Path, device: str) -> str:
    """Encode a batch for which PyTorch may not take enough memory, and describe the largest difference of a feature."""
    encoder: Any = resolve(f"local:{folder}", device, "fp32").encoder
    colors = [
        encoder.preprocess(Image.new("RGB", (64, 64), (number, 0, 255 - number)))
        for number in range(256)
    ]
    sizes: list[int] = []

    def encode(batch_size: int) -> np.ndarray:
        sizes.append(batch_size)
        return encoder.encode_images(colors * (BATCH // 256), batch_size)

    total = torch.cuda.get_device_properties(device).total_memory
    torch.cuda.set_per_process_memory_fraction(MEMORY / total)
    feature_ND = retry_with_smaller_batches(encode, BATCH)
    torch.cuda.set_per_process_memory_fraction(1.0)
    difference = np.abs(
        feature_ND.reshape(BATCH // 256, 256, -1) - encoder.encode_images(colors, 256)
    ).max()
    return f"{BATCH:,} images, {MEMORY / 2**30:.0f} GiB: batches of {' > '.join(map(str, sizes))}; {difference:.1e}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--device",
        default="cuda" if torch.cuda.is_available() else "cpu",
        help="cuda, cuda:1 or cpu",
    )
    device = parser.parse_args().device
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else "CPU, a test"
    print(f"{name}, torch {torch.__version__}, against the CPU in fp32\n")
    print("| model | largest difference, fp32 | other ranks | bf16 | other ranks | warnings |")
    print("| --- | ---: | ---: | ---: | ---: | --- |", flush=True)
    with tempfile.TemporaryDirectory() as scratch, num2words_installed():
        for spec, data in write_models(Path(scratch)):
            expected, _ = read_all_scores(spec, data, "cpu", "fp32")
            exact, warnings = read_all_scores(spec, data, device, "fp32")
            rough, more_warnings = read_all_scores(spec, data, device, "bf16")
            columns = [
                compare(expected, exact),
                compare(expected, rough),
                "; ".join([*warnings, *more_warnings]),
            ]
            print(f"| {spec.replace(scratch + '/', '')} | {' | '.join(columns)} |", flush=True)
        if device.startswith("cuda"):
            print(f"\n{encode_what_does_not_fit(Path(scratch) / 'clip', device)}")


if __name__ == "__main__":
    main()
