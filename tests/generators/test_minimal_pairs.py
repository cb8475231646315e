"""Each caption of a minimal pair is true of one image only, by the oracle, which shares no code with the generator."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from compeval.evaluators.validity.oracle import is_true
from compeval.generators.microworld.scenes.minimal_pairs import SAMPLERS
from compeval.generators.minimal_pairs import MinimalPairsSettings, make_pairs, write

NAMES = ("noun", "color", "pattern", "state", "size")


@pytest.mark.parametrize("config", SAMPLERS)
def test_each_caption_is_true_of_one_image_only(config: str):
    pairs = list(make_pairs(config, MinimalPairsSettings(0, 60)))
    assert len(pairs) == 60
    for pair in pairs:
        captions, scenes = [item.caption for item in pair], [item.scene.to_json() for item in pair]
        assert [[is_true(caption, scene) for scene in scenes] for caption in captions] == [
            [True, False],
            [False, True],
        ]


@pytest.mark.parametrize("config", ["object", "attribute", "binding"])
def test_only_one_thing_changes(config: str):
    for first, second in make_pairs(config, MinimalPairsSettings(1, 30)):
        assert (first.scene.background, first.scene.light) == (
            second.scene.background,
            second.scene.light,
        )
        changed = [
            {
                name
                for name in ("noun", "color", "pattern", "state", "size")
                if getattr(one, name) != getattr(other, name)
            }
            for one, other in zip(first.scene.objects, second.scene.objects, strict=True)
        ]
        if config == "binding":
            assert changed == [{"color"}, {"color"}]
        elif config == "object":
            assert changed[0] - {"state"} == {"noun"}
            assert not changed[1]
        else:
            assert len(changed[0]) == 1
            assert not changed[1]


def test_relations_include_wearing_riding_and_pulling():
    text = " ".join(
        item.caption
        for pair in make_pairs("relation", MinimalPairsSettings(0, 150))
        for item in pair
    )
    assert all(
        word in text
        for word in ("wearing", "riding", "pulling", "pushing", "next to", "pouring into")
    )


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path):
    for name in ("a", "b"):
        write(tmp_path / name, MinimalPairsSettings(0, 2))
    for config in SAMPLERS:
        (first,), (second,) = (
            list((tmp_path / name / config).glob("*.parquet")) for name in ("a", "b")
        )
        assert first.read_bytes() == second.read_bytes()
        assert pq.read_table(first).num_rows == 2
