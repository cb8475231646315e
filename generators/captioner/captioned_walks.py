"""Captioned walks: a subgraph of an image's scene graph with n atoms, its crop, and its captions."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from compeval.base.pipeline.params import OURS, PAPER
from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import Box, Mention, SceneGraph
from compeval.generators.captioner.captioner import (
    GRAMMAR,
    TEMPLATE,
    EditableCaption,
    GrammarCaption,
    TemplateCaption,
)
from compeval.generators.captioner.parsed_caption import ParsedCaption
from compeval.generators.captioner.realiser import can_express_predicate
from compeval.generators.graphs.facts import ImageFacts
from compeval.generators.graphs.uniform_walks import draw_uniform_walk, select_annotated
from compeval.generators.graphs.walks import (
    Walk,
    is_redundant,
    random_walk,
    sample_walks,
    select_describable,
)
from compeval.generators.seen_analysis.splits import find_crop_fault


@dataclass(frozen=True)
class WalkSettings:
    """The parameters of graphs/walks.py."""

    seed: int
    attempts: int
    """Maximum number of attempts per image, condition and complexity."""
    visible: float
    rules: str = field(default=OURS, kw_only=True)
    """A key of WALK_RULES."""


class WalkRules(NamedTuple):
    """Rules for drawing walks: select a part of the graph, draw a walk from it, and reject redundant objects."""

    select: Callable[[SceneGraph], SceneGraph]
    draw: Callable[[SceneGraph, int, Random], SceneGraph | None]
    repeats_object: Callable[[SceneGraph], bool]


@dataclass(frozen=True)
class WalkCondition:
    """A condition on walks, and the reason for which other walks are dropped.

    The name is part of the key of the random draws: conditions with different names have different walks.
    """

    name: str
    reason: str
    accepts: Callable[[SceneGraph, ImageFacts], bool] | None = None
    """Condition on a walk; None to accept every walk."""
    effort: int = 1
    """Factor of ``WalkSettings.attempts``."""
    surplus: int = 1
    """Factor of the number of walks: captions with such hard negatives may be rare."""


ANY_WALK = WalkCondition("", "")


class KeyedWalk(NamedTuple):
    """A walk with its key: a hash of seed, image and subgraph.

    The key decides all random draws.
    """

    key: str
    image_id: str
    walk: Walk

    def to_row(self, captions: Mapping[str, EditableCaption]) -> dict[str, Any]:
        """Return a row of WALK_SCHEMA; ``captions`` are the captions by the name of the variant."""
        graph = self.walk.graph
        return {
            "key": self.key,
            "image_id": self.image_id,
            "complexity": graph.complexity,
            **self.walk.box._asdict(),
            "scene_graph": graph.to_row(),
            "captions": [
                {
                    "name": name,
                    "captioner": caption.captioner,
                    "text": caption.text,
                    "mentions": [mention.to_row() for mention in caption.mentions],
                }
                for name, caption in captions.items()
            ],
        }


class CaptionedWalk(NamedTuple):
    key: str
    image_id: str
    walk: Walk
    caption: EditableCaption

    @classmethod
    def from_row(cls, row: Mapping[str, Any], name: str) -> CaptionedWalk | None:
        """Return the walk of a row of WALK_SCHEMA with its caption of a variant, or None if it has none."""
        caption = next((caption for caption in row["captions"] if caption["name"] == name), None)
        if caption is None:
            return None
        graph = SceneGraph.from_row(row["scene_graph"])
        box = Box(*(row[side] for side in Box._fields))
        return cls(
            row["key"],
            row["image_id"],
            Walk(graph, box),
            _restore_caption(graph, row["key"], caption),
        )


def _restore_caption(graph: SceneGraph, seed: str, row: Mapping[str, Any]) -> EditableCaption:
    """Return the caption of an item of the column ``captions`` of WALK_SCHEMA; ``seed`` selected its wording."""
    fields = (
        graph,
        row["text"],
        tuple(Mention(**mention) for mention in row["mentions"]),
        row["captioner"],
    )
    if row["captioner"] == GRAMMAR:
        return GrammarCaption(*fields, seed)
    return (TemplateCaption if row["captioner"] == TEMPLATE else ParsedCaption)(*fields)


def order_images(image_ids: Iterable[str], seed: int) -> list[str]:
    """Return the images in a random order in which an additional image does not change the order of the others."""
    return sorted(
        image_ids, key=lambda image_id: hashlib.sha256(f"{seed}:{image_id}".encode()).digest()
    )


def sample_keyed_walk(
    image: AnnotatedImage,
    complexity: int,
    settings: WalkSettings,
    condition: WalkCondition = ANY_WALK,
    facts: ImageFacts | None = None,
    number: int = 0,
    dropped: Counter[str] | None = None,
) -> KeyedWalk | None:
    """Return the walk of an image with a number, or None if the image has fewer walks of this complexity.

    All walks satisfy the ``condition``, which is checked with the ``facts`` of the image. ``dropped`` counts the failed
    attempts at this walk by reason, not those at earlier walks.
    """
    attempts = Counter[str]()
    rules = WALK_RULES[settings.rules]
    walks = sample_walks(
        rules.select(image.graph),
        complexity,
        key=":".join(filter(None, (str(settings.seed), image.image_id, condition.name))),
        visible=settings.visible,
        attempts=settings.attempts * condition.effort,
        limit=number + 1,
        # Small subgraphs are drawn again and again.
        fault=cache(partial(_find_fault, image, condition, facts)),
        dropped=attempts,
        draw=rules.draw,
        repeats_object=rules.repeats_object,
    )
    if len(list(islice(walks, number))) < number:
        return None
    attempts.clear()
    walk = next(walks, None)
    if dropped is not None:
        dropped.update(attempts)
    if walk is None:
        return None
    content = f"{settings.seed}:{image.image_id}:{json.dumps(walk.graph.to_row(), sort_keys=True)}"
    return KeyedWalk(hashlib.sha256(content.encode()).hexdigest(), image.image_id, walk)


@lru_cache(maxsize=1)
def _select_describable(graph: SceneGraph) -> SceneGraph:
    """Return the describable part of an image's graph, which its walks of all complexities share."""
    return select_describable(graph, can_express_predicate)


WALK_RULES = {
    OURS: WalkRules(_select_describable, random_walk, is_redundant),
    PAPER: WalkRules(
        lru_cache(maxsize=1)(select_annotated), draw_uniform_walk, lambda graph: False
    ),
}


def _find_fault(
    image: AnnotatedImage, condition: WalkCondition, facts: ImageFacts | None, walk: Walk
) -> str | None:
    if reason := find_crop_fault(walk.box, image.width, image.height):
        return reason
    if condition.accepts is None:
        return None
    assert facts is not None
    return None if condition.accepts(walk.graph, facts) else condition.reason
