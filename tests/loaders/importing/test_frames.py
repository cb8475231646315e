"""Frames of videos: which ones are taken, what is skipped, and a benchmark of videos from its file to its score."""

import json
from collections.abc import Sequence
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from compeval.cli import app
from compeval.loaders.importing import frames
from compeval.loaders.published.schemas import NUM_FRAMES
from tests.close import assert_close
from tests.evaluators.tiny import COLORS


def write_video(path: Path, colors: Sequence[tuple[int, ...]]) -> Path:
    """Write a video of plain frames."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for color in colors:
            container.mux(
                stream.encode(av.VideoFrame.from_image(Image.new("RGB", (64, 48), color)))
            )
        container.mux(stream.encode())
    return path


def read_grey(folder: Path) -> list[float]:
    return [
        np.asarray(Image.open(folder / f"{number}.jpg")).mean()
        for number in range(len([*folder.glob("*.jpg")]))
    ]


def test_frames_are_evenly_spaced_from_the_first_to_the_last(tmp_path: Path):
    write_video(tmp_path / "a.mp4", [(10 * n,) * 3 for n in range(25)])
    frames.write_frames(tmp_path / "a.mp4", tmp_path / "frames", count=4)  # 0, 8, 16 and 24 of 25
    assert_close(read_grey(tmp_path / "frames"), [0, 80, 160, 240], within=6)


def test_a_short_video_has_repeated_frames(tmp_path: Path):
    write_video(tmp_path / "a.mp4", [(0,) * 3, (200,) * 3])
    frames.write_frames(tmp_path / "a.mp4", tmp_path / "frames", count=3)  # places 0, 0.5 and 1
    assert_close(read_grey(tmp_path / "frames"), [0, 0, 200], within=6)


def test_unreadable_videos_are_named_and_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    videos, output = tmp_path / "videos", tmp_path / "frames"
    whole = write_video(videos / "VATEX" / "whole.mp4", [(9, 9, 9)] * 3)
    (videos / "cut.mp4").write_bytes(whole.read_bytes()[:-200])
    (videos / "text.mp4").write_text("not a video", encoding="utf-8")
    (videos / "notes.txt").write_text("not looked at", encoding="utf-8")
    (videos / "frames" / "old.mp4").mkdir(parents=True)  # a folder of frames
    frames.main(videos, output)
    done = capsys.readouterr().out
    assert f"1 of 3 videos have {NUM_FRAMES} frames each" in done
    assert all(
        f"{videos / name}: the video cannot be decoded" in done for name in ("cut.mp4", "text.mp4")
    )
    assert sorted(path.relative_to(output).as_posix() for path in output.rglob("*.jpg")) == sorted(
        f"VATEX/whole.mp4/{number}.jpg" for number in range(NUM_FRAMES)
    )
    before = (output / "VATEX/whole.mp4").stat().st_mtime_ns
    frames.main(videos, output)
    assert (output / "VATEX/whole.mp4").stat().st_mtime_ns == before, (
        "a finished video is not decoded again"
    )


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (None, "no such folder of videos"),
        ([], "no videos (.avi"),
        (["a.mp4"], "is readable (1 tried)"),
    ],
)
def test_error_without_videos(tmp_path: Path, files: list[str] | None, message: str):
    if files is not None:
        (tmp_path / "videos").mkdir()
        for name in files:
            (tmp_path / "videos" / name).touch()
    with pytest.raises((OSError, ValueError)) as error:
        frames.main(tmp_path / "videos", tmp_path / "frames")
    assert message in str(error.value)


def test_a_benchmark_of_videos_from_its_file_to_its_score(here: Path):
    """The first video is red in 7 of 12 frames, the second in 5, so that its wrong caption scores higher."""
    for name, count in (("-one.mp4", 7), ("two.mp4", 5)):
        write_video(
            here / "videos/MSRVTT" / name,
            [COLORS["red"]] * count + [COLORS["blue"]] * (NUM_FRAMES - count),
        )
    frames.main(here / "videos", here / "frames")
    row = {
        "src_dataset": "MSRVTT",
        "caption": "a red cup",
        "counterfactual": "a blue cup",
        "aspect": "Type",
    }
    lines = [json.dumps(row | {"video_name": name}) for name in ("-one.mp4", "two.mp4")]
    (here / "Type.jsonl").write_text("\n".join(lines), encoding="utf-8")
    imported = CliRunner().invoke(
        app, ["import", "Type.jsonl", "--images", "frames", "--output", "data"]
    )
    assert imported.exit_code == 0, imported.output
    run = [
        "run",
        "--model",
        "python:toy_models:Knows",
        "--task",
        "vitatecs/*",
        "--data",
        "data",
        "--json",
    ]
    done = CliRunner().invoke(app, run)
    assert done.exit_code == 0, done.output
    (result,) = json.loads(done.stdout)
    assert (result["task"], result["protocol"]) == ("vitatecs/type", "video_choice")
    assert result["metrics"]["recall@1"] == 0.5
    assert result["data"]["set_size"] == 2


@pytest.mark.parametrize(("model", "scores"), [("Knows", [1, 0.5, 0.5]), ("Constant", [0, 0, 0])])
def test_pairs_of_videos_from_their_file_to_their_scores(
    here: Path, model: str, scores: list[float]
):
    """Each video of item 1 is more similar to its caption, but both captions are more similar to its first video."""
    videos = {"0_pos": [12, 0, 0], "0_neg": [0, 12, 0], "1_pos": [7, 5, 0], "1_neg": [0, 1, 11]}
    for name, counts in videos.items():
        colors = [
            COLORS[color]
            for color, count in zip(("red", "blue", "green"), counts, strict=True)
            for _ in range(count)
        ]
        write_video(here / f"videos/{name}.mp4", colors)
    frames.main(here / "videos", here / "frames")
    lines = [f"{number},action,,a red cup,a blue cup" for number in (0, 1)]
    (here / "vinoground.csv").write_text(
        "\n".join(["index,major,minor,pos_cap,neg_cap", *lines]), encoding="utf-8"
    )
    imported = CliRunner().invoke(
        app, ["import", "vinoground.csv", "--images", "frames", "--output", "data"]
    )
    assert imported.exit_code == 0, imported.output
    run = [
        "run",
        "--model",
        f"python:toy_models:{model}",
        "--task",
        "vinoground/*",
        "--data",
        "data",
        "--json",
    ]
    done = CliRunner().invoke(app, run)
    assert done.exit_code == 0, done.output
    (result,) = json.loads(done.stdout)
    assert (result["task"], result["protocol"]) == ("vinoground/main", "video_group")
    assert [result["metrics"][f"{name}_score"] for name in ("text", "image", "group")] == scores
    assert [result["chance"][f"{name}_score"] for name in ("text", "image", "group")] == [
        1 / 4,
        1 / 4,
        1 / 6,
    ]
    assert result["data"]["set_size"] == 2
