from pathlib import Path
from random import Random

import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from compeval.generators.controlledimcaps import TYPES, ControlledImCapsSettings, make_pairs, write
from tests.close import is_close


@given(config=st.sampled_from(sorted(TYPES)), seed=st.integers())
def test_the_captions_of_a_pair_differ_in_exactly_one_word(config: str, seed: int):
    first, second = TYPES[config](Random(seed))
    first_words, second_words = first.caption.split(), second.caption.split()
    assert len(first_words) == len(second_words)
    assert sum(word != other for word, other in zip(first_words, second_words, strict=True)) == 1


@given(config=st.sampled_from(sorted(TYPES)), seed=st.integers())
def test_the_images_of_a_pair_differ_only_in_what_the_captions_say(config: str, seed: int):
    first, second = TYPES[config](Random(seed))
    for item, other in zip(first.objects, second.objects, strict=True):
        same = {
            "color": item.color == other.color,
            "pattern": item.pattern == other.pattern,
            "noun": item.noun == other.noun,
            "x": is_close(item.box.x, other.box.x),
            "height": is_close(item.box.height, other.box.height),
        }
        differing = {"adjective": "color", "temporal": "noun"}.get(config, "x")
        allowed = {differing} | ({"x", "height"} if config == "temporal" else set())
        assert differing in {name for name, equal in same.items() if not equal} <= allowed


@given(seed=st.integers())
def test_spatial_captions_are_true(seed: int):
    for captioned in TYPES["spatial_1"](Random(seed)):
        (item,) = captioned.objects
        center = item.box.x + item.box.width / 2
        assert captioned.caption.endswith("left" if center < 72 else "right")
    for captioned in TYPES["spatial_2"](Random(seed)):
        first, second = captioned.objects
        assert first.noun in captioned.caption.split(" to the ")[0]
        assert (" left of " in captioned.caption) == (first.box.x + first.box.width <= second.box.x)
        assert (" right of " in captioned.caption) == (
            second.box.x + second.box.width <= first.box.x
        )


def test_objects_are_inside_the_image():
    for make_pair in TYPES.values():
        for seed in range(100):
            for captioned in make_pair(Random(seed)):
                for item in captioned.objects:
                    assert item.box.x >= 0
                    assert item.box.y >= 0
                    assert item.box.x + item.box.width <= 144


def test_pairs_are_distinct_and_end_when_none_is_left():
    pairs = list(make_pairs(TYPES["temporal"], 1000, Random(0)))
    assert len(pairs) == 32  # 8 colours x 4 patterns


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path):
    for name in ("a", "b"):
        write(tmp_path / name, ControlledImCapsSettings(0, 2))
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.parquet"))
    assert [path.parent.name for path in files] == sorted(TYPES)
    for path in files:
        assert (tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes()
        rows = pq.read_table(tmp_path / "a" / path).to_pylist()
        assert len(rows) == 2
        assert all(row["crop_id_0"] != row["crop_id_1"] for row in rows)
