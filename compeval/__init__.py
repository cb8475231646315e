"""Measure if vision-language models understand composition.

compeval.load_dataset("crepe", "laion_uc_hnatom")
compeval.evaluate(model, preprocess, tokenizer, ["crepe/prod_hnatom/n4"])
compeval.example_captions(["lab coat", "rain coat"])
"""

from __future__ import annotations

import os
from importlib import import_module

# `python -m compeval` imports this module while the current folder is first on its path, so nothing
# is imported here that the interpreter has not imported before.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from compeval.evaluators.in_process import evaluate
    from compeval.evaluators.models.fingerprint import fingerprint
    from compeval.generators.captioner.example_captions import example_captions
    from compeval.loaders.datasets.folders import list_datasets
    from compeval.loaders.datasets.stats import list_configs
    from compeval.loaders.load import load_dataset

    __version__: str

__all__ = [
    "__version__",
    "evaluate",
    "example_captions",
    "fingerprint",
    "list_configs",
    "list_datasets",
    "load_dataset",
]

if not os.path.isdir(os.path.join(os.path.dirname(__file__), "base")):  # noqa: PTH112, PTH118, PTH120
    # In a checkout, compeval/base and its neighbours are links to folders at the top level. A clone
    # without symbolic links (Windows, core.symlinks=false) has text files in their place.
    from pathlib import Path

    __path__.append(str(Path(__file__).resolve().parents[1]))

_MODULE_OF = {
    "evaluate": "compeval.evaluators.in_process",
    "example_captions": "compeval.generators.captioner.example_captions",
    "fingerprint": "compeval.evaluators.models.fingerprint",
    "list_configs": "compeval.loaders.datasets.stats",
    "list_datasets": "compeval.loaders.datasets.folders",
    "load_dataset": "compeval.loaders.load",
}


def __getattr__(name: str) -> Any:
    # The modules import heavy libraries (torch, datasets), so they are imported at the first use.
    if name == "__version__":
        from importlib.metadata import version

        return version("compeval")
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module 'compeval' has no attribute {name!r}")
