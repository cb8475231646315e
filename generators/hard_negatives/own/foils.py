"""Hard negatives of the user's own captions, of images with or without a scene graph.

Source: CREPE (arXiv:2212.07796), sections 4.1 and 4.2: another atom (``atom``), another compound (``comp``), the same
words attached to other objects (``swap``), and a negated atom or caption (``negation``). Differences from the sets of
Visual Genome:

- A retrieval set has two captions. With several foils of different atoms, the true caption is the medoid of its set.
- A foil must fit its place: captions have its words in these slots (slots.py). Captions with fewer foils are left out.
- ``comp`` replaces two atoms of a compound in place, so it is as long as the caption; ``negation`` denies in the true
  caption as often as in the false one (negations.py).
- Captions do not list what an image shows. A noun that no caption mentions is a foil only if captions would mention it:
  it is not in ``unmentioned.yaml``, and few captions of images with the same objects mention it (companions.py).
- Each negative is marked as proven or not. It is proven if the scene graph of its image excludes it, or if a caption
  contradicts it; then it is true only if the image shows a second object of that kind that no caption mentions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from random import Random
from typing import Any, NamedTuple, TypeVar

from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import Mention, Parse
from compeval.base.texts import fold_case_and_space
from compeval.generators.captioner.substitution import read_as_written, replace_atom_text
from compeval.generators.graphs.assignments import SearchLimitError
from compeval.generators.graphs.presence import cached_method
from compeval.generators.graphs.vocabulary import Vocabulary, relation_key
from compeval.generators.hard_negatives.crepe.replacements import find_words, may_replace
from compeval.generators.hard_negatives.crepe.systematicity import WITHOUT
from compeval.generators.hard_negatives.hard_negative import Foil, HardNegative
from compeval.generators.hard_negatives.own.caption import OwnCaption, is_quality
from compeval.generators.hard_negatives.own.caption_facts import collect_caption_facts
from compeval.generators.hard_negatives.own.companions import Companions
from compeval.generators.hard_negatives.own.english import is_english
from compeval.generators.hard_negatives.own.kinds import NEGATION, SIZES
from compeval.generators.hard_negatives.own.lists import load_words
from compeval.generators.hard_negatives.own.negations import Denial, make_negation
from compeval.generators.hard_negatives.own.nouns import (
    are_alike,
    is_foil_noun,
    is_general,
    may_be_one,
)
from compeval.generators.hard_negatives.own.slots import (
    LIVING,
    Item,
    SlotCounts,
    find_kind,
    find_slots,
    list_links,
)
from compeval.generators.hard_negatives.own.swaps import exchange_amounts, make_proven_swaps
from compeval.generators.hard_negatives.own.values import (
    FILLINGS,
    are_values,
    is_color_of_person,
    is_value,
)
from compeval.generators.language.inflection import lemmatise_noun
from compeval.generators.language.lexicon import relations

UNUSUAL_RELATIONS = frozenset({WITHOUT, "containing", "contain", "supporting", "support"})
"""Relations that captions of photographs do not state in this form ("a beach containing a city")."""
BESIDE = "next to"
AROUND = frozenset({"over", "above", "under", "below", "beneath", "underneath", "behind", "of"})
"""Something "next to" an object may also be over, under, behind or "in front of" it."""
MAX_SHARE = 0.05
MANY_CAPTIONS = 3
MAX_SHARE_OF_MANY = 0.1
"""A noun is no foil if more than this share of the images with one of the caption's objects mention it. The share is
larger for images with many captions, one of which would mention it."""
FEW_SIMILARITY = 0.08
"""The similarity of any two nouns in few captions, which say little of it: enough for nouns of one kind (nouns.py)."""
MAX_WORDS = 30
"""Words that are tried in the place of an atom: the most similar nouns."""
MAX_WORDS_OF_TWO = 60
"""Words that are tried in the place of each of two replaced atoms."""
MAX_PAIRS = 120
"""Pairs of words that captions have together and that are tried in the places of two atoms."""
OF_OR_WITH = re.compile(r"(?:\s+\w+){1,2}\s+(?:of|with)\b")
"""The words after "full" in "a full plate of dessert"."""
DIRECTION = re.compile(
    r"\b(?:through|down|across|along|up|past|towards?|into|onto|off|over|around)\b"
)
# Reasons why a caption has no negative of a kind.
NO_ATOM = "has no part that can be changed"
NO_FALSE = "has no change that is certainly false"
NO_FIT = "has no false change that other captions support (more captions or a corpus help)"
Drawn = TypeVar("Drawn")


class CaptionNegatives(NamedTuple):
    """A caption of an image with its negatives by kind."""

    caption: OwnCaption
    negatives: Mapping[str, Sequence[tuple[HardNegative, bool]]]
    """Kind -> negatives, each with True if the scene graph or a caption excludes it."""
    truths: Mapping[str, str]
    """The true caption of a kind, where it is not the caption of the image."""
    reasons: Mapping[str, str]
    """Kind without negatives -> the reason."""


class Edit(NamedTuple):
    """A negative that replaces one atom of a caption."""

    mention: Mention
    word: str
    negative: HardNegative


@dataclass
class Candidates:
    """The negatives of a kind that are made step by step."""

    negatives: list[HardNegative]
    is_changed: bool = False
    """True if the caption has a part that can be changed."""
    is_false: bool = False
    """True if a change is certainly false."""
    truth: str = ""
    """The true text of the row, if it is not the caption."""

    @property
    def reason(self) -> str:
        return NO_FIT if self.is_false else NO_FALSE if self.is_changed else NO_ATOM


@dataclass(frozen=True)
class FoilMaker:
    """Makes the hard negatives of the captions of an image."""

    kinds: Sequence[str]
    vocabulary: Vocabulary
    slots: SlotCounts
    companions: Companions
    rejected: Mapping[str, frozenset[str]]
    """Texts that people judged true, by crop id."""
    source_key: str
    """Digest of all captions, with which random draws are seeded (base/draw_keys.py)."""
    annotated: frozenset[str] = frozenset()
    """The nouns that scene graphs list where an image shows them, such as COCO's categories; empty: all nouns."""

    def make(
        self, image: AnnotatedImage, crop_id: str, counts: Counter[str]
    ) -> Iterator[CaptionNegatives]:
        """Yield the captions of an image, each with its negatives. Captions with equal scene graphs count once.

        Captions without negatives of any kind are counted with the reason.
        """
        facts = collect_caption_facts(image)
        signatures = set[Any]()
        true = frozenset(fold_case_and_space(region.caption) for region in image.regions)
        rejected = self.rejected.get(crop_id, frozenset())
        for number, parse in enumerate(region.parse for region in image.regions if region.parse):
            if not is_english(parse.caption):
                counts["captions that are not English"] += 1
                continue
            caption = OwnCaption.of(
                parse,
                facts,
                has_graph=bool(image.graph.objects),
                draw_key=f"{self.source_key}:{image.image_id}:{number}",
                captions=len(image.regions),
            )
            if caption is None:
                counts["captions that describe no picture"] += 1
            elif parse.graph.signature in signatures:
                counts["captions with the atoms of another one of their image"] += 1
            else:
                signatures.add(parse.graph.signature)
                yield self._make_all(caption, true | frozenset(map(fold_case_and_space, rejected)))

    def _make_all(self, caption: OwnCaption, true: frozenset[str]) -> CaptionNegatives:
        negatives = dict[str, Any]()
        truths = dict[str, str]()
        reasons = dict[str, str]()
        for kind, candidates in self.find_all(caption).items():
            written = [
                item._replace(caption=caption.form.write(item.caption, caption.parse.caption))
                for item in candidates.negatives
            ]
            usable = [item for item in written if fold_case_and_space(item.caption) not in true]
            if not usable:
                reasons[kind] = candidates.reason
                continue
            chosen = usable[0]
            negatives[kind] = [(chosen, self.is_proven(kind, chosen, caption))]
            if candidates.truth:
                truths[kind] = caption.form.write(candidates.truth, caption.parse.caption)
        return CaptionNegatives(caption, negatives, truths, reasons)

    def find_all(self, caption: OwnCaption) -> dict[str, Candidates]:
        """Return the candidates of each kind, not yet in the form of the caption."""
        kinds = [kind for kind in self.kinds if kind in SIZES]
        candidates: dict[str, Candidates] = {}
        atoms = Candidates([])
        edits = list[Edit]()
        try:
            if not {"atom", NEGATION}.isdisjoint(kinds):
                edits = self._replace_atoms(caption, atoms)
            for kind in kinds:
                match kind:
                    case "atom":
                        candidates[kind] = atoms
                    case "comp":
                        candidates[kind] = self._replace_compounds(caption)
                    case "swap":
                        candidates[kind] = self._swap(caption)
                    case _:
                        candidates[kind] = self._negate(caption, edits)
        except SearchLimitError:
            pass
        return {kind: candidates.get(kind, Candidates([])) for kind in kinds}

    def _replace_atoms(self, caption: OwnCaption, atoms: Candidates) -> list[Edit]:
        """Return the foils of all atoms that fit, in random order; add them to ``atoms``."""
        edits = list[Edit]()
        for mention, words in self._list_words(caption):
            atoms.is_changed = True
            for _, word in words:
                if (text := self._replace(caption, mention, word)) is None:
                    continue
                atoms.is_false = True
                if self._fits(caption, mention, text):
                    foil = Foil(mention.kind, mention.text, word)
                    edits.append(Edit(mention, word, HardNegative(text, (foil,))))
        counts = [self._count(edit.mention, edit.word) for edit in edits]
        totals = Counter[Mention]()
        for edit, count in zip(edits, counts, strict=True):
            totals[edit.mention] += count
        weights = [count / totals[e.mention] for e, count in zip(edits, counts, strict=True)]
        ordered = shuffle(edits, weights, Random(f"{caption.draw_key}:atom"))
        atoms.negatives = [edit.negative for edit in ordered]
        return ordered

    def _fits(self, caption: OwnCaption, mention: Mention, text: str) -> bool:
        """Return True if captions support an edit of one atom."""
        old = caption.parse.caption
        is_checked = mention.kind != "relation" or self.slots.has_usual_links(old, text)
        return is_checked and self.slots.fits(old, text, strict=mention.kind != "object")

    def _count(self, mention: Mention, word: str) -> int:
        """Return how often captions have a word as an atom of the mention's kind, and one more."""
        if mention.kind == "object":
            return 1 + self.slots.count_word(word)
        if mention.kind == "attribute":
            return 1 + self.vocabulary.attributes.get(word, 0)
        return 1 + self.vocabulary.relations.get(relation_key(word), 0)

    def _replace(self, caption: OwnCaption, mention: Mention, word: str) -> str | None:
        """Return the caption with a word in place of an atom, or None if it does not fit or may be true."""
        if not self._is_usable(caption, mention, word):
            return None
        text = replace_atom_text(caption.parse.caption, mention, word)
        is_false = text is not None and may_replace(caption.parse, mention, word, caption.facts)
        return text if is_false else None

    def _list_words(self, caption: OwnCaption) -> Iterator[tuple[Mention, list[tuple[float, str]]]]:
        """Yield the atoms that may be replaced, each with its possible words and how similar they are."""
        for mention in caption.replaceable.mentions:
            mention = read_as_written(caption.parse.caption, mention)
            if mention.kind == "object":
                yield mention, self._find_nouns(caption, mention)
            else:
                near = find_words(caption.parse, mention, self.vocabulary).near
                yield mention, [(0.0, word) for word in near]

    def _find_nouns(self, caption: OwnCaption, mention: Mention) -> list[tuple[float, str]]:
        """Return the nouns that fill the slots of a noun and are of its kind, the most similar first."""
        noun = lemmatise_noun(mention.text)
        if is_general(noun):
            return []
        items = self.slots.read(caption.parse.caption)
        own = {
            item.lemma
            for item in self._find_items(caption.parse.caption, mention.start, mention.end)
        }
        links = [link for link in list_links(items) if (link[0] in own) != (link[2] in own)]
        slots = [find_slots(link)[0 if link[2] in own else 1] for link in links]
        fillers = set(chain.from_iterable(map(self.slots.list_fillers, slots)))
        is_living = find_kind(noun) in LIVING
        words = self._rank_similar(noun)
        return [item for item in words if not slots or is_living or item[1] in fillers][:MAX_WORDS]

    @cached_method
    def _find_items(self, text: str, start: int, end: int) -> list[Item]:
        """Return the content words of a part of a text."""
        return [item for item in self.slots.read(text) if start <= item.start and item.end <= end]

    @cached_method
    def _rank_similar(self, noun: str) -> Sequence[tuple[float, str]]:
        """Return the possible foils of a noun, the most similar first, each with its similarity."""
        words = self.slots.list_similar(noun)
        ranked = [(self._measure_likeness(noun, word), word) for word in sorted(words)]
        return sorted(
            (item for item in ranked if item[0] > 0), key=lambda item: (-item[0], item[1])
        )

    def _measure_likeness(self, noun: str, word: str) -> float:
        """Return how similar a possible foil of a noun is, or 0 if it is none."""
        if (
            word == noun
            or not is_foil_noun(word)
            or self.slots.count_word(word) < self.slots.min_count
        ):
            return 0.0
        if may_be_one(noun, word):
            return 0.0
        if self.slots.are_few:  # their kind in WordNet alone decides
            return FEW_SIMILARITY if are_alike(noun, word, FEW_SIMILARITY) else 0.0
        similarity = self.slots.measure_similarity(noun, word)
        return similarity if are_alike(noun, word, similarity) else 0.0

    def _is_usable(
        self, caption: OwnCaption, mention: Mention, word: str, replaced: Iterable[Mention] = ()
    ) -> bool:
        """Return True if a word may replace an atom; ``replaced`` are the atoms that are replaced as well."""
        if mention.kind == "object":
            gone = {lemmatise_noun(item.text) for item in (mention, *replaced)}
            others = sorted(caption.nouns - gone)
            items = self._find_items(caption.parse.caption, mention.start, mention.end)
            is_form = bool(items) and self.slots.has_form(
                word, is_determined=items[0].is_determined, is_plural=mention.tag == "NNS"
            )
            limit = MAX_SHARE_OF_MANY if caption.captions >= MANY_CAPTIONS else MAX_SHARE
            is_absent = (
                self._is_listed(word, caption) or self.companions.share(word, others) <= limit
            )
            return is_form and is_absent and self.slots.are_together(word, others)
        if mention.kind == "attribute":
            is_adjective = word.isalpha() and word not in load_words("function_words")
            noun = caption.parse.graph.by_id[mention.object].name
            is_other = are_values(mention.text, word) and not _is_filled(caption, mention)
            is_other = is_other and not is_color_of_person(mention.text, noun)
            return is_adjective and is_quality(word) and is_other
        if mention.start == 0:
            return False  # "on the table are a sandwich and a cup"
        senses = [relations.find_sense(text) for text in (mention.text, word)]
        is_verb = mention.tag.startswith("VB")
        if is_verb and relations.is_preposition(word):
            return False  # "a man on a plate" for "a man holding a plate"
        if is_verb and DIRECTION.search(caption.parse.caption, mention.end):
            return False  # "feeding a horse through a field" for "riding"
        postures = {relations.find_posture(sense.verb) for sense in senses if sense} - {None}
        may_be_both = word.endswith(BESIDE) and mention.text.split()[-1] in AROUND
        return len(postures) < 2 and word not in UNUSUAL_RELATIONS and not may_be_both

    def _replace_compounds(self, caption: OwnCaption) -> Candidates:
        """Return the captions with two atoms of one compound replaced."""
        candidates = Candidates([])
        words = {
            mention: self._rank_similar(lemmatise_noun(mention.text))[:MAX_WORDS_OF_TWO]
            if mention.kind == "object" and not is_general(mention.text)
            else similar_words
            for mention, similar_words in self._list_words(caption)
        }
        for first, second in _list_compounds(caption.replaceable):
            candidates.is_changed = True
            usable = [
                [
                    word
                    for _, word in words.get(mention, ())
                    if self._is_usable(caption, mention, word, [partner])
                ]
                for mention, partner in ((first, second), (second, first))
            ]
            pairs = [
                (first_word, second_word)
                for first_word, second_word in product(*usable)
                if first_word != second_word and self._go_together(first, first_word, second_word)
            ]
            rng = Random(f"{caption.draw_key}:comp:{first.start}:{second.start}")
            counts = [
                self._count(first, first_word) * self._count(second, second_word)
                for first_word, second_word in pairs
            ]
            for first_word, second_word in shuffle(pairs, counts, rng)[:MAX_PAIRS]:
                text = self._replace_two(caption, (first, first_word), (second, second_word))
                if text is None:
                    continue
                candidates.is_false = True
                if self.slots.fits(caption.parse.caption, text, strict=True):
                    foils = tuple(
                        Foil(mention.kind, mention.text, word)
                        for mention, word in ((first, first_word), (second, second_word))
                    )
                    candidates.negatives.append(HardNegative(text, foils))
        return candidates

    def _go_together(self, first: Mention, first_word: str, second_word: str) -> bool:
        """Return True if captions have two words together: an attribute with its noun, or two nouns."""
        if first.kind == "attribute":
            return self.slots.may_modify(first_word, second_word)
        return self.slots.are_together(first_word, [second_word])

    def _replace_two(
        self, caption: OwnCaption, first: tuple[Mention, str], second: tuple[Mention, str]
    ) -> str | None:
        """Return the caption with two atoms replaced, or None if it may be true: an absent noun makes it false."""
        edits = sorted((first, second), key=lambda edit: -edit[0].start)
        text = caption.parse.caption
        for mention, word in edits:
            if (changed := replace_atom_text(text, mention, word)) is None:
                return None
            text = changed
        nouns = [(mention, word) for mention, word in edits if mention.kind == "object"]
        is_false = nouns and all(
            may_replace(caption.parse, mention, word, caption.facts) for mention, word in nouns
        )
        return text if is_false else None

    def _swap(self, caption: OwnCaption) -> Candidates:
        """Return the swaps that the facts exclude and whose new links other captions have."""
        exchanges = exchange_amounts(caption)
        swaps, num_edits = make_proven_swaps(caption, self._are_used_alike)
        fitting = [
            item
            for item in swaps
            if self.slots.fits(caption.parse.caption, item.caption, strict=True)
        ]
        negatives = [*exchanges, *fitting]
        Random(f"{caption.draw_key}:swap").shuffle(negatives)
        return Candidates(negatives, is_changed=num_edits > 0, is_false=bool(swaps))

    def _are_used_alike(self, first: str, second: str) -> bool:
        """Return True if two nouns may change places: captions use them alike, or are too few to say so."""
        few = self.slots.are_few
        likeness = FEW_SIMILARITY if few else self.slots.measure_similarity(first, second)
        return are_alike(first, second, likeness) and not may_be_one(first, second)

    def _negate(self, caption: OwnCaption, edits: Sequence[Edit]) -> Candidates:
        """Return the negation of a random half of the captions; of the others, the negated text is true."""
        denials = [Denial(edit.mention, edit.word, edit.negative) for edit in edits]
        negation = make_negation(caption, denials)
        candidates = Candidates(
            [], is_changed=bool(caption.replaceable.mentions), is_false=bool(edits)
        )
        if negation is not None:
            truth, negative = negation
            candidates.negatives = [negative]
            candidates.truth = truth
        return candidates

    def is_proven(self, kind: str, negative: HardNegative, caption: OwnCaption) -> bool:
        """Return True if the negative is proven. With two foils, an attribute of an absent object proves nothing."""
        foils = (
            [foil for foil in negative.foils if foil.type == "object"]
            if kind == "comp"
            else negative.foils
        )
        return any(
            foil.type != "object" or self._is_listed(foil.replacement, caption) for foil in foils
        )

    def _is_listed(self, noun: str, caption: OwnCaption) -> bool:
        """Return True if the scene graph of the image would list a noun."""
        return caption.has_graph and (not self.annotated or noun in self.annotated)


def _is_filled(caption: OwnCaption, mention: Mention) -> bool:
    """Return True for "full" in "a full plate of dessert"."""
    text = caption.parse.caption
    return is_value(FILLINGS, mention.text) and bool(OF_OR_WITH.match(text, mention.end))


def shuffle(items: Sequence[Drawn], weights: Sequence[float], rng: Random) -> list[Drawn]:
    """Return the items in random order, drawn by weight without replacement.

    Foils are drawn by the number of captions with their words. Then a word is as often a foil as it is true, so that
    the words of a caption alone do not say whether it is true.
    """
    # Exponential clocks (Efraimidis and Spirakis 2006).
    clocks = [rng.expovariate(weight) for weight in weights]
    return [items[index] for index in sorted(range(len(items)), key=clocks.__getitem__)]


def _list_compounds(parse: Parse) -> Iterator[tuple[Mention, Mention]]:
    """Yield the pairs of mentions of a compound: an attribute and its object, two related objects."""
    objects = {mention.object: mention for mention in parse.mentions if mention.kind == "object"}
    for mention in parse.mentions:
        if mention.kind == "attribute" and mention.object in objects:
            yield mention, objects[mention.object]
        if mention.kind == "relation" and {mention.object, mention.target} <= objects.keys():
            yield objects[mention.object], objects[str(mention.target)]
