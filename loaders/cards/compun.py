"""Compun's card: the nouns, their pictures, the kinds of prompt, and the paper's figures beside ours.

    python -m loaders.cards.compun        # after generators.compun: checks the folder, writes its card and stats.json

Source: Kumar et al. 2024 (arXiv:2404.00419), section 6, Tables 1 and 2, appendix A.3.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from generators.storage import parquet, stage
from generators.storage.params import block
from loaders.cards.card import Stats, funnels, hub_metadata, measured, stand_in, table, write_card

FOLDER = Path("compun")
NOUNS = 400
VARIANTS = ("template", "reversed", "descriptors", *(f"examples-{count}" for count in range(1, 8)))
PUBLISHED_CATEGORIES = {"either": 199, "both": 106, "none": 95}
"""Section 6: compounds whose picture shows either constituent, both, none."""
PUBLISHED = {
    "ALBEF": 80.55,
    "BLIP": 79.85,
    "MetaCLIP": 81.35,
    "CLIP": 78.25,
    "CLIP, reversed": 41.00,
    "CLIP, descriptors": 81.15,
    "CLIP, examples": 86.50,
    "OpenCLIP": 83.90,
    "OpenCLIP, examples": 86.25,
    "human": 96.25,
}
"""Table 1, accuracy in percent; chance 33.33."""
PUBLISHED_BY_EXAMPLES = (79.55, 79.90, 81.30, 83.55, 86.50, 86.50, 86.55)
"""Table 2: k = 1 to 7."""
LICENCE = "cc-by-nc-4.0"


def categories(folder: Path) -> Counter[str]:
    """How many of the nouns are in each category."""
    files = sorted((folder / "nouns").glob("*.parquet"))
    return Counter(name for path in files for name in parquet.read_table(path, ["category"])["category"].to_pylist())


def body(stats: Stats, found: Counter[str]) -> str:
    """The card's text."""
    compared = [(name, found[name], published) for name, published in PUBLISHED_CATEGORIES.items()]
    return f"""# Compun: the picture of a compound noun

{stand_in(stats["source"])}Given a prompt with a compound noun, the model picks its picture among those of its two
constituents, after Kumar et al. 2024 ([arXiv:2404.00419](https://arxiv.org/abs/2404.00419)). Dataset version
`{stats["version"]}`.

- `nouns`: all {NOUNS} compounds with their constituents (`n1`, `n2`), surface form, category and notes.
- `main`: three pictures and the prompts. The split `test` has the template; `test.reversed`, `test.descriptors` and
  `test.examples.1` to `test.examples.7` have the same pictures under other prompts. As tasks: `compun/main`,
  `compun/main@reversed`, `compun/main@descriptors`, `compun/main@examples-5`.

A compound counts as right if its picture's score, the mean over the prompts, is above both others. A tie is a loss.
Chance: 1/3.

## Nouns

All {NOUNS} of the published list are kept, also those of more than two words ("grill surface thermometer", "M & M
cookies") and those that occur twice ("snow ball" and "snowball", "boat house" and "houseboat"); their notes say so. The
constituents come from a dictionary and were read through one by one; `split` says which a person had to correct.

The category says whether a photo of the compound shows a thing that the constituent alone usually names. The authors
asked crowd workers and published only the counts; ours is one annotator's (a language model) reading, by that rule.

{table(("shows", "ours", "the paper's"), compared)}
## Pictures and prompts

Without pictures of one's own, the micro-world draws the compounds that a drawing shows honestly. For all {NOUNS}, name
a folder or zip with the authors' files (`<noun>.*`, `<noun>_n1.*`, `<noun>_n2.*`) in params.yaml, `compun.images`: it
is refused unless complete. `provenance.captioner` says what made a row's prompts; `grammar` are example captions
without a language model, which know nothing about the compound.

{funnels(stats)}
## Published accuracy (Table 1)

{table(("model", "percent"), list(PUBLISHED.items()))}
## Licence

The list of nouns is Compun's, CC BY-NC 4.0. Annotations, prompts and drawn pictures are made by this project, CC0-1.0;
pictures of one's own keep their licence. Code MIT.
"""


def main() -> None:
    """Check the folder and write its card. ValueError where a compound or a split is missing."""
    source = block("source") if block("compun")["images"] is None else "compun"
    stats = measured(FOLDER, source)
    rows = stats["rows"]
    if rows["nouns"]["test"] != NOUNS:
        raise ValueError(f"{FOLDER}/nouns: {rows['nouns']['test']} rows, {NOUNS} expected. Run `dvc repro compun`.")
    if len(rows["main"]) != len(VARIANTS) or len(set(rows["main"].values())) != 1:
        raise ValueError(f"{FOLDER}/main: splits of one length expected for {', '.join(VARIANTS)}, got {rows['main']}.")
    metadata = hub_metadata("Compun", stats, ["zero-shot-image-classification"]) | {"license": LICENCE}
    write_card(FOLDER, metadata, body(stats, categories(FOLDER)), stats)


if __name__ == "__main__":
    stage.run(main)
