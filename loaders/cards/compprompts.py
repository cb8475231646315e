"""CompPrompts' configs and card: what each prompt type must hold, and what the paper's text encoders score on it.

    python -m loaders.cards.compprompts        # after generators.compprompts: checks the folder, writes its card

Source: Kamath, Hessel and Chang 2023, section 2.1, Tables 2 and 3: 36 filled cells, 300 to 500 prompts each, 18,100 in
all. Which cells have fewer than 500 the paper does not say; here the two without any attribute have 300, and the two
that show two examples are two configs of 375 each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from generators.storage import stage
from loaders.cards.card import Stats, measure, table, write_card

FOLDER = Path("compprompts")
TOTAL = 18_100

MODELS = ("CLIP ViT-B/32", "CLIP ViT-L/14", "negCLIP ViT-B/32", "RoBERTa-CLIP ViT-B/32", "SBERT")
"""The text encoders of Tables 2 and 3."""

Scores = tuple[float, float, float, float, float]


class PromptType(NamedTuple):
    """One cell of Tables 2 and 3, or half of one that shows two examples."""

    prompts: int
    nouns: int
    attributes: tuple[str, ...]
    """The kinds of the other atoms: adjective, verb, spatial, temporal, number, negation."""
    example: str
    published: Scores | None
    """Exact match in percent of ``MODELS``; None where the paper's table cannot be read. Halves share their cell's."""

    @property
    def kinds(self) -> list[str]:
        """The kinds of all atoms that a prompt has, sorted."""
        return sorted(["noun"] * self.nouns + list(self.attributes))


_ADJ, _VERB, _SPATIAL, _TIME = ("adjective",), ("verb",), ("spatial",), ("temporal",)
_NUMBER, _NOT = ("number",), ("negation",)

PROMPT_TYPES = {
    "obj1": PromptType(300, 1, (), "a cat", (3.0, 33.0, 2.3, 1.3, 54.0)),
    "obj1_adj": PromptType(500, 1, _ADJ, "an orange cat", (38.2, 81.8, 42.2, 17.0, 91.8)),
    "obj1_spatial": PromptType(500, 1, _SPATIAL, "a cat on the left", (34.6, 53.2, 57.2, 89.4, 91.8)),
    "obj1_verb1": PromptType(500, 1, _VERB, "a cat yawning", (15.4, 71.6, 20.6, 30.0, 78.4)),
    "obj1_adj_adj": PromptType(500, 1, _ADJ * 2, "an orange and spotted cat", (14.4, 23.2, 20.8, 42.2, 35.6)),
    "obj1_adj_spatial": PromptType(
        500, 1, _ADJ + _SPATIAL, "an orange cat on the left", (47.0, 43.8, 63.6, 83.4, 85.6)
    ),
    "obj1_adj_verb1": PromptType(500, 1, _ADJ + _VERB, "an orange cat yawning", (36.4, 62.6, 50.4, 59.8, 76.8)),
    "obj1_spatial_verb1": PromptType(
        500, 1, _SPATIAL + _VERB, "a cat on the left yawning", (15.6, 6.2, 22.8, 5.6, 21.2)
    ),
    "obj1_temporal_verb1": PromptType(500, 1, _TIME + _VERB, "a cat before yawning", (17.0, 58.6, 42.4, 28.4, 57.6)),
    "obj2": PromptType(500, 2, (), "a cat and a dog", (13.4, 48.4, 52.8, 47.6, 56.0)),
    "obj2_adj_first": PromptType(375, 2, _ADJ, "an orange cat and a dog", (15.8, 30.2, 41.4, 29.0, 41.8)),
    "obj2_adj_second": PromptType(375, 2, _ADJ, "a cat and a brown dog", (15.8, 30.2, 41.4, 29.0, 41.8)),
    "obj2_spatial": PromptType(500, 2, _SPATIAL, "a cat to the left of a dog", (6.2, 17.8, 36.2, 34.0, 44.8)),
    "obj2_verb1": PromptType(500, 2, _VERB, "a cat yawning and a dog", (1.6, 5.0, 12.2, 14.6, 11.2)),
    "obj2_verb2": PromptType(500, 2, _VERB, "a cat chasing a dog", (6.6, 37.2, 39.4, 48.8, 48.8)),
    "obj2_adj_adj": PromptType(500, 2, _ADJ * 2, "an orange cat and a brown dog", (17.8, 23.6, 35.6, 24.0, 32.8)),
    "obj2_adj_spatial": PromptType(
        500, 2, _ADJ + _SPATIAL, "an orange cat to the left of a dog", (6.2, 14.0, 24.8, 20.7, 30.3)
    ),
    "obj2_adj_verb1": PromptType(500, 2, _ADJ + _VERB, "a cat yawning and a brown dog", (0.8, 1.4, 4.8, 8.0, 8.0)),
    "obj2_adj_verb2_first": PromptType(
        375, 2, _ADJ + _VERB, "an orange cat chasing a dog", (7.2, 21.0, 24.2, 29.8, 30.2)
    ),
    "obj2_adj_verb2_second": PromptType(
        375, 2, _ADJ + _VERB, "a cat chasing a brown dog", (7.2, 21.0, 24.2, 29.8, 30.2)
    ),
    "obj2_spatial_verb1": PromptType(
        500, 2, _SPATIAL + _VERB, "a cat yawning to the left of a dog", (8.8, 16.6, 28.6, 30.5, 31.9)
    ),
    "obj2_spatial_verb2": PromptType(
        500, 2, _SPATIAL + _VERB, "a cat chasing a dog on the left", (4.2, 7.8, 16.4, 39.2, 23.8)
    ),
    "obj2_spatial_spatial": PromptType(
        500, 2, _SPATIAL * 2, "a cat on the right and a dog on the left", (1.2, 0.6, 12.4, 5.6, 3.0)
    ),
    "obj2_temporal_verb1": PromptType(
        500, 2, _TIME + _VERB, "a cat before yawning and a dog", (1.6, 0.2, 7.4, 0.4, 4.4)
    ),
    "obj2_temporal_verb2": PromptType(
        500, 2, _TIME + _VERB, "a cat before chasing a dog", (3.4, 21.6, 19.2, 26.8, 4.8)
    ),
    "obj2_verb_verb": PromptType(500, 2, _VERB * 2, "a cat yawning and a dog stretching", (1.8, 4.8, 8.8, 1.6, 10.8)),
    "multiples_obj1": PromptType(300, 1, _NUMBER, "two cats", (0.3, 3.0, 1.0, 0.7, 37.3)),
    "multiples_obj1_adj": PromptType(500, 1, _NUMBER + _ADJ, "two orange cats", (15.0, 14.8, 9.4, 4.6, 56.6)),
    "multiples_obj1_spatial": PromptType(
        500, 1, _NUMBER + _SPATIAL, "two cats on the left", (9.6, 10.8, 11.2, 16.0, 48.4)
    ),
    "multiples_obj1_verb1": PromptType(500, 1, _NUMBER + _VERB, "two cats yawning", (9.4, 16.8, 12.8, 6.4, 33.2)),
    "multiples_obj2": PromptType(500, 2, _NUMBER * 2, "two cats and four dogs", (0.0, 0.0, 0.0, 0.6, 0.0)),
    "multiples_obj2_spatial": PromptType(
        500, 2, _NUMBER * 2 + _SPATIAL, "two cats to the left of four dogs", (0.0, 0.0, 0.0, 0.2, 0.0)
    ),
    "multiples_obj2_verb2": PromptType(500, 2, _NUMBER * 2 + _VERB, "two cats chasing four dogs", None),
    "negation_obj1_adj": PromptType(500, 1, _NOT + _ADJ, "a cat that is not orange", (18.0, 10.4, 1.8, 43.8, 32.8)),
    "negation_obj1_spatial": PromptType(
        500, 1, _NOT + _SPATIAL, "a cat that is not on the left", (7.4, 6.4, 2.2, 50.4, 4.6)
    ),
    "negation_obj1_verb1": PromptType(500, 1, _NOT + _VERB, "a cat that is not yawning", (6.8, 7.8, 14.2, 58.4, 19.4)),
    "negation_obj2_spatial": PromptType(
        500, 2, _NOT + _SPATIAL, "a cat that is not to the left of a dog", (0.6, 0.4, 2.6, 12.6, 2.6)
    ),
    "negation_obj2_verb2": PromptType(500, 2, _NOT + _VERB, "a cat that is not chasing a dog", None),
}
"""Config -> prompt type, in the order of the tables. A user's further cells (params.yaml) are not among them."""


def is_table_3(config: str) -> bool:
    """Whether the config is one of Table 3's multiples and negations, which Table 1's average leaves out."""
    return config.startswith(("multiples_", "negation_"))


def differences(rows: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Every config whose number of rows is not the declared one, in words."""
    for config, expected in PROMPT_TYPES.items():
        found = sum(rows.get(config, {}).values())
        if found != expected.prompts:
            yield f"{config}: {found:,} rows, {expected.prompts:,} expected"


def body(stats: Stats) -> str:
    """The card's text."""
    known = [
        (config, kind.example, ", ".join(kind.kinds), stats["rows"][config]["test"])
        for config, kind in PROMPT_TYPES.items()
    ]
    further = [(config, splits["test"]) for config, splits in stats["rows"].items() if config not in PROMPT_TYPES]
    own = f"Further configs, from params.yaml.\n\n{table(('config', 'prompts'), further)}\n" if further else ""
    return f"""# CompPrompts: prompts of growing compositionality

{TOTAL:,} text prompts, after Kamath, Hessel and Chang 2023
([arXiv:2305.14897](https://arxiv.org/abs/2305.14897)), section 2.1: how much of a prompt can be recovered from a text
encoder's single vector? Dataset version `{stats["version"]}`.

The authors' own prompts were never released. These are drawn from word lists of this project, every word independently
of the others, so that nothing about a prompt can be guessed from what usually goes together. Scores on them are close
in kind to the paper's, not the same measurement.

A row has its `prompt`, its `cell` (the config's name) and its `atoms`: kind and lemma of each noun, adjective, verb,
spatial, temporal and number word, and of each negation.

## Configs

{table(("config", "the paper's example", "atoms", "prompts"), known)}
{own}Chance of an exact match is nil: there are more prompts of a type than anybody could guess from.

## Known limits

- The paper has 300 to 500 prompts a type and does not say which has how many. Here the types without attribute have
  300, and the two cells with two examples are two configs of 375 each.
- Nouns and attributes are paired at random, so most prompts describe what nobody has seen. That is meant.
- Colours that are also said of people, and children, are not among the words.

## Licence

Prompts and word lists are made by this project, CC0-1.0. Code MIT.
"""


def metadata() -> dict[str, Any]:
    """The card's YAML metadata, in the Hub's vocabulary."""
    return {
        "pretty_name": "CompPrompts",
        "license": "cc0-1.0",
        "language": ["en"],
        "task_categories": ["feature-extraction"],
        "tags": ["compositionality", "vision-language", "probing"],
        "size_categories": ["10K<n<100K"],
    }


def main() -> None:
    """Check the folder against the declared list and write its card. ValueError where they differ."""
    stats: Stats = measure(FOLDER) | {"source": "compprompts"}
    if wrong := list(differences(stats["rows"])):
        raise ValueError(f"{FOLDER}: {'; '.join(wrong)} (loaders/cards/compprompts.py). Run `dvc repro compprompts`.")
    write_card(FOLDER, metadata(), body(stats), stats)


if __name__ == "__main__":
    stage.run(main)
