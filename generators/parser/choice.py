"""The parsers that params.yaml can name (``parser: rules | sng``): captions to scene graphs, behind one interface."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from generators.parser.forms import Forms
from generators.schemas.scene_graph import Parse

RULES, SNG = "rules", "sng"


class CaptionParser(Protocol):
    """What every stage that parses asks of a parser."""

    @property
    def forms(self) -> Forms:
        """All that it can make of a word, which the seen analysis rests on."""
        ...

    def parse(self, captions: Iterable[str], batch_size: int = 256) -> Iterator[Parse]:
        """One parse a caption, in order."""
        ...


def make_parser(name: str = RULES) -> CaptionParser:
    """The parser of that name. ValueError for an unknown one, ImportError with the remedy for one that is missing."""
    if name == RULES:
        from generators.parser.parser import Parser

        return Parser()
    if name == SNG:
        from generators.parser.sng import SceneGraphParser

        return SceneGraphParser()
    raise ValueError(
        f"params.yaml: parser is {name!r}; it can be {RULES} (ours) or {SNG} (the one of CREPE's authors)."
    )
