"""Summarise the warnings of results, which are of one task each."""

from __future__ import annotations

import re
from collections.abc import Iterable

TRUNCATED = re.compile(r"[\d,]+ of [\d,]+ (texts are longer than .*)")
"""A warning of evaluators/engine/score.py."""
OF_TASK = re.compile(r"\S+: (seen and unseen are those of .*)")
"""A warning of evaluators/engine/tasks.py, which begins with the name of the task."""


def summarise_warnings(warnings: Iterable[str]) -> list[str]:
    """Return the distinct warnings, and one for all that differ only in their task or in the number of long texts."""
    groups: dict[str, list[str]] = {}
    for warning in warnings:
        shared = OF_TASK.sub(r"\1", TRUNCATED.sub(r"some \1", warning))
        groups.setdefault(shared, []).append(warning)
    summary: list[str] = []
    for shared, members in sorted(groups.items()):
        is_same = len(set(members)) == 1
        summary.append(members[0] if is_same else f"In {len(members):,} results, {shared}")
    return summary
