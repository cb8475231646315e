"""Candidate pairs of photographs are found in bounded memory."""

from random import Random

import pytest

from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import Box, SceneGraph, SceneObject
from compeval.generators.hard_negatives import photograph_pairs
from compeval.generators.hard_negatives.photograph_pairs import (
    Candidate,
    ContextSample,
    find_candidates,
)

NOUNS = ("cat", "dog", "cup", "car", "man", "tree", "box", "hat")
COLOURS = ("red", "blue", "green")


def make_images(count: int) -> list[AnnotatedImage]:
    """Return images of five random objects, each with a colour and a place."""
    rng = Random(0)
    return [
        AnnotatedImage(
            str(number),
            100,
            100,
            SceneGraph(
                tuple(
                    SceneObject(
                        str(n), noun, (rng.choice(COLOURS),), Box(rng.randrange(90), 0, 9, 9)
                    )
                    for n, noun in enumerate(rng.choices(NOUNS, k=5))
                ),
                (),
            ),
        )
        for number in range(count)
    ]


def group(pairs: list[Candidate]) -> dict[str, list[Candidate]]:
    return {
        kind: [pair for pair in pairs if pair.kind == kind]
        for kind in sorted({pair.kind for pair in pairs})
    }


@pytest.mark.parametrize("limit", [40, 200])
def test_with_less_memory_the_first_pairs_are_the_same(
    monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    everything = group(find_candidates(make_images(60), 10, 1))
    assert [len(pairs) for pairs in everything.values()] == [8, 8, 10]
    sizes: list[int] = []
    add = ContextSample.add

    def record(self: ContextSample, *arguments: object) -> None:
        add(self, *arguments)  # pyright: ignore
        sizes.append(sum(len(images) for _, words in self for images in words.values()))

    monkeypatch.setattr(photograph_pairs, "MAX_CAPTIONS", limit)
    monkeypatch.setattr(ContextSample, "add", record)
    bounded = group(find_candidates(make_images(60), 10, 1))
    assert max(sizes) <= limit
    assert bounded
    for kind, pairs in bounded.items():
        assert pairs == everything[kind][: len(pairs)]


def test_no_image_is_in_two_pairs_of_a_type_and_no_context_either() -> None:
    for pairs in group(find_candidates(make_images(200), 50, 3)).values():
        images = [image for pair in pairs for image in (pair.image_0, pair.image_1)]
        assert len(set(images)) == len(images)
        assert all(pair.caption_0 != pair.caption_1 for pair in pairs)


def test_another_seed_gives_other_pairs() -> None:
    images = make_images(60)
    assert (
        find_candidates(images, 2, 0)
        == find_candidates(images, 2, 0)
        != find_candidates(images, 2, 1)
    )
