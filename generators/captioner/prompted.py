"""The language-model captioner: few-shot prompts, cached answers, and a check that each says its graph and no more.

Source: CREPE (arXiv:2212.07796), appendix A.3: the objects with their attributes on the first line, numbered where a
name repeats, then the relations, after five hand-written examples of the same complexity (shots.yaml, ours). Differs
from it in: one relation a line, a chat model, and a check in both directions by the parser
(generators/parser);
captions of four atoms come from the template. Asks nobody: ``python -m generators.crepe_productivity --ask`` does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import yaml

from generators.captioner import template
from generators.captioner.captioner import GrammarCaptioner, Refusal, Request, Wording
from generators.captioner.faithfulness import alignment, difference, merged, split_names
from generators.captioner.substitution import apply
from generators.graphs.entailment import Negated, counterpart
from generators.language import inflection
from generators.language.lexicon.attributes import may_mean_the_same
from generators.llm.client import REFUSED, Cache, Endpoint, Message, request_hash
from generators.schemas.scene_graph import Mention, Parse, Relation, SceneGraph, SceneObject

NAME = "llm"
TOKENS_OUT = 60
"""A generous answer, for the estimate of what asking costs."""

INSTRUCTION = (
    "Write one caption for a picture from its scene graph. The first line lists the objects with their attributes, "
    "each further line is a relation. Say every object, attribute and relation exactly once and add nothing. Plain "
    "English in lower case; join sentences by a full stop, none at the end."
)


class Reader(Protocol):
    """What generators/parser/caption_parser.py offers."""

    def parse(self, captions: Iterable[str]) -> Iterator[Parse]: ...


def prompt(graph: SceneGraph) -> str:
    """The graph as text (A.3): "red cup1, cup2, table" and one line a relation."""
    names = numbered(graph)
    objects = ", ".join(" ".join((*item.attributes, names[item.id])) for item in graph.objects)
    relations = (f"{names[edge.subject]} {edge.predicate} {names[edge.object]}" for edge in graph.relations)
    return "\n".join((objects, *relations))


def numbered(graph: SceneGraph) -> dict[str, str]:
    """Each object's name, with a number where others have it too."""
    counts = Counter(item.name for item in graph.objects)
    seen: Counter[str] = Counter()
    names = {}
    for item in graph.objects:
        seen[item.name] += 1
        names[item.id] = f"{item.name}{seen[item.name]}" if counts[item.name] > 1 else item.name
    return names


@dataclass(frozen=True)
class Shot:
    graph: SceneGraph
    caption: str


def read_shots(path: Path) -> dict[int, list[Shot]]:
    """The hand-written examples by complexity."""
    return {size: [_shot(entry) for entry in entries] for size, entries in yaml.safe_load(path.read_text()).items()}


def _shot(entry: Mapping[str, Any]) -> Shot:
    objects = tuple(
        SceneObject(key, key.rstrip("0123456789"), tuple(attributes)) for key, attributes in entry["objects"].items()
    )
    return Shot(SceneGraph(objects, tuple(Relation(*edge) for edge in entry["relations"])), entry["caption"])


def messages(graph: SceneGraph, shots: Mapping[int, Sequence[Shot]]) -> list[Message]:
    """The whole request: instruction, five examples of the same complexity, the graph."""
    lines = [Message(role="system", content=INSTRUCTION)]
    for shot in shots[graph.complexity]:
        lines.append(Message(role="user", content=prompt(shot.graph)))
        lines.append(Message(role="assistant", content=shot.caption))
    return [*lines, Message(role="user", content=prompt(graph))]


def normalised(answer: str) -> str:
    """An answer in the style of all captions: lower case, one line, no quotes, no final period."""
    return " ".join(answer.split()).strip("\"' ").rstrip(".").lower()


@dataclass(frozen=True)
class PromptedCaptioner:
    """Captions from cached answers; graphs of four atoms take the template."""

    endpoint: Endpoint
    shots: Mapping[int, Sequence[Shot]]
    cache: Cache
    reader: Reader

    def word(self, requests: Iterable[Request]) -> Iterator[Wording | Refusal]:
        for request in requests:
            if request.graph.complexity == template.SIZE:
                yield from GrammarCaptioner().word([request])
                continue
            answer = self.cache.get(request_hash(self.endpoint, messages(request.graph, self.shots)))
            if answer is None:
                yield Refusal("no cached answer")
            elif answer == REFUSED:
                yield Refusal("the model declined")
            else:
                yield self.checked(request.graph, normalised(answer))

    def checked(self, graph: SceneGraph, caption: str) -> Wording | Refusal:
        """The caption with its mentions, or why it is not faithful to its graph."""
        parse = merged(split_names(next(iter(self.reader.parse([caption]))), graph))
        ids = alignment(parse.graph, graph)
        if ids is None:
            return Refusal(difference(parse.graph, graph))
        mentions = tuple(
            replace(mention, object=ids[mention.object], target=mention.target and ids[mention.target])
            for mention in parse.mentions
        )
        return ParsedWording(graph, caption, _as_in(graph, mentions))


def _as_in(graph: SceneGraph, mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """The mentions with the graph's own texts, so that an edit of the graph finds them."""
    found = []
    for mention in mentions:
        item = graph.by_id[mention.object]
        if mention.kind == "object":
            texts = [item.name]
        elif mention.kind == "attribute":
            texts = [text for text in item.attributes if may_mean_the_same(text, mention.text)]
        else:
            ends = (mention.object, mention.target)
            texts = [edge.predicate for edge in graph.relations if (edge.subject, edge.object) == ends]
        found += [replace(mention, text=texts[0])] if texts else []
    return tuple(found)


@dataclass(frozen=True)
class ParsedWording:
    """A caption that is edited in place, at the mentions that the parser found."""

    graph: SceneGraph
    caption: str
    mentions: tuple[Mention, ...]

    @property
    def captioner(self) -> str:
        return NAME

    def say(self, edited: SceneGraph) -> str | None:
        """The caption with words exchanged; None where an attribute would have to move to an object without one."""
        changes: dict[tuple[str, str, str, str | None], str] = {}
        for old, new in zip(self.graph.objects, edited.objects, strict=True):
            changes["object", old.name, old.id, None] = new.name
            gone = [text for text in old.attributes if text not in new.attributes]
            come = [text for text in new.attributes if text not in old.attributes]
            if len(gone) != len(come):
                return None
            changes |= {("attribute", text, old.id, None): other for text, other in zip(gone, come, strict=True)}
        for edge, other in zip(self.graph.relations, edited.relations, strict=True):
            changes["relation", edge.predicate, edge.subject, edge.object] = other.predicate
        caption: str | None = self.caption
        for mention in sorted(self.mentions, key=lambda mention: -mention.start):
            word = changes.get((mention.kind, mention.text, mention.object, mention.target), mention.text)
            if caption is not None and word != mention.text:
                caption = apply(caption, mention, word)
        return caption

    def negate(self, negated: Negated, edited: SceneGraph | None = None) -> str | None:
        """The caption with "not" before a relation, or an attribute taken out and denied at the end."""
        places = [
            mention
            for mention in self.mentions
            if (mention.kind, mention.text, mention.object) == (negated.kind, negated.text, negated.object)
        ]
        if len(places) != 1 or negated.kind == "object":
            return None
        (place,) = places
        word = counterpart(negated, self.graph, edited).text if edited else negated.text
        before, after = self.caption[: place.start], self.caption[place.end :]
        if negated.kind == "relation":
            said = self.caption if word == negated.text else apply(self.caption, place, word)
            return None if said is None or place.tag in ("VBZ", "VBP") else f"{before}not {said[place.start :]}"
        item = self.graph.by_id[negated.object]
        if not re.match(rf" (?:[\w-]+ )*{re.escape(item.name)}\b", after):
            return None
        after = after.lstrip()
        before = inflection.fit_article(before, after.split(maxsplit=1)[0])
        return f"{before}{after}. the {item.name} is not {word}"

    def deny(self, edited: SceneGraph | None = None) -> list[str]:
        """ "it is not true that ... and that ..."."""
        caption = self.say(edited) if edited else self.caption
        if caption is None:
            return []
        clauses = [_clause(sentence) for sentence in caption.split(". ")]
        *head, last = (f"that {clause}" for clause in clauses)
        return [f"it is not true {', '.join(head)} and {last}" if head else f"it is not true {last}"]


def _clause(sentence: str) -> str:
    """The sentence; "there is a cup on a table" for "a cup on a table"."""
    return sentence if re.search(r"(?<!\bthat )\b(?:is|are|has|have)\b", sentence) else f"there is {sentence}"
