import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from PIL import Image

from compeval.base.files.atomic import MARKER, atomic_folder
from compeval.generators.microworld.annotate import CAPTION_FILES
from compeval.generators.microworld.build import CORPORA_FOLDER, FOLDER, Params, build, build_corpus
from tests.unlike_settings import OTHER

TINY = Params(seed=3, test_images=3, train_images=4, train_size=64, annotation_recall=0.9)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Return a folder with the test scenes and a corpus, built by one worker."""
    root = tmp_path_factory.mktemp("world")
    build(root / FOLDER, TINY, workers=1)
    build_corpus(root / CORPORA_FOLDER / "yfcc", "yfcc", TINY, workers=1)
    return root


@pytest.fixture(scope="module")
def folder(root):
    return root / FOLDER


def hash_files(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_files(root):
    files = {
        *(
            "image_data.json",
            "objects.json",
            "attributes.json",
            "relationships.json",
            "region_descriptions.json",
        ),
        *("scene_graphs.json", "sceneGraphs.json", *CAPTION_FILES, "truth.jsonl", MARKER),
        *(f"VG_100K/{image_id}.jpg" for image_id in (1, 2, 3)),
    }
    assert hash_files(root / FOLDER).keys() == files
    assert hash_files(root / CORPORA_FOLDER / "yfcc").keys() == {
        "00000.tar",
        "left_out.json",
        MARKER,
    }


def test_images_have_the_sizes_in_image_data(folder):
    for record in json.loads((folder / "image_data.json").read_text(encoding="utf-8")):
        with Image.open(folder / record["url"]) as image:
            assert image.size == (record["width"], record["height"])


def test_truth_is_one_complete_scene_per_line(folder):
    scenes = [
        json.loads(line)
        for line in (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [scene["image_id"] for scene in scenes] == [1, 2, 3]
    assert all(len(item["box"]) == 4 for scene in scenes for item in scene["things"])


def test_shards(root):
    with tarfile.open(root / CORPORA_FOLDER / "yfcc" / "00000.tar") as tar:
        members = tar.getmembers()
        assert [member.name for member in members[:3]] == [
            "002000000_0.jpg",
            "002000000_0.txt",
            "002000000_0.json",
        ]
        assert len(members) == 3 * TINY.train_images
        assert all(member.mtime == member.uid == member.gid == 0 for member in members)
        jpeg, caption, facts = (tar.extractfile(member).read() for member in members[:3])
    with Image.open(io.BytesIO(jpeg)) as image:
        assert image.size == (64, 64)
    assert json.loads(facts)["caption"] == caption.decode()


def test_same_bytes_for_any_worker_count_and_settings_of_the_machine(root, tmp_path):
    params = {name: getattr(TINY, name) for name in Params.__annotations__}
    # JSON is YAML.
    (tmp_path / "params.yaml").write_text(json.dumps({"microworld": params}), encoding="utf-8")
    environment = os.environ | OTHER | {"PYTHONPATH": str(Path(__file__).parents[3])}
    for options in ([], ["--corpus", "yfcc"]):
        command = [sys.executable, "-m", "compeval.generators.microworld.build", *options]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    (tmp_path / "params.yaml").unlink()
    assert hash_files(tmp_path) == hash_files(root)


def test_a_failed_build_keeps_the_old_folder(folder, tmp_path):
    target = tmp_path / "microworld"
    with atomic_folder(target) as partial:
        (partial / "old").write_text("old", encoding="utf-8")
    broken = Params(seed=3, test_images=1, train_images=1, train_size=64, annotation_recall=2.0)
    with pytest.raises(ValueError, match=r"annotation_recall: 2\.0"):
        build(target, broken, workers=1)
    assert {path.name for path in target.iterdir()} == {"old", MARKER}


def test_unknown_parameter(tmp_path, monkeypatch):
    (tmp_path / "params.yaml").write_text("microworld: {sed: 1}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ValueError,
        match=r"params\.yaml, block microworld: unknown key 'sed', no key 'seed', .*; expected seed, test_images",
    ):
        Params.read()
