"""Each input of params.yaml names its source, and synthetic and real inputs are never mixed."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from compeval.base.pipeline.input_sources import check_corpus, is_in_microworld, read_sources

SYNTHETIC = {
    "source": "microworld",
    "scene_graphs": "sources/microworld/graphs.json",
    "images": "sources/microworld",
}
GQA = {"source": "visual_genome", "scene_graphs": "sources/gqa", "images": "sources/visual_genome"}
COCO = {
    "source": "coco",
    "captions": "sources/karpathy/coco_karpathy_test.json",
    "images": "sources/coco",
}


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(**params: Any) -> dict[str, str]:
    Path("params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    return read_sources()


def test_each_input_has_its_own_source() -> None:
    assert read(source="visual_genome", aro=GQA, retrieval={"coco": COCO}) == {
        "source": "visual_genome",
        "aro": "visual_genome",
        "retrieval.coco": "coco",
    }
    assert read(source="microworld", aro=SYNTHETIC) == {"source": "microworld", "aro": "microworld"}
    listed = SYNTHETIC | {"excluded_relations": "list.txt"}  # no input, so it may be anywhere
    assert read(source="microworld", aro=listed)["aro"] == "microworld"


def test_synthetic_and_real_inputs_are_not_mixed() -> None:
    with pytest.raises(
        ValueError,
        match=r"aro, retrieval\.coco read the micro-world, but source \(visual_genome\) real data",
    ):
        read(source="visual_genome", aro=SYNTHETIC, retrieval={"coco": SYNTHETIC})
    with pytest.raises(
        ValueError, match=r"source read the micro-world, but retrieval\.coco \(coco\) real data"
    ):
        read(source="microworld", retrieval={"coco": COCO})


def test_a_source_that_contradicts_a_path_is_an_error() -> None:
    with pytest.raises(
        ValueError, match=r"aro: the source is visual_genome, but sources/microworld/graphs\.json"
    ):
        read(source="visual_genome", aro=GQA | {"scene_graphs": "sources/microworld/graphs.json"})
    with pytest.raises(
        ValueError, match=r"coco: the source is microworld, but sources/coco \(images\) is not in"
    ):
        read(source="microworld", retrieval={"coco": SYNTHETIC | {"images": "sources/coco"}})
    with pytest.raises(
        ValueError, match=r"retrieval\.coco: no source\. Name the data that its images belong to"
    ):
        read(source="visual_genome", retrieval={"coco": {"images": "sources/coco"}})


def test_a_corpus_of_the_microworld_does_not_split_real_captions() -> None:
    read(source="visual_genome")
    with pytest.raises(
        ValueError, match=r"corpora\.laion: corpora/microworld/laion/\*\.tar is in the micro-world"
    ):
        check_corpus("laion", "corpora/microworld/laion/*.tar")
    check_corpus("laion", "corpora/visual_genome/laion/*.tar")
    read(source="microworld")
    check_corpus("laion", "corpora/microworld/laion/*.tar")


def test_a_copy_of_the_microworld_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "copy" / "VG_100K").mkdir(parents=True)
    assert not is_in_microworld(tmp_path / "copy" / "VG_100K")
    (tmp_path / "copy" / "truth.jsonl").touch()
    assert is_in_microworld(tmp_path / "copy" / "VG_100K")
