"""Zero-shot classification: the class whose mean prompt feature is nearest to the image.

Source: Radford et al. 2021 (CLIP), section 3.1.4, with open_clip's 80 templates and its classifier (mean of unit
features over the templates, scaled to unit length). Differs in the tie rule.
Shapes: N images, C classes, P prompts per class. Chance of top1: 1 / C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from evaluators.protocols.base import Directions, Sample, SetProtocol
from evaluators.protocols.ranking import Ranks, concatenate, ranks, to_metrics

IMAGES_PER_BLOCK = 1024


def prompts(class_names: Sequence[str]) -> list[list[str]]:
    """80 prompts per class."""
    from open_clip import OPENAI_IMAGENET_TEMPLATES

    return [[template(name) for template in OPENAI_IMAGENET_TEMPLATES] for name in class_names]


def class_prompts(schema: pa.Schema) -> list[list[str]]:
    """80 prompts for each name in the label column's ``ClassLabel``. ValueError if the file has no names."""
    from datasets import Features

    names = getattr(Features.from_arrow_schema(schema)["label"], "names", None)
    if not names:
        raise ValueError(
            "The label column does not name its classes: write it with generators.storage.dataset.write_split."
        )
    return prompts(names)


def classifier(feature_CPD: np.ndarray) -> np.ndarray:
    """Unit-length class features (C, D) float64 of the prompts' unit-length features."""
    mean_CD = feature_CPD.astype(np.float64).mean(axis=1)
    return mean_CD / np.linalg.norm(mean_CD, axis=1, keepdims=True)


def classify(score_NC: np.ndarray, label_N: np.ndarray) -> tuple[Ranks, np.ndarray]:
    """Rank of each image's own class among all classes, and the predicted class (int32); of a tie, the wrong one."""
    own_NC = np.arange(score_NC.shape[1]) == label_N[:, None]
    found = ranks(score_NC[own_NC], score_NC, ~own_NC)
    best_wrong_N = np.where(own_NC, -np.inf, score_NC).argmax(axis=1)
    return found, np.where(found.rank_N == 1, label_N, best_wrong_N).astype(np.int32)


def evaluate(sample: Sample) -> Directions:
    """top1, top5 (of more than five classes) and the predicted classes."""
    class_CD = classifier(sample.text(sample.class_CP.ravel()).reshape(*sample.class_CP.shape, -1))
    blocks = []
    for start in range(0, len(sample.crop_NI), IMAGES_PER_BLOCK):
        block = slice(start, start + IMAGES_PER_BLOCK)
        image_ND = sample.image(sample.crop_NI[block, 0]).astype(np.float64)
        blocks.append(classify((image_ND @ class_CD.T).astype(np.float32), sample.label_N[block]))
    metrics = to_metrics(concatenate([found for found, _ in blocks]))
    names = {"recall@1": "top1", "recall@5": "top5", "tie_rate": "tie_rate"}
    return {
        "": replace(
            metrics,
            main="top1",
            columns={**metrics.columns, "predicted": np.concatenate([predicted_N for _, predicted_N in blocks])},
            values={new: metrics.values[old] for old, new in names.items() if old in metrics.values},
            chance={new: metrics.chance[old] for old, new in names.items() if old in metrics.chance},
            medians={},
        )
    }


PROTOCOLS = (SetProtocol("classification", (), label="label", classes=class_prompts, evaluate=evaluate),)
