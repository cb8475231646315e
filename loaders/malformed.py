"""Find malformed texts among hard negatives: errors by which a reader identifies them without the image.

    for finding in find_malformed(rows): ...

Each kind occurs in a published set. ``mangled word``: CREPE's productivity files replace or swap parts of words
("person": "persinside", when "on" became "inside"). ``doubled word``, ``article``: replacements that were not fitted
to their neighbours. ``punctuation``: only punctuation differs from the caption. ``mojibake``: a wrong encoding.
``chatter``: an answer of a language model around the caption (NegBench).
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import NamedTuple

from compeval.base.schemas.texts import Texts
from compeval.base.texts import fold_case_and_space, words
from compeval.generators.language.wordnet_database import wordnet

MAX_COMPARED_WORDS = 100
"""Words of a text that are compared with each other: the time grows with their cube."""
MIN_MANGLED = 3
"""Fewest letters of a mangled word."""
MOJIBAKE = re.compile(
    r"\ufffd|[ÂÃâ][\u0080-\u00bf€™œž“”¢˜]|ï¿½|&(?:amp|quot|lt|gt|#\d+);|\\u[0-9a-f]{4}"
)
_PHRASES = (
    r"^\W*(?:sure|certainly|of course|okay)\s*[,!:]|"
    r"^\W*here(?:'s| is| are)\b[^.:]*(?:caption|sentence|version|rewrit|rephras)|\bas an ai\b|"
    r"\b(?:rewritten|revised|rephrased|modified|original|negated) (?:caption|sentence|version)\b|"
    r"^\W*(?:caption|output|answer|note|explanation)\s*:|\blet me know\b"
)
CHATTER_OF_CAPTIONS = re.compile(
    _PHRASES + r'|^\s*"(?:[^"\s]+\s+){3,}[^"\s]+[.!?]"\s*\S', re.IGNORECASE
)
"""Phrases of a language model, or a quoted sentence with text after it. A person may quote a sign, too."""
CHATTER = re.compile(
    _PHRASES
    + r"|\bi (?:cannot|can't|apologi[sz]e)\b|\bthe change is\b|\bis (?:very )?(?:small|minor|subtle)\.$",
    re.IGNORECASE,
)
"""Phrases of a language model around a negative."""
QUOTED = re.compile(r'^\s*"{2,}.*"|^\s*"[^"]*"\s*\S+')
"""Quotation marks left over from a list of answers, or an answer with text after it."""
DOUBLED = re.compile(r"\b(\w+) \1\b", re.IGNORECASE)
VOWEL_SOUND = re.compile(r"(?!eu|ewe|one|once)[aeio]|u(?:m|n(?!i)|p|g)", re.IGNORECASE)
CONSONANT_SOUND = re.compile(r"[bcdfgjklmnpqrstvwxyz][a-z]*[aeiouy]", re.IGNORECASE)
ARTICLE = re.compile(r"\b(an?) ([a-z]+)", re.IGNORECASE)


class Finding(NamedTuple):
    """A malformed text: candidate 0 is the caption, the others are its negatives in order."""

    row: int
    candidate: int
    kind: str
    detail: str
    caption: str
    text: str


def find_mangled_word(caption: str, negative: str, vocabulary: set[str]) -> str:
    """Return the first word of a negative that was made inside a word of the caption ("person>persinside"), or "".

    The word is neither in a dictionary nor in ``vocabulary``, the words of all captions. It begins and ends like a word
    of the caption, and between them another word of the caption, or its base form, was replaced by a word: "tree" in
    "trees" by "grass", which makes "grasss". One of the two words of the caption has lost an occurrence. A plural that
    is in no dictionary ("parasailers") is not mangled.
    """
    truth = Counter(words(caption)[:MAX_COMPARED_WORDS])
    compared = words(negative)[:MAX_COMPARED_WORDS]
    lost = truth - Counter(compared)
    for word in compared:
        if len(word) < MIN_MANGLED or word in vocabulary or any(map(str.isdigit, word)):
            continue
        if is_in_dictionary(word):
            continue
        for source, part in _list_inserted(word, truth, lost):
            is_plural = word == f"{part}s" and not part.endswith("s")
            if not is_plural and (part in vocabulary or is_in_dictionary(part)):
                return f"{source}>{word}"
    return ""


def _list_inserted(
    word: str, truth: Iterable[str], lost: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield a word of the caption, and what ``word`` has in place of another word inside it.

    ``truth`` are the words of the caption, and ``lost`` those that have lost an occurrence.
    """
    inner_words = [(inner, own) for own in truth for inner in {own, find_base_form(own)}]
    for source in truth:
        for inner, own in inner_words:
            if inner == source or not {source, own} & {*lost}:
                continue
            start = source.find(inner)
            while start >= 0:
                before = source[:start]
                after = source[start + len(inner) :]
                is_longer = len(word) > len(before) + len(after)
                if is_longer and word.startswith(before) and word.endswith(after):
                    yield source, word[len(before) : len(word) - len(after)]
                start = source.find(inner, start + 1)


@lru_cache(100_000)
def find_base_form(word: str) -> str:
    """Return the singular of a noun, or the word."""
    return wordnet().morphy(word, "n") or word


@lru_cache(100_000)
def is_in_dictionary(word: str) -> bool:
    """Return True if WordNet has the word or a word that it is a form of.

    WordNet takes an "s" off any word, also off "grasss": a plural of a word in "s" is none.
    """
    bases = (wordnet().morphy(word, part) for part in "nvar")
    return any(base and not (base.endswith("s") and word == f"{base}s") for base in bases)


def find_doubled_word(caption: str, negative: str) -> str:
    """Return a word that stands twice in a row in the negative and not in the caption, or ""."""
    allowed = {match[0].lower() for match in DOUBLED.finditer(caption)}
    return next(
        (match[0] for match in DOUBLED.finditer(negative) if match[0].lower() not in allowed), ""
    )


def find_article(caption: str, negative: str) -> str:
    """Return an article that does not fit the next word ("an cat"), unless the caption has it, too; or ""."""
    allowed = {match[0].lower() for match in ARTICLE.finditer(caption)}
    for match in ARTICLE.finditer(negative):
        article = match[1].lower()
        word = match[2]
        wrong = VOWEL_SOUND.match(word) if article == "a" else CONSONANT_SOUND.match(word)
        if wrong and len(word) > 1 and not word.isupper() and match[0].lower() not in allowed:
            return match[0]
    return ""


def find_punctuation(caption: str, negative: str) -> str:
    """Return the negative if it differs from the caption in punctuation only (and case and spaces), or ""."""
    same = words(caption) == words(negative) and fold_case_and_space(
        caption
    ) != fold_case_and_space(negative)
    return negative if same else ""


def find_match(pattern: re.Pattern[str], text: str) -> str:
    """Return the first match of a pattern in a text, or ""."""
    match = pattern.search(text)
    return match[0] if match else ""


def find_chatter(caption: str, negative: str) -> str:
    """Return a phrase of a language model in a negative, or "".

    The caption has no such phrase and lacks one of its words. Otherwise the phrase is the caption's: a quoted sign, or
    words in another order ("the toilet is very small" of "the sink next to the small toilet is very dirty").
    """
    for pattern in (CHATTER, QUOTED):
        phrase = find_match(pattern, negative)
        if phrase and not pattern.search(caption) and not {*words(phrase)} <= {*words(caption)}:
            return phrase
    return ""


TESTS_OF_PAIRS: dict[str, Callable[[str, str], str]] = {
    "doubled word": find_doubled_word,
    "article": find_article,
    "punctuation": find_punctuation,
    "mojibake": lambda caption, negative: find_match(MOJIBAKE, negative),
    "chatter": find_chatter,
}
TESTS_OF_CAPTIONS: dict[str, Callable[[str], str]] = {
    "mojibake": lambda text: find_match(MOJIBAKE, text),
    "chatter": lambda text: find_match(CHATTER_OF_CAPTIONS, text),
}
MANGLED = "mangled word"
KINDS = (MANGLED, *TESTS_OF_PAIRS)


def list_available_kinds() -> tuple[str, ...]:
    """Return the kinds that can be found here: mangled words need a dictionary, the extra ``generate``."""
    return KINDS if find_spec("nltk") else tuple(kind for kind in KINDS if kind != MANGLED)


def find_malformed(rows: Sequence[Texts], kinds: Collection[str] = KINDS) -> Iterator[Finding]:
    """Yield the malformed texts of these kinds, by row. ``rows`` is read twice: a word of any caption is a word."""
    vocabulary = {word for row in rows for word in words(row.caption)}
    for index, row in enumerate(rows):
        for kind, test in TESTS_OF_CAPTIONS.items():
            if kind in kinds and (detail := test(row.caption)):
                yield Finding(index, 0, kind, detail, row.caption, row.caption)
        for candidate, text in enumerate(row.hard_negatives, 1):
            details = {kind: test(row.caption, text) for kind, test in TESTS_OF_PAIRS.items()}
            if MANGLED in kinds:
                details[MANGLED] = find_mangled_word(row.caption, text, vocabulary)
            for kind, detail in details.items():
                if detail and kind in kinds:
                    yield Finding(index, candidate, kind, detail, row.caption, text)
