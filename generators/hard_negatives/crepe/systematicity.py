"""The hard negatives of a systematicity caption: from its parse to four HN-Atoms and six HN-Comps.

Source: CREPE (arXiv:2212.07796), section 4.1 and appendix, Table 6 (retrieval sets of 5 and 7 captions). Only captions
with exactly one compound have hard negatives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from generators.graphs.facts import ImageFacts
from generators.graphs.vocabulary import Vocabulary
from generators.hard_negatives.crepe.foils import make_atom_foils, make_comp_foils
from generators.hard_negatives.crepe.selection import select_most_plausible
from generators.hard_negatives.hard_negative import HardNegative
from generators.hard_negatives.rejections import Rejections
from generators.readers.annotations import Annotations
from generators.schemas.annotated_image import AnnotatedImage
from generators.schemas.scene_graph import Parse
from generators.seen_analysis.regions import Candidate
from generators.seen_analysis.splits import find_crop_fault
from generators.text_only.corpus_statistics import CorpusStatistics, Ranker
from generators.text_only.language_models import MaskedLM

NEGATIVES = {"hnatom": 4, "hncomp": 6}
"""Hard negatives per caption for each kind."""


class SystematicityNegatives(NamedTuple):
    """Generates and ranks the hard negatives of captions."""

    vocabulary: Vocabulary
    ranker: Ranker
    rejections: Rejections

    def columns(
        self, image: AnnotatedImage, facts: ImageFacts, candidates: Sequence[Candidate]
    ) -> list[dict[str, list[dict[str, Any]]]]:
        """Return the columns ``hnatom`` and ``hncomp`` of captions of an image, [] where there are too few negatives.

        The ranker scores the candidates of all captions at once.
        """
        pools = [self._make_pool(item.parse, facts) for item in candidates]
        texts = list(dict.fromkeys(foil.caption for pool in pools for foils in pool.values() for foil in foils))
        scores = dict(zip(texts, self.ranker.score(texts), strict=True))
        return [
            {
                kind: [
                    {"caption": negative.caption, "foils": negative.foil_rows}
                    for negative in select_most_plausible(
                        foils, NEGATIVES[kind], scores, self.rejections.texts(image, item.region.box)
                    )
                ]
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
        return {kind: foils if len(foils) >= NEGATIVES[kind] else [] for kind, foils in pool.items()}


def make_negatives_factory(images: Annotations, min_count: int, ranker: str) -> Callable[[], SystematicityNegatives]:
    """Return a function that makes a :class:`SystematicityNegatives` in a worker process.

    ``min_count`` is the minimum number of occurrences of a vocabulary word. ``ranker`` is "statistics" (of the source's
    captions) or the name of a masked language model.
    """
    vocabulary = Vocabulary.from_counts(*images.count_words(), min_count)
    if ranker != "statistics":
        return partial(_make, vocabulary, ranker)
    captions = (
        region.caption
        for image in images
        for region in image.regions
        if not find_crop_fault(region.box, image.width, image.height)
    )
    return partial(_make, vocabulary, CorpusStatistics.of(captions))


def _make(vocabulary: Vocabulary, ranker: CorpusStatistics | str) -> SystematicityNegatives:
    return SystematicityNegatives(
        vocabulary, MaskedLM(ranker) if isinstance(ranker, str) else ranker, Rejections.read()
    )
