"""What solves the balanced sets of drawn scenes without their pixels, other than the judges of refinement.

    python -m bench.balanced_leaks ../one/parts/crepe --unrefined ../two/parts/crepe --unrefined ../three/parts/crepe
        --corpus captions.tsv --column 0 --regions ../one/regions

The folders are built with different values of microworld.seed; those of --unrefined with ``refine: false``. For each
balanced set of the first folder, prints the best Recall@1 with its 95 % interval over images:

- within: judges that are trained on other images of the set
- transfer: judges that are trained on the unrefined sets of the other worlds
- crop box: the same judges on the crop's box and the words, without the words' own frequencies (within, and transfer)
- corpus: n-gram models of the captions of a corpus
- other sets: the n-grams that the other balanced sets of the folder have for the image, without labels
- replay: the draw of a row is repeated for each candidate, seeded with that candidate; and as a control of the attack,
  seeded with the key of the row, which no reader knows (SC and UC HN-Atom)
- random truths: the best judge within, if a random candidate is called the true one
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np
import typer

from compeval.base.schemas.corpus_names import parse_systematicity
from compeval.base.schemas.scene_graph import Compound
from compeval.base.storage import parquet
from compeval.base.text_only.baselines import Baseline, RetrievalSets, recall_at_1
from compeval.base.text_only.judges import JUDGES, select_transferable
from compeval.base.text_only.ngram import TOKEN
from compeval.base.text_only.transfer import (
    join_sets,
    score_by_corpus,
    score_transferred,
    train_corpus_models,
)
from compeval.evaluators.metrics.intervals import compute_share_interval

BINS = 5
BOX_JUDGES = ("words", "naive_bayes", "conditional_logit")
COLUMNS = ["image_id", "caption", "hard_negatives", "x", "y", "width", "height"]
Row = dict[str, Any]
Scores = Mapping[str, np.ndarray]
"""Scores (N, K) by name of a judge."""


def read_rows(folder: Path) -> list[Row]:
    """Return the rows of all splits of a config, without pixels."""
    return [
        row
        for path in sorted(folder.glob("*.parquet"))
        for row in parquet.read_table(path, COLUMNS).to_pylist()
    ]


def make_sets(rows: Sequence[Row], world: str) -> RetrievalSets:
    captions = [(row["caption"], *row["hard_negatives"]) for row in rows]
    return RetrievalSets(captions, [f"{world} {row['image_id']}" for row in rows])


def describe(scores: Scores, images: Sequence[str]) -> str:
    """Return the best judge with its Recall@1 and interval."""
    hits = {name: recall_at_1(score_NK) for name, score_NK in scores.items()}
    best = max(hits, key=lambda name: hits[name].mean())
    low, high = compute_share_interval(hits[best], images)
    return f"{100 * hits[best].mean():.1f} ({100 * low:.1f} to {100 * high:.1f}), {best.replace('_', ' ')}"


def list_differing(captions: Sequence[str]) -> list[set[str]]:
    """Return the words of each caption that not all captions have."""
    words = [set(TOKEN.findall(text.lower())) for text in captions]
    return [own - set.intersection(*words) for own in words]


def write_boxes(
    rows: Sequence[Row], sets: RetrievalSets, edges: Mapping[str, np.ndarray]
) -> RetrievalSets:
    """Return the sets with texts of differing words and the bins of the box: "hat_width3 hat_area2"."""
    captions: list[list[str]] = []
    for row, texts in zip(rows, sets.captions, strict=True):
        bins = {
            name: np.searchsorted(edges[name], value) for name, value in measure_box(row).items()
        }
        captions.append(
            [
                " ".join(
                    f"{word}_{name}{place}" for word in sorted(own) for name, place in bins.items()
                )
                for own in list_differing(texts)
            ]
        )
    return RetrievalSets(captions, sets.images)


def measure_box(row: Row) -> dict[str, float]:
    width, height = row["width"], row["height"]
    return {
        "x": row["x"] + width / 2,
        "y": row["y"] + height / 2,
        "width": width,
        "height": height,
        "area": width * height,
        "aspect": width / height,
    }


def find_edges(rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """Return the edges of ``BINS`` equally frequent bins of each measure of a box."""
    values = [measure_box(row) for row in rows]
    shares = np.linspace(0, 1, BINS + 1)[1:-1]
    return {name: np.quantile([value[name] for value in values], shares) for name in values[0]}


def score_other_sets(sets: RetrievalSets, others: Iterable[RetrievalSets]) -> np.ndarray:
    """Score a caption (N, K) by the n-grams of up to 3 words that other sets have for its image; a text counts most."""
    texts = defaultdict[str, Counter[str]](Counter)
    grams = defaultdict[str, Counter[str]](Counter)
    for other in others:
        for image, captions in zip(other.images, other.captions, strict=True):
            texts[image].update(captions)
            grams[image].update(gram for text in captions for gram in list_grams(text))
    score_NK = np.zeros((len(sets), sets.size))
    for index, (image, captions) in enumerate(zip(sets.images, sets.captions, strict=True)):
        own = [set(list_grams(text)) for text in captions]
        differing = [of - set.intersection(*own) for of in own]
        counts = [sum(grams[image][gram] for gram in of) for of in differing]
        score_NK[index] = [
            count + 1000 * texts[image][text] for count, text in zip(counts, captions, strict=True)
        ]
    return score_NK


def list_grams(text: str) -> list[str]:
    words = TOKEN.findall(text.lower())
    return [
        " ".join(words[start : start + size])
        for size in (1, 2, 3)
        for start in range(len(words) - size + 1)
    ]


def replay(
    folder: Path, regions: Path, seen_file: Path, config: str, with_key: bool
) -> tuple[np.ndarray, list[str]]:
    """Score candidates by how many of the others their own draw returns (N, K); ``with_key``: with the row's key."""
    from compeval.generators.crepe_regions import read_captions
    from compeval.generators.crepe_systematicity import _assign_splits, read_compounds
    from compeval.generators.hard_negatives.balanced.compounds import (
        SplitCompounds,
        replace_one_atom,
    )
    from compeval.generators.hard_negatives.balanced.image_nouns import ImageNouns
    from compeval.generators.seen_analysis.splits import Seen
    from compeval.generators.seen_analysis.targets import Targets

    seen = Seen.load(seen_file)
    parsed = parse_systematicity(config)
    split = parsed.split if parsed else ""
    splits, _, _ = _assign_splits(regions, seen)
    rows = list(read_compounds(regions, [name == split for name in splits]))
    unseen = frozenset(Targets.load(regions / "targets.json").compounds) - seen.compounds
    own, foreign = (seen.compounds, unseen) if split == "sc" else (unseen, seen.compounds)
    nouns = ImageNouns.of_rows(read_captions(regions, ["image_id", "atoms"]))
    stated = SplitCompounds(
        [Compound(**row["compounds"][0]) for row in rows if row["parts"]], own, foreign, nouns
    )
    by_key = {(row["image_id"], row["caption"]): row for row in rows if row["parts"]}
    scores: list[list[float]] = []
    images: list[str] = []
    kind = "hnatom_balanced"
    for row in read_rows(folder / config):
        source = by_key[row["image_id"], row["caption"]]
        captions = (row["caption"], *row["hard_negatives"])
        words = list_differing(captions)
        values: list[float] = []
        for caption, own_words in zip(captions, words, strict=True):
            candidate = exchange(source, caption, words[0], own_words)
            seed = (
                f"{source['draw_key']}:{kind}"
                if with_key
                else f"{row['image_id']}:{caption}:{kind}"
            )
            drawn = replace_one_atom(candidate, stated, Random(seed))
            made = {foil.replacement for item in drawn for foil in item.foils}
            values.append(len(made & set.union(*words)))
        scores.append(values)
        images.append(row["image_id"])
    return np.array(scores, dtype=float), images


def exchange(row: Row, caption: str, true: set[str], own: set[str]) -> Row:
    """Return the row as if another candidate were true: its word in place of the true one, which is now a foil."""
    parts = [dict(part) for part in row["parts"]]
    compound = dict(row["compounds"][0])
    for part in parts:
        text = part["text"]
        if text in true and len(own) == 1 and row["caption"] != caption:
            (word,) = own
            part["words"] = sorted({*part["words"], text} - {word})
            part["end"] += len(word) - (part["end"] - part["start"])
            part["text"] = word
            compound[part["place"]] = word
    return {**row, "caption": caption, "parts": parts, "compounds": [compound]}


def draw_truths(sets: RetrievalSets) -> RetrievalSets:
    """Return the sets with a random candidate in the first place."""
    rng = np.random.default_rng(0)
    captions = [
        [texts[int(index)] for index in rng.permutation(sets.size)] for texts in sets.captions
    ]
    return RetrievalSets(captions, sets.images)


def main(
    folder: Path,
    unrefined: Annotated[list[Path], typer.Option()],
    corpus: Path | None = None,
    column: int = 0,
    regions: Path | None = None,
    seen: Path | None = None,
    only: str = "",
) -> None:
    """Print the results of each balanced set; with --only, of those whose names contain a text."""
    from compeval.base.readers.corpora import list_shards, read_captions

    captions = (
        [text for shard in list_shards(str(corpus)) for text in read_captions(shard, column)]
        if corpus
        else []
    )
    models = train_corpus_models(captions, (1, 2, 3)) if captions else {}
    rows = {path.name: read_rows(path) for path in sorted(folder.glob("*_balanced"))}
    sets = {name: make_sets(of, "0") for name, of in rows.items()}
    judges: dict[str, Baseline] = {**select_transferable(), "left_out": JUDGES["left_out"].score}
    for name, one in sets.items():
        if only not in name:
            continue
        print(
            f"{name}: {len(one)} rows, {len(set(one.images))} images, chance {100 * one.chance:.1f}",
            flush=True,
        )

        def show(title: str, scores: Scores, images: Sequence[str] = one.images) -> None:
            print(f"  {title}: {describe(scores, images)}", flush=True)

        show("within", {key: judge(one) for key, judge in judges.items()})
        mixed = draw_truths(one)
        show("random truths", {key: judge(mixed) for key, judge in judges.items()})
        others = [of for key, of in sets.items() if key != name]
        if others:
            show("other sets", {"n-grams of the image": score_other_sets(one, others)})
        if models:
            show("corpus", {key: score_by_corpus(one, model) for key, model in models.items()})
        edges = find_edges(rows[name])
        boxes = write_boxes(rows[name], one, edges)
        show("crop box, within", {key: JUDGES[key].score(boxes) for key in BOX_JUDGES})
        parts = [
            (of, make_sets(of, str(world)))
            for world, path in enumerate(unrefined, 1)
            if (of := read_rows(path / name))
        ]
        if parts:
            training = join_sets([part for _, part in parts])
            print(f"  ({len(training)} unrefined rows of other worlds)", flush=True)
            show(
                "transfer",
                {key: score_transferred(one, judge, training) for key, judge in judges.items()},
            )
            trained = join_sets([write_boxes(of, part, edges) for of, part in parts])
            show(
                "crop box, transfer",
                {key: score_transferred(boxes, JUDGES[key].score, trained) for key in BOX_JUDGES},
            )
        if regions and seen and "hnatom" in name and parse_systematicity(name):
            for with_key in (False, True):
                score_NK, images = replay(folder, regions, seen, name, with_key)
                show(f"replay{', with the key' if with_key else ''}", {"replay": score_NK}, images)


if __name__ == "__main__":
    typer.run(main)
