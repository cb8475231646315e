"""Numbers of rows that show a difference of two models on the same rows: the power of McNemar's test.

Source: Connor 1987, Biometrics 43(1): n = (z_(1 - alpha/2) sqrt(psi) + z_power sqrt(psi - d^2))^2 / d^2 rows for a
difference d of two shares, if the models disagree (one is right, the other wrong) on a share psi of the rows. Rows of
one image are not independent: n is multiplied by the design effect.
"""

from __future__ import annotations

from scipy.optimize import brentq
from scipy.stats import norm

LEVEL = 0.05
POWER = 0.8


def count_rows(
    difference: float,
    disagreement: float,
    power: float = POWER,
    level: float = LEVEL,
    design_effect: float = 1,
) -> float:
    """Return the number of rows that show a difference with the given power in a two-sided test.

    Raises ValueError if the difference is not between 0 and the disagreement.
    """
    if not 0 < difference <= disagreement <= 1:
        raise ValueError(
            f"A difference of {100 * difference:g} points needs models that disagree on at least as many percent of "
            f"the rows; got {100 * disagreement:g} %."
        )
    spread = (
        norm.ppf(1 - level / 2) * disagreement**0.5
        + norm.ppf(power) * (disagreement - difference**2) ** 0.5
    )
    return design_effect * float(spread / difference) ** 2


def find_difference(
    rows: float,
    disagreement: float,
    power: float = POWER,
    level: float = LEVEL,
    design_effect: float = 1,
) -> float | None:
    """Return the smallest difference that the rows show with the given power, or None if they show none."""

    def excess(difference: float) -> float:
        return count_rows(difference, disagreement, power, level, design_effect) - rows

    if disagreement <= 0 or excess(disagreement) > 0:
        return None
    return float(brentq(excess, 1e-9, disagreement))  # pyright: ignore[reportArgumentType]
