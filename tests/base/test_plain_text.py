"""Texts as they may be shown and stored."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compeval.base.plain_text import (
    escape_controls,
    strip_controls,
    strip_folders,
    strip_url,
    strip_urls,
)


@given(st.text())
def test_a_terminal_gets_no_control_character(text: str):
    stripped = strip_controls(text)
    codes = set(map(ord, stripped))
    assert not codes & ({*range(0x20), *range(0x7F, 0xA0)} - {9, 10})
    assert stripped == text or set(map(ord, text)) & {*range(0x20), *range(0x7F, 0xA0)}
    assert json.loads(escape_controls(json.dumps(text, ensure_ascii=False))) == text


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://user:password@host:8000/v1", "http://host:8000/v1"),
        ("https://host/v1/?token=abc#part", "https://host/v1/"),
        ("http://me@host", "http://host"),
        ("http://user:p@ss@host/v1", "http://host/v1"),
        ("https://host/a@b/c", "https://host/a@b/c"),
    ],
)
def test_of_a_url_scheme_host_and_path_are_left(url: str, expected: str):
    assert strip_url(url) == strip_urls(url) == expected
    assert (
        strip_urls(f"{url}: refused ({url}). Or {url}")
        == f"{expected}: refused ({expected}). Or {expected}"
    )


def test_the_quoted_url_of_a_setting_has_no_password():
    spec = "api:model?base_url=http://user:pass%40word%40host/v1%3Ftoken%3Dabc&concurrency=2"
    assert strip_urls(spec) == "api:model?base_url=http://host/v1&concurrency=2"
    assert strip_urls("a caption about 3://4 and http://") == "a caption about 3://4 and http://"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("local:/home/John Doe/models/clip", "local:clip"),
        ("ViT-B-32//home/me/w.pt", "ViT-B-32/w.pt"),
        ("transformers:C:\\Users\\me\\w", "transformers:w"),
        ("row 3: '/home/me/p.jpg' is not the image", "row 3: 'p.jpg' is not the image"),
        (
            "hf-hub:org/name, checkpoints/a/b and http://host/v1/x",
            "hf-hub:org/name, checkpoints/a/b and http://host/v1/x",
        ),
    ],
)
def test_of_an_absolute_path_the_last_part_is_left(text: str, expected: str):
    assert strip_folders(text) == expected
