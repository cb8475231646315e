"""Any number of captions from a few thousand real ones: atoms are exchanged, and the dirt of web text is added.

Every caption is a template. A copy replaces about half of the mentions of objects and attributes in it by mentions with
the same part of speech from other captions, so words keep their frequencies and phrases their forms. With ``dirt``,
some captions also have what is frequent in alt texts: names in capitals, codes, addresses, file names, entities,
symbols, misspelt words, and repetitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

from generators.parser.caption_parser import CaptionParser, parse_each
from generators.schemas.scene_graph import Parse

SHARE_REPLACED = 0.5
SHARE_DIRTY = 0.3
SHARE_REPEATED = 0.05
"""Share of captions that repeat an earlier caption."""
SYMBOLS = ("&amp;", "&#39;", "|", "»", "–", "™", "®", "…", "😍", "日本語", "№", "<br>", "%20", "\u200b", "\x07", "#")


class Slot(NamedTuple):
    """A mention that can be replaced: its position in the caption, and its kind and part of speech."""

    start: int
    end: int
    kind: tuple[str, str]


class Template(NamedTuple):
    text: str
    slots: tuple[Slot, ...]


class Templates:
    """Captions with the positions of their mentions, and the texts of all mentions of a kind."""

    def __init__(self, parser: CaptionParser, captions: Sequence[str]) -> None:
        parses = [parse for parse in parse_each(parser, captions) if isinstance(parse, Parse)]
        self._templates = [Template(parse.caption, tuple(_find_slots(parse))) for parse in parses]
        self._texts: dict[tuple[str, str], list[str]] = {}
        for text, slots in self._templates:
            for start, end, kind in slots:
                self._texts.setdefault(kind, []).append(text[start:end])

    def sample(self, rng: Random, dirt: bool = False) -> Iterator[str]:
        """Yield captions without end, the same ones for the same state of ``rng``."""
        recent: list[str] = [""]
        while True:
            if rng.random() < SHARE_REPEATED:
                caption = rng.choice(recent)
            else:
                caption = self._fill(rng.choice(self._templates), rng)
                caption = _soil(caption, rng) if dirt and rng.random() < SHARE_DIRTY else caption
                recent = [*recent[-99:], caption]
            if caption := " ".join(caption.split()):
                yield caption

    def _fill(self, template: Template, rng: Random) -> str:
        parts, end = [], 0
        for slot in template.slots:
            if rng.random() < SHARE_REPLACED:
                parts += [template.text[end : slot.start], rng.choice(self._texts[slot.kind])]
                end = slot.end
        return "".join([*parts, template.text[end:]])


def _find_slots(parse: Parse) -> Iterable[Slot]:
    """Yield the mentions of objects and attributes that do not overlap, from left to right."""
    end = 0
    for mention in sorted(parse.mentions, key=lambda mention: mention.start):
        if mention.kind != "relation" and mention.start >= end:
            yield Slot(mention.start, mention.end, (mention.kind, mention.tag))
            end = mention.end


def _soil(caption: str, rng: Random) -> str:
    """Return the caption with one or two of the flaws of alt texts."""
    words = caption.split() or [""]
    for _ in range(rng.randint(1, 2)):
        index = rng.randrange(len(words))
        match rng.randrange(7):
            case 0:
                words[index] = words[index].upper()
            case 1:
                words.insert(index, _random_text(rng, ascii_uppercase + digits, 2, 9))
            case 2:
                words.append(f"www.{_random_text(rng, ascii_lowercase, 4, 12)}.com/{_random_text(rng, digits, 3, 8)}")
            case 3:
                words = [
                    "-".join(words[: index + 1]) + f"_{rng.randrange(5000)}x{rng.randrange(5000)}.jpg",
                    *words[index:],
                ]
            case 4:
                words.insert(index, rng.choice(SYMBOLS))
            case 5:
                place = rng.randrange(len(words[index]) + 1)
                words[index] = words[index][:place] + rng.choice(ascii_lowercase) + words[index][place + 1 :]
            case _:
                words += words
    return " ".join(words)


def _random_text(rng: Random, alphabet: str, shortest: int, longest: int) -> str:
    return "".join(rng.choices(alphabet, k=rng.randint(shortest, longest)))
