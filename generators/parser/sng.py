"""The parser that CREPE's authors used (``SceneGraphParser`` on PyPI), with our interface (``parser: sng``).

Source: https://github.com/vacancy/SceneGraphParser, release 0.1.0; CREPE (arXiv:2212.07796), section 4.1: objects and
relations are the parser's, and attributes are the words that spaCy tags as adjectives. They belong to the noun in whose
noun phrase they are (in the published files, "red" of "a red brick paved sidewalk" is the sidewalk's), or to the
subject of their verb ("the dog is black"). Pronouns are not objects, and numbers are not attributes. The parser runs on
the installed spaCy model. It does not report the positions of atoms. Atoms whose words are found at a unique position
get a mention, so that foils can replace them; other atoms have no mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from compeval.base.schemas.scene_graph import (
    AtomKind,
    Mention,
    Parse,
    Relation,
    SceneGraph,
    SceneObject,
)
from compeval.generators.parser.spacy_model import clean_text, find_installed_model, split_words

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token


class SngParser:
    """A :class:`~compeval.generators.parser.caption_parser.CaptionParser` that runs SceneGraphParser."""

    reciprocal_words = frozenset[str]()

    def __init__(self, *, as_published: bool = False) -> None:
        """Load SceneGraphParser on the installed spaCy model. Raises ImportError if the package is not installed.

        With ``as_published``, the graphs are those of the package: CREPE's step that reads adjectives is omitted.
        """
        self._as_published = as_published
        try:
            import sng_parser
        except ImportError as error:
            raise ImportError(
                "params.yaml: parser is sng, but SceneGraphParser is not installed. Run `pip install SceneGraphParser`."
            ) from error
        self._parser = sng_parser.Parser("spacy", model=find_installed_model())
        language = self._parser.unwrapped.nlp
        tables = language.get_pipe("lemmatizer").lookups
        self._exceptions = list(tables.get_table("lemma_exc").values())
        rules = tables.get_table("lemma_rules").values()
        self._endings = {tuple(rule) for of_class in rules for rule in of_class}
        patterns = [pattern["attrs"] for pattern in language.get_pipe("attribute_ruler").patterns]
        self.added_words = frozenset(
            attributes["LEMMA"].lower() for attributes in patterns if "LEMMA" in attributes
        )

    def parse(self, captions: Iterable[str]) -> Iterator[Parse]:
        for caption in captions:
            parsed, doc = self._parser.parse(clean_text(caption), return_doc=True)
            if not self._as_published:
                parsed = _read_adjectives(parsed, doc)
            graph = _build_graph(parsed)
            yield Parse(caption, graph, tuple(_locate_mentions(parsed, graph, doc)))

    def forms(self, token: str, kind: AtomKind) -> frozenset[str]:
        """Return all lemmas that the spaCy model can assign to a token, for any kind of atom."""
        return self._lemmas(token)

    @lru_cache(maxsize=1 << 18)  # noqa: B019  (one parser per process)
    def _lemmas(self, token: str) -> frozenset[str]:
        parts = token, *split_words().get(token, ())
        irregular = (
            form
            for part in parts
            for of_class in self._exceptions
            for form in of_class.get(part, ())
        )
        regular = (
            part.removesuffix(old) + new
            for part in parts
            for old, new in self._endings
            if part.endswith(old)
        )
        return frozenset((*parts, *irregular, *regular))


def _read_adjectives(parsed: dict[str, Any], doc: Doc) -> dict[str, Any]:
    """Return a parse without pronouns, and with the adjectives of each noun as its modifiers."""
    roots = [doc[slice(*entity["span_bounds"])].root for entity in parsed["entities"]]
    numbers = [index for index, root in enumerate(roots) if root.pos_ != "PRON"]
    entities = [
        parsed["entities"][index]
        | {
            "modifiers": [
                {"dep": token.dep_, "span": token.text, "lemma_span": token.lemma_, "token": token}
                for token in _find_adjectives(
                    roots[index], doc[slice(*parsed["entities"][index]["span_bounds"])]
                )
                if token.text not in parsed["entities"][index]["head"].split()
            ]
        }
        for index in numbers
    ]
    renumbered = {old: new for new, old in enumerate(numbers)}
    relations = [
        edge | {side: renumbered[edge[side]] for side in ("subject", "object")}
        for edge in parsed["relations"]
        if {edge["subject"], edge["object"]} <= renumbered.keys()
    ]
    return parsed | {"entities": entities, "relations": relations}


def _find_adjectives(noun: Token, phrase: Iterable[Token]) -> list[Token]:
    """Return the adjectives of a noun phrase, or that its verb predicates of it, with those joined to them."""
    own = [token for token in phrase if token.pos_ == "ADJ" and token.dep_ != "det"]
    own += [child for child in noun.children if child.pos_ == "ADJ" and child.dep_ != "det"]
    if noun.dep_ == "nsubj":
        own += [child for child in noun.head.children if child.dep_ == "acomp"]
    joined = (token for item in own for token in (item, *item.conjuncts) if token.pos_ == "ADJ")
    return list(dict.fromkeys(joined))


def _build_graph(parsed: dict[str, Any]) -> SceneGraph:
    objects = (
        SceneObject(
            f"o{number}",
            entity["lemma_head"].lower(),
            tuple(map(_lemma, _select_modifiers(entity))),
        )
        for number, entity in enumerate(parsed["entities"])
    )
    edges = (
        (f"o{edge['subject']}", edge["lemma_relation"].lower(), f"o{edge['object']}")
        for edge in parsed["relations"]
    )
    return SceneGraph(tuple(objects), tuple(Relation(*edge) for edge in edges))


def _select_modifiers(entity: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for item in entity["modifiers"] if item["dep"] != "det"]


def _lemma(modifier: dict[str, Any]) -> str:
    return modifier["lemma_span"].lower()


def _locate_mentions(parsed: dict[str, Any], graph: SceneGraph, doc: Doc) -> Iterator[Mention]:
    """Yield a mention of each atom whose position is unique.

    An attribute must occur once in its noun phrase, and a relation once between its objects.
    """
    spans: list[tuple[int, int]] = []
    for entity, item in zip(parsed["entities"], graph.objects, strict=True):
        chunk = doc[slice(*entity["span_bounds"])]
        spans.append(
            _span(
                [*(child for child in chunk.root.children if child.dep_ == "compound"), chunk.root]
            )
        )
        yield Mention("object", item.name, *spans[-1], chunk.root.tag_, item.id)
        for modifier in _select_modifiers(entity):
            same_text = [token for token in chunk.root.subtree if token.text == modifier["span"]]
            tokens = [modifier["token"]] if "token" in modifier else same_text
            if len(tokens) == 1:
                yield Mention(
                    "attribute", _lemma(modifier), *_span(tokens), tokens[0].tag_, item.id
                )
    for edge, relation in zip(parsed["relations"], graph.relations, strict=True):
        (_, left), (right, _) = sorted((spans[edge["subject"]], spans[edge["object"]]))
        words = re.escape(edge["relation"]).replace(r"\ ", r"\W+")
        matches = [
            match.span()
            for match in re.finditer(rf"\b{words}\b", doc.text[:right])
            if match.start() >= left
        ]
        if len(matches) == 1 and (tokens := doc.char_span(*matches[0])) is not None:
            ends = relation.subject, relation.object
            yield Mention("relation", relation.predicate, *matches[0], tokens.root.tag_, *ends)


def _span(tokens: Sequence[Token]) -> tuple[int, int]:
    """Return the character offsets of the start of the first token and the end of the last token."""
    return min(token.idx for token in tokens), max(token.idx + len(token) for token in tokens)
