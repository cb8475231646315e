"""Evaluation protocols: pure functions that compute metrics from arrays of scores.

Every module of this package with a tuple ``PROTOCOLS`` is a protocol. The columns of a parquet file determine its
protocol. A tie with a wrong candidate counts as a loss. A score that is not finite raises ValueError. Every protocol
computes the chance level of its metrics.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from importlib import import_module
from operator import attrgetter
from pkgutil import iter_modules

from compeval.evaluators.protocols.base import Protocol


@lru_cache(maxsize=1)
def all_protocols() -> tuple[Protocol, ...]:
    """Return all protocols of this package, sorted by decreasing number of columns."""
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    protocols = [protocol for module in modules for protocol in getattr(module, "PROTOCOLS", ())]
    return tuple(sorted(protocols, key=attrgetter("num_columns"), reverse=True))


def match_protocol(columns: Collection[str]) -> Protocol | None:
    """Return the protocol that uses most of the columns. Returns None if no protocol fits."""
    images = {column.removesuffix("_path") for column in columns}
    for protocol in all_protocols():
        if {*protocol.columns} <= {*columns} and {*protocol.images} <= images:
            return protocol
    return None


def find_protocol(columns: Collection[str]) -> Protocol:
    """Return the protocol that uses most of the columns. Raises ValueError if no protocol fits."""
    protocol = match_protocol(columns)
    if protocol is None:
        columns_by_protocol = "; ".join(
            f"{other.name}: {', '.join(other.columns)}" for other in all_protocols()
        )
        raise ValueError(
            f"No protocol for rows with the columns {', '.join(columns)}. Required columns: {columns_by_protocol}."
        )
    return protocol
