"""Candidate pairs for ControlledImCaps from annotated photographs, for a person to accept.

    python -m generators.hard_negatives.pair_candidates annotations/visual_genome.parquet
    sample/annotations/controlledimcaps/candidates.csv

Source: Kamath, Hessel and Chang 2023, section 2.2: the authors chose pairs of COCO photographs by hand and wrote
captions that differ in one word. Here scene graphs in Visual Genome's format propose both, and a person decides: the
column ``accepted`` is empty, and loaders/benchmarks/photograph_pairs.py makes a dataset of the rows with ``yes``
there. A graph
does not say all that its image shows, so a candidate is a guess. Before and after are in no graph: no temporal pairs.

Things are named by nouns that an image has once, so that "the cat" of a caption is clear.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
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
"""Share of an image's width, from either edge, within which a thing's middle is on the left or on the right."""

COLOURS = {
    "red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "gray", "grey", "beige",
    "golden", "silver",
}  # fmt: skip
"""The adjectives of which a thing has one: "small" and "blue" may both be true of it."""


class Caption(NamedTuple):
    """What may be said of one image: all but ``word`` is the ``frame``, which two images of a pair share."""

    kind: str
    frame: tuple[str, str]
    """The texts before and after the word."""
    word: str


class Candidate(NamedTuple):
    kind: str
    image_0: str
    image_1: str
    caption_0: str
    caption_1: str


def captions(image: AnnotatedImage) -> Iterator[Caption]:
    """Everything that the pair types could say of an image."""
    names = Counter(item.name for item in image.graph.objects)
    single = {item.id: item for item in image.graph.objects if names[item.name] == 1}
    for item in single.values():
        yield from _of_one(item, image.width)
    for edge in image.graph.relations:
        if edge.subject in single and edge.object in single and _is_verb(edge.predicate):
            subject, other = single[edge.subject].name, single[edge.object].name
            yield Caption("verb_2", (_a(subject), _a(other)), edge.predicate)
    boxed = [item for item in single.values() if item.box]
    for subject in boxed:
        for other in boxed:
            if subject.name != other.name and (side := _side_of(subject.box, other.box)):
                yield Caption("spatial_2", (f"{_a(subject.name)} to the", f"of {_a(other.name)}"), side)


def _of_one(item: SceneObject, width: int) -> Iterator[Caption]:
    for attribute in item.attributes:
        if _is_verb(attribute):
            yield Caption("verb_1", (_a(item.name), ""), attribute)
        elif attribute in COLOURS:
            yield Caption("adjective", (inflection.article(attribute), item.name), attribute)
    if item.box:
        middle = (item.box.x + item.box.width / 2) / width
        if middle < SIDE or middle > 1 - SIDE:
            yield Caption("spatial_1", (f"{_a(item.name)} on the", ""), "left" if middle < SIDE else "right")


def _is_verb(text: str) -> bool:
    return text.isalpha() and text.endswith("ing")


def _a(noun: str) -> str:
    return f"{inflection.article(noun)} {noun}"


def _side_of(box: Box | None, other: Box | None) -> str | None:
    """The side of the other box that a box is on, if their widths do not overlap."""
    assert box is not None
    assert other is not None
    if box.x + box.width <= other.x:
        return "left"
    return "right" if other.x + other.width <= box.x else None


def candidates(images: Iterable[AnnotatedImage], most: int, seed: int) -> list[Candidate]:
    """At most ``most`` pairs of each type, in a seeded choice; an image and a frame are in one pair of a type each.

    The two images must not both allow both captions: neither has the other's word in the same frame.
    """
    said: dict[tuple[str, tuple[str, str]], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for image in images:
        for caption in captions(image):
            said[caption.kind, caption.frame][image.image_id].add(caption.word)
    found: list[Candidate] = []
    for kind in sorted({kind for kind, _ in said}):
        frames = sorted(frame for other, frame in said if other == kind)
        Random(f"{seed}:{kind}").shuffle(frames)
        used: set[str] = set()
        pairs = (pair for frame in frames for pair in _pairs(kind, frame, said[kind, frame], used))
        found += [pair for pair, _ in zip(pairs, range(most), strict=False)]
    return found


def _pairs(kind: str, frame: tuple[str, str], words: Mapping[str, set[str]], used: set[str]) -> Iterator[Candidate]:
    """The first pair of images that fits; both are ``used`` then."""
    clear = [(image, next(iter(said))) for image, said in sorted(words.items()) if len(said) == 1 and image not in used]
    for place, (image, word) in enumerate(clear):
        for other, its in clear[place + 1 :]:
            if its != word:
                used |= {image, other}
                yield Candidate(kind, image, other, _text(frame, word), _text(frame, its))
                return


def _text(frame: tuple[str, str], word: str) -> str:
    return " ".join(part for part in (frame[0], word, frame[1]) if part)


def write(path: Path, found: Iterable[Candidate]) -> None:
    """The CSV file for the annotator. ValueError where there is one already: it may hold answers."""
    if path.exists():
        raise ValueError(f"{path}: is there already, perhaps with answers. Name another file.")
    csv_tables.write(path, COLUMNS, (dict(zip(COLUMNS, (*pair, ""), strict=True)) for pair in found))


def main(annotations: Path, output: Path, most: int = 150, seed: int = 0) -> None:
    """Write at most MOST candidates of each type from the graphs of ANNOTATIONS to OUTPUT, a CSV file."""
    found = candidates(Annotations(annotations), most, seed)
    write(output, found)
    counts = Counter(pair.kind for pair in found)
    print(f"{output}: {', '.join(f'{count} {kind}' for kind, count in counts.items()) or 'no candidate'}.")


if __name__ == "__main__":
    stage.run(main)
