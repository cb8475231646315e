"""Protocols: pure functions from score arrays to metrics.

One file per protocol, discovered by its ``PROTOCOLS`` tuple; the columns of a parquet file select the protocol. A tie
with a wrong candidate is a loss, a score that is not finite is an error, chance is computed.
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
    protocols = [protocol for module in modules for protocol in getattr(module, "PROTOCOLS", ())]
    return tuple(sorted(protocols, key=lambda protocol: -len(protocol.columns)))


def match(columns: Collection[str]) -> Protocol | None:
    """The protocol that needs most of these columns; None if there is no protocol for them."""
    images = {column.removesuffix("_path") for column in columns}
    fitting = (one for one in all_protocols() if {*one.columns} <= {*columns} and {*one.images} <= images)
    return next(fitting, None)


def find(columns: Collection[str]) -> Protocol:
    """The protocol that needs most of these columns. ValueError if there is no protocol for them."""
    protocol = match(columns)
    if protocol is None:
        known = "; ".join(f"{one.name}: {', '.join(one.columns)}" for one in all_protocols())
        raise ValueError(f"No protocol for rows with the columns {', '.join(columns)}. Columns needed for {known}.")
    return protocol
