"""BLA: which two of four sentences are true of the image? Active and passive, coordination, relative clauses.

    active_passive_captions.json   -> config active_passive
    coordination_captions.json     -> config coordination
    relative_clause_captions.json  -> config relative_clause; chance 1/6

Source: Chen et al. 2023 (arXiv:2310.15061), https://github.com/shin-ee-chen/BLA. Both true sentences have to score
above both false ones. The authors count sentences: a true one is right if it is among the two with the highest scores,
a false one if it is not (``authors_accuracy``, chance 1/2). As in their code, the first group of sentences of an image
is read.

The format is that of their scripts (evaluation_models/clip/test_clip_bla.py and dataset/demo at 812685b), whose outputs
have 20 rows of the files. The files themselves, on Dropbox, were not read.
"""

from pathlib import PurePosixPath
from typing import Any

import numpy as np

from compeval.loaders.published import (
    PARAPHRASE_SCHEMA,
    VISUAL_GENOME,
    AuthorsRule,
    Benchmark,
    DataSource,
    RemoteFile,
    Row,
)

CONFIGS = ("active_passive", "coordination", "relative_clause")


def make_row(item: dict[str, Any], file: str) -> Row:
    group = item["caption_group"][0]
    return Row(
        PurePosixPath(file).stem.removesuffix("_captions"),
        (f"{item['image_id']}.jpg",),
        (group["True1"], group["True2"]),
        (group["False1"], group["False2"]),
    )


def count_sentences(score_NIT: np.ndarray) -> dict[str, np.ndarray]:
    """Return whether each of the four sentences is on the right side (N, 4). A tie across the sides is wrong."""
    score_NT = score_NIT[:, 0]
    is_true_T = np.arange(score_NT.shape[1]) < 2
    above_NTT = score_NT[:, None, :] >= score_NT[:, :, None]  # or equal, and so the worst rank
    worst_NT = above_NTT.sum(axis=2)
    best_NT = (score_NT[:, None, :] > score_NT[:, :, None]).sum(axis=2) + 1
    return {"": np.where(is_true_T, worst_NT <= 2, best_NT > 2)}


BENCHMARK = Benchmark(
    description="Which two of four sentences with the same words are true of the image?",
    year=2023,
    licence_id="mit",
    source=DataSource(
        title="BLA",
        homepage="https://github.com/shin-ee-chen/BLA",
        licence="MIT; images CC BY 4.0 (Visual Genome)",
        citation="Chen et al. 2023, The BLA Benchmark, EMNLP, arXiv:2310.15061",
        files=(
            RemoteFile(
                url="https://www.dropbox.com/scl/fi/kocjr2gk3hf667r53p10a/BLA_benchmark.zip?rlkey=dxi37fvx3bxhgrgr5ps9pp851&dl=1",
                makes="BLA_Benchmark",
            ),
        ),
    ),
    images=dict.fromkeys((f"{config}_captions.json" for config in CONFIGS), VISUAL_GENOME),
    make_row=make_row,
    fields=("image_id", "caption_group"),
    schema=PARAPHRASE_SCHEMA,
    chance={"*": 1 / 6},
    authors={
        "*": AuthorsRule(
            "Each of the four sentences counts alone: true ones among the two best.",
            count_sentences,
            {"": 1 / 2},
        )
    },
    rows={"active_passive": 613, "coordination": 654, "relative_clause": 672},
    image_count=1939,
)
