"""Protocols: pure functions on score arrays, and which rows they are for.

One file a protocol; nothing else names them. A tie with a wrong candidate is a loss, a score that is not a finite
number is an error, chance is computed.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules

from evaluators.protocols.base import Protocol


@lru_cache(maxsize=1)
def all_protocols() -> tuple[Protocol, ...]:
    """Every protocol of this package, those with most columns first."""
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    found = [protocol for module in modules for protocol in getattr(module, "PROTOCOLS", ())]
    return tuple(sorted(found, key=lambda protocol: -len(protocol.columns)))


def is_for(columns: Collection[str]) -> bool:
    """Whether there is a protocol for rows with these columns."""
    return any(_fits(protocol, columns) for protocol in all_protocols())


def find(columns: Collection[str]) -> Protocol:
    """The protocol whose columns are there, of several the one with most. ValueError if there is none."""
    for protocol in all_protocols():
        if _fits(protocol, columns):
            return protocol
    needed = "; ".join(f"{protocol.name}: {', '.join(protocol.columns)}" for protocol in all_protocols())
    raise ValueError(f"No protocol is for rows with the columns {', '.join(columns)}. Needed are, for {needed}.")


def _fits(protocol: Protocol, columns: Collection[str]) -> bool:
    held = {column.removesuffix("_path") for column in columns}
    return set(protocol.columns) <= set(columns) and set(protocol.images) <= held
