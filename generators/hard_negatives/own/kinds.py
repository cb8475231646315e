"""The kinds of hard negatives of the user's own captions."""

NEGATION = "negation"
SIZES = {"atom": 1, "comp": 1, "swap": 1, NEGATION: 1}
"""Hard negatives per caption for each kind that the rules of CREPE make."""
ORDER = "order"
"""The shuffles of ARO."""
KINDS = (*SIZES, ORDER)
