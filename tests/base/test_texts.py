import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compeval.base.texts import (
    compose_characters,
    fold_case_and_space,
    have_same_words,
    normalize_text,
    words,
)


def test_words_are_runs_of_letters_digits_and_underscores():
    assert words("A dog's T-shirt, no. 5") == ["a", "dog", "s", "t", "shirt", "no", "5"]


def test_same_words_counts_each_word():
    assert have_same_words("a cup on a Table", "table, on: a a cup")
    assert not have_same_words("a cup on a table", "a cup on table")
    assert not have_same_words("a cup and a hat", "a cup and a cup")


def test_fold_case_and_space_ignores_case_and_white_space():
    assert fold_case_and_space(" A  cup ") == fold_case_and_space("a CUP")
    assert fold_case_and_space("a cup.") != fold_case_and_space("a cup .")


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("a cafe\u0301", "a caf\u00e9"),
        ("bread &amp; butter", "bread & butter"),
        ("bread &amp;amp;#38; butter", "bread & butter"),
        ("a caf&eacute; &quot;R&B&quot;", 'a caf\u00e9 "R&B"'),
        ("AT&T, R&D &notebook; &co", "AT&T, R&D &notebook; &co"),
        ("\ufeffa red\u200b \u200bball\u00ad", "a red ball"),
        ("a\u00a0red\u202fball&nbsp;", "a red ball "),
        ("a\u200dred\u200cball", "aredball"),
        (
            "\U0001f469\u200d\U0001f467 می\u200cخواهم ❤\ufe0f",
            "\U0001f469\u200d\U0001f467 می\u200cخواهم ❤\ufe0f",
        ),
        ("&#0; &#55357; &#1114112;", "\ufffd \ufffd \ufffd"),
        ("&am\u200bp;", "&"),
    ],
)
def test_the_normal_form(text: str, form: str):
    assert normalize_text(text) == form == normalize_text(form)


@given(
    st.text(
        alphabet=st.sampled_from("aé\u0301\u200b\u200d\u00a0&;#38ampltgt\U0001f469")
        | st.characters()
    )
)
def test_the_normal_form_of_a_normal_form_is_itself(text: str):
    form = normalize_text(text)
    assert unicodedata.is_normalized("NFC", form)
    assert normalize_text(form) == form
    if text.isascii() and "&" not in text:
        assert form == text


def test_an_ampersand_that_was_escaped_a_million_times_is_read_in_linear_time():
    assert normalize_text("&" + "amp;" * 1_000_000) == "&"


def test_texts_are_compared_in_their_normal_form():
    assert fold_case_and_space("A CAFE\u0301 &amp; bar\u200b") == fold_case_and_space(
        "a caf\u00e9 & bar"
    )
    assert have_same_words("caf\u00e9 on a table", "a table on cafe\u0301")
    assert compose_characters("cafe\u0301 &amp;\u200b") == "caf\u00e9 &amp;\u200b"
