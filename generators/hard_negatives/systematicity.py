"""The hard negatives of a systematicity caption: from its parse to four HN-Atoms and six HN-Comps.

Source: CREPE (arXiv:2212.07796), section 4.1 and appendix, Table 6 (retrieval sets of 5 and 7 captions). Only captions
with exactly one compound have hard negatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from generators.graphs.facts import ImageFacts
from generators.graphs.vocabulary import Vocabulary
from generators.hard_negatives.corpus_statistics import CorpusStatistics, Ranker
from generators.hard_negatives.foils import make_atom_foils, make_comp_foils
from generators.hard_negatives.language_models import MaskedLM
from generators.hard_negatives.rejections import Rejections
from generators.hard_negatives.selection import select_most_plausible
from generators.schemas.annotated_image import AnnotatedImage
from generators.schemas.scene_graph import Box, Parse
from generators.seen_analysis.splits import find_crop_fault, normalize_caption

NEGATIVES = {"hnatom": 4, "hncomp": 6}
"""Hard negatives per caption for each kind."""


class SystematicityNegatives(NamedTuple):
    """Generates and ranks the hard negatives of captions."""

    vocabulary: Vocabulary
    ranker: Ranker
    rejections: Rejections

    def columns(
        self, image: AnnotatedImage, box: Box, parse: Parse, facts: ImageFacts
    ) -> dict[str, list[dict[str, Any]]]:
        """Return the columns ``hnatom`` and ``hncomp`` of a region. A column is [] if there are too few negatives."""
        rejected = self.rejections.texts(image, box)
        columns = {}
        for kind, generate in (("hnatom", make_atom_foils), ("hncomp", make_comp_foils)):
            candidates = generate(parse, facts, self.vocabulary) if len(parse.graph.compounds) == 1 else []
            chosen = select_most_plausible(candidates, NEGATIVES[kind], self.ranker, rejected)
            columns[kind] = [{"caption": negative.caption, "foils": negative.foil_rows} for negative in chosen]
        return columns


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
