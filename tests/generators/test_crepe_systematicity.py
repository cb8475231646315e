"""The systematicity stages on a small source in Visual Genome's format."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from compeval.base.readers.annotations import Annotations
from compeval.base.schemas.rows import ImageStorage
from compeval.base.schemas.scene_graph import Atom, Box, Compound
from compeval.base.storage.crops import crop_id
from compeval.generators import crepe_regions
from compeval.generators.crepe_regions import read_captions, read_negatives
from compeval.generators.crepe_systematicity import (
    add_negatives,
    build_balanced,
    build_corpus,
    show_whole_images,
)
from compeval.generators.hard_negatives.crepe.systematicity import NEGATIVES
from compeval.generators.parser.caption_parser import make_parser
from compeval.generators.seen_analysis.splits import Seen, assign_splits
from compeval.generators.seen_analysis.targets import Targets
from tests.annotated import annotations_of

PHRASES = (
    "a red car",
    "The red car.",  # the same scene graph: dropped
    "a black dog on a wooden table",  # two compounds: raw only
    "a cat under a table",
    "a green bottle",
    "a small bird",
    "a tree",  # no compound: dropped
)
SETTINGS = {"workers": 1, "ranker": "statistics", "at_least": 1, "balanced_share": 1.0}


def write_source(folder: Path) -> Path:
    """Write four images of 300 x 300 pixels. All have the same objects; the phrases are distributed over the images."""
    objects = [
        {
            "object_id": n,
            "names": [name],
            "x": 10 * n,
            "y": 5,
            "w": 200,
            "h": 200,
            "attributes": [attribute],
        }
        for n, (name, attribute) in enumerate(
            [
                ("car", "red"),
                ("dog", "black"),
                ("table", "wooden"),
                ("cat", "white"),
                ("bottle", "green"),
                ("bird", "small"),
            ]
        )
    ]
    edges = [
        {"relationship_id": 1, "predicate": "ON", "subject_id": 1, "object_id": 2},
        {"relationship_id": 2, "predicate": "under", "subject_id": 3, "object_id": 2},
    ]
    size = {"x": 0, "y": 0, "width": 260, "height": 250}
    regions: list[list[dict[str, Any]]] = [[] for _ in range(4)]
    for n, phrase in enumerate(PHRASES):
        regions[n % 4].append({"region_id": n, "phrase": phrase} | size)
    files = {
        "image_data": [{"image_id": n, "width": 300, "height": 300} for n in range(1, 5)],
        "region_descriptions": [{"id": n, "regions": regions[n - 1]} for n in range(1, 5)],
        "scene_graphs": [
            {"image_id": n, "objects": objects, "relationships": edges} for n in range(1, 5)
        ],
    }
    (folder / "VG_100K").mkdir(parents=True)
    for name, records in files.items():
        (folder / f"{name}.json").write_text(json.dumps(records), encoding="utf-8")
    for n in range(1, 5):
        pixels = np.random.default_rng(n).integers(0, 255, (300, 300, 3), np.uint8)
        Image.fromarray(pixels).save(folder / "VG_100K" / f"{n}.jpg")
    return folder


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Annotations:
    return annotations_of(write_source(tmp_path_factory.mktemp("source")))


@pytest.fixture(scope="module")
def regions(tmp_path_factory, source) -> tuple[Path, dict[str, int]]:
    folder = tmp_path_factory.mktemp("built") / "regions"
    return folder, crepe_regions.build("visual_genome", source, SETTINGS, folder).to_json()


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """Return the captions together with their negatives."""
    return [
        row | negatives
        for row, negatives in zip(read_captions(folder), read_negatives(folder), strict=True)
    ]


def read_by_caption(folder: Path) -> dict[str, dict[str, Any]]:
    return {row["caption"]: row for row in read_rows(folder) if not row["repeated"]}


def test_regions_are_filtered_and_counted(regions) -> None:
    folder, funnel = regions
    assert set(read_by_caption(folder)) == {
        "a red car",
        "a black dog on a wooden table",
        "a cat under a table",
        "a green bottle",
        "a small bird",
    }
    assert [row["caption"] for row in read_rows(folder) if row["repeated"]] == ["the red car"]
    assert (funnel["regions"], funnel["kept"]) == (7, 5)
    assert funnel["caption with the scene graph of an earlier one"] == 1
    assert funnel["caption with fewer than 2 atoms"] == 1


def test_captions_of_one_compound_have_the_exact_number_of_negatives_or_none(regions) -> None:
    for caption, row in read_by_caption(regions[0]).items():
        for kind, count in NEGATIVES.items():
            assert len(row[kind]) in (0, count if len(row["compounds"]) == 1 else 0)
            captions = {" ".join(negative["caption"].lower().split()) for negative in row[kind]}
            assert len(captions) == len(row[kind])
            assert caption not in captions
    assert len(read_by_caption(regions[0])["a red car"]["hnatom"]) == 4
    assert len(read_by_caption(regions[0])["a red car"]["hncomp"]) == 6
    assert {
        len(negative["foils"]) for negative in read_by_caption(regions[0])["a red car"]["hncomp"]
    } == {2}


def test_targets_are_the_atoms_and_compounds_of_the_selected_captions(regions) -> None:
    folder, _ = regions
    targets = Targets.load(folder / "targets.json")
    assert targets == Targets.of(
        parse.graph for parse in make_parser().parse(read_by_caption(folder))
    )
    assert Compound("oro", "cat", "under", "table") in targets.compounds
    assert Atom("object", "tree") not in targets.atoms


@pytest.mark.acceptance
def test_same_bytes_from_two_workers(tmp_path, source, regions) -> None:
    crepe_regions.build("visual_genome", source, SETTINGS | {"workers": 2}, tmp_path / "regions")
    for path in regions[0].iterdir():
        assert (tmp_path / "regions" / path.name).read_bytes() == path.read_bytes()


SEEN = {
    "atoms": [["object", name] for name in ("car", "dog", "table", "cat", "bottle")]
    + [["attribute", name] for name in ("red", "black", "wooden", "green")]
    + [["relation", name] for name in ("on", "under")],
    "compounds": [
        ["ao", "car", None, "red"],
        ["ao", "dog", None, "black"],
        ["oro", "cat", "under", "table"],
    ],
}
SPLITS = {
    "sc": {"a red car", "a cat under a table"},
    # Neither wooden table nor green bottle was seen.
    "uc": {
        "a black dog on a wooden table",
        "a green bottle",
    },
    "ua": {"a small bird"},
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory, regions) -> tuple[Path, dict[str, Any]]:
    root = tmp_path_factory.mktemp("crepe")
    (root / "cc12m.json").write_text(json.dumps(SEEN), encoding="utf-8")
    seen = Seen.load(root / "cc12m.json")
    build_balanced("cc12m", regions[0], seen, root)
    return root, build_corpus("cc12m", regions[0], seen, root)


def read_config(root: Path, config: str) -> list[dict[str, Any]]:
    return pq.read_table(root / config / "test-00000-of-00001.parquet").to_pylist()


def test_configs_reference_images_if_the_regions_do(tmp_path, source, corpus) -> None:
    crepe_regions.build("visual_genome", source, SETTINGS, tmp_path / "regions", "by_reference")
    for build in (build_corpus, build_balanced):
        build("cc12m", tmp_path / "regions", Seen.load(corpus[0] / "cc12m.json"), tmp_path)
    for config in (path.name for path in corpus[0].iterdir() if path.is_dir()):
        embedded, referenced = read_config(corpus[0], config), read_config(tmp_path, config)
        assert all(
            Path(row.pop("image_path")).name == f"{row['image_id']}.jpg" for row in referenced
        )
        assert referenced == [
            {name: value for name, value in row.items() if name != "image"} for row in embedded
        ]


@pytest.mark.parametrize("storage", ["embedded", "by_reference"])
def test_balanced_rows_show_the_whole_image(tmp_path, source, storage: ImageStorage) -> None:
    """The crop of each region is 260 x 250 pixels of an image of 300 x 300."""
    crepe_regions.build("visual_genome", source, SETTINGS, tmp_path / "regions", storage)
    crops = [*read_captions(tmp_path / "regions")]
    shown = [*show_whole_images(tmp_path / "regions")]
    parts = [row["parts"] for row in read_negatives(tmp_path / "regions", ["parts"])]
    assert any(parts)
    assert not all(parts)
    paths = {image.image_id: image.path for image in source}
    for crop, row, of_row in zip(crops, shown, parts, strict=True):
        if not of_row:
            assert row == crop
            continue
        changed = {name for name in crop if row[name] != crop[name]}
        assert changed == {"width", "height", "crop_id"} | {"image"} & crop.keys()
        box = Box(*(row[name] for name in ("x", "y", "width", "height")))
        assert box == (0, 0, 300, 300)
        assert row["crop_id"] == crop_id(paths[row["image_id"]], box)
        if storage == "embedded":
            assert Image.open(BytesIO(row["image"]["bytes"])).size == (300, 300)


def test_raw_configs_are_the_three_splits(corpus) -> None:
    root, _ = corpus
    assert {
        name: {row["caption"] for row in read_config(root, f"cc12m_{name}_raw")} for name in SPLITS
    } == SPLITS


def test_hard_negative_configs_have_sets_of_5_7_and_11(corpus, regions) -> None:
    root, _ = corpus
    for name in ("sc", "uc"):
        atom, comp, both = (
            read_config(root, f"cc12m_{name}_{kind}") for kind in ("hnatom", "hncomp", "hnall")
        )
        assert {len(row["hard_negatives"]) for row in atom} == {4}
        assert {len(row["hard_negatives"]) for row in comp} == {6}
        assert {(len(row["hard_negatives"]), len(row["foils"])) for row in both} == {(10, 10)}
        assert {row["caption"] for row in both} == {row["caption"] for row in atom} & {
            row["caption"] for row in comp
        }
        assert {row["caption"] for row in atom} <= SPLITS[name]
    (car,) = (row for row in read_config(root, "cc12m_sc_hnatom") if row["caption"] == "a red car")
    source = read_by_caption(regions[0])["a red car"]
    assert car["hard_negatives"] == [negative["caption"] for negative in source["hnatom"]]
    assert car["crop_id"] == source["crop_id"]


def test_stats_have_table_8_and_the_funnel(corpus) -> None:
    _, stats = corpus
    # SC: red car (2 atoms, 1 compound), cat under table (3, 1). UC: green bottle (2 atoms, 1 unseen compound).
    assert stats["unique"] == {
        "cc12m": {"sc": {"atoms": 5, "compounds": 2}, "uc": {"atoms": 2, "compounds": 1}}
    }
    funnel = stats["funnels"]["Systematicity, cc12m"]
    assert (funnel["SC"], funnel["UC"], funnel["UA"], funnel["UC with one compound"]) == (
        2,
        2,
        1,
        1,
    )


def test_captions_without_negatives_are_left_out() -> None:
    negative = {"caption": "a cat", "foils": [{"type": "object", "from": "dog", "to": "cat"}]}
    (row,) = add_negatives(iter([{"caption": "a dog"}, {"caption": "a cup"}]), [[negative], []])
    assert row == {"caption": "a dog", "hard_negatives": ["a cat"], "foils": [negative["foils"]]}


def test_table_8_ignores_unseen_atoms_and_rows_without_negatives() -> None:
    row = {
        "atoms": [{"kind": "object", "text": "cat"}],
        "compounds": [],
        "hnatom": [],
        "hncomp": [],
    }
    row["repeated"] = False
    nothing = {"sc": {"atoms": 0, "compounds": 0}, "uc": {"atoms": 0, "compounds": 0}}
    assert (
        assign_splits([row], Seen(frozenset({Atom("object", "cat")}), frozenset()), NEGATIVES)[1]
        == nothing
    )
    assert (
        assign_splits([row | {"hnatom": [1]}], Seen(frozenset(), frozenset()), NEGATIVES)[1]
        == nothing
    )


def test_missing_seen_file_says_what_to_run(tmp_path) -> None:
    message = (
        r"laion\.json: not found\. Run `python -m compeval\.generators\.seen_analysis\.seen laion`"
    )
    with pytest.raises(FileNotFoundError, match=message):
        Seen.load(tmp_path / "laion.json")
