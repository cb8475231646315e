"""Mine hard negatives: negative captions for each caption, and nearest neighbours of each image.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C: up to five negative captions, made by
exchanging two parts of the caption (generators/hard_negatives/negclip), and the three nearest images by CLIP features.
Captions without a negative are dropped, and then images without a caption. Neighbours are searched among the remaining
images only, because every neighbour adds a caption with a negative to the batch.

Negatives and features are computed in chunks, each of which is one file that is written atomically, so that an
interrupted mining resumes. COCO's 567,000 captions have about two million negatives, which are kept as an Arrow array:
as Python objects, they would need gigabytes.

Shapes: I images, C captions, K neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor

from compeval.base.files.atomic import atomic_file
from compeval.base.pipeline.params import OURS
from compeval.base.pipeline.workers import map_in_processes
from compeval.base.storage import parquet
from compeval.generators.hard_negatives.negclip.negatives import Negative, make_negatives
from compeval.trainers.negclip.image_text import CaptionedImages, ImageLocation

NEIGHBOURS = 3
CAPTIONS_PER_CHUNK = 10_000
"""Number of captions whose negatives are one file."""
IMAGES_PER_CHUNK = 4096
"""Number of images whose features are one file."""
NUM_SPARE = 8
"""Number of additional candidates for neighbours, in case single-precision rounding changes their order."""
SCORES_PER_BLOCK = 100_000_000
"""Maximum number of scores in memory (400 MB)."""
NEGATIVES = pa.list_(pa.struct([("text", pa.string()), ("kind", pa.string())]))
"""Type of the negatives of a caption. ``kind``: the part of speech of the exchanged words."""
Embed = Callable[[Sequence[ImageLocation]], Tensor]
"""Function that returns the unit features (I, D) of images."""


@dataclass(frozen=True)
class MinedData:
    """Captioned images whose captions all have negatives. ``neighbour_IK`` holds image indices."""

    data: CaptionedImages
    negatives: pa.ChunkedArray
    """An element of the type NEGATIVES per caption."""
    neighbour_IK: np.ndarray

    @cached_property
    def num_negatives(self) -> np.ndarray:
        """Numbers of negatives of the captions (C,)."""
        return count_negatives(self.negatives)


def to_array(negatives: Iterable[Iterable[Negative]]) -> pa.Array:
    """Convert the negatives of each caption to the type NEGATIVES."""
    return pa.array([[negative._asdict() for negative in items] for items in negatives], NEGATIVES)


def count_negatives(negatives: pa.ChunkedArray) -> np.ndarray:
    return np.concatenate([np.diff(chunk.offsets) for chunk in negatives.chunks])


def mine(
    data: CaptionedImages,
    embed: Embed,
    model: str,
    folder: Path,
    workers: int,
    report: Callable,
    rules: str = OURS,
    keep_all: bool = False,
) -> MinedData:
    """Mine hard negatives. What an interrupted mining of the same data and model wrote to ``folder`` is read, unless
    the files of the images have changed since.

    ``model`` is the fingerprint of the model behind ``embed``; ``workers`` is the number of processes that read
    captions. With ``keep_all``, captions without a negative stay, for a training without hard negatives. Calls
    ``report(title, done, total)`` after each chunk. Raises ValueError if no caption has a negative or too few images
    remain for K neighbours.
    """
    folder = folder / data.digest
    texts = folder / ("negatives" if rules == OURS else f"negatives-{rules}")
    negatives = mine_negatives(data.captions, texts, workers, report, rules)
    has_negative_C = (count_negatives(negatives) > 0) | keep_all
    if not has_negative_C.any():
        raise ValueError(
            f"None of {len(negatives):,} captions has two parts that can be exchanged, so there are no negatives."
        )
    selected = data.with_captions(has_negative_C)
    features = folder / f"{model}-{selected.digest}-{data.file_states}"
    neighbour_IK = _mine_neighbours(selected.locations, embed, features, report)
    return MinedData(selected, negatives.filter(pa.array(has_negative_C)), neighbour_IK)


def mine_negatives(
    captions: Sequence[str], folder: Path, workers: int, report: Callable, rules: str = OURS
) -> pa.ChunkedArray:
    """Return the negatives of all captions. Chunks that are in ``folder`` already are read.

    Large data is mined by ``workers`` processes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, len(captions), CAPTIONS_PER_CHUNK)
    chunks = [
        (folder / f"{start:09d}.parquet", captions[start : start + CAPTIONS_PER_CHUNK])
        for start in starts
    ]
    missing = [chunk for chunk in chunks if not chunk[0].exists()]
    done = len(captions) - sum(len(texts) for _, texts in missing)
    write = partial(_write_negatives, rules=rules)
    for count in map_in_processes(_no_state, write, missing, max(1, min(workers, len(missing)))):
        done += count
        report("captions", done, len(captions))
    return pa.concat_tables([parquet.read_table(path) for path, _ in chunks])["negatives"]


def _no_state() -> None:
    """The parser is loaded on first use, once per process."""


def _write_negatives(_: None, chunk: tuple[Path, Sequence[str]], *, rules: str) -> int:
    """Write the negatives of a chunk of captions to its file, and return the number of captions."""
    path, captions = chunk
    table = pa.table({"negatives": to_array(make_negatives(captions, rules))})
    with atomic_file(path) as partial_file:
        pq.write_table(table, partial_file, compression="zstd")
    return len(captions)


def _mine_neighbours(
    locations: Sequence[ImageLocation], embed: Embed, folder: Path, report: Callable
) -> np.ndarray:
    """Return the indices (I, K) of each image's nearest images. Files in ``folder`` are read instead of computed."""
    folder.mkdir(parents=True, exist_ok=True)
    result = folder / "neighbours.npy"
    if not result.exists():
        parts = []
        for start in range(0, len(locations), IMAGES_PER_CHUNK):
            path = folder / f"{start:09d}.npy"
            chunk = locations[start : start + IMAGES_PER_CHUNK]
            if not path.exists():
                _save_array(path, embed(chunk).float().cpu().numpy())
            parts.append(torch.from_numpy(np.load(path)))
            report("images", start + len(chunk), len(locations))
        _save_array(result, find_nearest(torch.cat(parts), NEIGHBOURS).numpy())
    return np.load(result)


def _save_array(path: Path, array: np.ndarray) -> None:
    with atomic_file(path) as partial, partial.open("wb") as file:
        np.save(file, array)


def find_nearest(feature_ND: Tensor, k: int = NEIGHBOURS) -> Tensor:
    """Return the indices (N, k), int64, of the k most similar other rows, the most similar first.

    ``feature_ND``: float32, unit length. The search is exact: single-precision scores select k + NUM_SPARE candidates,
    and double-precision scores rank the candidates. Ties are ranked by index. Raises ValueError if there are fewer than
    k other rows.
    """
    count = len(feature_ND)
    if count <= k:
        raise ValueError(
            f"{count} images are too few for {k} neighbours each; at least {k + 1} are needed."
        )

    def search(query_Q: Tensor) -> Tensor:
        score_QN = feature_ND[query_Q] @ feature_ND.T
        score_QN[torch.arange(len(query_Q)), query_Q] = -torch.inf
        # Candidates are sorted by index, so that the stable sort by score below ranks ties by index.
        candidate_QC = score_QN.topk(min(k + NUM_SPARE, count - 1)).indices.sort().values
        exact_QC = torch.einsum(
            "qd,qcd->qc", feature_ND[query_Q].double(), feature_ND[candidate_QC].double()
        )
        return candidate_QC.gather(1, exact_QC.argsort(descending=True, stable=True)[:, :k])

    # Results that were kept block by block would lie between the large blocks of memory and keep it from being reused.
    neighbour_NK = torch.empty((count, k), dtype=torch.int64)
    for query_Q in torch.arange(count).split(max(1, SCORES_PER_BLOCK // count)):
        neighbour_NK[query_Q] = search(query_Q)
    return neighbour_NK


class Batch(NamedTuple):
    """Indices of N captions and their images, and for each caption the index of one of its negatives (None: unused)."""

    image_N: np.ndarray
    caption_N: np.ndarray
    negative_N: np.ndarray | None


def make_batches(
    mined: MinedData,
    batch_size: int,
    seed: int,
    epoch: int,
    *,
    use_hard_negatives: bool,
    counts_neighbours: bool = False,
) -> list[Batch]:
    """Return the batches of an epoch. Each caption occurs at most once; an incomplete last batch is dropped.

    With hard negatives, a batch of N captions has 2N rows: the N captions and one caption of a sampled neighbour image
    for each of them. With ``counts_neighbours``, N counts both: a batch has N rows, of which half are neighbours. The
    paper's N = 1,024 can mean either. Every row gets one negative of its caption (section 4; appendix C). The order of
    the captions is the same with and without hard negatives.
    """
    if use_hard_negatives and counts_neighbours:
        batch_size //= 2
    order_C = np.random.default_rng([seed, epoch]).permutation(len(mined.data.captions))
    rng = np.random.default_rng([seed, epoch, 1])
    starts = range(0, len(order_C) - batch_size + 1, batch_size)
    start_I, count_I = mined.data.find_caption_ranges()

    def make_batch(caption_N: np.ndarray) -> Batch:
        image_N = mined.data.image_C[caption_N]
        if not use_hard_negatives:
            return Batch(image_N, caption_N, None)
        neighbour_N = mined.neighbour_IK[image_N, rng.integers(NEIGHBOURS, size=len(image_N))]
        caption_N = np.concatenate(
            (caption_N, start_I[neighbour_N] + rng.integers(count_I[neighbour_N]))
        )
        negative_N = rng.integers(mined.num_negatives[caption_N])
        return Batch(np.concatenate((image_N, neighbour_N)), caption_N, negative_N)

    return [make_batch(order_C[start : start + batch_size]) for start in starts]


def get_texts(mined: MinedData, batch: Batch) -> tuple[list[str], list[str]]:
    """Return the captions and the negative captions of a batch."""
    true = [mined.data.captions[caption] for caption in batch.caption_N]
    if batch.negative_N is None:
        return true, []
    pairs = zip(batch.caption_N.tolist(), batch.negative_N.tolist(), strict=True)
    return true, [mined.negatives[caption][negative]["text"].as_py() for caption, negative in pairs]
