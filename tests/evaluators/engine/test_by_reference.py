"""Tests of rows that reference their source images instead of storing crops."""

import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from PIL import Image

from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage.crops import Crop, crop_id
from compeval.base.storage.dataset import write_config
from compeval.evaluators import models
from compeval.evaluators.engine import images, plan
from compeval.evaluators.engine.task_dataset import CropSource, load
from compeval.evaluators.engine.tasks import Task
from compeval.evaluators.run import EvaluationOptions, run
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from tests.evaluators import tiny
from tests.evaluators.tiny import all_files

COLORS = list(tiny.COLORS)
TASKS = [Task("crepe", f"laion_uc_{kind}") for kind in ("hnatom", "hncomp")]


def stripes(path: Path) -> Path:
    """Write an image of five stripes, 4 px wide, one per colour."""
    image = Image.new("RGB", (20, 8))
    for place, color in enumerate(tiny.COLORS.values()):
        image.paste(color, (4 * place, 0, 4 * place + 4, 8))
    image.save(path, "PNG")
    return path


def rows(folder: Path, order: list[tuple[str, int]], noun: str) -> Iterator[dict[str, Any]]:
    """Return one row per (image, stripe). The box corners are rounded to the stripe's."""
    for number, (name, stripe) in enumerate(order):
        others = [color for color in COLORS if color != COLORS[stripe]]
        path, box = folder / name, Box(4 * stripe + 0.4, 0.0, 3.8, 8.0)
        shown = {
            "image": Crop(path, box),
            "crop_id": crop_id(path, box),
            **box._asdict(),
            "image_id": name,
        }
        yield tiny.row(number, COLORS[stripe], f"{noun} {number}", others) | shown


@pytest.fixture
def striped(tmp_path: Path) -> Path:
    """Write two tasks on two images, whose crops alternate. One crop is in both tasks."""
    root = tmp_path / "striped"
    (root / "pictures").mkdir(parents=True)
    for number, name in enumerate(("one.png", "two.png")):
        stripes(root / "pictures" / name).open("ab").write(bytes(number))
    in_turns = [("one.png", 0), ("two.png", 0), ("one.png", 1), ("two.png", 1)]
    for task, order in zip(
        TASKS, (in_turns, [("two.png", 4), ("one.png", 0), ("one.png", 3)]), strict=True
    ):
        found = rows(root / "pictures", order, task.config)
        write_config(
            root / "crepe", task.config, {"test": found}, HARD_NEGATIVE_SCHEMA, "by_reference"
        )
    write_card(root / "crepe", {}, "", measure(root / "crepe"))
    return root


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each source image is decoded."""
    counts, decode = Counter[str](), images.decode

    def counting(data: bytes | images.UnreadableImageError, place: CropSource) -> Image.Image:
        assert place.reference
        counts[place.reference.path.name] += 1
        return decode(data, place)

    monkeypatch.setattr(images, "decode", counting)
    return counts


def toy(name: str = "Knows") -> models.Model:
    return models.load_model(f"python:toy_models:{name}")


@pytest.mark.parametrize("batch_size", [2, 256])
def test_crops_are_cut_from_images_that_are_decoded_once_over_all_tasks(
    here: Path, striped: Path, decoded: Counter[str], batch_size: int
):
    results = run(toy(), TASKS, EvaluationOptions(data_dir=striped, batch_size=batch_size))
    assert [result["metrics"]["recall@1"] for result in results] == [1.0, 1.0]
    assert [result["data"]["crops"] for result in results] == [4, 3]
    assert decoded == {"one.png": 1, "two.png": 1}
    made = all_files(here / "results")
    assert run(toy(), TASKS, EvaluationOptions(data_dir=striped, output=Path("again"))) == results
    assert all_files(here / "again") == made
    assert decoded == {"one.png": 1, "two.png": 1}, "the second run finds every crop in the cache"


def test_crops_of_one_image_are_in_one_chunk(striped: Path):
    planned = plan.build_plan([load(task, striped) for task in TASKS])
    assert [crop.reference and crop.reference.path.name for crop in planned.crops] == [
        "one.png"
    ] * 3 + ["two.png"] * 3
    assert plan.crop_chunks(planned.crops, 2) == [slice(0, 3), slice(3, 6)]
    assert plan.crop_chunks(planned.crops, 4) == [slice(0, 6)]


def test_chunks_of_embedded_crops_have_the_given_size(data: Path):
    planned = plan.build_plan([load(TASKS[0], data)])
    assert plan.crop_chunks(planned.crops, 10) == [slice(0, 10), slice(10, 20), slice(20, 23)]


def test_a_crop_equals_the_crop_by_pillow(striped: Path):
    for place in plan.build_plan([load(task, striped) for task in TASKS]).crops:
        (data,) = images.read([place])
        assert isinstance(data, bytes)
        crop = images.cut(images.decode(data, place), place)
        assert len(crop.getcolors() or []) == 1, "a crop that is a pixel off has two colours"
        assert place.reference
        x, y, width, height = place.reference.box
        corners: Any = (x, y, x + width, y + height)
        assert crop.tobytes() == Image.open(io.BytesIO(data)).convert("RGB").crop(corners).tobytes()


def test_pair_scorers_get_the_crops(here: Path, striped: Path):
    assert [
        result["metrics"]["recall@1"]
        for result in run(toy("Pairs"), TASKS, EvaluationOptions(data_dir=striped))
    ] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.unlink(), "cannot be read .*No such file.*two.png"),
        (
            lambda path: path.write_bytes(path.read_bytes() + b"x"),
            "two.png is not the image that the dataset was",
        ),
    ],
)
@pytest.mark.parametrize("name", ["Knows", "Pairs"])
def test_a_missing_or_changed_image_is_named_and_can_be_skipped(
    here: Path, striped: Path, spoil: Any, message: str, name: str
):
    spoil(striped / "pictures" / "two.png")
    with pytest.raises(
        ValueError, match=rf"crepe/laion_uc_hnatom, row 1: .*{message}.*--on-error skip"
    ):
        run(toy(name), TASKS[:1], EvaluationOptions(data_dir=striped))
    (result,) = run(toy(name), TASKS[:1], EvaluationOptions(data_dir=striped, on_error="skip"))
    assert [item["row"] for item in result["skipped"]] == [1, 3]
    assert result["metrics"]["recall@1"] == 1.0


def test_exchanged_images_are_detected_although_their_features_are_cached(
    here: Path, striped: Path
):
    run(toy(), TASKS[:1], EvaluationOptions(data_dir=striped))
    first, second = striped / "pictures" / "one.png", striped / "pictures" / "two.png"
    first.rename(striped / "other.png")
    second.rename(first)
    (striped / "other.png").rename(second)
    with pytest.raises(
        ValueError, match=r"row 0: .*one\.png is not the image that the dataset was built from"
    ):
        run(toy(), TASKS[:1], EvaluationOptions(data_dir=striped, output=Path("again")))


@pytest.mark.parametrize(
    ("box", "message"),
    [
        (Box(4.0, 0.0, 0.0, 8.0), r"has no pixels"),
        (Box(8.0, 0.0, -4.0, 8.0), r"has no pixels"),
        (Box(float("nan"), 0.0, 4.0, 8.0), r"has a number that is not finite"),
        (Box(0.0, 0.0, 1e7, 1e7), r"does not fit the image, 20 x 8|is not the image"),
        (Box(100.0, 0.0, 4.0, 8.0), r"does not fit the image, 20 x 8|is not the image"),
    ],
)
@pytest.mark.parametrize("name", ["Knows", "Pairs"])
def test_a_bad_box_is_named_and_can_be_skipped(
    here: Path, striped: Path, box: Box, message: str, name: str
):
    path = next((striped / "crepe" / TASKS[0].config).glob("*.parquet"))
    table = pq.read_table(path)
    for side, value in box._asdict().items():
        column = table.column_names.index(side)
        values = table[side].to_pylist()
        table = table.set_column(
            column, table.schema.field(side), [[*values[:2], value, *values[3:]]]
        )
    pq.write_table(table, path)
    write_card(striped / "crepe", {}, "", measure(striped / "crepe"))
    with pytest.raises(
        ValueError, match=rf"crepe/laion_uc_hnatom, row 2: .*({message}).*--on-error skip"
    ):
        run(toy(name), TASKS[:1], EvaluationOptions(data_dir=striped))
    (result,) = run(toy(name), TASKS[:1], EvaluationOptions(data_dir=striped, on_error="skip"))
    assert [item["row"] for item in result["skipped"]] == [2]
    assert result["metrics"]["recall@1"] == 1.0


@pytest.mark.parametrize("path", ["/etc/passwd", "../../etc/passwd", "pictures/../../secret.png"])
def test_a_row_cannot_read_files_outside_the_data_folder(here: Path, striped: Path, path: str):
    file = next((striped / "crepe" / TASKS[0].config).glob("*.parquet"))
    table = pq.read_table(file)
    column = table.column_names.index("image_path")
    table = table.set_column(column, "image_path", [[path, *table["image_path"].to_pylist()[1:]]])
    pq.write_table(table, file)
    write_card(striped / "crepe", {}, "", measure(striped / "crepe"))
    with pytest.raises(
        ValueError,
        match=r"crepe/laion_uc_hnatom, row 0: .* is outside the folders.*--on-error skip",
    ):
        run(toy(), TASKS[:1], EvaluationOptions(data_dir=striped))
    (result,) = run(toy(), TASKS[:1], EvaluationOptions(data_dir=striped, on_error="skip"))
    assert [item["row"] for item in result["skipped"]] == [0]
