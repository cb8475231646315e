"""Words: WordNet, inflection and the lexicon."""

CACHED_WORDS, CACHED_PAIRS = 1 << 14, 1 << 16
"""Entries of a cache by word and by pair of words. The names of Visual Genome's objects have a long tail."""
