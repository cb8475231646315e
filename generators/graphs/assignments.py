"""Bounded search for assignments: a different value for each variable, such that pairs of values satisfy constraints.

The variables are the objects of a statement, and the values are the objects of an image or of another graph. The number
of assignments grows exponentially with the objects of one name, so a search stops after ``MAX_STEPS`` values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

Candidate = TypeVar("Candidate")

MAX_STEPS = 10_000
"""Maximum number of values that one search tries."""


class SearchLimitError(Exception):
    """A search tried ``MAX_STEPS`` values before it was complete."""


def keep_proven(
    candidates: Iterable[Candidate],
    is_proven: Callable[[Candidate], bool],
    undecided: list[Candidate],
    min_count: int = 0,
) -> list[Candidate]:
    """Return the candidates for which ``is_proven`` is True, or [] if there are fewer than ``min_count``.

    The checks stop when ``min_count`` is out of reach. Candidates whose check reaches the limit of its search are added
    to ``undecided``.
    """
    waiting = list(candidates)
    proven = []
    for num_checked, candidate in enumerate(waiting):
        if len(proven) + len(waiting) - num_checked < min_count:
            return []
        try:
            if is_proven(candidate):
                proven.append(candidate)
        except SearchLimitError:
            undecided.append(candidate)
    return proven if len(proven) >= min_count else []


class Constraint(NamedTuple):
    """A condition on the values of two variables, which may be the same variable."""

    first: str
    second: str
    allows: Callable[[str, str], bool]


def find_assignments(
    domains: Mapping[str, Sequence[str]], constraints: Sequence[Constraint] = ()
) -> Iterator[dict[str, str]]:
    """Yield every assignment of different values to the variables that satisfies all constraints.

    ``domains`` contains the possible values of each variable. Raises SearchLimitError if the search is not complete
    after ``MAX_STEPS`` values.
    """
    order = _sort_variables(domains, constraints)
    ranks = {variable: rank for rank, variable in enumerate(order)}
    # The constraints that each variable decides.
    decided: list[list[Constraint]] = [[] for _ in order]
    for constraint in constraints:
        decided[max(ranks[constraint.first], ranks[constraint.second])].append(constraint)
    assigned: dict[str, str] = {}
    steps = 0

    def extend(rank: int) -> Iterator[dict[str, str]]:
        nonlocal steps
        if rank == len(order):
            yield dict(assigned)
            return
        variable = order[rank]
        used = frozenset(assigned.values())
        for value in domains[variable]:
            steps += 1
            if steps > MAX_STEPS:
                raise SearchLimitError
            if value not in used:
                assigned[variable] = value
                if all(
                    item.allows(assigned[item.first], assigned[item.second])
                    for item in decided[rank]
                ):
                    yield from extend(rank + 1)
                del assigned[variable]

    if all(domains.values()):
        yield from extend(0)


def _sort_variables(
    domains: Mapping[str, Sequence[str]], constraints: Sequence[Constraint]
) -> list[str]:
    """Return the variables in the order of assignment: constrained by earlier variables first, then fewest values."""
    order: list[str] = []
    rest = list(domains)
    constrained = set[str]()
    while rest:
        variable = min(rest, key=lambda name: (name not in constrained, len(domains[name])))
        rest.remove(variable)
        order.append(variable)
        constrained.update(
            end
            for item in constraints
            if variable in (item.first, item.second)
            for end in (item.first, item.second)
        )
    return order
