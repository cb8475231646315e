"""Tests of the validity stage on two small scenes."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from compeval.evaluators.validity.genuine_share import (
    COLUMNS,
    compute_share,
    judge,
    measure_foil_words,
    read_texts,
    read_truth,
    summarise,
)
from tests.rows import toy_dataset


def make_scene(image_id: int, *objects: tuple[str, str]) -> dict[str, Any]:
    """Return a scene (JSON form of truth.jsonl) of plain, medium-sized objects, given as (colour, noun)."""
    return {
        "image_id": image_id,
        "width": 640,
        "height": 480,
        "background": "studio",
        "things": [
            {
                "id": f"t{index}",
                "noun": noun,
                "color": color,
                "pattern": "plain",
                "size": "medium",
                "box": [100 * index, 0, 50, 50],
                "depth": 0,
            }
            for index, (color, noun) in enumerate(objects)
        ],
        "relations": [],
    }


SCENES = {
    "1": make_scene(1, ("red", "ball")),
    "2": make_scene(2, ("red", "ball"), ("blue", "ball")),
}


def make_texts(*texts: tuple[str, str, str]) -> pd.DataFrame:
    """Return a table of texts, given as (image id, text, kind)."""
    return pd.DataFrame([(*text, "test", "a red ball") for text in texts], columns=COLUMNS)


def test_shares_and_failures():
    judged = judge(
        make_texts(
            ("1", "a red ball", "truth"),
            ("2", "a red ball", "truth"),
            ("1", "a green ball", "truth"),  # not true
            ("1", "a blue ball", "hnatom"),  # genuine
            ("2", "a blue ball", "hnatom"),  # true of scene 2, so not genuine
            ("1", "ball the on", "hnatom"),  # unreadable: a failure
            ("1", "a red kite", "hnatom"),  # genuine
        ),
        SCENES,
    )
    assert compute_share(judged[judged["kind"] == "truth"]) == 2 / 3
    failures = list(judged["failure"])
    assert failures[:2] + failures[3:4] + failures[6:] == [""] * 4
    assert (failures[2], failures[4]) == ("false", "true of the scene")
    assert failures[5].startswith("Cannot read")
    numbers = summarise(judged, {1.0: judged}, {"words": 1})
    assert numbers["genuine"] == [{"type": "hnatom", "recall": 1.0, "genuine": 0.5, "captions": 4}]
    assert numbers["built"] == [{"type": "hnatom", "split": "test", "captions": 4, "genuine": 0.5}]
    assert numbers["true_by_recall"] == {"1.0": 2 / 3}
    assert numbers["slipped"]["hnatom"][0] == {
        "image_id": "2",
        "text": "a blue ball",
        "of": "a red ball",
        "why": "true of the scene",
    }
    assert len(numbers["slipped"]["hnatom"]) == 2
    assert json.loads(json.dumps(numbers)) == numbers


def test_texts_are_distinct(tmp_path: Path):
    toy_dataset(tmp_path, rows=2)
    texts = read_texts(tmp_path / "crepe")
    assert texts[["image_id", "text", "kind"]].to_numpy().tolist() == [
        ["0", "blue ball", "hnatom"],
        ["0", "red ball", "truth"],
        ["0", "red kite", "hnatom"],
        ["1", "blue ball", "hnatom"],
        ["1", "red ball", "truth"],
        ["1", "red kite", "hnatom"],
    ]


def test_shares_of_foil_words_that_are_drawable_and_in_a_corpus():
    texts = make_texts(
        *(("1", text, "hnatom") for text in ("a blue ball", "a red zeppelin", "a red kite"))
    )
    words = measure_foil_words(texts, {"a": {"blue", "kite", "zeppelin"}, "b": {"blue"}})
    assert words["words"] == 3
    assert words["drawable"] == 2 / 3  # a zeppelin cannot be drawn
    assert words["by_corpus"] == {"a": 2 / 3, "b": 1 / 3}
    assert words["drawable_and_seen"] == 1 / 3


def test_missing_truth_raises_an_error(tmp_path: Path):
    (tmp_path / "truth.jsonl").write_text(
        "".join(json.dumps(item) + "\n" for item in SCENES.values()), encoding="utf-8"
    )
    assert read_truth(tmp_path / "truth.jsonl") == SCENES
    with pytest.raises(FileNotFoundError, match="only the micro-world has them"):
        read_truth(tmp_path / "nowhere.jsonl")


def test_shares_without_texts_are_none():
    judged = judge(make_texts(), SCENES)
    assert compute_share(judged) is None
    words = measure_foil_words(make_texts(("1", "a red ball", "prod_hnswap")), {"a": {"red"}})
    assert words == {
        "words": 0,
        "drawable": None,
        "drawable_and_seen": None,
        "by_corpus": {"a": None},
    }
    assert summarise(judged, {0.5: judged}, words)["true_by_recall"] == {"0.5": None}
