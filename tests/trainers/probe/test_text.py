"""The training text of recovery probes has CompPrompts' words and none of its pairs."""

from itertools import islice

import pytest
import yaml

from generators import compprompts
from generators.language.texts import words
from trainers.probe import overlap as probe_overlap
from trainers.probe import text as probe_text


def prompt(text: str, *nouns: str) -> dict:
    return {"prompt": text, "atoms": [{"kind": "noun", "text": noun} for noun in nouns]}


PROMPTS = probe_overlap.of_rows(
    [
        prompt("a cat", "cat"),
        prompt("two guinea pigs chasing an ox", "guinea pig", "ox"),
        prompt("a cat and a dog", "cat", "dog"),
    ]
)
LISTED = {
    "nouns": ["cat", "dog", "ox", "guinea pig"],
    "adjectives": {"color": ["red", "orange"]},
    "intransitive": ["yawn"],
    "transitive": ["chase"],
}


@pytest.mark.parametrize(
    ("caption", "is_prompt", "has_pair"),
    [
        ("A cat ", True, False),
        ("the cat", False, False),
        ("three dogs and the cats at sunset", False, True),
        ("the oxen by a guinea pig", False, True),
        ("a pig and an ox", False, False),
        ("a cat before an ox", False, False),
    ],
)
def test_overlap_by_hand(caption: str, is_prompt: bool, has_pair: bool):
    assert PROMPTS.has(caption) is is_prompt
    assert PROMPTS.has_pair(caption) is has_pair


def test_overlap_counts_captions():
    found = PROMPTS.overlap(["a cat", "a dog", "dogs and cats", "cats"])
    assert found == (4, 1, 1)
    assert str(found) == "4 captions; 1 are a prompt of CompPrompts, 1 have both nouns of one"


def test_captions_have_no_prompt_and_no_pair():
    listed = probe_text.read_words(LISTED)
    found = list(probe_text.captions(listed, 2000, 0, PROMPTS))
    assert len(set(found)) == 2000
    assert PROMPTS.overlap(found) == (2000, 0, 0)
    used = {word for caption in found for word in words(caption)}
    assert {"cat", "cats", "oxen", "guinea", "yawning", "chasing", "orange", "left", "before", "not"} <= used
    assert not any(" a orange" in f" {caption}" or " an red" in f" {caption}" for caption in found)


def test_the_same_captions_for_the_same_seed():
    listed = probe_text.read_words(LISTED)
    first, again, other = (list(islice(probe_text.captions(listed, 50, seed, PROMPTS), 50)) for seed in (0, 0, 1))
    assert first == again != other


def test_a_grammar_without_allowed_captions_says_so():
    class Nothing(probe_overlap.Prompts):
        def has(self, caption: str) -> bool:
            return True

    with pytest.raises(ValueError, match="5 captions requested; the grammar has little more than 0"):
        list(probe_text.captions(probe_text.read_words(LISTED), 5, 0, Nothing(frozenset(), frozenset())))


def test_the_words_are_those_of_compprompts():
    listed = yaml.safe_load((compprompts.WORDS.parents[2] / "sample/words/compprompts.yaml").read_text())
    found = probe_text.read_words(listed)
    assert {"hippopotami", "hippopotamuses"} & {plural for _, plural in found.nouns}
    assert {noun for noun, _ in found.nouns} >= set(listed["nouns"])


def test_no_prompts_no_overlap(tmp_path):
    with pytest.raises(FileNotFoundError, match="dvc repro compprompts"):
        probe_overlap.read(tmp_path)
