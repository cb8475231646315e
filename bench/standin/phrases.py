"""Phrases of regions and captions of photographs, as people write them about a scene.

A real text becomes a template: its frequent nouns and adjectives are replaced by names and attributes of the scene.
Some texts are used unchanged. Without real files, the templates of this module are used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from random import Random

from bench.standin.scene import Link, PixelBox, Scene, Thing
from bench.standin.vocabulary import load_words, mistype

UNCHANGED = 0.08
"""Share of real texts whose words are not replaced."""
TYPOS = 0.015
FROM_REAL = 0.55
"""Share of region phrases that are made from real phrases, where there are any."""
TEMPLATES = (
    "{a} {s}",
    "the {s} is {a}",
    "{s} {p} {o}",
    "a {s} {p} a {o}",
    "the {s} {p} the {o}",
    "a {a} {s} {p} the {o}",
    "{s} {p} a {b} {o}",
    "the {a} {s} {p} the {b} {o}",
    "there is a {s} {p} the {o}",
    "{s} and {o}",
    "two {s}s next to a {o}",
    "the {s} of the {o}",
    "{s} in the background",
    "part of a {s}",
    "this is a {a} {s}",
)
PHOTO_TEMPLATES = (
    "A {a} {s} {p} a {o}.",
    "A {s} {p} a {b} {o} near a {t}.",
    "There is a {a} {s} {p} the {o} with a {t}.",
    "A {s} that is {p} a {o} next to a {b} {t}. ",
    "Two {s}s and a {a} {t} are {p} a {o}.",
)
_WORD = re.compile(r"[A-Za-z]+")


@cache
def find_slots(text: str) -> tuple[tuple[str, str], ...]:
    """Split a text into (kind, text) pieces; kind is ``noun``, ``plural``, ``adjective`` or ``""`` for other text."""
    words = load_words()
    adjectives = set(words.attributes["any"].items)
    pieces: list[tuple[str, str]] = []
    end = 0
    for match in _WORD.finditer(text):
        word = match[0].lower()
        if word in words.kinds:
            kind = "noun"
        elif word.removesuffix("s") in words.kinds:
            kind = "plural"
        elif word in adjectives and word != "on":
            kind = "adjective"
        else:
            continue
        pieces += [("", text[end : match.start()]), (kind, match[0])]
        end = match.end()
    return (*pieces, ("", text[end:]))


def fill(text: str, things: Sequence[Thing], rng: Random) -> str:
    """Return a real text with its nouns and adjectives replaced by those of the things, in their order."""
    nouns = iter(things)
    parts: list[str] = []
    for kind, piece in find_slots(text):
        thing = next(nouns, None) if kind in ("noun", "plural") else None
        if kind == "adjective":
            attributes = [attribute for thing in things for attribute in thing.attributes]
            piece = rng.choice(attributes) if attributes else piece
        elif thing:
            is_plural = thing.name.endswith("s")
            piece = thing.name + ("s" if kind == "plural" and not is_plural else "")
        parts.append(piece)
    return "".join(parts)


def write_phrase(scene: Scene, real: Sequence[str], rng: Random) -> tuple[str, PixelBox]:
    """Return the phrase and the box of a region: of a relation, or of one object."""
    link = rng.choice(scene.links) if scene.links and rng.random() < 0.7 else None
    things = [scene.things[link.subject], scene.things[link.object]] if link else [rng.choice(scene.things)]
    if real and rng.random() < FROM_REAL:
        text = rng.choice(real)
        phrase = text if rng.random() < UNCHANGED else fill(text, things, rng)
    else:
        phrase = _fill_template(rng.choice(TEMPLATES if link else TEMPLATES[:2]), things, link, rng)
    return _finish(phrase, rng), _jitter(_union([thing.box for thing in things]), scene, rng)


def write_caption(scene: Scene, real: Sequence[str], rng: Random) -> str:
    """Return a caption of the whole image."""
    link = rng.choice(scene.links) if scene.links else None
    things = [scene.things[link.subject], scene.things[link.object]] if link else []
    things += rng.sample(scene.things, min(3, len(scene.things)))
    if not real:
        return _fill_template(rng.choice(PHOTO_TEMPLATES), things, link, rng)
    text = rng.choice(real)
    return text if rng.random() < UNCHANGED else fill(text, things, rng)


def _fill_template(template: str, things: Sequence[Thing], link: Link | None, rng: Random) -> str:
    subject, object_, third = (*things, *things, *things)[:3]
    first, second = (rng.choice(thing.attributes or ("white",)) for thing in (subject, object_))
    predicate = link.predicate if link else "near"
    return template.format(s=subject.name, o=object_.name, t=third.name, a=first, b=second, p=predicate)


def _finish(phrase: str, rng: Random) -> str:
    """Return the phrase with the capitals, full stops, spaces and typing errors of hasty annotators."""
    if rng.random() < TYPOS:
        phrase = mistype(phrase, rng)
    form = rng.random()
    if form < 0.25:
        phrase = phrase[:1].upper() + phrase[1:]
    if form < 0.15 or 0.9 < form < 0.95:
        phrase = phrase.rstrip(". ") + "."
    return phrase + " " if 0.2 < form < 0.3 else phrase


def _union(boxes: Sequence[PixelBox]) -> PixelBox:
    x, y = min(box.x for box in boxes), min(box.y for box in boxes)
    return PixelBox(x, y, max(box.x + box.w for box in boxes) - x, max(box.y + box.h for box in boxes) - y)


def _jitter(box: PixelBox, scene: Scene, rng: Random) -> PixelBox:
    """Return the box with its corner moved by a few pixels, as drawn by another annotator."""
    x, y = max(0, box.x - rng.randrange(6)), max(0, box.y - rng.randrange(6))
    return PixelBox(
        x, y, min(box.w + rng.randrange(6), scene.width - x), min(box.h + rng.randrange(6), scene.height - y)
    )
