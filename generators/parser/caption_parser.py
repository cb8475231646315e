"""The entry point of this folder: :func:`make_parser` returns a parser from captions to scene graphs.

``parser: rules | sng`` in params.yaml selects it: our rules over spaCy (rule_parser.py), or the parser that CREPE's
authors used (sng.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from generators.schemas.scene_graph import Parse

RULES, SNG = "rules", "sng"


class CaptionParser(Protocol):
    """The interface of both parsers."""

    added_words: frozenset[str]
    """Words that the parser may add to any caption."""

    def parse(self, captions: Iterable[str]) -> Iterator[Parse]:
        """One parse per caption, in order; a caption without words has an empty graph."""
        ...

    def forms(self, token: str) -> Iterable[str]:
        """All words that a lower-case token can become in an atom's text, under any part of speech.

        The word filter of the seen analysis relies on it: too many forms cost time, a missing one loses targets.
        """
        ...


def make_parser(name: str = RULES) -> CaptionParser:
    """The parser of that name; ValueError for an unknown name, ImportError with the remedy for a missing package."""
    if name == RULES:
        from generators.parser.rule_parser import RuleParser

        return RuleParser()
    if name == SNG:
        from generators.parser.sng import SngParser

        return SngParser()
    raise ValueError(
        f"params.yaml: parser is {name!r}; it can be {RULES} (ours) or {SNG} (the parser of CREPE's authors)."
    )
