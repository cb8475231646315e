"""Words: WordNet, inflection and the lexicon."""

# The names of Visual Genome's objects have a long tail.
CACHED_WORDS = 1 << 14
"""Entries of a cache by word."""
CACHED_PAIRS = 1 << 16
"""Entries of a cache by pair of words."""
