"""The swaps of a user's own caption: the same words, attached to other objects.

The edits are those of CREPE (crepe/swap.py), and these, which are written in the caption itself:

- two values of one kind are exchanged: "white cabinets, a silver refrigerator";
- two persons or animals, of which one does something to the other one (one_way.yaml): "the dog is chasing the cat";
- the sides of a comparison: "more bananas than apples";
- two numbers: "two dogs and three cats".

Nouns are exchanged only if captions use them alike. Those of a list are not: "a cat and a dog" is "a dog and a cat".
"""

import re
from collections.abc import Callable, Iterator
from itertools import combinations

from compeval.base.schemas.scene_graph import Mention, SceneGraph
from compeval.base.texts import WORD, have_same_words
from compeval.generators.hard_negatives.crepe.swap import make_swaps
from compeval.generators.hard_negatives.hard_negative import Foil, HardNegative
from compeval.generators.hard_negatives.own.caption import OwnCaption, is_named
from compeval.generators.hard_negatives.own.lists import load_words
from compeval.generators.hard_negatives.own.nouns import may_be_one
from compeval.generators.hard_negatives.own.slots import LIVING, find_kind
from compeval.generators.hard_negatives.own.values import are_values, is_color_of_person
from compeval.generators.language.inflection import lemmatise_noun
from compeval.generators.language.lexicon.attributes import is_color

COMPARISON = re.compile(
    r"\b(more|fewer|less|bigger|smaller|taller|larger|longer|shorter|older|younger)\b.* than "
)
AMOUNTS = frozenset({"more", "fewer", "less"})
ARTICLE = re.compile(r"(?:(?:an?|the) )?")
OF_BEFORE = re.compile(r"\bof (?:an? |the )?$")
OF = re.compile(r"\s+of\b")
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBER = re.compile(rf"\b(?:{'|'.join(NUMBERS)})\b(?= )(?! (?:way|story|storey|tier|lane|piece)\b)")
"""A number of things, and no part of a name ("four way stop sign")."""
LIST = re.compile(r",|\band\b|\bor\b")
ARE_ALIKE = Callable[[str, str], bool]
"""Function that returns True if captions use two nouns alike, so that they may change places."""


def exchange_amounts(caption: OwnCaption) -> list[HardNegative]:
    """Return the exchanges of the sides of a comparison and of two numbers, which are always false and usual."""
    return [*_exchange_compared(caption), *_exchange_numbers(caption.parse.caption)]


def make_proven_swaps(caption: OwnCaption, are_alike: ARE_ALIKE) -> tuple[list[HardNegative], int]:
    """Return the swaps that the facts exclude, and the number of all. Any other swap may be true, so it is no foil."""
    text = caption.parse.caption
    swaps = [
        (edited, foil)
        for edited, foil in make_swaps(caption.parse.graph)
        if caption.keeps_kinds(edited) and _may_change_places(caption, edited, are_alike)
    ]
    written = [(edited, foil, caption.editable.edit(edited)) for edited, foil in swaps]
    texts = {new: foil for _, foil, new in written if new and have_same_words(new, text)}
    may_be_true = {
        new for edited, _, new in written if new in texts and not caption.facts.is_false(edited)
    }
    exchanged = [*_exchange_values(caption), *_exchange_roles(caption, are_alike)]
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
    distinct = {item.caption: item for item in (*exchanged, *proven)}
    return [*distinct.values()], len(texts) + len(exchanged)


def _may_change_places(caption: OwnCaption, edited: SceneGraph, are_alike: ARE_ALIKE) -> bool:
    """Return True if the nouns of an edit that change places are alike, and are not in one list."""
    pairs = zip(caption.parse.graph.objects, edited.objects, strict=True)
    moved = [old for old, new in pairs if old.name != new.name]
    if len(moved) < 2:
        return True
    nouns = [lemmatise_noun(item.name) for item in moved]
    if not all(are_alike(first, second) for first, second in combinations(nouns, 2)):
        return False
    ids = {item.id for item in moved}
    mentions = sorted(
        (m for m in caption.parse.mentions if m.kind == "object" and m.object in ids),
        key=lambda mention: mention.start,
    )
    relations = [m.start for m in caption.parse.mentions if m.kind == "relation"]
    text = caption.parse.caption
    return any(
        any(first.end <= start < second.start for start in relations)
        or not LIST.search(text[first.end : second.start])
        for first, second in combinations(mentions, 2)
    )


def _is_decidable(foil: Foil) -> bool:
    """Return False if an attribute other than a colour moves to another object, which may be small, too."""
    first, second = (text.split() for text in (foil.original, foil.replacement))
    is_move = len(first) > 1 and len(second) > 1 and first[0] == second[0]
    return not is_move or is_color(first[0])


def _exchange_values(caption: OwnCaption) -> Iterator[HardNegative]:
    """Yield "silver cabinets, a white refrigerator" for "white cabinets, a silver refrigerator"."""
    text = caption.parse.caption
    graph = caption.parse.graph
    values = [
        mention
        for mention in caption.parse.mentions
        if mention.kind == "attribute"
        and (mention.tag == "JJ" or is_color(mention.text))
        and text[mention.start : mention.end] == mention.text
        and _is_only_value(caption, mention)
        and is_named(graph.by_id[mention.object].name)
        and not is_color_of_person(mention.text, graph.by_id[mention.object].name)
    ]
    for first, second in combinations(sorted(values, key=lambda mention: mention.start), 2):
        if (
            are_values(first.text, second.text)
            and _is_exchange_false(caption, first, second)
            and not _changes_article(text, first, second)
        ):
            yield _exchange(text, (first.start, first.end), (second.start, second.end))


def _is_exchange_false(caption: OwnCaption, first: Mention, second: Mention) -> bool:
    """Return True if everything with the noun of one of two attributes excludes the other attribute.

    Two things with one noun must belong to different ones: "a boy in a red shirt, and a girl in a blue shirt".
    """
    graph = caption.parse.graph
    names = [lemmatise_noun(graph.by_id[mention.object].name) for mention in (first, second)]
    if names[0] == names[1]:
        owners = [_find_owner(graph, mention.object) for mention in (first, second)]
        return None not in owners and not may_be_one(str(owners[0]), str(owners[1]))
    for name, other in zip(names, (second, first), strict=True):
        named = [entity for entity in caption.facts.entities if name in entity.names]
        mentioned = caption.facts.mentioned_attributes
        if named and all(item.excludes(other.text, mentioned.get(item.id, ())) for item in named):
            return True
    return False


def _find_owner(graph: SceneGraph, item: str) -> str | None:
    """Return the noun of the only object that wears, holds or has an object."""
    owners = {edge.subject for edge in graph.relations if edge.object == item}
    if len(owners) != 1:
        return None
    return lemmatise_noun(graph.by_id[owners.pop()].name)


def _exchange_roles(caption: OwnCaption, are_alike: ARE_ALIKE) -> Iterator[HardNegative]:
    """Yield "the cat is chasing the dog" for "the dog is chasing the cat"."""
    objects = {m.object: m for m in caption.parse.mentions if m.kind == "object"}
    one_way = load_words("one_way")
    for relation in caption.parse.mentions:
        if relation.kind != "relation" or relation.text.split()[0] not in one_way:
            continue
        pair = objects.get(relation.object), objects.get(relation.target or "")
        if None in pair or len({mention.tag for mention in pair if mention}) > 1:
            continue
        first, second = sorted((m for m in pair if m), key=lambda mention: mention.start)
        nouns = lemmatise_noun(first.text), lemmatise_noun(second.text)
        are_living = all(find_kind(noun) in LIVING for noun in nouns)
        if (
            are_living
            and are_alike(*nouns)
            and not _changes_article(caption.parse.caption, first, second)
        ):
            spans = (first.start, first.end), (second.start, second.end)
            yield _exchange(caption.parse.caption, *spans)


def _is_only_value(caption: OwnCaption, mention: Mention) -> bool:
    """Return False for "white" in "a black and white dog"."""
    attributes = caption.parse.graph.by_id[mention.object].attributes
    return sum(text == mention.text or are_values(text, mention.text) for text in attributes) == 1


def _changes_article(text: str, first: Mention, second: Mention) -> bool:
    """Return True if the words before two exchanged ones would change: "a red cup and an orange ball"."""
    articles = {text[: mention.start].split()[-1:] == ["an"] for mention in (first, second)}
    starts = {mention.text[0] in "aeiou" for mention in (first, second)}
    return len(articles) > 1 or len(starts) > 1


def _exchange_compared(caption: OwnCaption) -> Iterator[HardNegative]:
    """Yield "more apples than bananas" for "more bananas than apples"."""
    text = caption.parse.caption
    compared = COMPARISON.search(text)
    if compared is None:
        return
    nouns = [mention for mention in caption.parse.mentions if mention.kind == "object"]
    before = [mention for mention in nouns if mention.end <= compared.end()]
    first = max(before, key=lambda mention: mention.start, default=None)
    second = min(
        (m for m in nouns if m.start >= compared.end()), key=lambda m: m.start, default=None
    )
    if first is None or second is None:
        return
    # "more apples than bananas" is an amount, "a truck smaller than a van" a comparison of two things
    is_amount = compared[1] in AMOUNTS
    is_direct = ARTICLE.fullmatch(text[compared.end() : second.start]) is not None
    if is_amount and not (is_direct and first.start >= compared.start()):
        return
    is_part = any(
        OF_BEFORE.search(text[: m.start]) or OF.match(text, m.end) for m in (first, second)
    )
    if not is_part and first.tag == second.tag and first.text != second.text:
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
