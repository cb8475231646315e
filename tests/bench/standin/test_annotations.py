"""Tests of the stand-in's annotation files: the readers read them, and their counts are near the real ones."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from statistics import mean

import pytest
from PIL import Image

from bench.standin import gqa as gqa_format
from bench.standin import karpathy
from bench.standin import visual_genome as visual_genome_format
from generators.readers import gqa, visual_genome
from generators.readers.karpathy import read_images
from generators.readers.records import Flaws

IMAGES = 150


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("visual_genome")
    visual_genome_format.write(folder, IMAGES, seed=0, long_side=500, pixels=False)
    return folder


def test_visual_genome_is_read_with_the_real_counts(folder: Path) -> None:
    """Visual Genome 1.4 has 35 objects, 21 relations and 50 regions per image; the mean of 150 log-normal counts is
    within 20 % of it."""
    images = list(visual_genome.read(folder, flaws := Flaws()))
    assert len(images) == IMAGES
    assert mean(len(image.graph.objects) for image in images) == pytest.approx(35, rel=0.2)
    assert mean(len(image.graph.relations) for image in images) == pytest.approx(21, rel=0.2)
    assert mean(len(image.regions) for image in images) == pytest.approx(50, rel=0.2)
    assert sum(flaws.counts.values()) < 0.005 * sum(len(image.graph.objects) for image in images)
    names = Counter(item.name for image in images for item in image.graph.objects)
    assert sum(count for _, count in names.most_common(50)) > 0.4 * names.total()
    assert sum(count == 1 for count in names.values()) > 0.4 * len(names)


def test_some_streets_are_crowded(folder: Path) -> None:
    """One image in twelve: 12 of 150 in the mean, with a standard deviation of 3.4."""
    crowds = 0
    for image in visual_genome.read(folder, Flaws()):
        names = Counter(item.name for item in image.graph.objects)
        crowds += names["window"] >= 15 and names["tree"] >= 10 and names["person"] + names["man"] >= 12
    assert 3 <= crowds <= 25


def test_scene_graphs_equal_the_separate_files(folder: Path, tmp_path: Path) -> None:
    """Version 1.4 has the graphs twice; without flawed records, both ways of reading return the same graphs."""
    for file in folder.glob("*.json"):
        if file.name != "scene_graphs.json":
            (tmp_path / file.name).symlink_to(file)
    graphs = [image.graph for image in visual_genome.read(folder, Flaws())]
    separate = [image.graph for image in visual_genome.read(tmp_path, Flaws())]
    assert sum(first == second for first, second in zip(graphs, separate, strict=True)) > 0.8 * IMAGES


def test_first_images_are_equal_for_any_number_of_images(folder: Path, tmp_path: Path) -> None:
    visual_genome_format.write(tmp_path, 3, seed=0, long_side=500, pixels=False)
    for file in tmp_path.glob("*.json"):
        assert json.loads(file.read_text()) == json.loads((folder / file.name).read_text())[:3]
        assert (folder / file.name).read_text().startswith(file.read_text()[:-1])


def test_another_seed_draws_other_images(tmp_path: Path) -> None:
    for seed in (0, 1):
        visual_genome_format.write(tmp_path / str(seed), 1, seed=seed, long_side=500, pixels=False)
    assert (tmp_path / "0/objects.json").read_text() != (tmp_path / "1/objects.json").read_text()


def test_images_have_the_annotated_size_and_equal_bytes(tmp_path: Path) -> None:
    for name in ("first", "second"):
        visual_genome_format.write(tmp_path / name, 4, seed=0, long_side=120, pixels=True)
    for image in visual_genome.read(tmp_path / "first", Flaws()):
        with Image.open(image.path) as photograph:
            assert photograph.size == (image.width, image.height)
        assert (
            image.path.read_bytes() == (tmp_path / "second" / image.path.relative_to(tmp_path / "first")).read_bytes()
        )


def test_gqa_is_read_with_the_real_counts(folder: Path, tmp_path: Path) -> None:
    """GQA has 16.4 objects and 50.6 relations per image, and seven training images per validation image."""
    gqa_format.write(tmp_path, IMAGES, seed=0, long_side=500, pixels=False)
    images = list(gqa.read(tmp_path, tmp_path / "images", flaws := Flaws()))
    assert not flaws.counts
    assert mean(len(image.graph.objects) for image in images) == pytest.approx(16.4, rel=0.2)
    assert mean(len(image.graph.relations) for image in images) == pytest.approx(50.6, rel=0.25)
    assert len(json.loads((tmp_path / "val_sceneGraphs.json").read_text())) == IMAGES // 8
    sizes = {image.image_id: (image.width, image.height) for image in visual_genome.read(folder, Flaws())}
    assert {image.image_id: (image.width, image.height) for image in images} == sizes


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("dataset", ["coco", "flickr30k"])
def test_karpathy_splits_are_read(tmp_path: Path, dataset: str, split: str) -> None:
    karpathy.write(dataset, split, tmp_path, images=3, seed=0, long_side=64, pixels=True)
    images = list(read_images(next(tmp_path.glob("*.json")), tmp_path))
    assert len(images) == 3
    for image in images:
        assert 4 <= len(image.captions) <= 6  # equal captions are merged
        with Image.open(image.path) as photograph:
            assert max(photograph.size) == 64


def test_phrases_are_made_without_real_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from bench.standin import real_texts

    monkeypatch.delenv("COMPEVAL_REAL_DATA", raising=False)
    real_texts.read_phrases.cache_clear()
    visual_genome_format.write(tmp_path, 2, seed=0, long_side=64, pixels=False)
    real_texts.read_phrases.cache_clear()
    assert all(region.phrase for image in visual_genome.read(tmp_path, Flaws()) for region in image.regions)
