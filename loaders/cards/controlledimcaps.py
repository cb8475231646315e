"""ControlledImCaps' card: the types, chance, and the paper's scores of CLIP ViT-L/14.

    python -m loaders.cards.controlledimcaps        # after generators.controlledimcaps: writes its card and stats.json

Source: Kamath, Hessel and Chang 2023, sections 2.2 and 4, Table 4, Figure 3.
"""

from __future__ import annotations

from pathlib import Path

from generators.storage import stage
from loaders.cards.card import Stats, hub_metadata, licence, measured, stand_in, table, write_card

FOLDER = Path("controlledimcaps")

PROBED_BY = {
    "spatial_1": ("obj1_spatial",),
    "spatial_2": ("obj2_spatial",),
    "temporal": ("obj1_temporal_verb1", "obj2_temporal_verb1", "obj2_temporal_verb2"),
    "verb_1": ("obj1_verb1",),
    "verb_2": ("obj2_verb2",),
    "adjective": ("obj1_adj",),
}
"""Type -> the configs of CompPrompts that are comparable (Figure 3); of the spatial ones left and right only."""

PUBLISHED = {
    "spatial_1": (28.5, 4.0, 15.0),
    "spatial_2": (4.4, 4.0, 8.0),
    "temporal": (26.8, 7.0, 30.0),
    "verb_1": (71.6, 84.0, 89.0),
    "verb_2": (37.2, 46.0, 63.0),
    "adjective": (81.8, 65.0, 85.0),
}
"""Table 4, CLIP ViT-L/14: exact match on CompPrompts, image score, text score, in percent."""


def body(stats: Stats) -> str:
    """The card's text."""
    built = [
        (kind, stats["rows"].get(kind, {}).get("test", "-"), *(f"{score:.1f}" for score in PUBLISHED[kind]))
        for kind in PUBLISHED
    ]
    return f"""# ControlledImCaps: pairs of images whose captions differ in one word

{stand_in("microworld")}Two pictures, two captions that differ in exactly one word: which belongs to which? After
Kamath, Hessel and Chang 2023 ([arXiv:2305.14897](https://arxiv.org/abs/2305.14897)), section 2.2. Dataset version
`{stats["version"]}`.

Text score: both pictures prefer their own caption. Image score: both captions prefer their own picture. Group: both.
A tie is a loss. Chance: 1/4, 1/4, 1/6.

{table(("type", "pairs", "paper: EM on CompPrompts", "paper: image score", "paper: text score"), built)}
The paper's scores are CLIP ViT-L/14's on 600 pairs of photographs that were never released (Table 4).

## Known limits

- No verbs: this world shows no action, and a drawing that only suggests one would test something else.
- The temporal pairs are one thing, an umbrella before and after opening.
- Both pictures of a pair have the same things, looks and backdrop but for the word that differs.

## Licence and source

{licence("microworld")}
"""


def main() -> None:
    """Measure the folder and write its card."""
    stats = measured(FOLDER, "microworld")
    write_card(FOLDER, hub_metadata("ControlledImCaps", stats, ["image-to-text"]), body(stats), stats)


if __name__ == "__main__":
    stage.run(main)
