"""The language-model captioner: few-shot prompts, cached answers, and a check that each caption states exactly its
graph.

Source: CREPE (arXiv:2212.07796), appendix A.3. The prompt lists the objects with their attributes on the first line
(numbered if a name repeats), then the relations. Five hand-written examples of the same complexity precede it; the
examples in shots.yaml are our own.
Differences from the paper: each relation has its own line, the model is a chat model, and the parser checks that a
caption neither omits nor adds atoms (faithfulness.py).
The language model captions five or more atoms (CaptionerByComplexity). Building a dataset only reads the cache;
``python -m compeval.generators.captioned_walks --ask`` fills it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from compeval.base.pipeline.params import OURS
from compeval.base.schemas.scene_graph import Parse, Relation, SceneGraph, SceneObject
from compeval.base.texts import normalize_text
from compeval.generators.captioner import template
from compeval.generators.captioner.captioner import (
    Captioner,
    CaptionerByComplexity,
    EditableCaption,
    GrammarCaptioner,
    NoCaption,
    Request,
    TemplateCaptioner,
)
from compeval.generators.captioner.faithfulness import (
    align_mentions,
    describe_difference,
    is_elliptical,
)
from compeval.generators.captioner.parsed_caption import LANGUAGE_MODEL, ParsedCaption
from compeval.generators.captioner.realiser import can_express_predicate
from compeval.generators.captioner.words import join_pieces
from compeval.generators.graphs.assignments import SearchLimitError
from compeval.generators.llm.client import (
    REFUSED,
    Cache,
    Client,
    Endpoint,
    Message,
    ask_all,
    check_key,
    make_client,
    request_hash,
)
from compeval.generators.parser.caption_parser import CaptionParser, make_parser

PUBLISHED_TEMPLATE = "published template"
"""Name of the captioner of :class:`PublishedTemplateCaptioner`."""
ANSWER_TOKENS = 60
"""Assumed number of tokens per answer, for the cost estimate."""
PARAMS = "captioned_walks.captioner"
SHOTS = Path("words/shots.yaml")

INSTRUCTION = (
    "Write one caption for a picture from its scene graph. The first line lists the objects with their attributes, "
    "each further line is a relation. Say every object, attribute and relation exactly once and add nothing. Plain "
    "English in lower case; join sentences by a full stop, none at the end."
)


class Shot(NamedTuple):
    graph: SceneGraph
    caption: str


def make_captioner(endpoint: Mapping[str, Any], use_template: bool, rules: str = OURS) -> Captioner:
    """Return the captioner of graphs of four atoms, the template or the grammar, and of longer ones.

    Longer graphs are captioned by the grammar if ``endpoint`` is empty, or else by cached answers of a language model.
    The walks of the paper's rules can have predicates that the grammar cannot express; these have no caption. Answers
    are checked by our parser, also if another one reads the regions: that of CREPE's authors finds no relation in "a
    cat is on a table".
    """
    grammar: Captioner = GrammarCaptioner() if rules == OURS else PartialGrammarCaptioner()
    longer = grammar
    if endpoint:
        longer = PromptedCaptioner(
            Endpoint.from_params(endpoint, PARAMS),
            read_shots(Path("data") / SHOTS),
            Cache([Path("data/llm")]),
            make_parser(),
        )
    template_captioner = TemplateCaptioner() if rules == OURS else PublishedTemplateCaptioner()
    return CaptionerByComplexity(template_captioner if use_template else grammar, longer)


class PartialGrammarCaptioner:
    """Writes captions with the grammar; a graph with a predicate that it cannot express has none."""

    def captions(self, requests: Iterable[Request]) -> Iterator[EditableCaption | NoCaption]:
        for request in requests:
            if all(can_express_predicate(edge.predicate) for edge in request.graph.relations):
                yield from GrammarCaptioner().captions([request])
            else:
                yield NoCaption("the grammar cannot express a predicate")


class PublishedTemplateCaptioner:
    """The template as in the published files, for any graph. Its captions are edited in place."""

    def captions(self, requests: Iterable[Request]) -> Iterator[EditableCaption | NoCaption]:
        for graph, _ in requests:
            yield ParsedCaption(
                graph, *join_pieces(template.write_published(graph)), PUBLISHED_TEMPLATE
            )


def ask_captions(
    graphs: Iterable[SceneGraph], endpoint: Mapping[str, Any], max_cost: float
) -> Counter[str]:
    """Request the captions that the cache in sample/llm lacks, and return the number of answers by outcome.

    Raises ValueError if ``endpoint`` names no model, and before the first request if the estimated cost is above
    ``max_cost``.
    """
    client = make_client(Endpoint.from_params(endpoint, PARAMS), Path("sample/llm"))
    check_key()  # before the graphs are sampled, which takes hours at real size
    shots = read_shots(Path("sample") / SHOTS)
    return ask_all(
        client, [make_messages(graph, shots) for graph in graphs], ANSWER_TOKENS, max_cost
    )


def export_requests(graphs: Iterable[SceneGraph], endpoint: Mapping[str, Any], path: Path) -> int:
    """Write the requests that the cache in sample/llm lacks to a file of JSON lines; return their number.

    A line has the format of the cache, without an answer: with the key ``answer`` added, it can be appended to a file
    in sample/llm. So a model without an endpoint can write captions.
    """
    client = Client(Endpoint.from_params(endpoint, PARAMS), Cache([Path("sample/llm")]))
    shots = read_shots(Path("sample") / SHOTS)
    missing = client.find_missing(make_messages(graph, shots) for graph in graphs)
    lines = [{"request": key, **client.make_request(messages)} for key, messages in missing.items()]
    path.write_text(
        "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8"
    )
    return len(lines)


def read_shots(path: Path) -> dict[int, list[Shot]]:
    """Return the hand-written examples by complexity."""
    shots: dict[int, list[Shot]] = {}
    for size, entries in yaml.safe_load(path.read_text(encoding="utf-8")).items():
        for entry in entries:
            items = entry["objects"].items()
            objects = tuple(
                SceneObject(key, key.rstrip("0123456789"), tuple(texts)) for key, texts in items
            )
            graph = SceneGraph(objects, tuple(Relation(*edge) for edge in entry["relations"]))
            shots.setdefault(size, []).append(Shot(graph, entry["caption"]))
    return shots


def make_messages(graph: SceneGraph, shots: Mapping[int, Sequence[Shot]]) -> list[Message]:
    """Return the request: the instruction, five examples of the same complexity, and the graph."""
    conversation = [Message(role="system", content=INSTRUCTION)]
    for shot in shots[graph.complexity]:
        conversation.append(Message(role="user", content=make_prompt(shot.graph)))
        conversation.append(Message(role="assistant", content=shot.caption))
    return [*conversation, Message(role="user", content=make_prompt(graph))]


def make_prompt(graph: SceneGraph) -> str:
    """Return the graph as text (A.3): "red cup1, cup2, table", then one line per relation."""
    counts = Counter(item.name for item in graph.objects)
    seen: Counter[str] = Counter()
    names = {}
    for item in graph.objects:
        seen[item.name] += 1
        names[item.id] = f"{item.name}{seen[item.name]}" if counts[item.name] > 1 else item.name
    objects = ", ".join(" ".join((*item.attributes, names[item.id])) for item in graph.objects)
    relations = (
        f"{names[edge.subject]} {edge.predicate} {names[edge.object]}" for edge in graph.relations
    )
    return "\n".join((objects, *relations))


def normalise_answer(answer: str) -> str:
    """Return an answer in the style of all captions: lower case, one line, no quotes, no final period."""
    return " ".join(normalize_text(answer).split()).strip("\"' ").rstrip(".").lower()


@dataclass(frozen=True)
class PromptedCaptioner:
    """Reads captions from cached answers."""

    endpoint: Endpoint
    shots: Mapping[int, Sequence[Shot]]
    cache: Cache
    parser: CaptionParser

    def captions(self, requests: Iterable[Request]) -> Iterator[EditableCaption | NoCaption]:
        answers = [(request, self._read_answer(request)) for request in requests]
        parses = self.parser.parse([answer for _, answer in answers if isinstance(answer, str)])
        for request, answer in answers:
            if isinstance(answer, str):
                yield self._check(request.graph, next(parses))
            else:
                yield answer

    def _read_answer(self, request: Request) -> str | NoCaption:
        """Return the cached answer, or the reason why there is none."""
        answer = self.cache.get(
            request_hash(self.endpoint, make_messages(request.graph, self.shots))
        )
        if answer is None:
            return NoCaption("no cached answer")
        return NoCaption("the model declined") if answer == REFUSED else normalise_answer(answer)

    def check(self, graph: SceneGraph, text: str) -> EditableCaption | NoCaption:
        """Return the caption with its mentions, or the reason why it is elliptical or not faithful to the graph."""
        (parse,) = self.parser.parse([text])
        return self._check(graph, parse)

    def _check(self, graph: SceneGraph, parse: Parse) -> EditableCaption | NoCaption:
        if is_elliptical(parse.caption):
            return NoCaption("elliptical")
        try:
            mentions = align_mentions(parse, graph)
        except SearchLimitError:
            return NoCaption("too many objects are alike")
        if mentions is None:
            return NoCaption(describe_difference(parse, graph))
        return ParsedCaption(graph, parse.caption, mentions, LANGUAGE_MODEL + self.endpoint.model)
