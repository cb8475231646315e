"""The oracle's closed vocabulary: which words mean what in the microworld.

Written by hand against the ids of the world (nouns, colours, patterns, sizes, relations) and shared with no other
part of the project: a caption generator and its judge must not have a mistake in common. A word that stands nowhere
in this file is undrawable; it can only be a noun, an adjective or a relation that no thing has.
"""

from __future__ import annotations

from typing import NamedTuple

from evaluators.validity.oracle import relation_words
from evaluators.validity.oracle.relation_words import Phrases, phrases, word_set

Kinds = frozenset[str]


class Noun(NamedTuple):
    """What a noun can stand for. ``kinds`` is empty for an undrawable noun; ``lemma`` tells two of those apart."""

    lemma: str
    kinds: Kinds
    plural: bool


class Look(NamedTuple):
    """An adjective: the thing's ``slot`` (color, pattern or size) has one of ``values``; none fits if undrawable."""

    word: str
    slot: str
    values: frozenset[str]


_NOUNS = {
    "cup": "cup mug teacup",
    "bottle": "bottle",
    "vase": "vase",
    "bucket": "bucket pail",
    "bowl": "bowl",
    "box": "box",
    "basket": "basket",
    "apple": "apple",
    "pear": "pear",
    "banana": "banana",
    "lemon": "lemon",
    "car": "car automobile auto motorcar",
    "bus": "bus autobus omnibus motorbus",
    "truck": "truck lorry",
    "boat": "boat",
    "table": "table",
    "chair": "chair",
    "bench": "bench",
    "house": "house",
    "tent": "tent",
    "tower": "tower",
    "tree": "tree",
    "flower": "flower blossom",
    "mushroom": "mushroom toadstool",
    "cactus": "cactus",
    "hat": "hat",
    "shirt": "shirt t-shirt tee-shirt",
    "boot": "boot",
    "cat": "cat pussycat kitty",
    "bird": "bird",
    "fish": "fish",
    "clock": "clock",
    "lamp": "lamp",
    "bell": "bell",
    "key": "key",
    "umbrella": "umbrella brolly parasol sunshade",
    "ball": "ball",
    "kite": "kite",
    "drum": "drum",
    "balloon": "balloon",
}
"""Kind of thing -> the words that name it and nothing else."""

_CLASSES = {
    "animal creature beast": "cat bird fish",
    "pet": "cat bird fish",
    "feline": "cat",
    "vehicle": "car bus truck boat",
    "motor-vehicle": "car bus truck",
    "watercraft": "boat",
    "container receptacle": "cup bottle vase bucket bowl box basket",
    "vessel": "cup bottle vase bucket bowl boat",
    "fruit": "apple pear banana lemon",
    "citrus": "lemon",
    "furniture": "table chair bench lamp",
    "seat": "chair bench",
    "building": "house tower",
    "dwelling": "house",
    "shelter": "house tent",
    "plant": "tree flower mushroom cactus",
    "garment clothing": "hat shirt boot",
    "headgear headdress": "hat",
    "footwear": "boot",
    "timepiece": "clock",
    "toy plaything": "ball kite drum balloon",
    "thing object item": " ".join(_NOUNS),
}
"""Words for several kinds -> the kinds."""

_PLURALS = {"cactus": ("cacti", "cactuses"), "fish": ("fish", "fishes"), "furniture": (), "clothing": ()}


def _plural_forms(word: str) -> tuple[str, ...]:
    if word in _PLURALS:
        return _PLURALS[word]
    if word.endswith(("s", "x", "ch", "sh")):
        return (word + "es",)
    if word.endswith("y") and word[-2] not in "aeo":
        return (word[:-1] + "ies",)
    return (word + "s",)


def _nouns() -> dict[str, Noun]:
    named = [(words, frozenset({kind})) for kind, words in _NOUNS.items()]
    named += [(words, frozenset(kinds.split())) for words, kinds in _CLASSES.items()]
    table = {}
    for words, kinds in named:
        for word in words.split():
            table |= {form: Noun(word, kinds, plural=True) for form in _plural_forms(word)}
            table[word] = Noun(word, kinds, plural=False)
    return table


NOUNS: dict[str, Noun] = _nouns()
THING = NOUNS["thing"]
"""What "something" and "nothing" are about."""

_LOOKS = {
    "color": {
        "red": "red crimson scarlet",
        "orange": "orange",
        "yellow": "yellow",
        "green": "green",
        "blue": "blue",
        "purple": "purple violet",
        "white": "white",
        "black": "black",
    },
    "pattern": {
        "plain": "plain solid unpatterned patternless",
        "striped": "striped stripy stripey",
        "spotted": "spotted dotted spotty polka-dotted polka-dot",
        "checkered": "checkered chequered checked",
        "striped spotted checkered": "patterned",
    },
    "size": {
        "small": "small little tiny miniature mini minuscule",
        "medium": "medium medium-sized mid-sized",
        "large": "large big huge giant enormous gigantic immense massive tremendous",
    },
}

LOOKS: dict[str, Look] = {
    word: Look(word, slot, frozenset(values.split()))
    for slot, names in _LOOKS.items()
    for values, words in names.items()
    for word in words.split()
}
PATTERN_NOUNS: dict[str, Look] = {
    "stripes": LOOKS["striped"],
    "spots": LOOKS["spotted"],
    "dots": LOOKS["spotted"],
    "polka-dots": LOOKS["spotted"],
    "checks": LOOKS["checkered"],
}
"""'a ball with stripes' is a striped ball."""
ALSO_NOUNS = word_set("bear block case cover group orange perch set side solid stand support violet well")
"""Words of other classes that may also be the (undrawable) noun of a phrase: 'an orange on a stand'."""

NUMBERS = {
    word: count for count, word in enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight"), 1)
}
NUMBERS |= {str(count): count for count in range(1, 9)}
AMOUNTS: Phrases[int] = phrases({"a pair of|a couple of|a group of|several|multiple|many|a few|both": 2})
ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3}
FRAMES = word_set("picture image photo photograph scene drawing illustration")
"""Words for the picture itself."""

_FUNCTION_WORDS = word_set(
    "a an the one ones another other some any no not none nothing something anything each every both either neither "
    "this that these those its their it they them there here which who whose what and but or nor if while with without "
    "lacking as well also too plus than only never along together is are be being been was were has have having had "
    "does do did can could exists exist present case true false we you i see show shows showing depict depicts "
    "contains left right top side front back hand piece pieces color colour of by to at on in"
)


def _closed_class() -> frozenset[str]:
    tables = (
        relation_words.PREPOSITIONS,
        relation_words.ADVERBS,
        relation_words.SIDES,
        relation_words.PARTICIPLES,
        AMOUNTS,
    )
    known = {word for table in tables for entries in table.values() for phrase, _ in entries for word in phrase}
    return (
        _FUNCTION_WORDS | FRAMES | relation_words.SINGLE | known | {*ORDINALS, *NUMBERS, *PATTERN_NOUNS, *LOOKS, *NOUNS}
    )


KNOWN: frozenset[str] = _closed_class()
"""Every word with a meaning of its own. Any other alphabetic word is undrawable."""
