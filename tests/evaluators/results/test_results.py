import errno
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from compeval.base.pipeline.code_digest import list_code_files
from compeval.evaluators import models
from compeval.evaluators.engine.tasks import Task
from compeval.evaluators.results import compose, documents
from compeval.evaluators.results.compare import (
    Comparison,
    compare,
    compare_categories,
    correct_p_values,
    measure_sensitivity,
    rank_models,
    summarise,
)
from compeval.evaluators.results.external import score_file
from compeval.evaluators.results.paired import PairedValues
from compeval.evaluators.run import EvaluationOptions, run
from tests.close import assert_close
from tests.evaluators import tiny
from tests.evaluators.engine.test_faults import raising

LAION = Task("crepe", "laion_uc_hnatom")
FOLDER = "results/microworld/"


def run_toy(name: str, data: Path, **options: object) -> Path:
    run(
        models.load_model(f"python:toy_models:{name}"),
        [LAION],
        EvaluationOptions(data_dir=data, **options),  # pyright: ignore
    )
    return Path(f"{FOLDER}{name}")


def test_result_document(here: Path, data: Path):
    path = run_toy("Knows", data) / "crepe/laion_uc_hnatom.json"
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
        "corpus_source": "web",
        "contaminated": None,
        "text_encoder": None,
    }
    assert result["synthetic"]
    assert "the training data of Knows is not known" in result["warnings"][0]
    assert str(here) not in path.read_text(encoding="utf-8")


def test_a_damaged_result_is_replaced(here: Path, data: Path):
    path = run_toy("Knows", data) / "crepe/laion_uc_hnatom.json"
    content = path.read_bytes()
    path.write_bytes(content[:100])
    with pytest.raises(ValueError, match=f"{path}: not a result document"):
        documents.read(path)
    run_toy("Knows", data)
    assert path.read_bytes() == content


def test_a_result_on_the_same_rows_gets_the_version_of_the_dataset(here: Path, data: Path):
    path = run_toy("Knows", data) / "crepe/laion_uc_hnatom.json"
    content = path.read_bytes()
    examples = path.with_suffix(".parquet").read_bytes()
    version = documents.read(path)["data"]["version"]
    path.write_bytes(content.replace(version.encode(), b"earlier"))
    run_toy("Knows", data)
    assert path.read_bytes() == content
    assert path.with_suffix(".parquet").read_bytes() == examples


def test_an_interrupted_write_leaves_no_complete_result(
    here: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    """If the write of a new result stops between its two files, the old document is not a complete result any more."""
    folder = run_toy("Knows", data)
    path = folder / "crepe/laion_uc_hnatom.json"
    old, table = documents.read(path), pq.read_table(path.with_suffix(".parquet"))
    monkeypatch.setattr(Path, "write_text", raising(errno.ENOSPC))
    with pytest.raises(ValueError, match="the result cannot be written"):
        documents.write(path, old | {"warnings": ["new"]}, table.slice(1))
    assert pq.read_table(path.with_suffix(".parquet")).num_rows == 22
    assert documents.read_if_finished(path, old) is None


def test_error_for_another_schema(tmp_path: Path):
    (tmp_path / "old.json").write_text(json.dumps({"schema": 0}), encoding="utf-8")
    with pytest.raises(ValueError, match="not a result document of schema 1"):
        documents.read(tmp_path / "old.json")


def test_error_for_an_output_that_cannot_be_written(here: Path, data: Path):
    Path("file").write_text("", encoding="utf-8")
    with pytest.raises(
        ValueError,
        match=r"file/.*the result cannot be written \(Not a directory\). Free some space or choose another --output",
    ):
        run_toy("Knows", data, output=Path("file"))


def test_compare(here: Path, data: Path):
    line, pairs = compare(run_toy("Constant", data), run_toy("Knows", data))
    # Constant is always wrong and Knows is always right: only b is right on 23 rows, so p = 2 * (1/2)^23.
    assert (line.task, line.metric, line.rows) == ("crepe/laion_uc_hnatom", "recall@1", 23)
    assert (line.a, line.b, line.difference) == (0.0, 1.0, 1.0)
    # The 12 images count as rows: (13 - 1) / 14 - 1.95996 * sqrt((1 - (12/14)^2) / 14) = 0.5873.
    assert_close(line.interval, (0.5873, 1.0), within=5e-5)
    assert_close([line.mcnemar, line.mcnemar_holm], [2**-22, 2**-22])
    assert line.wilcoxon is not None
    assert line.wilcoxon < 1e-4
    assert json.dumps(line._asdict())
    # A pair with equal scores is wrong. The test of the pairs is that of the ranks.
    assert (pairs.metric, pairs.a, pairs.b, pairs.interval, pairs.mcnemar) == (
        "pairwise",
        0,
        1,
        line.interval,
        None,
    )


def make_pair(task: str, hits: list[list[bool]]) -> PairedValues:
    images = np.arange(len(hits[0]))
    return PairedValues(f"set/{task}", "recall@1", ["a", "b"], np.array(hits), images, 0.5)


def test_the_mean_of_tasks_without_a_difference_is_narrower_than_each_task():
    """Bonett and Price: of 100 rows, half the width is 1.96 * (2 / 102 / 102) ** 0.5 = 0.0272; of two tasks, 0.0192."""
    same = [[True] * 50 + [False] * 50] * 2
    mean = summarise([make_pair("first", same), make_pair("second", same)])
    assert (mean.task, mean.rows, mean.difference) == ("mean over 2 tasks", 200, 0)
    assert_close(mean.interval, (-0.01922, 0.01922), within=1e-5)


def test_the_mean_of_tasks_that_share_their_images_is_no_narrower():
    """The tasks differ on the same 20 of 100 images: two tasks say no more than one."""
    differ = [[True] * 60 + [False] * 40, [True] * 40 + [False] * 60]
    mean = summarise([make_pair("first", differ), make_pair("second", differ)])
    # The mean difference is -0.2, of variance 0.2 - 0.2 ** 2 over 99 degrees of freedom.
    half = 1.95996 * (0.16 / 99) ** 0.5
    assert_close(mean.interval, (-0.2 - half, -0.2 + half), within=1e-5)


def test_each_test_is_corrected_over_all_lines():
    lines = [
        Comparison(str(p), "a", "b", "recall@1", 1, 0, 1, 1, (0, 1), p, 2 * p)
        for p in (0.01, 0.04, 0.03)
    ]
    # The sorted p-values .01, .03, .04 are multiplied by 3, 2, 1. Then .04 is raised to .06 to keep the order.
    corrected = correct_p_values(lines)
    assert_close([line.mcnemar_holm for line in corrected], [0.03, 0.06, 0.06])
    assert_close([line.wilcoxon_holm for line in corrected], [0.06, 0.12, 0.12])


def test_ranking_of_three_models(here: Path, data: Path):
    pq.write_table(make_score_table(23), "scores.parquet")
    score_file(Path("scores.parquet"), LAION.name, "also", data_dir=data)
    folders = [run_toy("Constant", data), run_toy("Knows", data), Path(f"{FOLDER}also")]
    lines = rank_models(folders)
    # On 12 images, Constant is worse than both others; those are equal, so they share the first rank.
    assert [(line.model, line.rank, line.share) for line in lines] == [
        ("Knows", 1, 1),
        ("also", 1, 1),
        ("Constant", 3, 0),
    ]
    assert_close(lines[0].p, {"Constant": 3 * 2**-11, "also": 1.0})
    with pytest.raises(ValueError, match="Two models are named Knows"):
        rank_models([folders[1], folders[1]])
    (line,) = measure_sensitivity(folders[0], folders[1], 0.05, 0.8)
    # 12 images.
    assert (line.rows, line.disagreement, round(line.design_effect, 2)) == (
        23,
        1.0,
        1.92,
    )


def test_effects_by_category(tmp_path: Path):
    def write(name: str, ranks: list[int]) -> Path:
        document = {
            "schema": 1,
            "task": "aro/r",
            "model": {"name": name},
            "data": {"fingerprint": "d"},
            "main": ["r"],
        }
        (tmp_path / name).mkdir()
        (tmp_path / name / "r.json").write_text(json.dumps(document), encoding="utf-8")
        categories = [[{"by": "relation", "name": "on" if row < 8 else "in"}] for row in range(12)]
        rows = {
            "row": range(12),
            "image_id": [str(row) for row in range(12)],
            "categories": categories,
            "rank": ranks,
        }
        pq.write_table(pa.table(rows), tmp_path / name / "r.parquet")
        return tmp_path / name

    on, within = compare_categories(write("a", [2] * 12), write("b", [1] * 8 + [2] * 4))
    assert (on.category, on.rows, on.a, on.b, on.g) == ("on", 8, 0.0, 1.0, 0.5)
    assert (within.category, within.g, within.p) == ("in", None, 1.0)
    assert_close(on.p, 2 * 2**-7)  # 2 / 2^8, times two categories
    # (9 - 1) / 10 - 1.95996 * sqrt((1 - 0.64) / 10)
    assert_close(on.interval[0], 0.8 - 1.95996 * 0.036**0.5, within=5e-6)


def test_error_for_results_on_different_data(here: Path, data: Path):
    complete, part = run_toy("Knows", data), Path("part")
    run_toy("Knows", data, limit=4, output=part)
    with pytest.raises(
        ValueError,
        match=r"different data \(.*, 23 rows against .*, 4 rows\). Run both models again",
    ):
        compare(complete, part)


def test_errors_for_missing_results(here: Path, data: Path):
    knows = run_toy("Knows", data)
    with pytest.raises(FileNotFoundError, match="nowhere: no such result"):
        compare(knows, Path("nowhere"))
    Path("empty").mkdir()
    with pytest.raises(ValueError, match="empty: no result documents"):
        compare(knows, Path("empty"))


def test_result_that_another_process_is_replacing(
    here: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its document is missing for a moment, after the folder was listed."""
    folder = run_toy("Knows", data)
    (document,) = documents.list_documents(folder)
    expected = document.read_bytes()
    document.unlink()
    monkeypatch.setattr(documents, "list_documents", lambda folder: [document])
    run_toy("Knows", data)
    assert document.read_bytes() == expected


def test_code_fingerprint_covers_models_and_protocols():
    files = {path.name for path in list_code_files(Path(compose.__file__))}
    assert {
        "openclip.py",
        "prefix_forest.py",
        "huggingface.py",
        "choice.py",
        "group.py",
        "crops.py",
    } <= files


def make_score_table(num_rows: int, num_scores: int = 5) -> pa.Table:
    return pa.table(
        {"row": list(range(num_rows)), "scores": [[1.0, *[0.5] * (num_scores - 1)]] * num_rows}
    )


FORMS_OF_SCORES = {
    "scores.csv": ("row,scores\n", '{},"[1.0, 0.5, 0.5, 0.5, 0.5]"\n'),
    "scores.tsv": ("row\tscores\n", "{}\t1 .5 .5 .5 .5\n"),
    "scores.jsonl": ("", '{{"row": {}, "scores": [1, 0.5, 0.5, 0.5, 0.5]}}\n'),
}


def test_scores_of_another_program(here: Path, data: Path):
    pq.write_table(make_score_table(23), "scores.parquet")
    result = score_file(Path("scores.parquet"), LAION.name, "gpt", data_dir=data)
    assert result["metrics"]["recall@1"] == 1.0
    assert documents.read(Path("results/microworld/gpt/crepe/laion_uc_hnatom.json")) == result
    for name, (header, line) in FORMS_OF_SCORES.items():
        Path(name).write_text(
            header + "".join(line.format(row) for row in reversed(range(23))), encoding="utf-8"
        )
        assert score_file(Path(name), LAION.name, "gpt", data_dir=data) == result


def test_task_name_selects_the_task_without_its_variants(here: Path, tmp_path: Path):
    splits = {"test": tiny.choice_rows(3), "test.shuffled.s0": tiny.choice_rows(2)}
    data = tiny.write_dataset(tmp_path / "variants", {"laion_uc_hnatom": splits})
    pq.write_table(make_score_table(3), "scores.parquet")
    result = score_file(Path("scores.parquet"), LAION.name, "gpt", data_dir=data)
    assert (result["task"], result["data"]["rows"]) == (LAION.name, 3)


NOT_UTF8 = pa.Array.from_buffers(
    pa.string(),
    1,
    [None, pa.py_buffer(np.array([0, 1], dtype=np.int32).tobytes()), pa.py_buffer(b"\xff")],
)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "parquet",
            make_score_table(22),
            r"row 22 occurs 0 times; .* has rows 0 to 22, and each must occur once\.",
        ),
        ("parquet", make_score_table(23, num_scores=4), "row 0: 4 scores; expected 5"),
        ("parquet", pa.table({"row": [0]}), "no column 'scores'; it has row"),
        ("parquet", make_score_table(24), "row 23 occurs 1 times"),
        (
            "parquet",
            pa.concat_tables([make_score_table(23), make_score_table(1)]),
            "row 0 occurs 2 times",
        ),
        (
            "parquet",
            pa.table({"row": [0], "scores": pa.nulls(1)}),
            "line 1: scores 'None' are not a list of numbers",
        ),
        (
            "parquet",
            pa.table({"row": [0], "scores": [["a"] * 5]}),
            "line 1: scores .* are not a list of finite",
        ),
        (
            "parquet",
            pa.table({"row": [0], "scores": NOT_UTF8}),
            "scores.parquet: contains a text that is not in UTF-8",
        ),
        (
            "parquet",
            "row,scores\n0,1\n",
            r"scores.parquet: not in Parquet format\. Other formats: .csv",
        ),
        (
            "csv",
            "row,scores\n0,[1; x]\n",
            r"scores.csv, line 2: scores .* are not a list of finite numbers",
        ),
        ("csv", "row,scores\n0.5,1 2\n", r"scores.csv, line 2: row '0.5' is not a whole number"),
        ("csv", "row,score\n0,1\n", r"scores.csv: no column"),
        (
            "jsonl",
            "[0, [1.0]]\n",
            r"scores.jsonl, line 1: not a JSON object with `row` and `scores`",
        ),
        (
            "jsonl",
            '{"row": 0, "scores": [1, NaN]}',
            r"line 1: scores '\[1, nan\]' are not a list of finite",
        ),
        (
            "jsonl",
            '{"row": 0, "scores": [true]}',
            r"line 1: scores '\[True\]' are not a list of numbers",
        ),
        ("jsonl", "{", r"scores.jsonl, line 1: not JSON"),
        (
            "jsonl",
            f'{{"row": 0, "scores": [{10**400}]}}',
            r"scores.jsonl, line 1: .* not a list of finite",
        ),
        (
            *("jsonl", '{"row": 0, "scores": [1]}\n{"row": 1, "scores": [1' + "0" * 5000 + "]}"),
            r"scores.jsonl, line 2: not JSON \(Exceeds the limit",
        ),
        ("npy", "", r"scores.npy: unknown file type; supported: .parquet, .csv, .tsv, .jsonl"),
    ],
)
def test_errors_for_files_of_scores(
    here: Path, data: Path, name: str, content: pa.Table | str, message: str
):
    path = Path(f"scores.{name}")
    pq.write_table(content, path) if isinstance(content, pa.Table) else path.write_text(
        content, encoding="utf-8"
    )
    with pytest.raises(ValueError, match=message) as error:
        score_file(path, LAION.name, "gpt", data_dir=data)
    assert "damaged" not in str(error.value)
    assert "elete" not in str(error.value)


def test_rows_with_the_same_picture_are_one_cluster():
    table = pa.table(
        {
            "row": [0, 1, 2, 3, 4],
            "image_id": ["a", "b", "b", "c", "d"],
            "crop_id": ["1", "1", "2", "2", "3"],
        }
    )
    assert compose.get_clusters(table).tolist() == ["a", "a", "a", "a", "d"]
    assert compose.get_clusters(table.drop_columns("crop_id")).tolist() == ["a", "b", "b", "c", "d"]
    pair = table.append_column("crop_id_1", table["crop_id"])
    assert compose.get_clusters(pair).tolist() == ["a", "b", "b", "c", "d"]
    assert compose.get_clusters(table.select(["row"])).tolist() == [0, 1, 2, 3, 4]
