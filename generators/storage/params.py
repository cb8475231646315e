"""params.yaml, block by block."""

from pathlib import Path
from typing import Any, TypeVar

import yaml

Settings = TypeVar("Settings")


def read_params(name: str, path: Path = Path("params.yaml")) -> Any:
    """The named top-level block of params.yaml; KeyError-free: a missing file or block is one clear message."""
    if not path.exists():
        raise FileNotFoundError(f"{path.resolve()}: not found. Run the stages from the root of the checkout.")
    params = yaml.safe_load(path.read_text())
    if name not in params:
        raise ValueError(f"{path}: no block {name!r}; it has {', '.join(params)}.")
    return params[name]


def read_settings(kind: type[Settings], name: str, **others: Any) -> Settings:
    """The block as a ``kind``, with what ``others`` say beside it. ValueError for a key too many or too few."""
    told = read_params(name)
    try:
        return kind(**told, **others)
    except TypeError as error:
        raise ValueError(f"params.yaml, block {name}: {str(error).partition(') ')[2] or error}.") from None


def read_parser_params() -> dict[str, Any]:
    """How the phrases of a source are read: the blocks ``parser`` and ``spelling``."""
    return {name: read_params(name) for name in ("parser", "spelling")}
