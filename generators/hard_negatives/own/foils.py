"""Hard negatives of the user's own captions, of images with or without a scene graph.

Source: CREPE (arXiv:2212.07796), sections 4.1 and 4.2. The foils are those of crepe/: another atom (``atom``), another
compound (``comp``), the same words attached to other objects (``swap``), and a negated atom or caption (``negation``).
Differences from the sets of Visual Genome:

- Captions have several compounds, so there is one swap and one negation per caption, and any atom is replaced.
- Captions do not list what an image shows. A noun that no caption mentions is a foil only if captions would mention it:
  it is not in ``unmentioned.yaml``, and few captions of images with the same objects mention it (companions.py).
- Each negative is marked as proven or not. It is proven if the scene graph of its image excludes it, or if a caption
  contradicts it; then it is true only if the image shows a second object of that kind that no caption mentions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import Mention, Parse
from compeval.base.text_only.corpus_statistics import Ranker
from compeval.base.texts import fold_case_and_space, have_same_words
from compeval.generators.graphs.assignments import SearchLimitError
from compeval.generators.graphs.entailment import proves_false
from compeval.generators.graphs.presence import cached_method
from compeval.generators.graphs.vocabulary import Vocabulary
from compeval.generators.hard_negatives.balanced.compounds import draw_words, find_parts
from compeval.generators.hard_negatives.crepe.negation import NOT, find_negatable_atoms
from compeval.generators.hard_negatives.crepe.replacements import Words, find_words
from compeval.generators.hard_negatives.crepe.selection import select_most_plausible
from compeval.generators.hard_negatives.crepe.swap import make_swaps
from compeval.generators.hard_negatives.crepe.systematicity import (
    WITHOUT,
    make_comp_foils,
    replace_mention,
)
from compeval.generators.hard_negatives.hard_negative import Foil, HardNegative
from compeval.generators.hard_negatives.own.caption import OwnCaption, is_named, is_quality
from compeval.generators.hard_negatives.own.caption_facts import collect_caption_facts, load_words
from compeval.generators.hard_negatives.own.companions import Companions
from compeval.generators.hard_negatives.own.kinds import SIZES
from compeval.generators.language import CACHED_PAIRS
from compeval.generators.language.inflection import lemmatise_noun
from compeval.generators.language.lexicon import load_lexicon
from compeval.generators.language.lexicon.attributes import is_color
from compeval.generators.language.wordnet import is_mainly_noun, senses

if TYPE_CHECKING:
    from nltk.corpus.reader.wordnet import Synset

UNUSUAL_RELATIONS = frozenset({WITHOUT, "containing", "contain", "supporting", "support"})
"""Relations that captions of photographs do not state in this form ("a beach containing a city")."""
BESIDE, AROUND = (
    "next to",
    frozenset({"over", "above", "under", "below", "beneath", "underneath", "behind", "of"}),
)
"""Something "next to" an object may also be over, under, behind or "in front of" it."""
MAX_SHARE = 0.05
"""A noun is no foil if more than this share of the images with one of the caption's objects mention it."""
MAX_DISTANCE = 3
"""Steps to the hypernym that a noun shares with its foil; both are in the same lexicographer file of WordNet."""
ENOUGH_NEAR, MAX_NEAR = 4, 40
"""More distant nouns are added until a noun has this many possible foils; and the most that are drawn from."""
MAX_FOILS = 12
"""Foils of an atom from which the most plausible are chosen."""
WEIGHT_PER_STEP = 0.25
WORDS_PER_VALUE = 2
"""Words of each value of an attribute that are known whatever the captions are."""


class CaptionNegatives(NamedTuple):
    """A caption of an image with its negatives by kind; a kind without enough negatives is missing."""

    caption: OwnCaption
    negatives: Mapping[str, Sequence[tuple[HardNegative, bool]]]
    """Each with whether the scene graph or a caption excludes it."""


def extend_vocabulary(vocabulary: Vocabulary) -> Vocabulary:
    """Return the words of the captions that may be foils, and frequent words of photographs' captions.

    Words of ``unmentioned.yaml`` and ``unnamed.yaml``, and words that say nothing visible, are no foils.
    """
    common = dict.fromkeys(sorted(load_words("common_nouns")), 1)
    values = [words for kind in load_lexicon("attributes")["exclusive"].values() for words in kind]
    frequent = {word: 1 for words in values for word in words[:WORDS_PER_VALUE] if word.isalpha()}
    hidden = load_words("unmentioned")
    words = (common | dict(vocabulary.nouns)).items()
    nouns = {noun: count for noun, count in words if is_named(noun) and is_mainly_noun(noun)}
    attributes = (frequent | dict(vocabulary.attributes)).items()
    return replace(
        vocabulary,
        nouns={
            noun: count
            for noun, count in nouns.items()
            if hidden.isdisjoint((noun, noun.split()[-1]))
        },
        attributes={
            word: count for word, count in attributes if word.isalpha() and is_quality(word)
        },
    )


@dataclass(frozen=True)
class FoilMaker:
    """Makes the hard negatives of the captions of an image."""

    kinds: Sequence[str]
    vocabulary: Vocabulary
    ranker: Ranker
    companions: Companions
    rejected: Mapping[str, frozenset[str]]
    """Texts that people judged true, by crop id."""
    source_key: str
    """Digest of all captions, with which random draws are seeded (base/draw_keys.py)."""
    annotated: frozenset[str] = frozenset()
    """The nouns that scene graphs list where an image shows them, such as COCO's categories; empty: all nouns."""

    def make(self, image: AnnotatedImage, crop_id: str) -> Iterator[CaptionNegatives]:
        """Yield the captions of an image, each with its negatives. Captions with equal scene graphs count once."""
        facts, signatures = collect_caption_facts(image), set[Any]()
        true = frozenset(fold_case_and_space(region.caption) for region in image.regions)
        has_graph = bool(image.graph.objects)
        for number, parse in enumerate(region.parse for region in image.regions if region.parse):
            draw_key = f"{self.source_key}:{image.image_id}:{number}"
            caption = OwnCaption.of(parse, facts, has_graph=has_graph, draw_key=draw_key)
            if caption is None or parse.graph.signature in signatures:
                continue
            signatures.add(parse.graph.signature)
            pools = {
                kind: self._make_pool(kind, caption, true) for kind in self.kinds if kind in SIZES
            }
            texts = list(dict.fromkeys(item.caption for pool in pools.values() for item in pool))
            scores = dict(zip(texts, self.ranker.score(texts), strict=True))
            rejected = self.rejected.get(crop_id, frozenset())
            chosen = {
                kind: select_most_plausible(pool, SIZES[kind], scores, rejected)
                for kind, pool in pools.items()
            }
            marked = {
                kind: [(item, self.is_proven(item, caption)) for item in chosen[kind]]
                for kind in chosen
            }
            yield CaptionNegatives(
                caption, {kind: items for kind, items in marked.items() if items}
            )

    def find_parts(self, caption: OwnCaption, text: str) -> list[dict[str, Any]]:
        """Return the parts of a caption with one compound that balanced negatives replace (balanced/compounds.py).

        ``text`` is the caption as it is written. A noun may be absent only if captions would mention it.
        """
        parse = replace(caption.replaceable, caption=text)
        others, rows = sorted(caption.nouns), list[dict[str, Any]]()
        for part in find_parts(
            parse, caption.facts, self.vocabulary, Random(f"{caption.draw_key}:parts")
        ):
            words = list(part.words)
            if part.kind == "object":
                words = [word for word in words if self.companions.share(word, others) <= MAX_SHARE]
            rows.append(part._asdict() | {"words": words})
        return rows

    def _make_pool(
        self, kind: str, caption: OwnCaption, true: frozenset[str]
    ) -> list[HardNegative]:
        """Return all negatives of a kind in the form of the caption, without the other captions of the image."""
        try:
            match kind:
                case "atom":
                    found = self._replace_atoms(caption)
                case "comp":
                    find_words = partial(self._find_words, caption.draw_key)
                    negatives = make_comp_foils(
                        caption.parse, caption.facts, self.vocabulary, find_words
                    )
                    found = (
                        item
                        for item in negatives
                        if all(self._is_usable(foil, caption) for foil in item.foils)
                    )
                case "swap":
                    found = make_proven_swaps(caption)
                case _:
                    found = make_negations(caption)
            written = (HardNegative(caption.form.write(text), foils) for text, foils in found)
            distinct = {fold_case_and_space(item.caption): item for item in written}
            return [item for text, item in distinct.items() if text not in true]
        except SearchLimitError:
            return []

    def _replace_atoms(self, caption: OwnCaption) -> Iterator[HardNegative]:
        """Yield at most ``MAX_FOILS`` foils of each atom."""
        find_words = partial(self._find_words, caption.draw_key)
        for mention in caption.replaceable.mentions:
            foils = replace_mention(
                caption.parse, mention, caption.facts, self.vocabulary, find_words
            )
            yield from islice(
                (foil for foil in foils if self._is_usable(foil.foils[0], caption)), MAX_FOILS
            )

    def _find_words(
        self, draw_key: str, parse: Parse, mention: Mention, vocabulary: Vocabulary
    ) -> Words:
        """Return the words of the captions that may replace an atom. Nouns are drawn by frequency and nearness."""
        if mention.kind == "object":
            weights = self._weigh_near_nouns(lemmatise_noun(mention.text))
            near = draw_words(weights, Random(f"{draw_key}:{mention.start}"))
        else:
            near = find_words(parse, mention, vocabulary).near
        return Words(near, iter(()))

    @cached_method
    def _weigh_near_nouns(self, noun: str) -> Mapping[str, float]:
        """Return the weights of the ``MAX_NEAR`` nouns of the same kind that are nearest to a noun in WordNet."""
        weights: dict[str, float] = {}
        for distance in range(1, MAX_DISTANCE + 1):
            if len(weights) >= ENOUGH_NEAR:
                break
            for word in self.vocabulary.find_nouns(noun, distance):
                if word not in weights and len(weights) < MAX_NEAR and _are_alike(noun, word):
                    weights[word] = self.vocabulary.nouns[word] * WEIGHT_PER_STEP**distance
        return weights

    def is_proven(self, negative: HardNegative, caption: OwnCaption) -> bool:
        """Return True if one of the foils is proven."""
        return any(self._is_foil_proven(foil, caption) for foil in negative.foils)

    def _is_foil_proven(self, foil: Foil, caption: OwnCaption) -> bool:
        """Return True unless the foil is an object whose absence no scene graph proves."""
        is_listed = caption.has_graph and (not self.annotated or foil.replacement in self.annotated)
        return foil.type != "object" or is_listed

    def _is_usable(self, foil: Foil, caption: OwnCaption) -> bool:
        if foil.type == "object":
            if foil.replacement not in self._weigh_near_nouns(lemmatise_noun(foil.original)):
                return False
            others = sorted(caption.nouns - {lemmatise_noun(foil.original)})
            return (
                self._is_foil_proven(foil, caption)
                or self.companions.share(foil.replacement, others) <= MAX_SHARE
            )
        if foil.type == "attribute":
            return foil.replacement in self.vocabulary.attributes and _is_listed(
                foil.original, foil.replacement
            )
        may_be_both = foil.replacement.endswith(BESIDE) and foil.original.split()[-1] in AROUND
        return foil.replacement not in UNUSUAL_RELATIONS and not may_be_both


@lru_cache(CACHED_PAIRS)
def _are_alike(first: str, second: str) -> bool:
    """Return True if two nouns are of one kind: both animals, both persons, both artifacts."""
    return len({_name_kind(senses(noun, "n")[0]) for noun in (first, second)}) == 1


def _name_kind(sense: Synset) -> str:
    """Return the lexicographer file of a sense; that of "person" and "animal" is named like them, not ``noun.Tops``."""
    file = str(sense.lexname())
    return f"noun.{str(sense.name()).partition('.')[0]}" if file == "noun.Tops" else file


def _is_listed(first: str, second: str) -> bool:
    """Return True if two attributes are colours or values of one kind in attributes.yaml.

    WordNet's antonyms are too uncertain for captions of all kinds ("seamless" and "textured").
    """
    kinds = load_lexicon("attributes")["exclusive"].values()
    is_one_kind = any(
        {first, second} <= {word for words in kind for word in words} for kind in kinds
    )
    return is_one_kind or (is_color(first) and is_color(second))


def make_proven_swaps(caption: OwnCaption) -> Iterator[HardNegative]:
    """Yield the swaps that the facts exclude. Any other swap may be true, so it is no foil."""
    swaps = [swap for swap in make_swaps(caption.parse.graph) if caption.keeps_kinds(swap[0])]
    written = [(edited, foil, caption.editable.edit(edited)) for edited, foil in swaps]
    texts = {
        text: foil
        for _, foil, text in written
        if text and have_same_words(text, caption.parse.caption)
    }
    may_be_true = {
        text for edited, _, text in written if text in texts and not caption.facts.is_false(edited)
    }
    for text, foil in texts.items():
        if text not in may_be_true and text != caption.parse.caption:
            yield HardNegative(text, (foil,))


def make_negations(caption: OwnCaption) -> Iterator[HardNegative]:
    """Yield a random negation, of the whole caption or of one atom. It is proven: the caption states the contrary."""
    rng, graph = Random(f"{caption.draw_key}:negation"), caption.parse.graph
    atoms = list(filter(caption.is_negatable, find_negatable_atoms(graph)))
    for atom in rng.sample([None, *atoms], len(atoms) + 1):
        if atom is None:
            whole = caption.negate_all()
            text, foil = (rng.choice(whole) if whole else None), Foil("negation", "", NOT)
        else:
            text = (
                caption.editable.negate(atom) if proves_false(caption.facts, graph, atom) else None
            )
            foil = Foil(
                "negation", atom.text, f"{'no' if atom.kind == 'object' else NOT} {atom.text}"
            )
        if text is not None:
            yield HardNegative(text, (foil,))
            return
