"""Run the command line interface with ``python -m compeval``."""

from compeval.cli import app

app(prog_name="compeval")
