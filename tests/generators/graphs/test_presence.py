"""The nouns that an image shows, compared with the definition for each pair of names."""

from hypothesis import given
from hypothesis import strategies as st

from compeval.generators.graphs.presence import Presence
from compeval.generators.language.lexicon.nouns import may_name_same_object
from compeval.generators.language.wordnet import is_part

NAMES = [
    "man",
    "woman",
    "boy",
    "person",
    "player",
    "dining table",
    "table",
    "car",
    "wheel",
    "hand",
    "head",
    "tree",
]
NAMES += [
    "branch",
    "trunk",
    "grass",
    "field",
    "street",
    "road",
    "traffic light",
    "lamp",
    "dog",
    "leg",
    "xyzzy",
    "eye",
]


@given(st.lists(st.sampled_from(NAMES), max_size=4), st.sampled_from(NAMES))
def test_presence_of_names_is_that_of_one_of_the_names(names: list[str], noun: str) -> None:
    presence = Presence(names)
    includes = any(may_name_same_object(name, noun) or is_part(noun, name) for name in names)
    assert presence.includes(noun) == includes
    assert presence.implies(noun) == (includes or any(is_part(name, noun) for name in names))
