"""The kinds of hard negatives of the user's own captions."""

SIZES = {"atom": 4, "comp": 6, "swap": 1, "negation": 1}
"""Hard negatives per caption for each kind that the rules of CREPE make."""
ORDER = "order"
"""The shuffles of ARO."""
KINDS = (*SIZES, ORDER)
