"""Swaps and negations written into a caption as in CREPE's published files (``rules: paper``).

Source: the published productivity files of CREPE (arXiv:2212.07796).

- A swap exchanges the names of two atoms at all their mentions, as the graph has them. Articles, plural endings and
  pronouns stay: "a ear with a tail", and "tails and a bird. the bird has a duck" for "ducks and a bird. the bird has a
  tail".
- "not" is added before all mentions of a relation ("tray not has edge"), an attribute follows its noun ("a sky that is
  not blue"), and "there is no X" follows the caption. "something" replaces "a X" ("a tree in front of something ...
  there is no building") or, without an article, X before a word ("a black something with a cord"). X stays before a
  mark, and "a X" at the start of the caption. This explains all but 51 of 9,105 published negations of an object that
  the caption names once, not at its start. A sentence "there is a X" is removed.
- The whole caption is negated by "there is no" before it, for its article.

Differences from the published files, which a grammar checker has corrected: the case and the final mark of the caption
stay (theirs are capitalised although the caption is in lower case), a removed sentence leaves no ". .", and articles
fit ("an outlet that is not electrical").
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compeval.base.schemas.scene_graph import AtomKey, Mention, SceneGraph
from compeval.generators.captioner.captioner import EditableCaption
from compeval.generators.graphs.entailment import Negated
from compeval.generators.language.inflection import fit_article

_ARTICLE = re.compile(r"\b(?:an?|the|some|its|his|her|their)\s+$", re.IGNORECASE)
_EXISTENTIAL = re.compile(r"\bthere (?:is|are) (?:another )?$", re.IGNORECASE)
_BE = re.compile(r"\b(?:is|are|was|were) $", re.IGNORECASE)
_PLURAL = ("NNS", "NNPS")
ENDINGS = ("s", "es")
"""Endings that the published files leave after a replaced object: "trucks", but also "couchs", for "cars"."""
_POSSESSIVE = ("PRP$", "POS")


def negate_in_place(caption: EditableCaption, atom: Negated) -> str | None:
    """Return the caption with an atom negated, or None if the caption does not mention it."""
    mentions = [mention for mention in caption.mentions if mention.atom_key == atom.atom_key]
    if not mentions:
        return None
    if atom.kind == "relation":
        if any(mention.tag in _POSSESSIVE for mention in mentions):
            return None  # the parser's "have" for "her hand", which has no place for "not"
        text = caption.text
        for start in sorted({mention.start for mention in mentions}, reverse=True):
            text = f"{text[:start]}not {text[start:]}"
        return text
    first = min(mentions, key=lambda mention: mention.start)
    return (
        _deny_object(caption, first) if atom.kind == "object" else _deny_attribute(caption, first)
    )


def _deny_attribute(caption: EditableCaption, mention: Mention) -> str:
    """Return "a sky that is not blue" for "a blue sky", and "the sky is not blue" for "the sky is blue"."""
    text = caption.text
    word = caption.text[mention.start : mention.end]
    nouns = (
        item for item in caption.mentions if (item.kind, item.object) == ("object", mention.object)
    )
    noun = min(
        (item for item in nouns if item.start >= mention.end),
        key=lambda item: item.start,
        default=None,
    )
    if noun is None or _BE.search(text[: mention.start]) or "." in text[mention.end : noun.end]:
        return f"{text[: mention.start]}not {text[mention.start :]}"
    # The text that joins the attribute to the next one is removed with it, or else the text that joins it to the
    # previous one.
    before = text[: mention.start]
    between = text[mention.end : noun.end]
    rest = re.sub(r"^(?:\s|,|and\b)+", "", between)
    if rest == between.lstrip():
        before = re.sub(r"(?:,|\band)\s+$", "", before)
    copula = "are" if noun.tag in _PLURAL else "is"
    return f"{fit_article(before, rest.split(maxsplit=1)[0])}{rest} that {copula} not {word}{text[noun.end :]}"


def _deny_object(caption: EditableCaption, mention: Mention) -> str:
    """Return the caption and that there is no such object, which "something" replaces where the published files do.

    At the start of the caption, "a noun" stays. Otherwise, all places of "a noun" are replaced (with the article of the
    first mention), and of a noun without an article, those before another word: "curtain on something near a wall", "a
    black something on a bed", but "curtain on wall.".
    """
    text = caption.text
    noun = caption.text[mention.start : mention.end]
    article = _ARTICLE.search(text[: mention.start])
    before = text[: article.start() if article else mention.start]
    after = text[mention.end :]
    existential = _EXISTENTIAL.search(before)
    if re.match(rf"(?:an?|the) {re.escape(noun)}\b", text, re.IGNORECASE):
        body = text
    elif existential and before[: existential.start()].strip() and re.match(r"\s*(?:\.|$)", after):
        body = before[: existential.start()].rstrip().removesuffix(".") + (
            after if after.strip(" .") else after.strip()
        )
    elif article:
        body = re.sub(rf"\b{re.escape(article[0] + noun)}\b", "something", text)
    else:
        body = re.sub(rf"(?<!\ba)(?<!\ban)\s{re.escape(noun)}(?=\s)", " something", text)
    mark = "." if text.endswith(".") else ""
    denial = f"there {'are' if mention.tag in _PLURAL else 'is'} no {noun}"
    return f"{body.rstrip().removesuffix('.')}. {denial}{mark}"


def negate_all_in_place(caption: EditableCaption) -> list[str]:
    """Return "there is no cat on a table" for "a cat on a table" and "there is a cat on a table"."""
    nouns = [mention for mention in caption.mentions if mention.kind == "object"]
    first = min(nouns, key=lambda mention: mention.start, default=None)
    copula = "are" if first and first.tag in _PLURAL else "is"
    rest = re.sub(
        r"^(?:there (?:is|are) )?(?:(?:an?|the|another|some) )?",
        "",
        caption.text,
        flags=re.IGNORECASE,
    )
    return [f"there {copula} no {rest}"]


def swap_in_place(caption: EditableCaption, edited: SceneGraph) -> str | None:
    """Return the caption of a swapped graph, or None if it cannot be written.

    Names change places. Only an attribute that moves to an object with another number of attributes is written again.
    """
    new_texts = dict(_list_changes(caption.graph, edited))
    if None in new_texts.values():
        return caption.edit(edited)
    names = {
        (item.kind, item.text): split_ending(caption.text, item)[0] for item in caption.mentions
    }
    text = caption.text
    for mention in sorted(caption.mentions, key=lambda mention: -mention.start):
        new = new_texts.get(mention.atom_key)
        if new is not None:
            _, ending = split_ending(caption.text, mention)
            end = mention.end - len(ending)
            text = text[: mention.start] + names.get((mention.kind, new), new) + text[end:]
    return text


def split_ending(caption: str, mention: Mention) -> tuple[str, str]:
    """Return the name of an atom as the caption writes it, and the ending that the name of the graph does not have.

    "cars" is "car" and "s" if the graph has "car". Of other forms ("men" for "man"), the whole word is the name.
    """
    written = caption[mention.start : mention.end]
    if mention.kind == "object" and written.lower().startswith(mention.text):
        ending = written[len(mention.text) :].lower()
        if ending in ENDINGS:
            return written[: len(mention.text)], ending
    return written, ""


def _list_changes(graph: SceneGraph, edited: SceneGraph) -> Iterator[tuple[AtomKey, str | None]]:
    """Yield the atoms that a swap changes with their new text; None if their number on an object changes."""
    for old, new in zip(graph.objects, edited.objects, strict=True):
        if old.name != new.name:
            yield ("object", old.name, old.id, None), new.name
        removed = [text for text in old.attributes if text not in new.attributes]
        added = [text for text in new.attributes if text not in old.attributes]
        for index, text in enumerate(removed or added):
            is_exchanged = len(removed) == len(added)
            yield ("attribute", text, old.id, None), added[index] if is_exchanged else None
    for edge, new_edge in zip(graph.relations, edited.relations, strict=True):
        if edge.predicate != new_edge.predicate:
            yield ("relation", edge.predicate, edge.subject, edge.object), new_edge.predicate
