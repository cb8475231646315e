"""Hard negatives of a user's own captions, split by what a training corpus contains.

    compeval make mine captions.csv --negatives atom,comp,swap,negation,order --corpus training.tsv

Source: CREPE (arXiv:2212.07796), sections 3.2 and 4; ARO (arXiv:2210.01936) for ``order``. The configs of a kind are
``KIND``, or with a corpus ``sc_KIND`` (the corpus contains all atoms and compounds of the caption) and ``uc_KIND`` (all
atoms, but not all compounds); captions with an unseen atom are counted only. ``atom`` and ``comp`` have a balanced
variant, ``KIND_balanced`` (balanced/compounds.py), of captions with one compound.

Images are streamed: the captions are parsed, the hard negatives are written to a table, the corpus is searched for the
table's atoms and compounds, and the table is divided into the configs. Only counts of words and word pairs are held in
memory, and the texts of at most ``MAX_ROWS`` rows for the balanced sets.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from compeval.base.files.cache_folder import cache_folder
from compeval.base.readers.annotations import Annotations
from compeval.base.readers.corpora import Shard
from compeval.base.readers.records import Flaws
from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.rows import ANNOTATION_SCHEMA, CHOICE_SCHEMA, RETRIEVAL_SCHEMA
from compeval.base.schemas.scene_graph import Atom, Compound, SceneGraph
from compeval.base.storage import parquet
from compeval.base.storage.dataset import write_config
from compeval.base.text_only.baselines import RetrievalSets
from compeval.generators.hard_negatives.hard_negative import HardNegative
from compeval.generators.hard_negatives.own.kinds import NEGATION, ORDER, SIZES
from compeval.generators.hard_negatives.own.language_model import LanguageModel, Texts
from compeval.generators.seen_analysis.engines import make_engine
from compeval.generators.seen_analysis.seen import analyse, code_version
from compeval.generators.seen_analysis.shards import Search
from compeval.generators.seen_analysis.splits import Seen, choose_split
from compeval.generators.seen_analysis.targets import Targets
from compeval.loaders.own_data.balanced import (
    MAX_ROWS,
    MeasuredBaseline,
    find_best_baseline,
    select_balanced,
)
from compeval.loaders.own_data.captions import make_captions, make_foil_maker, parse_images
from compeval.loaders.own_data.entries import Entry
from compeval.loaders.own_data.graphs import list_annotated_nouns, read_graphs
from compeval.loaders.own_data.images import ImageStore, read_images
from compeval.loaders.own_data.options import NegativeOptions
from compeval.loaders.own_data.rows import (
    OWN_SCHEMA,
    TABLE_SCHEMA,
    Row,
    Rows,
    Spool,
    describe,
    make_row,
    read_table,
    write_table,
)

SPLITS = ("", "sc", "uc")


@dataclass
class BuildCounts:
    """Counts of the captions read and the sets made, for the card."""

    counts: Counter[str] = field(default_factory=Counter)
    proven: dict[str, float | None] = field(default_factory=dict)
    """Share of proven negatives by config; None for shuffles, which state nothing."""
    corpus: Mapping[str, Any] = field(default_factory=dict)
    kinds: dict[str, Mapping[str, int]] = field(default_factory=dict)
    """The number of captions without negatives of a kind, by reason."""
    baselines: dict[str, MeasuredBaseline] = field(default_factory=dict)
    """The best text-only baseline of each config."""
    unbalanced: dict[str, str] = field(default_factory=dict)
    """Config without a balanced variant -> the reason."""

    def to_json(self, options: NegativeOptions) -> dict[str, Any]:
        return {
            "kinds": [*options.kinds],
            "counts": dict(self.counts),
            "proven": self.proven,
            "corpus": self.corpus,
            "reasons": self.kinds,
            "baselines": {name: best._asdict() for name, best in self.baselines.items()},
            "unbalanced": self.unbalanced,
        }


def write_configs(
    entries: Iterable[Entry],
    folder: Path,
    scratch: Path,
    options: NegativeOptions,
    provenance: Mapping[str, Any],
) -> dict[str, Any]:
    """Write all configs of a dataset folder; return the counts for its card. ``scratch`` is a folder for tables."""
    shards = options.list_shards()
    build = BuildCounts()
    store = ImageStore(folder)
    annotated, table, own = (
        scratch / f"{name}.parquet" for name in ("annotated", "captions", "own")
    )
    rows = Rows(folder.name, provenance)
    flaws = Flaws()
    images = read_images(entries, read_graphs(options.graphs, flaws), store, build.counts)
    with closing(Spool(own, CHOICE_SCHEMA)) as foils:

        def keep_own_negatives() -> Iterator[AnnotatedImage]:
            for image in images:
                foils.add(rows.make_own(image))
                yield image.annotated

        parsed = parse_images(keep_own_negatives(), options.workers, build.counts)
        parsed = options.track(parsed, "Parsing captions of images")
        write_table(annotated, ANNOTATION_SCHEMA, (image.to_row() for image in parsed))
    flaws.print("scene graphs")
    build.counts.update(
        {f"scene graphs: {kind}": count for kind, count in sorted(flaws.counts.items())}
    )
    store.write_hashes()
    write_config(
        folder,
        "captions",
        {"test": map(rows.make_retrieval, Annotations(annotated))},
        RETRIEVAL_SCHEMA,
    )
    for count in sorted(
        {len(row["hard_negatives"]) for row in read_table(own, ["hard_negatives"])}
    ):
        of_size = (row for row in read_table(own) if len(row["hard_negatives"]) == count)
        write_config(folder, f"foils_{count}", {"test": of_size}, CHOICE_SCHEMA)
    _write_table(table, annotated, rows, options, build)
    _check_language(build.counts)
    if options.model:
        table = _apply_model(
            options.model, table, scratch / "judged.parquet", options, build.counts
        )
    splits = assign_splits(table, shards, options, build)
    for kind in options.kinds:
        build.kinds[kind] = _count_reasons(table, kind)
        for config, sets in _write_kind(folder, table, kind, splits, build).items():
            build.baselines[config] = find_best_baseline(sets)
            if options.refine and kind != ORDER:
                _write_balanced(folder, config, sets, build)
    return build.to_json(options)


def _write_table(
    table: Path, annotated: Path, rows: Rows, options: NegativeOptions, build: BuildCounts
) -> None:
    """Write the table of all captions with their negatives."""
    images = Annotations(annotated)
    counts = build.counts
    counts["negatives that people judged true"] = sum(map(len, options.rejected.values()))
    nouns = list_annotated_nouns(options.graphs)
    maker = make_foil_maker(images, options, nouns)
    captioned = make_captions(images, maker, rows, options.workers)
    captioned = options.track(captioned, "Hard negatives of images", counts["images"])

    def count() -> Iterator[Row]:
        for captions, others in captioned:
            counts.update(others)
            yield from captions

    write_table(table, TABLE_SCHEMA, count())
    counts["captions with distinct atoms"] = parquet.count_rows(table)


def _check_language(counts: Counter[str]) -> None:
    """Raise ValueError if most captions are not English."""
    others = counts["captions that are not English"]
    if 2 * others > counts["captions"]:
        raise ValueError(
            f"--negatives: {others:,} of {counts['captions']:,} captions are not English. Hard negatives are made of "
            "English captions only. Without --negatives, the captions become a set for retrieval."
        )


def _apply_model(
    model: LanguageModel, table: Path, judged: Path, options: NegativeOptions, counts: Counter[str]
) -> Path:
    """Write the table with the negatives that a language model wrote, and without those that it judges to be true."""
    kinds = [kind for kind in options.kinds if kind in SIZES]
    rejected = options.rejected
    if options.max_cost is not None:
        pairs = [(row[kind], _make_texts(row, kind)) for row in read_table(table) for kind in kinds]
        texts = [texts for _, texts in pairs]
        outcomes = model.ask(
            texts,
            [[item["caption"] for item in negatives] for negatives, _ in pairs],
            options.max_cost,
        )
        counts.update(
            {f"requests to the language model: {name}": number for name, number in outcomes.items()}
        )

    def rewrite() -> Iterator[Row]:
        for row in read_table(table):
            true = rejected.get(row["crop_id"], frozenset())
            for kind in kinds:
                texts = _make_texts(row, kind)
                by_rules = {item["caption"]: item for item in row[kind]}
                may_write = kind != NEGATION  # what it writes denies in the negative alone
                usable = model.list_written(texts) if may_write else []
                written = [text for text in usable if text not in true]
                usable_written = list(model.drop_true(texts, written, needs_verdict=True))
                rules = list(model.drop_true(texts, by_rules, needs_verdict=False))
                counts["negatives that the language model judged true, or could not judge"] += (
                    len(written) + len(by_rules) - len(usable_written) - len(rules)
                )
                if is_written := len(usable_written) >= texts.size:
                    row[kind] = [
                        describe(HardNegative(text, ()), False, row["caption"])
                        for text in usable_written[: texts.size]
                    ]
                else:
                    row[kind] = (
                        [by_rules[text] for text in rules] if len(rules) == len(by_rules) else []
                    )
                counts["negatives that the language model wrote"] += is_written * texts.size
            yield row

    write_table(judged, TABLE_SCHEMA, rewrite())
    return judged


def _make_texts(row: Row, kind: str) -> Texts:
    return Texts(row["caption"], tuple(row["captions"]), kind, SIZES[kind])


def assign_splits(
    table: Path, shards: Sequence[Shard], options: NegativeOptions, build: BuildCounts
) -> list[str]:
    """Return the split of each row of the table (``sc``, ``uc`` or ``ua``), or "" without a corpus.

    A caption without a compound is in no split of a corpus.
    """
    if not shards:
        return [""] * parquet.count_rows(table)
    targets = Targets.of(
        SceneGraph.from_row(row["scene_graph"]) for row in read_table(table, ["scene_graph"])
    )
    search = Search(targets, tuple(shards), options.corpus_column, code=code_version())
    result = analyse(search, cache_folder() / "seen", make_engine({"workers": options.workers}))
    seen_items = [targets.items[index] for index in result.counts]
    seen = Seen(
        frozenset(item for item in seen_items if isinstance(item, Atom)),
        frozenset(item for item in seen_items if isinstance(item, Compound)),
    )
    splits: list[str] = []
    for row in read_table(table, ["atoms", "compounds"]):
        atoms = [Atom(**item) for item in row["atoms"]]
        compounds = [Compound(**item) for item in row["compounds"]]
        splits.append(choose_split(atoms, compounds, *seen) if compounds else "no compound")
    build.corpus = {
        "files": sorted({shard.path.name for shard in shards}),
        "captions": result.captions,
        "skipped": result.skipped,
        "atoms": {"all": len(targets.atoms), "seen": len(seen.atoms)},
        "compounds": {"all": len(targets.compounds), "seen": len(seen.compounds)},
        "splits": dict(Counter(splits)),
    }
    return splits


def _count_reasons(table: Path, kind: str) -> dict[str, int]:
    """Return the number of captions without negatives of a kind, by reason, the most frequent first."""
    counts = Counter(
        item["reason"]
        for row in read_table(table, ["reasons"])
        for item in row["reasons"]
        if item["kind"] == kind
    )
    return dict(counts.most_common())


def _write_kind(
    folder: Path, table: Path, kind: str, splits: Sequence[str], build: BuildCounts
) -> dict[str, RetrievalSets]:
    """Write the configs of a kind, one for each split that has captions with these negatives; return their texts."""
    counts = Counter(
        split for split, row in zip(splits, read_table(table, [kind]), strict=True) if row[kind]
    )
    sets: dict[str, RetrievalSets] = {}
    for split in (split for split in SPLITS if counts[split]):
        config = f"{split}_{kind}".lstrip("_")
        pairs = zip(splits, read_table(table), strict=True)
        selected = (make_row(row, row[kind]) for name, row in pairs if name == split and row[kind])
        _write(folder, config, selected, build)
        sets[config] = _read_sets(folder, config)
    return sets


def _read_sets(folder: Path, config: str) -> RetrievalSets:
    columns = ["image_id", "caption", "hard_negatives"]
    rows = [
        row
        for path in sorted((folder / config).glob("*.parquet"))
        for row in islice(read_table(path, columns), MAX_ROWS)
    ]
    captions = [(row["caption"], *row["hard_negatives"]) for row in rows[:MAX_ROWS]]
    return RetrievalSets(captions, [row["image_id"] for row in rows[:MAX_ROWS]])


def _write_balanced(folder: Path, config: str, sets: RetrievalSets, build: BuildCounts) -> None:
    """Write the balanced variant of a config, or note why there is none."""
    keep_N, reason = select_balanced(sets)
    if keep_N is None:
        build.unbalanced[config] = reason
        return
    selected = {
        (image, captions)
        for image, captions, keep in zip(sets.images, sets.captions, keep_N, strict=True)
        if keep
    }
    rows = (
        row
        for path in sorted((folder / config).glob("*.parquet"))
        for row in read_table(path)
        if (row["image_id"], (row["caption"], *row["hard_negatives"])) in selected
    )
    _write(folder, f"{config}_balanced", rows, build)
    build.baselines[f"{config}_balanced"] = find_best_baseline(sets.select(keep_N))


def _write(folder: Path, config: str, rows: Iterable[Row], build: BuildCounts) -> None:
    """Write a config, and count its proven negatives."""
    proven = Counter[bool | None]()

    def count() -> Iterator[Row]:
        for row in rows:
            proven.update(row["proven"])
            yield row

    write_config(folder, config, {"test": count()}, OWN_SCHEMA)
    judged = proven[True] + proven[False]
    build.proven[config] = proven[True] / judged if judged else None
