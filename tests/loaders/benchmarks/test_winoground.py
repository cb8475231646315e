"""Build Winoground from both published layouts, and run it as a task."""

import io
import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from evaluators.engine.rows import load
from evaluators.engine.tasks import discover
from loaders.benchmarks import winoground
from loaders.datasets.load import load_dataset

ITEMS = [
    ("an old dog", "a dog old", "Relation", ""),
    ("a b c d e f", "f e d c b a", "Object", "Pragmatics"),
    ("a b c d e f g h i j k", "k j i h g f e d c b a", "Both", ""),
]


def picture(value: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (4, 4), (value, 0, 0)).save(file, "PNG")
    return file.getvalue()


def item(number: int) -> dict:
    one, other, tag, secondary = ITEMS[number]
    about = {"tag": "Noun", "collapsed_tag": tag, "secondary_tag": secondary, "num_main_preds": 1}
    return {"id": number, "caption_0": one, "caption_1": other} | about


def as_lines(folder: Path) -> None:
    (folder / "data").mkdir()
    names = [f"ex_{number}_img_{place}" for number in range(3) for place in (0, 1)]
    with zipfile.ZipFile(folder / "data/images.zip", "w") as archive:
        for value, name in enumerate(names):
            archive.writestr(f"images/{name}.png", picture(value))
    lines = [item(n) | {"image_0": f"ex_{n}_img_0", "image_1": f"ex_{n}_img_1"} for n in range(3)]
    (folder / "data/examples.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def as_parquet(folder: Path) -> None:
    (folder / "data").mkdir()
    rows = [
        item(n) | {f"image_{place}": {"bytes": picture(2 * n + place), "path": None} for place in (0, 1)}
        for n in range(3)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "data/test-00000-of-00001.parquet")


@pytest.mark.parametrize("write", [as_lines, as_parquet])
def test_a_local_copy_becomes_a_task(tmp_path, write):
    copy, data = tmp_path / "copy", tmp_path / "data"
    copy.mkdir()
    write(copy)
    winoground.main(copy, data / "winoground")
    rows = load_dataset("winoground", "main", "test", data_dir=data)
    assert rows["caption_1"] == [other for _, other, _, _ in ITEMS]
    assert [image.getpixel((0, 0))[0] for image in rows["image_1"]] == [1, 3, 5]
    told = [{one["by"]: one["name"] for one in found} for found in rows["categories"]]
    assert [one["caption length"] for one in told] == ["at most 5 words", "between", "more than 10 words"]
    assert [one["tag"] for one in told] == ["Relation", "Object", "Both"]
    assert [one["secondary tag"] for one in told] == ["none", "Pragmatics", "none"]
    (task,) = load(discover(data), data)
    assert (task.task.name, task.protocol.name) == ("winoground/main", "group")


def test_without_a_copy_the_error_says_how_to_download_one(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"gated: accept its terms at .*hf download facebook/winoground"):
        winoground.main(tmp_path, tmp_path / "out")
    (tmp_path / "examples.jsonl").write_text("")
    with pytest.raises(FileNotFoundError, match=r"neither images.zip nor the folder images"):
        winoground.main(tmp_path, tmp_path / "out")


def test_lengths_are_those_of_section_4_6():
    assert winoground.length_class("a b c d e", "a b c") == "at most 5 words"
    assert winoground.length_class("a b c d e f") == "between"
    assert winoground.length_class(*["w " * 10]) == "between"
    assert winoground.length_class(*["w " * 11]) == "more than 10 words"
