"""Correct the spelling of region phrases, which annotators typed."""

from __future__ import annotations

import importlib.resources
import re
from functools import lru_cache

from compeval.generators.language.optional_imports import without

MIN_LENGTH = 5
"""Shorter words are not corrected."""
MAX_LENGTH = 40
"""Longer words are not corrected."""
MIN_RATIO = 10
"""A correction must be at least this many times as frequent as the next candidate."""
JOINED = {
    "ontop": "on top",
    "infront": "in front",
    "alot": "a lot",
    "onthe": "on the",
    "tshirt": "t-shirt",
}
"""Words that Visual Genome's annotators often write without a space."""
_WORD = re.compile(r"(?<![\w'’-])[a-z]+(?![\w'’-])")


class Speller:
    """Corrects an unknown word if one dictionary word at edit distance 1 is much more frequent than the others.

    These words stay unchanged: words with a capital (names), a digit, a hyphen or an apostrophe; very short and very
    long words; words in the dictionaries of SymSpell or lemminflect, with all inflected forms; compounds of two such
    words ("nightstand").
    """

    def __init__(self) -> None:
        from symspellpy import SymSpell

        self._symspell = SymSpell(max_dictionary_edit_distance=1)
        dictionary = importlib.resources.files("symspellpy") / "frequency_dictionary_en_82_765.txt"
        with importlib.resources.as_file(dictionary) as words:
            self._symspell.load_dictionary(words, term_index=0, count_index=1)

    def correct(self, phrase: str) -> str:
        """Return the phrase with corrected words. ``phrase`` must have its original capitals."""
        return _WORD.sub(lambda match: self._correct_word(match[0]), phrase)

    @lru_cache(maxsize=1 << 16)  # noqa: B019  (a process has one speller)
    def _correct_word(self, word: str) -> str:
        from symspellpy import Verbosity

        if word in JOINED:
            return JOINED[word]
        if (
            not MIN_LENGTH <= len(word) <= MAX_LENGTH
            or self._is_known(word)
            or self._is_compound(word)
        ):
            return word
        candidates = self._symspell.lookup(word, Verbosity.CLOSEST, max_edit_distance=1)
        is_clear = candidates and (
            len(candidates) == 1 or candidates[0].count >= MIN_RATIO * candidates[1].count
        )
        return candidates[0].term if is_clear else word

    def _is_known(self, word: str) -> bool:
        with without("torch"):
            import lemminflect

        return word in self._symspell.words or bool(lemminflect.getAllLemmas(word))

    def _is_compound(self, word: str) -> bool:
        return any(
            self._is_known(word[:cut]) and self._is_known(word[cut:])
            for cut in range(3, len(word) - 2)
        )
