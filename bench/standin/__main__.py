"""The former name of ``python -m bench.synthetic_data``."""

from bench.synthetic_data import __main__  # noqa: F401
