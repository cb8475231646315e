"""Loops that PyTorch has no operation for, compiled by numba and kept for the next process."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pickle import UnpicklingError
from typing import Any

from numba.core.caching import NullCache


def prepare(signatures: Mapping[Any, str]) -> None:
    """Compile functions for their signatures, or read what an earlier process compiled and kept beside their file or in
    the user's cache. Where neither can be written, the disk is full or what was kept is damaged or cannot be read, they
    are compiled all the same."""
    for function, signature in signatures.items():
        with suppress(RuntimeError):
            function.enable_caching()
        try:
            _compile(function, signature)
        except (UnpicklingError, EOFError):
            function.recompile()  # forgets what was kept
            _compile(function, signature)
        if not function.signatures:
            function._cache = NullCache()  # numba has no public way to stop asking for what was kept
            function.compile(signature)


def _compile(function: Any, signature: str) -> None:
    with suppress(OSError):
        function.compile(signature)
