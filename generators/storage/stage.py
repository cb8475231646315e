"""How a stage's command runs (a user's error is one message and exit code 1, never a traceback) and writes JSON."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer


def run(main: Callable[..., Any]) -> None:
    """Run ``main`` with its parameters as command-line arguments."""
    try:
        typer.run(main)
    except (ValueError, OSError, ImportError) as error:  # OSError: a missing file, a dead worker
        sys.exit(f"{Path(sys.argv[0]).stem}: {error}")


def write_json(path: Path, data: Any) -> None:
    """Write in one step: whoever reads ``path``, at whatever moment, finds it whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    with scratch.open("w", encoding="utf-8") as file:
        json.dump(data, file, ensure_ascii=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)
