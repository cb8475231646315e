"""The names of CREPE's configs, and the training corpora of its systematicity splits."""

from __future__ import annotations

import re
from typing import NamedTuple

CORPORA = {"cc12m": "CC-12M", "yfcc": "YFCC-15M", "laion": "LAION-400M"}
"""Name in configs -> display name, in the order of the paper. params.yaml may name further corpora."""

CREPE_DATASETS = ("crepe", "crepe_published")
"""The generated dataset, and the one imported from the authors' files. Both name their configs in the same way."""

_CONFIG = re.compile(
    r"(?!prod_)(?P<corpus>.+)_(?P<split>sc|uc|ua)_(?P<kind>hn(?:atom|comp)(?:_balanced)?|hnall|raw)"
)

_PRODUCTIVITY = re.compile(
    r"prod_(?:(?P<variant>(?!hn)[a-z]+)_)?(?P<kind>raw|hn(?:atom|swap|neg|all)(?:_balanced)?)"
)


_KIND = re.compile(r"(?:.+_)?(?P<kind>hn(?:atom|comp)(?:_balanced)?|hnall|raw)")


def get_kind(config: str) -> str:
    """Return the kind of a systematicity config (``hnatom`` of ``laion_uc_hnatom``), and other names as they are."""
    match = None if config.startswith("prod_") else _KIND.fullmatch(config)
    return match["kind"] if match else config


class SystematicityConfig(NamedTuple):
    """The parts of a config's name such as ``laion_uc_hnatom``."""

    corpus: str
    split: str
    """``sc``, ``uc`` or ``ua``."""
    kind: str
    """``hnatom``, ``hncomp``, ``hnall``, ``hnatom_balanced``, ``hncomp_balanced`` or ``raw``."""


def parse_systematicity(config: str) -> SystematicityConfig | None:
    """Return the parts of a systematicity config of CREPE. Returns None for other configs."""
    match = _CONFIG.fullmatch(config)
    return SystematicityConfig(**match.groupdict()) if match else None


class ProductivityConfig(NamedTuple):
    """The parts of a config's name such as ``prod_hnatom`` or ``prod_llm_hnatom``."""

    variant: str | None
    """A variant with other captions, or None."""
    kind: str
    """``hnatom``, ``hnswap``, ``hnneg``, ``hnall``, ``hnatom_balanced`` ..., or ``raw``."""

    @property
    def name(self) -> str:
        return f"prod_{self.variant}_{self.kind}" if self.variant else f"prod_{self.kind}"


def parse_productivity(config: str) -> ProductivityConfig | None:
    """Return the parts of a productivity config of CREPE. Returns None for other configs."""
    match = _PRODUCTIVITY.fullmatch(config)
    return ProductivityConfig(**match.groupdict()) if match else None


def name_productivity_funnel(variant: str | None, split: str) -> str:
    """Return the name, in the statistics of CREPE, of the counts of what a split of productivity dropped."""
    return (
        f"Productivity {variant}, {split}: dropped"
        if variant
        else f"Productivity, {split}: dropped"
    )
