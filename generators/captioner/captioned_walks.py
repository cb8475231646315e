"""Captioned random walks: from the images of a source to subgraphs of n atoms, each with a crop and a caption."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from generators.captioner.captioner import Captioner, EditableCaption, NoCaption, Request
from generators.captioner.realiser import can_express_predicate
from generators.graphs.walks import Walk, sample_walks, select_describable
from generators.schemas.annotated_image import AnnotatedImage
from generators.seen_analysis.splits import find_crop_fault


@dataclass(frozen=True)
class WalkSettings:
    """The parameters of graphs/walks.py."""

    seed: int
    walks_per_image: int
    """Maximum number of walks per image and complexity."""
    attempts: int
    """Maximum number of attempts per image and complexity."""
    visible: float


class KeyedWalk(NamedTuple):
    """A walk with its key: a hash of seed, image and subgraph.

    The key decides the order of walks and all random draws.
    """

    key: str
    image_id: str
    walk: Walk


class CaptionedWalk(NamedTuple):
    key: str
    image_id: str
    walk: Walk
    caption: EditableCaption


def sample_keyed_walks(
    images: Iterable[AnnotatedImage], complexity: int, settings: WalkSettings, dropped: Counter[str]
) -> list[KeyedWalk]:
    """Return all walks of one complexity, sorted by key. ``dropped`` counts failed attempts by reason."""
    keyed = []
    for image in images:
        for walk in sample_walks(
            select_describable(image.graph, can_express_predicate),
            complexity,
            key=f"{settings.seed}:{image.image_id}",
            visible=settings.visible,
            attempts=settings.attempts,
            limit=settings.walks_per_image,
            fault=lambda box, image=image: find_crop_fault(box, image.width, image.height),
            dropped=dropped,
        ):
            content = f"{settings.seed}:{image.image_id}:{json.dumps(walk.graph.to_row(), sort_keys=True)}"
            keyed.append(KeyedWalk(hashlib.sha256(content.encode()).hexdigest(), image.image_id, walk))
    return sorted(keyed, key=lambda item: item.key)


def caption_walks(walks: list[KeyedWalk], captioner: Captioner, dropped: Counter[str]) -> list[CaptionedWalk]:
    """Return the walks that get a caption. ``dropped`` counts the other walks by reason."""
    captions = captioner.captions(Request(walk.graph, key) for key, _, walk in walks)
    results = []
    for walk, caption in zip(walks, captions, strict=True):
        if isinstance(caption, NoCaption):
            dropped[f"caption: {caption.reason}"] += 1
        else:
            results.append(CaptionedWalk(*walk, caption))
    return results
