"""The parser that CREPE's authors used (PyPI ``SceneGraphParser``), behind the interface of ours (``parser: sng``).

Source: https://github.com/vacancy/SceneGraphParser, release 0.1.0; CREPE (arXiv:2212.07796), section 3.2. It is given
the spaCy model that is installed. Its graphs are as it makes them. It does not say where an atom stands in the caption:
what can be told from its words has a mention (so that foils can take its place), the rest has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from generators.parser.forms import Forms
from generators.parser.parser import MAX_CHARACTERS, installed_model
from generators.parser.words import pieces
from generators.schemas.scene_graph import Mention, Parse, Relation, SceneGraph, SceneObject

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token


class SceneGraphParser:
    """Stands in for ``Parser``; raises ImportError with the remedy where it is missing."""

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
            text = caption[:MAX_CHARACTERS].encode("utf-8", "replace").decode()
            parsed, doc = self._parser.parse(text, return_doc=True)
            graph = _graph(parsed)
            yield Parse(caption, graph, tuple(_mentions(parsed, graph, doc)))

    @property
    def forms(self) -> Forms:
        """All lemmas that its spaCy model can give to a token, whatever its part of speech; be, not, I ... to any."""
        language = self._parser.unwrapped.nlp
        tables = language.get_pipe("lemmatizer").lookups
        exceptions, rules = (tables.get_table(f"lemma_{kind}").values() for kind in ("exc", "rules"))
        endings = {tuple(rule) for of_class in rules for rule in of_class}
        listed = [pattern["attrs"] for pattern in language.get_pipe("attribute_ruler").patterns]
        always = frozenset(attributes["LEMMA"].lower() for attributes in listed if "LEMMA" in attributes)

        @cache
        def of(token: str) -> frozenset[str]:
            parts = token, *pieces().get(token, ())
            irregular = (form for part in parts for of_class in exceptions for form in of_class.get(part, ()))
            cut = (part[: len(part) - len(old)] + new for part in parts for old, new in endings if part.endswith(old))
            return frozenset((*parts, *irregular, *cut))

        return Forms(of, always)


def _graph(parsed: dict[str, Any]) -> SceneGraph:
    objects = tuple(
        SceneObject(f"o{number}", entity["lemma_head"].lower(), tuple(_lemma(item) for item in _modifiers(entity)))
        for number, entity in enumerate(parsed["entities"])
    )
    relations = tuple(
        Relation(f"o{edge['subject']}", edge["lemma_relation"].lower(), f"o{edge['object']}")
        for edge in parsed["relations"]
    )
    return SceneGraph(objects, relations)


def _modifiers(entity: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for item in entity["modifiers"] if item["dep"] != "det"]


def _lemma(modifier: dict[str, Any]) -> str:
    return modifier["lemma_span"].lower()


def _mentions(parsed: dict[str, Any], graph: SceneGraph, doc: Doc) -> Iterator[Mention]:
    """Where the atoms stand, as far as that is plain: a relation only where its words stand between its objects."""
    spans: list[tuple[int, int]] = []
    for entity, item in zip(parsed["entities"], graph.objects, strict=True):
        chunk = doc[slice(*entity["span_bounds"])]
        head = [*(child for child in chunk.root.children if child.dep_ == "compound"), chunk.root]
        spans.append(_span(head))
        yield Mention("object", item.name, *spans[-1], chunk.root.tag_, item.id)
        for modifier in _modifiers(entity):
            tokens = [token for token in chunk.root.subtree if token.text == modifier["span"]]
            if len(tokens) == 1:
                yield Mention("attribute", _lemma(modifier), *_span(tokens), tokens[0].tag_, item.id)
    for edge, relation in zip(parsed["relations"], graph.relations, strict=True):
        (_, left), (right, _) = sorted((spans[edge["subject"]], spans[edge["object"]]))
        words = re.escape(edge["relation"]).replace(r"\ ", r"\W+")
        found = [match.span() for match in re.finditer(rf"\b{words}\b", doc.text[:right]) if match.start() >= left]
        said = doc.char_span(*found[0]) if len(found) == 1 else None
        if said is not None:
            ends = relation.subject, relation.object
            yield Mention("relation", relation.predicate, *found[0], said.root.tag_, *ends)


def _span(tokens: Sequence[Token]) -> tuple[int, int]:
    """Character offsets from the first to the last of some tokens."""
    ordered = sorted(tokens, key=lambda token: token.i)
    return ordered[0].idx, ordered[-1].idx + len(ordered[-1])
