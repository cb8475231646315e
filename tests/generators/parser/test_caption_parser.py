"""A caption that a parser cannot parse does not affect the other captions."""

from collections.abc import Iterable, Iterator

from spacy.language import Language

from compeval.base.schemas.scene_graph import Parse
from compeval.generators.parser.caption_parser import parse_each
from compeval.generators.parser.rule_parser import RuleParser
from tests.generators.fake_language import FakeParser


class FailingParser(FakeParser):
    """Raises an error for captions with the word "bad", after the parses of the captions before it."""

    def parse(self, captions: Iterable[str]) -> Iterator[Parse]:
        for parse in super().parse(captions):
            if "bad" in parse.caption.split():
                raise IndexError(parse.caption)
            yield parse


def test_an_error_replaces_the_parse_of_its_caption_only() -> None:
    captions = ["red cat", "bad dog", "dog see cat", "bad", "cat"]
    results = parse_each(FailingParser(), captions)
    assert [isinstance(result, Exception) for result in results] == [
        False,
        True,
        False,
        True,
        False,
    ]
    assert [str(results[1]), str(results[3])] == ["bad dog", "bad"]
    good = [result for result in results if isinstance(result, Parse)]
    assert good == list(FakeParser().parse(["red cat", "dog see cat", "cat"]))
    assert parse_each(FailingParser(), []) == []


def test_an_error_inside_spacy_is_caught(monkeypatch) -> None:
    parser = RuleParser()
    make_doc = Language.make_doc

    def fail(language: Language, text: str):
        if "bad" in text:
            raise OverflowError(text)
        return make_doc(language, text)

    monkeypatch.setattr(Language, "make_doc", fail)
    results = parse_each(parser, ["a red cat", "a bad cat", "a big dog"])
    assert isinstance(results[1], OverflowError)
    texts = [
        {atom.text for atom in result.graph.atoms}
        for result in results
        if isinstance(result, Parse)
    ]
    assert texts == [{"cat", "red"}, {"dog", "big"}]
