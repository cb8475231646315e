"""Compun: the picture of a compound noun among those of its constituents, by prompts of several kinds.

    python -m generators.compun && python -m loaders.cards.compun
    python -m generators.compun --ask --max-cost 1      # fills the language model's cache in sample/llm/

Source: Kumar et al. 2024 (arXiv:2404.00419), sections 3 and 4. Config ``main`` has the same pictures under each kind of
prompt: the split ``test`` the template, its variants ``reversed``, ``descriptors`` and ``examples.1`` to
``examples.7``. Config ``nouns`` is the list of all 400 compounds (data/words/compun.csv). By default the micro-world
draws twelve compounds; with ``images`` in params.yaml all 400 are there, or the folder is refused.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
import yaml

from generators.captioner import class_descriptors, example_captions
from generators.captioner.class_descriptors import DESCRIPTORS
from generators.captioner.example_captions import CAPTIONS
from generators.llm.client import Cache, Client, Endpoint
from generators.llm.questions import ask, read_cached_items
from generators.microworld.compun_images import CompoundImages, ImageCollection, can_draw, render_compound
from generators.schemas.rows import COMPOUND_SCHEMA, NOUN_SCHEMA
from generators.storage import dataset, stage
from generators.storage.atomic import atomic_folder, write_json
from generators.storage.params import read_settings

FOLDER, STATS = Path("compun"), Path("stats/compun/compun.json")
MOST_EXAMPLES = 7
"""The largest k of Table 2."""


class Noun(NamedTuple):
    """A line of compun.csv."""

    compound: str
    n1: str
    n2: str
    form: str
    category: str
    split: str
    note: str

    @property
    def name(self) -> str:
        """As it stands in a prompt: the list's stray capitals are gone."""
        return self.compound if self.compound[1:2].strip() == "" else self.compound[0].lower() + self.compound[1:]

    @property
    def reversed(self) -> str:
        """The constituents in the other order, written as the compound is."""
        return f"{self.n2}{' ' if self.form == 'open' else ''}{self.n1}"


def read_nouns(path: Path) -> list[Noun]:
    with path.open(newline="", encoding="utf-8") as file:
        return [Noun(**row) for row in csv.DictReader(file)]


def select_drawable_nouns(nouns: Iterable[Noun]) -> list[Noun]:
    """Those that the micro-world can draw with both constituents."""
    return [noun for noun in nouns if all(map(can_draw, (noun.name, noun.n1, noun.n2)))]


@dataclass(frozen=True)
class Settings:
    """The block ``compun`` of params.yaml."""

    seed: int
    renderings: int
    """Of each drawn compound."""
    images: str | None
    """A folder or zip with the authors' pictures; None: the micro-world draws."""
    captioner: Mapping[str, Any]
    """``{}`` for the grammar; else the fields of llm.Endpoint."""

    @property
    def endpoint(self) -> Endpoint | None:
        return Endpoint(**self.captioner) if self.captioner else None


class Prompting(NamedTuple):
    """The prompts of a compound and what made them."""

    prompts: list[str]
    captioner: str


def make_template_prompting(noun: Noun) -> Prompting:
    return Prompting([f"a photo of a {noun.name}"], "template")


def make_reversed_prompting(noun: Noun) -> Prompting:
    """CLIP rev. of Table 1."""
    return Prompting([f"a photo of a {noun.reversed}"], "template")


def make_descriptor_prompting(
    noun: Noun, own: Mapping[str, list[str]], endpoint: Endpoint | None, cache: Cache
) -> Prompting:
    """One prompt a descriptor (Menon and Vondrick 2023): a language model's where the cache has enough, else ours.

    The template alone for a compound that has none.
    """
    if endpoint is not None:
        items = read_cached_items(
            DESCRIPTORS, noun.name, class_descriptors.DESCRIPTORS_PER_CLASS, endpoint, cache
        ).items
        if len(items) == class_descriptors.DESCRIPTORS_PER_CLASS:
            captioner = f"{example_captions.LLM}:{endpoint.model}"
            return Prompting(class_descriptors.make_prompts(noun.name, items), captioner)
    if items := own.get(noun.name):
        return Prompting(class_descriptors.make_prompts(noun.name, items), "descriptors")
    return make_template_prompting(noun)


def make_promptings(
    settings: Settings, descriptors: Mapping[str, list[str]], cache: Cache
) -> dict[str, Callable[[Noun], Prompting]]:
    """Split -> what makes a compound's prompts."""

    def with_examples(count: int) -> Callable[[Noun], Prompting]:
        def make(noun: Noun) -> Prompting:
            found = example_captions.choose_examples(noun.name, MOST_EXAMPLES, settings.endpoint, cache)
            return Prompting(example_captions.make_prompts(noun.name, found.captions[:count]), found.captioner)

        return make

    return {
        "test": make_template_prompting,
        "test.reversed": make_reversed_prompting,
        "test.descriptors": lambda noun: make_descriptor_prompting(noun, descriptors, settings.endpoint, cache),
        **{f"test.examples.{count}": with_examples(count) for count in range(1, MOST_EXAMPLES + 1)},
    }


def collect_images(nouns: list[Noun], settings: Settings) -> Iterator[tuple[Noun, CompoundImages]]:
    """Every compound that has pictures, as often as it has some."""
    if settings.images:
        collection = ImageCollection.open(Path(settings.images))
        collection.check(noun.compound for noun in nouns)
        for noun in nouns:
            yield noun, collection.of(noun.compound)
        return
    for noun in select_drawable_nouns(nouns):
        for shown in render_compound(noun.name, noun.n1, noun.n2, settings.renderings, settings.seed):
            yield noun, shown


def make_row(noun: Noun, shown: CompoundImages, prompting: Prompting, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """A row of COMPOUND_SCHEMA; intervals resample compounds, whose renderings are no independent pictures."""
    parts = zip(("", "_n1", "_n2"), shown, strict=True)
    cells: dict[str, Any] = {}
    for part, data in parts:
        cells[f"image{part}"] = {"bytes": data, "path": None}
        cells[f"crop_id{part}"] = dataset.make_file_id(data)
    return cells | {
        "compound": noun.compound,
        "n1": noun.n1,
        "n2": noun.n2,
        "prompts": prompting.prompts,
        "image_id": noun.compound,
        "categories": [{"by": "visible constituents", "name": noun.category}, {"by": "form", "name": noun.form}],
        "provenance": {**provenance, "captioner": prompting.captioner},
    }


def _rows(
    found: Sequence[tuple[Noun, CompoundImages]], make: Callable[[Noun], Prompting], provenance: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    for noun, shown in found:
        yield make_row(noun, shown, make(noun), provenance)


def write(folder: Path, nouns: list[Noun], settings: Settings, words: Path, cache: Cache) -> dict[str, int]:
    """Write the whole folder; gives how many compounds each captioner has served in the splits with examples."""
    found = list(collect_images(nouns, settings))
    descriptors = yaml.safe_load((words / "compun_descriptors.yaml").read_text())
    source = "compun" if settings.images else "microworld"
    provenance = {"source": source, "seed": settings.seed}
    made = make_promptings(settings, descriptors, cache)
    with atomic_folder(folder) as scratch:
        dataset.write_config(scratch, "nouns", {"test": (noun._asdict() for noun in nouns)}, NOUN_SCHEMA)
        rows = {split: _rows(found, make, provenance) for split, make in made.items()}
        dataset.write_config(scratch, "main", rows, COMPOUND_SCHEMA)
    served: dict[str, int] = {}
    for noun in dict.fromkeys(noun for noun, _ in found):
        captioner = made["test.examples.1"](noun).captioner
        served[captioner] = served.get(captioner, 0) + 1
    return served


def main(ask_model: Annotated[bool, typer.Option("--ask")] = False, max_cost: float = 0.0) -> None:
    """Write the folder compun/; with --ask, fill the language model's cache in sample/llm/ instead."""
    settings = read_settings(Settings, "compun")
    if ask_model:
        endpoint = settings.endpoint
        if endpoint is None:
            raise ValueError("params.yaml, compun.captioner: no endpoint is named, so there is nobody to ask.")
        client = Client(endpoint, Cache([Path("sample/llm")], Path("sample/llm/compun.jsonl")))
        nouns = [noun.name for noun in read_nouns(Path("sample/words/compun.csv"))]
        wanted = [(CAPTIONS, MOST_EXAMPLES), (DESCRIPTORS, class_descriptors.DESCRIPTORS_PER_CLASS)]
        for reason, count in sorted(ask(wanted, nouns, client, max_cost).items()):
            print(f"{count:,} {reason}")
        return
    words = Path("data/words")
    served = write(FOLDER, read_nouns(words / "compun.csv"), settings, words, Cache([Path("data/llm")]))
    write_json(STATS, {"funnels": {"Example captions: compounds by captioner": served}})


if __name__ == "__main__":
    stage.run(main)
