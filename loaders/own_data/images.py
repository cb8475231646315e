"""The images of a user's own data, one at a time, with all their captions and scene graphs.

Rows and graphs are grouped by image in a temporary database on disk, and each image is stored once in the dataset
folder, upright and with 8 bits, so memory does not depend on the number of rows.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from compeval.base.files.hashes import hash_file
from compeval.base.readers.records import RecordsByImage
from compeval.base.schemas.annotated_image import AnnotatedImage, Region
from compeval.base.schemas.scene_graph import Box, SceneGraph
from compeval.base.storage.crops import HASHES, IMAGES, make_crop_id
from compeval.base.storage.dataset import EXTENSIONS
from compeval.loaders.own_data.entries import Entry, read_upright

FOLDER = "own"
"""Folder below ``images`` with the image files."""
GRAPH = "graph"


class OwnImage(NamedTuple):
    """An image with its captions, not parsed, and its rows with hard negatives of their own."""

    annotated: AnnotatedImage
    """Its only file is the name of the stored image, which begins with its crop id."""
    rows: list[dict[str, Any]]


class ImageStore:
    """Writes image files to ``images/own`` of a dataset folder, each once, and the list of their hashes."""

    def __init__(self, dataset: Path) -> None:
        self._folder = dataset / IMAGES / FOLDER
        self._folder.mkdir(parents=True)

    def add(self, path: Path) -> tuple[str, Box]:
        """Store an image; return the name of its file and its area. Raises ValueError, with the path."""
        data, box = read_upright(path)
        extension = next(
            (extension for start, extension in EXTENSIONS.items() if data.startswith(start)), ""
        )
        sha256 = hashlib.sha256(data).hexdigest()
        file = self._folder / f"{make_crop_id(sha256, box)}{extension}"
        if not file.exists():
            file.write_bytes(data)
        return file.name, box

    def write_hashes(self) -> None:
        """Write the list of the hashes, in the format of the command ``sha256sum``."""
        lines = [f"{hash_file(path)}  {path.name}\n" for path in sorted(self._folder.iterdir())]
        (self._folder / HASHES).write_text("".join(lines), encoding="utf-8")


def read_images(
    entries: Iterable[Entry],
    graphs: Iterable[AnnotatedImage],
    store: ImageStore,
    counts: Counter[str],
) -> Iterator[OwnImage]:
    """Yield the images by the length and the letters of their names, and store them.

    A scene graph belongs to the images whose file name without suffix is its image id. Raises ValueError if an
    image is not readable, or no scene graph belongs to an image.
    """
    records = RecordsByImage()
    names = set[str]()
    for entry in entries:
        names.add(entry.image.stem)
        fields = {
            "id": entry.image_id,
            "captions": entry.captions,
            "negatives": entry.hard_negatives,
        }
        records.add(entry.image.stem, str(entry.image), fields | {"kind": entry.kind})
        counts["rows"] += 1
    _add_graphs(records, graphs, names)
    for _, group in records:
        by_path: dict[str, list[dict[str, Any]]] = {}
        for path, record in group:
            by_path.setdefault(path, []).append(record)
        graph_images = [AnnotatedImage.from_row(row) for row in by_path.pop(GRAPH, ())]
        graph = _join_graphs([image.graph for image in graph_images])
        for path, rows in by_path.items():
            counts["images"] += 1
            counts["images with a scene graph"] += bool(graph.objects)
            name, box = store.add(Path(path))
            captions = dict.fromkeys(caption for row in rows for caption in row["captions"])
            regions = tuple(
                Region(str(number), text, box, text) for number, text in enumerate(captions)
            )
            other_names = {
                f"{n}:{key}": names
                for n, i in enumerate(graph_images)
                for key, names in i.other_names.items()
            }
            annotated = AnnotatedImage(
                rows[0]["id"],
                int(box.width),
                int(box.height),
                graph,
                regions,
                other_names,
                (Path(name),),
            )
            yield OwnImage(annotated, rows)


def _add_graphs(
    records: RecordsByImage, graphs: Iterable[AnnotatedImage], names: Collection[str]
) -> None:
    """Add the scene graphs whose ids are among ``names``. Raises ValueError if no graph is added."""
    other_ids = dict[str, None]()
    for image in graphs:
        if image.image_id in names:
            records.add(image.image_id, GRAPH, image.to_row())
        else:
            other_ids[image.image_id] = None
    if other_ids and not records.has_file(GRAPH):
        raise ValueError(
            f"--graphs: none of {len(other_ids):,} scene graphs belongs to an image. A graph has the file name of its "
            f"image without suffix as id; got the ids {', '.join([*other_ids][:3])}, and the images "
            f"{', '.join(sorted(names)[:3])}."
        )


def _join_graphs(graphs: list[SceneGraph]) -> SceneGraph:
    """Return one graph with the objects and relations of all; their ids get a prefix."""
    rows = [graph.to_row() for graph in graphs]
    for number, row in enumerate(rows):
        for item in row["objects"]:
            item["id"] = f"{number}:{item['id']}"
        for edge in row["relations"]:
            edge |= {side: f"{number}:{edge[side]}" for side in ("subject", "object")}
    return SceneGraph.from_row(
        {key: [item for row in rows for item in row[key]] for key in ("objects", "relations")}
    )
