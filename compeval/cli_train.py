"""``compeval train``: fine-tuning and probes."""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True, help="Train: fine-tune a CLIP with hard negatives, or a probe.")


@app.callback()
def train() -> None:
    """Train: fine-tune a CLIP with hard negatives, or a probe."""
