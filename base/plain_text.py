"""Texts as they may be shown and stored: without control characters and without secrets in URLs."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters (C0, delete and C1) except tab and line feed. A terminal obeys them: some write to
the clipboard, clear the screen, or hide text."""
URL = re.compile(
    r"([a-z][a-z0-9+.-]*://)(?:[^\s/?#]*(?:@|%40))?((?:(?!%3F|%23)[^\s?#'\"])*)"
    r"([?#]\S*?(?=[\s.,:;)'\"]*(?:\s|$))|(?:%3F|%23)[^\s&]*)?",
    re.IGNORECASE,
)
"""A URL in a text: its scheme, its host and path, and the rest. In the settings of a model, some marks are quoted."""


FOLDERS = re.compile(
    r"(?<![\w.~)-])(?<!:/)/(?:[^\s/:;,'\"][^/:;,'\"]*/)+|\b[A-Za-z]:\\(?:[^\s\\/:;,'\"][^\\/:;,'\"]*\\)+"
)
"""The folders of an absolute path, which is not part of a URL, of a relative path, or of ORG/NAME."""


def strip_controls(text: str) -> str:
    """Return a text without control characters, for a terminal."""
    return CONTROL.sub("", text)


def escape_controls(json_text: str) -> str:
    """Return a JSON text with the control characters that JSON does not escape itself escaped."""
    return CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text)


def strip_folders(text: str) -> str:
    """Return a text in which only the last part of each absolute path is left: folders tell names of people."""
    return FOLDERS.sub("", text)


def strip_url(url: str) -> str:
    """Return scheme, host, port and path of a URL: no user, password, query or fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def strip_urls(text: str) -> str:
    """Return a text with only scheme, host, port and path of each URL in it."""
    return URL.sub(r"\1\2", text)
