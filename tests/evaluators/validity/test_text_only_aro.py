"""Text-only baselines on ARO's sets."""

import json
from pathlib import Path

import pytest

from compeval.base.files.hashes import hash_file
from compeval.base.schemas.rows import CHOICE_SCHEMA
from compeval.base.storage.dataset import write_config
from compeval.evaluators.validity import text_only_aro
from compeval.evaluators.validity.text_only import render_page
from compeval.evaluators.validity.text_only_aro import read_config


def make_row(number: int) -> dict:
    provenance = {"source": "microworld", "captioner": None, "seed": 0}
    return {
        "image": {"bytes": None, "path": None},
        "crop_id": str(number),
        "image_id": str(number // 2),
        **dict.fromkeys(("x", "y", "width", "height"), 1.0),
        "caption": f"caption {number}",
        "hard_negatives": [f"{number} caption"],
        "categories": [],
        "provenance": provenance,
    }


def test_only_the_first_seed_of_the_order_sets_is_read(tmp_path: Path) -> None:
    write_config(
        tmp_path,
        "coco_order",
        {"test.s0": [make_row(0), make_row(1), make_row(1)], "test.s1": [make_row(2)]},
        CHOICE_SCHEMA,
    )
    sets = read_config(tmp_path, "coco_order")
    assert sets.captions == [("caption 0", "0 caption"), ("caption 1", "1 caption")]
    assert sets.images == ["0", "0"]


def test_page_names_the_baseline_that_is_farthest_above_or_below_chance() -> None:
    def make(**recalls: float) -> dict:
        return {
            name: {"recall@1": recall, "interval": [recall - 0.1, recall + 0.1]}
            for name, recall in recalls.items()
        }

    result = {
        "rows": 1234,
        "chance": 0.5,
        "held_out": make(tersest=0.7, form=0.2),
        "random_scorers": 0.5,
    }
    result |= {"comparing": make(learned=0.9), "refining": make(words=0.4, bigrams=0.3)}
    result |= {"by_design": None, "chat": None}
    text = render_page("ARO", Path("a.json"), {"vg_relation": result})
    held_out, others = "20.0% (form) | 10.0% to 30.0%", "50.0% | 90.0% (learned) | 30.0% (bigrams)"
    assert f"| vg_relation | 1,234 | 50.0% | {held_out} | {others} |" in text


def test_released_files_are_measured_without_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    rows = [
        {"image_id": "1", "bbox_x": 0, "bbox_y": 0, "bbox_w": 9, "bbox_h": 9, "relation_name": "on"}
        | {
            "true_caption": f"the {name} is on the table",
            "false_caption": f"the table is on the {name}",
        }
        | {"image_path": "1.jpg"}
        for name in ("cup", "cup", "hat")
    ]
    released = tmp_path / "visual_genome_relation.json"
    released.write_text(json.dumps(rows), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(
        "{text_only: {model: null}, text_only_aro: {rows: 9, chat: {}}}", encoding="utf-8"
    )
    text_only_aro.main([released])
    (config,) = results = json.loads(
        Path("text_only_aro_published.json").read_text(encoding="utf-8")
    )
    assert config == "vg_relation"
    assert (results[config]["rows"], results[config]["images"]) == (2, 1), "one row is twice there"
    assert results[config]["files"] == {released.name: hash_file(released)}
    assert "ARO as published" in Path("text_only_aro_published.md").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"other\.json: expected visual_genome_relation\.json"):
        text_only_aro.main([tmp_path / "other.json"])
