"""Sections of a report, and pages of reports, leaderboards and inspections, rendered from templates.

A page is complete without a network: pictures, figures and style sheets are part of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
import markupsafe
import pandas as pd

from compeval.evaluators.report.tables import (
    FOLDER,
    TEXTS,
    Table,
    escape_markdown,
    format_percent,
    to_html,
    to_markdown,
)


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


def render(template: str, folder: Path = FOLDER, **context: Any) -> str:
    """Render a template of ``folder`` or of this one. Templates of HTML escape all values."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, FOLDER]),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "markdown": to_markdown,
        "escape_markdown": escape_markdown,
        "table": lambda table: markupsafe.Markup(to_html(table)),
        "percent": format_percent,
        "code": lambda text: markupsafe.Markup(
            re.sub(r"`([^`]+)`", r"<code>\1</code>", str(markupsafe.escape(text)))
        ),
        "label": _label_svg,
        "script_json": lambda value: markupsafe.Markup(json.dumps(value).replace("<", "\\u003c")),
    }
    return environment.get_template(template).render(context)


def _label_svg(svg: str, caption: str) -> markupsafe.Markup:
    """Return a figure whose panels a screen reader calls by its caption."""
    panels = svg.split("<svg ")[1:]
    labels = [f"{caption} Panel {number} of {len(panels)}." for number in range(1, len(panels) + 1)]
    labels = labels if len(panels) > 1 else [caption]
    labelled = zip(panels, map(markupsafe.escape, labels), strict=True)
    return markupsafe.Markup(
        "".join(f'<svg role="img" aria-label="{label}" {panel}' for panel, label in labelled)
    )
