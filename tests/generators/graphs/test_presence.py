"""The nouns that an image shows, compared with the definition for each pair of names."""

from hypothesis import given
from hypothesis import strategies as st

from generators.graphs.presence import Presence
from generators.language.lexicon import nouns

NAMES = ["man", "woman", "boy", "person", "player", "dining table", "table", "car", "wheel", "hand", "head", "tree"]
NAMES += ["branch", "trunk", "grass", "field", "street", "road", "traffic light", "lamp", "dog", "leg", "xyzzy", "eye"]


@given(st.lists(st.sampled_from(NAMES), max_size=4), st.sampled_from(NAMES))
def test_presence_of_names_is_that_of_one_of_the_names(names: list[str], noun: str) -> None:
    presence = Presence(names)
    assert presence.includes(noun) == any(nouns.includes(name, noun) for name in names)
    assert presence.implies(noun) == any(nouns.implies_presence(name, noun) for name in names)
