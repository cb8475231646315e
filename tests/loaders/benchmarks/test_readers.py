"""The readers of published formats, on rows written by hand."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from evaluators.protocols import authors
from loaders.benchmarks import countercurate, imagecode, naturalbench, whatsup
from loaders.datasets.load import load_dataset
from loaders.importing.importing import ImportedFile, import_files
from loaders.published.image_sets import COCO, SWIG, VISDIAL, VISUAL7W
from loaders.published.rows import Row
from tests.published_files import read_file


def read(folder: Path, name: str, content: object) -> list[Row]:
    return read_counts(folder, name, content)[1]


def read_counts(folder: Path, name: str, content: object) -> tuple[ImportedFile, list[Row]]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_file(path)


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
        Row("multi_object", ("12.jpg", "7.jpg"), ("red cup", "blue cup"), image_id="12_7")
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


def test_generated_images_of_negbench_are_told_apart(tmp_path: Path):
    lines = [f"data/{kind}/7_img.png,\"['a cup']\"" for kind in ("positive", "negative")]
    rows = read(tmp_path, "synthetic_retrieval_v1.csv", "\n".join(["filepath,captions", *lines]))
    assert [row.image_id for row in rows] == ["positive/7_img", "negative/7_img"]


def test_whatsup_names_the_last_word_about_one_object(tmp_path: Path):
    item = [7, "A photo of a counter top on the left", "A photo of a counter top on the right"]
    (row,) = read(tmp_path, "coco_qa_one_obj.json", [item])
    assert row.categories == (("preposition", "left"),)


def test_negbench_puts_the_truth_first(tmp_path: Path):
    path = tmp_path / "synthetic_mcq_llama3.1_rephrased.csv"
    path.write_text(
        "image_path,correct_answer,caption_0,caption_1,caption_2,caption_3,correct_answer_template\n"
        "data/a.png,1,p,q,r,s,hybrid\ndata/a.png,4,p,q,r,s,hybrid\n"
    )
    assert read_file(path)[1] == [
        Row("synthetic_mcq", ("data/a.png",), ("q",), ("p", "r", "s"), categories=(("template", "hybrid"),))
    ]


def valse(dataset: str, image: str, votes: int = 2) -> dict[str, Any]:
    return {"dataset": dataset, "image_file": image, "caption": "a", "foil": "b", "mturk": {"caption": votes}}


def test_valse_drops_what_the_annotators_rejected(tmp_path: Path):
    items = {
        "1": valse("visual7w", "v7w_1.jpg"),
        "2": valse("SWiG", "swinging_57.jpg", 3),
        "3": valse("VisDial_v1.0", "COCO_train2014_000000327694.jpg"),
        "4": valse("VisDial_v1.0", "VisualDialog_val2018_000000284024.jpg"),
        "5": valse("coco2017", "000000569030.jpg", 1),
        "6": valse("coco2017", "000000569030.jpg") | {"image_file": 7},
        "7": {"mturk": None},
    }
    counts, rows = read_counts(tmp_path, "actant-swap.json", items)
    assert rows[0] == Row("actant_swap", ("v7w_1.jpg",), ("a",), ("b",), swaps=True, image_set=VISUAL7W)
    assert [row.image_set for row in rows] == [VISUAL7W, SWIG, COCO, VISDIAL]
    assert counts.read == 7
    assert counts.dropped == {
        "fewer than 2 of three annotators chose the caption": 1,
        "a caption or name is not a text": 1,
        "fields are missing": 1,
    }


@pytest.mark.parametrize(
    ("name", "config", "source"),
    [
        ("Attribute/vaw/color.json", "attribute_color", "vaw"),
        ("Object/Location/swig_location/swig_tool/swig_tool_margin.json", "object_location_margin", "swig_tool"),
        ("Object/Size/vg_size/vg_obj_small.json", "object_size_small", "vg_obj"),
        ("Relation/vg/spatial.json", "relation_spatial", "vg"),
        ("Relation/swig_action.json", "relation_action", "swig"),
    ],
)
def test_vl_checklist_uses_the_first_caption_of_a_side(tmp_path: Path, name: str, config: str, source: str):
    item = ["VG_100K/1.jpg", {"POS": ["a", "c"], "NEG": [" b", "d"]}]
    assert read(tmp_path, name, [item, ["VG_100K/2.jpg", {"POS": [], "NEG": ["b"]}]]) == [
        Row(
            config, ("VG_100K/1.jpg",), ("a",), (" b",), categories=(("source", source.split("_")[0]), ("part", source))
        )
    ]


def test_files_of_two_sources_are_one_config(tmp_path: Path):
    for source, negatives in {"vg": ["b"], "vaw": ["c", "d"]}.items():
        read(tmp_path, f"Attribute/{source}/color.json", [["1.jpg", {"POS": ["a"], "NEG": [n]}] for n in negatives])
    Image.new("RGB", (2, 2)).save(tmp_path / "1.jpg")
    files = [tmp_path / f"Attribute/{source}/color.json" for source in ("vg", "vaw")]
    counts = import_files(files, tmp_path, tmp_path / "data")
    assert {entry.file: entry.written for entry in counts} == {
        "Attribute/vg/color.json": {"attribute_color/test": 1},
        "Attribute/vaw/color.json": {"attribute_color/test": 2},
    }
    rows = load_dataset("vl_checklist", "attribute_color", "test", data_dir=tmp_path / "data").to_list()
    assert [(row["hard_negatives"], row["categories"][0]["name"]) for row in rows] == [
        (["b"], "vg"),
        (["c"], "vaw"),
        (["d"], "vaw"),
    ]
    copy = tmp_path / "copy" / "Attribute" / "vg"
    copy.mkdir(parents=True)
    (copy / "color.json").write_bytes(files[0].read_bytes())
    with pytest.raises(ValueError, match="are both attribute_color/test of vl_checklist"):
        import_files([files[0], copy / "color.json"], tmp_path, tmp_path / "other")


def hard_positive(caption: str, negative: str = "n") -> dict[str, str]:
    return {"image_id": "5", "true_caption": caption, "false_caption": negative, "image_path": "data/VG_100K/5.jpg"}


def test_hard_positives_are_in_a_second_file(tmp_path: Path):
    name = "vl_checklist_attributes.json"
    with pytest.raises(ValueError, match="the hard positives are missing"):
        read(tmp_path, f"data/{name}", [hard_positive("a"), hard_positive("b")])
    (tmp_path / "swapped_data").mkdir()
    (tmp_path / "swapped_data" / name).write_text(json.dumps([hard_positive("c"), hard_positive("d", "m")]))
    counts, rows = read_counts(tmp_path, f"data/{name}", [hard_positive("a"), hard_positive("b")])
    assert rows == [Row("replace_attribute", ("data/VG_100K/5.jpg",), ("a", "c"), ("n",), image_id="5")]
    assert counts.dropped == {"the hard positive belongs to another row": 1}
    with pytest.raises(ValueError, match="2 rows; expected 1"):
        read(tmp_path, f"data/{name}", [hard_positive("a")])
    with pytest.raises(ValueError, match="not recognised"):
        read_file(tmp_path / "swapped_data" / name)


def test_predicate_noun_joins_two_rows(tmp_path: Path):
    first = {"img_filename": "a.jpg", "open_images_split": "train", "pos": "object"}
    first |= {"sentence_target": "s", "sentence_distractor": "t"}
    second = first | {"img_filename": "b.jpg", "sentence_target": "t", "sentence_distractor": "s"}
    counts, rows = read_counts(tmp_path, "eval_set.json", [first, second, first, first, first])
    assert rows == [
        Row("main", ("train/a.jpg", "train/b.jpg"), ("s", "t"), categories=(("part that differs", "object"),))
    ]
    assert counts.dropped == {"the two rows of a pair do not mirror each other": 1, "fields are missing": 1}


def test_comvg_and_svo_probes_choose_between_two_images(tmp_path: Path):
    header = "id,sentence,pos_triplet,neg_triplet,pos_image_id,neg_image_id,neg_value,sentence_id\n"
    line = "1,a man eats.,\"man,eat,pie\",\"('man', 'cut', 'pie')\",12,7,{},4\n"
    counts, rows = read_counts(tmp_path, "ComVG.csv", header + line.format("verb") + line.format("noun"))
    assert rows == [Row("verb", ("12.jpg", "7.jpg"), ("a man eats.",))]
    assert counts.dropped == {"the part that differs is not one of subject, verb, object": 1}
    header = "sentence,pos_image_id,neg_image_id,subj_neg,verb_neg,obj_neg\n"
    lines = "A man eats.,12,7,False,False,True\nA man eats.,12,7,True,True,False\n"
    counts, rows = read_counts(tmp_path, "svo_probes.csv", header + lines)
    assert rows == [Row("object", ("12.jpg", "7.jpg"), ("A man eats.",))]
    assert counts.dropped == {"the negative is not of exactly one type": 1}


def controlled(preposition: str, objects: str = "mug_{}_table") -> dict[str, Any]:
    options = [f"A mug {word} a table" for word in ("on", "under", "left_of", "right_of")]
    options.sort(key=lambda option: preposition not in option)
    return {"image_path": f"data/controlled_images/{objects.format(preposition)}.jpeg", "caption_options": options}


def test_whatsup_sets(tmp_path: Path):
    items = [controlled(preposition) for preposition in ("on", "right_of", "under", "left_of")]
    items += [controlled("on", "cup_{}_tv"), {"image_path": "data/controlled_images/x.jpeg"}]
    counts, rows = read_counts(tmp_path, "controlled_images_dataset.json", items)
    order = ("left_of", "right_of", "on", "under")
    assert rows == [
        Row(
            "controlled_a",
            tuple(f"data/controlled_images/mug_{preposition}_table.jpeg" for preposition in order),
            tuple(f"A mug {preposition} a table" for preposition in order),
            image_id="mug_table",
        )
    ]
    assert counts.dropped == {"the set does not have one image for each preposition": 1, "fields are missing": 1}


def test_whatsup_pairs(tmp_path: Path):
    item = [285, "A photo of a bench to the left of a dog", "A photo of a bench to the right of a dog"]
    assert read(tmp_path, "coco_qa_two_obj.json", [item, [285, 1, 2], [285]]) == [
        Row("coco_qa_two_obj", ("000000000285.jpg",), (item[1],), (item[2],), categories=(("preposition", "left"),))
    ]
    item = [713090, "A photo of a dog on the top", "A photo of a dog on the bottom"]
    assert read(tmp_path, "vg_qa_one_obj.json", [item])[0].images == ("713090.jpg",)


def test_whatsup_authors_count_a_tie_as_a_hit():
    # Set 0: all scores are equal, so all four images are hits. Set 1: image 1 prefers caption 3, a loss of its pair.
    score_NIT = np.zeros((2, 4, 4))
    score_NIT[1, 1, 3] = 1
    rule = whatsup.BENCHMARK.find_authors_rule("controlled_a")
    assert rule
    accuracy = {name: metrics.summarise()["accuracy"] for name, metrics in authors.evaluate(rule, score_NIT).items()}
    assert accuracy == {"authors": 7 / 8, "authors_pair": 3 / 4, "authors_set": 1 / 2}
    rule = whatsup.BENCHMARK.find_authors_rule("vg_qa_one_obj")
    assert rule
    assert rule.hits(np.array([[[0.5, 0.5]], [[0.5, 0.6]]]))[""].tolist() == [True, False]


def test_countercurate_counts_each_choice(tmp_path: Path):
    table = "captions\timages\tneg_captions\tneg_images\na\t./train_data/up_down/pos/1.jpg\tb\t/x/up_down/neg/1.png\n"
    assert read(tmp_path, "test_up_down_.csv", table) == [
        Row("up_down", ("up_down/pos/1.jpg", "up_down/neg/1.png"), ("a", "b"))
    ]
    # The first image chooses its caption, the second has a tie.
    hits = countercurate.count_choices(np.array([[[0.9, 0.1], [0.5, 0.5]]]))
    assert hits[""].tolist() == [[True, False]]


class Code:
    """Executes code when it is unpickled."""

    def __reduce__(self):
        return print, ("executed",)


def test_ccneg_is_read_without_executing_code(tmp_path: Path, capsys: pytest.CaptureFixture):
    path = tmp_path / "ccneg_preprocessed.pt"
    annotation = {"json": {"caption": "a dog"}, "sop_data": {"negative-prompt": "a dog, not a cat"}}
    data = {"image_paths": ["/home/x/1.jpg", "2.jpg"], "annotations": [annotation, {"json": {}}]}
    torch.save(data, path)
    counts, rows = read_file(path)
    assert rows == [Row("main", ("1.jpg",), ("a dog",), ("a dog not a cat",))]
    assert counts.dropped == {"fields are missing": 1}
    torch.save({"image_paths": ["1.jpg"], "annotations": []}, path)
    with pytest.raises(ValueError, match="expected image_paths and as many annotations"):
        read_file(path)
    for content in (pickle.dumps(Code()), b"PK\x03\x04", b"", b"text"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"ccneg_preprocessed\.pt: cannot be read without executing code"):
            read_file(path)
    torch.save(Code(), path)
    with pytest.raises(ValueError, match="cannot be read without executing code"):
        read_file(path)
    assert "executed" not in capsys.readouterr().out
