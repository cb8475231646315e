"""The validity stage on two hand-made scenes and sets."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluators.validity.genuine_share import Claim, claims, foil_words, judge, new_words, read_truth, summary
from tests.rows import toy_dataset


def scene(image_id: int, *things: tuple[str, str]) -> dict[str, Any]:
    """A scene of plain, medium things side by side, as truth.jsonl has it."""
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
            for index, (color, noun) in enumerate(things)
        ],
        "relations": [],
    }


SCENES = {"1": scene(1, ("red", "ball")), "2": scene(2, ("red", "ball"), ("blue", "ball"))}


def claim(image_id: str, text: str, kind: str = "hnatom") -> Claim:
    return Claim(image_id, text, kind, "test", "a red ball")


def test_shares_by_hand():
    found = [
        claim("1", "a red ball", "truth"),
        claim("2", "a red ball", "truth"),
        claim("1", "a green ball", "truth"),  # not true
        claim("1", "a blue ball"),  # genuine
        claim("2", "a blue ball"),  # true of scene 2: no hard negative
        claim("1", "ball the on"),  # unreadable: a failure
        claim("1", "a red kite"),  # genuine
    ]
    verdicts = judge(found, SCENES)
    assert verdicts.share("truth") == 2 / 3
    assert verdicts.share("hnatom") == 2 / 4
    assert verdicts.kinds == ["hnatom"]
    reasons = {item.text: reason for item, reason in verdicts.wrong}
    assert reasons["a blue ball"] == "true of the scene"
    assert reasons["a green ball"] == "false"
    assert reasons["ball the on"].startswith("Cannot read")
    shown = summary(verdicts, {1.0: verdicts}, {"words": 1})
    assert shown["genuine"] == [{"type": "hnatom", "recall": 1.0, "genuine": 0.5, "captions": 4}]
    assert len(shown["slipped"]["hnatom"]) == 2


def test_claims_are_the_distinct_texts_of_every_set(tmp_path: Path):
    toy_dataset(tmp_path, rows=2)
    found = claims(tmp_path / "crepe")
    assert [(item.image_id, item.text, item.kind) for item in found] == [
        ("0", "blue ball", "hnatom"),
        ("0", "red ball", "truth"),
        ("0", "red kite", "hnatom"),
        ("1", "blue ball", "hnatom"),
        ("1", "red ball", "truth"),
        ("1", "red kite", "hnatom"),
    ]


def test_foil_words_that_are_drawn_and_seen():
    found = [claim("1", "a blue ball"), claim("1", "a red zeppelin"), claim("1", "a red kite")]
    assert new_words(found[1]) == {"zeppelin"}
    words = foil_words(found, {"a": {"blue", "kite", "zeppelin"}, "b": {"blue"}})
    assert words["words"] == 3
    assert words["drawable"] == 2 / 3  # no zeppelin can be drawn
    assert words["by_corpus"] == {"a": 2 / 3, "b": 1 / 3}
    assert words["drawable_and_seen"] == 1 / 3


def test_truth_is_read_by_image_id_and_its_absence_named(tmp_path: Path):
    (tmp_path / "truth.jsonl").write_text("".join(json.dumps(item) + "\n" for item in SCENES.values()))
    assert read_truth(tmp_path / "truth.jsonl") == SCENES
    with pytest.raises(FileNotFoundError, match="only the micro-world has them"):
        read_truth(tmp_path / "nowhere.jsonl")


def test_of_no_claim_there_is_no_share():
    verdicts = judge([], SCENES)
    assert verdicts.share("truth") is None
    words = foil_words([claim("1", "a red ball", "prod_hnswap")], {"a": {"red"}})
    assert words == {"words": 0, "drawable": None, "drawable_and_seen": None, "by_corpus": {"a": None}}
    assert summary(verdicts, {0.5: verdicts}, words)["true_by_recall"] == {"0.5": None}
