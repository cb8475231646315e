"""Annotations files, and the stage that writes them."""

import json
import pickle
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from compeval.base.readers import annotations
from compeval.base.readers.annotations import Annotations, Format, main, write
from compeval.base.readers.records import Flaws
from compeval.base.schemas.annotated_image import AnnotatedImage, Region
from compeval.base.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject

COUCH = SceneObject("1", "couch", ("red",), Box(0, 0, 50, 40))
LAMP = SceneObject("2", "lamp")


def make_image(number: int) -> AnnotatedImage:
    graph = SceneGraph((COUCH, LAMP), (Relation("1", "next to", "2"),))
    regions = (Region(f"{number}0", f"couch {number}", Box(0, 0, 50, 40)),)
    return AnnotatedImage(
        str(number), 100, 80, graph, regions, {"1": ("futon",)}, (Path("a/1.jpg"), Path("b/1.jpg"))
    )


@pytest.fixture
def images(tmp_path) -> Annotations:
    """Images 1 to 250."""
    write(tmp_path / "images.parquet", map(make_image, range(1, 251)), Flaws())
    return Annotations(tmp_path / "images.parquet")


def test_images_are_read_as_they_were_written_and_looked_up_by_their_ids(images) -> None:
    assert list(images) == [make_image(number) for number in range(1, 251)]
    for number in (1, 100, 101, 250, 7):
        assert images[str(number)] == make_image(number)
    with pytest.raises(KeyError, match="251"):
        images["251"]


def test_ids_and_words_are_read_without_the_images(images) -> None:
    assert images.list_ids() == [str(number) for number in range(1, 251)]
    names, attributes, predicates = images.count_words()
    assert (names, attributes, predicates) == (
        {"couch": 250, "lamp": 250},
        {"red": 250},
        {"next to": 250},
    )


def test_a_process_receives_only_the_path(images) -> None:
    _ = images["3"]
    copy = pickle.loads(pickle.dumps(images))
    assert copy.__dict__ == {"path": images.path}
    assert copy["3"] == make_image(3)


def test_row_groups_are_small_and_pages_indexed(images) -> None:
    metadata = pq.read_metadata(images.path)
    assert [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)] == [16] * 15 + [
        10
    ]
    assert metadata.row_group(0).column(0).has_offset_index


def test_counts_and_flaws_are_in_a_json_file(tmp_path) -> None:
    flaws = Flaws()

    def images():
        yield make_image(1)
        flaws.add("zero-size box", "image 1, object 3: zero-size box.")
        yield make_image(2)

    statistics = write(tmp_path / "a.parquet", images(), flaws)
    assert statistics == {
        "images": 2,
        "objects": 4,
        "relations": 2,
        "regions": 2,
        "flaws": {"zero-size box": 1},
    }
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == statistics
    assert {path.name for path in tmp_path.iterdir()} == {"a.parquet", "a.json"}


def test_no_image_is_an_error(tmp_path) -> None:
    flaws = Flaws()
    flaws.add("malformed record", "")
    with pytest.raises(
        ValueError, match=r"a\.parquet: no image .* Flawed records: \{'malformed record': 1\}"
    ):
        write(tmp_path / "a.parquet", [], flaws)
    assert not (tmp_path / "a.parquet").exists()


@pytest.mark.parametrize("version", ["v1.0.0", "v1.2.0"])
def test_the_stage_reads_real_files(real_data, tmp_path, monkeypatch, capsys, version) -> None:
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources/visual_genome").symlink_to(real_data / "visual_genome" / version)
    graphs = str(real_data / "gqa" / "sceneGraphs.debug.json")
    aro = {"source": "visual_genome", "scene_graphs": graphs, "images": "sources/gqa"}
    (tmp_path / "params.yaml").write_text(
        yaml.safe_dump({"source": "visual_genome", "aro": aro}), encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    main(Format.VISUAL_GENOME)
    main(Format.GQA)
    names = ("visual_genome", "gqa")
    images = {name: list(Annotations(Path(f"annotations/{name}.parquet"))) for name in names}
    assert [len(images[name]) for name in names] == [5, 4]
    assert images["visual_genome"][0].files[1] == Path("sources/visual_genome/VG_100K_2/1.jpg")
    assert images["gqa"][0].files == tuple(
        Path("sources/gqa") / folder / "2315892.jpg"
        for folder in ("", "images", "VG_100K", "VG_100K_2")
    )
    assert (
        json.loads(Path("annotations/gqa.json").read_text(encoding="utf-8"))["source"]
        == "visual_genome"
    )
    assert (
        json.loads(Path("annotations/visual_genome.json").read_text(encoding="utf-8"))["flaws"]
        == {}
    )
    assert capsys.readouterr().err == ""


def test_the_stage_prints_the_first_flaw_of_each_kind(tmp_path, monkeypatch, capsys) -> None:
    graphs = {
        "3": {
            "width": 9,
            "height": 9,
            "objects": {"1": {"name": "cat", "x": 0, "y": 0, "w": 0, "h": 2}},
        }
    }
    (tmp_path / "sceneGraphs.json").write_text(json.dumps(graphs), encoding="utf-8")
    for name in ("image_data", "objects", "attributes", "relationships", "region_descriptions"):
        (tmp_path / f"{name}.json").write_text(
            '[{"image_id": 3, "width": 9, "height": 9}]', encoding="utf-8"
        )
    (tmp_path / "params.yaml").write_text("{source: microworld, aro: {}}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in Format:
        main(name, Path(), Path("out"))
    lines = capsys.readouterr().err.splitlines()
    malformed = (
        "4 flawed records (malformed record). The first: objects.json, image 3: objects None"
    )
    zero_size = "1 flawed records (zero-size box). The first: sceneGraphs.json, image 3, object 1: zero-size"
    assert lines[0].startswith(f"visual_genome: {malformed}")
    assert lines[1].startswith(f"gqa: {zero_size}")
    assert annotations.Annotations(Path("out/gqa.parquet"))["3"].graph.objects == (
        SceneObject("1", "cat"),
    )
