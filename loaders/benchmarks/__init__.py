"""The published benchmarks, one module each, which declares ``BENCHMARK``.

The name of the module is the name of the benchmark, of its dataset folder and of its results. Modules are found by their
names. docs/add-a-benchmark.md describes how to add one.
"""

from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from compeval.base.sources import DataSource, read_registry
from compeval.loaders.datasets.folders import unknown_name
from compeval.loaders.published import Benchmark

OTHER_MODULES = ("photograph_pairs",)
"""Modules that are commands. The versioned data name their paths."""


def list_names() -> list[str]:
    """Return the names of all published benchmarks, sorted, without importing them."""
    return sorted(
        module.name for module in iter_modules(__path__) if module.name not in OTHER_MODULES
    )


@cache
def load(name: str) -> Benchmark:
    """Return the declaration of a benchmark. Raises KeyError if there is none."""
    if name not in list_names():
        raise KeyError(name)
    declared = import_module(f"{__name__}.{name}").BENCHMARK
    return replace(declared, name=name, source=replace(declared.source, name=name))


def find(name: str) -> Benchmark:
    """Return the declaration of a benchmark. Raises ValueError, with similar names, if there is none."""
    if name not in list_names():
        raise unknown_name("benchmark", name, list_names())
    return load(name)


def load_all() -> list[Benchmark]:
    """Return the declarations of all published benchmarks, sorted by name."""
    return [load(name) for name in list_names()]


def read_sources() -> dict[str, DataSource]:
    """Return name -> source of all data sources: those of registry.yaml, then those of the benchmarks."""
    return read_registry() | {benchmark.name: benchmark.source for benchmark in load_all()}
