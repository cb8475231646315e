"""Compun: choose the image of a compound noun ("sunflower") among the images of the compound, "sun" and "flower".

    python -m compeval.generators.compun && python -m compeval.loaders.cards.write compun
    python -m compeval.generators.compun --ask --max-cost 1      # requests answers of a language model into sample/llm/

Source: Kumar et al. 2024 (arXiv:2404.00419), sections 3 and 4. Chance: 1/3.

The config ``main`` has one split per kind of prompt, all with the same images: ``test`` (the template "a photo of a
..."), ``test.reversed`` (the constituents in the other order), ``test.descriptors`` (visual features of the compound),
and ``test.examples.1`` to ``test.examples.7`` (that many example captions). The config ``nouns`` lists all 400
compounds (data/words/compun.csv).

``rules: paper``: the request for captions is the one that the paper prints, at temperature 0.1, and nothing replaces
captions or descriptors that a language model did not return. Such compounds are left out of their split and counted. A
further split, ``test.notebook.5``, has the prompts of the authors' notebook, which join a caption and all descriptors
(experiments/compun/published.py).

Difference from the paper: by default the micro-world draws the images of 60 compounds, 20 of each of the paper's
categories. If ``images`` in params.yaml names the authors' images, every compound of the 400 is used whose three images
are there. The others are counted.

All splits show the same images, which the rows of the split ``test`` store (``image_row``).
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
import yaml

from compeval.base.files.atomic import atomic_folder, write_json
from compeval.base.pipeline import stage
from compeval.base.pipeline.params import OURS, PAPER, read_rules, read_settings
from compeval.base.schemas.rows import COMPOUND_SCHEMA, NOUN_SCHEMA, use_shared_images
from compeval.base.storage import dataset
from compeval.generators.captioner import class_descriptors, example_captions
from compeval.generators.captioner.class_descriptors import DESCRIPTORS
from compeval.generators.captioner.example_captions import CAPTIONS, PUBLISHED_CAPTIONS
from compeval.generators.llm.client import Cache, Client, Endpoint, check_key
from compeval.generators.llm.questions import Question, ask, read_cached_items
from compeval.generators.microworld.compun_images import (
    CompoundImages,
    ImageCollection,
    can_draw,
    render_compound,
)

FOLDER = Path("compun")
STATS = Path("stats/compun/compun.json")
IMAGE_COLUMNS = tuple(f"image{suffix}" for suffix in ("", "_n1", "_n2"))
MAX_EXAMPLES = 7
"""The largest number of example captions in Table 2 of the paper (k)."""
NOTEBOOK_CAPTIONS = 5
"""Captions per compound of the notebook's prompts: its script requests five."""
PAPER_TEMPERATURE = 0.1
"""Temperature of the language model (section 5)."""


class Noun(NamedTuple):
    """A row of compun.csv; ``n1`` and ``n2`` are the constituents of the compound."""

    compound: str
    n1: str
    n2: str
    form: str
    category: str
    split: str
    note: str

    @property
    def name(self) -> str:
        """The compound in lower case: a few compounds of the list are capitalised for no reason ("Keyhole")."""
        return " ".join(
            word if len(word) == 1 else word.lower() for word in self.compound.split(" ")
        )

    @property
    def reversed(self) -> str:
        """The constituents in the other order, as one word or two words like the compound."""
        return f"{self.n2}{' ' if self.form == 'open' else ''}{self.n1}"


def read_nouns(path: Path) -> list[Noun]:
    with path.open(newline="", encoding="utf-8") as file:
        return [Noun(**row) for row in csv.DictReader(file)]


def select_drawable_nouns(nouns: Iterable[Noun]) -> list[Noun]:
    """Return the compounds that the micro-world can draw together with both constituents."""
    return [noun for noun in nouns if all(map(can_draw, (noun.name, noun.n1, noun.n2)))]


@dataclass(frozen=True)
class CompunSettings:
    """The block ``compun`` of params.yaml."""

    seed: int
    renderings: int
    """Number of images per drawn compound."""
    images: str | None
    """A folder or zip file with the authors' images; None: the micro-world draws the images."""
    captioner: Mapping[str, Any]
    """``{}``: the grammar writes the example captions. Otherwise the fields of llm.client.Endpoint."""
    rules: str = OURS

    @property
    def endpoint(self) -> Endpoint | None:
        defaults: dict[str, Any] = {"temperature": PAPER_TEMPERATURE} if self.rules == PAPER else {}
        return Endpoint(**defaults | dict(self.captioner)) if self.captioner else None

    @property
    def captions_question(self) -> Question:
        """The request for example captions."""
        return PUBLISHED_CAPTIONS if self.rules == PAPER else CAPTIONS


class Prompting(NamedTuple):
    """The prompts of a compound; ``captioner`` is the provenance value that says how they were written."""

    prompts: list[str]
    captioner: str


MakePrompting = Callable[[Noun], Prompting | None]
"""Returns None if the compound has no prompts of this kind."""


def make_template_prompting(noun: Noun) -> Prompting:
    return Prompting([f"a photo of a {noun.name}"], "template")


def make_reversed_prompting(noun: Noun) -> Prompting:
    """Return the template with the constituents in the other order ("CLIP rev." in Table 1)."""
    return Prompting([f"a photo of a {noun.reversed}"], "template")


def make_descriptor_prompting(
    noun: Noun, own_descriptors: Mapping[str, list[str]], endpoint: Endpoint | None, cache: Cache
) -> Prompting:
    """Return one prompt per descriptor, as in Menon and Vondrick 2023.

    The descriptors are the cached answers of the language model if there are enough. Otherwise they come from
    ``own_descriptors`` (compound -> descriptors). A compound without descriptors has the template as its only prompt.
    """
    if prompting := find_descriptor_prompting(noun, endpoint, cache):
        return prompting
    if items := own_descriptors.get(noun.name):
        return Prompting(class_descriptors.make_prompts(noun.name, items), "descriptors")
    return make_template_prompting(noun)


def find_descriptor_prompting(
    noun: Noun, endpoint: Endpoint | None, cache: Cache
) -> Prompting | None:
    """Return one prompt per cached descriptor of the language model, or None if there are too few."""
    if endpoint is None:
        return None
    items = find_descriptors(noun, endpoint, cache)
    if items is None:
        return None
    return Prompting(
        class_descriptors.make_prompts(noun.name, items), f"{example_captions.LLM}:{endpoint.model}"
    )


def find_descriptors(noun: Noun, endpoint: Endpoint, cache: Cache) -> list[str] | None:
    """Return the cached descriptors of the language model, or None if there are too few."""
    count = class_descriptors.DESCRIPTORS_PER_CLASS
    items = read_cached_items(DESCRIPTORS, noun.name, count, endpoint, cache).items
    return list(items) if len(items) == count else None


def find_notebook_prompting(
    noun: Noun, endpoint: Endpoint | None, cache: Cache
) -> Prompting | None:
    """Return one prompt per cached caption, each with all cached descriptors, as in the authors' notebook.

    None if there are too few captions or descriptors.
    """
    examples = example_captions.find_published_examples(noun.name, MAX_EXAMPLES, endpoint, cache)
    if endpoint is None or examples is None:
        return None
    descriptors = find_descriptors(noun, endpoint, cache)
    if descriptors is None:
        return None
    features = ", ".join(descriptors)
    prompts = [
        f"An example of {noun.name} in an image is: {caption}. Some of its features are: {features}."
        for caption in examples.captions[:NOTEBOOK_CAPTIONS]
    ]
    return Prompting(prompts, examples.captioner)


def make_promptings(
    settings: CompunSettings, own_descriptors: Mapping[str, list[str]], cache: Cache
) -> dict[str, MakePrompting]:
    """Return split name -> function that returns the prompts of a compound.

    By the paper's rules, it returns None if the language model did not return enough captions or descriptors, and there
    is one more split.
    """
    is_paper = settings.rules == PAPER
    endpoint = settings.endpoint
    find_examples = (
        example_captions.find_published_examples if is_paper else example_captions.choose_examples
    )

    def make_example_prompting(noun: Noun, count: int) -> Prompting | None:
        examples = find_examples(noun.name, MAX_EXAMPLES, endpoint, cache)
        if examples is None:
            return None
        return Prompting(
            example_captions.make_prompts(noun.name, examples.captions[:count]), examples.captioner
        )

    return {
        "test": make_template_prompting,
        "test.reversed": make_reversed_prompting,
        "test.descriptors": lambda noun: (
            find_descriptor_prompting(noun, endpoint, cache)
            if is_paper
            else make_descriptor_prompting(noun, own_descriptors, endpoint, cache)
        ),
        **{
            f"test.examples.{count}": partial(make_example_prompting, count=count)
            for count in range(1, MAX_EXAMPLES + 1)
        },
        **(
            {
                f"test.notebook.{NOTEBOOK_CAPTIONS}": lambda noun: find_notebook_prompting(
                    noun, endpoint, cache
                )
            }
            if is_paper
            else {}
        ),
    }


def collect_images(
    nouns: list[Noun], settings: CompunSettings, skipped: Counter[str]
) -> Iterator[tuple[Noun, CompoundImages]]:
    """Yield the images of every compound that has any; a drawn compound occurs once per rendering.

    Compounds with a missing or unreadable image are counted in ``skipped``, and the first is printed.
    """
    if settings.images:
        collection = ImageCollection.open(Path(settings.images))
        for noun in nouns:
            try:
                yield noun, collection.of(noun.compound)
            except ValueError as error:
                if not skipped:
                    print(
                        f"{settings.images}: incomplete compounds are left out. The first: {error}.",
                        file=sys.stderr,
                    )
                skipped["compounds with a missing or unreadable image"] += 1
        return
    for noun in select_drawable_nouns(nouns):
        for images in render_compound(
            noun.name, noun.n1, noun.n2, settings.renderings, settings.seed
        ):
            yield noun, images


def make_row(
    noun: Noun,
    images: CompoundImages,
    image_row: int,
    prompting: Prompting,
    provenance: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a row of COMPOUND_SCHEMA. ``image_row`` is its number in every split.

    All renderings of a compound have the same ``image_id``: they are not independent, so confidence intervals resample
    compounds.
    """
    cells: dict[str, Any] = {}
    for suffix, data in zip(("", "_n1", "_n2"), images, strict=True):
        cells[f"image{suffix}"] = {"bytes": data, "path": None}
        cells[f"crop_id{suffix}"] = dataset.make_file_id(data)
    return cells | {
        "image_row": image_row,
        "compound": noun.name,
        "n1": noun.n1,
        "n2": noun.n2,
        "prompts": prompting.prompts,
        "image_id": noun.name,
        "categories": [
            {"by": "visible constituents", "name": noun.category},
            {"by": "form", "name": noun.form},
        ],
        "provenance": {**provenance, "captioner": prompting.captioner},
    }


def write(
    folder: Path, nouns: list[Noun], settings: CompunSettings, words: Path, cache: Cache
) -> dict[str, dict[str, int]]:
    """Replace ``folder``; ``words`` is the folder of compun_descriptors.yaml.

    Returns the numbers of compounds with and without images, and per captioner of the example captions; by the paper's
    rules, of the descriptors as well. Raises ValueError if no compound has images.
    """
    skipped = Counter[str]()
    images = list(collect_images(nouns, settings, skipped))
    if not images:
        raise ValueError(
            f"{settings.images}: no compound has its three images (<noun>.*, <noun>_n1.*, <noun>_n2.*)."
        )
    own_descriptors = yaml.safe_load(
        (words / "compun_descriptors.yaml").read_text(encoding="utf-8")
    )
    source = "compun" if settings.images else "microworld"
    provenance = {"source": source, "seed": settings.seed}
    promptings = make_promptings(settings, own_descriptors, cache)

    def make_rows(split: str, make_prompting: MakePrompting) -> Iterator[dict[str, Any]]:
        for number, (noun, noun_images) in enumerate(images):
            prompting = make_prompting(noun)
            if prompting is None:
                continue
            row = make_row(noun, noun_images, number, prompting, provenance)
            yield row if split == "test" else row | dict.fromkeys(IMAGE_COLUMNS)

    with atomic_folder(folder) as scratch:
        dataset.write_config(
            scratch, "nouns", {"test": (noun._asdict() for noun in nouns)}, NOUN_SCHEMA
        )
        rows = {
            split: make_rows(split, make_prompting) for split, make_prompting in promptings.items()
        }
        dataset.write_config(scratch, "main", rows, use_shared_images(COMPOUND_SCHEMA))
    compounds = dict.fromkeys(noun for noun, _ in images)

    def count_captioners(split: str) -> dict[str, int]:
        return dict(Counter(_name_captioner(promptings[split](noun)) for noun in compounds))

    counts = {
        "Images": dict(skipped) | {"compounds with images": len(compounds)},
        "Example captions: compounds by captioner": count_captioners("test.examples.1"),
    }
    if settings.rules == PAPER:
        counts["Descriptors: compounds by captioner"] = count_captioners("test.descriptors")
    return counts


def _name_captioner(prompting: Prompting | None) -> str:
    return prompting.captioner if prompting else "none: left out"


def main(ask_model: Annotated[bool, typer.Option("--ask")] = False, max_cost: float = 0.0) -> None:
    """Write the folder compun/; with --ask, request the language model's answers into sample/llm/ instead."""
    settings = read_settings(CompunSettings, "compun", rules=read_rules())
    if ask_model:
        endpoint = settings.endpoint
        if endpoint is None:
            raise ValueError(
                "params.yaml, compun.captioner: no language model is set. Set the endpoint to use --ask."
            )
        check_key()
        client = Client(endpoint, Cache([Path("sample/llm")], Path("sample/llm/compun.jsonl")))
        nouns = [noun.name for noun in read_nouns(Path("sample/words/compun.csv"))]
        questions = [
            (settings.captions_question, MAX_EXAMPLES),
            (DESCRIPTORS, class_descriptors.DESCRIPTORS_PER_CLASS),
        ]
        for outcome, count in sorted(ask(questions, nouns, client, max_cost).items()):
            print(f"{count:,} {outcome}")
        return
    words = Path("data/words")
    counts = write(
        FOLDER, read_nouns(words / "compun.csv"), settings, words, Cache([Path("data/llm")])
    )
    write_json(STATS, {"funnels": counts})


if __name__ == "__main__":
    stage.run(main)
