"""The readers of published formats, on rows written by hand."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from loaders.benchmarks import imagecode, naturalbench
from loaders.importing.importing import read_file
from loaders.published.rows import Row, read_items


def read(folder: Path, name: str, content: object) -> list[Row]:
    (folder / name).write_text(json.dumps(content))
    return read_file(folder / name)[1]


def test_sugarcrepe_pp_is_told_from_sugarcrepe_by_its_second_caption(tmp_path: Path):
    item = {"id": 3, "filename": "000000000007.jpg", "caption": "a b", "negative_caption": "b a"}
    assert read(tmp_path, "swap_obj.json", {"0": item}) == [
        Row("swap_obj", ("000000000007.jpg",), ("a b",), ("b a",), swaps=True)
    ]
    assert read(tmp_path, "swap_obj.json", [item | {"caption2": "b and a"}]) == [
        Row("swap_obj", ("000000000007.jpg",), ("a b", "b and a"), ("b a",), swaps=True)
    ]


def test_cola_pairs_captions_with_images(tmp_path: Path):
    item = ["https://example.org/vg/12.jpg", "red cup", "https://example.org/vg/7.jpg", "blue cup"]
    name = "COLA_multiobjects_matching_benchmark.json"
    assert read(tmp_path, name, [item, item[:3]]) == [
        Row("multi_object", ("12.jpg", "7.jpg"), ("red cup", "blue cup"), image_id="0")
    ]


def test_imagecode_puts_the_described_image_first(tmp_path: Path):
    sets = {"video-x": {"2": "a cat", "10": "a dog"}, "open-images-1": {"0": "a hat"}, "../x": {"1": "y"}, "bad": []}
    rows = read(tmp_path, "valid_data.json", sets)
    assert [row.images[:4] for row in rows] == [
        ("video-x/2", "video-x/0", "video-x/1", "video-x/3"),
        ("open-images-1/0", "open-images-1/1", "open-images-1/2", "open-images-1/3"),
    ]
    assert [row.categories[0][1] for row in rows] == ["video", "static"]
    assert all(len(set(row.images)) == 10 for row in rows)


@pytest.mark.parametrize(("index", "frame"), [(0, 0), (1, 2), (9, 100)])
def test_imagecode_indexes_frames_in_numerical_order(tmp_path: Path, index: int, frame: int):
    (tmp_path / "video-x").mkdir()
    for number in (0, 2, 3, 5, 7, 11, 13, 17, 19, 100):
        Image.new("RGB", (2, 2)).save(tmp_path / "video-x" / f"img{number}.jpg")
    assert imagecode.select(tmp_path, f"video-x/{index}") == tmp_path / "video-x" / f"img{frame}.jpg"
    (tmp_path / "video-x" / "img100.jpg").unlink()
    assert imagecode.select(tmp_path, f"video-x/{index}") is None


def read_table(folder: Path, name: str, items: list[dict]) -> list[Row]:
    """Write a table in which every image cell contains bytes, and read its rows."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [
        {key: {"bytes": value, "path": None} if isinstance(value, bytes) else value for key, value in item.items()}
        for item in items
    ]
    table = pa.Table.from_pylist(cells)
    if path.suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    else:
        pq.write_table(table, path)
    return read_file(path)[1]


def test_tables_of_the_same_name_are_told_apart_by_their_columns(tmp_path: Path):
    swap = {"id": 3, "image_1": b"", "image_2": b"", "caption_1": "a red cup", "caption_2": "b", "image_source": "x"}
    assert read_table(tmp_path, "test-00000-of-00001.parquet", [swap]) == [
        Row("main", ("test-00000-of-00001/000000_image_1", "test-00000-of-00001/000000_image_2"), ("a red cup", "b"),
            image_id="3")
    ]  # fmt: skip
    assert read_table(tmp_path, "train-00000-of-00001.parquet", [swap])[0].split == "train"
    change = {"image_0": b"", "text_0": "one cat", "image_1": b"", "text_1": "two cats", "category": "counting"}
    for name in ("data-00000-of-00001.arrow", "default/test/0000.parquet"):
        (row,) = read_table(tmp_path, name, [change])
        assert (row.captions, row.categories) == (("one cat", "two cats"), (("category", "counting"),))
        assert row.images == tuple(f"{Path(name).stem}/000000_image_{place}" for place in (0, 1))


def test_naturalbench_pairs_answers_with_images(tmp_path: Path):
    item = {"Question_0": "Is it red?", "Question_1": "Is it blue?", "Image_0": b"", "Image_1": b""}
    answers = dict(zip(naturalbench.ANSWERS, ("Yes", "No", "No", "Yes"), strict=True))
    rows = read_table(tmp_path, "train-00000-of-00003.parquet", [item | answers | {"Question_Type": "yes_no"}])
    suffix = "Please answer Yes or No."
    assert rows == [
        Row(
            "main",
            ("train-00000-of-00003/000000_Image_0", "train-00000-of-00003/000000_Image_1"),
            (
                f"Is it red?{suffix} Yes",
                f"Is it red?{suffix} No",
                f"Is it blue?{suffix} No",
                f"Is it blue?{suffix} Yes",
            ),
            categories=(("type", "yes/no"),),
        )
    ]
    lines = [
        ["Q?", "1.jpg", "A", "mcq"],
        ["Q?", "2.jpg", "B", "mcq"],
        ["R?", "1.jpg", "B", "mcq"],
        ["R?", "2.jpg", "A", "mcq"],
    ]
    same = [[*line[:2], "A", "mcq"] for line in lines]
    (row,) = read(tmp_path, "test_set.json", lines + same + lines[:2])
    assert (row.config, row.images, row.captions) == (
        "finetuning_test",
        ("1.jpg", "2.jpg"),
        ("Q? A", "Q? B", "R? B", "R? A"),
    )


def test_eqben_takes_the_subset_from_the_folder_of_the_image(tmp_path: Path):
    items = [
        {"image0": "eqbenag/v1/0.png", "image1": "eqbenag/v1/1.png", "caption0": ["a", "x"], "caption1": ["b"]},
        {"image0": "eqbenkubric_cnt/3/0.png", "image1": "eqbenkubric_cnt/3/1.png", "caption0": "c", "caption1": "d"},
        {"image0": "eqbenyoucook2/v/0.npy", "image1": "eqbenyoucook2/v/1.npy", "caption0": "c", "caption1": "d"},
        {"image0": "other/0.png", "image1": "other/1.png", "caption0": "c", "caption1": "d"},
    ]
    (tmp_path / "private_info_global.json").write_text(json.dumps(items))
    counts, rows = read_file(tmp_path / "private_info_global.json")
    assert rows == [
        Row("ag", ("eqbenag/v1/0.png", "eqbenag/v1/1.png"), ("a", "b"), image_id="eqbenag/v1"),
        Row(
            "kubric_cnt",
            ("eqbenkubric_cnt/3/0.png", "eqbenkubric_cnt/3/1.png"),
            ("c", "d"),
            image_id="eqbenkubric_cnt/3",
        ),
    ]
    assert counts.dropped == {
        "the frames are NumPy arrays, not images": 1,
        "the first folder of the image is not a subset": 1,
    }


def test_mmvp_pairs_consecutive_statements(tmp_path: Path):
    (tmp_path / "Questions.csv").write_text(
        "Question ID,Type,Statement\n1,Texts,a sign\n2,Texts,no sign\n3,Texts,a\n5,Texts,b\n"
        "7,../x,a\n8,../x,b\n9,Texts,a\n"
    )
    counts, rows = read_file(tmp_path / "Questions.csv")
    assert rows == [
        Row("main", ("Texts/1.jpg", "Texts/2.jpg"), ("a photo of a sign", "a photo of no sign"), image_id="1",
            categories=(("visual pattern", "Texts"),))
    ]  # fmt: skip
    assert (counts.read, sum(counts.dropped.values())) == (4, 3)


def test_spec_puts_the_truth_first(tmp_path: Path):
    (tmp_path / "existence").mkdir()
    texts = {"query": "3.jpg", "keys": ["a cat", "no cat"], "label": 1}
    assert read(tmp_path, "existence/image2text.json", [texts, texts | {"label": 2}]) == [
        Row("existence_i2t", ("existence/3.jpg",), ("no cat",), ("a cat",))
    ]
    images = {"query": "a cat", "keys": ["3.jpg", "4.jpg"], "label": 0}
    assert read(tmp_path, "existence/text2image.json", [images]) == [
        Row("existence_t2i", ("existence/3.jpg", "existence/4.jpg"), ("a cat",))
    ]


def test_conme_joins_a_question_and_its_answers(tmp_path: Path):
    path = tmp_path / "replace-att_HUMAN_FILTER.csv"
    path.write_text("image_path,question,correct,neg\nval2017/1.jpg,What is it?,A cup,A hat\n")
    assert read_file(path)[1] == [
        Row("replace_att_human_filter", ("val2017/1.jpg",), ("What is it? A cup",), ("What is it? A hat",))
    ]
    path.write_text("image,pos,new_neg\n1.jpg,a cup,a hat\n")
    assert read_file(path)[1][0].captions == ("a cup",)


def test_negbench_puts_the_truth_first(tmp_path: Path):
    path = tmp_path / "synthetic_mcq_llama3.1_rephrased.csv"
    path.write_text(
        "image_path,correct_answer,caption_0,caption_1,caption_2,caption_3,correct_answer_template\n"
        "data/a.png,1,p,q,r,s,hybrid\ndata/a.png,4,p,q,r,s,hybrid\n"
    )
    assert read_file(path)[1] == [
        Row("synthetic_mcq", ("data/a.png",), ("q",), ("p", "r", "s"), categories=(("template", "hybrid"),))
    ]


@pytest.mark.parametrize("size", [1, 2, 7, 1 << 20])
def test_items_of_a_json_list_are_read_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int):
    monkeypatch.setattr("loaders.published.rows.CHARACTERS_PER_READ", size)
    items = [{"a": "x]y", "b": [1, 2]}, 17, "[", [], None, {"c": "\u00e9"}]
    path = tmp_path / "items.json"
    for text in (json.dumps(items), json.dumps(items, indent=2) + "\n"):
        path.write_text(text)
        assert list(read_items(path)) == items
    path.write_text(" [ ] ")
    assert list(read_items(path)) == []
    for text in ("", '{"a": 1}', "[1, 2", "[1 2]", '[{"a": 1}, {"b"', "[1,]"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"items\.json: not a complete JSON list"):
            list(read_items(path))
