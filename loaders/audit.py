"""The flaws of a hard-negative set that its texts alone show.

Each flaw is one that was found in a published set: CREPE's productivity files (arXiv:2212.07796), ARO's shuffles and
NegCLIP's negatives (arXiv:2210.01936). generators/language/texts.py says what a word is.

Beside the flaws stand the cues: how often a rule that sees no image picks the truth, which is no flaw of a single row.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from generators.language.texts import fold_case_and_space, same_words, words
from generators.storage import parquet
from loaders import read_stats
from loaders.cards.card import parquet_files, split_name

NEGATIONS = frozenset(
    {"no", "not", "never", "none", "nothing", "nobody", "nowhere", "neither", "nor", "without", "cannot"}
)
NEGATED_VERB = re.compile(r"n['’]t\b", re.IGNORECASE)
SWAPPED = re.compile(r"hnswap$|^swap_|^vg_(relation|attribution)$|_order$|^negclip$")
"""Configs whose negatives are swaps or shuffles of the caption's words, though no foils say so."""
DOUBLE_SPACE, SPACE_BEFORE_PERIOD = re.compile(r"\s\s"), re.compile(r"\s\.")


class Texts(NamedTuple):
    """What the audit reads of a row."""

    caption: str
    hard_negatives: Sequence[str]
    swaps: Sequence[bool]
    """Of each negative, whether it is meant to have the caption's own words in another order."""
    unordered: bool = False
    """Whether the file holds the negatives as a set, so that their order is nobody's."""


def is_truth(caption: str, negative: str) -> bool:
    """The negative is the caption, character for character."""
    return negative == caption


def is_caption_but_for_case(caption: str, negative: str) -> bool:
    """The negative is not the caption, but differs from it in case and white space only."""
    return negative != caption and fold_case_and_space(negative) == fold_case_and_space(caption)


def is_capitalised(caption: str, negative: str) -> bool:
    """The negative begins with a capital, the caption with a small letter: seen by every cased tokenizer."""
    return negative[:1].isupper() and caption[:1].islower()


def is_lower_cased(caption: str, negative: str) -> bool:
    """The negative begins with a small letter, the caption with a capital."""
    return negative[:1].islower() and caption[:1].isupper()


def has_double_space(caption: str, negative: str) -> bool:
    """Two white-space characters in a row, which the caption has nowhere."""
    return _only(DOUBLE_SPACE, negative, caption)


def has_space_before_period(caption: str, negative: str) -> bool:
    """White space before a full stop, which the caption has nowhere: left by a tokenizer or by a removed word."""
    return _only(SPACE_BEFORE_PERIOD, negative, caption)


def has_outer_space(caption: str, negative: str) -> bool:
    """White space at the beginning or end, where the caption has none."""
    return negative != negative.strip() and caption == caption.strip()


def keeps_the_order(caption: str, negative: str) -> bool:
    """A swap or shuffle that says the caption's words in the caption's order; case and punctuation do not count."""
    return words(negative) == words(caption)


def changes_words(caption: str, negative: str) -> bool:
    """A swap or shuffle whose words, each as often as it stands there, are not the caption's."""
    return not same_words(negative, caption)


def _only(pattern: re.Pattern[str], negative: str, caption: str) -> bool:
    return pattern.search(negative) is not None and pattern.search(caption) is None


class Flaw(NamedTuple):
    name: str
    unit: Literal["rows", "negatives"]
    """What a count is of: rows that have it, or negatives."""
    of: Callable[[str, str], bool]
    """Whether a (caption, negative) has it."""
    swaps_only: bool = False


FLAWS = (
    Flaw("truth", "rows", is_truth),
    Flaw("case", "rows", is_caption_but_for_case),
    Flaw("same order", "negatives", keeps_the_order, swaps_only=True),
    Flaw("words", "negatives", changes_words, swaps_only=True),
    Flaw("capital", "negatives", is_capitalised),
    Flaw("lower case", "negatives", is_lower_cased),
    Flaw("double space", "negatives", has_double_space),
    Flaw("space .", "negatives", has_space_before_period),
    Flaw("outer space", "negatives", has_outer_space),
)
DUPLICATED, UNORDERED = "duplicated", "unordered"
"""Flaws of whole rows: two negatives that differ in case and white space only; negatives held as a set."""
OF_ROWS = (*(flaw.name for flaw in FLAWS if flaw.unit == "rows"), DUPLICATED, UNORDERED)
NAMES = (*OF_ROWS, *(flaw.name for flaw in FLAWS if flaw.unit == "negatives"))


def flaws_of(row: Texts) -> Counter[str]:
    """Flaw -> how many of the row's negatives have it, or 1 for a flaw of rows."""
    found = Counter[str]()
    for flaw in FLAWS:
        count = sum(
            flaw.of(row.caption, negative)
            for negative, swap in zip(row.hard_negatives, row.swaps, strict=True)
            if swap or not flaw.swaps_only
        )
        found[flaw.name] = min(count, 1) if flaw.unit == "rows" else count
    distinct = set(map(fold_case_and_space, row.hard_negatives))
    found[DUPLICATED] = len(distinct) < len(row.hard_negatives)
    found[UNORDERED] = row.unordered
    return +found


def has_negation(text: str) -> bool:
    """Whether the text has a word that denies something."""
    return not NEGATIONS.isdisjoint(words(text)) or NEGATED_VERB.search(text) is not None


CUES: Mapping[str, Callable[[str], int]] = {
    "no negation word": has_negation,
    "fewest words": lambda text: len(words(text)),
    "most words": lambda text: -len(words(text)),
}
"""Rules that pick the candidate with the smallest value, one at random where several have it."""


@dataclass(frozen=True)
class Audit:
    """What a split's texts show."""

    rows: int
    negatives: int
    flaws: Mapping[str, int]
    """Flaw -> rows or negatives that have it, none left out."""
    negated: int
    """Negatives with a negation word beside a caption without one."""
    cues: Mapping[str, float]
    """Cue -> the share of rows whose truth it picks, ties shared out."""
    chance: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def audit(rows: Iterable[Texts]) -> Audit:
    """Count every flaw and measure every cue of some rows. ValueError if there are none."""
    total, flaws = Counter[str](), Counter[str]()
    picked, chance = defaultdict[str, float](float), 0.0
    for row in rows:
        total += Counter(rows=1, negatives=len(row.hard_negatives))
        flaws += flaws_of(row)
        if not has_negation(row.caption):
            total["negated"] += sum(map(has_negation, row.hard_negatives))
        candidates = (row.caption, *row.hard_negatives)
        chance += 1 / len(candidates)
        for name, value in CUES.items():
            values = [value(text) for text in candidates]
            picked[name] += (values[0] == min(values)) / values.count(min(values))
    if not total["rows"]:
        raise ValueError("Nothing to audit: no row has hard negatives.")
    return Audit(
        total["rows"],
        total["negatives"],
        {name: flaws[name] for name in NAMES},
        total["negated"],
        {name: picked[name] / total["rows"] for name in CUES},
        chance / total["rows"],
    )


def audit_dataset(folder: Path) -> dict[str, Audit]:
    """``config/split`` -> audit, for every split of a dataset folder whose rows have hard negatives.

    A negative is a swap by its foils; where a set has none, by its config's name. ValueError if no split has negatives.
    """
    imported = read_stats(folder).get("imported", {}).values()
    unordered = Counter[str]()
    for entry in imported:
        unordered.update(entry["unordered"])
    files: dict[str, list[Path]] = {}
    for path in parquet_files(folder):
        if "hard_negatives" in parquet.read_schema(path).names:
            files.setdefault(f"{path.parent.name}/{split_name(path)}", []).append(path)
    if not files:
        raise ValueError(f"{folder}: no split has hard negatives to audit.")
    return {name: _of_files(name, paths, unordered[name]) for name, paths in files.items()}


def _of_files(name: str, paths: Sequence[Path], unordered: int) -> Audit:
    found = audit(row for path in paths for row in _texts(path, SWAPPED.search(name.split("/")[0]) is not None))
    return replace(found, flaws={**found.flaws, UNORDERED: unordered})


def _texts(path: Path, swaps: bool) -> Iterator[Texts]:
    columns = [name for name in parquet.read_schema(path).names if name in ("caption", "hard_negatives", "foils")]
    for block in parquet.batches(path, columns=columns):
        for row in block.to_pylist():
            foils = row.get("foils") or [[] for _ in row["hard_negatives"]]
            types = [any(foil["type"] == "swap" for foil in of_one) if of_one else swaps for of_one in foils]
            yield Texts(row["caption"], row["hard_negatives"], types)
