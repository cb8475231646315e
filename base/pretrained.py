"""Load models of transformers whose files are complete.

transformers fills tensors that the files lack with random values, and only logs it. It ignores an adapter next to
the weights if peft is not installed, and open_clip ignores it always. Both are errors here.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ADAPTER = "adapter_config.json"
"""The file by which peft recognises an adapter."""
REPORTED = re.compile(r"^(\S+)\s*\|\s*MISSING\b", re.MULTILINE)
"""A line of transformers' report on a model that it has loaded."""
NUM_SHOWN = 3


def load_pretrained(kind: Any, name: Any, **options: Any) -> tuple[Any, list[str]]:
    """Return ``kind.from_pretrained(name)``, and the names of the tensors that its files lack.

    Never runs code of a repository. Raises ValueError if tensors have other shapes than the configuration says, or if
    there is an adapter that is not applied.
    """
    check_no_adapter(name)
    try:
        model, report = kind.from_pretrained(
            name, trust_remote_code=False, output_loading_info=True, **options
        )
    except RuntimeError as error:  # shapes that differ
        if "out of memory" in str(error):
            raise
        reason = " ".join(str(error).split())[:300]
        raise ValueError(f"{name}: its files do not fit its configuration ({reason}).") from None
    return model, sorted(report["missing_keys"])


def load_complete(kind: Any, name: Any, **options: Any) -> Any:
    """Return ``kind.from_pretrained(name)``. Raises ValueError as load_pretrained does, and if a tensor is missing."""
    model, missing = load_pretrained(kind, name, **options)
    if missing:
        raise ValueError(describe_missing(str(name), missing))
    return model


def describe_missing(name: str, missing: Iterable[str]) -> str:
    """Return the message about tensors that the files of a model lack."""
    names = sorted(missing)
    others = f" and {len(names) - NUM_SHOWN:,} more" if len(names) > NUM_SHOWN else ""
    shown = ", ".join(names[:NUM_SHOWN]) + others
    return (
        f"{name}: its files lack {len(names):,} of its tensors ({shown}), which would be random. Are the files "
        "complete, and of this kind of model? `save_pretrained` of the trained model writes all of them."
    )


def check_no_adapter(name: Any) -> None:
    """Raise ValueError for a folder with an adapter, which is not applied to the weights there."""
    if (Path(name) / ADAPTER).is_file():
        raise ValueError(
            f"{name}: has an adapter ({ADAPTER}), which is not applied to its weights. Merge it "
            "(peft: model.merge_and_unload().save_pretrained(FOLDER)) and name the folder of the merged model."
        )


@contextmanager
def collect_missing() -> Iterator[list[str]]:
    """Yield a list of the tensors that files lack of models that a library loads by transformers in the block."""
    missing: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            missing.extend(REPORTED.findall(record.getMessage()))

    logger = logging.getLogger("transformers.modeling_utils")
    handler = Collect()
    level = logger.level
    logger.propagate = False
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    try:
        yield missing
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = True
