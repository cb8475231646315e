"""A section of the report."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from evaluators.report.tables import TEXTS, Table


@dataclass(frozen=True)
class Section:
    """Tables and figures with a title and a text. ``id`` is the HTML id and a part of the figures' file names."""

    id: str
    tables: Sequence[Table] = ()
    figures: Mapping[str, str] = field(default_factory=dict)
    """Caption -> SVG."""
    headline: Sequence[str] = ()
    """Findings for the top of the page, one sentence each, with the chance level."""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """Numbers for metrics.json."""
    text_values: Mapping[str, object] = field(default_factory=dict)
    """Values of the placeholders in the text."""
    shown: Collection[tuple[str, str]] = ()
    """Model and task of each result that the tables show. The other results are in the tables of all tasks."""
    variant: str = ""
    """Suffix of the section's key in texts.yaml, for sections with several titles and texts."""

    @property
    def title(self) -> str:
        return TEXTS["sections"][self.id + self.variant]["title"]

    @property
    def text(self) -> str:
        return TEXTS["sections"][self.id + self.variant]["text"].format(**self.text_values)


def get_keys(values: pd.DataFrame) -> set[tuple[str, str]]:
    """Return model and task of each row."""
    return set(zip(values["model"], values["task"], strict=True))
