"""Judges that read the balanced sets of drawn scenes without their pixels, and that refinement does not use.

    python -m bench.balanced_leaks ../w0/parts/crepe ../w1/parts/crepe --unrefined ../w0_all/parts/crepe
        --unrefined ../w1_all/parts/crepe --corpus captions.tsv --column 0

The folders are of one or more worlds, built with different values of microworld.seed. Those of ``--unrefined`` are of
the same worlds in the same order, built with ``refine: false``. Prints a table of Recall@1 in percent, with 95 %
intervals over images: the best judge of each kind on each kind of set before and after refinement, over all worlds and
corpora. A cell is bold if its whole interval is more than ``MARGIN`` above chance. The names of the best judges go to
stderr.

- within: judges that are trained on other images of the set
- removed: judges that are trained on the rows that refinement removed, of other images
- unrefined: judges that are trained on all rows before refinement, of other images
- siblings: judges that are trained on the other balanced sets of the build with as many candidates, on other images
- transfer: judges that are trained on the unrefined sets of the other worlds
- corpus: n-gram models of the captions of a corpus
- crop box: judges that read the box of the crop and the words that differ, trained in each of these ways. Sets of
  systematicity show the whole image, whose box tells only its size. Sets whose boxes are all equal are not judged.
- sets of the corpus, sets of the build: the n-grams that the other balanced sets of the corpus, and all others of the
  build, have for the image, without labels
- replay: the draw of a row is repeated for each candidate, seeded with that candidate; and as a control of the attack,
  seeded with the key of the row, which no reader knows (HN-Atom of SC and UC, if ``regions`` and ``seen`` are next to
  ``parts``)
- control: the judges within, if a random candidate is called the true one, which shows what the choice of the best is
  worth

Then prints the share of the rows that sets keep at most if an image belongs to one balanced set only.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import typer

from bench.crop_boxes import bin_boxes, list_differing_words, pair_bins, write_bins
from compeval.base.schemas.corpus_names import (
    CORPORA,
    SystematicityConfig,
    parse_systematicity,
)
from compeval.base.schemas.scene_graph import Compound
from compeval.base.storage import parquet
from compeval.base.text_only.baselines import Baseline, RetrievalSets, recall_at_1
from compeval.base.text_only.judges import JUDGES, select_transferable
from compeval.base.text_only.ngram import TOKEN, NgramModel
from compeval.base.text_only.transfer import (
    join_sets,
    score_by_corpus,
    score_by_siblings,
    score_removed,
    score_transferred,
    train_corpus_models,
)
from compeval.evaluators.metrics.intervals import compute_share_interval
from compeval.loaders.published.rows import BOX_COLUMNS

MARGIN = 0.03
"""Largest distance from chance of a set that is called balanced."""
BOX_JUDGES: Mapping[str, Baseline] = {
    "linear model": JUDGES["words"].score,
    "naive Bayes": JUDGES["naive_bayes"].score,
    "logit": JUDGES["conditional_logit"].score,
}
"""Judges of the crop's box. They read texts of words and bins, or of words and pairs of bins (crop_boxes.py)."""
BINS = 5
"""Bins of each measure of a box."""
KINDS = (
    "within", "removed", "unrefined", "siblings", "transfer", "corpus", "crop box", "sets of the corpus",
    "sets of the build", "replay", "replay with the key", "control",
)  # fmt: skip
"""Kinds of judges, in the order of the table."""
COLUMNS = ["image_id", "caption", "hard_negatives", *BOX_COLUMNS]
State = Literal["before", "after"]
STATES: tuple[State, ...] = ("before", "after")
Row = dict[str, Any]
Scores = dict[str, np.ndarray]
"""Scores (N, K) by name of a judge."""
Hits = dict[str, np.ndarray]
"""Recall@1 (N) by name of a judge."""


@dataclass(frozen=True)
class Build:
    """The balanced sets of a world by config."""

    unrefined: dict[str, RetrievalSets] = field(default_factory=dict)
    kept: dict[str, np.ndarray] = field(default_factory=dict)
    """Boolean masks (N) of the rows that refinement keeps."""
    bins: dict[str, list[list[str]]] = field(default_factory=dict)
    """Bins of the box of each row (crop_boxes.py)."""

    def write_boxes(self, pairs: bool) -> Build:
        """Return the build with texts of words and bins, or of words and pairs of bins, for captions."""
        texts: dict[str, RetrievalSets] = {}
        for config, sets in self.unrefined.items():
            bins_by_row = self.bins[config]
            if pairs:
                bins_by_row = [pair_bins(bins) for bins in bins_by_row]
            captions = [
                write_bins(of_row, bins)
                for of_row, bins in zip(sets.captions, bins_by_row, strict=True)
            ]
            texts[config] = replace(sets, captions=captions)
        return replace(self, unrefined=texts)

    def select(self, state: State) -> dict[str, RetrievalSets]:
        """Return the sets before or after refinement."""
        if state == "before":
            return self.unrefined
        return {config: sets.select(self.kept[config]) for config, sets in self.unrefined.items()}


@dataclass(frozen=True)
class Case:
    """A set of a world, and what its reader may be trained on."""

    world: int
    config: str
    state: State
    sets: RetrievalSets
    unrefined: RetrievalSets
    kept_N: np.ndarray
    """Boolean mask of the rows of ``unrefined`` that are in ``sets``."""
    siblings: RetrievalSets
    """The other balanced sets of the build with as many candidates, in the same state."""
    other_worlds: RetrievalSets
    """The unrefined sets of this config in the other worlds."""
    of_corpus: Sequence[RetrievalSets]
    """The other balanced sets of the corpus. Those of productivity are sets of each corpus."""
    of_build: Sequence[RetrievalSets]
    """The other balanced sets of the build."""
    box_cases: Mapping[str, Case] = field(default_factory=dict)
    """The same case with texts of words and bins instead of captions, by what the texts have."""


def read_rows(folder: Path) -> list[Row]:
    """Return the rows of all splits of a config, without pixels."""
    return [
        row
        for path in sorted(folder.glob("*.parquet"))
        for row in parquet.read_table(path, COLUMNS).to_pylist()
    ]


def make_key(world: int, row: Row) -> tuple[str, tuple[str, ...]]:
    """Return the image and the candidates of a row. Worlds have the same image ids."""
    return f"{world} {row['image_id']}", (row["caption"], *row["hard_negatives"])


def read_builds(refined: Sequence[Path], unrefined: Sequence[Path]) -> list[Build]:
    """Return the balanced sets of each world. All have the same bins of boxes; crops of productivity are larger.

    Raises ValueError if the folders do not belong together.
    """
    if len(refined) != len(unrefined):
        raise ValueError(
            f"--unrefined: {len(unrefined)} folders, expected {len(refined)}, one of each world."
        )
    builds = [Build() for _ in refined]
    rows = {
        (world, path.name): read_rows(path)
        for world, folder in enumerate(unrefined)
        for path in sorted(folder.glob("*_balanced"))
    }
    for of_systematicity in (True, False):
        keys = [key for key in rows if bool(parse_systematicity(key[1])) == of_systematicity]
        boxes = [[row[column] for column in BOX_COLUMNS] for key in keys for row in rows[key]]
        bins = iter(bin_boxes(boxes, BINS))
        for world, config in keys:
            found = [make_key(world, row) for row in rows[world, config]]
            kept = {make_key(world, row) for row in read_rows(refined[world] / config)}
            if foreign := len(kept.difference(found)):
                raise ValueError(
                    f"{refined[world] / config}: {foreign} rows are not in {unrefined[world] / config}. "
                    "Build both with the same code and seed."
                )
            builds[world].unrefined[config] = RetrievalSets(
                [captions for _, captions in found],
                [image for image, _ in found],
            )
            builds[world].bins[config] = [next(bins) for _ in found]
            builds[world].kept[config] = np.array([key in kept for key in found], dtype=bool)
    return builds


def list_cases(builds: Sequence[Build]) -> Iterator[Case]:
    """Yield each set of each world before and after refinement."""
    of_bins = _list_cases_of_texts([build.write_boxes(pairs=False) for build in builds])
    of_pairs = _list_cases_of_texts([build.write_boxes(pairs=True) for build in builds])
    for case, bins, pairs in zip(_list_cases_of_texts(builds), of_bins, of_pairs, strict=True):
        has_boxes = any(len({*map(tuple, build.bins[case.config])}) > 1 for build in builds)
        yield replace(case, box_cases={"bins": bins, "pairs of bins": pairs} if has_boxes else {})


def _list_cases_of_texts(builds: Sequence[Build]) -> Iterator[Case]:
    """Yield the cases of the texts that the builds have: captions, or words and bins."""
    for (world, build), state in product(enumerate(builds), STATES):
        all_sets = build.select(state)
        for config, sets in all_sets.items():
            others = {name: of for name, of in all_sets.items() if name != config}
            foreign = [of.unrefined[config] for of in builds if of is not build]
            yield Case(
                world=world,
                config=config,
                state=state,
                sets=sets,
                unrefined=build.unrefined[config],
                kept_N=build.kept[config] | (state == "before"),
                siblings=join_sets([of for of in others.values() if of.size == sets.size]),
                other_worlds=join_sets(foreign),
                of_corpus=[
                    others[name] for name in list_of_corpus(config, all_sets) if name in others
                ],
                of_build=[*others.values()],
            )


def list_of_corpus(config: str, configs: Iterable[str]) -> list[str]:
    """Return the configs of the corpus of ``config``, and those of productivity, which belong to each corpus."""
    corpora = [parsed.corpus for name in configs if (parsed := parse_systematicity(name))]
    parsed = parse_systematicity(config)
    corpus = parsed.corpus if parsed else min(corpora, default="")
    return [name for name in configs if name.startswith((f"{corpus}_", "prod_"))]


def name_kind(config: str) -> str:
    """Return a config without its corpus: "sc hnatom", "prod hnneg"."""
    kind = config.partition("_")[2] if parse_systematicity(config) else config
    return kind.removesuffix("_balanced").replace("_", " ")


def score_in_all_ways(case: Case, judges: Mapping[str, Baseline]) -> Iterator[tuple[str, Scores]]:
    """Yield the scores of judges that are trained within the set and, where there are some, on other rows."""
    yield "within", {name: judge(case.sets) for name, judge in judges.items()}
    if not case.kept_N.all():
        masked = replace(case.unrefined, trainable_N=case.kept_N)
        yield (
            "removed",
            {name: score_removed(masked, judge)[case.kept_N] for name, judge in judges.items()},
        )
        yield (
            "unrefined",
            {name: judge(case.unrefined)[case.kept_N] for name, judge in judges.items()},
        )
    for way, score, training in (
        ("siblings", score_by_siblings, case.siblings),
        ("transfer", score_transferred, case.other_worlds),
    ):
        if len(training):
            yield way, {name: score(case.sets, judge, training) for name, judge in judges.items()}


def measure(case: Case, models: Mapping[str, NgramModel], root: Path) -> dict[str, Hits]:
    """Return the Recall@1 (N) of each judge by kind of judges. ``root`` is the folder with the case's ``regions``."""
    judges = {**select_transferable(), "left_out": JUDGES["left_out"].score}
    scores = dict(score_in_all_ways(case, judges))
    scores["corpus"] = {name: score_by_corpus(case.sets, model) for name, model in models.items()}
    scores["crop box"] = {
        f"{way}: {name} of {texts}": score_NK
        for texts, box_case in case.box_cases.items()
        for way, by_name in score_in_all_ways(box_case, BOX_JUDGES)
        for name, score_NK in by_name.items()
    }
    for name, others in (
        ("sets of the corpus", case.of_corpus),
        ("sets of the build", case.of_build),
    ):
        scores[name] = {"n-grams of the image": score_other_sets(case.sets, others)}
    parsed = parse_systematicity(case.config)
    if parsed and "hnatom" in parsed.kind and (root / "regions").exists():
        for name, with_key in (("replay", False), ("replay with the key", True)):
            scores[name] = {name: replay(case.sets, root, parsed, with_key)}
    if case.state == "after":
        mixed = draw_truths(case.sets)
        scores["control"] = {name: judge(mixed) for name, judge in judges.items()}
    return {
        kind: {name: recall_at_1(score_NK) for name, score_NK in of_kind.items()}
        for kind, of_kind in scores.items()
        if of_kind
    }


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
    sets: RetrievalSets, root: Path, parsed: SystematicityConfig, with_key: bool
) -> np.ndarray:
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

    regions = root / "regions"
    seen = Seen.load(root / "seen" / f"{parsed.corpus}.json")
    splits, _, _ = _assign_splits(regions, seen)
    rows = [
        row
        for row in read_compounds(regions, [name == parsed.split for name in splits])
        if row["parts"]
    ]
    unseen = frozenset(Targets.load(regions / "targets.json").compounds) - seen.compounds
    own, foreign = (seen.compounds, unseen) if parsed.split == "sc" else (unseen, seen.compounds)
    nouns = ImageNouns.of_rows(read_captions(regions, ["image_id", "atoms"]))
    stated = SplitCompounds([Compound(**row["compounds"][0]) for row in rows], own, foreign, nouns)
    source_by_key = {(row["image_id"], row["caption"]): row for row in rows}
    score_NK = np.zeros((len(sets), sets.size))
    for number, (image, captions) in enumerate(zip(sets.images, sets.captions, strict=True)):
        image_id = image.partition(" ")[2]
        source = source_by_key[image_id, captions[0]]
        words = list_differing_words(captions)
        for index, (caption, own_words) in enumerate(zip(captions, words, strict=True)):
            candidate = exchange(source, caption, words[0], own_words)
            compound = Compound(**candidate["compounds"][0])
            if not all(
                stated.weigh(compound, part["place"], [part["text"]]) for part in candidate["parts"]
            ):
                continue  # no caption of the split may state this compound, so that it has no draw
            key = source["draw_key"] if with_key else f"{image_id}:{caption}"
            drawn = replace_one_atom(candidate, stated, Random(f"{key}:{parsed.kind}"))
            made = {foil.replacement for item in drawn for foil in item.foils}
            score_NK[number, index] = len(made & set.union(*words))
    return score_NK


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
    return replace(sets, captions=captions)


@dataclass
class Pool:
    """The results of the sets of one kind, over all worlds and corpora."""

    chance: float
    images: list[str] = field(default_factory=list)
    """The image of each row."""
    hits: dict[str, dict[str, list[np.ndarray]]] = field(default_factory=dict)
    """Recall@1 of each set by kind of judges and judge."""

    def add(self, images: Sequence[str], hits: Mapping[str, Hits]) -> None:
        self.images += images
        for kind, of_kind in hits.items():
            for name, hit_N in of_kind.items():
                self.hits.setdefault(kind, {}).setdefault(name, []).append(hit_N)

    def choose_best(self, kind: str) -> Best | None:
        """Return the best judge of a kind over all rows, or None if a set has none of this kind."""
        hits = {name: np.concatenate(parts) for name, parts in self.hits.get(kind, {}).items()}
        complete = {name: hit_N for name, hit_N in hits.items() if len(hit_N) == len(self.images)}
        if not complete:
            return None
        name = max(complete, key=lambda key: complete[key].mean())
        low, high = compute_share_interval(complete[name], self.images)
        return Best(name, float(complete[name].mean()), low, high, self.chance)


class Best(NamedTuple):
    """The best judge of a kind."""

    name: str
    share: float
    low: float
    high: float
    chance: float

    def __str__(self) -> str:
        text = f"{100 * self.share:.1f} ({100 * self.low:.1f} to {100 * self.high:.1f})"
        return f"**{text}**" if self.low > self.chance + MARGIN else text


def pool_results(
    cases: Sequence[Case], results: Iterable[Mapping[str, Hits]]
) -> dict[tuple[str, State], Pool]:
    """Return the results by kind of sets and state."""
    pools: dict[tuple[str, State], Pool] = {}
    for case, hits in zip(cases, results, strict=True):
        key = name_kind(case.config), case.state
        pools.setdefault(key, Pool(case.sets.chance)).add(case.sets.images, hits)
    return pools


def format_table(pools: Mapping[tuple[str, State], Pool]) -> Iterator[str]:
    """Yield the lines of a markdown table with the best judge of each kind."""
    yield f"| {' | '.join(('set', 'refinement', 'rows', 'chance', *KINDS))} |"
    yield f"|{' --- |' * (len(KINDS) + 4)}"
    for (name, state), pool in sorted(
        pools.items(), key=lambda item: (item[0][0], STATES.index(item[0][1]))
    ):
        best = [pool.choose_best(kind) for kind in KINDS]
        cells = [name, state, f"{len(pool.images):,}", f"{100 * pool.chance:.1f}"]
        yield f"| {' | '.join([*cells, *(str(of) if of else '' for of in best)])} |"


def share_images(sets: Sequence[RetrievalSets]) -> float:
    """Return the largest share of its rows that each set can keep if an image belongs to one set only.

    A linear program gives each image to sets in part, so that the share is an upper bound.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    rows_by_pair = Counter((number, image) for number, of in enumerate(sets) for image in of.images)
    places = {image: place for place, image in enumerate(sorted({*chain_images(sets)}))}
    pairs = [*rows_by_pair]
    columns = np.arange(len(pairs))
    image_P = np.array([places[image] for _, image in pairs])
    set_P = np.array([number for number, _ in pairs])
    kept_P = np.array([rows_by_pair[pair] / len(sets[pair[0]]) for pair in pairs])
    shape = len(places) + len(sets), len(pairs) + 1
    constraint = csr_matrix(
        (
            np.concatenate([np.ones(len(pairs)), -kept_P, np.ones(len(sets))]),
            (
                np.concatenate([image_P, len(places) + set_P, len(places) + np.arange(len(sets))]),
                np.concatenate([columns, columns, np.full(len(sets), len(pairs))]),
            ),
        ),
        shape=shape,
    )
    prices = np.append(np.zeros(len(pairs)), -1.0)
    limits = np.append(np.ones(len(places)), np.zeros(len(sets)))
    result = linprog(prices, A_ub=constraint, b_ub=limits, bounds=(0, 1), method="highs")
    assert result.status == 0, result.message
    return float(result.x[-1])


def chain_images(sets: Iterable[RetrievalSets]) -> Iterator[str]:
    return (image for of in sets for image in of.images)


def describe_shares(builds: Sequence[Build]) -> Iterator[str]:
    """Yield a line of each world: the share of the rows that sets keep if they share no image."""
    for world, build in enumerate(builds):
        sets = build.select("after")
        for title, configs in (
            ("all sets of the build", [*sets]),
            *(
                (f"the sets of {corpus}", list_of_corpus(f"{corpus}_sc_hnatom", sets))
                for corpus in CORPORA
                if any(name.startswith(f"{corpus}_") for name in sets)
            ),
        ):
            share = share_images([sets[name] for name in configs])
            yield f"world {world}: {title} ({len(configs)}) keep at most {share:.1%} of their rows."


def main(
    folders: list[Path],
    unrefined: Annotated[list[Path], typer.Option()],
    corpus: Path | None = None,
    column: int = 0,
    only: str = "",
    only_after: bool = False,
    workers: int = 2,
) -> None:
    """Print what solves the balanced sets in FOLDERS, the parts/crepe of one or more worlds.

    With --only, sets whose names contain a text are judged, with knowledge of all; with
    --only-after, those after refinement.
    """
    from compeval.base.readers.corpora import list_shards, read_captions

    shards = list_shards(str(corpus)) if corpus else []
    captions = [text for shard in shards for text in read_captions(shard, column)]
    models = train_corpus_models(captions, (1, 2, 3)) if captions else {}
    builds = read_builds(folders, unrefined)
    cases = [
        case
        for case in list_cases(builds)
        if only in case.config and (case.state == "after" or not only_after)
    ]
    roots = [folders[case.world].parent.parent for case in cases]
    with ProcessPoolExecutor(workers) as pool:
        results = [*pool.map(measure, cases, [models] * len(cases), roots)]
    pools = pool_results(cases, results)
    print("\n".join(format_table(pools)), flush=True)
    for (name, state), pool_of_kind in pools.items():
        for kind in KINDS:
            if best := pool_of_kind.choose_best(kind):
                typer.echo(f"{name}, {state}, {kind}: {best.name}, {best}", err=True)
    print("\n" + "\n".join(describe_shares(builds)))


if __name__ == "__main__":
    typer.run(main)
