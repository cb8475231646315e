"""Region phrases, captions of photographs and captions of the web.

A real text, from the folder that COMPEVAL_REAL_DATA names, becomes a template: its frequent nouns and adjectives are
replaced by names and attributes of a scene, or by other nouns. Without real texts, the templates are those of
words.yaml.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

from bench.synthetic_data.scenes import (
    Scene,
    Thing,
    draw_scene,
    load_kinds,
    load_tail,
    load_words,
    make_rng,
    mistype,
)
from compeval.base.readers.corpora import Column, list_shards, read_captions
from compeval.base.readers.karpathy import read_images
from compeval.base.schemas.scene_graph import Box

PHRASES: tuple[tuple[str, Column], ...] = (("factual/dev.csv", "caption"),)
PHOTOGRAPHS: tuple[tuple[str, Column], ...] = (("aro/coco_karpathy_test.json", "caption"),)
WEB: tuple[tuple[str, Column], ...] = (
    ("captions/cc3m_validation_8k.tsv", 0),
    ("captions/web_alt_text_1k.tsv", "TEXT"),
    ("cc12m/cc12m-train-0000.tar", "caption"),
    ("benchmarks/laion/test_1000.parquet", "TEXT"),
)
"""Real files and their columns."""
UNCHANGED = 0.08
FROM_REAL = 0.55
"""Share of real texts whose words are not replaced, and share of region phrases that are made from real ones."""
REPLACED = 0.35
FROM_WORDNET = 0.2
"""Share of the nouns of web captions that are replaced, and share of their replacements that come from WordNet."""
DIRT = {
    "markup": 20,
    "symbols": 16,
    "capitals": 12,
    "product": 18,
    "url": 8,
    "foreign": 20,
    "popular": 12,
}
DIRT |= {"long": 0.05, "random characters": 1}
"""Weights of the kinds of dirt."""
SYMBOLS = "🔥❤️😍🎄👍🏽🇺🇸→★™½\x00\x08\x1b\x85\u200b\ufeff\ufffd\t\n"
WORD = re.compile(r"[A-Za-z]+")


@cache
def read_real_texts(files: tuple[tuple[str, Column], ...]) -> list[str]:
    """Return the texts of the files; none without COMPEVAL_REAL_DATA."""
    texts: list[str] = []
    for name, column in files:
        path = Path(os.environ.get("COMPEVAL_REAL_DATA", "nowhere"), name)
        if path.suffix == ".json" and path.exists():
            texts += [caption for image in read_images(path, path) for caption in image.captions]
        elif path.exists():
            texts += [
                text for shard in list_shards(str(path)) for text in read_captions(shard, column)
            ]
    return texts


def fill(text: str, things: Sequence[Thing], predicate: str, rng: Random) -> str:
    """Return a text with its frequent nouns and adjectives replaced by those of the things, in their order."""
    kinds = load_kinds()
    adjectives = load_words()["attributes"]["any"].items
    names = iter([thing.name for thing in things])
    attributes = [attribute for thing in things for attribute in thing.attributes] or ["white"]

    def replace(match: re.Match[str]) -> str:
        word = match[0].lower()
        if word in kinds or word.removesuffix("s") in kinds:
            name = next(names, match[0])
            return name if word in kinds or name.endswith("s") else f"{name}s"
        return rng.choice(attributes) if word in adjectives and word != "on" else match[0]

    return WORD.sub(replace, text).replace("PREDICATE", predicate)


def write_phrase(scene: Scene, rng: Random) -> tuple[str, Box]:
    """Return the phrase and the box of a region: of a relation, or of one object."""
    thing = rng.choice(scene.things)
    kind = "relation" if scene.links and rng.random() < 0.7 else "object"
    subject, predicate, object_ = (
        rng.choice(scene.links) if kind == "relation" else (thing, "", thing)
    )
    real = read_real_texts(PHRASES)
    templates = load_words()["templates"][kind].items
    text = rng.choice(real if real and rng.random() < FROM_REAL else templates)
    if text in templates or rng.random() >= UNCHANGED:
        text = fill(text, [subject, object_] if kind == "relation" else [subject], predicate, rng)
    text = mistype(text, rng, 0.015)
    form = rng.random()
    text = text[:1].upper() + text[1:] if form < 0.25 else text
    return f"{text.rstrip('. ')}." if form < 0.15 or form > 0.95 else text, subject.box.union(
        object_.box
    )


def write_caption(scene: Scene, rng: Random) -> str:
    """Return a caption of the whole image."""
    thing = rng.choice(scene.things)
    subject, predicate, object_ = rng.choice(scene.links) if scene.links else (thing, "near", thing)
    real = read_real_texts(PHOTOGRAPHS)
    templates = load_words()["templates"]["photograph"].items
    text = rng.choice(real or templates)
    return (
        text
        if real and rng.random() < UNCHANGED
        else fill(text, [subject, object_, thing], predicate, rng)
    )


def generate_captions(corpus: str, seed: int, dirt: float) -> Iterator[str]:
    """Yield web captions without end; a share of ``dirt`` of them is dirty. Some captions are empty or equal.

    A caption is a real one in which some nouns are replaced by nouns of other captions or of WordNet, so millions of
    captions differ.
    """
    rng = make_rng(seed, corpus)
    tail = load_tail("noun")
    scenes = (draw_scene(0, 4_000_000 + index, 500) for index in range(500))
    captions = read_real_texts(WEB) or [write_caption(scene, rng) for scene in scenes]
    wordnet_nouns = {noun for noun in tail.items if " " not in noun}
    nouns = [
        word for caption in captions for word in WORD.findall(caption) if word in wordnet_nouns
    ]

    def replace(match: re.Match[str]) -> str:
        if match[0] not in wordnet_nouns or rng.random() >= REPLACED:
            return match[0]
        return tail.draw(rng) if rng.random() < FROM_WORDNET else rng.choice(nouns)

    while True:
        caption = WORD.sub(replace, rng.choice(captions))
        yield add_dirt(caption, rng) if rng.random() < dirt else caption


def add_dirt(text: str, rng: Random) -> str:
    """Return the text with one kind of the dirt of web text, or other dirt in its place."""
    match rng.choices(list(DIRT), list(DIRT.values()))[0]:
        case "markup":
            return (
                f"<b>{html.escape(text)}</b> &quot;{html.escape(text[:20])}&quot; &#8211; a &amp; b"
            )
        case "symbols":
            return text + "".join(rng.choices(SYMBOLS, k=rng.randrange(8)))
        case "capitals":
            return text.upper()
        case "product":
            return f"*NEW* {text} {rng.randrange(90)}x{rng.randrange(90)} ” | A{rng.random()}"
        case "url":
            return f"{text} https://www.example.com/p/{rng.randrange(10**6)}?a=1&b=%20"
        case "foreign":
            words = rng.choice(load_words()["foreign"].items).split()
            return " ".join(rng.choices(words, k=rng.randrange(2, 12)))
        case "popular":
            return rng.choice(load_words()["popular"].items)
        case "long":
            return (f"{text} " * 2_000)[: rng.choice((1_000, 20_000, 100_000))]
        case _:
            return rng.randbytes(60).decode("utf-16-le", "ignore")
