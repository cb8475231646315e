"""Captioners: a subgraph in, its caption and the ways to falsify it out.

Source: CREPE (arXiv:2212.07796), appendix A.3: a template for four atoms, a language model with few-shot prompts for
more. The default for more is our grammar realiser, so that no key is needed; provenance names each row's captioner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from generators.captioner import realiser, template
from generators.graphs.entailment import Negated, counterpart
from generators.schemas.scene_graph import Mention, SceneGraph

TEMPLATE, GRAMMAR = "template", "grammar"


class Wording(Protocol):
    """A caption that can be worded anew after an edit of its graph, in the same style; None where it cannot."""

    @property
    def captioner(self) -> str: ...
    @property
    def caption(self) -> str: ...
    @property
    def mentions(self) -> tuple[Mention, ...]: ...

    def say(self, edited: SceneGraph) -> str | None:
        """The caption with names, attributes or predicates exchanged or moved; the ids tell what became what."""
        ...

    def negate(self, negated: Negated, edited: SceneGraph | None = None) -> str | None:
        """The caption with one atom denied, or what an edit put in its place."""
        ...

    def deny(self, edited: SceneGraph | None = None) -> list[str]:
        """The whole caption, or an edited one, denied in each form that fits."""
        ...


class Refusal(NamedTuple):
    """Why a graph got no caption; ``reason`` is what the stage counts."""

    reason: str


class Request(NamedTuple):
    """``seed`` decides among wordings."""

    graph: SceneGraph
    seed: str


class Captioner(Protocol):
    def word(self, requests: Iterable[Request]) -> Iterator[Wording | Refusal]:
        """One answer a request, in order."""
        ...


@dataclass(frozen=True)
class RealisedWording:
    """A caption of the template or the grammar; its edits are realised afresh from the edited graph."""

    graph: SceneGraph
    seed: str
    caption: str
    mentions: tuple[Mention, ...]

    @property
    def captioner(self) -> str:
        return TEMPLATE if self.graph.complexity == template.SIZE else GRAMMAR

    def say(self, edited: SceneGraph) -> str | None:
        return realiser.realise(edited, self.seed).caption if realiser.fits(edited) else None

    def negate(self, negated: Negated, edited: SceneGraph | None = None) -> str | None:
        if edited is None:
            return realiser.realise(self.graph, self.seed, negated).caption
        if not realiser.fits(edited):
            return None
        return realiser.realise(edited, self.seed, counterpart(negated, self.graph, edited)).caption

    def deny(self, edited: SceneGraph | None = None) -> list[str]:
        graph = edited or self.graph
        return [denial.caption for denial in realiser.deny(graph, self.seed)] if realiser.fits(graph) else []


class GrammarCaptioner:
    """The template for four atoms, the grammar for more."""

    def word(self, requests: Iterable[Request]) -> Iterator[Wording | Refusal]:
        for graph, seed in requests:
            if realiser.fits(graph):
                said = realiser.realise(graph, seed)
                yield RealisedWording(graph, seed, said.caption, said.mentions)
            else:
                yield Refusal("no place in the template")
