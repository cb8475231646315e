"""Load datasets, write their cards, and import published benchmarks and the user's own files."""
