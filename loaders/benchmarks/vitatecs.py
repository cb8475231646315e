"""VITATECS: the caption of a video, and the same caption with another direction, order, intensity or action.

    Direction.jsonl, Sequence.jsonl and four others -> configs direction, sequence, ...; chance 1/2

Source: Li et al. 2024 (arXiv:2311.17404), https://github.com/lscpku/VITATECS. The videos are those of the test sets of
MSR-VTT and VATEX. Models get frames, which loaders/importing/frames.py takes from the videos: as many as in the
authors' evaluation of CLIP4Clip, evenly spaced over the whole video (theirs: over one frame per second).
"""

from compeval.loaders.published import Benchmark, Columns, read_image_set, video_schema
from compeval.loaders.published.schemas import NUM_FRAMES

VIDEO = "{src_dataset}/{video_name}"
BENCHMARK = Benchmark(
    images=read_image_set("vitatecs_frames"),
    columns=Columns(
        images=tuple(f"{VIDEO}/{number}.jpg" for number in range(NUM_FRAMES)),
        captions=("caption",),
        hard_negatives=("counterfactual",),
        image_id=VIDEO,
        categories={"source": ("src_dataset",)},
    ),
    schema=video_schema(NUM_FRAMES),
    chance={"*": 1 / 2},
)
