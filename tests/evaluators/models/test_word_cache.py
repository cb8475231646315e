"""The cache of words returns the tokens of open_clip's tokeniser."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from open_clip.tokenizer import SimpleTokenizer

from compeval.evaluators.models.word_cache import WordCache, cache_words

CLEANING = ("lower", "whitespace", "canonicalize")
TOKENIZERS = {clean: SimpleTokenizer(context_length=16, clean=clean) for clean in CLEANING}
CACHES = {clean: WordCache(tokenizer) for clean, tokenizer in TOKENIZERS.items()}
TEXTS = [
    "",
    " ",
    "A dog's ball isn't red;  it'll be 12.5m2 (really?)",
    "tab\tand\nline\r\nbreaks\x0b\x1c\x1f",
    "control \x00\x07 \x1b[31mred\x1b[0m",
    "&amp; &lt;b&gt; AT&T &amp;amp;",
    "<start_of_text> <end_of_text><END_OF_TEXT>",
    "café “curly” ﬁ Ⅻ ½ 東京 😀 e\u0301 \u00a0 \u200b",
    "a_b__c --- ... !!!??? ~`^|\\ {}[]<> $%#@*+=/",
    "one " * 40,
    "supercalifragilisticexpialidocious" * 4,
]


@pytest.mark.parametrize("clean", CLEANING)
@pytest.mark.parametrize("length", [None, 3, 17, 77])
def test_strange_texts(clean: str, length: int | None):
    expected = TOKENIZERS[clean](TEXTS, context_length=length)
    for _ in range(2):  # the second time, from the cache
        assert torch.equal(CACHES[clean](TEXTS, context_length=length), expected)


ALPHABET = st.sampled_from("aAbE0 1.,'\"-&;<>_\t\n\x85é…’ﬀ東#")


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=30), st.text(ALPHABET, max_size=30)), st.sampled_from(CLEANING))
def test_random_texts(text: str, clean: str):
    assert torch.equal(CACHES[clean]([text]), TOKENIZERS[clean]([text]))


def test_other_tokenisers_stay():
    def tokenize(texts):
        return torch.zeros(len(texts), 4)

    random = SimpleTokenizer(context_length=16, reduction_mask="random")
    assert cache_words(tokenize) is tokenize
    assert cache_words(random) is random
    assert isinstance(cache_words(TOKENIZERS["lower"]), WordCache)
