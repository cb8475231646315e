"""Figures that the papers publish about each benchmark (counts, set sizes, scores), from this folder's YAML files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def figures(benchmark: str) -> dict[str, Any]:
    """The figures of ``crepe``, ``aro``, ``retrieval``, ``compun``, ``controlledimcaps`` or ``winoground``."""
    return yaml.safe_load((Path(__file__).parent / f"{benchmark}.yaml").read_text())


def retrieval_set_size(config: str) -> int | None:
    """Captions per image of a hard-negative config of CREPE (arXiv:2212.07796, Table 6), None for a raw config."""
    name = config if config.startswith("prod_") else config.rsplit("_", 1)[-1]
    return figures("crepe")["retrieval_set_size"].get(name)
