"""Tests of the training text of recovery probes, which has CompPrompts' words but none of its noun pairs."""

import pytest
import yaml

from compeval.base.texts import words
from compeval.generators import compprompts
from compeval.trainers.probe import overlap as probe_overlap
from compeval.trainers.probe import text as probe_text


def make_row(text: str, *nouns: str) -> dict:
    return {"prompt": text, "atoms": [{"kind": "noun", "text": noun} for noun in nouns]}


PROMPTS = probe_overlap.collect_prompts(
    [
        make_row("a cat", "cat"),
        make_row("two guinea pigs chasing an ox", "guinea pig", "ox"),
        make_row("a cat and a dog", "cat", "dog"),
    ]
)
WORDS = probe_text.inflect_words(
    {
        "nouns": ["cat", "dog", "ox", "guinea pig"],
        "adjectives": {"color": ["red", "orange"]},
        "intransitive": ["yawn"],
        "transitive": ["chase"],
    }
)


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
def test_prompts_and_noun_pairs_are_recognised(caption: str, is_prompt: bool, has_pair: bool):
    assert PROMPTS.has_prompt(caption) is is_prompt
    assert PROMPTS.has_pair(caption) is has_pair


def test_overlap_counts_captions():
    overlap = PROMPTS.count_overlap(["a cat", "a dog", "dogs and cats", "cats"])
    assert overlap == (4, 1, 1)
    assert (
        str(overlap)
        == "4 captions; 1 are a prompt of CompPrompts, 1 contain two nouns of the same prompt"
    )


def test_captions_contain_no_prompt_and_no_noun_pair():
    captions = list(probe_text.generate_captions(WORDS, 2000, 0, PROMPTS))
    assert len(set(captions)) == 2000
    assert PROMPTS.count_overlap(captions) == (2000, 0, 0)
    used = {word for caption in captions for word in words(caption)}
    assert {
        "cat",
        "cats",
        "oxen",
        "guinea",
        "yawning",
        "chasing",
        "orange",
        "left",
        "before",
        "not",
    } <= used
    assert not any(
        " a orange" in f" {caption}" or " an red" in f" {caption}" for caption in captions
    )


def test_captions_depend_on_the_seed_only():
    first, repeated, different = (
        list(probe_text.generate_captions(WORDS, 50, seed, PROMPTS)) for seed in (0, 0, 1)
    )
    assert first == repeated != different


def test_error_if_all_captions_are_excluded():
    class AllCaptions(probe_overlap.Prompts):
        def has_prompt(self, caption: str) -> bool:
            return True

    with pytest.raises(
        ValueError,
        match="5 captions requested; the grammar generates only about 0 distinct captions",
    ):
        list(probe_text.generate_captions(WORDS, 5, 0, AllCaptions(frozenset(), frozenset())))


def test_words_of_compprompts_are_used():
    listed = yaml.safe_load(
        (compprompts.WORDS.parents[2] / "sample/words/compprompts.yaml").read_text(encoding="utf-8")
    )
    nouns = dict(probe_text.inflect_words(listed)["nouns"])
    assert nouns["hippopotamus"] in ("hippopotami", "hippopotamuses")
    assert nouns.keys() >= set(listed["nouns"])


def test_error_without_prompts(tmp_path):
    with pytest.raises(FileNotFoundError, match="dvc repro compprompts"):
        probe_overlap.read_prompts(tmp_path)
