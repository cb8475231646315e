"""Render pages of reports, leaderboards and inspections from the templates of their folders.

A page is complete without a network: pictures, figures and style sheets are part of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from evaluators.report.tables import FOLDER, escape_markdown, format_percent, to_html, to_markdown


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
        "width": lambda svg: float(svg.partition(' width="')[2].partition("pt")[0]),
        "label": _label_svg,
        "script_json": lambda value: markupsafe.Markup(json.dumps(value).replace("<", "\\u003c")),
    }
    return environment.get_template(template).render(context)


def _label_svg(svg: str, caption: str) -> markupsafe.Markup:
    """Return a figure that a screen reader calls by its caption."""
    return markupsafe.Markup(svg.replace("<svg", f'<svg role="img" aria-label="{markupsafe.escape(caption)}"', 1))
