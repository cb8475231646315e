"""Candidate pairs of photographs for ControlledImCaps, which an annotator accepts or rejects.

    python -m compeval.generators.hard_negatives.photograph_pairs annotations/visual_genome.parquet candidates.csv

Source: Kamath, Hessel and Chang 2023, section 2.2: the authors selected pairs of COCO photographs manually and wrote
captions that differ in one word. Here, pairs and captions are derived from scene graphs in Visual Genome's format, and
an annotator fills in the column ``accepted``. loaders/benchmarks/photograph_pairs.py makes a dataset of the rows with
``yes``. Scene graphs are incomplete, so a candidate may be wrong. They have no temporal relations, so there are no
temporal pairs.

Captions refer only to nouns that occur once in the image.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import islice, permutations
from pathlib import Path
from typing import NamedTuple

from compeval.base.files import csv_tables
from compeval.base.pipeline import stage
from compeval.base.readers.annotations import Annotations
from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import Box, SceneObject
from compeval.generators.language import inflection

COLUMNS = ("type", "image_0", "image_1", "caption_0", "caption_1", "accepted")
SIDE = 0.4
"""An object is on the left or right if its centre is within this share of the image width from the edge."""

MAX_CAPTIONS = 200_000
"""Captions per type that are held in memory."""

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
            subject = single[edge.subject].name
            second = single[edge.object].name
            yield Caption("verb_2", (_add_article(subject), _add_article(second)), edge.predicate)
    for subject, second in permutations(single.values(), 2):
        if subject.box and second.box and (side := _find_side(subject.box, second.box)):
            yield Caption(
                "spatial_2",
                (f"{_add_article(subject.name)} to the", f"of {_add_article(second.name)}"),
                side,
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
            yield Caption(
                "spatial_1",
                (f"{_add_article(item.name)} on the", ""),
                "left" if centre < SIDE else "right",
            )


def _is_verb(text: str) -> bool:
    return text.isalpha() and text.endswith("ing")


def _add_article(noun: str) -> str:
    return f"{inflection.choose_article(noun)} {noun}"


def _find_side(box: Box, reference: Box) -> str | None:
    """Return the side of the second box on which the first box is, or None if the boxes overlap horizontally."""
    if box.x + box.width <= reference.x:
        return "left"
    return "right" if reference.x + reference.width <= box.x else None


class ContextSample:
    """The captions of a random sample of contexts, in bounded memory.

    Each context has a random priority. The contexts of the highest priorities are kept with all their images, as many
    as fit into MAX_CAPTIONS captions, so the pairs are the first of those of all contexts. Of each context
    and word, only the first ``max_images`` images are kept.
    """

    def __init__(self, kind: str, seed: int, max_images: int) -> None:
        self._prefix = f"{seed}:{kind}:"
        self._max_images = max_images
        self._captions: dict[tuple[str, str], dict[str, list[str]]] = {}
        self._lowest_priorities: list[tuple[int, tuple[str, str]]] = []
        self._threshold = 1 << 64
        self._size = 0

    def add(self, context: tuple[str, str], word: str, image_id: str) -> None:
        """Add a caption of an image. Images of equal id follow each other."""
        if context not in self._captions:
            text = self._prefix + "\0" + "\0".join(context)
            # A random number of 64 bits. Contexts with lower numbers have a higher priority.
            number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
            if number >= self._threshold:
                return
            self._captions[context] = {}
            heappush(self._lowest_priorities, (-number, context))
        images = self._captions[context].setdefault(word, [])
        if len(images) < self._max_images:
            images.append(image_id)
            self._size += 1
        while self._size > MAX_CAPTIONS and len(self._captions) > 1:
            number, removed = heappop(self._lowest_priorities)
            self._threshold = -number
            self._size -= sum(map(len, self._captions.pop(removed).values()))

    def __iter__(self) -> Iterator[tuple[tuple[str, str], dict[str, list[str]]]]:
        """Yield the contexts with the images of each word, by decreasing priority."""
        for _, context in sorted(self._lowest_priorities, reverse=True):
            yield context, self._captions[context]


def find_candidates(images: Iterable[AnnotatedImage], max_pairs: int, seed: int) -> list[Candidate]:
    """Return at most ``max_pairs`` random pairs per type.

    Within a type, each image and each context is used at most once. An image of a pair does not have the other image's
    word in the same context.
    """
    samples: dict[str, ContextSample] = {}
    for image in images:
        words: defaultdict[tuple[str, tuple[str, str]], set[str]] = defaultdict(set)
        for caption in make_captions(image):
            words[caption.kind, caption.context].add(caption.word)
        for (kind, context), (word, *other_words) in words.items():
            if kind not in samples:
                samples[kind] = ContextSample(kind, seed, 2 * max_pairs)
            if not other_words:
                samples[kind].add(context, word, image.image_id)
    pairs: list[Candidate] = []
    for kind, sample in sorted(samples.items()):
        used: set[str] = set()
        candidates = (
            pair for context, words in sample if (pair := _find_pair(kind, context, words, used))
        )
        pairs += islice(candidates, max_pairs)
    return pairs


def _find_pair(
    kind: str, context: tuple[str, str], words: Mapping[str, Sequence[str]], used: set[str]
) -> Candidate | None:
    """Return a pair of unused images with different words, if there is one, and add both images to ``used``."""
    unused = {
        word: image
        for word, images in words.items()
        for image in reversed(images)
        if image not in used
    }
    if len(unused) < 2:
        return None
    (word, image), (other_word, other_image) = islice(unused.items(), 2)
    used |= {image, other_image}
    texts = (" ".join(filter(None, (context[0], text, context[1]))) for text in (word, other_word))
    return Candidate(kind, image, other_image, *texts)


def write(path: Path, pairs: Iterable[Candidate]) -> None:
    """Write the CSV file for the annotator. Raises ValueError if the file exists, because it may contain answers."""
    if path.exists():
        raise ValueError(f"{path} already exists and may hold answers. Choose another file.")
    csv_tables.write(
        path, COLUMNS, (dict(zip(COLUMNS, (*pair, ""), strict=True)) for pair in pairs)
    )


def main(annotations: Path, output: Path, most: int = 150, seed: int = 0) -> None:
    """Write at most MOST candidates per type from the graphs in ANNOTATIONS to OUTPUT, a CSV file."""
    pairs = find_candidates(Annotations(annotations), most, seed)
    write(output, pairs)
    counts = Counter(pair.kind for pair in pairs)
    print(
        f"{output}: {', '.join(f'{count} {kind}' for kind, count in counts.items()) or 'no candidate'}."
    )


if __name__ == "__main__":
    stage.run(main)
