"""The interface of caption parsers, and :func:`make_parser`, which makes one.

``parser: rules | sng`` in params.yaml selects the parser: our rules over spaCy (rule_parser.py), or the parser that
CREPE's authors used (sng.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from compeval.base.schemas.scene_graph import AtomKind, Parse

RULES = "rules"
SNG = "sng"


class CaptionParser(Protocol):
    """The interface of both parsers."""

    added_words: frozenset[str]
    """Words that the parser may add to the atoms of any caption."""
    reciprocal_words: frozenset[str]
    """Words with which one mention of an object can be both ends of a relation. Otherwise, a compound consists of
    different tokens."""

    def parse(self, captions: Iterable[str]) -> Iterator[Parse]:
        """Yield one parse per caption, in order. A caption without words has an empty graph.

        Only the part of a caption that :func:`~compeval.generators.parser.spacy_model.clean_text` returns is parsed.

        Captions of unknown origin are parsed with :func:`parse_each`, so that an error affects one caption only.
        """
        ...

    def forms(self, token: str, kind: AtomKind) -> Iterable[str]:
        """Return all words that a lower-case token can become in the text of an atom of a kind.

        The word filter of the seen analysis relies on this: superfluous forms cost time, a missing form loses targets.
        """
        ...


def parse_each(parser: CaptionParser, captions: Sequence[str]) -> list[Parse | Exception]:
    """Return for each caption its parse, or the error that the parser raised for this caption.

    After an error in the batch, the remaining captions are parsed one by one.
    """
    results: list[Parse | Exception] = []
    try:
        for parse in parser.parse(captions):
            results.append(parse)  # noqa: PERF402  (keeps the parses before an error)
    except Exception as error:
        if len(captions) == 1:
            return results or [error]
        results += [
            result
            for caption in captions[len(results) :]
            for result in parse_each(parser, [caption])
        ]
    return results


def make_parser(name: str = RULES) -> CaptionParser:
    """Return the parser with a name: ``rules`` or ``sng``.

    Raises ValueError for an unknown name and ImportError if the package of the parser is not installed.
    """
    if name == RULES:
        from compeval.generators.parser.rule_parser import RuleParser

        return RuleParser()
    if name == SNG:
        from compeval.generators.parser.sng import SngParser

        return SngParser()
    raise ValueError(
        f"params.yaml: parser is {name!r}; expected {RULES} (our rules) or {SNG} (the parser of CREPE's authors)."
    )
