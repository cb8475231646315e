"""What repairs of a dependency tree do: look at a token's children, hang it elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from generators.parser.sentence import Sentence

_REACH = 40
"""How many tokens away a child is looked for, so that a long text costs no more a word than a caption."""


def is_noun(s: Sentence, index: int) -> bool:
    return s.tags[index].startswith("NN")


def kids(s: Sentence, index: int) -> list[int]:
    """The children within :data:`_REACH` tokens, so that a long text costs no more a word than a caption."""
    near = range(max(0, index - _REACH), min(len(s.words), index + _REACH + 1))
    return [kid for kid in near if s.heads[kid] == index and kid != index]


def attach(s: Sentence, index: int, head: int, dep: str) -> None:
    """Hang a token on another, unless that hangs on it: no repair makes a cycle."""
    if index == head or not s.hangs_on(head, index):
        s.heads[index], s.deps[index] = head, dep


def move(s: Sentence, index: int, head: int) -> None:
    """Hang a token on another with the label that it has."""
    attach(s, index, head, s.deps[index])


def replace(s: Sentence, old: int, new: int) -> None:
    """Put ``new`` where ``old`` hangs."""
    if s.heads[old] == old:
        attach(s, new, new, s.deps[old])
    else:
        attach(s, new, s.heads[old], s.deps[old])


def left_edge(s: Sentence, noun: int) -> int:
    """The first of the tokens in front of a noun that hang on it."""
    edge = noun
    while edge and s.heads[edge - 1] == noun:
        edge -= 1
    return edge
