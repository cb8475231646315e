"""Tests of the synthetic data: the readers read it, its counts are near the real ones, and it is deterministic."""

from __future__ import annotations

import itertools
import json
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import pytest
from PIL import Image

from bench.synthetic_data import formats, texts
from compeval.base.readers import gqa, visual_genome
from compeval.base.readers.corpora import Skipped, list_shards, read_captions
from compeval.base.readers.karpathy import read_images
from compeval.base.readers.records import Flaws
from compeval.base.schemas.annotated_image import AnnotatedImage
from tests.close import assert_close

IMAGES = 150
GENERATED = 20_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("visual_genome")
    formats.write_visual_genome(folder, IMAGES, pixels=False)
    return folder


@pytest.fixture(scope="module")
def images(folder: Path) -> list[AnnotatedImage]:
    images = list(visual_genome.read(folder, flaws := Flaws()))
    assert not flaws.counts
    return images


def test_visual_genome_is_read_with_the_real_counts(images: list[AnnotatedImage]) -> None:
    """Visual Genome 1.4 has 35 objects, 21 relations and 50 regions per image; the mean of 150 log-normal counts is
    within 20 % of it."""
    assert len(images) == IMAGES
    assert_close(mean(len(image.graph.objects) for image in images), 35, within=0.2 * 35)
    assert_close(mean(len(image.graph.relations) for image in images), 21, within=0.2 * 21)
    assert_close(mean(len(image.regions) for image in images), 50, within=0.2 * 50)
    assert all(region.phrase for image in images for region in image.regions)
    names = Counter(item.name for image in images for item in image.graph.objects)
    assert sum(count for _, count in names.most_common(50)) > 0.4 * names.total()
    assert sum(count == 1 for count in names.values()) > 0.4 * len(names)


def test_some_streets_are_crowded(images: list[AnnotatedImage]) -> None:
    """One image in twelve: 12 of 150 in the mean, with a standard deviation of 3.4."""
    crowds = 0
    for image in images:
        names = Counter(item.name for item in image.graph.objects)
        crowds += (
            names["window"] >= 15 and names["tree"] >= 10 and names["person"] + names["man"] >= 12
        )
    assert 3 <= crowds <= 25


def test_first_images_are_equal_for_any_number_of_images(folder: Path, tmp_path: Path) -> None:
    formats.write_visual_genome(tmp_path, 3, pixels=False)
    for file in tmp_path.glob("*.json"):
        assert (
            json.loads(file.read_text(encoding="utf-8"))
            == json.loads((folder / file.name).read_text(encoding="utf-8"))[:3]
        )


def test_images_have_the_annotated_size_and_equal_bytes(tmp_path: Path) -> None:
    for name, seed in (("first", 0), ("second", 0), ("other", 1)):
        formats.write_visual_genome(tmp_path / name, 2, seed=seed, long_side=120)
    for image in visual_genome.read(tmp_path / "first", Flaws()):
        with Image.open(image.path) as photograph:
            assert photograph.size == (image.width, image.height)
    first, second, other = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*.*")
        }
        for name in ("first", "second", "other")
    )
    assert first == second != other
    assert len(first) == 5


def test_gqa_is_read_with_the_real_counts(images: list[AnnotatedImage], tmp_path: Path) -> None:
    """GQA has 16.4 objects and 50.6 relations per image."""
    formats.write_gqa(tmp_path, IMAGES, pixels=False)
    graphs = list(gqa.read(tmp_path, tmp_path / "images", flaws := Flaws()))
    assert not flaws.counts
    assert_close(mean(len(image.graph.objects) for image in graphs), 16.4, within=0.2 * 16.4)
    assert_close(mean(len(image.graph.relations) for image in graphs), 50.6, within=0.25 * 50.6)
    assert [(item.image_id, item.width) for item in graphs] == [
        (item.image_id, item.width) for item in images
    ]


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("write", [formats.write_coco, formats.write_flickr30k])
def test_karpathy_splits_are_read(tmp_path: Path, write, split: formats.Split) -> None:
    write(tmp_path, split, 3, long_side=64)
    images = list(read_images(next(tmp_path.glob("*.json")), tmp_path))
    assert len(images) == 3
    for image in images:
        assert 4 <= len(image.captions) <= 5  # equal captions are merged
        with Image.open(image.path) as photograph:
            assert max(photograph.size) == 64


def test_every_web_caption_is_read_and_equal_arguments_write_equal_bytes(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(formats, "ROWS_PER_FILE", 2_000)
    for name in ("first", "second"):
        formats.write_corpus("laion", tmp_path / name, 2_500)
    files = sorted((tmp_path / "first").iterdir())
    assert [path.name for path in files] == [
        "part-00000.snappy.parquet",
        "part-00001.snappy.parquet",
    ]
    assert all(
        path.read_bytes() == (tmp_path / "second" / path.name).read_bytes() for path in files
    )
    skipped = Skipped()
    shards = list_shards(str(tmp_path / "first/*.parquet"))
    captions = [caption for shard in shards for caption in read_captions(shard, "TEXT", skipped)]
    assert len(captions) + skipped.rows == 2_500


def generate(dirt: float) -> list[str]:
    return list(itertools.islice(texts.generate_captions("test", 0, dirt), GENERATED))


def test_captions_have_the_dirt_of_web_text() -> None:
    """The rarest kind of dirt, very long lines, has a mean of 9 among 20,000 captions."""
    captions = generate(dirt=1.0)
    categories = {
        unicodedata.category(character) for caption in captions for character in caption[:200]
    }
    assert {"Cc", "Cf", "So", "Lo", "Nd", "Sc"} <= categories
    for fragment in ("&amp;", "&#8211;", "https://", "*NEW*", "\x00", "красивая"):
        assert any(fragment in caption for caption in captions), fragment
    assert max(map(len, captions)) >= 5_000
    assert sum(caption.isupper() for caption in captions) > 1_000
    assert sum(not caption.strip() for caption in captions) > 50


def test_most_captions_differ() -> None:
    captions = generate(dirt=0.1)
    assert 0.7 * len(captions) < len(set(captions)) < len(captions)


@pytest.fixture
def without_real_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("COMPEVAL_REAL_DATA", raising=False)
    texts.read_real_texts.cache_clear()
    yield
    texts.read_real_texts.cache_clear()


def test_texts_are_made_without_real_files(without_real_files: None, tmp_path: Path) -> None:
    formats.write_visual_genome(tmp_path, 2, long_side=64, pixels=False)
    phrases = [
        region.phrase for image in visual_genome.read(tmp_path, Flaws()) for region in image.regions
    ]
    captions = list(itertools.islice(texts.generate_captions("test", 0, dirt=0.0), 20))
    assert all(text and "PREDICATE" not in text for text in (*phrases, *captions))
