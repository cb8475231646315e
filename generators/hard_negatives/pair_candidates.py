"""Candidate pairs of photographs for ControlledImCaps, to be accepted by an annotator.

    python -m generators.hard_negatives.pair_candidates annotations/visual_genome.parquet
    sample/annotations/controlledimcaps/candidates.csv

Source: Kamath, Hessel and Chang 2023, section 2.2: the authors chose pairs of COCO photographs by hand and wrote
captions that differ in one word. Here scene graphs in Visual Genome's format propose both, and an annotator fills in
the column ``accepted``; loaders/benchmarks/photograph_pairs.py makes a dataset of the rows with ``yes``. Graphs are
incomplete, so a candidate may be wrong. They have no temporal relations, so there are no temporal pairs.

Captions refer only to nouns that an image has once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, islice, permutations
from pathlib import Path
from random import Random
from typing import NamedTuple

from generators.language import inflection
from generators.readers.annotations import Annotations
from generators.schemas.annotated_image import AnnotatedImage
from generators.schemas.scene_graph import Box, SceneObject
from generators.storage import csv_tables, stage

COLUMNS = ("type", "image_0", "image_1", "caption_0", "caption_1", "accepted")
SIDE = 0.4
"""Share of an image's width, from either edge, in which the centre of an object is on the left or on the right."""

COLOURS = {
    "red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "gray", "grey", "beige",
    "golden", "silver",
}  # fmt: skip
"""Adjectives that exclude each other: "small" and "blue" may both be true of an object."""


class Caption(NamedTuple):
    """A caption as a ``frame`` (the text before and after a word), which both captions of a pair share, and a word."""

    kind: str
    frame: tuple[str, str]
    word: str


class Candidate(NamedTuple):
    kind: str
    image_0: str
    image_1: str
    caption_0: str
    caption_1: str


def captions(image: AnnotatedImage) -> Iterator[Caption]:
    """Yield every caption that the pair types allow for an image."""
    names = Counter(item.name for item in image.graph.objects)
    single = {item.id: item for item in image.graph.objects if names[item.name] == 1}
    for item in single.values():
        yield from _object_captions(item, image.width)
    for edge in image.graph.relations:
        if edge.subject in single and edge.object in single and _is_verb(edge.predicate):
            subject, other = single[edge.subject].name, single[edge.object].name
            yield Caption("verb_2", (_a(subject), _a(other)), edge.predicate)
    for subject, other in permutations(single.values(), 2):
        if subject.box and other.box and (side := _side(subject.box, other.box)):
            yield Caption("spatial_2", (f"{_a(subject.name)} to the", f"of {_a(other.name)}"), side)


def _object_captions(item: SceneObject, width: int) -> Iterator[Caption]:
    for attribute in item.attributes:
        if _is_verb(attribute):
            yield Caption("verb_1", (_a(item.name), ""), attribute)
        elif attribute in COLOURS:
            yield Caption("adjective", (inflection.article(attribute), item.name), attribute)
    if item.box:
        centre = (item.box.x + item.box.width / 2) / width
        if centre < SIDE or centre > 1 - SIDE:
            yield Caption("spatial_1", (f"{_a(item.name)} on the", ""), "left" if centre < SIDE else "right")


def _is_verb(text: str) -> bool:
    return text.isalpha() and text.endswith("ing")


def _a(noun: str) -> str:
    return f"{inflection.article(noun)} {noun}"


def _side(box: Box, other: Box) -> str | None:
    """The side of the other box that a box is on, if their widths do not overlap."""
    if box.x + box.width <= other.x:
        return "left"
    return "right" if other.x + other.width <= box.x else None


def candidates(images: Iterable[AnnotatedImage], most: int, seed: int) -> list[Candidate]:
    """Return at most ``most`` random pairs per type; within a type, each image and each frame is in one pair at most.

    Neither image of a pair has the other's word in the same frame.
    """
    words: dict[tuple[str, tuple[str, str]], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for image in images:
        for caption in captions(image):
            words[caption.kind, caption.frame][image.image_id].add(caption.word)
    pairs: list[Candidate] = []
    for kind in sorted({kind for kind, _ in words}):
        frames = sorted(frame for other, frame in words if other == kind)
        Random(f"{seed}:{kind}").shuffle(frames)
        used: set[str] = set()
        pairs += islice((pair for frame in frames for pair in _pairs(kind, frame, words[kind, frame], used)), most)
    return pairs


def _pairs(kind: str, frame: tuple[str, str], words: Mapping[str, set[str]], used: set[str]) -> Iterator[Candidate]:
    """The first pair of unused images with different words; adds both to ``used``."""
    unused = [(image, next(iter(own))) for image, own in sorted(words.items()) if len(own) == 1 and image not in used]
    for (image, word), (other, other_word) in combinations(unused, 2):
        if word != other_word:
            used |= {image, other}
            texts = (" ".join(filter(None, (frame[0], text, frame[1]))) for text in (word, other_word))
            yield Candidate(kind, image, other, *texts)
            return


def write(path: Path, pairs: Iterable[Candidate]) -> None:
    """Write the CSV file for the annotator. ValueError if it exists, since it may hold answers."""
    if path.exists():
        raise ValueError(f"{path} already exists and may hold answers. Choose another file.")
    csv_tables.write(path, COLUMNS, (dict(zip(COLUMNS, (*pair, ""), strict=True)) for pair in pairs))


def main(annotations: Path, output: Path, most: int = 150, seed: int = 0) -> None:
    """Write at most MOST candidates of each type from the graphs of ANNOTATIONS to OUTPUT, a CSV file."""
    pairs = candidates(Annotations(annotations), most, seed)
    write(output, pairs)
    counts = Counter(pair.kind for pair in pairs)
    print(f"{output}: {', '.join(f'{count} {kind}' for kind, count in counts.items()) or 'no candidate'}.")


if __name__ == "__main__":
    stage.run(main)
