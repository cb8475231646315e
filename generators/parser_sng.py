"""The parser that CREPE's authors used (PyPI ``SceneGraphParser``), behind the interface of ours.

Source: https://github.com/vacancy/SceneGraphParser, release 0.1.0; CREPE (arXiv:2212.07796), section 3.2. It is given
the spaCy model that is installed. Its graphs carry no mentions, so captions parsed by it can be split into seen and
unseen but have no foils.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from generators.parser import installed_model
from generators.scene_graph import Parse, Relation, SceneGraph, SceneObject


class SceneGraphParser:
    """Stands in for :class:`generators.parser.Parser`; raises ImportError with the remedy where it is missing."""

    def __init__(self, model: str = "auto") -> None:
        try:
            import sng_parser
        except ImportError as error:
            raise ImportError(
                "parser: sng was asked for, but SceneGraphParser is not installed. Run `pip install SceneGraphParser`."
            ) from error
        self.model = model if model != "auto" else installed_model()
        self._parser = sng_parser.Parser("spacy", model=self.model)

    def parse(self, captions: Iterable[str], batch_size: int = 256) -> Iterator[Parse]:
        """One parse a caption, in order; it reads them one by one, whatever ``batch_size``."""
        del batch_size
        for caption in captions:
            yield Parse(caption, _graph(self._parser.parse(caption)))


def _graph(parsed: dict[str, Any]) -> SceneGraph:
    objects = tuple(
        SceneObject(f"o{number}", entity["lemma_head"].lower(), _attributes(entity))
        for number, entity in enumerate(parsed["entities"])
    )
    relations = tuple(
        Relation(f"o{edge['subject']}", edge["lemma_relation"].lower(), f"o{edge['object']}")
        for edge in parsed["relations"]
    )
    return SceneGraph(objects, relations)


def _attributes(entity: dict[str, Any]) -> tuple[str, ...]:
    return tuple(item["lemma_span"].lower() for item in entity["modifiers"] if item["dep"] != "det")
