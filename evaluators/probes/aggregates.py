"""Average exact match over the groups of prompt types that Kamath et al. 2023 (arXiv:2305.14897) discuss.

Source: sections 3.2 and 3.3. The paper does not say which cells of Tables 2 and 3 its means include. Averages of the
published cells over these groups agree with the printed numbers for adjectives (44.8), verbs (34.4, printed 34.5),
models with hard negatives (15.3 points more than CLIP ViT-B/32, 16.3 where word order matters), and larger models (20.6
points more without spatial relations). Others differ:

- Negations (13.0) and multiples (5.1) include a cell of Table 3 that is cut off in our copy. Without it, the means are
  15.2 and 5.9. All means here leave these two cells out, those of our probes as well, so that they are comparable.
- Spatial relations (23.7): the mean of the eight cells of Table 2 is 26.7, and 23.7 with "two cats to the left of four
  dogs" of Table 3 as the ninth.
- Temporal relations (17.1): the mean of the cells is 18.9, which section 4.2 prints. The difference is unexplained.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from compeval.evaluators.probes.analysis import get_cell
from compeval.loaders.papers.prompt_types import PROMPT_TYPES, TEXT_ENCODERS

NUM_VISION_LANGUAGE = 4
"""The first four of the paper's text encoders are those of vision-language models; the last is SBERT."""


GROUPS = {
    "Spatial relations": r"obj.*_spatial.*",
    "Spatial relations, 2 objects": r"obj2.*_spatial.*",
    "Without spatial relations": r"obj(?!.*spatial).*",
    "Temporal relations": r"obj.*_temporal.*",
    "Intransitive verbs": "obj1_verb1",
    "Transitive verbs": "obj2_verb2",
    "Intransitive prepositions": "obj1_spatial",
    "Transitive prepositions": "obj2_spatial",
    "Adjectives": "obj1_adj",
    "Negations": r"negation.*",
    "Multiples": r"multiples.*",
    "Word order matters": r"obj2_.*",
    "Word order matters less": r"obj1.*|obj2",
    "1 unique object": r"obj1.*",
    "2 unique objects": r"obj2.*",
    "1 attribute": r"obj\d_[^_]+",
    "2 attributes": r"obj\d_[^_]+_[^_]+",
}
"""Title -> pattern of the cells of Tables 2 and 3 in the group. Those of Table 3 begin with multiples or negation."""
PUBLISHED: Mapping[str, tuple[float, ...]] = {
    get_cell(name): kind.published_scores
    for name, kind in PROMPT_TYPES.items()
    if kind.published_scores
}
"""Cell -> the percentages of TEXT_ENCODERS, without the cells that are cut off."""


def average_over_groups(match_by_cell: pd.Series) -> dict[str, float]:
    """Return title of a group -> unweighted mean over its cells in PUBLISHED. NaN if a group has no such cell."""
    published = match_by_cell[match_by_cell.index.isin(list(PUBLISHED))]
    return {
        title: float(published[published.index.str.fullmatch(pattern)].mean())
        for title, pattern in GROUPS.items()
    }


def average_published() -> dict[str, dict[str, float]]:
    """Return "CLIP ViT-B/32" etc. -> the same means of the published cells, as fractions of 1.

    The key "VL models" is the mean of the paper's vision-language models.
    """
    table = pd.DataFrame(PUBLISHED, index=pd.Index(TEXT_ENCODERS)).T / 100
    columns = {name: average_over_groups(table[name]) for name in TEXT_ENCODERS}
    return columns | {
        "VL models": average_over_groups(table.iloc[:, :NUM_VISION_LANGUAGE].mean(axis=1))
    }
