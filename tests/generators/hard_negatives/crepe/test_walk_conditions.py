"""The conditions on walks, on graphs of three objects whose boxes decide what is false."""

from collections import Counter
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject
from compeval.generators.captioner.captioned_walks import (
    WalkCondition,
    WalkSettings,
    sample_keyed_walk,
)
from compeval.generators.graphs.assignments import SearchLimitError
from compeval.generators.graphs.facts import ImageFacts, collect_facts
from compeval.generators.hard_negatives.crepe import walk_conditions
from compeval.generators.hard_negatives.crepe.walk_conditions import (
    FALSE_ORDERS,
    FALSE_SWAPS,
    has_false_orbit,
    has_false_swaps,
)

HAT_ON_MAN = SceneGraph(
    (
        SceneObject("1", "hat", (), Box(0, 0, 90, 50)),
        SceneObject("2", "man", (), Box(0, 40, 90, 200)),
        SceneObject("3", "dog", (), Box(200, 100, 90, 90)),
    ),
    (Relation("1", "on", "2"),),
)
IN_A_ROW = SceneGraph(
    (
        SceneObject("1", "cup", (), Box(0, 0, 90, 90)),
        SceneObject("2", "box", (), Box(110, 0, 90, 90)),
        SceneObject("3", "lamp", (), Box(220, 0, 90, 90)),
    ),
    (Relation("1", "left of", "2"), Relation("2", "left of", "3")),
)


@pytest.mark.parametrize(
    ("graph", "swaps", "orbit"),
    [
        # No other two of them touch, but everybody knows what a hat is on.
        (
            HAT_ON_MAN,
            True,
            False,
        ),
        (IN_A_ROW, False, True),  # three pairs can be swapped
        # The box is, too.
        (
            replace(IN_A_ROW, relations=(Relation("1", "left of", "3"),)),
            False,
            False,
        ),
        (replace(IN_A_ROW, relations=()), False, False),  # all orders are the same
    ],
)
def test_short_walks_with_false_swaps(graph: SceneGraph, swaps: bool, orbit: bool) -> None:
    facts = collect_facts(graph)
    assert has_false_swaps(graph, facts) is swaps
    assert has_false_orbit(graph, facts) is orbit


def sample(
    image: AnnotatedImage, condition: WalkCondition
) -> tuple[SceneGraph | None, Counter[str]]:
    settings, dropped = WalkSettings(seed=0, attempts=40, visible=0.1), Counter[str]()
    facts = collect_facts(image.facts())
    walk = sample_keyed_walk(image, 4, settings, condition, facts, dropped=dropped)
    return (walk.walk.graph if walk else None), dropped


def test_walks_are_repeated_until_they_satisfy_the_condition() -> None:
    """Walks of four atoms are two objects with an attribute, or all three objects with a relation."""
    objects = tuple(replace(item, attributes=("red",)) for item in HAT_ON_MAN.objects)
    image = AnnotatedImage("1", 300, 250, replace(HAT_ON_MAN, objects=objects))
    graph, dropped = sample(image, FALSE_SWAPS)
    assert graph is not None
    assert (len(graph.objects), len(graph.relations)) == (3, 1)
    assert dropped[FALSE_SWAPS.reason] > 0
    graph, dropped = sample(image, FALSE_ORDERS)
    assert graph is None
    assert dropped.total() == 40 * FALSE_ORDERS.effort


def test_a_condition_is_checked_once_for_each_subgraph() -> None:
    checked: list[SceneGraph] = []
    objects = tuple(replace(item, attributes=("red",)) for item in HAT_ON_MAN.objects)
    image = AnnotatedImage("1", 300, 250, replace(HAT_ON_MAN, objects=objects))
    _, dropped = sample(
        image, WalkCondition("none", "refused", lambda graph, facts: bool(checked.append(graph)))
    )
    assert dropped["refused"] > len(checked) == len(set(checked)) > 1


class Verdicts(ImageFacts):
    """Facts whose verdict on the graph number n is ``verdicts[n]``; None: the proof is given up."""

    def __init__(self, verdicts: list[bool | None]) -> None:
        self.verdicts = verdicts

    def is_false(self, statement: Any) -> bool:
        if self.verdicts[statement] is None:
            raise SearchLimitError
        return bool(self.verdicts[statement])


@given(st.lists(st.sampled_from([True, True, False, None]), max_size=12))
def test_the_search_ends_as_if_all_edits_were_judged_in_order(verdicts: list[bool | None]) -> None:
    before_error = verdicts[: verdicts.index(None)] if None in verdicts else verdicts
    is_found = sum(map(bool, before_error)) >= 5
    edits = [(n, None) for n in range(len(verdicts))]
    with mock.patch.object(walk_conditions, "make_swaps", return_value=edits):
        assert has_false_swaps(HAT_ON_MAN, Verdicts(verdicts)) is is_found
