"""Natural order of names: numbers are compared by value, so ``n4`` comes before ``n10``."""

import re
from collections.abc import Mapping
from typing import Any


def natural_key(name: object) -> list[tuple[str, int]]:
    """Return the key for sorting names in natural order: pairs of a text and the number after it."""
    return [(text, int(digits or -1)) for text, digits in re.findall(r"(\D*)(\d*)", str(name))]


def sort_rows(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return configs, and the splits of each config, in natural order."""
    return {
        config: {split: rows[config][split] for split in sorted(rows[config], key=natural_key)}
        for config in sorted(rows, key=natural_key)
    }
