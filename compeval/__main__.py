"""Run the command line interface with ``python -m compeval``."""

import os
import sys

if not sys.flags.safe_path and sys.path[0] == os.getcwd():  # noqa: PTH109 - pathlib is not imported yet
    del sys.path[0]  # it is there because of -m; modules next to a dataset are not the product's
from compeval.cli import app

app(prog_name="compeval")
