"""Run the command of a pipeline stage. A user's error prints a message and exits with code 1, without a traceback."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from compeval.base.extras import describe_missing
from compeval.base.plain_text import strip_controls, strip_urls


def run(main: Callable[..., Any]) -> None:
    """Run ``main`` with arguments from the command line."""
    try:
        typer.run(main)
    except ImportError as error:
        message = describe_missing(error)
    except (ValueError, OSError) as error:  # OSError: a missing file, a dead worker
        message = str(error)
    else:
        return
    sys.exit(strip_urls(strip_controls(f"{Path(sys.argv[0]).stem}: {message}")))
