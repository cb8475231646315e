"""The hard negatives of a region caption: four captions with another atom (HN-Atom), and six joined ones (HN-Comp).

Source: CREPE (arXiv:2212.07796), section 4.1, appendix A.1, and Tables 2 and 6 (retrieval sets of 5 and 7 captions).
HN-Atom replaces exactly one atom (replacements.py). HN-Comp joins two variants of a caption with one compound, in each
of which a different atom is replaced: "a pink car" becomes "a blue car and a pink toy". Only captions with exactly one
compound have hard negatives. Candidates are sorted by the position of their atom in the caption, then by the hypernym
distance and frequency of the new word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, islice, product
from random import Random
from typing import Any, NamedTuple

from compeval.base.draw_keys import make_image_key
from compeval.base.pipeline.params import OURS, PAPER
from compeval.base.readers.annotations import Annotations
from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import Mention, Parse, SceneGraph
from compeval.base.text_only.corpus_statistics import CorpusStatistics, Ranker
from compeval.base.text_only.gaps import Gap, score_by_caption
from compeval.base.text_only.language_models import MaskedLM, MaskedWordScorer
from compeval.base.texts import fold_case_and_space
from compeval.generators.captioner.substitution import read_as_written
from compeval.generators.graphs.facts import ImageFacts
from compeval.generators.graphs.vocabulary import Vocabulary
from compeval.generators.hard_negatives.crepe.paper_regions import (
    Compound,
    draw_region_atoms,
    draw_region_compounds,
)
from compeval.generators.hard_negatives.crepe.replacements import (
    ALL_WORDS,
    FindWords,
    find_words,
    make_foil,
)
from compeval.generators.hard_negatives.crepe.selection import select_most_plausible
from compeval.generators.hard_negatives.hard_negative import HardNegative
from compeval.generators.hard_negatives.rejections import Rejections
from compeval.generators.seen_analysis.regions import Candidate
from compeval.generators.seen_analysis.splits import find_crop_fault

NEGATIVES = {"hnatom": 4, "hncomp": 6}
"""Hard negatives per caption for each kind."""
MAX_DISTANT = 6
"""Distant words and words outside the vocabulary are used until an atom has this many foils."""
MAX_FOILS = 24
"""Maximum number of foils per atom from which the ranker chooses."""
MAX_COMBINED = 6
"""Maximum number of foils per atom that are combined to HN-Comps."""
WITHOUT = "without"
"""This word is never part of an HN-Comp, because it would also negate what follows "and"."""


class SystematicityNegatives(NamedTuple):
    """Generates and ranks the hard negatives of captions."""

    vocabulary: Vocabulary
    ranker: Ranker | MaskedWordScorer
    rejections: Rejections
    rules: str = OURS
    """OURS: proven negatives, ranked by a :class:`Ranker`; PAPER: those of CREPE's authors (paper_regions.py)."""

    def columns(
        self, image: AnnotatedImage, facts: ImageFacts, candidates: Sequence[Candidate]
    ) -> list[dict[str, list[dict[str, Any]]]]:
        """Return the columns ``hnatom`` and ``hncomp`` of captions of an image, [] where there are too few negatives.

        The ranker scores the candidates of all captions at once.
        """
        make = self._make_by_paper if self.rules == PAPER else self._make_by_ours
        negatives = make(image, facts, candidates)
        return [
            {
                kind: [
                    {"caption": negative.caption, "foils": negative.foil_rows}
                    for negative in chosen
                ]
                for kind, chosen in of_caption.items()
            }
            for of_caption in negatives
        ]

    def _make_by_ours(
        self, image: AnnotatedImage, facts: ImageFacts, candidates: Sequence[Candidate]
    ) -> list[dict[str, tuple[HardNegative, ...]]]:
        """Return the most plausible of the candidates that the facts prove false, words of the vocabulary first."""
        assert not isinstance(self.ranker, MaskedWordScorer)
        pools = [self._make_pool(item.parse, facts) for item in candidates]
        texts = list(
            dict.fromkeys(
                foil.caption for pool in pools for foils in pool.values() for foil in foils
            )
        )
        scores = dict(zip(texts, self.ranker.score(texts), strict=True))
        return [
            {
                kind: select_most_plausible(
                    foils, NEGATIVES[kind], scores, self.rejections.texts(image, item.region.box)
                )
                for kind, foils in pool.items()
            }
            for item, pool in zip(candidates, pools, strict=True)
        ]

    def _make_pool(self, parse: Parse, facts: ImageFacts) -> Mapping[str, Sequence[HardNegative]]:
        """Return the candidates of each kind, or [] if there are too few to select from."""
        if len(parse.graph.compounds) != 1:
            return {kind: [] for kind in NEGATIVES}
        pool = {
            "hnatom": make_atom_foils(parse, facts, self.vocabulary),
            "hncomp": make_comp_foils(parse, facts, self.vocabulary),
        }
        return {
            kind: foils if len(foils) >= NEGATIVES[kind] else [] for kind, foils in pool.items()
        }

    def _make_by_paper(
        self, image: AnnotatedImage, facts: ImageFacts, candidates: Sequence[Candidate]
    ) -> list[dict[str, tuple[HardNegative, ...]]]:
        """Return negatives drawn at random from the words that the ranker selects. The facts are not used."""
        compounds = [Compound.find(item.parse) for item in candidates]
        slots = [compound.list_slots() if compound else [] for compound in compounds]
        scores = iter(self._score_words([slot.gap for of_caption in slots for slot in of_caption]))
        image_key = make_image_key(image)
        captions = [item.caption for item in image.regions]
        negatives: list[dict[str, tuple[HardNegative, ...]]] = []
        for item, compound, of_caption in zip(candidates, compounds, slots, strict=True):
            of_words = [next(scores) for _ in of_caption]
            drawn: dict[str, Iterator[HardNegative]] = {kind: iter(()) for kind in NEGATIVES}
            if compound is not None:
                number = captions.index(item.parse.caption)
                rng = Random(f"{image_key}:{number}")
                drawn["hnatom"] = draw_region_atoms(of_caption, of_words, rng)
                drawn["hncomp"] = draw_region_compounds(compound, of_caption, of_words, rng)
            rejected = self.rejections.texts(image, item.region.box)
            negatives.append(
                {
                    kind: _take(candidates, NEGATIVES[kind], rejected)
                    for kind, candidates in drawn.items()
                }
            )
        return negatives

    def _score_words(self, gaps: Sequence[Gap]) -> Sequence[dict[str, float]]:
        if isinstance(self.ranker, MaskedWordScorer):
            return self.ranker.score_words(gaps)
        knows = (
            self.ranker.words.__contains__
            if isinstance(self.ranker, CorpusStatistics)
            else lambda word: True
        )
        return score_by_caption(self.ranker.score, knows)(gaps)


def _take(
    candidates: Iterable[HardNegative], count: int, rejected: frozenset[str]
) -> tuple[HardNegative, ...]:
    """Return the first distinct candidates that annotators did not reject, or () if there are too few."""
    usable = {item.caption: item for item in candidates if item.caption not in rejected}
    return tuple(islice(usable.values(), count)) if len(usable) >= count else ()


def make_negatives_factory(
    images: Annotations, min_count: int, ranker: str, rules: str = OURS
) -> Callable[[], SystematicityNegatives]:
    """Return a function that makes a :class:`SystematicityNegatives` in a worker process.

    ``min_count`` is the minimum number of occurrences of a vocabulary word. ``ranker`` is "statistics" (of the source's
    captions) or the name of a masked language model.
    """
    vocabulary = Vocabulary.from_counts(*images.count_words(), min_count)
    if ranker != "statistics":
        return partial(_make, vocabulary, ranker, rules)
    captions = (
        region.caption
        for image in images
        for region in image.regions
        if not find_crop_fault(region.box, image.width, image.height)
    )
    return partial(_make, vocabulary, CorpusStatistics.of(captions), rules)


def _make(
    vocabulary: Vocabulary, ranker: CorpusStatistics | str, rules: str
) -> SystematicityNegatives:
    if not isinstance(ranker, str):
        return SystematicityNegatives(vocabulary, ranker, Rejections.read(), rules)
    model = MaskedWordScorer(ranker) if rules == PAPER else MaskedLM(ranker)
    return SystematicityNegatives(vocabulary, model, Rejections.read(), rules)


def make_atom_foils(
    parse: Parse, image: ImageFacts, vocabulary: Vocabulary = ALL_WORDS
) -> list[HardNegative]:
    """Return all HN-Atoms of a caption that are false of the image. Words of the vocabulary come first."""
    facts = image.with_caption(parse.graph)
    negatives: dict[str, HardNegative] = {}
    for mention in parse.mentions:
        for negative in replace_mention(parse, mention, facts, vocabulary):
            negatives.setdefault(fold_case_and_space(negative.caption), negative)
    negatives.pop(fold_case_and_space(parse.caption), None)
    return list(negatives.values())


def make_comp_foils(
    parse: Parse,
    image: ImageFacts,
    vocabulary: Vocabulary = ALL_WORDS,
    find: FindWords = find_words,
) -> list[HardNegative]:
    """Return all HN-Comps of a caption with exactly one compound, with both halves false of the image; else []."""
    compound = extract_only_compound(parse)
    if compound is None:
        return []
    facts = image.with_caption(parse.graph)

    def make_variants(mention: Mention) -> list[HardNegative]:
        negatives = replace_mention(compound, mention, facts, vocabulary, find)
        return list(
            islice(
                (item for item in negatives if item.foils[0].replacement != WITHOUT), MAX_COMBINED
            )
        )

    negatives: dict[str, HardNegative] = {}
    for firsts, seconds in combinations(map(make_variants, compound.mentions), 2):
        for (i, first), (j, second) in product(enumerate(firsts), enumerate(seconds)):
            halves = (first, second) if (i + j) % 2 == 0 else (second, first)
            caption = _join_captions(halves[0].caption, halves[1].caption)
            negatives.setdefault(
                fold_case_and_space(caption),
                HardNegative(caption, halves[0].foils + halves[1].foils),
            )
    return list(negatives.values())


def extract_only_compound(parse: Parse) -> Parse | None:
    """Return the part of a caption that states its only compound, with its determiner, or None for other captions."""
    if len(parse.graph.compounds) != 1:
        return None
    edges = parse.graph.relations
    ends = (
        {edges[0].subject, edges[0].object}
        if edges
        else {o.id for o in parse.graph.objects if o.attributes}
    )
    mentions = [
        item
        for item in parse.mentions
        if item.object in ends and (item.target or "") in {"", *ends}
    ]
    if len(mentions) == len(parse.mentions):
        return parse
    start = min(mention.start for mention in mentions)
    end = max(mention.end for mention in mentions)
    if any(
        mention.start < end and mention.end > start
        for mention in parse.mentions
        if mention not in mentions
    ):
        return None
    determiner = re.search(
        r"\b(?:an?|the|one|two|three|some)\s+$", parse.caption[:start], re.IGNORECASE
    )
    start = determiner.start() if determiner else start
    objects = tuple(item for item in parse.graph.objects if item.id in ends)
    shifted = tuple(
        replace(mention, start=mention.start - start, end=mention.end - start)
        for mention in mentions
    )
    return Parse(parse.caption[start:end], SceneGraph(objects, edges), shifted)


def _join_captions(first: str, second: str) -> str:
    body = first.rstrip()
    final_mark = body[-1] if body.endswith((".", "!")) else ""
    second = second.rstrip().rstrip(".!")
    if second[1:2].islower() or second[1:2].isspace():
        second = second[0].lower() + second[1:]
    return f"{body.rstrip('.!')} and {second}{final_mark}"


def replace_mention(
    parse: Parse,
    mention: Mention,
    facts: ImageFacts,
    vocabulary: Vocabulary,
    find: FindWords = find_words,
) -> Iterator[HardNegative]:
    """Yield the HN-Atoms of one atom: at most ``MAX_FOILS`` with near words, others only up to ``MAX_DISTANT``.

    ``facts`` contain the caption.
    """
    mention = read_as_written(parse.caption, mention)
    near, distant = find(parse, mention, vocabulary)
    count = 0
    for words, limit in ((iter(near), MAX_FOILS), (distant, MAX_DISTANT)):
        while count < limit and (word := next(words, None)) is not None:
            if (negative := make_foil(parse, mention, word, facts)) is not None:
                count += 1
                yield negative
