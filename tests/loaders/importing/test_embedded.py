"""Images inside published tables are written once, by name, and decoded as untrusted data."""

import errno
import io
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from compeval.loaders.benchmarks import load
from compeval.loaders.importing import embedded, write_dataset
from compeval.loaders.importing.identify import PublishedFile, identify
from compeval.loaders.importing.selection import RowSelection
from compeval.loaders.load import load_dataset
from compeval.loaders.published import tables


def picture(value: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (4, 4), (value, 0, 0)).save(file, "PNG")
    return file.getvalue()


def items(first: int, last: int) -> list[dict]:
    return [
        {
            "id": number,
            "caption_0": "an old dog",
            "caption_1": "a dog old",
            "collapsed_tag": "Relation",
        }
        | {"secondary_tag": "", "tag": "Noun"}
        | {
            f"image_{place}": {"bytes": picture(2 * number + place), "path": None}
            for place in (0, 1)
        }
        for number in range(first, last)
    ]


def write_parts(folder: Path) -> list[Path]:
    """Write 70 rows in two files, so that a batch ends within the first file."""
    parts = [folder / f"test-0000{part}-of-00002.parquet" for part in (0, 1)]
    for path, part in zip(parts, (items(0, 67), items(67, 70)), strict=True):
        pq.write_table(pa.Table.from_pylist(part), path)
    return parts


def test_parts_of_a_table_become_one_split(tmp_path: Path):
    counts = write_dataset.import_files(write_parts(tmp_path), tmp_path, tmp_path / "data")
    assert [(file.read, file.written) for file in counts] == [
        (67, {"main/test": 67}),
        (3, {"main/test": 3}),
    ]
    rows = load_dataset("winoground", "main", "test", data_dir=tmp_path / "data")
    assert rows["image_id"] == [str(number) for number in range(70)]
    reds = [
        rows[row][f"image_{place}"].getpixel((0, 0))[0] for row in (0, 66, 67) for place in (0, 1)
    ]  # pyright: ignore
    assert reds == [0, 1, 132, 133, 134, 135]
    assert (
        tmp_path / "data/sources/winoground/test-00001-of-00002/000000_image_1"
    ).read_bytes() == picture(135)
    same = [
        tmp_path / "test-00000-of-00002.parquet",
        tmp_path / "copy" / "test-00000-of-00002.parquet",
    ]
    same[1].parent.mkdir()
    same[1].write_bytes(same[0].read_bytes())
    with pytest.raises(ValueError, match="are both main/test of winoground"):
        write_dataset.import_files(same, tmp_path, tmp_path / "data")


def test_an_image_that_is_not_readable_is_named(tmp_path: Path):
    rows = items(0, 3)
    rows[1]["image_0"]["bytes"] = b"no image"
    rows[2]["image_1"]["bytes"] = None
    path = tmp_path / "test-00000-of-00001.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    message = r"2 of the images in it cannot be read; the first is test-00000-of-00001/000001_image_0 \(cannot identify"
    with pytest.raises(ValueError, match=message):
        write_dataset.import_files([path], tmp_path, tmp_path / "data")
    assert not (tmp_path / "data/winoground").exists()
    (counts,) = write_dataset.import_files(
        [path], tmp_path, tmp_path / "data", RowSelection(skip_missing=True)
    )
    assert (counts.dropped["image missing"], counts.written) == (2, {"main/test": 1})


def test_extraction_resumes_and_a_full_disk_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = identify(write_parts(tmp_path)[1])
    write, written = embedded.atomic_file, []

    def write_two(target: Path):
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(target.name)
        return write(target)

    monkeypatch.setattr(embedded, "atomic_file", write_two)
    with pytest.raises(
        ValueError, match=r"no space left in .*winoground for its images\. Free space and run"
    ):
        embedded.extract_images(file, tmp_path / "data")
    monkeypatch.setattr(
        embedded, "atomic_file", lambda target: written.append(target.name) or write(target)
    )
    assert embedded.extract_images(file, tmp_path / "data") == {}
    assert written == [f"00000{number}_image_{place}" for number in range(3) for place in (0, 1)]


def test_a_corrected_table_replaces_its_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rows, path, data = items(0, 3), tmp_path / "test-00000-of-00001.parquet", tmp_path / "data"
    write, written = embedded.atomic_file, []
    monkeypatch.setattr(
        embedded, "atomic_file", lambda target: written.append(target.name) or write(target)
    )

    def import_rows() -> list[int]:
        """Return the red values of all images, after an import of the rows under the same name."""
        written.clear()
        pq.write_table(pa.Table.from_pylist(rows), path)
        write_dataset.import_files([path], None, data, RowSelection(skip_missing=True))
        imported = load_dataset("winoground", "main", "test", data_dir=data)
        return [row[f"image_{place}"].getpixel((0, 0))[0] for row in imported for place in (0, 1)]  # pyright: ignore

    assert (import_rows(), len(written)) == ([0, 1, 2, 3, 4, 5], 6)
    assert (import_rows(), len(written)) == ([0, 1, 2, 3, 4, 5], 0)
    rows[1]["image_0"]["bytes"] = picture(200)
    rows[2]["caption_0"] = "a corrected dog"
    assert (import_rows(), written) == ([0, 1, 200, 3, 4, 5], ["000001_image_0"])
    rows[1]["image_0"]["bytes"] = b"no image"
    assert import_rows() == [0, 1, 4, 5], "the earlier image of the row is not used"


def test_a_name_cannot_leave_the_folder(tmp_path: Path):
    path = tmp_path / "test-0.parquet"
    pq.write_table(pa.table({"../../out": [{"bytes": picture(1), "path": "/etc/passwd"}]}), path)
    benchmark = load("winoground")
    images = replace(benchmark.find_images("test-0.parquet"), columns=("../../out",))
    benchmark = replace(benchmark, images={"test-*.parquet": images})
    with pytest.raises(ValueError, match="does not name a file below"):
        embedded.extract_images(PublishedFile(path, benchmark, "test-0.parquet"), tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_arrow_files_are_read_like_parquet(tmp_path: Path):
    table = pa.Table.from_pylist(items(0, 70))
    pq.write_table(table, tmp_path / "a.parquet")
    with (
        pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file,
        pa.ipc.new_stream(file, table.schema) as writer,
    ):
        writer.write_table(table)
    for columns in (["id", "caption_0"], ["image_1"]):
        read = [
            list(tables.read_table(tmp_path / name, columns)) for name in ("a.parquet", "a.arrow")
        ]
        assert read[0] == read[1]
        assert len(read[0]) == 70
    (tmp_path / "a.arrow").write_bytes((tmp_path / "a.arrow").read_bytes()[:900])
    with pytest.raises(ValueError, match=r"a\.arrow: not a readable table"):
        list(tables.read_table(tmp_path / "a.arrow", ["id"]))
    with pytest.raises(
        ValueError, match=r"a\.parquet: no column question; its columns are id, caption_0"
    ):
        list(tables.read_table(tmp_path / "a.parquet", ["question"]))


def test_images_of_a_question_are_joined(tmp_path: Path):
    """Heights of 4, 2 and 1 pixels are centred on black, 10 pixels apart; a damaged or missing image is named."""
    colors, sizes = ("red", "lime", "blue"), ((3, 4), (2, 2), (1, 1))
    files = []
    for color, size in zip(colors, sizes, strict=True):
        file = io.BytesIO()
        Image.new("RGB", size, color).save(file, "PNG")
        files.append(file.getvalue())
    parts = [
        {f"image_{place}": file for place, file in enumerate(row, 1)}
        for row in (files, [b"no image"], [])
    ]
    parts.append(
        {"image_1": {"bytes": files[0], "path": None}, "image_2": {"bytes": None, "path": "2.jpg"}}
    )
    parts[:3] = [
        {name: {"bytes": file, "path": None} for name, file in row.items()} for row in parts[:3]
    ]
    question = {"question": "Which?", "choices": ["one", "two"], "answer": "(A)"}
    rows = [
        {"idx": f"val_Art_Style_{number}", **question}
        | dict.fromkeys([f"image_{place}" for place in range(1, 5)])
        | row
        for number, row in enumerate(parts)
    ]
    path = tmp_path / "Art_Style" / "val-00000-of-00001.parquet"
    path.parent.mkdir()
    pq.write_table(pa.Table.from_pylist(rows), path)
    for _ in range(2):  # the second time, the images are there
        unreadable = embedded.extract_images(identify(path), tmp_path / "data")
        names = [f"val-00000-of-00001/{number:06}_image_1" for number in range(4)]
        assert list(unreadable) == names[1:]
        assert {unreadable[name] for name in names[2:]} == {"the table contains no bytes"}
        folder = tmp_path / "data/sources/blink_art_style"
        assert not (folder / names[1]).exists()
        joined = Image.open(folder / names[0])
        assert joined.size == (3 + 10 + 2 + 10 + 1, 4)
        boxes = ((0, 0, 3, 4), (13, 1, 15, 3), (25, 1, 26, 2))
        expected = Image.new("RGB", joined.size)
        for color, box in zip(colors, boxes, strict=True):
            expected.paste(color, box)
        assert joined.tobytes() == expected.tobytes()


def test_a_joined_image_of_too_many_pixels_is_not_made():
    """Each image is small enough, but the canvas of a wide and a high one would have 2.5 gigapixels."""
    files = []
    for size in ((50_000, 1), (1, 50_000)):
        file = io.BytesIO()
        Image.new("RGB", size).save(file, "PNG")
        files.append(file.getvalue())
    with pytest.raises(
        ValueError, match="50,011 x 50,000 pixels side by side, at most 100,000,000 are joined"
    ):
        embedded.join_images(files)
