"""Names, paths and images from data: accepted, or refused before anything is opened or written."""

import io
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from compeval.base.files import untrusted
from compeval.base.files.untrusted import (
    UnsafeNameError,
    allow_images,
    decode_image,
    is_file,
    read_file,
    read_image_roots,
    resolve_below,
    resolve_image,
    safe_name,
)
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage.crops import check_corners, crop_image


@pytest.mark.parametrize(
    "name", ["laion_uc_hnatom", "n4", "ViT-B-32--laion400m_e32", "local=a--b", "visual genome", "é"]
)
def test_safe_names(name: str):
    assert safe_name(name) == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".hidden", "a/b", "a\\b", "../a", "a\0b", "a\nb", "-rf", "~", "x" * 201]
)
def test_unsafe_names(name: str):
    with pytest.raises(UnsafeNameError, match="cannot be used as a file name"):
        safe_name(name)


@given(st.text(max_size=30))
def test_a_safe_name_is_one_part_of_a_path_below_the_folder(name: str):
    try:
        path = Path("/folder") / safe_name(name)
    except UnsafeNameError:
        return
    assert Path(os.path.normpath(path)).parent == Path("/folder")


@given(st.lists(st.sampled_from(["..", ".", "a", "", "/", "b.jpg", "\0", "~"]), max_size=5))
def test_a_resolved_path_is_below_the_folder(parts: list[str]):
    try:
        path = resolve_below(Path("/folder"), "/".join(parts))
    except UnsafeNameError:
        return
    assert Path(os.path.normpath(path)).is_relative_to("/folder")


def test_a_dataset_may_reference_images_in_its_own_folder_in_sources_and_in_listed_folders(
    tmp_path: Path,
):
    dataset, elsewhere = tmp_path / "data" / "crepe", tmp_path / "photos"
    data = dataset.parent
    dataset.mkdir(parents=True)
    assert resolve_image(dataset, "sources/1.jpg") == data / "sources/1.jpg"
    assert (
        resolve_image(dataset, str(dataset / "1.jpg"))
        == resolve_image(dataset, "crepe/1.jpg")
        == dataset / "1.jpg"
    )
    private = data / "thesis" / "1.jpg"
    for path in (
        str(elsewhere / "1.jpg"),
        "/etc/passwd",
        f"{data}/../photos/1.jpg",
        "../photos/1.jpg",
        "1.jpg",
        "",
    ):
        with pytest.raises(UnsafeNameError):
            resolve_image(dataset, path)
    for path in (
        str(private),
        "thesis/1.jpg",
        "./thesis/1.jpg",
        "crepe/../thesis/1.jpg",
        "sources/../thesis/1.jpg",
    ):
        with pytest.raises(UnsafeNameError):
            resolve_image(dataset, path)
    # A downloaded dataset may bring it.
    (data / "image_roots.txt").write_text("/\n", encoding="utf-8")
    allow_images(data, [elsewhere, Path("pictures")])
    allow_images(data, [elsewhere])
    assert read_image_roots(data) == [str(elsewhere), "pictures"]
    assert resolve_image(dataset, str(elsewhere / "1.jpg")) == elsewhere / "1.jpg"
    assert resolve_image(dataset, "pictures/1.jpg") == data / "pictures/1.jpg"
    with pytest.raises(UnsafeNameError, match="If you trust the dataset, name the folder"):
        resolve_image(dataset, "/etc/passwd")


def test_roots_are_of_one_folder_or_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first, second, photos = tmp_path / "first/crepe", tmp_path / "second/crepe", tmp_path / "photos"
    allow_images(first.parent, [photos])
    assert resolve_image(first, str(photos / "1.jpg")) == photos / "1.jpg"
    with pytest.raises(UnsafeNameError, match="COMPEVAL_IMAGES=FOLDER"):
        resolve_image(second, str(photos / "1.jpg"))
    monkeypatch.setenv("COMPEVAL_IMAGES", f"{tmp_path / 'other'}{os.pathsep}{photos}")
    assert resolve_image(second, str(photos / "1.jpg")) == photos / "1.jpg"


def test_a_link_in_sources_does_not_lead_outside(tmp_path: Path):
    """A stranger's ``sources`` may be a link, or contain one. Of a folder that the user named, links are followed."""
    dataset, private = tmp_path / "data/crepe", tmp_path / "private"
    dataset.mkdir(parents=True)
    private.mkdir()
    (private / "1.jpg").touch()
    sources = dataset.parent / "sources"
    sources.symlink_to(private)
    with pytest.raises(UnsafeNameError):
        resolve_image(dataset, "sources/1.jpg")
    sources.unlink()
    sources.mkdir()
    (sources / "link").symlink_to(private)
    (sources / "1.jpg").touch()
    assert resolve_image(dataset, "sources/1.jpg") == sources / "1.jpg"
    for path in ("sources/link/1.jpg", str(sources / "link/1.jpg")):
        with pytest.raises(UnsafeNameError):
            resolve_image(dataset, path)
    allow_images(dataset.parent, [Path("sources/link")])
    assert resolve_image(dataset, "sources/link/1.jpg") == sources / "link/1.jpg"


def test_a_link_in_a_dataset_folder_does_not_lead_outside(tmp_path: Path):
    dataset, private = tmp_path / "crepe", tmp_path / "private"
    dataset.mkdir()
    private.mkdir()
    (dataset / "link").symlink_to(private)
    (dataset / "1.jpg").symlink_to(private / "1.jpg")
    for path in ("crepe/link/1.jpg", "crepe/1.jpg"):
        with pytest.raises(UnsafeNameError, match="outside the folders whose images may be read"):
            resolve_image(dataset, path)


def test_only_regular_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path("/dev/zero")):
        with pytest.raises(OSError, match="is not a regular file"):
            read_file(path)
    (tmp_path / "file").write_bytes(b"12345")
    assert read_file(tmp_path / "file") == b"12345"
    monkeypatch.setattr(untrusted, "MAX_FILE_BYTES", 4)
    with pytest.raises(OSError, match="has 5 bytes, at most 4 are read"):
        read_file(tmp_path / "file")


def encoded(kind: str, size: tuple[int, int] = (4, 3)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, "red").save(buffer, kind)
    return buffer.getvalue()


def test_a_name_that_is_too_long_is_no_file(tmp_path: Path):
    assert not is_file(tmp_path / ("a" * 5000))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF", "GIF", "BMP", "TIFF"])
def test_listed_formats_are_decoded(kind: str):
    image = decode_image(encoded(kind))
    assert (image.size, image.mode) == ((4, 3), "RGB")


@pytest.mark.parametrize("kind", ["PPM", "ICO", "PCX", "SGI", "TGA", "DDS", "EPS"])
def test_other_formats_are_refused(kind: str):
    with pytest.raises(ValueError, match="cannot identify image file"):
        decode_image(encoded(kind))


def test_a_bomb_is_refused_before_its_pixels_are_decoded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(untrusted, "MAX_PIXELS", 99)
    assert decode_image(encoded("PNG", (9, 11))).size == (9, 11)
    monkeypatch.setattr(Image.Image, "convert", lambda *_: pytest.fail("the pixels were decoded"))
    with pytest.raises(ValueError, match="10 x 10 pixels, at most 99 are decoded"):
        decode_image(encoded("PNG", (10, 10)))


@given(st.data())
def test_damaged_images_are_a_value_error(data: st.DataObject):
    original = encoded(data.draw(st.sampled_from(["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP"])))
    position = data.draw(st.integers(0, len(original) - 1))
    damaged = (
        original[:position]
        + data.draw(st.binary(max_size=8))
        + original[position + data.draw(st.integers(0, 8)) :]
    )
    with suppress(ValueError):
        assert decode_image(damaged).mode == "RGB"


@pytest.mark.parametrize(
    "box",
    [
        Box(1, 1, 0, 5),
        Box(1, 1, 5, -2),
        Box(float("nan"), 0, 1, 1),
        Box(0, 0, float("inf"), 1),
        Box(0, 0, 0.2, 9),
    ],
)
def test_boxes_without_pixels_are_refused(box: Box):
    with pytest.raises(ValueError, match="The box"):
        check_corners(box)


def test_boxes_that_do_not_fit_the_image_are_refused():
    image = Image.new("RGB", (10, 8))
    assert crop_image(image, Box(-2, 4, 20, 8)).size == (20, 8)
    for box in (
        Box(0, 0, 21, 8),
        Box(0, 0, 10, 17),
        Box(10, 0, 5, 5),
        Box(0, -5, 5, 5),
        Box(0, 0, 1e9, 1e9),
    ):
        with pytest.raises(ValueError, match="does not fit the image, 10 x 8"):
            crop_image(image, box)
