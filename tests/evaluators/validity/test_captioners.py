"""Captions of a variant against those of the default captioner, on hand-made sets."""

from pathlib import Path

import pytest

from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA
from compeval.base.storage.dataset import write_config
from compeval.base.text_only.ngram import NgramModel
from compeval.evaluators.validity.captioners import compare_captioners
from tests.rows import hard_negative_row


def test_a_variant_is_compared_with_the_default_at_its_complexities(tmp_path: Path) -> None:
    def make_row(image_id: int, caption: str, captioner: str) -> dict:
        row = hard_negative_row(tmp_path, image_id)
        return row | {
            "caption": caption,
            "provenance": row["provenance"] | {"captioner": captioner},
        }

    default = [make_row(number, "a red ball", "grammar") for number in range(2)]
    variant = [make_row(0, "the ball red", "model"), make_row(1, "a red ball", "model")]
    raw = {config: [{name: row[name] for name in RAW_SCHEMA.names} for row in rows] for config, rows in
           (("prod_raw", default), ("prod_llm_raw", variant))}  # fmt: skip
    folder = tmp_path / "crepe"
    write_config(folder, "prod_raw", {"n4": raw["prod_raw"], "n5": raw["prod_raw"]}, RAW_SCHEMA)
    write_config(folder, "prod_hnatom", {"n5": default[:1]}, HARD_NEGATIVE_SCHEMA)
    write_config(folder, "prod_hnatom_balanced", {"n5": default}, HARD_NEGATIVE_SCHEMA)
    write_config(folder, "prod_llm_raw", {"n5": raw["prod_llm_raw"]}, RAW_SCHEMA)
    write_config(folder, "prod_llm_hnatom", {"n5": variant[:1]}, HARD_NEGATIVE_SCHEMA)
    texts = ("a red ball", "the ball red")
    verdicts = {(image, text, True): text == "a red ball" for image in "01" for text in texts}
    verdicts |= {("0", "blue ball", False): True, ("0", "red kite", False): False}
    funnels = {
        "Productivity llm, n5: dropped": {
            "caption: omits a relation": 2,
            "caption: no cached answer": 40,
            "small": 3,
        },
        "Productivity, n4: dropped": {"caption: omits a relation": 9},
    }
    ours, grammar = compare_captioners(
        folder, verdicts, funnels, NgramModel.of(["a red ball"] * 5, 3)
    )
    fluency = ours.pop("log_probability"), grammar.pop("log_probability")
    assert fluency[0] < fluency[1] < 0
    common = {"complexities": [5], "captions": 2, "negatives": 2, "genuine": 0.5}
    assert ours == common | {"variant": "llm", "captioner": "model", "kept": 0.5, "true": 0.5}
    assert grammar == common | {"variant": "", "captioner": "grammar", "kept": 1, "true": 1}


def test_without_a_variant_nothing_is_compared(tmp_path: Path) -> None:
    row = hard_negative_row(tmp_path, 0)
    write_config(tmp_path / "crepe", "prod_hnatom", {"n5": [row]}, HARD_NEGATIVE_SCHEMA)
    verdicts = {
        ("0", text, text == "red ball"): True for text in ("red ball", "blue ball", "red kite")
    }
    assert compare_captioners(tmp_path / "crepe", verdicts, {}, NgramModel.of(["a"], 3)) == []
    with pytest.raises(KeyError):
        compare_captioners(tmp_path / "crepe", {}, {}, NgramModel.of(["a"], 3))
