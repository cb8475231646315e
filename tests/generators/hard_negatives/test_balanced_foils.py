"""The rate at which a word is true in sets of one replaced atom. The images have one atom each, drawn by frequency."""

from collections import Counter
from itertools import islice
from random import Random

import pytest

from compeval.base.schemas.scene_graph import SceneGraph, SceneObject
from compeval.generators.graphs.facts import collect_facts
from compeval.generators.graphs.vocabulary import Vocabulary
from compeval.generators.hard_negatives.crepe.atom import AtomFoils
from tests.close import assert_close
from tests.generators.captioner.test_captioner import write_grammar_caption

NOUNS = {
    "cup": 6,
    "bowl": 5,
    "bottle": 4,
    "vase": 4,
    "bucket": 3,
    "box": 3,
    "basket": 3,
    "jar": 2,
    "mug": 2,
    "pot": 2,
}
COLORS = {
    "red": 7,
    "blue": 5,
    "green": 5,
    "yellow": 4,
    "black": 3,
    "white": 3,
    "pink": 2,
    "crimson": 1,
}
"""Red is the most frequent word of its value, which crimson names as well."""


def count_truths(
    kind: str, counts: dict[str, int], num_foils: int
) -> tuple[Counter[str], Counter[str]]:
    """Return how often each word is the truth of a set, and how often it is a foil, in sets of ``num_foils`` foils."""
    nouns, attributes = (counts, {}) if kind == "object" else ({"cup": 1}, counts)
    vocabulary, rng = Vocabulary(nouns=nouns, attributes=attributes), Random(0)
    truths, foils = Counter[str](), Counter[str]()
    for word in rng.choices(list(counts), list(counts.values()), k=1500):
        item = SceneObject("1", word) if kind == "object" else SceneObject("1", "cup", (word,))
        graph = SceneGraph((item, SceneObject("2", "street")))
        atoms = AtomFoils(graph, collect_facts(graph), write_grammar_caption(graph), vocabulary)
        (mention,) = (
            mention for mention in atoms.mentions if mention.kind == kind and mention.text == word
        )
        edits = atoms.draw_balanced_edits(mention, num_foils, rng)
        drawn = [foil.replacement for foil, _ in islice(edits, num_foils)]
        if len(drawn) == num_foils:
            truths[word] += 1
            foils.update(drawn)
    return truths, foils


@pytest.mark.parametrize(("kind", "counts"), [("object", NOUNS), ("attribute", COLORS)])
def test_every_word_is_true_in_a_sixth_of_its_sets(kind: str, counts: dict[str, int]):
    truths, foils = count_truths(kind, counts, 5)
    assert truths.total() > 700
    for word in truths | foils:
        assert_close(truths[word] / (truths[word] + foils[word]), 1 / 6, within=0.06)


def test_the_more_frequent_of_two_values_is_not_denied_less_often():
    """A truth denies the foil. If "large" were three times as frequent as "small", "not small" would mostly be true."""
    truths, foils = count_truths("attribute", {"large": 6, "small": 2}, 1)
    assert truths["large"] == foils["small"]
    # Each of some hundred truths is one of two at random: within four standard errors.
    assert_close(truths["large"], truths["small"], within=0.2 * truths["small"])


def test_a_word_that_is_never_a_foil_has_no_foils():
    truths, foils = count_truths("attribute", COLORS, 5)
    assert (truths["crimson"], foils["crimson"]) == (0, 0)
