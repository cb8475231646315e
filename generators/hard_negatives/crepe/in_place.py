"""Swaps and negations written into a caption as in CREPE's published files (``rules: paper``).

Source: the published productivity files of CREPE (arXiv:2212.07796). Words change places as they are, whatever their
number, and pronouns stay ("two stroller sitting on a bench"). "not" is added before any relation or attribute, and
"there is no cup" after a caption that has a cup. Texts that our captions can write (parsed_caption.py) are preferred.
"""

from __future__ import annotations

from collections.abc import Iterator

from compeval.base.schemas.scene_graph import AtomKey, SceneGraph
from compeval.generators.captioner.captioner import EditableCaption
from compeval.generators.graphs.entailment import Negated
from compeval.generators.language.inflection import fit_article


def negate_in_place(caption: EditableCaption, atom: Negated) -> str | None:
    """Return the caption with an atom negated, or None if the caption does not mention it."""
    mention = next((item for item in caption.mentions if item.atom_key == atom.atom_key), None)
    text = caption.negate(atom)
    if text is not None or mention is None:
        return text
    if atom.kind == "object":
        return f"{caption.text.rstrip('.')}. there is no {atom.text}"
    return f"{caption.text[: mention.start]}not {caption.text[mention.start :]}"


def swap_in_place(caption: EditableCaption, edited: SceneGraph) -> str | None:
    """Return the caption of a swapped graph, or None if an attribute moves to an object with another number of them."""
    text = caption.edit(edited)
    if text is not None:
        return text
    new_texts = dict(_list_changes(caption.graph, edited))
    if None in new_texts.values():
        return None
    surfaces = {
        (item.kind, item.text): caption.text[item.start : item.end] for item in caption.mentions
    }
    text = caption.text
    for mention in sorted(caption.mentions, key=lambda mention: -mention.start):
        new = new_texts.get(mention.atom_key)
        if new is not None:
            word = surfaces.get((mention.kind, new), new)
            text = fit_article(text[: mention.start], word) + word + text[mention.end :]
    return text


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
