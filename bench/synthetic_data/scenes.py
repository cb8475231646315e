"""The content of a synthetic image: objects with attributes and boxes, and their relations.

A scene is a function of seed and index, so the first N images are equal for any number of images. The counts follow
Visual Genome 1.4: per image 35 objects, 26 attributes and 21 relations in the mean, log-normal. One image in twelve is
a crowded street with 15 windows, 10 trees and 12 persons. Relations connect about half of the objects to one large
component, as in the real graphs.

Words have the frequencies of Zipf's law: frequent words of Visual Genome (words.yaml), and a tail from WordNet. Visual
Genome has some 76,000 distinct object names, 41,000 attributes and 37,000 predicates, most of which occur once: names
of several words, typing errors, and whole clauses. A tenth of the words here are drawn from the tail.
"""

from __future__ import annotations

import io
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml
from PIL import Image

from compeval.base.schemas.scene_graph import Box
from compeval.generators.language.inflection import inflect_verb
from compeval.generators.language.wordnet import VISIBLE
from compeval.generators.language.wordnet_database import LEXICOGRAPHER_FILES, wordnet

SHAPES = ((4, 3), (4, 3), (4, 3), (3, 2), (3, 4), (2, 3), (1, 1))
"""Ratios of width to height, drawn uniformly."""
CROWDED = 1 / 12
CROWD = Counter(building=3, window=15, tree=10, person=8, man=4)
OBJECTS = 32.0
RELATIONS_PER_OBJECT = 0.6
"""Means; the objects of an image without a crowd."""
TAIL = 0.11
TYPOS = 0.04
"""Share of words from the tail, and share of these with a typing error."""
FIRST_IMAGE_ID = 2_315_353
IDS_PER_IMAGE = 1_000
"""``IDS_PER_IMAGE``: distance between the object, relation and region ids of consecutive images."""
GRAIN = 16
"""Pixels per cell of a photograph's noise."""


class Zipf(NamedTuple):
    """Ranked items; the probability of item r (from 0) is proportional to ``(r + shift) ** -0.9``."""

    items: Sequence[str]
    cumulative_weights: Sequence[float]

    @classmethod
    def of(cls, items: Sequence[str], shift: float = 1.5) -> Zipf:
        return cls(
            items, list(itertools.accumulate((rank + shift) ** -0.9 for rank in range(len(items))))
        )

    def draw(self, rng: Random) -> str:
        return rng.choices(self.items, cum_weights=self.cumulative_weights)[0]


class Thing(NamedTuple):
    """An object. ``owner`` is the object that it is a part of."""

    id: int
    name: str
    kind: str
    box: Box
    attributes: list[str]
    owner: Thing | None


Link = tuple[Thing, str, Thing]
"""Subject, predicate, object."""


class Scene(NamedTuple):
    image_id: int
    width: int
    height: int
    things: list[Thing]
    links: list[Link]


def make_rng(*key: object) -> Random:
    """Return a generator that depends on nothing but the key."""
    return Random(" ".join(map(str, key)))


def draw_count(rng: Random, mean: float, sigma: float, maximum: int) -> int:
    """Return a log-normal count of at least one with the given mean, cut off at ``maximum``."""
    return max(
        1, min(maximum, round(rng.lognormvariate(0, sigma) * mean * math.exp(-sigma * sigma / 2)))
    )


@cache
def load_words() -> dict[str, Any]:
    """Return words.yaml, with a :class:`Zipf` in place of each list."""

    def rank(content: Any) -> Any:
        return (
            Zipf.of(content)
            if isinstance(content, list)
            else {key: rank(value) for key, value in content.items()}
        )

    return rank(yaml.safe_load(Path(__file__).with_name("words.yaml").read_text(encoding="utf-8")))


@cache
def load_kinds() -> dict[str, str]:
    """Return frequent name -> person, animal, vehicle, structure, furniture, thing, place or part."""
    themes = load_words()["themes"]
    parts = load_words()["parts"]
    kinds = {name: "part" for part in parts.values() for name in part["names"].items}
    return kinds | {
        name: kind
        for theme in themes.values()
        for kind, names in theme.items()
        for name in names.items
    }


@cache
def load_tail(part_of_speech: str) -> Zipf:
    """Return WordNet's lemmas, most frequent in SemCor first, then the others mixed; of nouns, only visible things."""
    counts = Counter[str]()
    names = set[str]()
    with wordnet().open("cntlist.rev") as file:
        for sense_key, _, count in map(str.split, file):
            counts[sense_key.partition("%")[0]] += int(count)
    with wordnet().open(f"data.{part_of_speech}") as file:
        # A line is: offset, lexicographer file, type, number of lemmas in hexadecimal digits, then (lemma, id) pairs.
        for fields in (line.split(" ") for line in file if not line.startswith(" ")):
            if part_of_speech != "noun" or LEXICOGRAPHER_FILES[int(fields[1])] in VISIBLE:
                names.update(
                    name.split("(")[0] for name in fields[4 : 4 + 2 * int(fields[3], 16) : 2]
                )
    lemmas = sorted(filter(str.islower, names))
    Random(0).shuffle(lemmas)
    ranked = sorted(lemmas, key=lambda name: -counts[name])
    return Zipf.of([name.replace("_", " ") for name in ranked], shift=20)


def mistype(word: str, rng: Random, share: float = TYPOS) -> str:
    """Return the word, sometimes with two neighbouring letters exchanged."""
    at = rng.randrange(max(1, len(word) - 1))
    return (
        word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]
        if rng.random() < share
        else word
    )


def draw_attribute(rng: Random, kind: str) -> str:
    """Return a frequent attribute, or one or two rare ones."""
    frequent = load_words()["attributes"]
    attribute = frequent[kind if kind in frequent and rng.random() < 0.5 else "any"].draw(rng)
    if rng.random() >= TAIL:
        return attribute
    word = load_tail("adj").draw(rng)
    noun = load_tail("noun").draw(rng)
    return mistype(
        rng.choices((word, f"made of {noun}", f"{word} {attribute}"), (60, 15, 25))[0], rng
    )


def draw_rare_name(rng: Random) -> str:
    """Return a noun of WordNet, two nouns, an attribute and a noun, or a plural."""
    first = load_tail("noun").draw(rng)
    second = load_tail("noun").draw(rng)
    attribute = draw_attribute(rng, "any")
    forms = (first, f"{first} {second}", f"{attribute} {first}", f"{first}s")
    return mistype(rng.choices(forms, (55, 25, 10, 10))[0], rng)


def draw_predicate(rng: Random, subject: Thing, object_: Thing) -> str:
    frequent = load_words()["predicates"]
    kinds = f"{subject.kind}-{object_.kind}"
    if rng.random() >= TAIL:
        return frequent[kinds if kinds in frequent and rng.random() < 0.7 else "other"].draw(rng)
    return inflect_verb(load_tail("verb").draw(rng), "VBG") + rng.choice(
        ("", " on", " in", " with", " to")
    )


def draw_scene(seed: int, index: int, long_side: int) -> Scene:
    """Return the scene of the image at ``index``; its longer side has ``long_side`` pixels."""
    rng = make_rng(seed, "scene", index)
    words = load_words()
    columns, rows = rng.choice(SHAPES)
    width, height = (long_side * side // max(columns, rows) for side in (columns, rows))
    crowd = list(CROWD.elements()) if rng.random() < CROWDED else []
    theme = words["themes"]["street"] if crowd else rng.choice(list(words["themes"].values()))
    things: list[Thing] = []
    names = [*crowd, *[""] * draw_count(rng, OBJECTS, 0.5, 250)]
    for number, name in enumerate(names, FIRST_IMAGE_ID + index * IDS_PER_IMAGE):
        kind = load_kinds()[name] if name else words["kinds"].draw(rng)
        owners = (
            [thing for thing in things if thing.kind in words["parts"]] if kind == "part" else []
        )
        owner = rng.choice(owners) if owners else None
        if not name and rng.random() < TAIL:
            name = draw_rare_name(rng)
            kind = "thing"
        elif not name:
            name = (
                words["parts"][owner.kind]["names"] if owner else theme.get(kind, theme["thing"])
            ).draw(rng)
        x, y, w, h = map(int, owner.box) if owner else (0, 0, width, height)
        share = (0.5, 1.0) if kind in ("place", "structure") else (0.08, 0.5)
        sides = [max(3, int(side * rng.uniform(*share))) for side in (w, h)]
        corner = x + rng.randrange(max(1, w - sides[0])), y + rng.randrange(max(1, h - sides[1]))
        count = rng.choices(range(4), (50, 31, 14, 5))[0]
        attributes = list(dict.fromkeys(draw_attribute(rng, kind) for _ in range(count)))
        things.append(Thing(number, name, kind, Box(*corner, *sides), attributes, owner))
    count = draw_count(rng, RELATIONS_PER_OBJECT * len(things), 0.45, 200)
    return Scene(FIRST_IMAGE_ID + index, width, height, things, draw_links(things, count, rng))


def draw_links(things: Sequence[Thing], count: int, rng: Random) -> list[Link]:
    """Return relations of parts with their owners, and of things with things that already have relations."""
    links: list[Link] = []
    linked: list[Thing] = []
    for _ in range(count):
        subject = rng.choice(linked) if linked and rng.random() < 0.65 else rng.choice(things)
        object_ = rng.choice(things)
        predicate = draw_predicate(rng, subject, object_)
        if subject.owner and rng.random() < 0.85:
            object_ = subject.owner
            direction = rng.choice(("owner", "part"))
            predicate = load_words()["parts"][object_.kind][direction].draw(rng)
            subject, object_ = (object_, subject) if direction == "owner" else (subject, object_)
        if subject.id != object_.id:
            linked += (subject, object_)
            links.append((subject, predicate, object_))
    return links


def draw_photograph(scene: Scene, rng: Random) -> bytes:
    """Return a JPEG file of the scene's size: soft noise."""
    width = max(1, scene.width // GRAIN)
    height = max(1, scene.height // GRAIN)
    noise = Image.frombytes("RGB", (width, height), rng.randbytes(3 * width * height))
    file = io.BytesIO()
    noise.resize((scene.width, scene.height), Image.Resampling.BILINEAR).save(
        file, "JPEG", quality=80
    )
    return file.getvalue()
