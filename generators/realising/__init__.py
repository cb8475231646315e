"""The parts of the grammar realiser: words, then phrases and clauses; generators/realiser.py plans the text."""
