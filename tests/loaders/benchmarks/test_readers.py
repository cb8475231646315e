"""The rows of published formats, on files written by hand."""

import base64
import io
import json
import pickle
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from compeval.base.schemas.scene_graph import Box
from compeval.evaluators.protocols import authors
from compeval.loaders.benchmarks import (
    bla,
    colorfoil,
    countercurate,
    crpe,
    hard_positives,
    imagecode,
    load,
    naturalbench,
    whatsup,
)
from compeval.loaders.importing import embedded
from compeval.loaders.importing.identify import identify
from compeval.loaders.importing.row_counts import ImportedFile
from compeval.loaders.importing.write_dataset import import_files
from compeval.loaders.load import load_dataset
from compeval.loaders.published.image_sets import COCO, SWIG, VISDIAL, VISUAL7W
from compeval.loaders.published.rows import Row, Unusable, find_option
from tests.published_files import list_leaves, make_rotations, read_file


class Case(NamedTuple):
    file: str
    content: object
    """Text, or the content of a JSON file."""
    rows: list[Row]
    dropped: Mapping[str, int] = MappingProxyType({})
    """Number of dropped rows by reason."""


def choice(config: str, image: str, caption: str, *negatives: str, **fields: Any) -> Row:
    return Row(config, (image,), (caption,), negatives, **fields)


def pair(config: str, images: str, captions: str, **fields: Any) -> Row:
    return Row(config, tuple(images.split()), tuple(captions.split("|")), **fields)


def table(header: str, *lines: str, separator: str = ",") -> str:
    return "".join(f"{line}\n" for line in (header.replace(" ", separator), *lines))


def make_valse(dataset: str, image: str, votes: int = 2) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "image_file": image,
        "caption": "a",
        "foil": "b",
        "mturk": {"caption": votes},
    }


def make_controlled(preposition: str, objects: str = "mug_{}_table") -> dict[str, Any]:
    options = [f"A mug {word} a table" for word in ("on", "under", "left_of", "right_of")]
    options.sort(key=lambda option: preposition not in option)
    return {
        "image_path": f"data/controlled_images/{objects.format(preposition)}.jpeg",
        "caption_options": options,
    }


SUGARCREPE = {"id": 3, "filename": "7.jpg", "caption": "a b", "negative_caption": "b a"}
MISSING = {"fields are missing": 1}
UNSAFE = (
    "'../x' cannot be used as a file name: it has to begin with a letter, a digit or an underscore, without slashes, "
    "and have at most 200 characters."
)
LEFT, RIGHT = (f"A photo of a bench to the {side} of a dog" for side in ("left", "right"))
PREDICATE = {"img_filename": "a.jpg", "open_images_split": "train", "pos": "object"}
PREDICATE |= {"sentence_target": "s", "sentence_distractor": "t"}
MIRRORED = PREDICATE | {"img_filename": "b.jpg", "sentence_target": "t", "sentence_distractor": "s"}
ARO = {
    "true_caption": "t",
    "false_caption": "f",
    "image_id": "2",
    "image_path": "2.jpg",
    "attributes": ["x", "y"],
}
ARO |= {f"bbox_{side}": 5 for side in "xywh"}
ATOM, COMP = [f"a{n}" for n in range(4)], [f"c{n}" for n in range(6)]
# fmt: off
CASES = [
    Case("swap_obj.json", {"0": SUGARCREPE}, [choice("swap_obj", "7.jpg", "a b", "b a", swaps=True)]),
    Case("swap_obj.json", [SUGARCREPE | {"caption2": "b and a"}],
         [Row("swap_obj", ("7.jpg",), ("a b", "b and a"), ("b a",), swaps=True)]),
    Case("swap_att.json", [SUGARCREPE, SUGARCREPE | {"filename": " "}],
         [choice("swap_att", "7.jpg", "a b", "b a", swaps=True)], {"an image has no name": 1}),
    Case("swap_att.json", [SUGARCREPE, *(SUGARCREPE | {key: value} for key, value in
                                         (("caption", None), ("negative_caption", 3), ("filename", ["x"])))],
         [choice("swap_att", "7.jpg", "a b", "b a", swaps=True)], {"a caption or name is not a text": 3}),
    Case("COLA_multiobjects_matching_benchmark.json",
         [["https://a.org/vg/12.jpg", "red", "https://a.org/vg/7.jpg", "blue"], ["https://a.org/1.jpg", "cup"]],
         [pair("multi_object", "12.jpg 7.jpg", "red|blue", image_id="12_7")],
         {"not enough values to unpack (expected 4, got 2)": 1}),
    Case("private_info_global.json",
         [{"image0": "eqbenag/v1/0.png", "image1": "eqbenag/v1/1.png", "caption0": ["a", "x"], "caption1": ["b"]},
          {"image0": "eqbensd/3/0.png", "image1": "eqbensd/3/1.png", "caption0": "c", "caption1": "d"},
          {"image0": "eqbenyoucook2/v/0.npy", "image1": "eqbenyoucook2/v/1.npy", "caption0": "c", "caption1": "d"},
          {"image0": "other/0.png", "image1": "other/1.png", "caption0": "c", "caption1": "d"}],
         [pair("ag", "eqbenag/v1/0.png eqbenag/v1/1.png", "a|b", image_id="eqbenag/v1"),
          pair("sd", "eqbensd/3/0.png eqbensd/3/1.png", "c|d", image_id="eqbensd/3")],
         {"the frames are NumPy arrays, not images": 1, "the first folder of the image is not a subset": 1}),
    Case("Questions.csv",
         table("Question_ID Type Statement", "1,Texts,a sign", "2,Texts,no sign", "3,Texts,a", "5,Texts,b", "7,../x,a",
               "8,../x,b", "9,Texts,a"),
         [pair("main", "Texts/1.jpg Texts/2.jpg", "a photo of a sign|a photo of no sign", image_id="1",
               categories=(("visual pattern", "Texts"),), changed=True)],
         {"the rows are not numbered 2k - 1 and 2k": 1, UNSAFE: 1, **MISSING}),
    Case("coco_pope_random.json",  # JSON Lines in a file of another suffix
         "".join(f'{{"question_id": 1, "image": "COCO_val2014_1.jpg", "text": "Is there {thing} in the image?", '
                 f'"label": "{label}"}}\n' for thing, label in (("a dog", "yes"), ("an ox", "no"), ("", 5))),
         [choice("coco_random", "COCO_val2014_1.jpg", f"There is {thing} in the image.", label=label, changed=True)
          for thing, label in (("a dog", 1), ("an ox", 0))], MISSING),
    Case("seem/gqa/gqa_pope_seem_popular.json",
         [{"question_id": 1, "image": "7.jpg", "text": "Is there a dog in the image?", "label": "no"}],
         [choice("gqa_popular", "7.jpg", "There is a dog in the image.", label=0, changed=True)]),
    Case("m_attributes_llava.jsonl",
         "".join(json.dumps({"img_path": "val2017/1.jpg", "bbox": box, "pos_expression": ["a red cup"],
                             "neg_expression": [f"a {n} cup" for n in range(count)]}) + "\n"
                 for box, count in (([1, 2, 3, 4], 10), ([1, 2, 0, 4], 10), ([1, 2, 3, 4], 2))),
         [choice("medium", "val2017/1.jpg", "a red cup", *(f"a {n} cup" for n in range(10)), box=Box(1, 2, 3, 4))],
         {"the box has no area": 1, "not one caption and 10 wrong ones": 1}),
    Case("Generic_VISLA.tsv",
         "filename\tcaption\tsecond positive\tnegative_caption\n1.jpg\ta\tb\tc\n1.jpg\ta\n",
         [Row("generic", ("1.jpg",), ("a", "b"), ("c",))], MISSING),
    Case("my_spatial.tsv",
         "image\tsent1\tsent2\tBest reference (Semantically close)\tReference-2 (Completely irrelevant)\n"
         "1.jpg\ta\tb\tc\td\n",
         [Row("spatial", ("1.jpg",), ("a", "b"), ("c",))]),
    Case("human_annotations_with_scores.json",
         {"coco_1_sd": {"text_id": "coco_1", "image_path": "coco_1_sd.jpg", "text": "a cup", "human_scores": [5, 4]},
          "coco_2_sd": {"text_id": "coco_2", "image_path": "coco_2_sd.jpg", "text": "a cup", "human_scores": None}},
         [choice("main", "coco_1_sd.jpg", "a cup", image_id="coco_1", label=9)], MISSING),
    Case("genai_image.json",
         {"00001": {"id": "00001", "prompt": "a cup", "models": {"DALLE_3": [5, 41, 4], "SDXL_Base": [3, 2, 2]}}},
         [choice("main", "SDXL_Base/00001.jpeg", "a cup", image_id="00001", categories=(("model", "SDXL_Base"),),
                 label=7)], {"a rating is not one of 1 to 5": 1}),
    Case("SeeTRUE.csv",
         table("image text label original_dataset_id dataset_source", "id_1.png,a cup,1,t1,drawbench",
               "id_2.png,a hat,0,t2,coco_t2i", "id_3.png,a hat,2,t2,coco_t2i", "id_4.png,a hat,0,t2,../x", "id_5.png"),
         [choice("drawbench", "id_1.png", "a cup", label=1), choice("coco_t2i", "id_2.png", "a hat", label=0)],
         {"the label is neither 0 nor 1": 1, UNSAFE: 1, **MISSING}),
    Case("data/examples.jsonl",  # Winoground's has the same name
         '{"id": "7_0", "image_0": "7_0_img_0", "image_1": "7_0_img_1", "caption_0": "a cat", "caption_1": "a dog"}\n',
         [pair("main", "7_0_img_0.jpg 7_0_img_1.jpg", "a cat|a dog", image_id="7")]),
    Case("mmvp/Questions.csv",  # MMVP-VLM's has the same name
         "Index,Question,Options,Correct Answer\n" + "".join(
             f"{n},Is it open or closed?,(a) Open (b) Closed,({answer})\n"
             for n, answer in ((1, "b"), (2, "a"), (3, "a"), (4, "a"), (5, "c"), (6, "a"), (8, "a"), (9, "a"))),
         [pair("main", "1.jpg 2.jpg", "Is it open or closed? Closed|Is it open or closed? Open", image_id="1",
               changed=True)],
         {"both images have the same answer": 1, "the rows are not numbered 2k - 1 and 2k": 1,
          "not two options (a) and (b), and the letter of one of them": 1}),
    Case("existence/image2text.json",
         [{"query": "3.jpg", "keys": ["a cat", "no cat"], "label": label} for label in (1, 2)],
         [choice("existence_i2t", "existence/3.jpg", "no cat", "a cat")],
         {"not 2 candidates and the number of one of them": 1}),
    Case("existence/text2image.json", [{"query": "a cat", "keys": ["3.jpg", "4.jpg"], "label": 0}],
         [pair("existence_t2i", "existence/3.jpg existence/4.jpg", "a cat")]),
    Case("replace-att_HUMAN_FILTER.csv",
         table("image_path question correct neg", "val2017/1.jpg,What is it?,A cup,A hat"),
         [choice("replace_att_human_filter", "val2017/1.jpg", "What is it? A cup", "What is it? A hat",
                 changed=True)]),
    Case("replace-rel.csv", table("image pos new_neg", "1.jpg,a,b", "2.jpg,a"),
         [choice("replace_rel", "1.jpg", "a", "b")], MISSING),
    Case("synthetic_retrieval_v1.csv",
         table("filepath captions", *(f"data/{kind}/7_img.png,\"['a cup']\"" for kind in ("positive", "negative"))),
         [choice("synthetic_retrieval_v1", f"data/{kind}/7_img.png", "a cup", image_id=f"{kind}/7_img")
          for kind in ("positive", "negative")]),
    Case("synthetic_mcq_llama3.1_rephrased.csv",
         table("image_path correct_answer caption_0 caption_1 caption_2 caption_3 correct_answer_template",
               "data/a.png,1,p,q,r,s,hybrid", "data/a.png,4,p,q,r,s,hybrid"),
         [choice("synthetic_mcq", "data/a.png", "q", "p", "r", "s", categories=(("template", "hybrid"),))],
         {"the correct answer is not one of 0 to 3": 1}),
    Case("actant-swap.json",
         {"1": make_valse("visual7w", "v7w_1.jpg"),
          "2": make_valse("SWiG", "swinging_57.jpg", 3),
          "3": make_valse("VisDial_v1.0", "COCO_train2014_1.jpg"),
          "4": make_valse("VisDial_v1.0", "VisualDialog_val2018_1.jpg"),
          "5": make_valse("coco2017", "000000569030.jpg", 1),
          "6": make_valse("coco2017", "000000569030.jpg") | {"image_file": 7},
          "7": {"mturk": None}},
         [choice("actant_swap", "v7w_1.jpg", "a", "b", swaps=True, image_set=VISUAL7W),
          choice("actant_swap", "swinging_57.jpg", "a", "b", swaps=True, image_set=SWIG),
          choice("actant_swap", "COCO_train2014_1.jpg", "a", "b", swaps=True, image_set=COCO),
          choice("actant_swap", "VisualDialog_val2018_1.jpg", "a", "b", swaps=True, image_set=VISDIAL)],
         {"fewer than 2 of three annotators chose the caption": 1, "a caption or name is not a text": 1, **MISSING}),
    *(Case(name, [["1.jpg", {"POS": ["a", "c"], "NEG": [" b", "d"]}], ["2.jpg", {"POS": [], "NEG": ["b"]}]],
           [choice(config, "1.jpg", "a", " b", categories=(("source", part.split("_")[0]), ("part", part)))], MISSING)
      for name, config, part in (
          ("Attribute/vaw/color.json", "attribute_color", "vaw"),
          ("Object/Location/swig_location/swig_tool/swig_tool_margin.json", "object_location_margin", "swig_tool"),
          ("Object/Size/vg_size/vg_obj_small.json", "object_size_small", "vg_obj"),
          ("Relation/vg/spatial.json", "relation_spatial", "vg"),
          ("Relation/swig_action.json", "relation_action", "swig"))),
    Case("eval_set.json", [PREDICATE, MIRRORED, PREDICATE, PREDICATE, PREDICATE],
         [pair("main", "train/a.jpg train/b.jpg", "s|t", categories=(("part that differs", "object"),))],
         {"the two rows of a pair do not mirror each other": 1, **MISSING}),
    Case("ComVG.csv",
         table("id sentence pos_image_id neg_image_id neg_value", "1,a man eats.,12,7,verb", "1,a man eats.,12,7,noun"),
         [pair("verb", "12.jpg 7.jpg", "a man eats.")],
         {"the part that differs is not one of subject, verb, object": 1}),
    Case("svo_probes.csv",
         table("sentence pos_image_id neg_image_id subj_neg verb_neg obj_neg",
               "A man eats.,12,7,False,False,True", "A man eats.,12,7,True,True,False"),
         [pair("object", "12.jpg 7.jpg", "A man eats.")],
         {"the negative is not of exactly one type": 1}),
    Case("random/dev.jsonl",
         '{"image": "1.jpg", "caption": "a", "label": 1, "relation": "on"}\n\n{"image": "1.jpg", "label": 2}\n',
         [choice("random", "1.jpg", "a", split="dev", label=1, categories=(("relation", "on"),))],
         {"the label is neither 0 nor 1": 1}),
    Case("controlled_images_dataset.json",
         [*map(make_controlled, ("on", "right_of", "under", "left_of")), make_controlled("on", "cup_{}_tv"),
          {"image_path": "data/controlled_images/x.jpeg"}],
         [Row("controlled_a",
              tuple(f"data/controlled_images/mug_{p}_table.jpeg" for p in ("left_of", "right_of", "on", "under")),
              tuple(f"A mug {p} a table" for p in ("left_of", "right_of", "on", "under")), image_id="mug_table")],
         {"the set does not have one image for each preposition": 1, **MISSING}),
    Case("coco_qa_two_obj.json", [[285, LEFT, RIGHT], [285, 1, 2], ["1", "", ""]],
         [choice("coco_qa_two_obj", "000000000285.jpg", LEFT, RIGHT, categories=(("preposition", "left"),))],
         {"fields are missing": 2}),
    Case("vg_qa_one_obj.json", [[71, "A counter top on the left", "b"]],  # "top" is not the preposition
         [choice("vg_qa_one_obj", "71.jpg", "A counter top on the left", "b", categories=(("preposition", "left"),))]),
    Case("test_up_down_.csv",
         table("captions images neg_captions neg_images", "a\t./x/up_down/pos/1.jpg\tb\t/y/up_down/neg/1.png",
               separator="\t"),
         [pair("up_down", "up_down/pos/1.jpg up_down/neg/1.png", "a|b")]),
    Case("visual_genome_attribution.json", [ARO],
         [choice("vg_attribution", "2.jpg", "t", "f", categories=(("attribute pair", "x_y"),), image_id="2", swaps=True,
                 box=Box(5, 5, 5, 5))]),
    Case("train_neg_clip.tsv",
         table("n title filepath neg_caption", "0\ta b c\tcoco/x.jpg\t['b a c', 'c b a']", "1\ta\tx.jpg\t[]",
               separator="\t"),
         [choice("negclip_2", "coco/x.jpg", "a b c", "b a c", "c b a", split="train", swaps=True)],
         {"there are no negatives": 1}),
    Case("crpe_relation.jsonl",
         "".join(json.dumps(line) + "\n" for line in (
             *make_rotations("a cat", "a dog.|the mat|no. 1", "coco/val2017/000000000139.jpg", category="subject"),
             *make_rotations("on", "a|b|c", "abnormal_images/7.jpg", category="Predicate"),
             *make_rotations("x", "a|b|c", "coco/val2017/1.jpg", category="object", correct_option="A"),
             *make_rotations("x", "a|b|c", "coco/val2017/1.jpg", category="object", text="A. a\nB. b"),
             *make_rotations("x", "a|b|c", "coco/val2017/1.jpg", category="object")[:2],
             *make_rotations("y", "a|b|c", "coco/val2017/1.jpg", category="object")[2:],
             *make_rotations("x", "a|b|c", "coco/val2017/1.jpg", category="object")[1:])),
         [choice("subject", "coco/val2017/000000000139.jpg", *(f"What is on the mat? {option}" for option in (
             "a cat", "a dog.", "the mat", "no. 1")), changed=True),
          choice("predicate", "abnormal_images/7.jpg", *(f"What is on the mat? {option}" for option in (
              "on", "a", "b", "c")), changed=True, image_set=crpe.ABNORMAL)],
         {"four consecutive lines are not the rotations of one question": 2,
          "not a question with the options A, B, C, D": 1, **MISSING}),
    Case("vinoground.csv",
         table("index major minor pos_vid pos_start pos_end pos_cap neg_vid neg_start neg_end neg_cap",
               '0,action,,a,5,15,"a man sits, then eats",a,10,20,"a man eats, then sits"',
               "7,object,cyclical;spatial;,a,5,15,a,b,10,20,b", "8,object,cyclical,a,5,15,a"),
         [Row("main", tuple(f"{number}_{video}.mp4/{frame}.jpg" for video in ("pos", "neg") for frame in range(12)),
              captions, image_id=str(number), categories=(
                  ("major", major), ("minor", minor)))
          for number, captions, major, minor in (
              (0, ("a man sits, then eats", "a man eats, then sits"), "action", "none"),
              (7, ("a", "b"), "object", "cyclical;spatial"))], MISSING),
    Case("prod_vg_hard_negs_swap_complexity_8.csv",
         table("image_id caption n hard_negs x y width height", "1.0,a cup,8,\"{'e', 'd', 'c', 'b', 'a'}\",1,2,30,40"),
         [choice("prod_hnswap", "1.jpg", "a cup", *"abcde", image_id="1", split="n8", swaps=True, complexity=8,
                 unordered=True, box=Box(1, 2, 30, 40))]),
    Case("prod_vg_hard_negs_atom_complexity_4.csv",
         table("image_id caption n hard_negs x y width height",
               *(f"1,{caption},4,\"{negatives}\",{box}" for caption, negatives, box in (
                   ("a cup", [*"abcde"], "1,2,30,40"), (" ", [*"abcde"], "1,2,30,40"), ("a cup", "oops", "1,2,30,40"),
                   ("a cup", ["a"], "1,2,30,40"), ("a cup", [*"abcde"], "1,2,0,40"), ("a cup", [*"abcde"], "a,2,3,4"))),
               "1"),
         [choice("prod_hnatom", "1.jpg", "a cup", *"abcde", image_id="1", split="n4", complexity=4,
                 box=Box(1, 2, 30, 40))],
         {"a caption is empty": 1, "the negatives are not a list of texts": 1, "1 negatives instead of 5": 1,
          "the box has no area": 1, "the box is not four numbers": 1, **MISSING}),
    Case("syst_vg_hard_negs_seen_compounds_in_cc12m.csv",  # rows that end early, wherever they end
         table("image_id caption valid_hard_negs_atom valid_hard_negs_comp valid_hard_negs_combined x y width height",
               *(f'5,red cup,"{ATOM}"{rest}' for rest in (",,,1,2,30,40", "", ",,,1,2,30"))),
         [choice("cc12m_sc_hnatom", "5.jpg", "red cup", *ATOM, image_id="5", box=Box(1, 2, 30, 40)),
          choice("cc12m_sc_raw", "5.jpg", "red cup", image_id="5", box=Box(1, 2, 30, 40))],
         {"the row ends before valid_hard_negs_combined": 1, **MISSING}),
    Case("syst_vg_hard_negs_unseen_compounds_in_laion.csv",
         table("region_id caption x y width height valid_hard_negs_comp valid_hard_negs_atom valid_hard_negs_combined "
               "image_id",
               f'7,red cup,"1","2","30","40","{COMP}","{ATOM}","{ATOM + COMP}",5',
               f'8,red hat,"1","2","30","40",[],"{ATOM}",,6',
               f'9,red bag,"1","2","30","40",[],"{ATOM[:3]}",[],6',
               "9,red bag,1,2,3,4,[]"),
         [choice("laion_uc_hnatom", "5.jpg", "red cup", *ATOM, image_id="5", box=Box(1, 2, 30, 40)),
          choice("laion_uc_hnatom", "6.jpg", "red hat", *ATOM, image_id="6", box=Box(1, 2, 30, 40)),
          choice("laion_uc_hncomp", "5.jpg", "red cup", *COMP, image_id="5", box=Box(1, 2, 30, 40)),
          choice("laion_uc_hnall", "5.jpg", "red cup", *ATOM, *COMP, image_id="5", box=Box(1, 2, 30, 40)),
          *(choice("laion_uc_raw", f"{image}.jpg", text, image_id=image, box=Box(1, 2, 30, 40))
            for image, text in (("5", "red cup"), ("6", "red hat")))],
         {"3 negatives instead of 4": 1, "the row ends before valid_hard_negs_atom": 1}),
]
# fmt: on


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.file)
def test_rows(tmp_path: Path, case: Case):
    counts, rows = read_counts(tmp_path, case.file, case.content)
    assert (rows, counts.dropped) == (case.rows, case.dropped)
    assert counts.read == len(case.rows) + sum(case.dropped.values())
    benchmark = load(counts.family)
    published = list_texts(case.content)
    for row in rows:
        assert row.changed != all(
            text in published for text in (*row.captions, *row.hard_negatives)
        )
        assert not row.changed or any(
            fnmatchcase(row.config, pattern) for pattern in benchmark.changes
        )


def list_texts(content: object) -> str:
    """Return all texts of the content of a file."""
    return content if isinstance(content, str) else "\n".join(list_leaves(content))


def read_counts(folder: Path, name: str, content: object) -> tuple[ImportedFile, list[Row]]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_file(path)


def test_imagecode_puts_the_described_image_first(tmp_path: Path):
    sets = {
        "video-x": {"2": "a cat", "10": "a dog"},
        "open-images-1": {"0": "a hat"},
        "../x": {"1": "y"},
        "bad": [],
    }
    rows = read_counts(tmp_path, "valid_data.json", sets)[1]
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
    assert (
        imagecode.select(tmp_path, f"video-x/{index}") == tmp_path / "video-x" / f"img{frame}.jpg"
    )
    (tmp_path / "video-x" / "img100.jpg").unlink()
    assert imagecode.select(tmp_path, f"video-x/{index}") is None


def read_table(folder: Path, name: str, item: dict) -> list[Row]:
    """Write a table of one row in which every image cell contains bytes, and read its rows."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = {
        key: {"bytes": value, "path": None} if isinstance(value, bytes) else value
        for key, value in item.items()
    }
    table = pa.Table.from_pylist([cells])
    if path.suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    else:
        pq.write_table(table, path)
    return read_file(path)[1]


def test_tables_of_the_same_name_are_told_apart_by_their_columns(tmp_path: Path):
    swap = {
        "id": 3,
        "image_1": b"",
        "image_2": b"",
        "caption_1": "a red cup",
        "caption_2": "b",
        "image_source": "x",
    }
    for split in ("test", "train"):
        images = " ".join(f"{split}-00000-of-00001/000000_image_{place}" for place in (1, 2))
        rows = read_table(tmp_path, f"{split}-00000-of-00001.parquet", swap)
        assert rows == [pair("main", images, "a red cup|b", image_id="3", split=split)]
    change = {
        "image_0": b"",
        "text_0": "one cat",
        "image_1": b"",
        "text_1": "two cats",
        "category": "counting",
    }
    for name in ("data-00000-of-00001.arrow", "default/test/0000.parquet"):
        (row,) = read_table(tmp_path, name, change)
        assert (row.captions, row.categories) == (
            ("one cat", "two cats"),
            (("category", "counting"),),
        )
        assert row.images == tuple(f"{Path(name).stem}/000000_image_{place}" for place in (0, 1))
        assert row.image_id == row.images[0]


def test_cv_bench_puts_the_right_option_first(tmp_path: Path):
    item = {"image": b"", "question": "How many?", "choices": ["3", "2", "1", "0"], "answer": "(C)", "task": "Count",
            "source": "ADE20K", "filename": "img/2D/count/ade20k_10.png"}  # fmt: skip
    options = [f"How many? {number}" for number in (1, 3, 2, 0)]
    fields = {"categories": (("source", "ADE20K"),), "changed": True}
    image = "test_2d/000000_image"
    assert read_table(tmp_path, "test_2d.parquet", item) == [
        choice("count_4", image, *options, **fields)
    ]
    two = item | {"choices": ["left", "right"], "answer": "(A)", "task": "Relation"}
    ((row,), options) = (
        read_table(tmp_path, "test_2d.parquet", two),
        ["How many? left", "How many? right"],
    )
    assert row == choice("relation", image, *options, **fields)


def test_questions_of_blink(tmp_path: Path):
    item = {"idx": "val_Spatial_Relation_7", "question": "Is the cat on the mat?", "image_1": b"", "image_2": None,
            "choices": ["yes", "no"], "answer": "(B)"}  # fmt: skip
    relation, count = (
        f"{task}/val-00000-of-00001.parquet" for task in ("Spatial_Relation", "Counting")
    )
    options = ("Is the cat on the mat? no", "Is the cat on the mat? yes")
    image = "val-00000-of-00001/000000_image_1"
    assert read_table(tmp_path, relation, item) == [
        choice("spatial_relation", image, *options, changed=True)
    ]
    four = item | {
        "idx": "val_Counting_7",
        "question": "How many?",
        "choices": ["3", "2", "1", "0"],
        "answer": "(C)",
    }
    options = [f"How many? {number}" for number in (1, 3, 2, 0)]
    assert read_table(tmp_path, count, four) == [choice("counting", image, *options, changed=True)]
    for change, reason in (
        ({"idx": "val_Counting_7"}, "2 options, Counting has 4"),
        ({"idx": "val_Colour_7"}, "unknown task 'Colour'"),
        (
            {"idx": "test_Spatial_Relation_7", "answer": "hidden"},
            "the answers of the test split are not published",
        ),
    ):
        with pytest.raises(ValueError, match=rf"none of its 1 rows is usable \(1 {reason}"):
            read_table(tmp_path, relation, item | change)


def test_answers_and_collisions_are_in_further_files(tmp_path: Path):
    query = [{"id": 1, "image": "AMBER_1.jpg", "query": "Is there a cloud in this image?"},
             {"id": 2, "image": "AMBER_1.jpg", "query": "Is the sky sunny in this image?"}]  # fmt: skip
    with pytest.raises(ValueError, match="the answers are missing"):
        read_counts(tmp_path, "query/query_discriminative.json", query)
    kinds = ("discriminative-hallucination", "discriminative-attribute-state")
    answers = [
        {"id": n + 1, "type": kind, "truth": ("no", "yes")[n]} for n, kind in enumerate(kinds)
    ]
    (tmp_path / "annotations.json").write_text(json.dumps(answers), encoding="utf-8")
    assert [(row.captions, row.label, row.categories) for row in
            read_counts(tmp_path, "query/query_discriminative.json", query)[1]] == [
        (("There is a cloud in this image.",), 0, (("type", "existence"),)),
        (("Is the sky sunny in this image? Yes",), 1, (("type", "attribute-state"),)),
    ]  # fmt: skip
    items = {
        str(n): SUGARCREPE | {"caption": f"c{n}", "caption2": "d", "source_caption": "x"}
        for n in range(2)
    }
    with pytest.raises(ValueError, match="a list of collisions is missing"):
        read_counts(tmp_path, "scpp/es/swap_att.json", items)
    for language in ("de", "es", "fa"):
        (tmp_path / "scpp" / language).mkdir(exist_ok=True)
        listed = [{"sample_id": "1"}] if language == "fa" else []
        (tmp_path / "scpp" / language / "swap_att_issues.json").write_text(
            json.dumps(listed), encoding="utf-8"
        )
    assert read_counts(tmp_path, "scpp/es/swap_att.json", items)[1] == [
        Row(
            "scpp_es",
            ("7.jpg",),
            (f"c{n}", "d"),
            ("b a",),
            split="swap_att",
            categories=(("collision", collision),),
        )
        for n, collision in enumerate(("none", "some language"))
    ]


def test_naturalbench_pairs_answers_with_images(tmp_path: Path):
    item = {"Question_0": "Is it red?", "Question_1": "Is it blue?", "Image_0": b"", "Image_1": b""}
    item |= dict(zip(naturalbench.ANSWERS, ("Yes", "No", "No", "Yes"), strict=True)) | {
        "Question_Type": "yes_no"
    }
    questions = [
        f"Is it {colour}?Please answer Yes or No." for colour in ("red", "red", "blue", "blue")
    ]
    captions = "|".join(
        f"{text} {answer}"
        for text, answer in zip(questions, ("Yes", "No", "No", "Yes"), strict=True)
    )
    images = "train-00000-of-00003/000000_Image_0 train-00000-of-00003/000000_Image_1"
    rows = read_table(tmp_path, "train-00000-of-00003.parquet", item)
    assert rows == [pair("main", images, captions, categories=(("type", "yes/no"),), changed=True)]
    lines = [
        [f"{q}?", f"{n}.jpg", answer, "mcq"]
        for q, n, answer in (("Q", 1, "A"), ("Q", 2, "B"), ("R", 1, "B"))
    ]
    lines.append(["R?", "2.jpg", "A", "mcq"])
    same = [[*line[:2], "A", "mcq"] for line in lines]
    (row,) = read_counts(tmp_path, "test_set.json", lines + same + lines[:2])[1]
    kind = (("type", "multiple choice"),)
    assert row == pair(
        "finetuning_test", "1.jpg 2.jpg", "Q? A|Q? B|R? B|R? A", categories=kind, changed=True
    )


def test_files_of_two_sources_are_one_config(tmp_path: Path):
    for source, negatives in {"vg": ["b"], "vaw": ["c", "d"]}.items():
        items = [["1.jpg", {"POS": ["a"], "NEG": [n]}] for n in negatives]
        read_counts(tmp_path, f"Attribute/{source}/color.json", items)
    Image.new("RGB", (2, 2)).save(tmp_path / "1.jpg")
    files = [tmp_path / f"Attribute/{source}/color.json" for source in ("vg", "vaw")]
    counts = import_files(files, tmp_path, tmp_path / "data")
    assert {entry.file: entry.written for entry in counts} == {
        "Attribute/vg/color.json": {"attribute_color/test": 1},
        "Attribute/vaw/color.json": {"attribute_color/test": 2},
    }
    rows = load_dataset(
        "vl_checklist", "attribute_color", "test", data_dir=tmp_path / "data"
    ).to_list()
    found = [(row["hard_negatives"], row["categories"][0]["name"]) for row in rows]
    assert found == [(["b"], "vg"), (["c"], "vaw"), (["d"], "vaw")]
    copy = tmp_path / "copy" / "Attribute" / "vg"
    copy.mkdir(parents=True)
    (copy / "color.json").write_bytes(files[0].read_bytes())
    with pytest.raises(ValueError, match="are both attribute_color/test of vl_checklist"):
        import_files([files[0], copy / "color.json"], tmp_path, tmp_path / "other")


def hard_positive(caption: str, negative: str = "n") -> dict[str, str]:
    return {
        "image_id": "5",
        "true_caption": caption,
        "false_caption": negative,
        "image_path": "data/VG_100K/5.jpg",
    }


def test_hard_positives_are_in_a_second_file(tmp_path: Path):
    name = "vl_checklist_attributes.json"
    with pytest.raises(ValueError, match="the hard positives are missing"):
        read_counts(tmp_path, f"data/{name}", [hard_positive("a"), hard_positive("b")])
    (tmp_path / "swapped_data").mkdir()
    (tmp_path / "swapped_data" / name).write_text(
        json.dumps([hard_positive("c"), hard_positive("d", "m")]), encoding="utf-8"
    )
    counts, rows = read_counts(tmp_path, f"data/{name}", [hard_positive("a"), hard_positive("b")])
    assert rows == [
        Row("replace_attribute", ("data/VG_100K/5.jpg",), ("a", "c"), ("n",), image_id="5")
    ]
    assert counts.dropped == {"the hard positive belongs to another row": 1}
    with pytest.raises(ValueError, match="2 rows; expected 1"):
        read_counts(tmp_path, f"data/{name}", [hard_positive("a")])
    with pytest.raises(ValueError, match="not recognised"):
        read_file(tmp_path / "swapped_data" / name)


def test_hard_positives_of_swapped_attributes_are_crops(tmp_path: Path, real_data: Path):
    """ARO's rows, whose file has the same name, with a hard positive in which the phrases change places."""
    name = "visual_genome_attribution.json"
    items = json.loads((real_data / "benchmarks/aro" / name).read_text(encoding="utf-8"))[:5]
    swapped = []
    for item in items:
        first, second = item["true_caption"].split(" and ")
        swapped.append(item | {"true_caption": f"{second} and {first}"})
    folder = tmp_path / "swapped_data"
    folder.mkdir()
    (folder / name).write_text(json.dumps(swapped), encoding="utf-8")
    path = tmp_path / "data" / name
    path.parent.mkdir()
    path.write_text(json.dumps(items), encoding="utf-8")
    rows = list(hard_positives.BENCHMARK.read(path, f"data/{name}"))
    assert [row.config for row in rows if isinstance(row, Row)] == ["swap_attribute"] * 5
    row, item = rows[0], items[0]
    assert isinstance(row, Row)
    assert row.captions == (item["true_caption"], swapped[0]["true_caption"])
    assert row.hard_negatives == (item["false_caption"],)
    assert row.box == Box(*(float(item[f"bbox_{side}"]) for side in "xywh"))
    # Without the name of the benchmark, it is ARO's file.
    assert identify(path).benchmark.name == "aro_published"
    assert identify(path, hard_positives.BENCHMARK).name == f"data/{name}"


def test_whatsup_authors_count_a_tie_as_a_hit():
    # Set 0: all scores are equal, so all four images are hits. Set 1: image 1 prefers caption 3, a loss of its pair.
    score_NIT = np.zeros((2, 4, 4))
    score_NIT[1, 1, 3] = 1
    rule = whatsup.BENCHMARK.find_authors_rule("controlled_a")
    assert rule
    accuracy = {
        name: metrics.summarise()["accuracy"]
        for name, metrics in authors.evaluate(rule, score_NIT).items()
    }
    assert accuracy == {"authors": 7 / 8, "authors_pair": 3 / 4, "authors_set": 1 / 2}
    rule = whatsup.BENCHMARK.find_authors_rule("vg_qa_one_obj")
    assert rule
    assert rule.hits(np.array([[[0.5, 0.5]], [[0.5, 0.6]]]))[""].tolist() == [True, False]


def test_countercurate_counts_each_choice():
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
    assert (rows, counts.dropped) == (
        [choice("main", "1.jpg", "a dog", "a dog not a cat", changed=True)],
        MISSING,
    )
    torch.save({"image_paths": ["1.jpg"], "annotations": []}, path)
    with pytest.raises(ValueError, match="expected image_paths and as many annotations"):
        read_file(path)
    for content in (pickle.dumps(Code()), b"PK\x03\x04", b"", b"text"):
        path.write_bytes(content)
        with pytest.raises(
            ValueError, match=r"ccneg_preprocessed\.pt: cannot be read without executing code"
        ):
            read_file(path)
    torch.save(Code(), path)
    with pytest.raises(ValueError, match="cannot be read without executing code"):
        read_file(path)
    assert "executed" not in capsys.readouterr().out


def test_letters_of_options():
    assert [find_option(letter, 3) for letter in ("A", "(B)", "C")] == [0, 1, 2]
    for letter in ("", "AB", "D", "(Z)"):
        with pytest.raises(ValueError, match="is none of A, B, C"):
            find_option(letter, 3)


BLA_GROUP = {
    "True1": "the man lifts the child",
    "True2": "the child is lifted by the man",
    "False1": "the child lifts the man",
    "False2": "the man is lifted by the child",
}


def test_bla_has_two_true_sentences_of_each_image(tmp_path: Path):
    """The sentences are those that the authors' notebook prints for image 1159399."""
    items = [
        {"image_id": "1159399", "caption_group": [BLA_GROUP | {"predicate": "lift"}]},
        {"image_id": "7", "caption_group": [BLA_GROUP, BLA_GROUP]},
        {"image_id": "8", "caption_group": []},
        {"image_id": "9", "caption_group": [{"True1": "a"}]},
    ]
    counts, rows = read_counts(tmp_path, "active_passive_captions.json", items)
    texts = tuple(BLA_GROUP.values())
    expected = Row("active_passive", ("1159399.jpg",), texts[:2], texts[2:])
    assert rows == [expected, expected._replace(images=("7.jpg",))]
    assert counts.dropped == {"fields are missing": 2}


def test_bla_authors_count_sentences():
    """Ranks by hand: all four right; the truth 2 and the false 1 exchanged; a tie of both."""
    score_NIT = np.array([[[4, 3, 2, 1]], [[4, 1, 3, 2]], [[4, 2, 2, 1]]], np.float32)
    (hit_NT,) = bla.count_sentences(score_NIT).values()
    assert hit_NT.tolist() == [
        [True, True, True, True],
        [True, False, False, True],
        [True, False, False, True],
    ]


def test_colorfoil_is_made_from_captions_of_coco(tmp_path: Path):
    captions = [
        (2, "A man on a bench."),
        (1, "A dog that is tired"),
        (1, "A red dog is tired, a red ball"),
        (1, "A blue dog"),
        (2, "The gray cat"),
        (3, "A tomato"),
        (4, "Two Red cars"),
    ]
    content = {
        "info": {},
        "images": [{"id": one, "file_name": f"00{one}.jpg"} for one in (1, 2, 3, 4)],
        "licenses": [],
        "annotations": [{"image_id": one, "id": 9, "caption": text} for one, text in captions],
    }
    _, rows = read_counts(tmp_path, "captions_val2017.json", content)
    assert [row.images for row in rows] == [("001.jpg",), ("002.jpg",), ("003.jpg",)]
    assert [row.captions[0] for row in rows] == [captions[2][1], captions[4][1], "A tomato"]
    for row in rows:
        truth, foil = (text.split() for text in (row.captions[0], row.hard_negatives[0]))
        changed = [(a, b) for a, b in zip(truth, foil, strict=True) if a != b]
        assert [a for a, _ in changed] == [word for word in truth if word in colorfoil.NAMES]
        assert all(b in colorfoil.FOILS for _, b in changed)
    assert "tired," in rows[0].hard_negatives[0]  # the letters "red" stay
    foils = {colorfoil.make_foil("gray", image) for image in range(200)}
    assert foils == {*colorfoil.FOILS} - {"grey"}
    assert colorfoil.make_foil("red and red", 5) == colorfoil.make_foil("red and red", 5)
    assert len(colorfoil.NAMES) == 147


def test_colorfoil_leaves_out_the_grey_images_of_the_whole_set(tmp_path: Path):
    content = {
        "images": [{"id": one, "file_name": f"{one}.jpg"} for one in range(colorfoil.IMAGES)],
        "annotations": [
            {"image_id": one, "caption": "a red ball" if one % 2 else "a ball"}
            for one in range(colorfoil.IMAGES)
        ],
    }
    path = tmp_path / "captions_val2017.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    rows = list(colorfoil.read(path, path.name))
    grey = [number for number, row in enumerate(rows) if isinstance(row, Unusable)]
    assert (len(rows), grey) == (2500, [550, 1164, 1752, 2236])


def encode_png(color: str) -> str:
    file = io.BytesIO()
    Image.new("RGB", (4, 4), color).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def test_questions_with_images_in_base64(tmp_path: Path):
    """NegVQA's and EmbSpatial's files contain the images as texts."""
    item = {
        "index": 3,
        "image": encode_png("red"),
        "category": "GQA",
        "original_question": "Is the ball red?",
        "negated_question": "Is the ball not red?",
        "A": "no",
        "B": "yes",
        "original_answer": "B",
        "negated_answer": "A",
    }
    lines = [item, item | {"negated_answer": "B"}]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    counts, rows = read_counts(tmp_path, "NegVQA-7379.jsonl", text)
    fields = {"categories": (("source", "GQA"),), "changed": True}
    image = "NegVQA-7379/000000_image"
    assert rows == [
        choice("negated", image, "Is the ball not red? no", "Is the ball not red? yes", **fields),
        choice("original", image, "Is the ball red? yes", "Is the ball red? no", **fields),
    ]
    assert counts.dropped == {"the question and its negation have the same answer": 2}
    output = tmp_path / "data"
    assert not embedded.extract_images(identify(tmp_path / "NegVQA-7379.jsonl"), output)
    written = Image.open(output / "sources" / "negvqa" / image)
    assert written.getpixel((0, 0)) == (255, 0, 0)
    bad = [item | {"image": "no base64!"}, item | {"image": None}]
    (tmp_path / "NegVQA-7379.jsonl").write_text(
        "".join(f"{json.dumps(line)}\n" for line in bad), encoding="utf-8"
    )
    unreadable = embedded.extract_images(identify(tmp_path / "NegVQA-7379.jsonl"), output)
    assert set(unreadable.values()) == {"the table contains no bytes"}


def test_embspatial_has_the_position_of_the_answer(tmp_path: Path):
    """The item is one of the two in the authors' README, the image apart."""
    item = {
        "data_source": "ai2thor",
        "scene_id": "FloorPlan15",
        "question_id": "ai2thor_799",
        "question": "'How are drawer and soapbottle positioned in relation to each other in the image?",
        "relation": "under",
        "image": encode_png("blue"),
        "answer_options": [
            "The drawer is blocking the soapbottle.",
            "The drawer is beneath the soapbottle.",
            "The drawer is touching the soapbottle.",
            "The drawer is above the soapbottle.",
        ],
        "answer": 1,
    }
    counts, (row,) = read_counts(tmp_path, "embspatial_bench.json", [item, item | {"answer": 4}])
    assert row.captions[0].endswith("in the image? The drawer is beneath the soapbottle.")
    assert [text.split()[-3] for text in row.hard_negatives] == ["blocking", "touching", "above"]
    assert row.categories == (("relation", "under"), ("source", "ai2thor"))
    assert counts.dropped == {"not 4 options and the position of one of them": 1}
    table = read_table(tmp_path, "test-00000-of-00001.parquet", item | {"image": b""})
    assert table == [row._replace(images=("test-00000-of-00001/000000_image",), image_id="")]


def test_countbenchqa_has_the_other_numbers_as_options(tmp_path: Path):
    item = {"image": b"", "text": "Ten dogs", "question": "How many dogs?", "number": 10}
    (row,) = read_table(tmp_path, "test-00000-of-00001.parquet", item)
    assert row.captions == ("How many dogs? 10",)
    assert row.hard_negatives == tuple(f"How many dogs? {number}" for number in range(2, 10))
    with pytest.raises(ValueError, match="the number is 11, expected 2 to 10"):
        read_table(tmp_path, "test-00000-of-00001.parquet", item | {"number": 11})


def test_3dsrbench_has_two_to_four_options(tmp_path: Path):
    header = "index question A B C D answer category image_source image_url"
    coco, other = (
        "http://images.cocodataset.org/train2017/000000000009.jpg",
        "https://huggingface.co/datasets/ccvl/3DSRBench/resolve/main/hssd/12.png",
    )
    lines = [
        f"X-1,Which is higher?,a cup,a dog,,,B,height_higher,MS-COCO,{coco}",
        f"X-2,Where is it?,left,right,front,back,C,orientation_viewpoint,HSSD,{other}",
        f"X-3,Where is it?,left,right,nan,nan,C,orientation_viewpoint,MS-COCO,{coco}",
        f"X-4,Where is it?,left,,back,,A,orientation_viewpoint,MS-COCO,{coco}",
        f"X-5,Where is it?,left,right,,,A,colour,MS-COCO,{coco}",
    ]
    counts, rows = read_counts(tmp_path, "3dsrbench_v1.csv", table(header, *lines))
    ask = "Which is higher? {}".format
    first, second = rows
    assert first == choice(
        "height",
        "000000000009.jpg",
        ask("a dog"),
        ask("a cup"),
        categories=(("type", "height_higher"),),
        changed=True,
        image_set=COCO,
    )
    assert (second.config, second.images) == ("orientation_4", ("12.png",))
    assert second.captions == ("Where is it? front",)
    assert second.image_set is not None
    assert second.image_set.name == "srbench_3d_synthetic"
    assert counts.dropped == {
        "the answer 'C' is none of A, B": 1,
        "not two to four options": 1,
        "unknown category 'colour'": 1,
    }
