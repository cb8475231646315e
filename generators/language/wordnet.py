"""WordNet 3.0: words that may replace one another in a hard negative, and words that must not.

Source: CREPE (arXiv:2212.07796), section 4.1: a foil is an antonym of the word or shares its grand-hypernym. Differs
from it in: a word counts in its usual senses only (:func:`senses`), and :func:`hypernym_distance` is a number, so that
a caller can go one step further where a source knows too few cousins. Words are lower-case lemmas; a name of several
words that WordNet lacks counts as its last word ("car door" as "door").
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
"""NLTK's classes have no type hints."""

VISIBLE = frozenset(
    f"noun.{name}"
    for name in ("Tops", "animal", "artifact", "body", "food", "object", "person", "phenomenon", "plant", "substance")
)
"""Lexicographer files of nouns for visible things."""
USUAL_SHARE = 1 / 8
"""A sense is usual if it is tagged at least this often, relative to the commonest sense of the word."""
VISIBLE_SHARE = 1 / 4
"""A noun is visible if a visible sense is tagged at least this often, relative to its commonest sense."""


def _key(word: str) -> str:
    return word.strip().lower().replace(" ", "_")


def _text(lemma: str) -> str:
    return lemma.replace("_", " ")


def _last_word(name: str) -> str:
    return name.strip().rsplit(" ", 1)[-1]


def is_entry(word: str, pos: PartOfSpeech = "n") -> bool:
    """Whether WordNet has the whole word, not only its last part."""
    return bool(wordnet().synsets(_key(word), pos))


@cache
def base_form(word: str, pos: PartOfSpeech) -> str | None:
    """The lemma of a word form ("wearing": "wear"), None if WordNet knows none of this part of speech."""
    return wordnet().morphy(word, pos)


@cache
def _tag_counts() -> Mapping[str, int]:
    """SemCor's number of occurrences of each sense key, read once: NLTK's own lookup searches the file every time."""
    with wordnet().open("cntlist.rev") as file:
        rows = (line.split() for line in file)
        return {row[0]: int(row[2]) for row in rows}


def _count(lemma: Lemma) -> int:
    return _tag_counts().get(lemma.key(), 0)


@cache
def _sense_counts(word: str, pos: PartOfSpeech) -> Mapping[Synset, int]:
    """Every sense, commonest first, of the word (else of its last word) with its number of occurrences in SemCor."""
    key = _key(word if is_entry(word, pos) else _last_word(word))
    counts: dict[Synset, int] = {}
    for sense in wordnet().synsets(key, pos):
        names = {key, wordnet().morphy(key, sense.pos().replace("s", "a"))}
        counts[sense] = max((_count(lemma) for lemma in sense.lemmas() if lemma.name().lower() in names), default=0)
    return counts


@cache
def senses(word: str, pos: PartOfSpeech = "n") -> tuple[Synset, ...]:
    """The usual senses, commonest first.

    For a noun only visible senses (a table, not of data; a kite, not of a cheque), unless it has none.
    """
    counts = _sense_counts(word, pos)
    if pos == "n":
        counts = {sense: count for sense, count in counts.items() if sense.lexname() in VISIBLE} or counts
    return tuple(sense for sense, count in counts.items() if count >= USUAL_SHARE * max(counts.values()))


def is_visible(noun: str) -> bool:
    """Whether the noun usually names something visible ("table", not "appointment")."""
    counts = _sense_counts(noun, "n")
    visible = (count for sense, count in counts.items() if sense.lexname() in VISIBLE)
    return any(count >= VISIBLE_SHARE * max(counts.values()) for count in visible)


@cache
def ancestors(word: str, pos: PartOfSpeech = "n") -> Mapping[Synset, int]:
    """Every sense of the word (0) and every synset above one, with the fewest steps up to it."""
    steps: dict[Synset, int] = {}
    level, height = list(senses(word, pos)), 0
    while level:
        steps |= dict.fromkeys(level, height)
        above = (up for sense in level for up in (*sense.hypernyms(), *sense.instance_hypernyms()))
        level, height = [up for up in dict.fromkeys(above) if up not in steps], height + 1
    return steps


@lru_cache(maxsize=1 << 18)
def are_related(one: str, other: str, pos: PartOfSpeech = "n") -> bool:
    """Whether one word is the other, its synonym, its hypernym or its hyponym, at any distance, in a usual sense.

    A name that ends with another is its hyponym ("dining table"). Adjectives have no hypernyms: a word is related to
    its synonyms and to the words that its sense is similar to.
    """
    if _key(one) == _key(other) or f" {one}".endswith(f" {other}") or f" {other}".endswith(f" {one}"):
        return True
    wider_one, wider_other = (_similar(word) if pos == "a" else ancestors(word, pos).keys() for word in (one, other))
    return not (wider_other.isdisjoint(senses(one, pos)) and wider_one.isdisjoint(senses(other, pos)))


@cache
def _parts(whole: str) -> frozenset[Synset]:
    """The parts, members and substances of a noun and of everything above it."""
    return frozenset(
        part
        for sense in ancestors(whole)
        for part in (*sense.part_meronyms(), *sense.member_meronyms(), *sense.substance_meronyms())
    )


@cache
def _kinds_of_parts(whole: str) -> frozenset[Synset]:
    return frozenset(kind for part in _parts(whole) for path in part.hypernym_paths() for kind in path)


@lru_cache(maxsize=1 << 18)
def is_part(part: str, whole: str) -> bool:
    """Whether one noun names a part, a member or the substance of the other, or of something above the other.

    A car has car wheels, so it has wheels; a man has body parts, so he has hands.
    """
    own = senses(part)
    bodily = {up for sense in own if sense.lexname() == "noun.body" for up in ancestors(part)}
    return not (_kinds_of_parts(whole).isdisjoint(own) and _parts(whole).isdisjoint(bodily))


def hypernym_distance(one: str, other: str, pos: PartOfSpeech = "n") -> int | None:
    """The steps up to the nearest shared hypernym, from the farther word: 1 shares a hypernym, 2 a grand-hypernym.

    None if there is none; the minimum over the usual senses of both.
    """
    above_one, above_other = ancestors(one, pos), ancestors(other, pos)
    shared = above_one.keys() & above_other.keys()
    return min((max(above_one[sense], above_other[sense]) for sense in shared), default=None)


@cache
def grand_hypernym_siblings(noun: str) -> tuple[str, ...]:
    """Visible nouns that share the noun's hypernym or grand-hypernym and are not related to it, the commonest first.

    Capitalised names (people, places) are omitted. Source: CREPE, section 4.1.
    """
    tops = [sense for sense, height in ancestors(noun).items() if 1 <= height <= 2]
    cousins = {cousin for top in tops for child in top.hyponyms() for cousin in (child, *child.hyponyms())}
    counts = Counter[str]()
    for lemma in (lemma for cousin in cousins for lemma in cousin.lemmas()):
        if lemma.name().islower():
            counts[_text(lemma.name())] += _count(lemma)
    candidates = (word for word in counts if is_visible(word) and not are_related(noun, word))
    near = (word for word in candidates if (hypernym_distance(noun, word) or 9) <= 2)
    return tuple(sorted(near, key=lambda word: (-counts[word], word)))


def _similar(adjective: str) -> set[Synset]:
    """The usual senses and those that WordNet calls similar to them."""
    return {near for sense in senses(adjective, "a") for near in (sense, *sense.similar_tos())}


@cache
def antonyms(word: str, pos: PartOfSpeech = "a") -> tuple[str, ...]:
    """Words for the opposite: direct antonyms first, then (adjectives) indirect ones, each group the commonest first.

    Indirect antonyms are the opposites of similar words ("tiny": "large"), and words similar to a direct antonym
    ("small": "huge").
    """
    own = senses(word, pos)
    heads = [head for sense in own if sense.pos() == "s" for head in sense.similar_tos()]
    lemmas = (lemma for sense in (*own, *heads) for lemma in sense.lemmas())
    opposites = {other.synset() for lemma in lemmas for other in lemma.antonyms()}
    near = {other for sense in opposites for other in sense.similar_tos()} if pos == "a" else set()
    synonyms = {lemma.name().lower() for sense in own for lemma in sense.lemmas()}

    def common_first(lemmas: Iterable[Lemma]) -> list[str]:
        counts = Counter[str]()
        for lemma in lemmas:
            counts[lemma.name().lower()] += _count(lemma)
        return sorted(counts.keys() - synonyms - {_key(word)}, key=lambda name: (-counts[name], name))

    named = (lemma for sense in own for lemma in sense.lemmas() if lemma.name().lower() == _key(word))
    groups = (
        (other for lemma in named for other in lemma.antonyms()),
        (lemma for sense in opposites for lemma in sense.lemmas()),
        (lemma for sense in near for lemma in sense.lemmas() if _count(lemma)),
    )
    return tuple(dict.fromkeys(_text(name) for group in groups for name in common_first(group)))


@cache
def _color_synsets(word: str) -> frozenset[Synset]:
    """The colours that the last part of an adjective names, each with the colours that it is a shade of."""
    head = _last_word(word.lower().replace("-", " "))
    if not is_entry(head, "a"):
        return frozenset()
    tops = [wordnet().synset(f"{name}_color.n.01") for name in ("chromatic", "achromatic")]
    paths = [path for sense in wordnet().synsets(_key(head), "n") for path in sense.hypernym_paths()]
    return frozenset(shade for path in paths for top in tops if top in path for shade in path[path.index(top) + 1 :])


def is_color(adjective: str) -> bool:
    """Whether an adjective names a colour, according to WordNet's noun for it ("red", "dark green")."""
    return bool(_color_synsets(adjective))


def are_shades(one: str, other: str) -> bool:
    """Whether two adjectives name one colour, or a colour and a shade of it ("crimson" and "red")."""
    return not _color_synsets(one).isdisjoint(_color_synsets(other))
