"""Captioners: they turn a subgraph into a caption that follows edits of the subgraph.

Source: CREPE (arXiv:2212.07796), appendix A.3: a template for four atoms, a few-shot prompted language model for more.
Differs from it in: the default for more atoms is our grammar, which needs no key. Provenance names the captioner of
each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from generators.captioner import realiser, template
from generators.graphs.entailment import Negated, counterpart
from generators.schemas.scene_graph import Mention, SceneGraph


class EditableCaption(Protocol):
    """A caption that can be generated from an edited graph in the same style; None if the edit cannot be expressed.

    ``captioner`` goes into the provenance; ``mentions`` are the positions of the graph's atoms in ``text``.
    """

    @property
    def captioner(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def mentions(self) -> tuple[Mention, ...]: ...

    def edit(self, edited: SceneGraph) -> str | None:
        """Return the caption of a graph with the same ids and other names, attributes or predicates."""
        ...

    def negate(self, negated: Negated, edited: SceneGraph | None = None) -> str | None:
        """Return the caption with one atom, or its replacement in an edited graph, negated."""
        ...

    def negate_all(self, edited: SceneGraph | None = None) -> list[str]:
        """Return the negations of the whole caption, or of that of an edited graph: one per suitable construction."""
        ...


class NoCaption(NamedTuple):
    """The reason why a graph has no caption."""

    reason: str


class Request(NamedTuple):
    """A graph to be captioned; ``seed`` selects among phrasings."""

    graph: SceneGraph
    seed: str


class Captioner(Protocol):
    def captions(self, requests: Iterable[Request]) -> Iterator[EditableCaption | NoCaption]:
        """Yield one result per request, in order."""
        ...


@dataclass(frozen=True)
class GrammarCaption:
    """A caption of the template or the grammar; edits are realised from the edited graph."""

    graph: SceneGraph
    seed: str
    text: str
    mentions: tuple[Mention, ...]

    @property
    def captioner(self) -> str:
        return "template" if self.graph.complexity == template.SIZE else "grammar"

    def edit(self, edited: SceneGraph) -> str | None:
        return realiser.realise(edited, self.seed).text if realiser.supports(edited) else None

    def negate(self, negated: Negated, edited: SceneGraph | None = None) -> str | None:
        if edited is None:
            return realiser.realise(self.graph, self.seed, negated).text
        if not realiser.supports(edited):
            return None
        return realiser.realise(edited, self.seed, counterpart(negated, self.graph, edited)).text

    def negate_all(self, edited: SceneGraph | None = None) -> list[str]:
        graph = edited or self.graph
        return realiser.negate_all(graph, self.seed) if realiser.supports(graph) else []


class GrammarCaptioner:
    """The template for four atoms, the grammar for more."""

    def captions(self, requests: Iterable[Request]) -> Iterator[EditableCaption | NoCaption]:
        for graph, seed in requests:
            if realiser.supports(graph):
                yield GrammarCaption(graph, seed, *realiser.realise(graph, seed))
            else:
                yield NoCaption("no place in the template")
