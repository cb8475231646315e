"""Count flaws of hard-negative sets that can be found in the texts alone, without the images.

Each flaw occurs in a published set: CREPE's productivity files (arXiv:2212.07796), ARO's shuffles or NegCLIP's
negatives (arXiv:2210.01936). What counts as a word is defined in base/texts.py.

The audit also measures cues. A cue is a simple text-only baseline: it selects a caption by one property of the texts. A
model can exploit a cue that selects the correct caption more often than chance.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from compeval.base.schemas.texts import Texts
from compeval.base.storage import parquet
from compeval.base.text_only.cues import CUES, NEGATION, has_final_stop
from compeval.base.texts import fold_case_and_space, have_same_words, words
from compeval.loaders.datasets.stats import parquet_files, read_stats, split_name

SWAP_CONFIGS = re.compile(
    r"hnswap$|^swap_|_swap$|^vg_(relation|attribution)$|_order$|^negclip(_\d+)?$"
)
"""Configs without a column ``foils`` whose negatives are swaps or shuffles of the caption's words."""


def _introduces(pattern: str) -> Callable[[str, str], bool]:
    """Return a test for a flaw: the negative matches ``pattern`` and the caption does not."""
    matches = re.compile(pattern).search
    return lambda caption, negative: matches(negative) is not None and matches(caption) is None


Flaws = dict[str, Callable[[str, str], bool]]
"""Test of each flaw, called with a caption and a negative."""

FLAWS_OF_ROWS: Flaws = {
    "truth": lambda caption, negative: negative == caption,
    "case": lambda caption, negative: (
        negative != caption and fold_case_and_space(negative) == fold_case_and_space(caption)
    ),
    "final stop": lambda caption, negative: has_final_stop(caption) != has_final_stop(negative),
    "caption space": lambda caption, negative: (
        caption != caption.strip() and negative == negative.strip()
    ),
}
"""Counted once per row. ``truth``: a negative equals the caption. ``case``: they differ only in case or white space.
``final stop``: only one of them ends with a full stop. ``caption space``: only the caption begins or ends with a space.
"""

FLAWS_OF_SWAPS: Flaws = {
    "same order": lambda caption, negative: words(negative) == words(caption),
    "words": lambda caption, negative: not have_same_words(negative, caption),
}
"""Counted per swap or shuffle. ``same order``: the words have the caption's order. ``words``: the words differ."""

FLAWS_OF_NEGATIVES: Flaws = {
    "capital": lambda caption, negative: negative[:1].isupper() and caption[:1].islower(),
    "lower case": lambda caption, negative: negative[:1].islower() and caption[:1].isupper(),
    "double space": _introduces(r"\s\s"),
    "space .": _introduces(r"\s\."),
    "outer space": lambda caption, negative: (
        negative != negative.strip() and caption == caption.strip()
    ),
    "empty": lambda caption, negative: not negative.strip(),
}
"""Counted per negative: it is empty, or differs in case and spacing, which identifies it without reading the text."""

DUPLICATED = "duplicated"
"""Two negatives differ only in case or white space. Counted once per row."""
UNORDERED = "unordered"
"""The negatives are stored as a set. Counted once per row."""
ROW_FLAW_NAMES = (*FLAWS_OF_ROWS, DUPLICATED, UNORDERED)
FLAW_NAMES = (*ROW_FLAW_NAMES, *FLAWS_OF_SWAPS, *FLAWS_OF_NEGATIVES)
DESCRIPTIONS = {
    "truth": "rows have the caption among their negatives",
    "case": "rows have a negative that is the caption in other case, spacing or Unicode form",
    "final stop": "rows have a final full stop in only one of caption and negative",
    "caption space": "rows have a caption that begins or ends with a space, and a negative that does not",
    DUPLICATED: "rows have two equal negatives",
    UNORDERED: "rows store their negatives as a set, without order",
    "same order": "swaps have the words in the caption's order",
    "words": "swaps have other words than the caption",
    "capital": "negatives begin with a capital, their caption does not",
    "lower case": "negatives begin in lower case, their caption does not",
    "double space": "negatives have a double space, their caption has none",
    "space .": "negatives have a space before a full stop, their caption has none",
    "outer space": "negatives begin or end with a space, their caption does not",
    "empty": "negatives are empty",
}
CUE_MARGIN = 0.05
"""Smallest difference from chance, as a share of rows, at which a cue is a finding."""


def count_flaws(row: Texts) -> Counter[str]:
    """Return for each flaw the number of negatives that have it, or 1 if the flaw is counted per row."""
    counts = Counter[str]()
    for negative, swap in zip(row.hard_negatives, row.swaps, strict=True):
        for name, has_flaw in (
            FLAWS_OF_NEGATIVES | FLAWS_OF_SWAPS if swap else FLAWS_OF_NEGATIVES
        ).items():
            counts[name] += has_flaw(row.caption, negative)
    for name, has_flaw in FLAWS_OF_ROWS.items():
        counts[name] = any(has_flaw(row.caption, negative) for negative in row.hard_negatives)
    counts[DUPLICATED] = len(set(map(fold_case_and_space, row.hard_negatives))) < len(
        row.hard_negatives
    )
    counts[UNORDERED] = row.unordered
    return +counts


@dataclass(frozen=True)
class Audit:
    """Counts of flaws, and success of cues, in a split."""

    rows: int
    negatives: int
    flaws: Mapping[str, int]
    """Number of rows or negatives with each flaw, including zeros."""
    negated: int
    """Number of negatives with a negation word whose caption has no negation word."""
    cues: Mapping[str, float]
    """Share of rows for which each cue selects the correct caption. A tie of k texts counts as 1/k."""
    chance: float

    @property
    def findings(self) -> list[str]:
        """One line per flaw that occurs, and per cue that selects the correct caption more often than chance."""
        negated = f", and {self.negated:,} negatives add one" if self.negated else ""
        cues = [
            f"{cue} selects the caption in {share:.1%} of rows"
            + (negated if cue == "no negation word" else "")
            for cue, share in self.cues.items()
            if self._is_above_chance(share)
        ]
        return self.flaws_found + cues

    @property
    def flaws_found(self) -> list[str]:
        """One line per flaw that occurs."""
        return [f"{count:,} {DESCRIPTIONS[name]}" for name, count in self.flaws.items() if count]

    @property
    def verdict(self) -> str:
        has_cues = any(map(self._is_above_chance, self.cues.values()))
        names = [
            name
            for name, is_found in (("flaws", any(self.flaws.values())), ("cues", has_cues))
            if is_found
        ]
        return " and ".join(names) or "clean"

    def _is_above_chance(self, share: float) -> bool:
        """Return True if a share is higher than chance by more than CUE_MARGIN and by three standard errors."""
        error = math.sqrt(self.chance * (1 - self.chance) / self.rows)
        return share > self.chance + max(CUE_MARGIN, 3 * error)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"verdict": self.verdict, "findings": self.findings}

    def to_records(self) -> Iterator[dict[str, Any]]:
        """Yield one record per flaw and per cue, for CSV."""
        sizes = {"rows": self.rows, "negatives": self.negatives, "chance": self.chance}
        for name, count in self.flaws.items():
            yield {**sizes, "kind": "flaw", "name": name, "value": count}
        yield {**sizes, "kind": "flaw", "name": "negated", "value": self.negated}
        for name, share in self.cues.items():
            yield {**sizes, "kind": "cue", "name": name, "value": share}


def audit(rows: Iterable[Texts]) -> Audit:
    """Count the flaws and measure the cues of all rows. Raises ValueError if there are no rows."""
    total = Counter[str]()
    flaws = Counter[str]()
    selected = defaultdict[str, float](float)
    chance = 0.0
    for row in rows:
        total += Counter(rows=1, negatives=len(row.hard_negatives))
        flaws += count_flaws(row)
        candidates = (row.caption, *row.hard_negatives)
        chance += 1 / len(candidates)
        words_of_texts = [words(text) for text in candidates]
        cues = {name: list(map(cue, candidates, words_of_texts)) for name, cue in CUES.items()}
        for name, values in cues.items():
            selected[name] += (values[0] == min(values)) / values.count(min(values))
        is_negated = cues[NEGATION]
        if not is_negated[0]:
            total["negated"] += sum(is_negated)
    if not total["rows"]:
        raise ValueError("Nothing to audit: no row has hard negatives.")
    return Audit(
        total["rows"],
        total["negatives"],
        {name: flaws[name] for name in FLAW_NAMES},
        total["negated"],
        {name: selected[name] / total["rows"] for name in CUES},
        chance / total["rows"],
    )


def audit_dataset(folder: Path) -> dict[str, Audit]:
    """Return the audit of every split with hard negatives in a dataset folder, by ``config/split``.

    The foils of a row say which negatives are swaps. For rows without foils, the config's name decides. Raises
    ValueError if no split has hard negatives.
    """
    unordered = Counter[str]()
    for entry in read_stats(folder).get("imported", {}).values():
        unordered.update(entry["unordered"])
    audits = {name: audit(rows) for name, rows in read_splits(folder).items()}
    return {
        name: replace(split, flaws={**split.flaws, UNORDERED: unordered[name]})
        for name, split in audits.items()
    }


def read_splits(folder: Path) -> dict[str, Iterator[Texts]]:
    """Return the texts of every split with hard negatives, by ``config/split``.

    Raises ValueError if no split has hard negatives.
    """
    files: dict[str, list[Path]] = {}
    for path in parquet_files(folder):
        if "hard_negatives" in parquet.read_schema(path).names:
            files.setdefault(f"{path.parent.name}/{split_name(path)}", []).append(path)
    if not files:
        raise ValueError(f"{folder}: no split has hard negatives to audit.")
    return {name: chain.from_iterable(map(read_texts, paths)) for name, paths in files.items()}


def read_texts(path: Path) -> Iterator[Texts]:
    """Yield the texts of all rows of a parquet file of a dataset."""
    is_swap_config = SWAP_CONFIGS.search(path.parent.name) is not None
    columns = [
        name
        for name in parquet.read_schema(path).names
        if name in ("caption", "hard_negatives", "foils")
    ]
    for batch in parquet.read_filled(path, columns=columns):
        for row in batch.to_pylist():
            foils = row.get("foils") or [[] for _ in row["hard_negatives"]]
            swaps = [
                any(edit["type"] == "swap" for edit in foil) if foil else is_swap_config
                for foil in foils
            ]
            yield Texts(row["caption"], row["hard_negatives"], swaps)
