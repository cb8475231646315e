"""The foils of an atom by the rules of CREPE's authors (``rules: paper``).

Source: CREPE (arXiv:2212.07796), sections 4.1 and 4.2, appendix A.1 and A.4, and the published productivity files: one
word of an atom is replaced by an antonym or by a word with the same hypernym or grand-hypernym in WordNet, in any
sense; the prepositions of PREPOSITIONS replace one another. A foil is a word with which the image's scene graph does
not have the atom. It is not proven false: an object without a colour may have every colour.
Differences from the published files: a whole word is replaced (theirs also replace "on" in "person"), it takes the
number and the article of the old word, and names are no foils.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from random import Random

from compeval.base.schemas.scene_graph import Compound, Mention, Parse, SceneGraph
from compeval.generators.captioner.substitution import replace_atom_text
from compeval.generators.hard_negatives.hard_negative import Foil, HardNegative
from compeval.generators.language.inflection import fit_article, lemmatise_noun
from compeval.generators.language.wordnet import list_published_foils

PREPOSITIONS = (
    "above", "across", "around", "at", "below", "by", "in", "inside", "near", "on", "over", "under",
)  # fmt: skip
"""The prepositions that are foils in the published files; each of them replaces all others."""
MAX_RANKED = 64
"""Candidates of a caption that are ranked, drawn at random. WordNet has hundreds of words for most atoms, and the paper
does not say which of them BERT reads."""
_WORD = re.compile(r"[\w'-]+")


def list_words(text: str) -> tuple[str, ...]:
    """Return the foils of a word, in alphabetical order."""
    if text in PREPOSITIONS:
        return tuple(word for word in PREPOSITIONS if word != text)
    return list_published_foils(text)


def list_edits(caption: str, mention: Mention) -> Iterator[tuple[Mention, str]]:
    """Yield the words of a mention, each as a mention of its own, with the word that replaces it.

    An atom of several words is also replaced as a whole ("fire hydrant").
    """
    spans = [match.span() for match in _WORD.finditer(caption, mention.start, mention.end)]
    whole = [(mention.start, mention.end)] if len(spans) > 1 else []
    for start, end in (*whole, *spans):
        part = replace(mention, start=start, end=end)
        yield from ((part, word) for word in list_words(caption[start:end].lower()))


def write_edit(caption: str, part: Mention, word: str) -> str:
    """Return the caption with one word of an atom replaced, in the form of the old word where it has one."""
    inflected = replace_atom_text(caption, part, word)
    return inflected or fit_article(caption[: part.start], word) + word + caption[part.end :]


def is_annotated(parse: Parse, mention: Mention, new: str, graph: SceneGraph) -> bool:
    """Return True if the image's graph has the caption's atom or compound with ``new`` in place of the old text."""
    item = parse.graph.by_id[mention.object]
    if mention.kind == "object":
        return lemmatise_noun(new) in {lemmatise_noun(other.name) for other in graph.objects}
    if mention.kind == "attribute":
        return Compound("ao", item.name, None, new) in graph.compounds
    assert mention.target is not None
    return (
        Compound("oro", item.name, new, parse.graph.by_id[mention.target].name) in graph.compounds
    )


def draw_foils(
    parse: Parse, mention: Mention, graph: SceneGraph, rng: Random
) -> Iterator[HardNegative]:
    """Yield the HN-Atoms of one mention that the image's graph does not contain, in random order."""
    edits = list(list_edits(parse.caption, mention))
    for part, word in rng.sample(edits, len(edits)):
        new = (
            parse.caption[mention.start : part.start] + word + parse.caption[part.end : mention.end]
        )
        if not is_annotated(parse, mention, new, graph):
            caption = write_edit(parse.caption, part, word)
            if caption.lower() != parse.caption.lower():
                yield HardNegative(caption, (Foil(mention.kind, mention.text, new),))


def draw_atom_pools(parse: Parse, graph: SceneGraph, rng: Random) -> list[list[HardNegative]]:
    """Return the candidates of each mention, at most MAX_RANKED in all."""
    limit = max(1, MAX_RANKED // max(1, len(parse.mentions)))
    return [
        list(islice(draw_foils(parse, mention, graph, rng), limit)) for mention in parse.mentions
    ]


def draw_atoms_at_random(
    pools: Sequence[Sequence[HardNegative]], scores: Mapping[str, float], rng: Random
) -> Iterator[HardNegative]:
    """Yield the most plausible negative of an atom that is drawn at random each time (section 4.2)."""
    ranked = [sorted(pool, key=lambda item: -scores[item.caption]) for pool in pools if pool]
    seen: set[str] = set()
    while ranked:
        pool = rng.choice(ranked)
        negative = pool.pop(0)
        if negative.caption not in seen:
            seen.add(negative.caption)
            yield negative
        ranked = [pool for pool in ranked if pool]
