"""Run the command of a pipeline stage. A user's error prints a message and exits with code 1, without a traceback."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from compeval.base.extras import describe_missing


def run(main: Callable[..., Any]) -> None:
    """Run ``main`` with arguments from the command line."""
    try:
        typer.run(main)
    except ImportError as error:
        sys.exit(f"{Path(sys.argv[0]).stem}: {describe_missing(error)}")
    except (ValueError, OSError) as error:  # OSError: a missing file, a dead worker
        sys.exit(f"{Path(sys.argv[0]).stem}: {error}")
