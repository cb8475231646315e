"""Measure if vision-language models understand composition.

compeval.load_dataset("crepe", "laion_uc_hnatom")
compeval.evaluate(model, preprocess, tokenizer, ["crepe/prod_hnatom/n4"])
compeval.example_captions(["lab coat", "rain coat"])
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluators.in_process import evaluate
    from generators.captioner.example_captions import example_captions
    from loaders.datasets.folders import list_datasets
    from loaders.datasets.load import load_dataset
    from loaders.datasets.stats import list_configs

    __version__: str

__all__ = ["__version__", "evaluate", "example_captions", "list_configs", "list_datasets", "load_dataset"]

_MODULE_OF = {
    "evaluate": "evaluators.in_process",
    "example_captions": "generators.captioner.example_captions",
    "list_configs": "loaders.datasets.stats",
    "list_datasets": "loaders.datasets.folders",
    "load_dataset": "loaders.datasets.load",
}


def _check_package_names() -> None:
    """Raise ImportError if another project's package has the same name as one of our packages.

    PyPI has packages named ``generators`` and ``evaluators``. Without this check, the package that was installed last
    would be imported silently.
    """
    root = Path(__file__).resolve().parent.parent
    for name in ("generators", "loaders", "evaluators", "trainers"):
        file = import_module(name).__file__
        if file is None or Path(file).resolve().parent != root / name:
            raise ImportError(
                f"The package {name!r} comes from {file}, not from CompEval in {root}. Another project has a "
                "package of this name. Install CompEval into a new environment (python -m venv)."
            )


_check_package_names()


def __getattr__(name: str) -> Any:
    # The modules import heavy libraries (torch, datasets), so they are imported at the first use.
    if name == "__version__":
        return version("compeval")
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module 'compeval' has no attribute {name!r}")
