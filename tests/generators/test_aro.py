"""VG-Relation and VG-Attribution from real scene graphs of GQA."""

import json
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from PIL import Image

from compeval.base.pipeline.params import OURS, PAPER
from compeval.base.readers import annotations, gqa
from compeval.base.readers.annotations import Format
from compeval.base.readers.records import Flaws
from compeval.generators import aro
from compeval.generators.aro import MINERS, ExcludedRelations, mine
from compeval.generators.hard_negatives.aro.swapped_pairs import SYMMETRIC


def test_a_list_of_relations_that_is_no_text_names_its_file(tmp_path: Path):
    path = tmp_path / "relations.bin"
    path.write_bytes(b"\xff\xfe")
    for missing in (path, tmp_path / "none.txt"):
        with pytest.raises(ValueError, match=f"{missing.name}.*aro.excluded_relations"):
            ExcludedRelations.read(missing)


def test_real_graphs(real_data) -> None:
    images = list(gqa.read(real_data / "gqa" / "sceneGraphs.debug.json", Path(), Flaws()))
    pairs = {config: list(mine(config, images, Counter())) for config in MINERS}
    assert {config: len(rows) for config, rows in pairs.items()} == {
        "vg_relation": 10,
        "vg_attribution": 31,
    }
    assert "the food is in the bowl" in {pair.true for pair in pairs["vg_relation"]}
    # The paint is on the side of the building, so the white building's paint is white.
    assert "the peeling paint and the white building" not in {
        pair.true for pair in pairs["vg_attribution"]
    }


def test_rules_of_the_paper_keep_what_may_be_true(real_data: Path) -> None:
    """The paper's steps drop small objects, objects of one name, and the relations of the authors' notebook."""
    images = list(gqa.read(real_data / "gqa" / "sceneGraphs.debug.json", Path(), Flaws()))
    pairs = {config: list(mine(config, images, Counter(), PAPER)) for config in MINERS}
    ours = {config: {pair.true for pair in mine(config, images, Counter())} for config in MINERS}
    assert {config: len(rows) for config, rows in pairs.items()} == {
        "vg_relation": 12,
        "vg_attribution": 52,
    }
    assert all(ours[config] <= {pair.true for pair in rows} for config, rows in pairs.items())
    assert "the peeling paint and the white building" in {
        pair.true for pair in pairs["vg_attribution"]
    }
    assert not SYMMETRIC & {pair.category for pair in pairs["vg_relation"]}


def test_rows_have_the_source_that_was_read_and_a_missing_image_costs_its_pairs(
    real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    graphs = real_data / "gqa" / "sceneGraphs.debug.json"
    settings = {"source": "visual_genome", "scene_graphs": str(graphs), "images": "images"}
    Path("params.yaml").write_text(
        yaml.safe_dump({"source": "visual_genome", "pixels": None, "aro": settings}),
        encoding="utf-8",
    )
    annotations.main(Format.GQA)
    records = json.loads(graphs.read_text(encoding="utf-8"))
    missing, *present = sorted(records)
    Path("images/VG_100K_2").mkdir(parents=True)
    for image_id in present:
        size = records[image_id]["width"], records[image_id]["height"]
        Image.new("RGB", size).save(f"images/VG_100K_2/{image_id}.jpg")
    aro.main()
    rows = pq.read_table("parts/aro/vg_relation").to_pylist()
    assert {row["provenance"]["source"] for row in rows} == {"visual_genome"}
    assert {row["image_path"] for row in rows} <= {
        f"images/VG_100K_2/{image_id}.jpg" for image_id in present
    }
    counts = json.loads(Path("stats/aro/mined.json").read_text(encoding="utf-8"))["funnels"][
        "vg_relation: pairs of objects"
    ]
    assert counts["the image is missing or unreadable"] == 10 - len(rows) > 0
    assert (
        f"The first: image {missing}: {missing}.jpg not found in images, images/images"
        in capsys.readouterr().err
    )
    for path in Path("images/VG_100K_2").iterdir():
        path.unlink()
    with pytest.raises(ValueError, match=r"vg_relation: none of 10 pairs has a readable image"):
        aro.main()


def build(graphs: Path, rules: str, excluded: str | None) -> dict[str, dict[str, int]]:
    """Build ARO's mined sets of the real graphs in the current folder; return the counts by step."""
    settings = {"source": "visual_genome", "scene_graphs": str(graphs), "images": "images"}
    params = {
        "source": "visual_genome",
        "pixels": None,
        "rules": rules,
        "aro": settings | {"excluded_relations": excluded},
    }
    Path("params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    annotations.main(Format.GQA)
    for image_id, record in json.loads(graphs.read_text(encoding="utf-8")).items():
        path = Path("images/VG_100K_2") / f"{image_id}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (record["width"], record["height"])).save(path)
    aro.main()
    return json.loads(Path("stats/aro/mined.json").read_text(encoding="utf-8"))["funnels"]


def test_relations_of_a_file_are_left_out_under_the_paper_s_rules(
    real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pairs with "in" and "on", of 12, are dropped; "juggling" is not a relation of the source."""
    monkeypatch.chdir(tmp_path)
    graphs = real_data / "gqa" / "sceneGraphs.debug.json"
    images = list(gqa.read(graphs, Path(), Flaws()))
    relations = Counter(pair.category for pair in mine("vg_relation", images, Counter(), PAPER))
    assert min(relations["in"], relations["on"]) > 0
    Path("list.txt").write_text("in\n\nOn\njuggling\n", encoding="utf-8")
    funnels = build(graphs, PAPER, "list.txt")
    rows = pq.read_table("parts/aro/vg_relation").to_pylist()
    assert len(rows) == 12 - relations["in"] - relations["on"]
    assert {category["name"] for row in rows for category in row["categories"]}.isdisjoint(
        {"in", "on"}
    )
    counts = funnels["vg_relation: pairs of objects"]
    assert counts["the relation is excluded by the file"] == relations["in"] + relations["on"]
    (title,) = (title for title in funnels if "list.txt" in title)
    assert list(funnels[title].values()) == [3, 2]
    assert "vg_attribution: pairs of objects" in funnels
    assert not any("excluded" in reason for reason in funnels["vg_attribution: pairs of objects"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "list.txt .*there is no relation"),
        ("['near', 'by']\n", r"\[.*is no relation. Write one relation a line"),
    ],
)
def test_a_file_that_is_no_list_of_relations_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "list.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        ExcludedRelations.read(path)


def test_our_rules_have_no_list_of_the_user(
    real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    graphs = real_data / "gqa" / "sceneGraphs.debug.json"
    with pytest.raises(ValueError, match=r"aro.excluded_relations: list.txt is for `rules: paper`"):
        build(graphs, OURS, "list.txt")
