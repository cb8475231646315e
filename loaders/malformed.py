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

MIN_MANGLED = 3
"""Fewest letters of a mangled word."""
MOJIBAKE = re.compile(
    r"\ufffd|[ÂÃâ][\u0080-\u00bf€™œž“”¢˜]|ï¿½|&(?:amp|quot|lt|gt|#\d+);|\\u[0-9a-f]{4}"
)
CHATTER = re.compile(
    r"^\W*(?:sure|certainly|of course|okay)\s*[,!:]|^\W*here(?:'s| is| are)\b[^.:]*(?:caption|sentence|version|rewrit|"
    r"rephras)|\bas an ai\b|\b(?:rewritten|revised|rephrased|modified|original|negated) (?:caption|sentence|version)\b|"
    r"^\W*(?:caption|output|answer|note|explanation)\s*:|\bi (?:cannot|can't|apologi[sz]e)\b|\blet me know\b|"
    r"\bthe change is\b|\bis (?:very )?(?:small|minor|subtle)\.$",
    re.IGNORECASE,
)
QUOTED = re.compile(r'^\s*"{2,}.*"|^\s*"[^"]*"\s*\S')
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


def find_mangled_word(caption: str, negative: str, known: set[str]) -> str:
    """Return the first word of a negative that was made inside a word of the caption ("person>persinside"), or "".

    The word is neither in a dictionary nor in ``known``, the words of all captions. It begins and ends like a word of
    the caption that has lost an occurrence, and between them another word of the caption was replaced by a word.
    """
    truth = Counter(words(caption))
    lost = truth - Counter(words(negative))
    for word in words(negative):
        if len(word) < MIN_MANGLED or word in known or any(map(str.isdigit, word)):
            continue
        parts = ((source, part) for source in lost for part in _list_inserted(word, source, truth))
        origin = next(
            (source for source, part in parts if part in known or is_in_dictionary(part)), ""
        )
        if origin and not is_in_dictionary(word):
            return f"{origin}>{word}"
    return ""


def _list_inserted(word: str, source: str, others: Iterable[str]) -> Iterator[str]:
    """Yield what ``word`` has in place of another word inside ``source``."""
    for inner in others:
        start = source.find(inner) if inner != source else -1
        while start >= 0:
            before, after = source[:start], source[start + len(inner) :]
            if (
                word.startswith(before)
                and word.endswith(after)
                and len(word) > len(before) + len(after)
            ):
                yield word[len(before) : len(word) - len(after)]
            start = source.find(inner, start + 1)


@lru_cache(100_000)
def is_in_dictionary(word: str) -> bool:
    """Return True if WordNet has the word or a word that it is a form of."""
    return any(wordnet().morphy(word, part) for part in "nvar")


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
        article, word = match[1].lower(), match[2]
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


TESTS_OF_PAIRS: dict[str, Callable[[str, str], str]] = {
    "doubled word": find_doubled_word,
    "article": find_article,
    "punctuation": find_punctuation,
}
TESTS_OF_TEXTS: dict[str, Callable[[str], str]] = {
    "mojibake": lambda text: find_match(MOJIBAKE, text),
    "chatter": lambda text: find_match(CHATTER, text) or find_match(QUOTED, text),
}
MANGLED = "mangled word"
KINDS = (MANGLED, *TESTS_OF_PAIRS, *TESTS_OF_TEXTS)


def list_available_kinds() -> tuple[str, ...]:
    """Return the kinds that can be found here: mangled words need a dictionary, the extra ``generate``."""
    return KINDS if find_spec("nltk") else tuple(kind for kind in KINDS if kind != MANGLED)


def find_malformed(rows: Sequence[Texts], kinds: Collection[str] = KINDS) -> Iterator[Finding]:
    """Yield the malformed texts of these kinds, by row. ``rows`` is read twice: a word of any caption is a word."""
    known = {word for row in rows for word in words(row.caption)}
    for index, row in enumerate(rows):
        for candidate, text in enumerate((row.caption, *row.hard_negatives)):
            found = {kind: test(text) for kind, test in TESTS_OF_TEXTS.items()}
            if candidate:
                found |= {kind: test(row.caption, text) for kind, test in TESTS_OF_PAIRS.items()}
                if MANGLED in kinds:
                    found[MANGLED] = find_mangled_word(row.caption, text, known)
            for kind, detail in found.items():
                if detail and kind in kinds:
                    yield Finding(index, candidate, kind, detail, row.caption, text)
