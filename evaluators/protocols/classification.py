"""Zero-shot classification: the class whose mean prompt feature is nearest to the image.

Source: Radford et al. 2021 (CLIP), section 3.1.4, with open_clip's 80 templates and its way of building the classifier
(mean of unit features over the templates, brought to unit length). Differs in the tie rule.
Shapes: N images, C classes, P prompts of a class. Chance of top1: 1 / C.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pyarrow as pa

from evaluators.protocols.base import Directions, Sample, SetProtocol
from evaluators.protocols.ranking import Ranks, answers, ranks

_BLOCK = 1024


@lru_cache(maxsize=8)
def _prompts(classes: tuple[str, ...]) -> list[list[str]]:
    from open_clip import OPENAI_IMAGENET_TEMPLATES

    return [[template(name) for template in OPENAI_IMAGENET_TEMPLATES] for name in classes]


def class_names(schema: pa.Schema) -> list[str]:
    """The names in the label column's ``ClassLabel``. ValueError if the file has none."""
    metadata = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
    names = metadata.get("info", {}).get("features", {}).get("label", {}).get("names")
    if not names:
        raise ValueError(
            "The label column does not name its classes: write it with generators.storage.dataset.write_split."
        )
    return names


def class_prompts(schema: pa.Schema) -> list[list[str]]:
    """80 prompts of each class."""
    return _prompts(tuple(class_names(schema)))


def classifier(feature_CPD: np.ndarray) -> np.ndarray:
    """Unit-length class features (C, D) float64 of the prompts' unit-length features."""
    mean_CD = feature_CPD.astype(np.float64).mean(axis=1)
    return mean_CD / np.linalg.norm(mean_CD, axis=1, keepdims=True)


def classify(score_NC: np.ndarray, label_N: np.ndarray) -> Ranks:
    """Rank of each image's own class among all classes."""
    truth_N = score_NC[np.arange(len(score_NC)), label_N]
    return ranks(truth_N, score_NC, np.arange(score_NC.shape[1])[None] != label_N[:, None])


def judge(sample: Sample) -> Directions:
    """top1, top5 (more than five classes) and the predicted class; of equal best scores a wrong class is predicted."""
    class_CD = classifier(sample.text(sample.class_CP.ravel()).reshape(*sample.class_CP.shape, -1))
    parts, predicted = [], []
    for start in range(0, len(sample.crop_NI), _BLOCK):
        image_ND = sample.image(sample.crop_NI[start : start + _BLOCK, 0])
        label_N = sample.label_N[start : start + _BLOCK]
        score_NC = (image_ND.astype(np.float64) @ class_CD.T).astype(np.float32)
        parts.append(classify(score_NC, label_N))
        score_NC[np.arange(len(label_N)), label_N] = np.nextafter(
            score_NC[np.arange(len(label_N)), label_N], np.float32(-np.inf)
        )
        predicted.append(score_NC.argmax(axis=1).astype(np.int32))
    found = answers(Ranks(*map(np.concatenate, zip(*parts, strict=True))))
    names = {"recall@1": "top1", "recall@5": "top5", "tie_rate": "tie_rate"}
    return {
        "": replace(
            found,
            main="top1",
            columns=dict(found.columns) | {"predicted": np.concatenate(predicted)},
            values={new: found.values[old] for old, new in names.items() if old in found.values},
            chance={new: found.chance[old] for old, new in names.items() if old in found.chance},
            medians={},
        )
    }


PROTOCOLS = (SetProtocol("classification", (), label="label", classes=class_prompts, answers=judge),)
