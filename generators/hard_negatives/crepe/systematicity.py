"""The hard negatives of a systematicity caption: from its parse to four HN-Atoms and six HN-Comps.

Source: CREPE (arXiv:2212.07796), section 4.1 and appendix, Table 6 (retrieval sets of 5 and 7 captions). Only captions
with exactly one compound have hard negatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any, NamedTuple

from generators.graphs.facts import ImageFacts
from generators.graphs.vocabulary import Vocabulary
from generators.hard_negatives.balanced.compounds import find_parts
from generators.hard_negatives.crepe.foils import make_atom_foils, make_comp_foils
from generators.hard_negatives.crepe.selection import select_most_plausible
from generators.hard_negatives.hard_negative import HardNegative
from generators.hard_negatives.rejections import Rejections
from generators.schemas.annotated_image import AnnotatedImage
from generators.schemas.scene_graph import Box, Parse
from generators.seen_analysis.splits import find_crop_fault, normalize_caption
from generators.text_only.corpus_statistics import CorpusStatistics, Ranker
from generators.text_only.language_models import MaskedLM

NEGATIVES = {"hnatom": 4, "hncomp": 6}
"""Hard negatives per caption for each kind."""


Pool = dict[str, list[HardNegative]]
"""Kind -> candidates."""


class CaptionedCrop(NamedTuple):
    """The crop of an image, the parse of its caption, and the facts about the image."""

    image: AnnotatedImage
    box: Box
    parse: Parse
    facts: ImageFacts


class SystematicityNegatives(NamedTuple):
    """Generates and ranks the hard negatives of captions, and finds the words of their balanced ones."""

    vocabulary: Vocabulary
    ranker: Ranker
    rejections: Rejections

    def columns(self, crops: Sequence[CaptionedCrop]) -> list[dict[str, list[dict[str, Any]]]]:
        """Return the columns ``hnatom`` and ``hncomp`` of each crop. A column is [] if there are too few negatives.

        The ranker scores the candidates of all crops at once.
        """
        pools = [self._make_candidates(crop) for crop in crops]
        captions = list(dict.fromkeys(item.caption for pool in pools for items in pool.values() for item in items))
        ranker = _Scores(dict(zip(captions, self.ranker.score(captions), strict=True)))
        return [self._select(crop, pool, ranker) for crop, pool in zip(crops, pools, strict=True)]

    def find_parts(self, crop: CaptionedCrop) -> list[dict[str, Any]]:
        """Return the column ``parts``: the parts of the compound that balanced negatives replace, with other words."""
        rng = Random(f"{crop.image.image_id}:{crop.parse.caption}")
        return [part._asdict() for part in find_parts(crop.parse, crop.facts, self.vocabulary, rng)]

    def _select(self, crop: CaptionedCrop, pool: Pool, ranker: Ranker) -> dict[str, list[dict[str, Any]]]:
        rejected = self.rejections.texts(crop.image, crop.box)
        chosen = {kind: select_most_plausible(items, NEGATIVES[kind], ranker, rejected) for kind, items in pool.items()}
        return {
            kind: [{"caption": negative.caption, "foils": negative.foil_rows} for negative in negatives]
            for kind, negatives in chosen.items()
        }

    def _make_candidates(self, crop: CaptionedCrop) -> Pool:
        """Return the candidates of each kind, or [] if there are too few to select from."""
        parse, facts = crop.parse, crop.facts
        if len(parse.graph.compounds) != 1:
            return {kind: [] for kind in NEGATIVES}
        candidates = {
            "hnatom": make_atom_foils(parse, facts, self.vocabulary),
            "hncomp": make_comp_foils(parse, facts, self.vocabulary),
        }
        return {kind: items if len(items) >= NEGATIVES[kind] else [] for kind, items in candidates.items()}


class _Scores(NamedTuple):
    """A ranker that knows the scores of some captions."""

    by_caption: Mapping[str, float]

    def score(self, captions: Sequence[str]) -> list[float]:
        return [self.by_caption[caption] for caption in captions]


def make_negatives_factory(
    images: Iterable[AnnotatedImage], min_count: int, ranker: str
) -> Callable[[], SystematicityNegatives]:
    """Return a function that makes a :class:`SystematicityNegatives` in a worker process.

    ``min_count`` is the minimum number of occurrences of a vocabulary word. ``ranker`` is "statistics" (of the source's
    captions) or the name of a masked language model.
    """
    vocabulary = Vocabulary.of((image.graph for image in images), min_count)
    if ranker != "statistics":
        return partial(_make, vocabulary, ranker)
    captions = (
        normalize_caption(region.phrase)
        for image in images
        for region in image.regions
        if not find_crop_fault(region.box, image.width, image.height)
    )
    return partial(_make, vocabulary, CorpusStatistics.of(captions))


def _make(vocabulary: Vocabulary, ranker: CorpusStatistics | str) -> SystematicityNegatives:
    return SystematicityNegatives(
        vocabulary, MaskedLM(ranker) if isinstance(ranker, str) else ranker, Rejections.read()
    )
