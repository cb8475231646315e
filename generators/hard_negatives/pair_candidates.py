"""Candidate pairs of photographs for ControlledImCaps, which an annotator accepts or rejects.

    python -m generators.hard_negatives.pair_candidates annotations/visual_genome.parquet
    sample/annotations/controlledimcaps/candidates.csv

Source: Kamath, Hessel and Chang 2023, section 2.2: the authors selected pairs of COCO photographs manually and wrote
captions that differ in one word. Here, pairs and captions are derived from scene graphs in Visual Genome's format, and
an annotator fills in the column ``accepted``. loaders/benchmarks/photograph_pairs.py makes a dataset of the rows with
``yes``. Scene graphs are incomplete, so a candidate may be wrong. They have no temporal relations, so there are no
temporal pairs.

Captions refer only to nouns that occur once in the image.
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
"""An object is on the left or right if its centre is within this share of the image width from the edge."""

COLOURS = {
    "red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "gray", "grey", "beige",
    "golden", "silver",
}  # fmt: skip
"""Adjectives that exclude each other. Other adjectives such as "small" and "blue" may both be true of an object."""


class Caption(NamedTuple):
    """A caption that is split into a word and its ``context`` (the text before and after the word).

    The two captions of a pair share the context.
    """

    kind: str
    context: tuple[str, str]
    word: str


class Candidate(NamedTuple):
    kind: str
    image_0: str
    image_1: str
    caption_0: str
    caption_1: str


def make_captions(image: AnnotatedImage) -> Iterator[Caption]:
    """Yield all captions of the supported pair types for an image."""
    names = Counter(item.name for item in image.graph.objects)
    single = {item.id: item for item in image.graph.objects if names[item.name] == 1}
    for item in single.values():
        yield from _make_object_captions(item, image.width)
    for edge in image.graph.relations:
        if edge.subject in single and edge.object in single and _is_verb(edge.predicate):
            subject, second = single[edge.subject].name, single[edge.object].name
            yield Caption("verb_2", (_add_article(subject), _add_article(second)), edge.predicate)
    for subject, second in permutations(single.values(), 2):
        if subject.box and second.box and (side := _find_side(subject.box, second.box)):
            yield Caption(
                "spatial_2", (f"{_add_article(subject.name)} to the", f"of {_add_article(second.name)}"), side
            )


def _make_object_captions(item: SceneObject, width: int) -> Iterator[Caption]:
    for attribute in item.attributes:
        if _is_verb(attribute):
            yield Caption("verb_1", (_add_article(item.name), ""), attribute)
        elif attribute in COLOURS:
            yield Caption("adjective", (inflection.choose_article(attribute), item.name), attribute)
    if item.box:
        centre = (item.box.x + item.box.width / 2) / width
        if centre < SIDE or centre > 1 - SIDE:
            yield Caption("spatial_1", (f"{_add_article(item.name)} on the", ""), "left" if centre < SIDE else "right")


def _is_verb(text: str) -> bool:
    return text.isalpha() and text.endswith("ing")


def _add_article(noun: str) -> str:
    return f"{inflection.choose_article(noun)} {noun}"


def _find_side(box: Box, reference: Box) -> str | None:
    """Return the side of the second box on which the first box is, or None if the boxes overlap horizontally."""
    if box.x + box.width <= reference.x:
        return "left"
    return "right" if reference.x + reference.width <= box.x else None


def find_candidates(images: Iterable[AnnotatedImage], max_pairs: int, seed: int) -> list[Candidate]:
    """Return at most ``max_pairs`` random pairs per type.

    Within a type, each image and each context is used at most once. An image of a pair does not have the other image's
    word in the same context.
    """
    words: dict[tuple[str, tuple[str, str]], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for image in images:
        for caption in make_captions(image):
            words[caption.kind, caption.context][image.image_id].add(caption.word)
    pairs: list[Candidate] = []
    for kind in sorted({kind for kind, _ in words}):
        contexts = sorted(context for context_kind, context in words if context_kind == kind)
        Random(f"{seed}:{kind}").shuffle(contexts)
        used: set[str] = set()
        pairs += islice(
            (pair for context in contexts for pair in _find_pair(kind, context, words[kind, context], used)), max_pairs
        )
    return pairs


def _find_pair(
    kind: str, context: tuple[str, str], words: Mapping[str, set[str]], used: set[str]
) -> Iterator[Candidate]:
    """Yield the first pair of unused images with different words, and add both images to ``used``."""
    unused = [
        (image, next(iter(image_words)))
        for image, image_words in sorted(words.items())
        if len(image_words) == 1 and image not in used
    ]
    for (image, word), (other_image, other_word) in combinations(unused, 2):
        if word != other_word:
            used |= {image, other_image}
            texts = (" ".join(filter(None, (context[0], text, context[1]))) for text in (word, other_word))
            yield Candidate(kind, image, other_image, *texts)
            return


def write(path: Path, pairs: Iterable[Candidate]) -> None:
    """Write the CSV file for the annotator. Raises ValueError if the file exists, because it may contain answers."""
    if path.exists():
        raise ValueError(f"{path} already exists and may hold answers. Choose another file.")
    csv_tables.write(path, COLUMNS, (dict(zip(COLUMNS, (*pair, ""), strict=True)) for pair in pairs))


def main(annotations: Path, output: Path, most: int = 150, seed: int = 0) -> None:
    """Write at most MOST candidates per type from the graphs in ANNOTATIONS to OUTPUT, a CSV file."""
    pairs = find_candidates(Annotations(annotations), most, seed)
    write(output, pairs)
    counts = Counter(pair.kind for pair in pairs)
    print(f"{output}: {', '.join(f'{count} {kind}' for kind, count in counts.items()) or 'no candidate'}.")


if __name__ == "__main__":
    stage.run(main)
