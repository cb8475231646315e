"""The training corpora of CREPE's systematicity splits, and the names of the configs built from a corpus."""

from __future__ import annotations

import re
from typing import NamedTuple

CORPORA = {"cc12m": "CC-12M", "yfcc": "YFCC-15M", "laion": "LAION-400M"}
"""Name in configs -> display name, in the order of the paper. params.yaml may name further corpora."""

CREPE_DATASETS = ("crepe", "crepe_published")
"""The generated dataset, and the one imported from the authors' files. Both name their configs in the same way."""

_CONFIG = re.compile(r"(?!prod_)(?P<corpus>.+)_(?P<split>sc|uc|ua)_(?P<kind>hnatom|hncomp|hnall|raw)")


class SystematicityConfig(NamedTuple):
    """The parts of a config's name such as ``laion_uc_hnatom``."""

    corpus: str
    split: str
    """``sc``, ``uc`` or ``ua``."""
    kind: str
    """``hnatom``, ``hncomp``, ``hnall`` or ``raw``."""


def parse_systematicity(config: str) -> SystematicityConfig | None:
    """Return the parts of a systematicity config of CREPE. Returns None for other configs."""
    match = _CONFIG.fullmatch(config)
    return SystematicityConfig(**match.groupdict()) if match else None
