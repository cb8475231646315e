"""The bounded search for assignments, compared with a search over all permutations."""

from collections.abc import Iterator
from functools import partial
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compeval.generators.graphs.assignments import (
    Constraint,
    SearchLimitError,
    find_assignments,
    keep_proven,
)

VALUES = "abcde"


def is_in(pairs: frozenset[tuple[str, str]], first: str, second: str) -> bool:
    return (first, second) in pairs


@st.composite
def problems(draw: st.DrawFn) -> tuple[dict[str, str], list[Constraint]]:
    domains = {
        name: "".join(draw(st.sets(st.sampled_from(VALUES))))
        for name in "wxyz"[: draw(st.integers(0, 4))]
    }
    pairs = st.frozensets(st.tuples(st.sampled_from(VALUES), st.sampled_from(VALUES)))
    ends = st.lists(
        st.tuples(st.sampled_from(list(domains)), st.sampled_from(list(domains))), max_size=3
    )
    allowed = [(first, second, draw(pairs)) for first, second in (draw(ends) if domains else [])]
    constraints = [
        Constraint(first, second, partial(is_in, values)) for first, second, values in allowed
    ]
    return domains, constraints


def enumerate_all(
    domains: dict[str, str], constraints: list[Constraint]
) -> Iterator[dict[str, str]]:
    for values in permutations(VALUES, len(domains)):
        assigned = dict(zip(domains, values, strict=True))
        if all(assigned[name] in domains[name] for name in domains) and all(
            item.allows(assigned[item.first], assigned[item.second]) for item in constraints
        ):
            yield assigned


@given(problems())
def test_all_assignments_are_found_once(problem: tuple[dict[str, str], list[Constraint]]) -> None:
    def sort(assignments: Iterator[dict[str, str]]) -> list[list[tuple[str, str]]]:
        return sorted(sorted(assigned.items()) for assigned in assignments)

    assert sort(find_assignments(*problem)) == sort(enumerate_all(*problem))


def test_a_search_without_an_answer_stops() -> None:
    # Twelve variables with the same eleven values have no assignment: the search would try 11! orders.
    domains = dict.fromkeys("lmnopqrstuvw", "abcdefghijk")
    with pytest.raises(SearchLimitError):
        next(find_assignments(domains))
    assert next(find_assignments(domains | {"w": ""}), None) is None


def test_checks_stop_when_too_few_candidates_can_be_proven() -> None:
    checked: list[int] = []

    def is_proven(number: int) -> bool:
        checked.append(number)
        if number == 3:
            raise SearchLimitError
        return number % 2 == 0

    undecided: list[int] = []
    assert keep_proven(range(6), is_proven, undecided) == [0, 2, 4]
    assert (checked, undecided) == ([0, 1, 2, 3, 4, 5], [3])
    checked.clear()
    assert keep_proven(range(6), is_proven, [], min_count=3) == [0, 2, 4]
    checked.clear()
    assert keep_proven(range(6), is_proven, [], min_count=5) == []
    assert checked == [0, 1, 2, 3]  # after 1 and 3 failed, only four of six could be proven
