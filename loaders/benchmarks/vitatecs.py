"""VITATECS: the caption of a video, and the same caption with another direction, order, intensity or action.

    Direction.jsonl, Sequence.jsonl and four others -> configs direction, sequence, ...; chance 1/2

Source: Li et al. 2024 (arXiv:2311.17404), https://github.com/lscpku/VITATECS. The videos are those of the test sets of
MSR-VTT and VATEX. Models get frames, which loaders/importing/frames.py takes from the videos: as many as in the
authors' evaluation of CLIP4Clip, evenly spaced over the whole video (theirs: over one frame per second).
"""

from compeval.loaders.published import (
    Benchmark,
    Columns,
    DataSource,
    Flaw,
    ImageSet,
    RemoteFile,
    video_schema,
)
from compeval.loaders.published.schemas import NUM_FRAMES

VIDEO = "{src_dataset}/{video_name}"
PINNED_FILES = (
    RemoteFile(name="Direction.jsonl", size=999128, sha256="0af0d9eb5692b31a5751d0fe9c32930e5076711ea67f9fec12be9cb77b6ef7f0"),
    RemoteFile(name="Intensity.jsonl", size=208922, sha256="084499313b80e4760f1a27c95a69cc7b94850004101945946b06396b0bf9c2f3"),
    RemoteFile(name="Sequence.jsonl", size=41951, sha256="b839b664486724ddf90343af5fa674ce6ab81ffd219d8fd520b377c7ad39e8dd"),
    RemoteFile(name="Localization.jsonl", size=288722, sha256="e92c6da4bbfe46fee5fd5e0d2eac12a1d41f18d76470de905248bc1727fa176c"),
    RemoteFile(name="Compositionality.jsonl", size=390293, sha256="1e891eb36261993ec5c385a61fd8e5cdb1a4ee4cbc01f10bbfb1bcd10e41221e"),
    RemoteFile(name="Type.jsonl", size=1562442, sha256="82eae3cd93907e8f867f9749472a9a168e1b6121b9cfb9a11a71b919d33cc0fb"),
)  # fmt: skip
BENCHMARK = Benchmark(
    description="Does a caption describe the video, or its copy with another direction, order, "
    "intensity, place or action?",
    year=2024,
    licence_id="cc-by-4.0",
    source=DataSource(
        title="VITATECS",
        homepage="https://github.com/lscpku/VITATECS",
        licence="CC BY 4.0; videos: MSR-VTT and VATEX, under their own licences",
        citation="Li et al. 2024, VITATECS, CVPR, arXiv:2311.17404",
        root="https://raw.githubusercontent.com/lscpku/VITATECS/58bff59bb1d3ed287983fca8ca7589498f4db6b2/data",
        files=PINNED_FILES,
    ),
    images=ImageSet(
        "vitatecs_frames",
        ("frames",),
        download_instructions="Download the test videos of MSR-VTT "
        "(https://github.com/m-bain/frozen-in-time#-finetuning-benchmarks-msr-vtt) and VATEX "
        "(https://eric-xw.github.io/vatex-website/download.html) to videos/MSRVTT and "
        "videos/VATEX, and run `pip install 'compeval[video]'` and `python -m "
        "compeval.loaders.importing.frames videos frames`. Then use --images frames.",
    ),
    columns=Columns(
        images=tuple(f"{VIDEO}/{number}.jpg" for number in range(NUM_FRAMES)),
        captions=("caption",),
        hard_negatives=("counterfactual",),
        image_id=VIDEO,
        categories={"source": ("src_dataset",)},
    ),
    schema=video_schema(NUM_FRAMES),
    chance={"*": 1 / 2},
    tested=True,
    rows={
        "direction": 3800,
        "intensity": 779,
        "sequence": 151,
        "localization": 1053,
        "compositionality": 1450,
        "type": 6605,
    },
    image_count=77472,
    flaws=(
        Flaw(rows="27 rows", what="repeat another row", source="counted"),
        Flaw(
            rows="88.1 % of intensity and 84.0 % of direction",
            what="a text-only baseline selects the caption",
            source="counted",
        ),
    ),
)
