"""Tasks that cannot be evaluated are refused before anything is encoded, and the other tasks run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluators import models
from evaluators.engine import tasks
from evaluators.protocols import recall
from evaluators.run import RefusedTask, evaluate, run
from tests.evaluators import tiny

GOOD = "crepe/prod_hnatom/n5"


def write_data(root: Path) -> Path:
    """Write a good set, a damaged split, rows without negatives, and raw rows whose captions are the same."""
    same = [tiny.row(number, "red", "ball", None) for number in range(3)]
    configs = {
        "prod_hnatom": {"n4": tiny.choice_rows(4, 3), "n5": tiny.choice_rows(4, 3)},
        "none_hnatom": {"test": [tiny.row(0, "red", "ball", [])]},
        "same_sc_raw": {"test": same},
    }
    data = tiny.write_dataset(root, configs)
    (data / "crepe" / "prod_hnatom" / "n4-00000-of-00001.parquet").write_bytes(b"PAR1")
    return data


def run_all(data: Path, patterns: str, model: str = "Knows") -> tuple[list[str], list[str]]:
    """Return the evaluated tasks and the refusals."""
    refused: list[RefusedTask] = []
    selected = tasks.select(tasks.discover(data), patterns)
    results = run(models.resolve(f"python:toy_models:{model}"), selected, data_dir=data, on_refused=refused.append)
    return [result["task"] for result in results], list(map(str, refused))


def test_unusable_tasks_are_refused_and_the_others_run(here: Path, tmp_path: Path):
    evaluated, refused = run_all(write_data(tmp_path / "data"), "crepe/*")
    assert evaluated == [GOOD]
    expected = (
        "crepe/none_hnatom: rows have [0] hard negatives, one positive number expected.",
        "crepe/prod_hnatom/n4: ",
        "crepe/same_sc_raw: retrieval needs a wrong candidate for each image and each caption",
    )
    assert len(refused) == 3
    assert all(message.startswith(start) for message, start in zip(refused, expected, strict=True)), refused
    assert "n4-00000-of-00001.parquet: not a readable parquet file" in refused[1]


def test_nothing_is_encoded_before_the_refusal(here: Path, tmp_path: Path):
    data = write_data(tmp_path / "data")
    with pytest.raises(ValueError, match="crepe/same_sc_raw: retrieval needs"):
        run(models.resolve("python:toy_models:Broken"), tasks.discover(data)[-1:], data_dir=data)
    assert not Path("results").exists()


def test_pair_scorers_refuse_retrieval_only(here: Path, data: Path):
    evaluated, refused = run_all(data, "crepe/prod_hnatom/n4,crepe/laion_uc_raw", "Pairs")
    assert evaluated == ["crepe/prod_hnatom/n4"]
    assert refused == [
        "crepe/laion_uc_raw: recall needs a score for each of 16 pairs, and Pairs scores pair by pair. Choose tasks "
        "with a few candidates per row."
    ]


def test_two_models_with_one_name_do_not_share_a_folder(here: Path, data: Path):
    run_all(data, GOOD)
    (here / "other_models.py").write_text(tiny.MODELS.replace('"knows"', '"other"'))
    other = models.resolve("python:other_models:Knows")
    message = (
        r"results/microworld/Knows: has results of python:toy_models:Knows, another model named Knows. Choose another "
        "name for python:other_models:Knows with --name, or another folder with --output."
    )
    with pytest.raises(ValueError, match=message):
        run(other, tasks.select(tasks.discover(data), GOOD), data_dir=data)


@pytest.mark.parametrize(
    ("crops", "texts", "expected"),
    [
        ([0], [[0]], False),
        ([0, 1], [[0], [1]], True),
        ([0, 1], [[0], [0]], False),
        ([0, 0], [[0], [1]], False),
        ([0, 1, 2], [[0, 1], [1, 2], [3, -1]], True),
        ([0, 1], [[0, 1], [1, 2]], False),  # caption 1 is true of both images
        ([0, 1, 0], [[0], [1], [2]], True),
    ],
)
def test_sets_in_which_everything_has_a_wrong_candidate(crops: list[int], texts: list[list[int]], expected: bool):
    assert recall.is_measurable(np.array(crops), np.array(texts)) is expected


def test_evaluate_accepts_a_name_and_refuses_no_name(data: Path, monkeypatch: pytest.MonkeyPatch):
    import open_clip
    import torch

    torch.manual_seed(0)
    config = {"image_size": 16, "layers": 1, "width": 16, "patch_size": 8, "head_width": 8}
    text = {"context_length": 16, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2}
    model = open_clip.CLIP(16, config, text)  # pyright: ignore[reportArgumentType]
    preprocess: Any = open_clip.image_transform(16, False)
    arguments = (model, preprocess, open_clip.get_tokenizer("ViT-B-32", 16))
    assert list(evaluate(*arguments, GOOD, data_dir=data)) == [GOOD]
    both = evaluate(*arguments, "crepe/prod_hnatom/n4,crepe/prod_hnatom/n5", data_dir=data)
    assert list(both) == ["crepe/prod_hnatom/n4", GOOD]
    with pytest.raises(ValueError, match="No task is given"):
        evaluate(*arguments, [], data_dir=data)
    with pytest.raises(ValueError, match="Unknown task 'crepe/prod_hnatom/n44'"):
        evaluate(*arguments, "crepe/prod_hnatom/n44", data_dir=data)
