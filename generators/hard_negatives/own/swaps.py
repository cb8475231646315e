"""The swaps of a user's own caption: the same words, attached to other objects.

The edits are those of CREPE (crepe/swap.py), and the exchange of the sides of a comparison and of two numbers: "more
bananas than apples", "two dogs and three cats".
"""

import re
from collections.abc import Iterator

from compeval.base.texts import WORD, have_same_words
from compeval.generators.hard_negatives.crepe.swap import make_swaps
from compeval.generators.hard_negatives.hard_negative import Foil, HardNegative
from compeval.generators.hard_negatives.own.caption import OwnCaption
from compeval.generators.hard_negatives.own.lists import load_words
from compeval.generators.language.lexicon.attributes import is_color

COMPARISON = re.compile(r"\b(?:more|fewer|less|bigger|smaller|taller|larger|rather)\b.* than ")
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBER = re.compile(rf"\b(?:{'|'.join(NUMBERS)})\b")


def exchange_amounts(caption: OwnCaption) -> list[HardNegative]:
    """Return the exchanges of the sides of a comparison and of two numbers, which are always false and usual."""
    return [*_exchange_compared(caption), *_exchange_numbers(caption.parse.caption)]


def make_proven_swaps(caption: OwnCaption) -> tuple[list[HardNegative], int]:
    """Return the swaps that the facts exclude, and the number of all. Any other swap may be true, so it is no foil."""
    text = caption.parse.caption
    swaps = [swap for swap in make_swaps(caption.parse.graph) if caption.keeps_kinds(swap[0])]
    written = [(edited, foil, caption.editable.edit(edited)) for edited, foil in swaps]
    texts = {new: foil for _, foil, new in written if new and have_same_words(new, text)}
    may_be_true = {
        new for edited, _, new in written if new in texts and not caption.facts.is_false(edited)
    }
    proven = [
        HardNegative(new, (foil,))
        for new, foil in texts.items()
        if new not in may_be_true
        and new != text
        and _is_decidable(foil)
        and load_words("function_words").isdisjoint(
            WORD.findall(f"{foil.original} {foil.replacement}")
        )
    ]
    return proven, len(texts)


def _is_decidable(foil: Foil) -> bool:
    """Return False if an attribute other than a colour moves to another object, which may be small, too."""
    first, second = (text.split() for text in (foil.original, foil.replacement))
    is_move = len(first) > 1 and len(second) > 1 and first[0] == second[0]
    return not is_move or is_color(first[0])


def _exchange_compared(caption: OwnCaption) -> Iterator[HardNegative]:
    """Yield "more apples than bananas" for "more bananas than apples"."""
    text = caption.parse.caption
    compared = COMPARISON.search(text)
    if compared is None:
        return
    nouns = [mention for mention in caption.parse.mentions if mention.kind == "object"]
    before = [m for m in nouns if compared.start() <= m.start and m.end <= compared.end()]
    after = [m for m in nouns if m.start >= compared.end()]
    if before and after:
        first, second = before[0], min(after, key=lambda mention: mention.start)
        if first.tag == second.tag and first.text != second.text:
            yield _exchange(text, (first.start, first.end), (second.start, second.end))


def _exchange_numbers(text: str) -> Iterator[HardNegative]:
    """Yield "three dogs and two cats" for "two dogs and three cats"."""
    numbers = [*NUMBER.finditer(text)]
    if len(numbers) == 2 and numbers[0][0] != numbers[1][0]:
        yield _exchange(text, numbers[0].span(), numbers[1].span())


def _exchange(text: str, first: tuple[int, int], second: tuple[int, int]) -> HardNegative:
    words = text[slice(*first)], text[slice(*second)]
    edited = text[: first[0]] + words[1] + text[first[1] : second[0]] + words[0] + text[second[1] :]
    return HardNegative(edited, (Foil("swap", *words),))
