"""The written documents were valid for every-eval-ever 0.3.0's own validator, which runs here where it is installed."""

import json
from pathlib import Path
from typing import Any

import pytest

from compeval.evaluators.results import documents, every_eval_ever, hub
from tests.close import assert_close
from tests.evaluators.written import write_hits

REAL = {"synthetic": False, "source": "coco", "chance": 0.5}


def write(root: Path, model: str, task: str, **changes: Any) -> None:
    write_hits(root, model, task, 36, 40, **REAL | changes)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    write(tmp_path / "r", "ViT-B-32/openai", "sugarcrepe/swap_obj")
    write(tmp_path / "r", "ViT-B-32/openai", "mine/test/test")
    write(tmp_path / "r", "hf-hub:org/clip", "sugarcrepe/swap_obj", intervals={"recall@1": None})
    write(tmp_path / "r", "toy", "crepe/prod_hnatom/n4", synthetic=True)
    documents.write_side_file(tmp_path / "r" / "ViT-B-32--openai", "cpu", 1.0, {})
    return tmp_path / "r"


def test_documents_of_every_eval_ever(results: Path):
    """One document per model. Its share, interval, rows and source of the data are those of the result."""
    files = every_eval_ever.make_files(
        hub.read_complete([results]), "me/results", {"mine": "me/mine"}
    )
    folders = [str(Path(name).parent) for name in files]
    assert folders == [
        "data/compeval/open_clip/ViT-B-32--openai",
        "data/compeval/org/clip",
    ]
    first, second = (json.loads(content) for content in files.values())
    mine, swap = first["evaluation_results"]
    assert (swap["evaluation_name"], swap["score_details"]["score"]) == ("sugarcrepe/swap_obj", 0.9)
    interval = swap["score_details"]["uncertainty"]["confidence_interval"]
    assert_close([interval["lower"], interval["upper"]], [0.8, 1.0])
    assert swap["score_details"]["uncertainty"]["num_samples"] == 40
    assert swap["source_data"]["url"] == ["https://github.com/RAIVNLab/sugar-crepe"]
    assert mine["source_data"]["hf_repo"] == "me/mine"
    assert int(first["retrieved_timestamp"]) > 1_700_000_000
    assert (second["retrieved_timestamp"], second["model_info"]["developer"]) == ("0", "org")
    assert (
        "confidence_interval" not in second["evaluation_results"][0]["score_details"]["uncertainty"]
    )
    again = every_eval_ever.make_files(
        hub.read_complete([results]), "me/results", {"mine": "me/mine"}
    )
    assert again == files


@pytest.mark.parametrize(
    ("spec", "identifier", "is_open"),
    [
        ("vlm:org/name", "org/name", True),
        ("vlm:folder", "vlm/my--model", True),
        ("api:org/name", "api/my--model", False),
        ("python:module:Class", "python/my--model", False),
        ("external:scored", "external/my--model", False),  # by `compeval score`
    ],
)
def test_the_id_of_a_model_follows_its_backend(
    results: Path, spec: str, identifier: str, is_open: bool
):
    result = next(iter(hub.read_complete([results]).values()))
    result["model"] |= {"name": "my/model", "spec": spec}
    described = every_eval_ever.make_document([result], "me/results", "0", {})["model_info"]
    availability = described["additional_details"]["model_availability"]
    assert (described["id"], availability) == (identifier, "open_weights" if is_open else "unknown")


@pytest.mark.acceptance
def test_their_own_classes_accept_the_documents(results: Path):
    types = pytest.importorskip("every_eval_ever.eval_types")
    for content in every_eval_ever.make_files(hub.read_complete([results]), "me/results").values():
        types.EvaluationLog.model_validate_json(content)
