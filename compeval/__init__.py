"""Do vision-language models understand composition?

compeval.load_dataset("crepe", "laion_uc_hnatom")
compeval.evaluate(model, preprocess, tokenizer, ["crepe/prod_hnatom/n4"])
compeval.example_captions(["lab coat", "rain coat"])
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluators.run import evaluate
    from generators.captioner.example_captions import example_captions
    from loaders.datasets.folders import list_datasets
    from loaders.datasets.load import load_dataset
    from loaders.datasets.stats import list_configs

__all__ = ["evaluate", "example_captions", "list_configs", "list_datasets", "load_dataset"]

_HOME = {
    "evaluate": "evaluators.run",
    "example_captions": "generators.captioner.example_captions",
    "list_configs": "loaders.datasets.stats",
    "list_datasets": "loaders.datasets.folders",
    "load_dataset": "loaders.datasets.load",
}


def _check_siblings() -> None:
    """ImportError where a package of another project goes by the name of one of ours.

    ``generators`` and ``evaluators`` exist on PyPI, too; whichever was installed last would win silently.
    """
    root = Path(__file__).resolve().parent.parent
    for name in ("generators", "loaders", "evaluators", "trainers"):
        found = import_module(name).__file__
        if found is None or Path(found).resolve().parent != root / name:
            raise ImportError(
                f"The package {name!r} comes from {found}, not from CompEval in {root}. Another project has the same "
                "package name: install CompEval into an environment of its own (python -m venv)."
            )


_check_siblings()


def __getattr__(name: str) -> Any:
    # torch and datasets are heavy: they are imported when they are first used, not with the package.
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'compeval' has no attribute {name!r}")
