"""The prompt types of CompPrompts: size, atoms, example and published scores of each.

Source: Kamath, Hessel and Chang 2023 (arXiv:2305.14897), section 2.1, Tables 2 and 3: 36 filled cells of 300 to 500
prompts, 18,100 in total. The paper does not say which cells have fewer than 500. Here the two cells without attributes
have 300, and the two cells with two examples are two configs of 375 each, which share the cell's scores.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

TOTAL = 18_100


class PromptType(NamedTuple):
    """One cell of Tables 2 and 3, or half of a cell with two examples."""

    prompts: int
    kinds: list[str]
    """Kinds of all atoms in a prompt, sorted: adjective, negation, noun, number, spatial, temporal, verb."""
    example: str
    published: tuple[float, ...] | None
    """Exact match in percent of the paper's five text encoders; None where the table cannot be read."""


def _read(row: dict[str, str]) -> PromptType:
    kinds = sorted(["noun"] * int(row["nouns"]) + row["attributes"].split())
    scores = list(row.values())[5:]
    published = tuple(map(float, scores)) if all(scores) else None
    return PromptType(int(row["prompts"]), kinds, row["example"], published)


with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as _file:
    PROMPT_TYPES = {row["config"]: _read(row) for row in csv.DictReader(_file)}
"""Config -> prompt type, in the order of the tables. Configs that a user adds in params.yaml are not included."""


def is_table_3(config: str) -> bool:
    """True for the multiples and negations of Table 3, which Table 1's average excludes."""
    return config.startswith(("multiples_", "negation_"))
