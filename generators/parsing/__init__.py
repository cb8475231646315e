"""The parts of the caption parser (generators/parser.py)."""
