"""How a stage's command runs (a user's error is one message and exit code 1, never a traceback)."""

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
