"""Captioners, which write the caption of a subgraph. If the subgraph is edited, the caption can be edited in the same
style.

Source: CREPE (arXiv:2212.07796), appendix A.3: a template for four atoms, a few-shot prompted language model for more.
Difference from the paper: by default, our grammar (realiser.py) writes all captions. It needs no API key, and captions
of four atoms have the style of longer ones, so that a score over the number of atoms does not compare two styles. The
column ``provenance`` names the captioner of each row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import compress
from operator import not_
from typing import NamedTuple, Protocol

from compeval.base.schemas.scene_graph import Mention, SceneGraph
from compeval.generators.captioner import realiser, template
from compeval.generators.captioner.words import join_pieces, join_text
from compeval.generators.graphs.entailment import Negated, find_counterpart

GRAMMAR = "grammar"
TEMPLATE = "template"
MAX_REWORDINGS = 12
"""Number of other captions of a graph that the grammar writes; some of them are equal."""


@dataclass(frozen=True)
class EditableCaption(ABC):
    """A caption that can be written for an edited graph in the same style.

    An edited graph has the same ids, and other names, attributes or predicates.
    """

    graph: SceneGraph
    text: str
    mentions: tuple[Mention, ...]
    """The positions of the graph's atoms in ``text``."""
    captioner: str
    """The name in the column ``provenance``."""

    def edit(self, edited: SceneGraph) -> str | None:
        """Return the caption of an edited graph, or None if the edit cannot be expressed."""
        return self.negate(edited=edited)

    @abstractmethod
    def negate(self, *negated: Negated, edited: SceneGraph | None = None) -> str | None:
        """Return the caption with some atoms negated, or None if a negation cannot be expressed.

        With ``edited``, the caption of the edited graph is negated, at the positions of these atoms.
        """

    @abstractmethod
    def negate_all(self) -> list[str]:
        """Return the negations of the whole caption, which have the same meaning, or [] if they may be true."""

    def reword(self) -> Iterator[EditableCaption]:
        """Yield other captions of the same graph, if the captioner has any."""
        return iter(())


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
class GrammarCaption(EditableCaption):
    """A caption by the grammar. An edited caption is written from the edited graph."""

    seed: str

    def negate(self, *negated: Negated, edited: SceneGraph | None = None) -> str | None:
        graph = edited or self.graph
        return realiser.write_text(
            graph, self.seed, [find_counterpart(atom, self.graph, graph) for atom in negated]
        )

    def negate_all(self) -> list[str]:
        return realiser.negate_all(self.graph, self.seed)

    def reword(self) -> Iterator[EditableCaption]:
        return GrammarCaptioner().captions(
            Request(self.graph, f"{self.seed}:{number}") for number in range(MAX_REWORDINGS)
        )


class GrammarCaptioner:
    """Writes captions with the grammar."""

    def captions(self, requests: Iterable[Request]) -> Iterator[GrammarCaption]:
        for graph, seed in requests:
            yield GrammarCaption(graph, *realiser.write_caption(graph, seed), GRAMMAR, seed)


class TemplateCaption(EditableCaption):
    """A caption by the paper's template. An edited caption is written from the edited graph."""

    def negate(self, *negated: Negated, edited: SceneGraph | None = None) -> str | None:
        graph = edited or self.graph
        if not template.can_express(graph):
            return None
        return join_text(
            template.write_caption(
                graph, [find_counterpart(atom, self.graph, graph) for atom in negated]
            )
        )

    def negate_all(self) -> list[str]:
        return [join_text(template.negate_all(self.graph))]


class TemplateCaptioner:
    """Writes captions of four atoms with the paper's template."""

    def captions(self, requests: Iterable[Request]) -> Iterator[EditableCaption | NoCaption]:
        for graph, _ in requests:
            if template.can_express(graph):
                yield TemplateCaption(graph, *join_pieces(template.write_caption(graph)), TEMPLATE)
            else:
                yield NoCaption("no place in the template")


@dataclass(frozen=True)
class CaptionerByComplexity:
    """One captioner for graphs of four atoms and another for longer ones."""

    four_atoms: Captioner
    longer: Captioner

    def captions(self, requests: Iterable[Request]) -> Iterator[EditableCaption | NoCaption]:
        requests = list(requests)
        has_four_atoms = [request.graph.complexity == template.COMPLEXITY for request in requests]
        four_atoms = self.four_atoms.captions(compress(requests, has_four_atoms))
        longer = self.longer.captions(compress(requests, map(not_, has_four_atoms)))
        for four in has_four_atoms:
            yield next(four_atoms if four else longer)
