"""params.yaml, block by block."""

from pathlib import Path
from typing import Any

import yaml


def block(name: str, path: Path = Path("params.yaml")) -> Any:
    """The named top-level block of params.yaml; KeyError-free: a missing file or block is one clear message."""
    if not path.exists():
        raise FileNotFoundError(f"{path.resolve()}: not found. Run the stages from the root of the checkout.")
    params = yaml.safe_load(path.read_text())
    if name not in params:
        raise ValueError(f"{path}: no block {name!r}; it has {', '.join(params)}.")
    return params[name]


def reading() -> dict[str, Any]:
    """How the phrases of a source are read: the blocks ``parser`` and ``spelling``."""
    return {name: block(name) for name in ("parser", "spelling")}
