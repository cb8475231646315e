import errno
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluators import models
from evaluators.engine.tasks import Task
from evaluators.results import compose, documents
from evaluators.results.compare import Comparison, compare, holm
from evaluators.results.external import score_file
from evaluators.run import run
from generators.storage.code import list_code_files
from tests.evaluators import tiny
from tests.evaluators.engine.test_faults import raising

LAION = Task("crepe", "laion_uc_hnatom")
FOLDER = "results/microworld/python-toy_models-"


def toy(name: str, data: Path, **options: object) -> Path:
    run(models.resolve(f"python:toy_models:{name}"), [LAION], data_dir=data, **options)  # pyright: ignore
    return Path(f"{FOLDER}{name}")


def test_the_document_says_what_was_measured_on_what(here: Path, data: Path):
    path = toy("Knows", data) / "crepe/laion_uc_hnatom.json"
    result = documents.read(path)
    assert " ".join(result) == (
        "schema task dataset config split variant protocol source synthetic model data code "
        "main metrics intervals chance std categories warnings skipped"
    )
    assert result["model"] | {"fingerprint": ""} == {
        "spec": "python:toy_models:Knows",
        "name": "Knows",
        "effective": "Knows",
        "fingerprint": "",
        "precision": "custom",
        "corpus": None,
        "contaminated": None,
        "text_encoder": None,
    }
    assert result["synthetic"]
    assert "the training data of Knows is not known" in result["warnings"][0]
    assert str(here) not in path.read_text()


def test_a_damaged_result_is_made_again(here: Path, data: Path):
    path = toy("Knows", data) / "crepe/laion_uc_hnatom.json"
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    with pytest.raises(ValueError, match=f"{path}: not a result document"):
        documents.read(path)
    toy("Knows", data)
    assert path.read_bytes() == whole


def test_examples_never_lie_beside_the_document_of_others(here: Path, data: Path, monkeypatch: pytest.MonkeyPatch):
    """Stopped between the two files of a newer result, the older document is no result any more."""
    folder = toy("Knows", data)
    path = folder / "crepe/laion_uc_hnatom.json"
    older, table = documents.read(path), pq.read_table(path.with_suffix(".parquet"))
    monkeypatch.setattr(Path, "write_text", raising(errno.ENOSPC))
    with pytest.raises(ValueError, match="the result cannot be written"):
        documents.write(path, older | {"warnings": ["newer"]}, table.slice(1))
    assert pq.read_table(path.with_suffix(".parquet")).num_rows == 22
    assert documents.finished(path, older) is None


def test_a_result_of_another_schema(tmp_path: Path):
    (tmp_path / "old.json").write_text(json.dumps({"schema": 0}))
    with pytest.raises(ValueError, match="not a result document of schema 1"):
        documents.read(tmp_path / "old.json")


def test_an_output_that_cannot_be_written(here: Path, data: Path):
    Path("taken").write_text("")
    with pytest.raises(
        ValueError,
        match=r"taken/.*the result cannot be written \(Not a directory\). Free some space or name another --output",
    ):
        toy("Knows", data, output=Path("taken"))


def test_compare_by_hand(here: Path, data: Path):
    (line,) = compare(toy("Constant", data), toy("Knows", data))
    # Constant is never right, Knows always: 23 rows that only b gets right, 2 * (1/2)^23.
    assert (line.task, line.metric, line.rows) == ("crepe/laion_uc_hnatom", "recall@1", 23)
    assert (line.a, line.b, line.difference, line.interval) == (0.0, 1.0, 1.0, (1.0, 1.0))
    assert line.mcnemar == line.mcnemar_holm == pytest.approx(2**-22)
    assert line.wilcoxon < 1e-4
    assert json.dumps(line.to_json())


def test_holm_by_hand():
    lines = [Comparison(str(p), "recall@1", 1, 0, 1, 1, (0, 1), p, p) for p in (0.01, 0.04, 0.03)]
    # Sorted .01 .03 .04 times 3, 2, 1: .03, .06, and .04 raised to .06.
    assert [line.mcnemar_holm for line in holm(lines)] == pytest.approx([0.03, 0.06, 0.06])


def test_compare_refuses_different_data(here: Path, data: Path):
    whole, part = toy("Knows", data), Path("part")
    toy("Knows", data, limit=4, output=part)
    with pytest.raises(ValueError, match=r"different data \(.*, 23 rows against .*, 4 rows\). Run both models again"):
        compare(whole, part)


def test_compare_needs_something_in_common(here: Path, data: Path):
    knows = toy("Knows", data)
    with pytest.raises(FileNotFoundError, match="nowhere: no such result"):
        compare(knows, Path("nowhere"))
    Path("empty").mkdir()
    with pytest.raises(ValueError, match="empty: no result documents"):
        compare(knows, Path("empty"))


def score_table(rows: int, scores: int = 5) -> pa.Table:
    return pa.table({"row": list(range(rows)), "scores": [[1.0, *[0.5] * (scores - 1)]] * rows})


def test_scores_from_elsewhere(here: Path, data: Path):
    pq.write_table(score_table(23), "scores.parquet")
    result = score_file(Path("scores.parquet"), LAION.name, "gpt", data_dir=data)
    assert result["metrics"]["recall@1"] == 1.0
    assert documents.read(Path("results/microworld/external-gpt/crepe/laion_uc_hnatom.json")) == result


def test_a_task_is_named_although_it_has_variants(here: Path, tmp_path: Path):
    splits = {"test": tiny.choice_rows(3), "test.shuffled.s0": tiny.choice_rows(2)}
    data = tiny.write_dataset(tmp_path / "variants", {"laion_uc_hnatom": splits})
    pq.write_table(score_table(3), "scores.parquet")
    result = score_file(Path("scores.parquet"), LAION.name, "gpt", data_dir=data)
    assert (result["task"], result["data"]["rows"]) == (LAION.name, 3)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (score_table(22), r"row 22 occurs 0 times; crepe/laion_uc_hnatom has rows 0 to 22, each is expected once\."),
        (score_table(23, scores=4), "row 0: 4 scores, 5 expected"),
        (pa.table({"row": [0]}), "no column 'scores'; it has row"),
        (score_table(24), "row 23 occurs 1 times"),
        (pa.concat_tables([score_table(23), score_table(1)]), "row 0 occurs 2 times"),
        (pa.table({"row": range(23), "scores": [None, *[[1.0] * 5] * 22]}), "row 0: 0 scores, 5 expected"),
        (pa.table({"row": range(23), "scores": [["a"] * 5] * 23}), "the column 'scores' is not lists of numbers"),
    ],
)
def test_scores_that_do_not_fit(here: Path, data: Path, table: pa.Table, message: str):
    pq.write_table(table, "scores.parquet")
    with pytest.raises(ValueError, match=message):
        score_file(Path("scores.parquet"), LAION.name, "gpt", data_dir=data)


def test_the_code_fingerprint_covers_every_model_and_protocol():
    files = {path.name for path in list_code_files(Path(compose.__file__))}
    assert {"openclip.py", "prefix_forest.py", "huggingface.py", "choice.py", "group.py", "crops.py"} <= files
