"""CompPrompts: prompts of growing compositionality, for probes of text encoders.

    python -m generators.compprompts && python -m loaders.cards.compprompts

Source: Kamath, Hessel and Chang 2023, section 2.1 and the prompt examples of Tables 2 and 3. The authors' prompts were
never released; these are drawn anew from word lists of our own (data/words/compprompts.yaml), each word independently
of the others, so that no prior over pairs helps to guess a prompt. Differs from it in: both cells that show two
examples, with the adjective on the first or on the second noun, are two configs of 375 prompts.

A pattern is a prompt with slots in capitals, "a ADJECTIVE NOUN PLACE a NOUN": ``SLOTS`` lists them. "a" becomes "an"
where the next word asks for it. Words of one kind differ within a prompt, numbers excepted, and no two adjectives
contradict each other. More cells stand in params.yaml, so the grid can grow to three nouns or three attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from generators.language import inflection
from generators.schemas.rows import TEXT_SCHEMA
from generators.storage import dataset, stage
from generators.storage.atomic import atomic_folder
from generators.storage.params import read_settings

FOLDER, WORDS = Path("compprompts"), Path("data/words/compprompts.yaml")
MOST_MISSES = 10_000
"""Prompts drawn in a row that were there already, before a pattern counts as exhausted."""


class Cell(NamedTuple):
    """A config: its pattern, and how many distinct prompts of it to draw."""

    pattern: str
    size: int


GRID = {
    # Table 2, one unique object
    "obj1": Cell("a NOUN", 300),
    "obj1_adj": Cell("a ADJECTIVE NOUN", 500),
    "obj1_spatial": Cell("a NOUN SIDE", 500),
    "obj1_verb1": Cell("a NOUN INTRANSITIVE", 500),
    "obj1_adj_adj": Cell("a ADJECTIVE and ADJECTIVE NOUN", 500),
    "obj1_adj_spatial": Cell("a ADJECTIVE NOUN SIDE", 500),
    "obj1_adj_verb1": Cell("a ADJECTIVE NOUN INTRANSITIVE", 500),
    "obj1_spatial_verb1": Cell("a NOUN SIDE INTRANSITIVE", 500),
    "obj1_temporal_verb1": Cell("a NOUN TIME INTRANSITIVE", 500),
    # Table 2, two unique objects
    "obj2": Cell("a NOUN and a NOUN", 500),
    "obj2_adj_first": Cell("a ADJECTIVE NOUN and a NOUN", 375),
    "obj2_adj_second": Cell("a NOUN and a ADJECTIVE NOUN", 375),
    "obj2_spatial": Cell("a NOUN PLACE a NOUN", 500),
    "obj2_verb1": Cell("a NOUN INTRANSITIVE and a NOUN", 500),
    "obj2_verb2": Cell("a NOUN TRANSITIVE a NOUN", 500),
    "obj2_adj_adj": Cell("a ADJECTIVE NOUN and a ADJECTIVE NOUN", 500),
    "obj2_adj_spatial": Cell("a ADJECTIVE NOUN PLACE a NOUN", 500),
    "obj2_adj_verb1": Cell("a NOUN INTRANSITIVE and a ADJECTIVE NOUN", 500),
    "obj2_adj_verb2_first": Cell("a ADJECTIVE NOUN TRANSITIVE a NOUN", 375),
    "obj2_adj_verb2_second": Cell("a NOUN TRANSITIVE a ADJECTIVE NOUN", 375),
    "obj2_spatial_verb1": Cell("a NOUN INTRANSITIVE PLACE a NOUN", 500),
    "obj2_spatial_verb2": Cell("a NOUN TRANSITIVE a NOUN SIDE", 500),
    "obj2_spatial_spatial": Cell("a NOUN SIDE and a NOUN SIDE", 500),
    "obj2_temporal_verb1": Cell("a NOUN TIME INTRANSITIVE and a NOUN", 500),
    "obj2_temporal_verb2": Cell("a NOUN TIME TRANSITIVE a NOUN", 500),
    "obj2_verb_verb": Cell("a NOUN INTRANSITIVE and a NOUN INTRANSITIVE", 500),
    # Table 3, multiples
    "multiples_obj1": Cell("NUMBER NOUNS", 300),
    "multiples_obj1_adj": Cell("NUMBER ADJECTIVE NOUNS", 500),
    "multiples_obj1_spatial": Cell("NUMBER NOUNS SIDE", 500),
    "multiples_obj1_verb1": Cell("NUMBER NOUNS INTRANSITIVE", 500),
    "multiples_obj2": Cell("NUMBER NOUNS and NUMBER NOUNS", 500),
    "multiples_obj2_spatial": Cell("NUMBER NOUNS PLACE NUMBER NOUNS", 500),
    "multiples_obj2_verb2": Cell("NUMBER NOUNS TRANSITIVE NUMBER NOUNS", 500),
    # Table 3, negations
    "negation_obj1_adj": Cell("a NOUN that is not ADJECTIVE", 500),
    "negation_obj1_spatial": Cell("a NOUN that is not SIDE", 500),
    "negation_obj1_verb1": Cell("a NOUN that is not INTRANSITIVE", 500),
    "negation_obj2_spatial": Cell("a NOUN that is not PLACE a NOUN", 500),
    "negation_obj2_verb2": Cell("a NOUN that is not TRANSITIVE a NOUN", 500),
}
"""The configs of the benchmark; loaders/cards/compprompts.py declares the same list from the tables' side."""


class Filler(NamedTuple):
    """What may fill a slot. Of one ``group`` a prompt has one filler at most; None: as many as it likes."""

    kind: str
    text: str
    """The atom: a lemma."""
    form: str
    """As it stands in the prompt."""
    group: str | None


SLOTS = ("NOUN", "NOUNS", "NUMBER", "ADJECTIVE", "INTRANSITIVE", "TRANSITIVE", "SIDE", "PLACE", "TIME")
"""What a pattern may have: nouns, their plurals, numbers, adjectives, verbs without and with an object, "on the left",
"to the left of", "before"."""


def make_fillers(words: Mapping[str, Any]) -> dict[str, list[Filler]]:
    """Every filler of every slot, inflected."""

    def verbs(key: str) -> list[Filler]:
        return [Filler("verb", verb, inflection.inflect_verb(verb, "VBG"), f"verb {verb}") for verb in words[key]]

    def phrases(key: str) -> list[Filler]:
        return [Filler("spatial", text, form, f"spatial {text}") for text, form in words[key].items()]

    return {
        "NOUN": [Filler("noun", noun, noun, f"noun {noun}") for noun in words["nouns"]],
        "NOUNS": [Filler("noun", noun, inflection.pluralise(noun), f"noun {noun}") for noun in words["nouns"]],
        "NUMBER": [Filler("number", number, number, None) for number in words["numbers"]],
        "ADJECTIVE": [
            Filler("adjective", adjective, adjective, f"adjective {group}")
            for group, adjectives in words["adjectives"].items()
            for adjective in adjectives
        ],
        "INTRANSITIVE": verbs("intransitive"),
        "TRANSITIVE": verbs("transitive"),
        "SIDE": phrases("sides"),
        "PLACE": phrases("places"),
        "TIME": [Filler("temporal", time, time, f"temporal {time}") for time in words["times"]],
    }


class Prompt(NamedTuple):
    text: str
    atoms: tuple[tuple[str, str], ...]
    """Kind and lemma, in the order of the prompt; a negation is an atom of its own."""


def draw_prompt(pattern: str, options: Mapping[str, list[Filler]], rng: Random) -> Prompt:
    """A prompt of the pattern. ValueError for a slot that does not exist, or that nothing is left to fill."""
    words: list[str] = []
    atoms: list[tuple[str, str]] = []
    taken: set[str] = set()
    for token in pattern.split():
        if token in options:
            left = [filler for filler in options[token] if filler.group not in taken]
            if not left:
                raise ValueError(f"Pattern {pattern!r}: too few words for so many {token} slots.")
            filler = rng.choice(left)
            words.append(filler.form)
            atoms.append((filler.kind, filler.text))
            if filler.group:
                taken.add(filler.group)
        elif token.isupper():
            raise ValueError(f"Pattern {pattern!r}: unknown slot {token!r}. Slots are {', '.join(SLOTS)}.")
        else:
            words.append(token)
            if token == "not":
                atoms.append(("negation", token))
    return Prompt(_with_articles(words), tuple(atoms))


def _with_articles(words: list[str]) -> str:
    following = [*words[1:], ""]
    return " ".join(
        inflection.choose_article(after) if word == "a" else word for word, after in zip(words, following, strict=True)
    )


def draw_prompts(cell: Cell, options: Mapping[str, list[Filler]], rng: Random) -> list[Prompt]:
    """``cell.size`` distinct prompts. ValueError if the pattern has not so many."""
    found: dict[str, Prompt] = {}
    misses = 0
    while len(found) < cell.size:
        prompt = draw_prompt(cell.pattern, options, rng)
        misses = misses + 1 if prompt.text in found else 0
        if misses > MOST_MISSES:
            raise ValueError(
                f"Pattern {cell.pattern!r}: {cell.size:,} distinct prompts asked for, only {len(found):,} found. "
                "Ask for fewer, or add words."
            )
        found[prompt.text] = prompt
    return list(found.values())


@dataclass(frozen=True)
class Settings:
    """The block ``compprompts`` of params.yaml."""

    seed: int
    cells: Mapping[str, Mapping[str, Any]]
    """Further configs: name -> pattern, count."""

    @property
    def grid(self) -> dict[str, Cell]:
        """The benchmark's configs and the further ones. ValueError where one of these has a name of those."""
        if shared := sorted(GRID.keys() & self.cells.keys()):
            raise ValueError(f"params.yaml, compprompts: {', '.join(shared)} are configs of the benchmark.")
        return GRID | {name: Cell(**cell) for name, cell in self.cells.items()}


def write(folder: Path, settings: Settings, words: Mapping[str, Any]) -> None:
    """Write every config below ``folder``, replacing what was there. The same bytes for the same seed and words."""
    options = make_fillers(words)
    provenance = {"source": "compprompts", "captioner": "grammar", "seed": settings.seed}
    with atomic_folder(folder) as scratch:
        for name, cell in settings.grid.items():
            rows = (
                {
                    "prompt": prompt.text,
                    "cell": name,
                    "atoms": [{"kind": kind, "text": text} for kind, text in prompt.atoms],
                    "provenance": provenance,
                }
                for prompt in draw_prompts(cell, options, Random(f"{settings.seed}:{name}"))
            )
            dataset.write_config(scratch, name, {"test": rows}, TEXT_SCHEMA)


def main() -> None:
    """Write the folder compprompts/ with all its configs."""
    write(FOLDER, read_settings(Settings, "compprompts"), yaml.safe_load(WORDS.read_text()))


if __name__ == "__main__":
    stage.run(main)
