"""Every failure prints one clear message without a traceback, and finished work is kept."""

import errno
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import PIL.features
import pyarrow.parquet as pq
import pytest
from PIL import Image
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators.engine import feature_cache as features
from compeval.evaluators.engine import images
from compeval.evaluators.engine.task_dataset import CropSource, TaskDataset
from compeval.evaluators.engine.tasks import Task
from tests.evaluators import tiny
from tests.evaluators.tiny import all_files

TASK = "crepe/laion_uc_hnatom"


def failure(model: str, *arguments: object) -> str:
    """Return the message of a ``compeval run`` that fails with exit code 2 and prints only this message."""
    result = CliRunner().invoke(app, ["run", "--model", model, *map(str, arguments)])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (message,) = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert "Traceback" not in result.stderr
    return message.removeprefix("Error: ")


def works(model: str, *arguments: object) -> None:
    result = CliRunner().invoke(app, ["run", "--model", model, *map(str, arguments)])
    assert result.exit_code == 0, result.output


def raising(number: int) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def test_an_unknown_task_names_similar_tasks_and_the_list_command(here: Path, data: Path):
    assert failure("python:toy_models:Knows", "--data", data, "--task", "crepe/laion_uc_hnatm") == (
        "Unknown task 'crepe/laion_uc_hnatm'. Did you mean crepe/laion_uc_hnatom or crepe/laion_uc_raw or "
        "crepe/laion_sc_raw? `compeval list tasks` lists all 6."
    )


def test_features_that_are_not_finite(here: Path, data: Path):
    assert failure("python:toy_models:Broken", "--data", data, "--task", TASK) == (
        "Broken: 115 of 115 text features are zero, infinite or not a number. Check the weights; in 16 bits, "
        "try fp32 (--precision)."
    )


def test_a_truncated_cache_file(here: Path, data: Path, tmp_path: Path):
    options = ("--data", data, "--task", TASK)
    works("python:toy_models:Knows", *options)
    (path,) = (tmp_path / "cache").glob(f"*{features.SUFFIX}")
    os.truncate(path, path.stat().st_size // 2)
    assert failure("python:toy_models:Knows", *options, "--output", "elsewhere") == (
        f"{path}: the feature cache failed (database disk image is malformed). The file is damaged: delete it and run "
        "again. It is only a cache."
    )
    path.unlink()
    works("python:toy_models:Knows", *options, "--output", "elsewhere")
    assert all_files(Path("elsewhere")) == all_files(Path("results"))


def test_a_full_disk_leaves_no_partial_result(
    here: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pq, "write_table", raising(errno.ENOSPC))
    folder = Path("results/microworld/Knows")
    assert failure("python:toy_models:Knows", "--data", data, "--task", TASK) == (
        f"{folder / TASK}.parquet: the result cannot be written (No space left on device). Free some space or choose "
        "another --output. Encoded features are kept."
    )
    assert all_files(folder) == {}


def test_an_unwritable_output_is_reported_before_anything_is_encoded(
    here: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        "compeval.evaluators.engine.score.encode", lambda *_: pytest.fail("encoded in vain")
    )
    Path("taken").write_text("", encoding="utf-8")
    told = failure("python:toy_models:Knows", "--data", data, "--task", TASK, "--output", "taken")
    assert "taken: nothing can be written there (taken is a file). Choose another --output." in told
    monkeypatch.setattr("tempfile.TemporaryFile", raising(errno.EROFS))
    told = failure("python:toy_models:Knows", "--data", data, "--task", TASK)
    assert "the result cannot be written (Read-only file system)" in told


def spoilt(folder: Path) -> Path:
    """Write five rows. The third and the fifth are different crops with the same truncated image file."""
    rows = list(tiny.choice_rows(5))
    half = {"bytes": tiny.picture("red", (64, 64))[:60], "path": None}
    for number in (2, 4):
        rows[number] |= {"image": half}
    return tiny.write_dataset(folder, {"laion_uc_hnatom": {"test": rows}})


def test_a_corrupt_image_is_named_and_can_be_skipped(here: Path, tmp_path: Path):
    data = spoilt(tmp_path / "spoilt")
    told = failure("python:toy_models:Knows", "--data", data)
    assert told.startswith(f"{TASK}, row 2: the image cannot be decoded (")
    assert told.endswith("Build the dataset again, or skip such rows with `--on-error skip`.")
    result = CliRunner().invoke(
        app,
        ["run", "--model", "python:toy_models:Knows", "--data", str(data), "--on-error", "skip"],
    )
    assert result.exit_code == 0
    assert f"{TASK}: 2 rows skipped because of unreadable images." in result.stderr
    (path,) = Path("results").rglob("*.parquet")
    document = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert document["data"]["rows"] == len(pq.read_table(path))


@pytest.mark.skipif(not PIL.features.check("avif"), reason="Pillow without AVIF")
def test_an_image_format_whose_decoder_raises_unusual_errors():
    buffer = io.BytesIO()
    Image.new("RGB", (24, 24)).save(buffer, "AVIF")
    header, name, pixels = buffer.getvalue().partition(b"mdat")
    data = header + name + bytes(len(pixels))
    dataset = cast(TaskDataset, SimpleNamespace(task=Task("crepe", "prod_hnatom")))
    crop = CropSource(dataset, 3, "image", "the image of row 3")
    with pytest.raises(
        images.UnreadableImageError, match="crepe/prod_hnatom, row 3: the image cannot be decoded"
    ):
        images.decode(data, crop)


def test_ctrl_c_keeps_encoded_features(here: Path, data: Path, monkeypatch: pytest.MonkeyPatch):
    from compeval.evaluators.engine import encode

    monkeypatch.setattr(encode, "MIN_TEXTS_PER_CHUNK", 16)
    options = [
        "run",
        "--model",
        "python:toy_models:Interrupted",
        "--data",
        str(data),
        "--task",
        "crepe/*",
        "--json",
    ]
    options += ["--batch-size", "16"]
    result = CliRunner().invoke(app, options)
    assert result.exit_code == 130
    assert result.stderr.endswith("run the same command again to continue.\n")
    Path("revived").touch()
    assert CliRunner().invoke(app, options).exit_code == 0
    # The images were done, and the texts before the first pink ball.
    side = Path("results/microworld/Interrupted.run.json").read_text(encoding="utf-8")
    assert '"images_encoded": 0' in side
    assert 0 < int(side.split('"texts_encoded": ')[1].split("\n")[0].rstrip(",")) < 150
