"""The language-model captioner: few-shot prompts, cached answers, and a check that each caption states exactly its
graph.

Source: CREPE (arXiv:2212.07796), appendix A.3. The prompt lists the objects with their attributes on the first line
(numbered if a name repeats), then the relations. Five hand-written examples of the same complexity precede it; the
examples in shots.yaml are our own.
Differences from the paper: each relation has its own line, the model is a chat model, and the parser checks that a
caption neither omits nor adds atoms (faithfulness.py).
Captions of four atoms come from the template. Building a dataset only reads the cache; ``python -m
generators.crepe_productivity --ask`` fills it.
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
from generators.captioner.faithfulness import align_mentions, describe_difference
from generators.captioner.substitution import replace_atom_text
from generators.graphs.entailment import Negated, find_counterpart
from generators.language import inflection
from generators.llm.client import REFUSED, Cache, Endpoint, Message, ask_all, make_client, request_hash
from generators.parser.caption_parser import CaptionParser, make_parser
from generators.schemas.scene_graph import Mention, Relation, SceneGraph, SceneObject

ANSWER_TOKENS = 60
"""Assumed number of tokens per answer, for the cost estimate."""
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
    """Return the grammar captioner if ``endpoint`` is empty, or else a captioner that reads cached answers."""
    if not endpoint:
        return GrammarCaptioner()
    return PromptedCaptioner(
        Endpoint(**endpoint), read_shots(Path("data") / SHOTS), Cache([Path("data/llm")]), make_parser(parser)
    )


def ask_captions(graphs: Iterable[SceneGraph], endpoint: Mapping[str, Any], max_cost: float) -> Counter[str]:
    """Request the captions that the cache in sample/llm lacks, and return the number of answers by outcome.

    Raises ValueError before the first request if the estimated cost is above ``max_cost``.
    """
    shots = read_shots(Path("sample") / SHOTS)
    client = make_client(Endpoint(**endpoint), Path("sample/llm"))
    return ask_all(client, [make_messages(graph, shots) for graph in graphs], ANSWER_TOKENS, max_cost)


def read_shots(path: Path) -> dict[int, list[Shot]]:
    """Return the hand-written examples by complexity."""
    return {
        size: [_read_shot(entry) for entry in entries] for size, entries in yaml.safe_load(path.read_text()).items()
    }


def _read_shot(entry: Mapping[str, Any]) -> Shot:
    objects = (SceneObject(key, key.rstrip("0123456789"), tuple(texts)) for key, texts in entry["objects"].items())
    return Shot(SceneGraph(tuple(objects), tuple(Relation(*edge) for edge in entry["relations"])), entry["caption"])


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
    relations = (f"{names[edge.subject]} {edge.predicate} {names[edge.object]}" for edge in graph.relations)
    return "\n".join((objects, *relations))


def normalise_answer(answer: str) -> str:
    """Return an answer in the style of all captions: lower case, one line, no quotes, no final period."""
    return " ".join(answer.split()).strip("\"' ").rstrip(".").lower()


@dataclass(frozen=True)
class PromptedCaptioner:
    """Reads captions from cached answers. Graphs of four atoms get the template."""

    endpoint: Endpoint
    shots: Mapping[int, Sequence[Shot]]
    cache: Cache
    parser: CaptionParser

    def captions(self, requests: Iterable[Request]) -> Iterator[EditableCaption | NoCaption]:
        for request in requests:
            if request.graph.complexity == template.COMPLEXITY:
                yield from GrammarCaptioner().captions([request])
                continue
            answer = self.cache.get(request_hash(self.endpoint, make_messages(request.graph, self.shots)))
            if answer is None:
                yield NoCaption("no cached answer")
            elif answer == REFUSED:
                yield NoCaption("the model declined")
            else:
                yield self.check(request.graph, normalise_answer(answer))

    def check(self, graph: SceneGraph, text: str) -> EditableCaption | NoCaption:
        """Return the caption with its mentions, or the reason why it is not faithful to the graph."""
        (parse,) = self.parser.parse([text])
        mentions = align_mentions(parse, graph)
        return (
            NoCaption(describe_difference(parse, graph)) if mentions is None else ParsedCaption(graph, text, mentions)
        )


@dataclass(frozen=True)
class ParsedCaption:
    """A caption that is edited in place, at the positions that the parser found."""

    graph: SceneGraph
    text: str
    mentions: tuple[Mention, ...]

    @property
    def captioner(self) -> str:
        return "llm"

    def edit(self, edited: SceneGraph) -> str | None:
        """Return the caption with words replaced, or None if an object has a different number of attributes."""
        changes: dict[tuple[str, str, str, str | None], str] = {}
        for old, new in zip(self.graph.objects, edited.objects, strict=True):
            changes["object", old.name, old.id, None] = new.name
            removed = [text for text in old.attributes if text not in new.attributes]
            added = [text for text in new.attributes if text not in old.attributes]
            if len(removed) != len(added):
                return None
            changes |= {
                ("attribute", text, old.id, None): new_text for text, new_text in zip(removed, added, strict=True)
            }
        for edge, new_edge in zip(self.graph.relations, edited.relations, strict=True):
            changes["relation", edge.predicate, edge.subject, edge.object] = new_edge.predicate
        caption: str | None = self.text
        for mention in sorted(self.mentions, key=lambda mention: -mention.start):
            word = changes.get((mention.kind, mention.text, mention.object, mention.target), mention.text)
            if caption is not None and word != mention.text:
                caption = replace_atom_text(caption, mention, word)
        return caption

    def negate(self, negated: Negated, edited: SceneGraph | None = None) -> str | None:
        """Return the caption with one atom negated.

        A relation gets "not" before it. An attribute is removed and negated in a last sentence.
        """
        atom = negated.kind, negated.text, negated.object
        mentions = [mention for mention in self.mentions if (mention.kind, mention.text, mention.object) == atom]
        if len(mentions) != 1 or negated.kind == "object":
            return None
        (mention,) = mentions
        word = find_counterpart(negated, self.graph, edited).text if edited else negated.text
        before, after = self.text[: mention.start], self.text[mention.end :]
        if negated.kind == "relation":
            caption = self.text if word == negated.text else replace_atom_text(self.text, mention, word)
            is_finite = mention.tag in ("VBZ", "VBP")
            return None if caption is None or is_finite else f"{before}not {caption[mention.start :]}"
        item = self.graph.by_id[negated.object]
        if not re.match(rf" (?:[\w-]+ )*{re.escape(item.name)}\b", after):
            return None
        after = after.lstrip()
        before = inflection.fit_article(before, after.split(maxsplit=1)[0])
        return f"{before}{after}. the {item.name} is not {word}"

    def negate_all(self, edited: SceneGraph | None = None) -> list[str]:
        """Return a list with "it is not true that ... and that ..."."""
        caption = self.edit(edited) if edited else self.text
        if caption is None:
            return []
        *head, last = (f"that {_clause(sentence)}" for sentence in caption.split(". "))
        return [f"it is not true {', '.join(head)} and {last}" if head else f"it is not true {last}"]


def _clause(sentence: str) -> str:
    """Return the sentence as a clause: "there is a cup on a table" for "a cup on a table"."""
    return sentence if re.search(r"(?<!\bthat )\b(?:is|are|has|have)\b", sentence) else f"there is {sentence}"
