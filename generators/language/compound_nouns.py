"""Compound nouns: their surface form, and their two constituents by dictionary.

    python -m generators.language.compound_nouns NOUNS.txt  # proposes lines of sample/words/compun.csv, to be read
    through

Source: Kumar et al. 2024 (Compun), appendix A.3: open or spaced, hyphenated, closed or solid.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable
from pathlib import Path

from generators.language import wordnet
from generators.storage import stage

SHORTEST = 3
"""Letters of the shortest constituent looked for in a closed compound: "ear", "car", "pea"."""


def surface_form(compound: str) -> str:
    """``open`` (steam train), ``hyphenated`` (six-pack) or ``closed`` (raincoat)."""
    return "open" if " " in compound else "hyphenated" if "-" in compound else "closed"


def splits(compound: str, is_noun: Callable[[str], bool]) -> list[tuple[str, str]]:
    """The ways to cut a compound in two, lower-case, the likeliest first; empty where there is none.

    An open or hyphenated compound is cut where it is written apart, before its last word where it has more than two. A
    closed one is cut where both parts are nouns and the first is no plural (not "lips + tick"); of several cuts the one
    with the longer shortest part is likelier.
    """
    words = re.split(r"[ -]", compound.lower())
    if len(words) > 1:
        return [(" ".join(words[:-1]), words[-1])]
    name = compound.lower()
    cuts = [(name[:place], name[place:]) for place in range(SHORTEST, len(name) - SHORTEST + 1)]
    found = [cut for cut in cuts if all(map(is_noun, cut)) and not _is_plural(cut[0], is_noun)]
    return sorted(found, key=lambda cut: -min(map(len, cut)))


def _is_plural(word: str, is_noun: Callable[[str], bool]) -> bool:
    return word.endswith("s") and is_noun(word[:-1])


def main(nouns: Path) -> None:
    """Print each compound of the file, one a line, with its likeliest constituents and its form, as CSV."""
    lines = csv.writer(sys.stdout, lineterminator="\n")
    lines.writerow(["compound", "n1", "n2", "form"])
    for compound in filter(None, map(str.strip, nouns.read_text(encoding="utf-8").splitlines())):
        parts = next(iter(splits(compound, wordnet.is_entry)), ("", ""))
        lines.writerow([compound, *parts, surface_form(compound)])


if __name__ == "__main__":
    stage.run(main)
