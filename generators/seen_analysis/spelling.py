"""Spelling correction of region phrases, which people typed."""

from __future__ import annotations

import importlib.resources
import re
from functools import lru_cache

SHORTEST = 5
MIN_RATIO = 10
"""How many times more frequent a correction is than the next candidate, at least."""
JOINED = {"ontop": "on top", "infront": "in front", "alot": "a lot", "onthe": "on the", "tshirt": "t-shirt"}
"""Words that annotators of Visual Genome often run together; an edit would make other words of them."""
_WORD = re.compile(r"(?<![\w'’-])[a-z]+(?![\w'’-])")


class Speller:
    """Corrects words outside the dictionary if one dictionary word at one edit is clearly meant.

    Words with a capital (names), a digit, a hyphen or an apostrophe, short words, words of which SymSpell's or
    lemminflect's dictionary has any inflection, and compounds of two such words ("nightstand") stay unchanged.
    """

    def __init__(self) -> None:
        from symspellpy import SymSpell

        self._symspell = SymSpell(max_dictionary_edit_distance=1)
        dictionary = importlib.resources.files("symspellpy") / "frequency_dictionary_en_82_765.txt"
        with importlib.resources.as_file(dictionary) as words:
            self._symspell.load_dictionary(words, term_index=0, count_index=1)

    def correct(self, phrase: str) -> str:
        """The phrase with its misspelt words replaced; it must still have its capitals."""
        return _WORD.sub(lambda match: self._correct_word(match[0]), phrase)

    @lru_cache(maxsize=1 << 16)  # noqa: B019  (one speller per process)
    def _correct_word(self, word: str) -> str:
        from symspellpy import Verbosity

        if word in JOINED:
            return JOINED[word]
        if len(word) < SHORTEST or self._is_known(word) or self._is_compound(word):
            return word
        candidates = self._symspell.lookup(word, Verbosity.CLOSEST, max_edit_distance=1)
        clear = candidates and (len(candidates) == 1 or candidates[0].count >= MIN_RATIO * candidates[1].count)
        return candidates[0].term if clear else word

    def _is_known(self, word: str) -> bool:
        import lemminflect

        return word in self._symspell.words or bool(lemminflect.getAllLemmas(word))

    def _is_compound(self, word: str) -> bool:
        return any(self._is_known(word[:cut]) and self._is_known(word[cut:]) for cut in range(3, len(word) - 2))
