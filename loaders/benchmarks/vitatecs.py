"""VITATECS: the caption of a video, and the same caption with another direction, order, intensity or action.

    Direction.jsonl, Sequence.jsonl and four others -> configs direction, sequence, ...; chance 1/2

Source: Li et al. 2024 (arXiv:2311.17404), https://github.com/lscpku/VITATECS. The videos are those of the test sets of
MSR-VTT and VATEX. Models get frames, which loaders/importing/frames.py takes from the videos: as many as in the
authors' evaluation of CLIP4Clip, evenly spaced over the whole video (theirs: over one frame per second).
"""

from pathlib import Path
from typing import Any

from loaders.importing.frames import NUM_FRAMES
from loaders.published import Benchmark, ImageSet, Row, video_schema


def make_row(item: dict[str, Any], file: str) -> Row:
    video = f"{item['src_dataset']}/{item['video_name']}"
    return Row(
        Path(file).stem.lower(),
        tuple(f"{video}/{number}.jpg" for number in range(NUM_FRAMES)),
        (item["caption"],),
        (item["counterfactual"],),
        image_id=video,
        categories=(("source", item["src_dataset"]),),
    )


FRAMES = ImageSet(
    "vitatecs_frames",
    ("frames",),
    download_instructions=(
        "Download the test videos of MSR-VTT (https://github.com/m-bain/frozen-in-time#-finetuning-benchmarks-msr-vtt) "
        "and VATEX (https://eric-xw.github.io/vatex-website/download.html) to videos/MSRVTT and videos/VATEX, and run "
        "`pip install 'compeval[video]'` and `python -m loaders.importing.frames videos frames`. Then use "
        "--images frames."
    ),
)
BENCHMARK = Benchmark(
    images=FRAMES,
    make_row=make_row,
    fields=("src_dataset", "video_name", "caption", "counterfactual", "aspect"),
    schema=video_schema(NUM_FRAMES),
    chance={"*": 1 / 2},
)
