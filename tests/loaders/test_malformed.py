"""Malformed texts, each kind with texts that have it and texts that must not be reported."""

import json
from pathlib import Path

import pytest

from compeval.base.schemas.texts import Texts
from compeval.loaders.importing.identify import identify
from compeval.loaders.importing.read_published import read_published
from compeval.loaders.importing.selection import RowSelection
from compeval.loaders.malformed import find_malformed

GOOD = "a person in front of a street sign"


@pytest.mark.parametrize(
    ("caption", "negative", "kind", "detail"),
    [
        (
            "a person on a street",
            "a persinside inside a street",
            "mangled word",
            "person>persinside",
        ),
        ("a tree on a street", "a banana on a sbananat", "mangled word", "street>sbananat"),
        (
            "a man in a hat wearing a ring",
            "a man under a hat wearunderg a runderg",
            "mangled word",
            "wearing>wearunderg",
        ),
        ("a man in a hat wearing a ring", "a man under a hat wearing a ring", "", ""),
        ("a dog on a mat", "a cat on a mat", "", ""),  # another word, not inside one
        ("a boat with boats", "a car with cars", "", ""),  # a word of the dictionary
        ("a dog and it was", "a dog would it was", "", ""),
        ("a dog on a mat", "a dog on on a mat", "doubled word", "on on"),
        ("a bye bye sign", "a bye bye mat", "", ""),  # the caption has it, too
        ("a cat and a dog", "an cat and a dog", "article", "an cat"),
        ("a cat and a dog", "a cat and a owl", "article", "a owl"),
        ("a red dog", "A a dog", "doubled word", "A a"),  # not a wrong article as well
        (
            "a cat and a dog",
            "an hour, a unicorn, a one-way sign, an SUV, a umpire",
            "article",
            "a umpire",
        ),
        (
            "a cat and a dog",
            "an hour and a unicorn, a one-way sign, a European, an SUV, a used car",
            "",
            "",
        ),
        ("a cat, a dog", "A cat a dog.", "punctuation", "A cat a dog."),
        ("a cat a dog", "a dog a cat", "", ""),
        ("a café", "a cafÃ©", "mojibake", "Ã©"),
        ("a dog", 'Sure, here is the caption: "a cat"', "chatter", "Sure,"),
        ("a dog", "Here is a cat", "", ""),
        ("a dog", "a sure-footed cat", "", ""),
        ("a dog", '"a cat" is also possible', "chatter", '"a cat" is'),
        ("a dog", "As an AI, I cannot", "chatter", "As an AI"),
        (
            "a grove of trees, and a tree above the grass",
            "a grove of grasss, and a tree above the tree",
            "mangled word",
            "trees>grasss",
        ),
        ("four dogs by the hands", "four handss by the dog", "mangled word", "dogs>handss"),
        (
            "a man in a hat wearing a ring",
            "a man wearing a hat wearwearingg a ring",
            "mangled word",
            "wearing>wearwearingg",
        ),
        (
            "a cat in a box behind a bus",
            "a cat behind a box behbehindd a bus",
            "mangled word",
            "behind>behbehindd",
        ),
        (
            "a cabinet, and cabinets above it",
            "a cabinets, and cabinetss above it",
            "mangled word",
            "cabinets>cabinetss",
        ),
        ("a parasailer and surfers", "parasailers and a surfer", "", ""),
        ("two dresses", "two glasses on grass", "", ""),  # plurals of words in "s"
        # A sign that the caption quotes, and words of the caption in another order.
        ('"stop" sign by a cat', '"stop" sign by a dog', "", ""),
        ('a pole with a "stop" sign', '"stop" sign with a pole', "", ""),
        ("I cannot see a dog", "I cannot see a cat", "", ""),
        ("a dog by a small cat is very red.", "a cat by a red dog is very small.", "", ""),
    ],
)
def test_each_kind(caption: str, negative: str, kind: str, detail: str) -> None:
    found = list(find_malformed([Texts(caption, [GOOD, negative], [False] * 2)]))
    assert [(item.row, item.candidate, item.kind, item.detail) for item in found] == (
        [(0, 2, kind, detail)] if kind else []
    )


def test_captions_are_searched_and_their_words_are_words() -> None:
    rows = [
        Texts("a person on a persinside", ["a cat"], [False]),
        Texts("a person on a mat", ["a persinside"], [False]),
    ]
    assert list(find_malformed(rows)) == []
    quoting = ['"Stop" sign by a cat', "something I cannot make out", "a sink that is very small."]
    assert not [*find_malformed([Texts(caption, ["a cat"], [False]) for caption in quoting])]
    note = '"This image includes a car." (Note: corrected)'
    assert len([*find_malformed([Texts(note, ["a cat"], [False])])]) == 1
    (found,) = find_malformed([Texts("Sure, a dog", ["a cat"], [False])])
    assert (found.candidate, found.kind) == (0, "chatter")


def test_rows_with_malformed_texts_are_dropped(tmp_path: Path) -> None:
    texts = [
        ("a dog", "a cat"),
        ("a dog", "a owl"),
        ("a dog", "a owl owl"),
        ("Sure, a dog", "a cat"),
        ("a dog", "an bed"),
    ]
    rows = {
        str(row): {"filename": f"{row:012d}.jpg", "caption": caption, "negative_caption": negative}
        for row, (caption, negative) in enumerate(texts)
    }
    path = tmp_path / "replace_obj.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert len([*read_published(identify(path))]) == 5
    read = read_published(identify(path), RowSelection(drop_malformed=True))
    assert [row.hard_negatives for row in read] == [("a cat",)]
    kinds = {"article": 2, "doubled word": 1, "chatter": 1}
    assert read.counts.dropped == {
        f"a text is malformed: {kind}": count for kind, count in kinds.items()
    }
