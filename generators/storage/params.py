"""params.yaml, block by block."""

from pathlib import Path
from typing import Any, TypeVar

import yaml

Settings = TypeVar("Settings")


def block(name: str, path: Path = Path("params.yaml")) -> Any:
    """The named top-level block of params.yaml; KeyError-free: a missing file or block is one clear message."""
    if not path.exists():
        raise FileNotFoundError(f"{path.resolve()}: not found. Run the stages from the root of the checkout.")
    params = yaml.safe_load(path.read_text())
    if name not in params:
        raise ValueError(f"{path}: no block {name!r}; it has {', '.join(params)}.")
    return params[name]


def dataclass_of(kind: type[Settings], name: str, **others: Any) -> Settings:
    """The block as a ``kind``, with what ``others`` say beside it. ValueError for a key too many or too few."""
    told = block(name)
    try:
        return kind(**told, **others)
    except TypeError as error:
        raise ValueError(f"params.yaml, block {name}: {str(error).partition(') ')[2] or error}.") from None


def reading() -> dict[str, Any]:
    """How the phrases of a source are read: the blocks ``parser`` and ``spelling``."""
    return {name: block(name) for name in ("parser", "spelling")}
