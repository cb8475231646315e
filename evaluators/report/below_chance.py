"""Explain results below chance by the form of the sets, with the balanced sets as control.

In the paper's sets, every negative is an edit of the true caption. The true caption lies between its negatives, so a
scorer that knows nothing rarely ranks it above all of them: random word weights (stage ``text_only``) select it less
often than 1/K. The captions of a balanced set differ from each other in the same way, and random word weights are at
chance. A model that is below chance on the first and not on the second is misled by the form of the sets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import mean

from evaluators.metrics.intervals import compute_share_interval
from evaluators.report.headlines import count_models, read_hits
from evaluators.report.results import Result, Results
from evaluators.report.text_only import find_group

CONTROL = "_balanced"
"""Suffix of the kinds of hard negatives that are the control of another kind."""
RANDOM = "Random word weights, which know nothing of the image, reach {:.1%}"


def explain_below_chance(
    results: Results, titles: Mapping[str, str], select: Callable[[str], Sequence[Result]]
) -> list[str]:
    """Return a line for each kind on which the models together and random word weights are below chance.

    ``titles``: kind of hard negatives -> its title. ``select`` returns the results of a kind, over all its sets.
    """
    lines = []
    for kind, title in titles.items():
        members = select(kind)
        if not members or kind.endswith(CONTROL):
            continue
        relation, values = _compare(members)
        random = _average_random_recall(results, members)
        if relation == "below" and random is not None and random < members[0].data["chance"]["recall@1"]:
            line = f"{title} Recall@1 is below chance, {values}. {RANDOM.format(random)}."
            lines.append(line + _describe_control(results, select(f"{kind}{CONTROL}")))
    return lines


def _describe_control(results: Results, members: Sequence[Result]) -> str:
    if not members:
        return ""
    relation, values = _compare(members)
    random = _average_random_recall(results, members)
    weights = "" if random is None else f", and random word weights reach {random:.1%}"
    return f" On the balanced sets it is {relation} chance, {values}{weights}."


def _compare(members: Sequence[Result]) -> tuple[str, str]:
    """Return how the results together compare with chance, and Recall@1 with its interval."""
    rows = read_hits(members, "task", [result.data["task"] for result in members])
    chance = members[0].data["chance"]["recall@1"]
    low, high = compute_share_interval(rows["hit"].to_numpy(dtype=float), rows["image_id"].tolist())
    relation = "below" if high < chance else "above" if low > chance else "not different from"
    values = (
        f"{rows['hit'].mean():.1%} (95 % interval {100 * low:.1f} to {100 * high:.1f}; {len(rows):,} rows, "
        f"{count_models(rows)}; chance {chance:.1%})"
    )
    return relation, values


def _average_random_recall(results: Results, members: Sequence[Result]) -> float | None:
    """Return Recall@1 of random word weights on the sets of the results, or None if it was not measured."""
    groups = (find_group(results, result) for result in members)
    values = [group["random_scorers"] for group in groups if group and "random_scorers" in group]
    return mean(values) if values else None
