"""Evaluate tiny models on tiny datasets: results, examples, what is encoded, resumption, and refused tasks."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA
from compeval.base.storage.dataset import write_config
from compeval.evaluators import models
from compeval.evaluators.engine import encode
from compeval.evaluators.engine.tasks import Task, discover, select
from compeval.evaluators.protocols import recall
from compeval.evaluators.run import EvaluationOptions, RefusedTask, evaluate_tasks, run
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from tests.close import assert_close, count_terms
from tests.evaluators import tiny
from tests.evaluators.tiny import all_files, toy

LAION, RAW = Task("crepe", "laion_uc_hnatom"), Task("crepe", "laion_uc_raw")


def test_a_perfect_encoder_ranks_every_truth_first(here: Path, data: Path):
    choice, raw = run(toy("Knows"), [LAION, RAW], EvaluationOptions(data_dir=data, batch_size=5))
    assert choice["metrics"] == {
        "recall@1": 1.0,
        "recall@3": 1.0,
        "pairwise": 1.0,
        "avg_recall": 1.0,
        "mean_rank": 1.0,
        "median_rank": 1.0,
        "floored_median_rank": 1.0,
        "tie_rate": 0.0,
    }
    # Wilson, 12 of 12 images.
    assert_close(choice["intervals"]["recall@1"], [0.7575, 1.0], within=5e-5)
    assert choice["chance"]["recall@1"] == 0.2
    # 23 rows, two to an image; 9 raw rows in folds of 4 (the smallest raw split): 2 folds.
    version = json.loads((data / "crepe" / "stats.json").read_text(encoding="utf-8"))["version"]
    assert choice["data"] | {"fingerprint": ""} == {
        "version": version,
        "revision": None,
        "fingerprint": "",
        "rows": 23,
        "limit": None,
        "set_size": 5,
        "crops": 23,
        "images": 12,
        "folds": None,
    }
    assert (raw["protocol"], raw["data"]["folds"], raw["data"]["set_size"]) == ("recall", 2, 4)
    # Colours recur in a fold of four of nine rows only by chance: the 6th row has the first's colour.
    assert raw["metrics"]["i2t_recall@1"] == 1 - raw["metrics"]["i2t_tie_rate"]
    assert raw["std"].keys() == raw["metrics"].keys()


def test_a_constant_encoder_scores_nothing(here: Path, data: Path):
    choice, raw = run(toy("Constant"), [LAION, RAW], EvaluationOptions(data_dir=data))
    assert (choice["metrics"]["recall@1"], choice["metrics"]["tie_rate"]) == (0.0, 1.0)
    assert (raw["metrics"]["i2t_recall@1"], raw["metrics"]["i2t_tie_rate"]) == (0.0, 1.0)


def test_each_crop_and_text_is_encoded_once_and_batches_may_be_ragged(here: Path, data: Path):
    tasks = select(discover(data), ["crepe/*"])
    model = toy("Knows")
    theirs = model.encoder.model
    run(model, tasks, EvaluationOptions(data_dir=data, batch_size=4))
    # Crops: the ids are "crop 0" to "crop 22" in every config. Texts: 23 x 5 "ball" captions (those of the productivity
    # and raw rows are among them), 7 x 5 "box" captions.
    assert sum(theirs.calls) == 23 + 23 * 5 + 7 * 5
    assert set(theirs.calls) == {4, 23 % 4, (23 * 5 + 7 * 5) % 4}
    theirs.calls.clear()
    run(model, tasks, EvaluationOptions(data_dir=data, output=Path("elsewhere")))
    assert theirs.calls == []


def test_paths_of_results(here: Path, data: Path):
    run(
        toy("Knows"),
        select(discover(data), ["crepe/prod_hnatom"]),
        EvaluationOptions(data_dir=data),
    )
    folder = Path("results/microworld/Knows")
    assert sorted(all_files(folder)) == [
        f"crepe/prod_hnatom/n{n}.{kind}" for n in (4, 5) for kind in ("json", "parquet")
    ]
    assert (
        json.loads(folder.with_name(f"{folder.name}.run.json").read_text(encoding="utf-8"))[
            "texts_encoded"
        ]
        == 20
    )


def test_examples_contain_scores_and_ranks(here: Path, data: Path):
    run(toy("Knows"), [LAION], EvaluationOptions(data_dir=data))
    table = pq.read_table("results/microworld/Knows/crepe/laion_uc_hnatom.parquet")
    first = table.slice(0, 1).to_pylist()[0]
    # Red against green, blue, yellow, pink: cosines 1, 0, 0, 1/sqrt(2), 1/sqrt(2).
    assert_close(first.pop("scores"), [1, 0, 0, 0.5**0.5, 0.5**0.5], dtype=np.float32, size=1)
    assert first == {
        "row": 0,
        "crop_id": "crop 0",
        "image_id": "image 0",
        "caption": "a red ball 0",
        "hard_negatives": [f"a {color} ball 0" for color in ("green", "blue", "yellow", "pink")],
        "rank": 1,
        "tie": False,
    }
    assert table["row"].to_pylist() == list(range(23))


def test_limit_takes_the_first_rows_and_is_part_of_the_fingerprint(here: Path, data: Path):
    whole, part = (
        run(toy("Knows"), [LAION], EvaluationOptions(data_dir=data, limit=limit))[0]
        for limit in (None, 3)
    )
    assert (part["data"]["rows"], part["data"]["limit"]) == (3, 3)
    assert whole["data"]["fingerprint"] != part["data"]["fingerprint"]


def test_results_that_are_up_to_date_are_not_scored_again(
    here: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    (first,) = run(toy("Knows"), [LAION], EvaluationOptions(data_dir=data))
    monkeypatch.setattr(
        "compeval.evaluators.engine.score._score_features", lambda *_: pytest.fail("scored again")
    )
    assert run(toy("Knows"), [LAION], EvaluationOptions(data_dir=data)) == [first]


def spoil(row: dict[str, Any], kind: str, folder: Path) -> dict[str, Any]:
    """Return a row whose image file is truncated or missing."""
    half = {"bytes": tiny.picture("red", (64, 64))[:60], "path": None}
    return row | {
        "image": half if kind == "decoded" else {"bytes": None, "path": str(folder / "gone.jpg")}
    }


@pytest.mark.parametrize("kind", ["decoded", "read"])
@pytest.mark.parametrize("name", ["Knows", "Pairs"])
def test_an_unreadable_image_is_named_and_can_be_skipped(
    here: Path, tmp_path: Path, name: str, kind: str
):
    rows = [
        spoil(row, kind, tmp_path) if number in (1, 3) else row
        for number, row in enumerate(tiny.choice_rows(5))
    ]
    data = tiny.write_dataset(tmp_path / "spoilt", {"laion_uc_hnatom": {"test": rows}})
    message = rf"crepe/laion_uc_hnatom, row 1: the image cannot be {kind} .*--on-error skip"
    with pytest.raises(ValueError, match=message):
        run(toy(name), [LAION], EvaluationOptions(data_dir=data))
    (result,) = run(toy(name), [LAION], EvaluationOptions(data_dir=data, on_error="skip"))
    assert [(item["row"], f"cannot be {kind}" in item["error"]) for item in result["skipped"]] == [
        (1, True),
        (3, True),
    ]
    assert result["metrics"]["recall@1"] == 1.0
    counts = json.loads(Path(f"results/microworld/{name}.run.json").read_text(encoding="utf-8"))
    assert (counts["rows"], counts["images_encoded"]) == (5, 3 if name == "Knows" else 0)
    table = pq.read_table(f"results/microworld/{name}/crepe/laion_uc_hnatom.parquet")
    assert table["row"].to_pylist() == [0, 2, 4]


def test_pair_scorers_score_each_pair_once(here: Path, data: Path):
    model = toy("Pairs")
    theirs = model.encoder.model
    (result,) = run(model, [LAION], EvaluationOptions(data_dir=data))
    assert (result["metrics"]["recall@1"], theirs.pairs) == (1.0, 23 * 5)
    assert run(model, [LAION], EvaluationOptions(data_dir=data, output=Path("elsewhere"))) == [
        result
    ]
    assert theirs.pairs == 23 * 5


def test_a_pair_in_two_rows_is_scored_once(here: Path, tmp_path: Path):
    data = tiny.write_dataset(
        tmp_path, {"laion_uc_hnatom": {"test": [*tiny.choice_rows(2), *tiny.choice_rows(2)]}}
    )
    model = toy("Pairs")
    (result,) = run(model, [LAION], EvaluationOptions(data_dir=data))
    assert (result["data"]["rows"], model.encoder.model.pairs) == (4, 2 * 5)


def test_the_result_of_a_task_is_written_before_the_next_task_is_scored(here: Path, data: Path):
    model = toy("Pairs")
    score = model.encoder.score
    tasks = select(discover(data), "crepe/prod_hnatom/n4,crepe/cc12m_uc_hnatom")

    def fail_on_balls(images: list[Any], texts: list[str]) -> Any:
        assert not any("ball" in text for text in texts)
        return score(images, texts)

    model.encoder.score = fail_on_balls
    with pytest.raises(AssertionError):
        run(model, tasks, EvaluationOptions(data_dir=data))
    assert [path.stem for path in Path("results").rglob("*.json")] == ["cc12m_uc_hnatom"]


def test_a_pair_score_that_is_not_finite_is_never_stored(
    here: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    model = toy("Pairs")
    with monkeypatch.context() as broken:
        broken.setattr(model.encoder, "score", lambda images, texts: [float("nan")] * len(texts))
        with pytest.raises(ValueError, match=r"row 0: Pairs returned a score that is not a finite"):
            run(model, [LAION], EvaluationOptions(data_dir=data))
    (result,) = run(model, [LAION], EvaluationOptions(data_dir=data))
    assert result["metrics"]["recall@1"] == 1.0


def run_in_child(data: Path, output: Path, cache: Path) -> int:
    """Return the exit code of a process that evaluates a model that kills the process."""
    child = os.fork()
    if not child:
        try:
            os.environ["COMPEVAL_CACHE"] = str(cache)
            run(
                toy("Dying"),
                discover(data),
                EvaluationOptions(data_dir=data, output=output, batch_size=16),
            )
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_killed_run_resumes_and_ends_with_the_same_bytes(
    here: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(encode, "MIN_TEXTS_PER_CHUNK", 16)
    assert run_in_child(data, here / "killed", here / "cache a") == 9
    assert all_files(here / "killed") == {}
    (here / "revived").touch()
    assert run_in_child(data, here / "killed", here / "cache a") == 0
    assert run_in_child(data, here / "whole", here / "cache b") == 0
    assert all_files(here / "killed") == all_files(here / "whole")
    resumed, whole = (
        json.loads((here / name / "microworld/Dying.run.json").read_text(encoding="utf-8"))
        for name in ("killed", "whole")
    )
    # Sorted, the captions go blue, green, pink: what the first attempt stored before the first pink one stays.
    assert (resumed["images_encoded"], whole["images_encoded"]) == (0, 23)
    assert 0 < resumed["texts_encoded"] < whole["texts_encoded"] == 150


def test_scores_do_not_depend_on_the_other_tasks(
    tmp_path: Path, data: Path, clip: Path, monkeypatch: pytest.MonkeyPatch
):
    model = models.load_model(f"local:{clip}")
    scores = []
    for name, patterns in (("alone", ["crepe/laion_uc_hnatom"]), ("all", ["crepe/*"])):
        monkeypatch.setenv("COMPEVAL_CACHE", str(tmp_path / name))
        run(
            model,
            select(discover(data), patterns),
            EvaluationOptions(data_dir=data, output=tmp_path / name),
        )
        (path,) = (tmp_path / name).rglob("laion_uc_hnatom.parquet")
        scores.append(np.stack(pq.read_table(path)["scores"].to_numpy()))
    encoder: Any = model.encoder
    assert_close(*scores, size=1, summed=count_terms(encoder._model))


def test_a_batch_may_be_larger_than_the_usual_chunk(here: Path, data: Path):
    model = toy("Knows")
    run(model, [LAION], EvaluationOptions(data_dir=data, batch_size=300))
    assert model.encoder.model.calls[0] == 23, "all 23 crops are one batch"


def test_crops_of_two_datasets_are_not_confused(here: Path, tmp_path: Path):
    root = tmp_path / "own"
    for name, colors in (("first", ["red", "green"]), ("second", ["blue", "pink"])):
        rows = [
            tiny.row(
                number,
                color,
                "ball",
                [other for other in tiny.COLORS if other != color],
                tiny.picture(color),
            )
            | {"crop_id": str(number)}
            for number, color in enumerate(colors)
        ]
        write_config(root / name, "choice", {"test": rows}, HARD_NEGATIVE_SCHEMA)
        write_card(root / name, {}, "", measure(root / name))
    tasks = [Task("first", "choice"), Task("second", "choice")]
    alone = [
        run(toy("Knows"), [task], EvaluationOptions(data_dir=root, output=Path("alone")))[0]
        for task in tasks
    ]
    together = run(toy("Knows"), tasks, EvaluationOptions(data_dir=root, output=Path("together")))
    assert [result["metrics"]["recall@1"] for result in together] == [1.0, 1.0]
    assert together == alone


def test_equal_pixels_of_several_crops_are_encoded_once(here: Path, tmp_path: Path):
    rows = [
        row | {"image": {"bytes": tiny.picture("red"), "path": None}} for row in tiny.choice_rows(5)
    ]
    data = tiny.write_dataset(tmp_path / "alike", {"laion_uc_hnatom": {"test": rows}})
    model = toy("Knows")
    run(model, discover(data), EvaluationOptions(data_dir=data))
    theirs = model.encoder.model
    assert theirs.calls == [1, 25]


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
    evaluated: list[str] = []
    refused: list[str] = []
    for outcome in evaluate_tasks(
        toy(model), select(discover(data), patterns), EvaluationOptions(data_dir=data)
    ):
        if isinstance(outcome, RefusedTask):
            assert not evaluated, "tasks are refused before anything is encoded"
            refused.append(str(outcome))
        elif isinstance(outcome, dict):
            evaluated.append(outcome["task"])
    return evaluated, refused


def test_unusable_tasks_are_refused_and_the_others_run(here: Path, tmp_path: Path):
    evaluated, refused = run_all(write_data(tmp_path / "data"), "crepe/*")
    assert evaluated == [GOOD]
    expected = (
        "crepe/none_hnatom: rows have [0] hard negatives, one positive number expected.",
        "crepe/prod_hnatom/n4: ",
        "crepe/same_sc_raw: retrieval needs a wrong candidate for each image and each caption",
    )
    assert len(refused) == 3
    assert all(
        message.startswith(start) for message, start in zip(refused, expected, strict=True)
    ), refused
    assert "n4-00000-of-00001.parquet: not a readable parquet file" in refused[1]


def test_nothing_is_encoded_before_the_refusal(here: Path, tmp_path: Path):
    data = write_data(tmp_path / "data")
    with pytest.raises(ValueError, match="crepe/same_sc_raw: retrieval needs"):
        run(toy("Broken"), discover(data)[-1:], EvaluationOptions(data_dir=data))
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
    (here / "other_models.py").write_text(
        tiny.MODELS.replace('"knows"', '"other"'), encoding="utf-8"
    )
    other = models.load_model("python:other_models:Knows")
    message = (
        r"results/microworld/Knows: has results of python:toy_models:Knows, another model named Knows. Choose another "
        "name for python:other_models:Knows with --name, or another folder with --output."
    )
    with pytest.raises(ValueError, match=message):
        run(other, select(discover(data), GOOD), EvaluationOptions(data_dir=data))


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
def test_sets_in_which_everything_has_a_wrong_candidate(
    crops: list[int], texts: list[list[int]], expected: bool
):
    assert recall.is_measurable(np.array(crops), np.array(texts)) is expected


def test_retrieval_among_a_single_row_is_one_message(here: Path, data: Path):
    with pytest.raises(
        ValueError, match=r"crepe/laion_uc_raw: retrieval needs a wrong candidate .* of the 1 rows"
    ):
        run(toy("Knows"), [RAW], EvaluationOptions(data_dir=data, limit=1))
