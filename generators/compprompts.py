"""CompPrompts: prompts of growing compositionality, for probes of text encoders.

    python -m compeval.generators.compprompts && python -m compeval.loaders.cards.write compprompts

Source: Kamath, Hessel and Chang 2023 (arXiv:2305.14897), section 2.1 and the example prompts of Tables 2 and 3. The
authors did not release their prompts. Here every word of a prompt is drawn independently from our word lists
(data/words/compprompts.yaml), so that a model cannot guess one word from another. Difference from the paper: two cells
of Table 2 have an example with the adjective on the first noun and an example with the adjective on the second; each of
these cells is two configs of 375 prompts.

A config is a cell of Table 2 or 3 and has one pattern: a prompt with slots in capitals (see ``SLOTS``), such as
"a ADJECTIVE NOUN PLACE a NOUN". "a" becomes "an" before a vowel sound. The words of a prompt are distinct except for
numbers, and its adjectives do not contradict each other. params.yaml (compprompts.cells) can add configs, such as
patterns of three nouns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from compeval.base.files.atomic import atomic_folder
from compeval.base.pipeline import stage
from compeval.base.pipeline.params import read_settings
from compeval.base.schemas.rows import TEXT_SCHEMA
from compeval.base.storage import dataset
from compeval.generators.language import inflection

FOLDER = Path("compprompts")
WORDS = Path("data/words/compprompts.yaml")
MAX_MISSES = 10_000
"""A pattern has no further prompts if this many draws in a row only repeat prompts."""


class Cell(NamedTuple):
    """The pattern of a config, and the number of distinct prompts to draw from it."""

    pattern: str
    size: int


GRID = {
    name: Cell(**cell)
    for name, cell in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8")).items()
}
"""The configs of the benchmark."""


class Filler(NamedTuple):
    """A word or phrase that can fill a slot."""

    kind: str
    text: str
    """The lemma, which is the text of the prompt's atom."""
    form: str
    """The inflected form in the prompt."""
    group: str | None
    """A prompt has at most one filler of a group; fillers with None can occur any number of times."""


SLOTS = (
    "NOUN",
    "NOUNS",
    "NUMBER",
    "ADJECTIVE",
    "INTRANSITIVE",
    "TRANSITIVE",
    "SIDE",
    "PLACE",
    "TIME",
)
"""The slots of patterns. INTRANSITIVE and TRANSITIVE are verbs without and with an object; SIDE is a phrase like
"on the left", PLACE a phrase like "to the left of", and TIME a word like "before"."""


def make_fillers(words: Mapping[str, Any]) -> dict[str, list[Filler]]:
    """Return the fillers of every slot."""

    def make_verbs(key: str) -> list[Filler]:
        return [
            Filler("verb", verb, inflection.inflect_verb(verb, "VBG"), f"verb {verb}")
            for verb in words[key]
        ]

    def make_phrases(key: str) -> list[Filler]:
        return [
            Filler("spatial", text, form, f"spatial {text}") for text, form in words[key].items()
        ]

    return {
        "NOUN": [Filler("noun", noun, noun, f"noun {noun}") for noun in words["nouns"]],
        "NOUNS": [
            Filler("noun", noun, inflection.pluralise(noun), f"noun {noun}")
            for noun in words["nouns"]
        ],
        "NUMBER": [Filler("number", number, number, None) for number in words["numbers"]],
        "ADJECTIVE": [
            Filler("adjective", adjective, adjective, f"adjective {group}")
            for group, adjectives in words["adjectives"].items()
            for adjective in adjectives
        ],
        "INTRANSITIVE": make_verbs("intransitive"),
        "TRANSITIVE": make_verbs("transitive"),
        "SIDE": make_phrases("sides"),
        "PLACE": make_phrases("places"),
        "TIME": [Filler("temporal", time, time, f"temporal {time}") for time in words["times"]],
    }


class Prompt(NamedTuple):
    text: str
    atoms: tuple[tuple[str, str], ...]
    """(kind, lemma) of each atom in the order of the prompt; "not" is an atom of the kind "negation"."""


def draw_prompt(pattern: str, fillers: Mapping[str, list[Filler]], rng: Random) -> Prompt:
    """Return a random prompt of the pattern; ``fillers`` has the fillers of every slot.

    Raises ValueError if a slot is unknown or has too few fillers.
    """
    words: list[str] = []
    atoms: list[tuple[str, str]] = []
    used_groups: set[str] = set()
    for token in pattern.split():
        if token in fillers:
            options = [filler for filler in fillers[token] if filler.group not in used_groups]
            if not options:
                raise ValueError(f"Pattern {pattern!r}: more {token} slots than {token} words.")
            filler = rng.choice(options)
            words.append(filler.form)
            atoms.append((filler.kind, filler.text))
            if filler.group:
                used_groups.add(filler.group)
        elif token.isupper():
            raise ValueError(
                f"Pattern {pattern!r}: unknown slot {token!r}. Slots are {', '.join(SLOTS)}."
            )
        else:
            words.append(token)
            if token == "not":
                atoms.append(("negation", token))
    return Prompt(_join_words(words), tuple(atoms))


def _join_words(words: list[str]) -> str:
    """Join the words of a prompt, with "an" instead of "a" where English requires it."""
    next_words = [*words[1:], ""]
    return " ".join(
        inflection.choose_article(next_word) if word == "a" else word
        for word, next_word in zip(words, next_words, strict=True)
    )


def draw_prompts(cell: Cell, fillers: Mapping[str, list[Filler]], rng: Random) -> list[Prompt]:
    """Return ``cell.size`` distinct prompts. Raises ValueError if the pattern has fewer prompts."""
    prompts: dict[str, Prompt] = {}
    misses = 0
    while len(prompts) < cell.size:
        prompt = draw_prompt(cell.pattern, fillers, rng)
        misses = misses + 1 if prompt.text in prompts else 0
        if misses > MAX_MISSES:
            raise ValueError(
                f"Pattern {cell.pattern!r}: {len(prompts):,} distinct prompts found, {cell.size:,} expected. "
                "Lower the size of the cell, or add words to data/words/compprompts.yaml."
            )
        prompts[prompt.text] = prompt
    return list(prompts.values())


@dataclass(frozen=True)
class CompPromptsSettings:
    """The block ``compprompts`` of params.yaml."""

    seed: int
    cells: Mapping[str, Mapping[str, Any]]
    """Additional configs: name -> the fields of ``Cell``."""

    @property
    def grid(self) -> dict[str, Cell]:
        """The benchmark's configs and the additional configs. Raises ValueError if they share a name."""
        if shared := sorted(GRID.keys() & self.cells.keys()):
            raise ValueError(
                f"params.yaml, compprompts: {', '.join(shared)} are configs of the benchmark."
            )
        return GRID | {name: Cell(**cell) for name, cell in self.cells.items()}


def write(folder: Path, settings: CompPromptsSettings, words: Mapping[str, Any]) -> None:
    """Replace ``folder`` by all configs. The same seed and words always produce the same bytes."""
    fillers = make_fillers(words)
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
                for prompt in draw_prompts(cell, fillers, Random(f"{settings.seed}:{name}"))
            )
            dataset.write_config(scratch, name, {"test": rows}, TEXT_SCHEMA)


def main() -> None:
    """Write the folder compprompts/ with all its configs."""
    write(
        FOLDER,
        read_settings(CompPromptsSettings, "compprompts"),
        yaml.safe_load(WORDS.read_text(encoding="utf-8")),
    )


if __name__ == "__main__":
    stage.run(main)
