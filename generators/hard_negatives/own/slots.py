"""Count the words that captions have in a slot: "served on a ___", "___ parked on the street", "a red ___".

A foil that no caption has in its place is absurd ("served on a teddy bear"), although it is near in meaning to the word
that it replaces. Slots are read from the words alone, without a parser, so that the captions of a training corpus can
be counted in addition to the user's own.

A caption is a row of content words, each with a determiner and adjectives before it, and with function words between
("to serve", "on", "plate"). Two neighbours and the function words between them are a link; of a name of several words
("motor bike"), the last one stands for all. The slot of a word is a link without it. A mark of punctuation ends a link.

A clause is two nouns with a verb between. Exact clauses are rare, so a new one counts as usual if captions have it with
another subject of the same kind, and with another object of the same kind ("a person wears a hat").

Two nouns are similar if they fill the same slots: the cosine of the positive pointwise mutual information of nouns and
slots. Nouns of one kind that no caption uses alike ("towel" and "cake") are no foils of each other.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise, permutations
from typing import NamedTuple

from compeval.base.text_only.corpus_statistics import PairCounter, PairCounts
from compeval.generators.hard_negatives.own.lists import load_lists, load_words
from compeval.generators.hard_negatives.own.values import are_values
from compeval.generators.language import CACHED_WORDS
from compeval.generators.language.inflection import lemmatise_noun
from compeval.generators.language.lexicon.attributes import is_color
from compeval.generators.language.wordnet import (
    PartOfSpeech,
    is_in_wordnet,
    lemmatise,
    name_kind,
    sum_tag_counts,
)

TOKEN = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*|[^\w\s]")
PARTS: tuple[PartOfSpeech, ...] = ("n", "v", "a")
MIN_COUNT = 3
MANY_CAPTIONS = 1000
"""Words of fewer captions are no foils if there are many captions, and say nothing about their companions."""
READ_CAPTIONS = 256
"""Captions whose content words are held: the edits of a caption are compared with it one after another."""
MIN_COLORED = 3
"""A colour that captions combine with this number of nouns is allowed for any artifact that has a colour in a caption,
except those of own_colors.yaml."""
MIN_MODIFIED = 2
"""Captions that must have an adjective with a noun, or a relation of two nouns, if there are many captions. One is
enough for a colour."""
MIN_LIFT = 0.5
"""Two words go together if captions have both at least this many times as often as by chance."""
MAX_WORDS = 3
"""Words of the longest noun that is read as one."""
LIVING = frozenset({"noun.person", "noun.animal"})
"""Kinds whose nouns fill the same slots, as far as captions have them together with the other words."""
OF = "of"
TO = "to "
"""Before the lemmas of verbs."""


class Item(NamedTuple):
    """A content word of a caption."""

    lemma: str
    """Verbs begin with "to ", because "a skate park" is no evidence of a skate that is parked."""
    start: int
    end: int
    run: tuple[str, ...] | None
    """The function words after the content word before it; None if there is no such word in this part of the text."""
    is_determined: bool
    modifiers: tuple[str, ...]
    is_plural: bool
    is_noun: bool


@lru_cache(CACHED_WORDS)
def is_modifier(word: str) -> bool:
    """Return True if a word is an adjective more often than anything else."""
    nouns, verbs, adjectives = (sum_tag_counts(word, pos) for pos in PARTS)
    has_adjective = lemmatise(word, "a") is not None
    return has_adjective and (is_color(word) or adjectives >= max(nouns, verbs, 1))


@lru_cache(CACHED_WORDS)
def find_lemma(word: str) -> str:
    """Return the lemma of a content word, as the part of speech that it most often has; of a verb with "to "."""
    forms = {pos: lemmatise(word, pos) for pos in "nv"}
    noun = forms["n"]
    verb = forms["v"]
    if word.endswith(("ing", "ed")) and verb:
        is_noun = noun == word and sum_tag_counts(word, "n") > sum_tag_counts(verb, "v")
        return word if is_noun else TO + verb
    if noun and verb:
        return TO + verb if sum_tag_counts(verb, "v") > sum_tag_counts(noun, "n") else noun
    return noun or (TO + verb if verb else word)


def is_verb_form(word: str) -> bool:
    """Return True for a participle ("standing"), which is rarely a noun."""
    return word.endswith(("ing", "ed")) and find_lemma(word) != word


def _is_gerund_with_object(word: str, following: str) -> bool:
    """Return True for "building" in "a child building a snowman"."""
    is_object = following in load_lists("function_words")["determiners"]
    return word.endswith("ing") and is_object and lemmatise(word, "v") is not None


@lru_cache(CACHED_WORDS)
def is_noun_form(word: str) -> bool:
    """Return True if a content word is a noun, as far as the word alone says."""
    noun = lemmatise(word, "n")
    if noun is None or is_verb_form(word):
        return noun is None and lemmatise(word, "v") is None
    return sum_tag_counts(noun, "n") >= sum_tag_counts(find_lemma(word).removeprefix(TO), "v")


def read_items(text: str, nouns: Collection[str]) -> list[Item]:
    """Return the content words of a text in order. ``nouns`` are lemmas of up to ``MAX_WORDS`` words."""
    tokens = [(match[0].lower(), match.start(), match.end()) for match in TOKEN.finditer(text)]
    items: list[Item] = []
    run: list[str] | None = None
    is_determined = False
    modifiers = list[tuple[str, int, int]]()

    def add(lemma: str, start: int, end: int, is_plural: bool, is_noun: bool) -> None:
        nonlocal run, is_determined
        names = tuple(word for word, *_ in modifiers)
        items.append(
            Item(
                lemma,
                start,
                end,
                None if run is None else tuple(run),
                is_determined,
                names,
                is_plural,
                is_noun,
            )
        )
        run = []
        is_determined = False
        modifiers.clear()

    def end_phrase() -> None:
        """Read adjectives without a noun as a content word: "the cat is black"."""
        if modifiers:
            word, start, end = modifiers.pop()
            add(word, start, end, False, False)

    position = 0
    while position < len(tokens):
        word, start, end = tokens[position]
        if not word[0].isalnum():
            end_phrase()
            run = None
            is_determined = False
            position += 1
            continue
        length, lemma, is_plural = _find_noun(tokens, position, nouns)
        following = tokens[position + 1][0] if position + 1 < len(tokens) else ""
        if length > 1:
            add(lemma, start, tokens[position + length - 1][2], is_plural, True)
            position += length
            continue
        if word in load_lists("function_words")["skipped"] or (
            word == "and" and modifiers and is_modifier(following)
        ):
            pass
        elif word in load_lists("function_words")["determiners"]:
            end_phrase()
            is_determined = True
        elif word in load_lists("function_words")["links"]:
            end_phrase()
            is_determined = False
            if run is not None:
                run.append(word)
        elif is_modifier(word):
            modifiers.append((word, start, end))
        elif not (is_determined or modifiers) and _is_gerund_with_object(word, following):
            add(TO + str(lemmatise(word, "v")), start, end, False, False)
        elif length:
            add(lemma, start, end, is_plural, not is_verb_form(word))
        else:
            add(find_lemma(word), start, end, False, is_noun_form(word))
        position += 1
    end_phrase()
    return items


@lru_cache(READ_CAPTIONS)
def _read_cached(text: str, nouns: frozenset[str]) -> tuple[Item, ...]:
    return tuple(read_items(text, nouns))


def _find_noun(
    tokens: Sequence[tuple[str, int, int]],
    position: int,
    nouns: Collection[str],
) -> tuple[int, str, bool]:
    """Return the number of tokens of the longest noun at a position, its lemma, and whether it is a plural."""
    for length in range(min(MAX_WORDS, len(tokens) - position), 0, -1):
        written = " ".join(word for word, *_ in tokens[position : position + length])
        lemma = _lemmatise(written)
        if lemma in nouns:
            return length, lemma, written != lemma
    return 0, "", False


@lru_cache(CACHED_WORDS)
def _lemmatise(written: str) -> str:
    return lemmatise_noun(written)


Link = tuple[str, tuple[str, ...], str]
"""A content word, the function words after it, and the next content word."""
Slot = tuple[str, str, tuple[str, ...]]
"""The side of the known word ("before" or "after" the slot), the known word, and the function words between."""


def list_links(items: Sequence[Item]) -> list[Link]:
    """Return the links of a caption, in order: between the words of a name, and between the last words of two names."""
    heads = find_heads(items)
    return [
        (before.lemma, item.run, item.lemma if is_compound(before, item) else head)
        for before, item, head in zip(items, items[1:], heads[1:], strict=False)
        if item.run is not None
    ]


def list_clauses(items: Sequence[Item]) -> list[Link]:
    """Return the links of two nouns with one verb between: ("cat", ("to sit", "on"), "couch")."""
    heads = find_heads(items)
    return [
        (subject.lemma, (*verb.run, verb.lemma, *item.run), head)
        for subject, verb, item, head in zip(items, items[1:], items[2:], heads[2:], strict=False)
        if verb.run is not None
        and item.run is not None
        and subject.is_noun
        and item.is_noun
        and not verb.is_noun
    ]


def is_compound(before: Item, item: Item) -> bool:
    """Return True if two content words are one name: "snow suit", "pine tree"."""
    return item.run == () and not item.is_determined and before.is_noun and item.is_noun


def find_heads(items: Sequence[Item]) -> list[str]:
    """Return the last word of the name of each content word: "suit" for both of "snow suit"."""
    heads = [item.lemma for item in items]
    for index in range(len(items) - 2, -1, -1):
        if is_compound(items[index], items[index + 1]):
            heads[index] = heads[index + 1]
    return heads


def list_modified(items: Sequence[Item]) -> list[tuple[str, str]]:
    """Return the pairs of an adjective and its noun, and of neighbouring adjectives of a noun."""
    heads = find_heads(items)
    pairs = [
        (modifier, head)
        for item, head in zip(items, heads, strict=True)
        for modifier in item.modifiers
    ]
    return pairs + [pair for item in items for pair in pairwise(item.modifiers)]


def _generalise(link: Link) -> tuple[Link, Link]:
    """Return a link with the kind of its first word instead of the word, and with that of its second word."""
    first, run, second = link
    return (find_kind(first), run, second), (first, run, find_kind(second))


@lru_cache(CACHED_WORDS)
def find_kind(noun: str) -> str:
    """Return the kind of a noun ("noun.person"); of a word that is no noun of WordNet, the word."""
    is_noun = not noun.startswith(TO) and is_in_wordnet(noun)
    return name_kind(noun) if is_noun else noun


def find_slots(link: Link) -> tuple[Slot, Slot]:
    """Return the slot of the second word of a link, and that of the first."""
    first, run, second = link
    return ("before", first, run), ("after", second, run)


class SlotCounts:
    """Numbers of captions with a word in a slot. Only links of words of the captions that are edited are counted."""

    def __init__(self, nouns: frozenset[str]) -> None:
        """``nouns`` are lemmas of up to ``MAX_WORDS`` words that are read as one word."""
        self.captions = 0
        self._nouns = nouns
        self._slots = set[Slot]()
        self._words = set[str]()
        self._fillers = defaultdict[Slot, Counter[str]](Counter)
        self._runs = dict[
            tuple[str, ...], tuple[str, ...]
        ]()  # one object for each run saves memory
        self._general = Counter[Link]()
        self._modified = Counter[tuple[str, str]]()
        self._forms = Counter[tuple[str, bool, bool]]()
        self._numbers = dict[str, int]()
        self._pairs = PairCounter()

    def read(self, text: str) -> list[Item]:
        """Return the content words of a text."""
        return list(_read_cached(text, self._nouns))

    def add_slots(self, text: str) -> None:
        """Count the slots of a caption from now on, and those of its words with its function words exchanged."""
        items = self.read(text)
        self._words.update(item.lemma for item in items)
        self._runs.update({run: run for _, run, _ in (*list_links(items), *list_clauses(items))})
        for run in {item.run for item in items if item.run is not None}:
            for item in items:
                self._slots.update((side, item.lemma, run) for side in ("before", "after"))

    def count(self, text: str) -> None:
        """Count the words of a caption in their slots."""
        items = self.read(text)
        self.captions += 1
        self._modified.update(list_modified(items))
        links = [*list_links(items), *list_clauses(items)]
        for first, run, second in links:
            if (number := self._runs.get(run)) is not None:
                self._general.update(_generalise((first, number, second)))
        for link in links:
            is_own = link[0] in self._words and link[2] in self._words
            for slot, word in zip(find_slots(link), (link[2], link[0]), strict=True):
                if is_own or slot in self._slots:
                    self._fillers[slot][word] += 1
        self._forms.update((item.lemma, item.is_determined, item.is_plural) for item in items)
        words = sorted({item.lemma for item in items})
        for word in words:
            self._numbers.setdefault(word, len(self._numbers))
        self._pairs.update(
            self._numbers[first] << 32 | self._numbers[second]
            for first, second in permutations(words, 2)
        )

    @property
    def min_count(self) -> int:
        """The number of captions that must have a word for it to be a foil."""
        return 1 if self.are_few else MIN_COUNT

    @property
    def are_few(self) -> bool:
        """True if the captions are too few for the similarity of words."""
        return self.captions < MANY_CAPTIONS

    @cached_property
    def _together(self) -> PairCounts:
        return self._pairs.result()

    @cached_property
    def _totals(self) -> Counter[str]:
        totals = Counter[str]()
        for (lemma, _, _), count in self._forms.items():
            totals[lemma] += count
        return totals

    def count_word(self, word: str) -> int:
        """Return how often the captions have a word."""
        return self._totals[word]

    def has_form(self, word: str, *, is_determined: bool, is_plural: bool) -> bool:
        """Return True if a caption has a noun in this number with, or without, a determiner."""
        return self._forms[word, is_determined, is_plural] > 0

    def are_together(self, word: str, others: Iterable[str]) -> bool:
        """Return True if captions have a word with each of the others, and not much less often than by chance.

        Others of few captions are left out.
        """
        frequent = [other for other in others if self._totals[other] >= MIN_COUNT and other != word]
        if word not in self._numbers:
            return False
        together = self._together.get(
            [self._numbers[word] << 32 | self._numbers[other] for other in frequent]
        )
        by_chance = [
            self._totals[word] * self._totals[other] / max(self.captions, 1) for other in frequent
        ]
        return all(
            count >= max(1, MIN_LIFT * expected)
            for count, expected in zip(together, by_chance, strict=True)
        )

    def count_link(self, link: Link) -> int:
        """Return the number of captions with a link, if one of its slots is counted."""
        before, after = find_slots(link)
        return max(
            self._fillers[before][link[2]] if before in self._fillers else 0,
            self._fillers[after][link[0]] if after in self._fillers else 0,
        )

    def count_modified(self, modifier: str, noun: str) -> int:
        """Return the number of captions with an adjective before a noun or another adjective."""
        return self._modified[modifier, noun]

    def list_fillers(self, slot: Slot) -> Mapping[str, int]:
        """Return the words in a slot with their counts."""
        return self._fillers.get(slot, {})

    @cached_property
    def _vectors(self) -> Mapping[str, Mapping[Slot, float]]:
        """The positive pointwise mutual information of each word with the slots that it fills."""
        total = sum(map(Counter.total, self._fillers.values()))
        of_word = Counter[str]()
        for words in self._fillers.values():
            of_word.update(words)
        vectors = defaultdict[str, dict[Slot, float]](dict)
        for slot, words in self._fillers.items():
            of_slot = words.total()
            for word, count in words.items():
                if (ratio := count * total / (of_word[word] * of_slot)) > 1:
                    vectors[word][slot] = math.log(ratio)
        return vectors

    def list_similar(self, word: str) -> set[str]:
        """Return the words that fill a slot of a word; in few captions, all words."""
        if self.are_few:
            return set(self._totals) - {word}
        return {other for slot in self._vectors.get(word, ()) for other in self._fillers[slot]} - {
            word
        }

    @cached_property
    def _lengths(self) -> Mapping[str, float]:
        vectors = self._vectors.items()
        return {
            word: math.sqrt(math.fsum(value**2 for value in of.values())) for word, of in vectors
        }

    def measure_similarity(self, first: str, second: str) -> float:
        """Return the cosine of two words' vectors, 0 to 1."""
        first_counts, second_counts = (self._vectors.get(word, {}) for word in (first, second))
        dot = math.fsum(
            first_counts[slot] * second_counts[slot]
            for slot in first_counts.keys() & second_counts.keys()
        )
        return dot / (self._lengths[first] * self._lengths[second]) if dot else 0.0

    def fits(self, caption: str, edited: str, *, strict: bool = False) -> bool:
        """Return True if captions have all links, and adjectives with their nouns, that an edit makes.

        A slot that no other word fills in any caption says nothing about the new word, but then another slot must.
        With ``strict``, every new link must be in a caption. Every new clause must be usual.
        """
        old = self.read(caption)
        new = self.read(edited)
        modified = Counter(list_modified(new)) - Counter(list_modified(old))
        if not all(itertools.starmap(self.may_modify, modified)):
            return False
        if any(
            item.modifiers and item.run == () and before.is_noun and not item.is_determined
            for before, item in pairwise(new)
            if item not in old
        ):
            return False  # "a laptop white computer"
        if any(itertools.starmap(are_values, modified)):
            return False  # "a blue white sky", "large mini pizzas"
        links = Counter(list_links(new)) - Counter(list_links(old))
        phrases = {
            (before.lemma, item.run, item.lemma)
            for before, item in pairwise(new)
            if is_compound(before, item)
        }
        lost = Counter(list_links(old)) - Counter(list_links(new))
        slots = {
            slot: word
            for link in lost
            for slot, word in zip(find_slots(link), (link[2], link[0]), strict=True)
        }
        if not all(map(self._knows_clause, set(list_clauses(new)) - set(list_clauses(old)))):
            return False
        if strict:
            return all(map(self._has_link, links))
        if not all(self.count_link(link) for link in links if link in phrases):
            return False
        is_known = [self._knows(link, slots) for link in links]
        return False not in is_known and (True in is_known or not links)

    def has_usual_links(self, caption: str, edited: str) -> bool:
        """Return True if an edit makes new links, and several captions have each."""
        links = [set(list_links(self.read(text))) for text in (caption, edited)]
        new = links[1] - links[0]
        least = 1 if self.are_few else MIN_MODIFIED
        return bool(new) and all(self.count_link(link) >= least for link in new)

    def _knows_clause(self, clause: Link) -> bool:
        """Return True if captions have a clause, or both its verb with its object and its verb with its subject."""
        return bool(self.count_link(clause)) or all(map(self._general.get, _generalise(clause)))

    def _has_link(self, link: Link) -> bool:
        """Return True if captions have a link, or have it with other persons or animals instead of its own."""
        if self.count_link(link):
            return True
        first, run, second = link
        if not run and not first.startswith(TO) and not second.startswith(TO):
            return False  # a name of two nouns
        general = zip((first, second), _generalise(link), strict=True)
        living = [other for word, other in general if find_kind(word) in LIVING]
        return bool(living) and all(map(self._general.get, living))

    def may_modify(self, modifier: str, noun: str) -> bool:
        """Return True if captions combine an adjective with a noun, or a colour is allowed for an artifact."""
        is_one_enough = self.are_few or is_color(modifier)
        if self._modified[modifier, noun] >= (1 if is_one_enough else MIN_MODIFIED):
            return True
        is_artifact = find_kind(noun) == "noun.artifact"
        return (
            is_artifact
            and load_words("own_colors").isdisjoint((noun, *noun.split()))
            and is_color(modifier)
            and self._colors[noun] > 0
            and self._colored[modifier] >= MIN_COLORED
        )

    @cached_property
    def _colors(self) -> Counter[str]:
        """The number of colours of each noun."""
        return Counter(noun for modifier, noun in self._modified if is_color(modifier))

    @cached_property
    def _colored(self) -> Counter[str]:
        """The number of nouns of each colour."""
        return Counter(modifier for modifier, _ in self._modified if is_color(modifier))

    def _knows(self, link: Link, slots: Mapping[Slot, str]) -> bool | None:
        """Return True if a caption has a link, and None if its slot has no other word than the caption's own."""
        if self._has_link(link):
            return True
        if OF in link[1]:
            return False  # "a loaf of vegetable"
        shared = [slot for slot in find_slots(link) if slot in slots]
        is_unique = shared and not any(
            self.list_fillers(slot).keys() - {slots[slot]} for slot in shared
        )
        return None if is_unique else False
