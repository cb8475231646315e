"""Write frames of videos as images, for benchmarks whose rows are videos.

    # videos/VATEX/a.mp4 -> frames/VATEX/a.mp4/0.jpg to 11.jpg
    python -m compeval.loaders.importing.frames videos frames

The frames are evenly spaced, from the first to the last; a shorter video has repeated frames. A run that was killed
resumes: a folder of frames is complete. Needs PyAV (``pip install 'compeval[video]'``).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from compeval.base.files.atomic import atomic_folder
from compeval.base.files.listing import list_files
from compeval.base.pipeline import stage
from compeval.loaders.published.schemas import NUM_FRAMES

SUFFIXES = (".avi", ".mkv", ".mov", ".mp4", ".webm")
QUALITY = 95
"""Quality of the JPEG files."""


def decode_frames(path: Path) -> Iterator[Any]:
    """Yield all frames of a video (PyAV's ``VideoFrame``), at most one of them in memory.

    Raises ValueError if the file is no video or is damaged.
    """
    try:
        import av
        from av.error import FFmpegError
    except ImportError:
        raise ImportError("Reading videos needs PyAV: pip install 'compeval[video]'.") from None
    try:
        with av.open(str(path.absolute())) as container:
            if not container.streams.video:
                raise ValueError(f"{path}: no video in this file.")
            yield from container.decode(container.streams.video[0])
    except FFmpegError as error:
        raise ValueError(f"{path}: the video cannot be decoded ({error.strerror}).") from None


def write_frames(path: Path, folder: Path, count: int = NUM_FRAMES) -> None:
    """Write ``count`` evenly spaced frames of a video to ``folder``, named 0.jpg, 1.jpg and so on, all or none.

    Raises ValueError if the file is no video, is damaged or has no frame.
    """
    total = sum(1 for _ in decode_frames(path))
    if not total:
        raise ValueError(f"{path}: the video has no frame.")
    places = np.linspace(0, total - 1, count).astype(int)
    with atomic_folder(folder) as scratch:
        for place, frame in enumerate(decode_frames(path)):
            for number in np.flatnonzero(places == place):
                frame.to_image().save(scratch / f"{number}.jpg", quality=QUALITY)


def main(videos: Path, output: Path) -> None:
    """Write frames of all videos below the folder VIDEOS to the same places below OUTPUT.

    Unreadable videos are named and skipped. Raises ValueError if there is no readable video.
    """
    if not videos.is_dir():
        raise FileNotFoundError(f"{videos}: no such folder of videos.")
    paths = [path for path in list_files(videos, "**/*") if path.suffix.lower() in SUFFIXES]
    if not paths:
        raise ValueError(f"{videos}: no videos ({', '.join(SUFFIXES)}).")
    unreadable: list[str] = []
    for path in tqdm(paths, "videos", unit="video"):
        folder = output / path.relative_to(videos)
        if folder.is_dir():
            continue
        try:
            write_frames(path, folder)
        except ValueError as error:
            unreadable.append(str(error))
    if len(unreadable) == len(paths):
        raise ValueError(
            f"{unreadable[0]} No video below {videos} is readable ({len(paths):,} tried)."
        )
    print(
        f"{len(paths) - len(unreadable):,} of {len(paths):,} videos have {NUM_FRAMES} frames each in {output}."
    )
    print(*unreadable, sep="\n", end="\n" if unreadable else "")


if __name__ == "__main__":
    stage.run(main)
