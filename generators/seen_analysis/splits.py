"""Which region captions make a systematicity test set, and which split each belongs to.

Source: CREPE, section 3.2 (SC, UC, UA) and 4.1 (filters). Differs from it in: captions are normalised and their
spelling is corrected before they are parsed, and every filter counts what it drops.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import ClassVar, Literal

from generators.schemas.scene_graph import Atom, Box, Compound, SceneGraph
from generators.storage.crops import rounded

Split = Literal["sc", "uc", "ua"]

SMALLEST_AREA = 40_000
SMALLEST_SHARE = 0.1
ASPECTS = (0.5, 2.0)
FEWEST_ATOMS, FEWEST_COMPOUNDS = 2, 1

SMALL = "crop under 40,000 pixels"
SMALL_SHARE = "crop under 10 % of the image"
STRETCHED = "crop width/height outside 0.5 to 2.0"
WORDLESS = "caption without words"
FEW_ATOMS = "caption with fewer than 2 atoms"
NO_COMPOUND = "caption without a compound"
REPEATED = "caption with the scene graph of an earlier one"
REASONS = (SMALL, SMALL_SHARE, STRETCHED, WORDLESS, FEW_ATOMS, NO_COMPOUND, REPEATED)
"""Why a region is dropped, in the order in which it is asked."""


class Funnel:
    """How many regions each filter dropped."""

    def __init__(self) -> None:
        self.regions = 0
        self.dropped: dict[str, int] = dict.fromkeys(REASONS, 0)

    def count(self, reason: str | None) -> bool:
        """Count one region with the reason that drops it; whether it is kept."""
        self.regions += 1
        if reason is not None:
            self.dropped[reason] += 1
        return reason is None

    def to_json(self) -> dict[str, int]:
        return {"regions": self.regions, **self.dropped, "kept": self.regions - sum(self.dropped.values())}


def crop_fault(box: Box, width: int, height: int) -> str | None:
    """The reason why a crop of an image of that size (pixels) is dropped. Crops count in whole pixels, rounded."""
    left, top, right, bottom = rounded(box)
    across, down = right - left, bottom - top
    if across * down < SMALLEST_AREA:
        return SMALL
    if across * down < SMALLEST_SHARE * width * height:
        return SMALL_SHARE
    return None if ASPECTS[0] <= across / down <= ASPECTS[1] else STRETCHED


def crop_passes(box: Box, width: int, height: int) -> bool:
    return crop_fault(box, width, height) is None


def caption_fault(graph: SceneGraph) -> str | None:
    """The reason why a caption with this scene graph is dropped."""
    if graph.complexity < FEWEST_ATOMS:
        return FEW_ATOMS
    return NO_COMPOUND if len(graph.compounds) < FEWEST_COMPOUNDS else None


def split(
    atoms: Iterable[Atom],
    compounds: Iterable[Compound],
    seen_atoms: Collection[Atom],
    seen_compounds: Collection[Compound],
) -> Split:
    """``ua``: an atom is unseen. ``uc``: all atoms are seen, a compound is not. ``sc``: all compounds are seen."""
    if any(atom not in seen_atoms for atom in atoms):
        return "ua"
    return "sc" if all(compound in seen_compounds for compound in compounds) else "uc"


def normalised(phrase: str) -> str:
    """Lower case, one space between words, none before a comma, and no mark at either end."""
    return re.sub(r"\s+([,.;:!?])", r"\1", " ".join(phrase.split())).strip(' .,;:!?"`').lower()


class Speller:
    """Corrects words that no dictionary knows where one dictionary word, at one edit, is clearly meant.

    Left alone: words with a capital (names), a digit, a hyphen or an apostrophe, short words, words of which any
    inflection is in SymSpell's or lemminflect's dictionary, and compounds of two such words ("nightstand").
    """

    SHORTEST = 5
    CLEARLY = 10
    """A correction must be so many times more frequent than the next one."""
    JOINED: ClassVar = {
        "ontop": "on top",
        "infront": "in front",
        "alot": "a lot",
        "onthe": "on the",
        "tshirt": "t-shirt",
    }
    """Words that annotators of Visual Genome often run together; an edit would make other words of them."""

    _WORD = re.compile(r"(?<![\w'’-])[a-z]+(?![\w'’-])")

    def __init__(self) -> None:
        from symspellpy import SymSpell

        self._symspell = SymSpell(max_dictionary_edit_distance=1)
        dictionary = importlib.resources.files("symspellpy") / "frequency_dictionary_en_82_765.txt"
        with importlib.resources.as_file(dictionary) as words:
            self._symspell.load_dictionary(words, term_index=0, count_index=1)

    def correct(self, phrase: str) -> str:
        """The phrase with its misspelt words replaced; it must still have its capitals."""
        return self._WORD.sub(lambda match: self._word(match[0]), phrase)

    @lru_cache(maxsize=1 << 16)  # noqa: B019  (one speller a process, for all of its life)
    def _word(self, word: str) -> str:
        from symspellpy import Verbosity

        if word in self.JOINED:
            return self.JOINED[word]
        if len(word) < self.SHORTEST or self._known(word) or self._compound(word):
            return word
        found = self._symspell.lookup(word, Verbosity.CLOSEST, max_edit_distance=1)
        clear = found and (len(found) == 1 or found[0].count >= self.CLEARLY * found[1].count)
        return found[0].term if clear else word

    def _known(self, word: str) -> bool:
        import lemminflect

        return word in self._symspell.words or bool(lemminflect.getAllLemmas(word))

    def _compound(self, word: str) -> bool:
        return any(self._known(word[:cut]) and self._known(word[cut:]) for cut in range(3, len(word) - 2))
