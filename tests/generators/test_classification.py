"""Classification datasets: the micro-world, and synthetic files in the formats of CIFAR and ImageNet."""

import io
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from compeval.base.storage.parquet import read_schema
from compeval.evaluators.protocols.classification import make_class_prompts
from compeval.generators import classification
from compeval.generators.microworld.scenes.splits import TEST_IDS, training_ids
from compeval.generators.microworld.world import ALL_NOUNS
from compeval.loaders.cards.card import render
from compeval.loaders.cards.write import count_classes
from compeval.loaders.datasets.stats import measure


def test_image_ids_are_larger_than_the_ids_of_training_and_test_scenes():
    assert classification.FIRST_ID not in TEST_IDS
    assert all(max(training_ids(corpus, 999_999)) < classification.FIRST_ID for corpus in range(3))


def test_an_image_depends_only_on_seed_and_id():
    first, repeated, different = (
        classification.render_image(0, image_id, "kite", 7) for image_id in (1, 1, 2)
    )
    assert first == repeated
    assert first.data != different.data
    assert first.data is not None
    assert Image.open(io.BytesIO(first.data)).size == (first.width, first.height)
    assert first.label == 7


def test_every_noun_has_the_same_number_of_images():
    names, images = classification.make_microworld_set(0, 2)
    assert names == list(ALL_NOUNS)
    first = [next(images) for _ in range(4)]
    assert [image.label for image in first] == [0, 0, 1, 1]
    assert classification.make_microworld_set(0, 1, ("kite", "cup")).class_names == ["kite", "cup"]


def write_cifar(folder: Path, label_bytes: int, image_file: str, class_file: str) -> np.ndarray:
    """Write three images with the labels 0, 1, 0; return the pixels of the second."""
    pixels = np.random.default_rng(0).integers(0, 256, (3, 3, 32, 32), dtype=np.uint8)
    labels = np.array([[9] * (label_bytes - 1) + [label] for label in (0, 1, 0)], dtype=np.uint8)
    np.concatenate([labels, pixels.reshape(3, -1)], axis=1).tofile(folder / image_file)
    (folder / class_file).write_text("apple\naquarium_fish\n", encoding="utf-8")
    return pixels[1].transpose(1, 2, 0)


@pytest.mark.parametrize(
    ("config", "label_bytes", "image_file", "class_file"),
    [
        ("cifar10", 1, "test_batch.bin", "batches.meta.txt"),
        ("cifar100", 2, "test.bin", "fine_label_names.txt"),
    ],
)
def test_cifar(tmp_path: Path, config: str, label_bytes: int, image_file: str, class_file: str):
    expected = write_cifar(tmp_path, label_bytes, image_file, class_file)
    read = classification.READERS[config]
    class_names, images = read(tmp_path)
    assert class_names == ["apple", "aquarium fish"]
    _, second, _ = images = list(images)
    assert [image.label for image in images] == [0, 1, 0]
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(second.data))), expected)
    with (tmp_path / image_file).open("ab") as file:
        file.write(b"x")
    with pytest.raises(ValueError, match=f"{image_file}: size is .* bytes, expected a multiple of"):
        read(tmp_path)
    (tmp_path / class_file).unlink()
    with pytest.raises(
        FileNotFoundError, match=f"{class_file}: not found. Unpack CIFAR's binary version"
    ):
        read(tmp_path)


def test_imagenet_images_are_referenced_by_path(tmp_path: Path):
    for number in range(1000):
        (tmp_path / f"n{number:08d}").mkdir()
    Image.new("RGB", (5, 4)).save(tmp_path / "n00000002" / "ILSVRC2012_val_00000001.JPEG")
    names, images = classification.read_imagenet(tmp_path)
    (image,) = images
    assert (names[image.label], image.width, image.height) == ("great white shark", 5, 4)
    (row,) = classification.make_rows("imagenet", iter([image]), 0)
    assert row["image"] == {
        "bytes": None,
        "path": str(tmp_path / "n00000002" / "ILSVRC2012_val_00000001.JPEG"),
    }
    (tmp_path / "n00000999").rmdir()
    with pytest.raises(ValueError, match="999 folders named by WordNet ids, 1,000 expected"):
        classification.read_imagenet(tmp_path)


def test_folder_and_card(tmp_path: Path):
    write_cifar(tmp_path, 1, "test_batch.bin", "batches.meta.txt")
    cifar = classification.read_cifar("cifar10", tmp_path)
    prompts = classification.make_prompts(cifar.class_names, None, tmp_path)
    classification.write_set(tmp_path / "set" / "cifar10", cifar, prompts, 0)
    stats = measure(tmp_path / "set")
    assert stats["rows"] == {"cifar10": {"test": 3, "test.examples.5": 3}}
    by_name, by_example = (
        make_class_prompts(
            read_schema(tmp_path / "set" / "cifar10" / f"{split}-00000-of-00001.parquet")
        )
        for split in ("test", "test.examples.5")
    )
    assert [len(by_name), *map(len, by_name)] == [2, 80, 80]
    assert [len(by_example), *map(len, by_example)] == [2, 5, 5]
    assert all("An example of apple in an image is" in prompt for prompt in by_example[0])
    assert count_classes(tmp_path / "set", stats) == {"classes": {"cifar10": 2}}
    assert "| cifar10 | 2 | 3 | 50.0% |" in render(
        "classification", stats=stats, classes={"cifar10": 2}
    )
    assert pq.read_table(tmp_path / "set" / "cifar10")["label"].to_pylist() == [0, 1, 0] * 2
