"""WordNet 3.0: which words may replace each other in a hard negative, and which must not.

Source: CREPE (arXiv:2212.07796), section 4.1: a foil is an antonym of a word or shares the word's grand-hypernym.
Differences from the paper: only the usual senses of a word count (:func:`senses`), and :func:`hypernym_distance` is a
number, so that a caller can accept a larger distance where a source has too few words.
Words are lower-case lemmas. If WordNet does not have a name of several words, the last word is used ("door" for "car
door").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, Literal, TypeAlias

from compeval.generators.language import CACHED_PAIRS, CACHED_WORDS
from compeval.generators.language.wordnet_database import wordnet

PartOfSpeech = Literal["n", "v", "a"]
Synset: TypeAlias = Any
Lemma: TypeAlias = Any
"""NLTK's classes have no type hints."""

VISIBLE = frozenset(
    f"noun.{name}"
    for name in (
        "Tops",
        "animal",
        "artifact",
        "body",
        "food",
        "object",
        "person",
        "phenomenon",
        "plant",
        "substance",
    )
)
"""Lexicographer files that contain the nouns for visible objects."""
USUAL_SHARE = 1 / 8
"""A sense is usual if its tag count is at least this share of the tag count of the word's most frequent sense."""
VISIBLE_SHARE = 1 / 4
"""A noun is visible if a visible sense has at least this share of the tag count of its most frequent sense."""


def _wordnet_name(word: str) -> str:
    return word.strip().lower().replace(" ", "_")


def _last_word(name: str) -> str:
    return name.strip().rsplit(" ", 1)[-1]


def is_in_wordnet(word: str, pos: PartOfSpeech = "n") -> bool:
    """Return True if WordNet has the whole word, not only its last part."""
    return bool(wordnet().synsets(_wordnet_name(word), pos))


@lru_cache(CACHED_WORDS)
def lemmatise(word: str, pos: PartOfSpeech) -> str | None:
    """Return the lemma of a word form ("wearing": "wear"), or None if WordNet does not have the word."""
    return wordnet().morphy(word, pos)


@cache
def _tag_counts() -> Mapping[str, int]:
    """Return how often SemCor uses each sense key. NLTK's own lookup would search the file for every key."""
    with wordnet().open("cntlist.rev") as file:
        rows = (line.split() for line in file)
        return {row[0]: int(row[2]) for row in rows}


def _tag_count(lemma: Lemma) -> int:
    return _tag_counts().get(lemma.key(), 0)


@lru_cache(CACHED_WORDS)
def _sense_counts(word: str, pos: PartOfSpeech) -> Mapping[Synset, int]:
    """Return the senses of a word with their SemCor counts, most frequent first.

    If WordNet does not have the word, the senses are those of its last word.
    """
    key = _wordnet_name(word if is_in_wordnet(word, pos) else _last_word(word))
    counts: dict[Synset, int] = {}
    for sense in wordnet().synsets(key, pos):
        names = {key, wordnet().morphy(key, sense.pos().replace("s", "a"))}
        counts[sense] = max(
            (_tag_count(lemma) for lemma in sense.lemmas() if lemma.name().lower() in names),
            default=0,
        )
    return counts


@lru_cache(CACHED_WORDS)
def senses(word: str, pos: PartOfSpeech) -> tuple[Synset, ...]:
    """Return the usual senses, most frequent first.

    For nouns, these are only visible senses (the furniture "table", not the data "table"), unless there are none.
    """
    counts = _sense_counts(word, pos)
    if pos == "n":
        counts = {
            sense: count for sense, count in counts.items() if sense.lexname() in VISIBLE
        } or counts
    return tuple(
        sense for sense, count in counts.items() if count >= USUAL_SHARE * max(counts.values())
    )


def is_visible(noun: str) -> bool:
    """Return True if the noun usually names something visible ("table", not "appointment")."""
    counts = _sense_counts(noun, "n")
    visible = (count for sense, count in counts.items() if sense.lexname() in VISIBLE)
    return any(count >= VISIBLE_SHARE * max(counts.values()) for count in visible)


@lru_cache(CACHED_WORDS)
def name_kind(noun: str) -> str:
    """Return the lexicographer file of a noun's most frequent visible sense, such as "noun.artifact".

    That of "person" and "animal" is named like them, not ``noun.Tops``.
    """
    sense = senses(noun, "n")[0]
    file = str(sense.lexname())
    return f"noun.{str(sense.name()).partition('.')[0]}" if file == "noun.Tops" else file


def sum_tag_counts(word: str, pos: PartOfSpeech) -> int:
    """Return how often SemCor uses a word as this part of speech."""
    return sum(_sense_counts(word, pos).values())


def is_mainly_noun(word: str) -> bool:
    """Return True if SemCor uses the word as a noun at least as often as it does as an adjective (not "blue")."""
    return sum(_sense_counts(word, "n").values()) >= sum(_sense_counts(word, "a").values())


@lru_cache(CACHED_WORDS)
def ancestors(word: str, pos: PartOfSpeech) -> Mapping[Synset, int]:
    """Return the senses of a word (0 steps) and all synsets above them, each with the smallest number of steps."""
    steps: dict[Synset, int] = {}
    level = list(senses(word, pos))
    height = 0
    while level:
        steps |= dict.fromkeys(level, height)
        above = (up for sense in level for up in (*sense.hypernyms(), *sense.instance_hypernyms()))
        level = [up for up in dict.fromkeys(above) if up not in steps]
        height = height + 1
    return steps


def main_hypernym_path(noun: str) -> tuple[str, ...]:
    """Return the lexicographer file of a noun's most frequent visible sense, and the names of the synsets down to it.

    A synset with several hypernyms is below the one whose name is first in the alphabet, because NLTK does not return
    them in a fixed order. Synsets of other lexicographer files are omitted.
    """
    sense = senses(noun, "n")[0]
    path = [sense]
    while above := [*path[0].hypernyms(), *path[0].instance_hypernyms()]:
        path.insert(0, min(above, key=lambda synset: synset.name()))
    return (
        sense.lexname(),
        *(synset.name() for synset in path if synset.lexname() == sense.lexname()),
    )


@lru_cache(CACHED_PAIRS)
def are_related(first: str, second: str, pos: PartOfSpeech = "n") -> bool:
    """Return True if one word is the other, or its synonym, hypernym or hyponym at any distance, in a usual sense.

    A name that ends with another name is its hyponym ("dining table" of "table"). Adjectives have no hypernyms; they
    are related to their synonyms and to the words that WordNet lists as similar.
    """
    if f" {first}".endswith(f" {second}") or f" {second}".endswith(f" {first}"):
        return True
    if _wordnet_name(first) == _wordnet_name(second):
        return True
    if pos == "a":
        above_first = _similar_senses(first)
        above_second = _similar_senses(second)
    else:
        above_first = ancestors(first, pos).keys()
        above_second = ancestors(second, pos).keys()
    return not (
        above_second.isdisjoint(senses(first, pos)) and above_first.isdisjoint(senses(second, pos))
    )


@lru_cache(CACHED_WORDS)
def sense_names(noun: str) -> frozenset[str]:
    """Return the names of the usual senses of a noun ("table.n.02"), which hash faster than NLTK's objects."""
    return frozenset(sense.name() for sense in senses(noun, "n"))


@lru_cache(CACHED_WORDS)
def ancestor_names(noun: str) -> frozenset[str]:
    """Return the names of the usual senses of a noun and of all synsets above them."""
    return frozenset(sense.name() for sense in ancestors(noun, "n"))


@lru_cache(CACHED_WORDS)
def part_names(whole: str) -> frozenset[str]:
    """Return the names of the parts, members and substances of a noun and of all its hypernyms."""
    return _share(
        frozenset(
            part.name()
            for sense in ancestors(whole, "n")
            for part in (
                *sense.part_meronyms(),
                *sense.member_meronyms(),
                *sense.substance_meronyms(),
            )
        )
    )


@cache
def _share(names: frozenset[str]) -> frozenset[str]:
    """Return one object for equal sets, since most nouns have the parts of their hypernyms."""
    return names


@cache
def kind_names(parts: frozenset[str]) -> frozenset[str]:
    """Return the names of some synsets and of all synsets above them."""
    paths = (path for part in parts for path in wordnet().synset(part).hypernym_paths())
    return frozenset(kind.name() for path in paths for kind in path)


@lru_cache(CACHED_WORDS)
def body_part_names(noun: str) -> frozenset[str]:
    """Return the ancestors of a noun that names a part of a body, else an empty set."""
    is_body_part = any(sense.lexname() == "noun.body" for sense in senses(noun, "n"))
    return ancestor_names(noun) if is_body_part else frozenset()


@lru_cache(CACHED_PAIRS)
def is_part(part: str, whole: str) -> bool:
    """Return True if the first noun names a part, a member or the substance of the second noun or of its hypernyms.

    A car has car wheels, so it has wheels; a man has body parts, so he has hands.
    """
    parts = part_names(whole)
    return not (
        kind_names(parts).isdisjoint(sense_names(part)) and parts.isdisjoint(body_part_names(part))
    )


def hypernym_distance(first: str, second: str, pos: PartOfSpeech = "n") -> int | None:
    """Return the number of steps up to the nearest shared hypernym, or None if there is none.

    The steps are counted from the word that is farther from it: 1 means a shared hypernym, 2 a shared grand-hypernym.
    The minimum over all usual senses counts.
    """
    above_first = ancestors(first, pos)
    above_second = ancestors(second, pos)
    shared = above_first.keys() & above_second.keys()
    return min((max(above_first[sense], above_second[sense]) for sense in shared), default=None)


@lru_cache(CACHED_WORDS)
def grand_hypernym_siblings(noun: str) -> tuple[str, ...]:
    """Return unrelated visible nouns that share the noun's hypernym or grand-hypernym, most frequent first.

    Names of people and places (capitalised) are omitted. Source: CREPE, section 4.1.
    """
    hypernyms = [sense for sense, height in ancestors(noun, "n").items() if 1 <= height <= 2]
    cousins = {
        cousin
        for hypernym in hypernyms
        for child in hypernym.hyponyms()
        for cousin in (child, *child.hyponyms())
    }
    counts = Counter[str]()
    for lemma in (lemma for cousin in cousins for lemma in cousin.lemmas()):
        if lemma.name().islower():
            counts[lemma.name().replace("_", " ")] += _tag_count(lemma)
    candidates = (word for word in counts if is_visible(word) and not are_related(noun, word))
    close_words = (word for word in candidates if (hypernym_distance(noun, word) or 9) <= 2)
    return tuple(sorted(close_words, key=lambda word: (-counts[word], word)))


@lru_cache(CACHED_WORDS)
def list_published_foils(
    word: str, kind: Literal["object", "attribute", "relation"]
) -> tuple[str, ...]:
    """Return the words that replace an atom in CREPE's published hard negatives, sorted, before BERT ranks them.

    Source: CREPE (arXiv:2212.07796), section 4.1, and the published productivity files, whose edits they explain:

    - every atom: the antonyms of a word, also of its synonyms, in every sense and part of speech ("has": "lack"). A
      relation has no other foils in WordNet;
    - objects: the words with the same grand-hypernym, two steps below it, of the first sense ("cat": "wolf", but not
      "gossip"). The synonyms of this sense are omitted;
    - attributes: the same of the sense that is a colour ("white" is a person in its first sense), or of the first sense
      if there is no antonym ("brick", but not "small").

    All are single words in lower case, because BERT fills in a single token.
    """
    name = _wordnet_name(word)
    names = {
        other.name()
        for sense in wordnet().synsets(name)
        for lemma in sense.lemmas()
        for other in lemma.antonyms()
    }
    synonyms = {word, name}
    nouns = wordnet().synsets(name, "n")
    colors = _color_synsets(word) if kind == "attribute" else frozenset[Synset]()
    sense = next((noun for noun in nouns if noun in colors), None)
    if sense is None and nouns and (kind == "object" or (kind == "attribute" and not names)):
        sense = nouns[0]
    if sense is not None:
        names |= {lemma.name() for cousin in _find_cousins(sense) for lemma in cousin.lemmas()}
        synonyms |= {lemma.name() for lemma in sense.lemmas()}
    return tuple(sorted(foil for foil in names - synonyms if foil.isalpha() and foil.islower()))


def _find_cousins(sense: Synset) -> dict[Synset, None]:
    """Return the synsets that share a grand-hypernym with a synset: two steps up, then two steps down."""
    level: dict[Synset, None] = {sense: None}
    for _ in range(2):
        level = {
            up: None for near in level for up in (*near.hypernyms(), *near.instance_hypernyms())
        }
    for _ in range(2):
        level = {down: None for near in level for down in near.hyponyms()}
    return level


def _similar_senses(adjective: str) -> set[Synset]:
    """Return the usual senses of an adjective and the senses that WordNet lists as similar."""
    return {near for sense in senses(adjective, "a") for near in (sense, *sense.similar_tos())}


@lru_cache(CACHED_WORDS)
def antonyms(word: str, pos: PartOfSpeech) -> tuple[str, ...]:
    """Return direct antonyms, then indirect antonyms (of adjectives), each group sorted by frequency.

    Indirect antonyms are the antonyms of similar words ("tiny": "large"), and words that are similar to a direct
    antonym ("small": "huge").
    """
    word_senses = senses(word, pos)
    heads = [head for sense in word_senses if sense.pos() == "s" for head in sense.similar_tos()]
    lemmas = (lemma for sense in (*word_senses, *heads) for lemma in sense.lemmas())
    opposites = {other.synset() for lemma in lemmas for other in lemma.antonyms()}
    similar_opposites = (
        {other for sense in opposites for other in sense.similar_tos()} if pos == "a" else set()
    )
    synonyms = {lemma.name().lower() for sense in word_senses for lemma in sense.lemmas()}

    def sort_by_frequency(lemmas: Iterable[Lemma]) -> list[str]:
        counts = Counter[str]()
        for lemma in lemmas:
            counts[lemma.name().lower()] += _tag_count(lemma)
        return sorted(
            counts.keys() - synonyms - {_wordnet_name(word)}, key=lambda name: (-counts[name], name)
        )

    word_lemmas = (
        lemma
        for sense in word_senses
        for lemma in sense.lemmas()
        if lemma.name().lower() == _wordnet_name(word)
    )
    lemma_groups = (
        (other for lemma in word_lemmas for other in lemma.antonyms()),
        (lemma for sense in opposites for lemma in sense.lemmas()),
        (lemma for sense in similar_opposites for lemma in sense.lemmas() if _tag_count(lemma)),
    )
    names = (name.replace("_", " ") for group in lemma_groups for name in sort_by_frequency(group))
    return tuple(dict.fromkeys(names))


@lru_cache(CACHED_WORDS)
def _color_synsets(word: str) -> frozenset[Synset]:
    """Return the colours that an adjective's last part names, and the colours of which they are shades."""
    last_word = _last_word(word.lower().replace("-", " "))
    if not is_in_wordnet(last_word, "a"):
        return frozenset()
    tops = [wordnet().synset(f"{name}_color.n.01") for name in ("chromatic", "achromatic")]
    paths = [
        path
        for sense in wordnet().synsets(_wordnet_name(last_word), "n")
        for path in sense.hypernym_paths()
    ]
    return frozenset(
        shade
        for path in paths
        for top in tops
        if top in path
        for shade in path[path.index(top) + 1 :]
    )


def is_color(adjective: str) -> bool:
    """Return True if WordNet has a noun for the adjective that names a colour ("red", "dark green")."""
    return bool(_color_synsets(adjective))


def name_same_color(first: str, second: str) -> bool:
    """Return True if two adjectives name one colour, or a colour and one of its shades ("crimson" and "red")."""
    return not _color_synsets(first).isdisjoint(_color_synsets(second))
