"""Captioners, which write the caption of a subgraph. If the subgraph is edited, the caption can be edited in the same
style.

Source: CREPE (arXiv:2212.07796), appendix A.3: a template for four atoms, a few-shot prompted language model for more.
Difference from the paper: by default, captions of more than four atoms are written by our grammar (realiser.py), which
needs no API key. The column ``provenance`` names the captioner of each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from generators.captioner import realiser, template
from generators.graphs.entailment import Negated, find_counterpart
from generators.schemas.scene_graph import Mention, SceneGraph


class EditableCaption(Protocol):
    """A caption that can be written for an edited graph in the same style.

    ``captioner`` is the name in the column ``provenance``. ``mentions`` are the positions of the graph's atoms in
    ``text``.
    """

    @property
    def captioner(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def mentions(self) -> tuple[Mention, ...]: ...

    def edit(self, edited: SceneGraph) -> str | None:
        """Return the caption of an edited graph, or None if the edit cannot be expressed.

        The edited graph has the same ids, and other names, attributes or predicates.
        """
        ...

    def negate(self, negated: Negated, edited: SceneGraph | None = None) -> str | None:
        """Return the caption with one atom negated, or None if the negation cannot be expressed.

        With ``edited``, the atom at the same position in the edited graph is negated instead.
        """
        ...

    def negate_all(self) -> list[str]:
        """Return the negations of the whole caption."""
        ...


class NoCaption(NamedTuple):
    """The reason why a graph has no caption."""

    reason: str


class Request(NamedTuple):
    """A graph that needs a caption. ``seed`` selects the wording."""

    graph: SceneGraph
    seed: str


class Captioner(Protocol):
    def captions(self, requests: Iterable[Request]) -> Iterator[EditableCaption | NoCaption]:
        """Yield one result per request, in order."""
        ...


@dataclass(frozen=True)
class GrammarCaption:
    """A caption by the template or the grammar. An edited caption is written from the edited graph."""

    graph: SceneGraph
    seed: str
    text: str
    mentions: tuple[Mention, ...]

    @property
    def captioner(self) -> str:
        return "template" if self.graph.complexity == template.COMPLEXITY else "grammar"

    def edit(self, edited: SceneGraph) -> str | None:
        return realiser.write_text(edited, self.seed) if realiser.can_express(edited) else None

    def negate(self, negated: Negated, edited: SceneGraph | None = None) -> str | None:
        if edited is None:
            return realiser.write_text(self.graph, self.seed, negated)
        if not realiser.can_express(edited):
            return None
        return realiser.write_text(edited, self.seed, find_counterpart(negated, self.graph, edited))

    def negate_all(self) -> list[str]:
        return realiser.negate_all(self.graph, self.seed)


class GrammarCaptioner:
    """Writes captions of four atoms with the template, and longer captions with the grammar."""

    def captions(self, requests: Iterable[Request]) -> Iterator[EditableCaption | NoCaption]:
        for graph, seed in requests:
            if realiser.can_express(graph):
                yield GrammarCaption(graph, seed, *realiser.write_caption(graph, seed))
            else:
                yield NoCaption("no place in the template")
