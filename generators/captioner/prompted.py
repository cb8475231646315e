"""The language-model captioner: few-shot prompts, cached answers, and a check that each states exactly its graph.

Source: CREPE (arXiv:2212.07796), appendix A.3: the objects with their attributes on the first line, numbered if a name
repeats, then the relations, after five hand-written examples of the same complexity (shots.yaml, ours). Differs from it
in: one relation per line, a chat model, and a check in both directions by the parser (faithfulness.py). Captions of
four atoms come from the template. Building only reads the cache; ``python -m generators.crepe_productivity --ask``
fills it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from generators.captioner import template
from generators.captioner.captioner import Captioner, EditableCaption, GrammarCaptioner, NoCaption, Request
from generators.captioner.faithfulness import aligned, difference
from generators.captioner.substitution import apply
from generators.graphs.entailment import Negated, counterpart
from generators.language import inflection
from generators.llm.client import REFUSED, Cache, Endpoint, Message, ask_all, make_client, request_hash
from generators.parser.caption_parser import CaptionParser, make_parser
from generators.schemas.scene_graph import Mention, Relation, SceneGraph, SceneObject

ANSWER_TOKENS = 60
"""Tokens per answer, for the cost estimate."""
SHOTS = Path("words/shots.yaml")

INSTRUCTION = (
    "Write one caption for a picture from its scene graph. The first line lists the objects with their attributes, "
    "each further line is a relation. Say every object, attribute and relation exactly once and add nothing. Plain "
    "English in lower case; join sentences by a full stop, none at the end."
)


class Shot(NamedTuple):
    graph: SceneGraph
    caption: str


def make_captioner(endpoint: Mapping[str, Any], parser: str) -> Captioner:
    """Return the grammar for an empty ``endpoint``, else the cached answers of its language model."""
    if not endpoint:
        return GrammarCaptioner()
    return PromptedCaptioner(
        Endpoint(**endpoint), read_shots(Path("data") / SHOTS), Cache([Path("data/llm")]), make_parser(parser)
    )


def ask_captions(graphs: Iterable[SceneGraph], endpoint: Mapping[str, Any], max_cost: float) -> Counter[str]:
    """Request the captions that the cache in sample/llm lacks; return the number of answers by outcome.

    ValueError before the first request if the estimated cost is above ``max_cost``.
    """
    shots = read_shots(Path("sample") / SHOTS)
    client = make_client(Endpoint(**endpoint), Path("sample/llm"))
    return ask_all(client, [messages(graph, shots) for graph in graphs], ANSWER_TOKENS, max_cost)


def read_shots(path: Path) -> dict[int, list[Shot]]:
    """Return the hand-written examples by complexity."""
    return {size: [_shot(entry) for entry in entries] for size, entries in yaml.safe_load(path.read_text()).items()}


def _shot(entry: Mapping[str, Any]) -> Shot:
    objects = (SceneObject(key, key.rstrip("0123456789"), tuple(texts)) for key, texts in entry["objects"].items())
    return Shot(SceneGraph(tuple(objects), tuple(Relation(*edge) for edge in entry["relations"])), entry["caption"])


def messages(graph: SceneGraph, shots: Mapping[int, Sequence[Shot]]) -> list[Message]:
    """Return the request: the instruction, five examples of the same complexity, the graph."""
    conversation = [Message(role="system", content=INSTRUCTION)]
    for shot in shots[graph.complexity]:
        conversation.append(Message(role="user", content=prompt(shot.graph)))
        conversation.append(Message(role="assistant", content=shot.caption))
    return [*conversation, Message(role="user", content=prompt(graph))]


def prompt(graph: SceneGraph) -> str:
    """Return the graph as text (A.3): "red cup1, cup2, table" and one line per relation."""
    counts = Counter(item.name for item in graph.objects)
    seen: Counter[str] = Counter()
    names = {}
    for item in graph.objects:
        seen[item.name] += 1
        names[item.id] = f"{item.name}{seen[item.name]}" if counts[item.name] > 1 else item.name
    objects = ", ".join(" ".join((*item.attributes, names[item.id])) for item in graph.objects)
    relations = (f"{names[edge.subject]} {edge.predicate} {names[edge.object]}" for edge in graph.relations)
    return "\n".join((objects, *relations))


def normalised(answer: str) -> str:
    """Return an answer in the style of all captions: lower case, one line, no quotes, no final period."""
    return " ".join(answer.split()).strip("\"' ").rstrip(".").lower()


@dataclass(frozen=True)
class PromptedCaptioner:
    """Captions from cached answers; graphs of four atoms take the template."""

    endpoint: Endpoint
    shots: Mapping[int, Sequence[Shot]]
    cache: Cache
    parser: CaptionParser

    def captions(self, requests: Iterable[Request]) -> Iterator[EditableCaption | NoCaption]:
        for request in requests:
            if request.graph.complexity == template.SIZE:
                yield from GrammarCaptioner().captions([request])
                continue
            answer = self.cache.get(request_hash(self.endpoint, messages(request.graph, self.shots)))
            if answer is None:
                yield NoCaption("no cached answer")
            elif answer == REFUSED:
                yield NoCaption("the model declined")
            else:
                yield self.checked(request.graph, normalised(answer))

    def checked(self, graph: SceneGraph, text: str) -> EditableCaption | NoCaption:
        """Return the caption with its mentions, or the reason why it is not faithful to the graph."""
        (parse,) = self.parser.parse([text])
        mentions = aligned(parse, graph)
        return NoCaption(difference(parse, graph)) if mentions is None else ParsedCaption(graph, text, mentions)


@dataclass(frozen=True)
class ParsedCaption:
    """A caption that is edited in place, at the mentions of the parser."""

    graph: SceneGraph
    text: str
    mentions: tuple[Mention, ...]

    @property
    def captioner(self) -> str:
        return "llm"

    def edit(self, edited: SceneGraph) -> str | None:
        """Return the caption with words replaced; None if an attribute moved to an object with no free position."""
        changes: dict[tuple[str, str, str, str | None], str] = {}
        for old, new in zip(self.graph.objects, edited.objects, strict=True):
            changes["object", old.name, old.id, None] = new.name
            removed = [text for text in old.attributes if text not in new.attributes]
            added = [text for text in new.attributes if text not in old.attributes]
            if len(removed) != len(added):
                return None
            changes |= {("attribute", text, old.id, None): other for text, other in zip(removed, added, strict=True)}
        for edge, other in zip(self.graph.relations, edited.relations, strict=True):
            changes["relation", edge.predicate, edge.subject, edge.object] = other.predicate
        caption: str | None = self.text
        for mention in sorted(self.mentions, key=lambda mention: -mention.start):
            word = changes.get((mention.kind, mention.text, mention.object, mention.target), mention.text)
            if caption is not None and word != mention.text:
                caption = apply(caption, mention, word)
        return caption

    def negate(self, negated: Negated, edited: SceneGraph | None = None) -> str | None:
        """Return the caption with "not" before a relation, or an attribute removed and negated at the end."""
        atom = negated.kind, negated.text, negated.object
        mentions = [mention for mention in self.mentions if (mention.kind, mention.text, mention.object) == atom]
        if len(mentions) != 1 or negated.kind == "object":
            return None
        (mention,) = mentions
        word = counterpart(negated, self.graph, edited).text if edited else negated.text
        before, after = self.text[: mention.start], self.text[mention.end :]
        if negated.kind == "relation":
            caption = self.text if word == negated.text else apply(self.text, mention, word)
            is_finite = mention.tag in ("VBZ", "VBP")
            return None if caption is None or is_finite else f"{before}not {caption[mention.start :]}"
        item = self.graph.by_id[negated.object]
        if not re.match(rf" (?:[\w-]+ )*{re.escape(item.name)}\b", after):
            return None
        after = after.lstrip()
        before = inflection.fit_article(before, after.split(maxsplit=1)[0])
        return f"{before}{after}. the {item.name} is not {word}"

    def negate_all(self, edited: SceneGraph | None = None) -> list[str]:
        """Return "it is not true that ... and that ..."."""
        caption = self.edit(edited) if edited else self.text
        if caption is None:
            return []
        *head, last = (f"that {_clause(sentence)}" for sentence in caption.split(". "))
        return [f"it is not true {', '.join(head)} and {last}" if head else f"it is not true {last}"]


def _clause(sentence: str) -> str:
    """The sentence; "there is a cup on a table" for "a cup on a table"."""
    return sentence if re.search(r"(?<!\bthat )\b(?:is|are|has|have)\b", sentence) else f"there is {sentence}"
