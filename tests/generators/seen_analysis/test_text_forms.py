"""A caption is seen in whatever form the corpus writes it."""

import gzip
import html
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from compeval.base.readers.corpora import list_shards
from compeval.generators.parser.caption_parser import CaptionParser, make_parser
from compeval.generators.seen_analysis.engines import make_local_engine
from compeval.generators.seen_analysis.seen import analyse
from compeval.generators.seen_analysis.shards import Search
from compeval.generators.seen_analysis.targets import Targets

CAPTIONS = (
    "a red caf\u00e9 next to a house",
    "a green pi\u00f1ata on a table",
    'a bold "na\u00efve" painting',
    "a black & white photograph of a dog",
    "a man's hat under a chair",
    "a small boy with a kite",
)


def number(text: str) -> str:
    """Return the text with HTML's numeric entities for all but ASCII and for quotes."""
    escaped = html.escape(text, quote=True)
    return "".join(mark if mark.isascii() else f"&#{ord(mark)};" for mark in escaped)


FORMS: dict[str, Callable[[str], str]] = {
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "entities": number,
    "entities of entities": lambda text: html.escape(number(text)),
    "zero-width spaces": lambda text: text.replace(" ", " \u200b").replace("e", "e\u200b"),
    "byte-order marks": lambda text: f"\ufeff{text}\ufeff",
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "soft hyphens": lambda text: text.replace("t", "t\u00ad"),
}


@pytest.fixture(scope="module")
def parser() -> CaptionParser:
    return make_parser()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["txt", "jsonl.gz"])
def test_the_seen_analysis_finds_every_target_in_every_form(
    tmp_path: Path, parser: CaptionParser, form: str, kind: str
):
    targets = Targets.of(parse.graph for parse in parser.parse(list(CAPTIONS)))
    assert len(targets.compounds) >= len(CAPTIONS)
    lines = [FORMS[form](text) for text in CAPTIONS]
    if kind == "txt":
        content = "\n".join(lines).encode()
    else:
        content = gzip.compress("".join(json.dumps({"caption": x}) + "\n" for x in lines).encode())
    (tmp_path / f"corpus.{kind}").write_bytes(content)
    search = Search(targets, tuple(list_shards(str(tmp_path / f"corpus.{kind}"))), "caption")
    result = analyse(
        search, tmp_path / "work", make_local_engine(lambda: parser, 1), progress=False
    )
    missing = [item for index, item in enumerate(targets.items) if index not in result.counts]
    assert not missing
    assert not result.failures
