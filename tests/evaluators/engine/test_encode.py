import json
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import open_clip
import pyarrow.parquet as pq
import pytest
import torch

from evaluators import models
from evaluators.engine import compute, images, plan
from evaluators.engine import encode as encode_module
from evaluators.engine.compute import Chunk, ImageCrops, retry_with_smaller_batches
from evaluators.engine.task_dataset import load
from evaluators.engine.tasks import Task, discover, select
from evaluators.models import Model
from evaluators.models.batches import in_batches
from evaluators.run import evaluate, run
from generators.schemas.rows import HARD_NEGATIVE_SCHEMA
from generators.storage.dataset import write_config
from loaders.cards.card import write_card
from loaders.datasets.stats import measure
from tests.evaluators import tiny

LAION = Task("crepe", "laion_uc_hnatom")


def toy(name: str) -> Model:
    return models.resolve(f"python:toy_models:{name}")


def all_files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(".run.json")
    }


def test_a_perfect_encoder_ranks_every_truth_first(here: Path, data: Path):
    choice, raw = run(toy("Knows"), [LAION, Task("crepe", "laion_uc_raw")], data_dir=data, batch_size=5)
    assert choice["metrics"] == {
        "recall@1": 1.0,
        "recall@3": 1.0,
        "avg_recall": 1.0,
        "mean_rank": 1.0,
        "median_rank": 1.0,
        "floored_median_rank": 1.0,
        "tie_rate": 0.0,
    }
    assert choice["intervals"]["recall@1"] == pytest.approx([0.7575, 1.0], abs=1e-4)  # Wilson, 12 of 12 images
    assert choice["chance"]["recall@1"] == 0.2
    # 23 rows, two to an image; 9 raw rows in folds of 4 (the smallest raw split): 2 folds.
    version = json.loads((data / "crepe" / "stats.json").read_text())["version"]
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
    choice, raw = run(toy("Constant"), [LAION, Task("crepe", "laion_uc_raw")], data_dir=data)
    assert (choice["metrics"]["recall@1"], choice["metrics"]["tie_rate"]) == (0.0, 1.0)
    assert (raw["metrics"]["i2t_recall@1"], raw["metrics"]["i2t_tie_rate"]) == (0.0, 1.0)


def test_each_crop_and_text_is_encoded_once_and_batches_may_be_ragged(here: Path, data: Path):
    tasks = select(discover(data), ["crepe/*"])
    model = toy("Knows")
    theirs = model.encoder.model  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
    run(model, tasks, data_dir=data, batch_size=4)
    # Crops: the ids are "crop 0" to "crop 22" in every config. Texts: 23 x 5 "ball" captions (those of the productivity
    # and raw rows are among them), 7 x 5 "box" captions.
    assert sum(theirs.calls) == 23 + 23 * 5 + 7 * 5
    assert set(theirs.calls) == {4, 23 % 4, (23 * 5 + 7 * 5) % 4}
    theirs.calls.clear()
    run(model, tasks, data_dir=data, output=Path("elsewhere"))
    assert theirs.calls == []


def test_paths_of_results(here: Path, data: Path):
    run(toy("Knows"), select(discover(data), ["crepe/prod_hnatom"]), data_dir=data)
    folder = Path("results/microworld/Knows")
    assert sorted(all_files(folder)) == [
        f"crepe/prod_hnatom/n{n}.{kind}" for n in (4, 5) for kind in ("json", "parquet")
    ]
    assert json.loads(folder.with_name(f"{folder.name}.run.json").read_text())["texts_encoded"] == 20


def test_examples_contain_scores_and_ranks(here: Path, data: Path):
    run(toy("Knows"), [LAION], data_dir=data)
    table = pq.read_table("results/microworld/Knows/crepe/laion_uc_hnatom.parquet")
    first = table.slice(0, 1).to_pylist()[0]
    # Red against green, blue, yellow, pink: cosines 1, 0, 0, 1/sqrt(2), 1/sqrt(2).
    assert first.pop("scores") == pytest.approx([1, 0, 0, 0.5**0.5, 0.5**0.5])
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
    whole, part = (run(toy("Knows"), [LAION], data_dir=data, limit=limit)[0] for limit in (None, 3))
    assert (part["data"]["rows"], part["data"]["limit"]) == (3, 3)
    assert whole["data"]["fingerprint"] != part["data"]["fingerprint"]


def test_results_that_are_up_to_date_are_not_scored_again(here: Path, data: Path, monkeypatch: pytest.MonkeyPatch):
    (first,) = run(toy("Knows"), [LAION], data_dir=data)
    monkeypatch.setattr("evaluators.engine.score._score_features", lambda *_: pytest.fail("scored again"))
    assert run(toy("Knows"), [LAION], data_dir=data) == [first]


def test_features_that_are_not_finite(here: Path, data: Path):
    with pytest.raises(ValueError, match=r"Broken: 115 of 115 text features are zero, infinite or not a number"):
        run(toy("Broken"), [LAION], data_dir=data)


def spoilt(tmp_path: Path) -> Path:
    """Write five rows. The image file of the third is truncated."""
    rows = list(tiny.choice_rows(5))
    rows[2] |= {"image": {"bytes": tiny.picture("red", (64, 64))[:60], "path": None}}
    return tiny.write_dataset(tmp_path / "spoilt", {"laion_uc_hnatom": {"test": rows}})


@pytest.mark.parametrize("name", ["Knows", "Pairs"])
def test_a_corrupt_image_is_named(here: Path, tmp_path: Path, name: str):
    with pytest.raises(
        ValueError, match=r"crepe/laion_uc_hnatom, row 2: the image cannot be decoded .*--on-error skip"
    ):
        run(toy(name), [LAION], data_dir=spoilt(tmp_path))


@pytest.mark.parametrize("name", ["Knows", "Pairs"])
def test_a_corrupt_image_can_be_skipped(here: Path, tmp_path: Path, name: str):
    (result,) = run(toy(name), [LAION], data_dir=spoilt(tmp_path), on_error="skip")
    assert [(item["row"], "cannot be decoded" in item["error"]) for item in result["skipped"]] == [(2, True)]
    assert result["metrics"]["recall@1"] == 1.0
    table = pq.read_table(f"results/microworld/{name}/crepe/laion_uc_hnatom.parquet")
    assert table["row"].to_pylist() == [0, 1, 3, 4]


@pytest.mark.parametrize("name", ["Knows", "Pairs"])
def test_a_missing_image_file_is_named_and_can_be_skipped(here: Path, tmp_path: Path, name: str):
    rows = list(tiny.choice_rows(5))
    for number in (1, 3):  # the same file of two crops
        rows[number] |= {"image": {"bytes": None, "path": str(tmp_path / "gone.jpg")}}
    data = tiny.write_dataset(tmp_path / "files", {"laion_uc_hnatom": {"test": rows}})
    with pytest.raises(ValueError, match=r"row 1: the image cannot be read .*gone\.jpg.*--on-error skip"):
        run(toy(name), [LAION], data_dir=data)
    (result,) = run(toy(name), [LAION], data_dir=data, on_error="skip")
    assert [(item["row"], "gone.jpg" in item["error"]) for item in result["skipped"]] == [(1, True), (3, True)]
    assert result["metrics"]["recall@1"] == 1.0


def test_pair_scorers_score_each_pair_once(here: Path, data: Path):
    model = toy("Pairs")
    theirs = model.encoder.model  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
    (result,) = run(model, [LAION], data_dir=data)
    assert (result["metrics"]["recall@1"], theirs.pairs) == (1.0, 23 * 5)
    assert run(model, [LAION], data_dir=data, output=Path("elsewhere")) == [result]
    assert theirs.pairs == 23 * 5


def test_pair_scorers_do_not_support_raw_retrieval(here: Path, data: Path):
    with pytest.raises(ValueError, match="recall needs a score for each of 16 pairs"):
        run(toy("Pairs"), [Task("crepe", "laion_uc_raw")], data_dir=data)


def run_in_child(data: Path, output: Path, cache: Path) -> int:
    """Return the exit code of a process that evaluates a model that kills the process."""
    child = os.fork()
    if not child:
        try:
            os.environ["COMPEVAL_CACHE"] = str(cache)
            run(toy("Dying"), discover(data), data_dir=data, output=output, batch_size=16)
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_killed_run_resumes_and_ends_with_the_same_bytes(here: Path, data: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(encode_module, "MIN_TEXTS_PER_CHUNK", 16)
    assert run_in_child(data, here / "killed", here / "cache a") == 9
    assert all_files(here / "killed") == {}
    (here / "revived").touch()
    assert run_in_child(data, here / "killed", here / "cache a") == 0
    assert run_in_child(data, here / "whole", here / "cache b") == 0
    assert all_files(here / "killed") == all_files(here / "whole")
    resumed, whole = (
        json.loads((here / name / "microworld/Dying.run.json").read_text()) for name in ("killed", "whole")
    )
    # Sorted, the captions go blue, green, pink: what the first attempt stored before the first pink one stays.
    assert (resumed["images_encoded"], whole["images_encoded"]) == (0, 23)
    assert 0 < resumed["texts_encoded"] < whole["texts_encoded"] == 150


def test_scores_do_not_depend_on_the_other_tasks(
    tmp_path: Path, data: Path, clip: Path, monkeypatch: pytest.MonkeyPatch
):
    model = models.resolve(f"local:{clip}")
    scores = []
    for name, patterns in (("alone", ["crepe/laion_uc_hnatom"]), ("all", ["crepe/*"])):
        monkeypatch.setenv("COMPEVAL_CACHE", str(tmp_path / name))
        run(model, select(discover(data), patterns), data_dir=data, output=tmp_path / name)
        (path,) = (tmp_path / name).rglob("laion_uc_hnatom.parquet")
        scores.append(np.stack(pq.read_table(path)["scores"].to_numpy()))
    np.testing.assert_allclose(*scores, atol=1e-5)


def test_evaluate_in_process(data: Path, clip: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    model, preprocess = open_clip.create_model_from_pretrained(f"local-dir:{clip}")  # pyright: ignore
    model.train()
    results = evaluate(
        model, preprocess, open_clip.get_tokenizer(f"local-dir:{clip}"), ["crepe/*_hnatom"], data_dir=data
    )
    assert list(results) == [
        "crepe/cc12m_uc_hnatom",
        "crepe/laion_uc_hnatom",
        "crepe/prod_hnatom/n4",
        "crepe/prod_hnatom/n5",
    ]
    (written,) = run(models.resolve(f"local:{clip}"), [LAION], data_dir=data)
    assert results[LAION.name]["metrics"] == written["metrics"]
    assert model.training
    assert len(list((tmp_path / "cache").glob("*.sqlite"))) == 1, "that of the run"


def test_evaluate_a_model_of_mixed_precision(data: Path, clip: Path, tmp_path: Path):
    """open_clip converts the matrices of a model in bf16, and keeps the position embeddings in fp32."""
    model, preprocess = open_clip.create_model_from_pretrained(f"local-dir:{clip}", precision="bf16")  # pyright: ignore
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32, torch.bfloat16}
    result = evaluate(model, preprocess, open_clip.get_tokenizer(f"local-dir:{clip}"), LAION.name, data_dir=data)
    (written,) = run(models.resolve(f"local:{clip}", precision="bf16"), [LAION], data_dir=data, output=tmp_path)
    assert result[LAION.name]["metrics"] == written["metrics"]
    assert result[LAION.name]["model"]["precision"] == "bf16"


def test_evaluate_under_autocast_records_its_precision(data: Path, clip: Path):
    model, preprocess = open_clip.create_model_from_pretrained(f"local-dir:{clip}")  # pyright: ignore
    tokenizer = open_clip.get_tokenizer(f"local-dir:{clip}")

    def describe() -> tuple[str, list[str]]:
        result = evaluate(model, preprocess, tokenizer, LAION.name, data_dir=data)[LAION.name]
        return result["model"]["precision"], result["warnings"]

    with torch.autocast("cpu", torch.bfloat16):
        precision, warnings = describe()
    assert precision == "bf16"
    assert not [text for text in warnings if "padding" in text], "the prefix forest agrees within bf16's tolerance"
    assert describe()[0] == "fp32"


def test_evaluate_restores_the_training_mode_of_the_model(data: Path, clip: Path):
    loaded: Any = open_clip.create_model_from_pretrained(f"local-dir:{clip}")
    model, preprocess = loaded
    model.train()
    model.visual.eval()
    with pytest.raises(ValueError, match="Unknown task 'crep/'"):
        evaluate(model, preprocess, open_clip.get_tokenizer(f"local-dir:{clip}"), ["crep/"], data_dir=data)
    assert model.training
    assert not model.visual.transformer.training


def test_batches_are_halved_when_memory_runs_out():
    import torch

    sizes = []

    def encode(part: list[int]) -> np.ndarray:
        sizes.append(len(part))
        if len(part) > 3:
            raise torch.OutOfMemoryError
        return np.array(part)[:, None]

    made = retry_with_smaller_batches(partial(in_batches, encode, list(range(8))), 8)
    assert made[:, 0].tolist() == list(range(8))
    assert sizes == [8, 4, 2, 2, 2, 2]

    def never(part: list[int]) -> np.ndarray:
        raise torch.OutOfMemoryError

    with pytest.raises(ValueError, match="too little memory to encode a single item"):
        retry_with_smaller_batches(partial(in_batches, never, [1, 2]), 2)


@pytest.mark.parametrize(
    "message",
    ["MPS backend out of memory (MPS allocated: 8.00 GB)", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"],
)
def test_batches_are_halved_for_the_memory_errors_of_other_devices(message: str):
    def encode(part: list[int]) -> np.ndarray:
        if len(part) > 2:
            raise RuntimeError(message)
        return np.array(part)[:, None]

    assert retry_with_smaller_batches(partial(in_batches, encode, [1, 2, 3]), 3)[:, 0].tolist() == [1, 2, 3]


def test_other_errors_of_a_device_are_raised():
    def encode(batch_size: int) -> np.ndarray:
        raise RuntimeError("CUDA error: device-side assert triggered")

    with pytest.raises(RuntimeError, match="device-side assert"):
        retry_with_smaller_batches(encode, 8)


def test_a_batch_may_be_larger_than_the_usual_chunk(here: Path, data: Path):
    model = toy("Knows")
    encoder: Any = model.encoder
    run(model, [LAION], data_dir=data, batch_size=300)
    assert encoder.model.calls[0] == 23, "all 23 crops are one batch"
    assert encode_module.crops_per_chunk(encoder, 300) == 300
    small: Any = SimpleNamespace()
    assert [encode_module.crops_per_chunk(small, size) for size in (64, 300)] == [256, 300]


@pytest.mark.parametrize(("limit", "expected"), [(1, [0] * 5), (10**9, [0, *[5] * 2, 3, 0])])
def test_large_chunks_are_not_decoded_ahead(
    monkeypatch: pytest.MonkeyPatch, data: Path, limit: int, expected: list[int]
):
    planned = plan.make([load(LAION, data)])
    prepared: list[int] = []
    encoder = SimpleNamespace(preprocess=lambda image: prepared.append(1) or image)
    items = [ImageCrops(file, [crop]) for file, crop in zip(images.read(planned.crops), planned.crops, strict=True)]
    parts = plan.chunks(len(items), 5)
    chunks = [Chunk("images", "encode_images", [], items[part], part, len(items)) for part in parts]
    monkeypatch.setattr(compute, "READ_AHEAD_BYTES", limit)
    used, ahead = 0, []
    with ThreadPoolExecutor(1) as pool:
        for _, inputs in compute._prepare_ahead(pool, encoder, chunks):
            pool.submit(int).result()  # after what was submitted before
            used += len(inputs)
            ahead.append(len(prepared) - used)
    assert ahead == expected


def test_crops_of_two_datasets_are_not_confused(here: Path, tmp_path: Path):
    root = tmp_path / "own"
    for name, colors in (("first", ["red", "green"]), ("second", ["blue", "pink"])):
        rows = [
            tiny.row(number, color, "ball", [other for other in tiny.COLORS if other != color], tiny.picture(color))
            | {"crop_id": str(number)}
            for number, color in enumerate(colors)
        ]
        write_config(root / name, "choice", {"test": rows}, HARD_NEGATIVE_SCHEMA)
        write_card(root / name, {}, "", measure(root / name))
    tasks = [Task("first", "choice"), Task("second", "choice")]
    alone = [run(toy("Knows"), [task], data_dir=root, output=Path("alone"))[0] for task in tasks]
    together = run(toy("Knows"), tasks, data_dir=root, output=Path("together"))
    assert [result["metrics"]["recall@1"] for result in together] == [1.0, 1.0]
    assert together == alone


def test_a_raw_task_plans_only_the_rows_of_its_folds(data: Path):
    planned = plan.make([load(Task("crepe", "laion_uc_raw"), data)])
    (task,) = planned.tasks
    assert len(task.row_N) == len(planned.crops) == len(planned.texts) == 8
    assert np.bincount(task.fold_N).tolist() == [4, 4]
    assert [place.row for place in planned.crops] == task.row_N.tolist()


def test_the_plan_depends_only_on_the_tasks(data: Path):
    first, second = (plan.make([load(task, data) for task in discover(data)]) for _ in range(2))
    assert first.texts == second.texts == tuple(sorted(first.texts, key=str.lower))
    assert list(map(str, first.crops)) == list(map(str, second.crops))


def test_a_pair_score_that_is_not_finite_is_never_stored(here: Path, data: Path, monkeypatch: pytest.MonkeyPatch):
    model = toy("Pairs")
    with monkeypatch.context() as broken:
        broken.setattr(model.encoder, "score", lambda images, texts: [float("nan")] * len(texts))
        with pytest.raises(ValueError, match=r"row 0: Pairs returned a score that is not a finite"):
            run(model, [Task("crepe", "laion_uc_hnatom")], data_dir=data)
    (result,) = run(model, [Task("crepe", "laion_uc_hnatom")], data_dir=data)
    assert result["metrics"]["recall@1"] == 1.0
