"""Dataset folders as ``datasets.Dataset``: loading, dataset cards, published benchmarks and a user's own files."""
