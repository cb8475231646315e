"""The models that can be named without knowing a path or a repository."""

from __future__ import annotations

from pathlib import Path

CHECKPOINTS = Path("checkpoints")


def known_models() -> list[str]:
    """Specs of our own checkpoints here, then of all open_clip weights."""
    import open_clip

    local = [f"local:{path.parent}" for path in sorted(CHECKPOINTS.glob("*/open_clip_config.json"))]
    return [*local, *(f"{architecture}/{tag}" for architecture, tag in open_clip.list_pretrained())]
