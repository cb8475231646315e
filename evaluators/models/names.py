"""Expand the names of models on the command line: globs over open_clip's tags and local folders, and files of names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

GLOB = re.compile(r"[*?\[]")


def expand(patterns: Iterable[str], file: Path | None = None) -> list[str]:
    """Return the distinct specs that the patterns and the lines of a file name, in their order.

    ``ViT-B-32/*`` are open_clip's pretrained weights of an architecture, and ``local:checkpoints/*`` folders of models.
    Names of other backends are not expanded. Raises ValueError if nothing is named or a glob matches nothing.
    """
    names = [*patterns, *(read_names(file) if file else [])]
    if not names:
        raise ValueError(
            "Name one model, for example ViT-B-32/openai; got none. `compeval list models` lists models."
        )
    return list(dict.fromkeys(spec for name in names for spec in _expand(name)))


def read_names(file: Path) -> list[str]:
    """Return the names in a text file: one per line, without empty lines and without comments, which begin with #."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file}: not a text file in UTF-8 ({error.reason}). Write one model per line."
        ) from None
    names = [name for line in lines if (name := re.sub(r"(^|\s)#.*", "", line).strip())]
    if not names:
        raise ValueError(
            f"{file}: names no model. Write one model per line, for example ViT-B-32/openai."
        )
    return names


def _expand(name: str) -> Sequence[str]:
    backend, colon, pattern = name.partition(":")
    is_glob = GLOB.search(name.partition("?adapter=")[0])  # the question mark of a setting is none
    if not is_glob or (colon and backend not in ("open_clip", "local")):
        return [name]
    if backend == "local":
        folders = sorted(path.parent for path in Path().glob(f"{pattern}/open_clip_config.json"))
        problem = "no folder with an open_clip_config.json"
        matches = [f"local:{folder}" for folder in folders]
    else:
        problem = "no pretrained weights of open_clip"
        matches = _match_tags(pattern if colon else name)
    if not matches:
        raise ValueError(f"{name}: {problem} match this glob. `compeval list models` lists models.")
    return matches


def _match_tags(pattern: str) -> list[str]:
    from compeval.evaluators.models.open_clip_names import list_pretrained

    names = (f"{architecture}/{tag}" for architecture, tag in list_pretrained())
    return [name for name in names if fnmatchcase(name, pattern)]
