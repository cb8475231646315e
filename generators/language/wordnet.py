"""WordNet 3.0: which words may stand in for one another in a hard negative, and which must not.

Source: CREPE (arXiv:2212.07796), section 4.1: a foil is an antonym of the word or shares its grand-hypernym. Differs
from it in saying what "the word" is: a word counts in its usual senses only (:func:`senses`), and "shares the
grand-hypernym" is a number, :func:`generation`, so that a caller can climb one step further where a source knows too
few cousins. Words are lower-case lemmas; a name of several words that WordNet lacks counts as its last word
("car door" as "door").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, Literal, TypeAlias

from generators.language.wordnet_database import wordnet

PartOfSpeech = Literal["n", "v", "a"]
Synset: TypeAlias = Any
Lemma: TypeAlias = Any
"""NLTK's classes, which carry no types."""

VISIBLE = frozenset(
    f"noun.{name}"
    for name in ("Tops", "animal", "artifact", "body", "food", "object", "person", "phenomenon", "plant", "substance")
)
"""Lexicographer files of nouns that a picture can show."""

USUAL = 1 / 8
"""A sense is usual when it is tagged at least this often, relative to the word's commonest sense."""

MOSTLY = 1 / 4
"""A noun is visible when a visible sense is tagged at least this often, relative to its commonest sense."""


def _key(word: str) -> str:
    return word.strip().lower().replace(" ", "_")


def _text(lemma: str) -> str:
    return lemma.replace("_", " ")


def is_entry(word: str, pos: PartOfSpeech = "n") -> bool:
    """Whether WordNet has the whole word, not only its last part."""
    return bool(wordnet().synsets(_key(word), pos))


def _entry(word: str, pos: PartOfSpeech) -> str:
    """The word, or its last part where WordNet lacks the whole."""
    return word if is_entry(word, pos) else word.strip().rsplit(" ", 1)[-1]


@cache
def _tag_counts() -> Mapping[str, int]:
    """How often SemCor has each sense of a word, by sense key: NLTK's own look-up searches the file anew for each."""
    with wordnet().open("cntlist.rev") as file:
        rows = (line.split() for line in file)
        return {row[0]: int(row[2]) for row in rows}


def _count(lemma: Lemma) -> int:
    return _tag_counts().get(lemma.key(), 0)


def _tagged(sense: Synset, word: str) -> int:
    """How often SemCor has the word in this sense."""
    names = {_key(word), wordnet().morphy(_key(word), sense.pos().replace("s", "a"))}
    return max((_count(lemma) for lemma in sense.lemmas() if lemma.name().lower() in names), default=0)


@cache
def _counts(word: str, pos: PartOfSpeech) -> Mapping[Synset, int]:
    """Every sense, commonest first, of the word (else of its last word) with its number of occurrences in SemCor."""
    entry = _entry(word, pos)
    return {sense: _tagged(sense, entry) for sense in wordnet().synsets(_key(entry), pos)}


@cache
def senses(word: str, pos: PartOfSpeech = "n") -> tuple[Synset, ...]:
    """The usual senses, commonest first: those tagged at least ``USUAL`` times as often as the commonest.

    Of a noun only senses that a picture can show (a table, not of data; a kite, not of a cheque), unless it has none.
    """
    counts = _counts(word, pos)
    if pos == "n":
        counts = {sense: count for sense, count in counts.items() if sense.lexname() in VISIBLE} or counts
    return tuple(sense for sense, count in counts.items() if count >= USUAL * max(counts.values()))


def is_visible(noun: str) -> bool:
    """Whether the noun usually names something that a picture can show ("table", not "appointment")."""
    counts = _counts(noun, "n")
    return any(count >= MOSTLY * max(counts.values()) for sense, count in counts.items() if sense.lexname() in VISIBLE)


def _hypernyms(sense: Synset) -> list[Synset]:
    return [*sense.hypernyms(), *sense.instance_hypernyms()]


@cache
def ancestors(word: str, pos: PartOfSpeech = "n") -> Mapping[Synset, int]:
    """Every sense of the word (0) and every synset above one, with the fewest steps up to it."""
    steps: dict[Synset, int] = {}
    level, height = list(senses(word, pos)), 0
    while level:
        steps |= dict.fromkeys(level, height)
        level = [up for up in dict.fromkeys(up for sense in level for up in _hypernyms(sense)) if up not in steps]
        height += 1
    return steps


@lru_cache(maxsize=1 << 18)
def are_related(one: str, other: str, pos: PartOfSpeech = "n") -> bool:
    """Whether one word is the other, its synonym, its hypernym or its hyponym, at any distance, in a usual sense.

    A name that ends with another is its hyponym ("dining table"). Adjectives have no hypernyms: a word is related to
    its synonyms and to what its sense is similar to.
    """
    if _key(one) == _key(other) or f" {one}".endswith(f" {other}") or f" {other}".endswith(f" {one}"):
        return True
    if pos == "a":
        return bool(_similar(one) & set(senses(other, "a")) or _similar(other) & set(senses(one, "a")))
    above_one, above_other = ancestors(one, pos), ancestors(other, pos)
    return any(sense in above_other for sense in senses(one, pos)) or any(
        sense in above_one for sense in senses(other, pos)
    )


@cache
def _parts(whole: str) -> frozenset[Synset]:
    """The parts, members and substances of a noun and of everything above it."""
    return frozenset(
        piece
        for sense in ancestors(whole)
        for piece in (*sense.part_meronyms(), *sense.member_meronyms(), *sense.substance_meronyms())
    )


@cache
def _kinds_of_parts(whole: str) -> frozenset[Synset]:
    return frozenset(kind for piece in _parts(whole) for path in piece.hypernym_paths() for kind in path)


@lru_cache(maxsize=1 << 18)
def is_part(part: str, whole: str) -> bool:
    """Whether one noun names a part, a member or the substance of the other, or of something above the other.

    A car has car wheels, so it has wheels; a man has body parts, so he has hands.
    """
    found = senses(part)
    bodily = {up for sense in found if sense.lexname() == "noun.body" for up in ancestors(part)}
    return not (_kinds_of_parts(whole).isdisjoint(found) and _parts(whole).isdisjoint(bodily))


def are_parts(one: str, other: str) -> bool:
    """Whether one of two nouns names a part of the other."""
    return is_part(one, other) or is_part(other, one)


def generation(one: str, other: str, pos: PartOfSpeech = "n") -> int | None:
    """How many steps up both words meet: 1 shares a hypernym, 2 a grand-hypernym; None if they never do.

    The number is the longer of both ways, over the usual senses of both.
    """
    above_one, above_other = ancestors(one, pos), ancestors(other, pos)
    shared = above_one.keys() & above_other.keys()
    return min((max(above_one[sense], above_other[sense]) for sense in shared), default=None)


@cache
def synonyms(word: str, pos: PartOfSpeech = "n") -> tuple[str, ...]:
    """Other words for the usual senses, in WordNet's order."""
    names = (_text(lemma.name().lower()) for sense in senses(word, pos) for lemma in sense.lemmas())
    return tuple(dict.fromkeys(name for name in names if name != word.lower()))


@cache
def grand_hypernym_siblings(noun: str) -> tuple[str, ...]:
    """Visible nouns, not related to this one, that share its hypernym or grand-hypernym; the commonest first.

    Names of people, places and kinds written with a capital are left out. Source: CREPE, section 4.1.
    """
    tops = [sense for sense, height in ancestors(noun).items() if 1 <= height <= 2]
    cousins = {cousin for top in tops for child in top.hyponyms() for cousin in (child, *child.hyponyms())}
    counts = Counter[str]()
    for lemma in (lemma for cousin in cousins for lemma in cousin.lemmas()):
        if lemma.name().islower():
            counts[_text(lemma.name())] += _count(lemma)
    kept = (word for word in counts if is_visible(word) and not are_related(noun, word))
    return tuple(
        sorted((word for word in kept if (generation(noun, word) or 9) <= 2), key=lambda word: (-counts[word], word))
    )


def _similar(adjective: str) -> set[Synset]:
    """The usual senses and those that WordNet calls similar to them."""
    own = senses(adjective, "a")
    return {near for sense in own for near in (sense, *sense.similar_tos())}


def _opposites(sense: Synset) -> list[Synset]:
    return [other.synset() for lemma in sense.lemmas() for other in lemma.antonyms()]


@cache
def antonyms(word: str, pos: PartOfSpeech = "a") -> tuple[str, ...]:
    """Words for the opposite: direct antonyms first, then (adjectives) indirect ones, each by how common they are.

    Indirect is the opposite of what the word is similar to ("tiny": "large"), and what is similar to its direct
    opposite ("small": "huge").
    """
    own = senses(word, pos)
    heads = [head for sense in own if sense.pos() == "s" for head in sense.similar_tos()]
    opposites = {other for sense in (*own, *heads) for other in _opposites(sense)}
    near = {other for sense in opposites for other in sense.similar_tos()} if pos == "a" else set()
    taken = {_key(word), *map(_key, synonyms(word, pos))}

    def common_first(found: Iterable[Lemma]) -> list[str]:
        counts = Counter[str]()
        for lemma in found:
            counts[lemma.name().lower()] += _count(lemma)
        return sorted(counts.keys() - taken, key=lambda name: (-counts[name], name))

    named = (lemma for sense in own for lemma in sense.lemmas() if lemma.name().lower() == _key(word))
    tiers = (
        (other for lemma in named for other in lemma.antonyms()),
        (lemma for sense in opposites for lemma in sense.lemmas()),
        (lemma for sense in near for lemma in sense.lemmas() if _count(lemma)),
    )
    return tuple(dict.fromkeys(_text(name) for tier in tiers for name in common_first(tier)))


@cache
def _shades(word: str) -> frozenset[Synset]:
    """The colours that the last part of an adjective names, each with the colours that it is a shade of."""
    head = word.strip().lower().replace("-", " ").rsplit(" ", 1)[-1]
    if not is_entry(head, "a"):
        return frozenset()
    chromatic, achromatic = (wordnet().synset(f"{name}_color.n.01") for name in ("chromatic", "achromatic"))
    paths = [path for sense in wordnet().synsets(_key(head), "n") for path in sense.hypernym_paths()]
    return frozenset(
        shade
        for path in paths
        for top in (chromatic, achromatic)
        if top in path
        for shade in path[path.index(top) + 1 :]
    )


def is_color(adjective: str) -> bool:
    """Whether an adjective names a colour, as WordNet's noun for it tells ("red", "dark green")."""
    return bool(_shades(adjective))


def are_shades(one: str, other: str) -> bool:
    """Whether two adjectives name one colour, or a colour and a shade of it ("crimson" and "red")."""
    return bool(_shades(one) & _shades(other))
