from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.controlledimcaps import TYPES, Settings, make_pairs, write


@given(kind=st.sampled_from(sorted(TYPES)), seed=st.integers())
def test_the_captions_of_a_pair_differ_in_exactly_one_word(kind: str, seed: int):
    first, second = TYPES[kind](Random(seed))
    words, others = first.caption.split(), second.caption.split()
    assert len(words) == len(others)
    assert sum(word != other for word, other in zip(words, others, strict=True)) == 1


@given(kind=st.sampled_from(sorted(TYPES)), seed=st.integers())
def test_the_pictures_of_a_pair_differ_in_what_the_captions_say_alone(kind: str, seed: int):
    first, second = TYPES[kind](Random(seed))
    for thing, other in zip(first.things, second.things, strict=True):
        same = {
            "color": thing.color == other.color,
            "pattern": thing.pattern == other.pattern,
            "noun": thing.noun == other.noun,
            "place": thing.box.x == pytest.approx(other.box.x),
            "height": thing.box.height == pytest.approx(other.box.height),
        }
        differing = {"adjective": "color", "temporal": "noun"}.get(kind, "place")
        allowed = {differing} | ({"place", "height"} if kind == "temporal" else set())
        assert differing in {name for name, equal in same.items() if not equal} <= allowed


@given(seed=st.integers())
def test_left_is_left_and_right_is_right(seed: int):
    for half in TYPES["spatial_1"](Random(seed)):
        (thing,) = half.things
        center = thing.box.x + thing.box.width / 2
        assert half.caption.endswith("left" if center < 72 else "right")
    for half in TYPES["spatial_2"](Random(seed)):
        first, second = half.things
        assert first.noun in half.caption.split(" to the ")[0]
        assert (" left of " in half.caption) == (first.box.x + first.box.width <= second.box.x)
        assert (" right of " in half.caption) == (second.box.x + second.box.width <= first.box.x)


def test_things_stay_in_the_picture():
    for make in TYPES.values():
        for seed in range(100):
            for half in make(Random(seed)):
                for thing in half.things:
                    assert thing.box.x >= 0
                    assert thing.box.y >= 0
                    assert thing.box.x + thing.box.width <= 144


def test_pairs_are_distinct_and_end_where_there_are_no_more():
    found = list(make_pairs(TYPES["temporal"], 1000, Random(0)))
    assert len(found) == 32  # 8 colours x 4 patterns


def test_rows_repeat_byte_for_byte(tmp_path: Path):
    for name in ("a", "b"):
        write(tmp_path / name, Settings(0, 2))
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.parquet"))
    assert [path.parent.name for path in files] == sorted(TYPES)
    for path in files:
        assert (tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes()
        rows = pq.read_table(tmp_path / "a" / path).to_pylist()
        assert len(rows) == 2
        assert all(row["crop_id_0"] != row["crop_id_1"] for row in rows)
