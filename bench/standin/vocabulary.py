"""The vocabulary of the stand-in: frequent words of Visual Genome (words.yaml) and a tail from WordNet.

Visual Genome 1.4 has some 76,000 distinct object names, 41,000 attributes and 37,000 predicates, most of which occur
once: names of several words, typing errors, and whole clauses. A tenth of the names here are drawn from that tail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import lemminflect
import yaml

from bench.standin.zipf import Zipf
from generators.language.wordnet import VISIBLE
from generators.language.wordnet_database import LEXICOGRAPHER_FILES, wordnet

WORDS = Path(__file__).with_name("words.yaml")
PREPOSITIONS = ("on", "in", "at", "with", "to", "by", "near", "over", "under", "behind", "against", "along", "from")
SENSE_TYPES = {"noun": "1", "verb": "2", "adj": "35"}
"""WordNet's types of synsets in sense keys."""
TAIL_NAMES, TAIL_ATTRIBUTES, TAIL_PREDICATES = 0.12, 0.1, 0.1
"""Shares of draws that come from the tail."""
TYPOS = 0.04
"""Share of the tail's words with a typing error."""


@dataclass(frozen=True)
class Words:
    """The content of words.yaml, as distributions, with the tails."""

    themes: Mapping[str, Mapping[str, Zipf[str]]]
    """Names by theme and kind."""
    parts: Mapping[str, Zipf[str]]
    part_predicates: Mapping[str, tuple[Zipf[str], Zipf[str]]]
    """From owner to part, and from part to owner, by the owner's kind."""
    predicates: Mapping[str, Zipf[str]]
    attributes: Mapping[str, Zipf[str]]
    other_names: Mapping[str, str]
    kinds: Mapping[str, str]
    """The kind of each frequent name: person, animal, vehicle, structure, furniture, thing, place or part."""
    tail_nouns: Zipf[str]
    tail_adjectives: Zipf[str]
    tail_verbs: Zipf[str]

    def draw_tail_name(self, rng: Random) -> str:
        """Return a rare name: a noun of WordNet, two nouns, or an adjective and a noun; some with a typing error."""
        noun, form = self.tail_nouns.draw(rng), rng.random()
        if form < 0.25:
            noun = f"{self.tail_nouns.draw(rng)} {noun}"
        elif form < 0.35:
            noun = f"{self.attributes['any'].draw(rng)} {noun}"
        elif form < 0.45:
            noun += "s"
        return mistype(noun, rng) if rng.random() < TYPOS else noun

    def draw_attribute(self, rng: Random, kind: str) -> str:
        if rng.random() >= TAIL_ATTRIBUTES:
            return self.attributes[kind if kind in self.attributes and rng.random() < 0.5 else "any"].draw(rng)
        word, form = self.tail_adjectives.draw(rng), rng.random()
        if form < 0.15:
            word = f"made of {self.tail_nouns.draw(rng)}"
        elif form < 0.4:
            word = f"{word} {self.attributes['any'].draw(rng)}"
        return mistype(word, rng) if rng.random() < TYPOS else word

    def draw_predicate(self, rng: Random, subject_kind: str, object_kind: str) -> str:
        if rng.random() >= TAIL_PREDICATES:
            fitting = self.predicates.get(f"{subject_kind}-{object_kind}")
            return (fitting if fitting and rng.random() < 0.7 else self.predicates["other"]).draw(rng)
        verb = inflect_present_participle(self.tail_verbs.draw(rng))
        return f"{verb} {rng.choice(PREPOSITIONS)}" if rng.random() < 0.7 else verb


@cache
def load_words() -> Words:
    content: dict[str, Any] = yaml.safe_load(WORDS.read_text())
    kinds = {name: "part" for part in content["parts"].values() for name in part["names"]}
    for theme in content["themes"].values():
        kinds |= {name: kind for kind, names in theme.items() for name in names}
    return Words(
        themes={
            theme: {kind: Zipf(names, 0.8, 2) for kind, names in kinds_of_names.items()}
            for theme, kinds_of_names in content["themes"].items()
        },
        parts={kind: Zipf(part["names"], 0.9, 2) for kind, part in content["parts"].items()},
        part_predicates={kind: (Zipf(part["owner"]), Zipf(part["part"])) for kind, part in content["parts"].items()},
        predicates={kinds: Zipf(predicates) for kinds, predicates in content["predicates"].items()},
        attributes={kind: Zipf(attributes, 1.0, 3) for kind, attributes in content["attributes"].items()},
        other_names=content["other_names"],
        kinds=kinds,
        tail_nouns=Zipf(_list_lemmas("noun", VISIBLE), 0.9, 20),
        tail_adjectives=Zipf(_list_lemmas("adj"), 0.9, 20),
        tail_verbs=Zipf(_list_lemmas("verb"), 0.9, 10),
    )


def _list_lemmas(part_of_speech: str, lexicographer_files: frozenset[str] | None = None) -> list[str]:
    """Return WordNet's lower-case lemmas, most frequent in SemCor first, those that it lacks in a fixed mixed order."""
    found = _read_lemmas(part_of_speech)
    lemmas = sorted({name for name, file in found if lexicographer_files is None or file in lexicographer_files})
    counts = Counter[str]()
    with wordnet().open("cntlist.rev") as file:
        for line in file:
            sense_key, _, count = line.split()
            lemma, _, sense = sense_key.partition("%")
            if sense[0] in SENSE_TYPES[part_of_speech]:
                counts[lemma] += int(count)
    Random(0).shuffle(lemmas)
    return [name.replace("_", " ") for name in sorted(lemmas, key=lambda name: -counts[name])]


def _read_lemmas(part_of_speech: str) -> Iterator[tuple[str, str]]:
    """Yield (lemma, lexicographer file) from WordNet's data file, which is much faster than NLTK's synsets.

    A line is: offset, lexicographer file, type, number of lemmas in hexadecimal digits, then (lemma, id) pairs.
    """
    with wordnet().open(f"data.{part_of_speech}") as file:
        for line in file:
            if not line.startswith(" "):  # the licence
                fields = line.split(" ")
                for lemma in fields[4 : 4 + 2 * int(fields[3], 16) : 2]:
                    if (name := lemma.split("(", 1)[0]).islower():
                        yield name, LEXICOGRAPHER_FILES[int(fields[1])]


@cache
def inflect_present_participle(verb: str) -> str:
    first, *rest = verb.split(" ")
    return " ".join([next(iter(lemminflect.getInflection(first, tag="VBG")), first), *rest])


@cache
def find_synset(name: str, pos: str = "n") -> str | None:
    """Return the name of the first synset of a name or of its last word, as in ``synsets`` ("tree.n.01")."""
    lemma, *_ = [form for form in (name, name.rsplit(" ", 1)[-1]) if wordnet().morphy(form.replace(" ", "_"), pos)] or [
        None
    ]
    synsets = wordnet().synsets(lemma.replace(" ", "_"), pos) if lemma else []
    return synsets[0].name() if synsets else None


def mistype(word: str, rng: Random) -> str:
    """Return the word with two letters exchanged, or one left out or doubled."""
    if len(word) < 4:
        return word
    at, change = rng.randrange(1, len(word) - 1), rng.random()
    if change < 0.4:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + word[at + 1 :] if change < 0.7 else word[:at] + word[at] + word[at:]
