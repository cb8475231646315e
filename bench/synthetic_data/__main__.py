"""``python -m bench.synthetic_data``."""

from bench.synthetic_data.formats import app

app()
