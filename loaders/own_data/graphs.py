"""Scene graphs of a user's own images: Visual Genome's and GQA's, and COCO's instances and panoptic files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from compeval.base.readers import coco, gqa, visual_genome
from compeval.base.readers.records import Flaws
from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.generators.language.inflection import lemmatise_noun


def read_graphs(paths: Sequence[Path], flaws: Flaws) -> Iterator[AnnotatedImage]:
    """Yield the annotated images of all files; an image of several files comes several times.

    A path is a folder with Visual Genome's JSON files, a folder or file of GQA's (``*sceneGraphs*.json``), or a file of
    COCO. Raises FileNotFoundError or ValueError for anything else.
    """
    for path in paths:
        if path.is_dir() and (path / "image_data.json").is_file():
            yield from visual_genome.read(path, flaws)
        elif path.is_dir() or "sceneGraphs" in path.name:
            yield from gqa.read(path, path, flaws)
        elif _is_coco(path):
            yield from coco.read(path, flaws)
        else:
            raise ValueError(
                f"{path}: not a file of scene graphs. Known: a folder with Visual Genome's image_data.json and "
                "scene_graphs.json (or objects, attributes and relationships), GQA's *sceneGraphs*.json, and COCO's "
                "instances_*.json and panoptic_*.json."
            )


def list_annotated_nouns(paths: Sequence[Path]) -> frozenset[str]:
    """Return the nouns that the graphs list where an image shows them: COCO's categories. Empty: all nouns."""
    files = [
        path
        for path in paths
        if path.is_file() and "sceneGraphs" not in path.name and _is_coco(path)
    ]
    if len(files) < len(paths):
        return frozenset()
    return frozenset(
        lemmatise_noun(name) for path in files for name in coco.read_categories(path).values()
    )


def _is_coco(path: Path) -> bool:
    return path.suffix == ".json" and bool(coco.read_categories(path))
