"""Random access to the records of a JSON file that is too large to load.

Visual Genome's largest files hold 700 MB of JSON, five to eight times that as Python objects. Here a first pass notes
where each record lies and checks that the whole file is sound; a record is decoded again when it is asked for. Memory:
the index (about 200 bytes a record) and one record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

CHUNK = 1 << 22
LARGEST_RECORD = 1 << 26

_decoder = json.JSONDecoder()


class JsonRecords:
    """The records of a top-level JSON list (keyed by ``key_of``) or of a top-level JSON object (keyed by its keys).

    ValueError, with the file and the record's number, for broken JSON, for a record that is no object and for a key
    that occurs twice.
    """

    def __init__(self, path: Path, key_of: Callable[[dict[str, Any], str], str] | None = None) -> None:
        if not path.exists():
            raise FileNotFoundError(f"{path}: not found.")
        self.path = path
        self._spans: dict[str, tuple[int, int]] = {}
        for number, (key, record, start, stop) in enumerate(_records(path)):
            where = f"{path}, record {number}"
            if not isinstance(record, dict):
                raise ValueError(f"{where}: got {type(record).__name__}, expected an object.")
            if key is None:
                if key_of is None:
                    raise ValueError(f"{path}: got a list at the top, expected an object keyed by image id.")
                key = key_of(record, where)
            if key in self._spans:
                raise ValueError(f"{where}: duplicate id {key}.")
            self._spans[key] = start, stop

    def __iter__(self) -> Iterator[str]:
        return iter(self._spans)

    def __contains__(self, key: str) -> bool:
        return key in self._spans

    def __getitem__(self, key: str) -> dict[str, Any]:
        start, stop = self._spans[key]
        with self.path.open("rb") as file:
            file.seek(start)
            return json.loads(file.read(stop - start))


class Ids:
    """A set of ids that takes one bit for each number up to the largest: Visual Genome has five million regions."""

    LARGEST = 1 << 30

    def __init__(self) -> None:
        self._bits, self._others = bytearray(), set[str]()

    def add(self, item: str) -> bool:
        """Whether the id is new."""
        if not (item.isdecimal() and str(int(item)) == item and int(item) < self.LARGEST):
            known = item in self._others
            self._others.add(item)
            return not known
        place, bit = divmod(int(item), 8)
        if place >= len(self._bits):
            self._bits.extend(bytes(place + 1 - len(self._bits)))
        known = bool(self._bits[place] >> bit & 1)
        self._bits[place] |= 1 << bit
        return not known


class _Window:
    """A sliding window on a text file; ``base + position`` is an offset in bytes."""

    def __init__(self, file: TextIO, path: Path) -> None:
        self._file, self._path = file, path
        self.text, self.position, self.base = "", 0, 0
        self.number = 0

    def peek(self) -> str:
        """The next character that is no white space, "" at the end of the file."""
        while True:
            while self.position < len(self.text):
                if (character := self.text[self.position]) not in " \t\r\n":
                    return character
                self.position += 1
            if not self._read_on():
                return ""

    def take(self, *expected: str) -> str:
        character = self.peek()
        if character not in expected or not character:
            raise self.broken(
                f"expected {' or '.join(map(repr, expected))}, got {character or 'the end of the file'!r}"
            )
        self.position += 1
        return character

    def value(self) -> tuple[Any, int, int]:
        """The next JSON value with the offsets of its first byte and of the byte after its last."""
        self.peek()
        while True:
            try:
                value, end = _decoder.raw_decode(self.text, self.position)
            except json.JSONDecodeError as error:
                place = self.base + error.pos
                if len(self.text) - self.position < LARGEST_RECORD and self._read_on():
                    continue
                raise self.broken(error.msg, place) from None
            start, self.position = self.position, end
            return value, self.base + start, self.base + end

    def broken(self, problem: str, place: int | None = None) -> ValueError:
        """The error for a problem at the byte ``place``, by default the current one."""
        place = self.base + self.position if place is None else place
        return ValueError(f"{self._path}, record {self.number}: broken JSON at byte {place} ({problem}).")

    def _read_on(self) -> bool:
        more = self._file.read(max(CHUNK, len(self.text) - self.position))
        self.base += self.position
        self.text, self.position = self.text[self.position :] + more, 0
        return bool(more)


def _records(path: Path) -> Iterator[tuple[str | None, Any, int, int]]:
    """Key (None in a list), record, first byte and end of each record, in file order."""
    # Read as Latin-1, one character is one byte; JSON's structure is ASCII, so the boundaries are those of UTF-8.
    with path.open(encoding="latin-1", newline="") as file:
        window = _Window(file, path)
        opening = window.take("[", "{")
        closing = "]" if opening == "[" else "}"
        separator = window.take(closing) if window.peek() == closing else ","
        while separator == ",":
            key = None
            if opening == "{":
                key, _, _ = window.value()
                window.take(":")
            record, start, stop = window.value()
            yield key, record, start, stop
            window.number += 1
            separator = window.take(",", closing)
        if window.peek():
            raise window.broken("more text after the end")
