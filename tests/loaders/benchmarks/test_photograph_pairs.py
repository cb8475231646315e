"""Pairs of photographs are proposed from scene graphs, accepted by a person and written as a dataset."""

import csv
from pathlib import Path

import pytest
from PIL import Image as Picture

from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject
from compeval.generators.hard_negatives import photograph_pairs as pair_candidates
from compeval.generators.hard_negatives.photograph_pairs import Candidate, find_candidates
from compeval.loaders.benchmarks import photograph_pairs
from compeval.loaders.load import load_dataset


def image(
    number: int, *objects: SceneObject, relations: tuple[Relation, ...] = ()
) -> AnnotatedImage:
    return AnnotatedImage(str(number), 100, 100, SceneGraph(objects, relations))


def thing(name: str, x: float, *attributes: str, place: str = "") -> SceneObject:
    return SceneObject(name + place, name, attributes, Box(x, 10, 20, 20))


IMAGES = [
    image(1, thing("cat", 0, "orange", "sitting"), thing("dog", 70)),
    image(2, thing("cat", 70, "orange", "sleeping"), thing("dog", 0)),
    image(3, thing("cat", 40, "olive"), thing("cat", 40, place="2"), thing("cup", 40, "red")),
    image(
        4,
        thing("cup", 40, "blue"),
        thing("man", 40),
        relations=(Relation("man", "holding", "cup"),),
    ),
    image(5, thing("cup", 40), thing("man", 40), relations=(Relation("man", "washing", "cup"),)),
]


def test_candidates_of_small_graphs():
    found = {pair.kind: pair for pair in find_candidates(IMAGES, 1, 0)}
    assert found["adjective"] == Candidate("adjective", "3", "4", "a red cup", "a blue cup")
    assert found["verb_1"] == Candidate("verb_1", "1", "2", "a cat sitting", "a cat sleeping")
    assert found["verb_2"] == Candidate(
        "verb_2", "4", "5", "a man holding a cup", "a man washing a cup"
    )
    assert {found["spatial_1"].image_0, found["spatial_1"].image_1} == {"1", "2"}
    assert found["spatial_1"].caption_0 in ("a cat on the left", "a dog on the right")
    assert found["spatial_2"].caption_0 in (
        "a cat to the left of a dog",
        "a dog to the right of a cat",
    )
    assert all(
        photograph_pairs.count_different_words(pair.caption_0, pair.caption_1) == 1
        for pair in found.values()
    )


def test_an_image_is_in_one_pair_of_a_type():
    sitting = [
        image(number, thing("cat", 0, state))
        for number, state in enumerate(["sitting", "lying", "standing"])
    ]
    assert len([pair for pair in find_candidates(sitting, 9, 0) if pair.kind == "verb_1"]) == 1


def accepted(path: Path, answer: str) -> None:
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, pair_candidates.COLUMNS)
        writer.writeheader()
        writer.writerows(
            row | {"accepted": answer if row["type"] == "adjective" else ""} for row in rows
        )


def test_accepted_pairs_become_a_dataset(tmp_path):
    path = tmp_path / "candidates.csv"
    pair_candidates.write(path, find_candidates(IMAGES, 1, 0))
    with pytest.raises(ValueError, match="already exists and may hold answers"):
        pair_candidates.write(path, [])
    with pytest.raises(ValueError, match="no accepted pair"):
        photograph_pairs.read(path)
    accepted(path, "yes")
    for number in (3, 4):
        Picture.new("RGB", (4, 4), (number, 0, 0)).save(tmp_path / f"{number}.png")
    photograph_pairs.main(path, tmp_path, tmp_path / "data/controlledimcaps_photographs")
    rows = load_dataset(
        "controlledimcaps_photographs", "adjective", "test", data_dir=tmp_path / "data"
    )
    assert rows.to_list()[0]["caption_1"] == "a blue cup"
    assert rows[0]["image_1"].getpixel((0, 0))[0] == 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("adjective,1,2,a red cup,a blue cup,perhaps", "line 2: accepted is 'perhaps'"),
        ("colour,1,2,a red cup,a blue cup,yes", "line 2: unknown type 'colour'"),
        (
            "adjective,1,2,a red cup,a blue cap,yes",
            "line 2: the captions do not differ in exactly one word",
        ),
    ],
)
def test_errors_name_the_line(tmp_path, line, message):
    path = tmp_path / "pairs.csv"
    path.write_text(f"{','.join(pair_candidates.COLUMNS)}\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        photograph_pairs.read(path)


def test_a_published_file_needs_no_answers(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(
        "type,image_0,image_1,caption_0,caption_1\ntemporal,1,2,a man before eating,a man after eating\n",
        encoding="utf-8",
    )
    assert len(photograph_pairs.read(path)) == 1
    with pytest.raises(FileNotFoundError, match="no image 1"):
        photograph_pairs.main(path, tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
