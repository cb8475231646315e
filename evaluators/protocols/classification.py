"""Zero-shot classification: predict the class whose mean prompt feature is most similar to the image feature.

Source: Radford et al. 2021 (CLIP), section 3.1.4, with open_clip's 80 templates, or with the prompts that the file
contains (Kumar et al. 2024, appendix A.2: example captions). The class feature is the mean of
the unit features of its prompts, scaled to unit length. Difference from the paper: the tie rule (ranking.py).

Shapes: N images, C classes, P prompts per class. Chance of top1: 1 / C.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from compeval.evaluators.protocols.base import Directions, Sample, SetProtocol
from compeval.evaluators.protocols.ranking import Ranks, compute_ranks, concatenate, to_metrics

IMAGES_PER_BLOCK = 1024


def make_prompts(class_names: Sequence[str]) -> list[list[str]]:
    """Return 80 prompts per class."""
    from open_clip import OPENAI_IMAGENET_TEMPLATES

    return [[template(name) for template in OPENAI_IMAGENET_TEMPLATES] for name in class_names]


def make_class_prompts(schema: pa.Schema) -> list[list[str]]:
    """Return the prompts of each class in the file, or else 80 prompts per class name of the label column.

    Raises ValueError if the file has neither.
    """
    from datasets import Features

    if prompts := (schema.field("label").metadata or {}).get(b"prompts"):
        return json.loads(prompts)
    names = getattr(Features.from_arrow_schema(schema)["label"], "names", None)
    if not names:
        raise ValueError(
            "The label column has no class names. Write the file with compeval.base.storage.dataset.write_split."
        )
    return make_prompts(names)


def make_classifier(feature_CPD: np.ndarray) -> np.ndarray:
    """Return unit-length class features (C, D) float64, given unit-length prompt features (C, P, D)."""
    mean_CD = feature_CPD.astype(np.float64).mean(axis=1)
    return mean_CD / np.linalg.norm(mean_CD, axis=1, keepdims=True)


def classify(score_NC: np.ndarray, label_N: np.ndarray) -> tuple[Ranks, np.ndarray]:
    """Return the rank of each image's true class, and its predicted class (int32). A tie predicts a wrong class."""
    is_true_NC = np.arange(score_NC.shape[1]) == label_N[:, None]
    ranks = compute_ranks(score_NC[is_true_NC], score_NC, ~is_true_NC)
    best_wrong_N = np.where(is_true_NC, -np.inf, score_NC).argmax(axis=1)
    return ranks, np.where(ranks.rank_N == 1, label_N, best_wrong_N).astype(np.int32)


def evaluate(sample: Sample) -> Directions:
    """Compute top1, top5 (if there are more than five classes) and the predicted classes."""
    class_CD = make_classifier(
        sample.text(sample.class_CP.ravel()).reshape(*sample.class_CP.shape, -1)
    )
    blocks = []
    for start in range(0, len(sample.crop_NI), IMAGES_PER_BLOCK):
        block = slice(start, start + IMAGES_PER_BLOCK)
        image_ND = sample.image(sample.crop_NI[block, 0]).astype(np.float64)
        blocks.append(classify((image_ND @ class_CD.T).astype(np.float32), sample.label_N[block]))
    metrics = to_metrics(concatenate([ranks for ranks, _ in blocks]))
    names = {"recall@1": "top1", "recall@5": "top5", "tie_rate": "tie_rate"}
    return {
        "": replace(
            metrics,
            main="top1",
            columns={
                **metrics.columns,
                "predicted": np.concatenate([predicted_N for _, predicted_N in blocks]),
            },
            values={
                new: metrics.values[old] for old, new in names.items() if old in metrics.values
            },
            chance={
                new: metrics.chance[old] for old, new in names.items() if old in metrics.chance
            },
            medians={},
        )
    }


PROTOCOLS = (
    SetProtocol("classification", (), label="label", classes=make_class_prompts, evaluate=evaluate),
)
