"""The source of each input that params.yaml names: the micro-world, or the published data that its images belong to.

The licence of a row's images and the folder of its results follow from its source. Synthetic and real inputs are never
used together, because their numbers must not be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from compeval.base.pipeline.params import read_all_params

MICROWORLD = "microworld"
FOLDERS = (Path("sources") / MICROWORLD, Path("corpora") / MICROWORLD)
NO_INPUTS = ("source", "excluded_relations")
"""Keys of a block that name no data with images or captions."""
TRUTH = "truth.jsonl"
"""File in every folder with annotations of the micro-world."""


def read_sources() -> dict[str, str]:
    """Return the source of each input by its key in params.yaml: ``source``, ``aro``, ``retrieval.coco`` and so on.

    Raises ValueError if an input names no source, if its files are not of this source, or if the inputs mix the
    micro-world and real data.
    """
    params = read_all_params()
    retrieval = params.get("retrieval", {})
    inputs = {"aro": params.get("aro")} | {
        f"retrieval.{name}": settings for name, settings in retrieval.items()
    }
    sources = {"source": params["source"]}
    sources |= {key: _check_source(key, settings) for key, settings in inputs.items() if settings}
    synthetic = [key for key, source in sources.items() if source == MICROWORLD]
    real = [f"{key} ({source})" for key, source in sources.items() if source != MICROWORLD]
    if synthetic and real:
        raise ValueError(
            f"params.yaml: {', '.join(synthetic)} read the micro-world, but {', '.join(real)} real data. Set the "
            "sources and paths of all inputs to real data, or of all to the micro-world. An input whose stage is not "
            "run needs no files."
        )
    return sources


def _check_source(key: str, settings: Mapping[str, str]) -> str:
    """Return the source of an input. Raises ValueError if it is missing or contradicts a path."""
    if "source" not in settings:
        raise ValueError(
            f"params.yaml, {key}: no source. Name the data that its images belong to, such as visual_genome, coco or "
            f"flickr30k, or {MICROWORLD}."
        )
    source = settings["source"]
    for name, path in settings.items():
        if name not in NO_INPUTS and (source == MICROWORLD) != is_in_microworld(Path(path)):
            place = "is not in the micro-world" if source == MICROWORLD else "is in the micro-world"
            raise ValueError(
                f"params.yaml, {key}: the source is {source}, but {path} ({name}) {place}."
            )
    return source


def check_corpus(corpus: str, files: str) -> None:
    """Raise ValueError if real captions would be split by a corpus of the micro-world."""
    source = read_all_params()["source"]
    if source != MICROWORLD and is_in_microworld(Path(files)):
        raise ValueError(
            f"params.yaml, corpora.{corpus}: {files} is in the micro-world, but the test captions are of {source}. "
            "Name the files of the real corpus."
        )


def is_in_microworld(path: Path) -> bool:
    """Return True if a file, folder or glob pattern is in a folder that the micro-world's generator writes."""
    is_generated = any(path.is_relative_to(folder) for folder in FOLDERS)
    return is_generated or any((folder / TRUTH).exists() for folder in (path, *path.parents))
