"""The loop of the papers' scripts in plain open_clip, one row at a time, and its agreement with the engine."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import open_clip
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from PIL import Image

from compeval.evaluators.engine.tasks import Task

NetworkParts = tuple[Any, Any, Any]
"""Network, image transform and tokenizer of open_clip."""
MIN_MARGIN = 1e-5
"""Difference between two scores above which rounding cannot change their order."""


class Agreement(NamedTuple):
    """Agreement between the ranks of the engine and of the loop on the rows of a task."""

    rows: int
    different: list[int]
    """Rows whose ranks differ, without the close rows."""
    close: list[int]
    """Rows in which a negative scores within 1e-5 of the truth."""

    def __str__(self) -> str:
        num_clear = self.rows - len(self.close)
        return (
            f"ranks equal on {num_clear - len(self.different):,} of {num_clear:,} clear rows; different: "
            f"{self.different}; closer than 1e-5: {self.close}"
        )


@torch.inference_mode()
def score_row_by_row(
    model: Any,
    preprocess: Any,
    tokenizer: Any,
    rows: Iterable[Mapping[str, Any]],
    device: str = "cpu",
) -> np.ndarray:
    """Return scores (N, K), computed one row at a time. The truth is candidate 0."""
    scores = []
    for row in rows:
        image_1D = model.encode_image(preprocess(read_crop(row))[None].to(device), normalize=True)
        text_KD = model.encode_text(
            tokenizer([row["caption"], *row["hard_negatives"]]).to(device), normalize=True
        )
        scores.append((image_1D @ text_KD.T)[0].float().cpu().numpy())
    return np.stack(scores)


def read_crop(row: Mapping[str, Any]) -> Image.Image:
    """Return the crop that is stored in a row or named by it, or cut it from the image file."""
    if "image" in row:
        stored = row["image"]["bytes"]
        return Image.open(io.BytesIO(stored) if stored else row["image"]["path"]).convert("RGB")
    corners = row["x"], row["y"], row["x"] + row["width"], row["y"] + row["height"]
    return Image.open(row["image_path"]).convert("RGB").crop(corners)  # Pillow rounds the corners


def read_rows(path: Path, count: int | None = None) -> list[dict[str, Any]]:
    """Read the first ``count`` rows of a dataset's parquet file, with the columns that the loop needs.

    The paths of stored crops, which start at the data folder, become absolute.
    """
    columns = (
        "image",
        "image_path",
        "crop_id",
        "x",
        "y",
        "width",
        "height",
        "caption",
        "hard_negatives",
    )
    table = pq.read_table(
        path, columns=[name for name in columns if name in pq.read_schema(path).names]
    )
    rows = table.slice(0, count).to_pylist()
    data_dir = path.absolute().parents[2]
    for row in rows:
        if "image" in row:
            row["image"]["path"] = data_dir / (row["image"]["path"] or "")
    return rows


def compare_ranks(reference_NK: np.ndarray, rank_N: np.ndarray) -> Agreement:
    """Compare the engine's ranks with the ranks by the scores of the loop."""
    expected_N = 1 + (reference_NK[:, 1:] >= reference_NK[:, :1]).sum(axis=1)
    close_N = np.abs(reference_NK[:, 1:] - reference_NK[:, :1]).min(axis=1) <= MIN_MARGIN
    different_N = ~close_N & (expected_N != rank_N)
    return Agreement(
        len(rank_N), np.flatnonzero(different_N).tolist(), np.flatnonzero(close_N).tolist()
    )


def read_ranks(output: Path, task: Task) -> np.ndarray:
    """Read the ranks that a run wrote for one task."""
    return _read_examples(output, task)["rank"].to_numpy()


def read_scores(output: Path, task: Task) -> np.ndarray:
    """Read the scores (N, K) that a run wrote for one task."""
    return np.stack(_read_examples(output, task)["scores"].to_numpy())


def _read_examples(output: Path, task: Task) -> pa.Table:
    (path,) = output.rglob(f"{task.name}.parquet")
    return pq.read_table(path)


def make_random_model(name: str, device: str = "cpu", precision: str = "fp32") -> NetworkParts:
    """Return an architecture with fixed random weights."""
    torch.manual_seed(0)
    network, _, preprocess = open_clip.create_model_and_transforms(
        name, device=device, precision=precision
    )
    return network.eval(), preprocess, open_clip.get_tokenizer(name)
