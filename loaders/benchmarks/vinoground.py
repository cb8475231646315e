"""Vinoground: two videos, and two captions with the same events in another order.

    vinoground.csv -> config main; chance: text 1/4, image 1/4, group 1/6

Source: Zhang et al. 2024 (arXiv:2410.02763), https://huggingface.co/datasets/HanSolo9682/Vinoground. Models get frames,
which loaders/importing/frames.py takes from the videos, evenly spaced; the authors report 1 to 32 frames per video.
Results are broken down by the authors' major category of each item, and by its minor ones together.

The columns are those that the authors' scripts read, in https://github.com/Vinoground/Vinoground at 24eebef:
eval/videoclip.py (captions and names of the videos) and get_score_all.py (categories). The file itself was not read.
"""

from typing import Any

from compeval.loaders.published import (
    Benchmark,
    DataSource,
    ImageSet,
    RemoteFile,
    Row,
    video_group_schema,
)
from compeval.loaders.published.schemas import NUM_FRAMES

VIDEOS = ("pos", "neg")


def make_row(item: dict[str, Any], file: str) -> Row:
    if not item["index"].isdecimal():
        raise ValueError(f"the index {item['index']!r} is not a number")
    number = int(item["index"])
    return Row(
        "main",
        tuple(
            f"{number}_{video}.mp4/{frame}.jpg" for video in VIDEOS for frame in range(NUM_FRAMES)
        ),
        tuple(item[f"{video}_cap"] for video in VIDEOS),
        image_id=str(number),
        categories=(("major", item["major"]), ("minor", item["minor"].strip("; ") or "none")),
    )


BENCHMARK = Benchmark(
    description="Which of two captions with the same events in another order belongs to which of two "
    "videos?",
    year=2024,
    licence_id="other",
    source=DataSource(
        title="Vinoground",
        homepage="https://huggingface.co/datasets/HanSolo9682/Vinoground",
        licence="none stated in the authors' repository; videos of YouTube, under their own licences",
        citation="Zhang et al. 2024, Vinoground, arXiv:2410.02763",
        root="https://huggingface.co/datasets/HanSolo9682/Vinoground/resolve/main",
        files=(RemoteFile(name="vinoground.csv"),),
    ),
    images=ImageSet(
        "vinoground_frames",
        ("frames",),
        download_instructions="Download vinoground_videos.zip from "
        "https://huggingface.co/datasets/HanSolo9682/Vinoground and unpack it, and run `pip "
        "install 'compeval[video]'` and `python -m compeval.loaders.importing.frames "
        "vinoground_videos frames`. Then use --images frames.",
    ),
    make_row=make_row,
    fields=("index", "major", "minor", "pos_cap", "neg_cap"),
    schema=video_group_schema(NUM_FRAMES),
    chance={"*": 1 / 6},
    rows={"main": 500},
    image_count=12000,
)
