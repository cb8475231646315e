"""Prompt types of CompPrompts, read from prompt_types.csv.

Source: Kamath, Hessel and Chang 2023 (arXiv:2305.14897), section 2.1, Tables 2 and 3. The tables have 36 non-empty
cells. Each cell is a prompt type with 300 to 500 prompts; the total is 18,100. The paper does not say which cells have
fewer than 500 prompts. In this project, ``obj1`` and ``multiples_obj1`` have 300 prompts each. Two other cells have two
examples each; each of these cells is split into two configs of 375 prompts, which have the same published scores.
"""

import csv
from pathlib import Path
from typing import NamedTuple

TOTAL_PROMPTS = 18_100
TEXT_ENCODERS = (
    "CLIP ViT-B/32",
    "CLIP ViT-L/14",
    "negCLIP ViT-B/32",
    "RoBERTa-CLIP ViT-B/32",
    "SBERT",
)
"""The paper's text encoders, whose scores are columns of prompt_types.csv."""


class PromptType(NamedTuple):
    """A cell of Tables 2 and 3, or half of a cell that has two examples."""

    num_prompts: int
    atom_types: list[str]
    """Types of all atoms in a prompt, sorted: adjective, negation, noun, number, spatial, temporal, verb."""
    example: str
    published_scores: tuple[float, ...] | None
    """Percentage of exactly recovered prompts for each of TEXT_ENCODERS; None if the table is illegible."""


def _parse_row(row: dict[str, str]) -> PromptType:
    atom_types = sorted(["noun"] * int(row["nouns"]) + row["attributes"].split())
    scores = [row[encoder] for encoder in TEXT_ENCODERS]
    published_scores = tuple(map(float, scores)) if all(scores) else None
    return PromptType(int(row["prompts"]), atom_types, row["example"], published_scores)


with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as _file:
    PROMPT_TYPES = {row["config"]: _parse_row(row) for row in csv.DictReader(_file)}
"""Prompt type of each config, in the order of the tables. Configs that a user adds in params.yaml are not included."""


def is_in_table_3(config: str) -> bool:
    """Return True for the prompt types of Table 3 (numbers of objects, negations), which Table 1 does not average."""
    return config.startswith(("multiples_", "negation_"))
