"""Read the numbers that the papers publish about each benchmark: counts, set sizes and scores.

They are in the YAML files of this folder.
"""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from compeval.base.schemas.corpus_names import get_kind


@cache
def figures(benchmark: str) -> dict[str, Any]:
    """Return the published numbers of ``crepe``, ``aro``, ``retrieval``, ``compun``, ``compprompts`` or
    ``controlledimcaps``."""
    return yaml.safe_load((Path(__file__).parent / f"{benchmark}.yaml").read_text(encoding="utf-8"))


def retrieval_set_size(config: str) -> int | None:
    """Return the number of captions per image in a hard-negative config of CREPE (arXiv:2212.07796, Table 6).

    Returns None for a raw config.
    """
    return figures("crepe")["retrieval_set_size"].get(get_kind(config))
