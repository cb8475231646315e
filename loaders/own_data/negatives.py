"""Hard negatives of a user's own captions, split by what a training corpus contains.

    compeval make mine captions.csv --negatives atom,comp,swap,negation,order --corpus training.tsv

Source: CREPE (arXiv:2212.07796), sections 3.2 and 4; ARO (arXiv:2210.01936) for ``order``. The configs of a kind are
``KIND``, or with a corpus ``sc_KIND`` (the corpus contains all atoms and compounds of the caption) and ``uc_KIND`` (all
atoms, but not all compounds); captions with an unseen atom are counted only. ``atom`` and ``comp`` have a balanced
variant, ``KIND_balanced`` (balanced/compounds.py), of captions with one compound.

Images are streamed: the captions are parsed, the hard negatives are written to a table, the corpus is searched for the
table's atoms and compounds, and the table is divided into the configs. Only counts of words and word pairs are held in
memory, and at most ``MAX_BALANCED`` rows for the balanced sets.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
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
from compeval.generators.hard_negatives.balanced.compounds import make_balanced_negatives
from compeval.generators.hard_negatives.balanced.image_nouns import ImageNouns
from compeval.generators.hard_negatives.hard_negative import HardNegative
from compeval.generators.hard_negatives.own.kinds import SIZES
from compeval.generators.hard_negatives.own.language_model import LanguageModel, Texts
from compeval.generators.seen_analysis.engines import make_engine
from compeval.generators.seen_analysis.seen import analyse, code_version
from compeval.generators.seen_analysis.shards import Search
from compeval.generators.seen_analysis.splits import Seen, choose_split
from compeval.generators.seen_analysis.targets import Targets
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

BALANCED_KINDS = {"atom": "hnatom_balanced", "comp": "hncomp_balanced"}
"""Kinds with a balanced variant, and its name in balanced/compounds.py."""
MAX_BALANCED = 20_000
"""Captions from which the balanced sets are made: those of all images, or of a random sample of them."""
SPLITS = {"": "", "sc": "uc", "uc": "sc"}
"""The split of a config, and the split whose compounds its balanced foils do not make."""


@dataclass
class Made:
    """What was read and made, for the card."""

    counts: Counter[str] = field(default_factory=Counter)
    proven: dict[str, float | None] = field(default_factory=dict)
    """Share of proven negatives by config; None for shuffles, which state nothing."""
    corpus: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self, options: NegativeOptions) -> dict[str, Any]:
        return {
            "kinds": [*options.kinds],
            "counts": dict(self.counts),
            "proven": self.proven,
            "corpus": self.corpus,
        }


def write_configs(
    entries: Iterable[Entry],
    folder: Path,
    scratch: Path,
    options: NegativeOptions,
    provenance: Mapping[str, Any],
) -> dict[str, Any]:
    """Write all configs of a dataset folder; return the counts for its card. ``scratch`` is a folder for tables."""
    shards, made, store = options.list_shards(), Made(), ImageStore(folder)
    annotated, table, own = (
        scratch / f"{name}.parquet" for name in ("annotated", "captions", "own")
    )
    rows, flaws = Rows(folder.name, provenance), Flaws()
    images = read_images(entries, read_graphs(options.graphs, flaws), store, made.counts)
    with closing(Spool(own, CHOICE_SCHEMA)) as foils:

        def keep_own_negatives() -> Iterator[AnnotatedImage]:
            for image in images:
                foils.add(rows.make_own(image))
                yield image.annotated

        parsed = parse_images(keep_own_negatives(), options.workers, made.counts)
        parsed = options.track(parsed, "Parsing captions of images")
        write_table(annotated, ANNOTATION_SCHEMA, (image.to_row() for image in parsed))
    flaws.print("scene graphs")
    made.counts.update(
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
    _write_table(table, annotated, rows, options, made)
    if options.model:
        table = _apply_model(options.model, table, scratch / "judged.parquet", options, made.counts)
    splits = assign_splits(table, shards, options, made)
    for kind in options.kinds:
        _write_kind(folder, table, kind, splits, made)
    for kind in (kind for kind in BALANCED_KINDS if kind in options.kinds):
        _write_balanced(folder, table, kind, splits, options, made)
    return made.to_json(options)


def _write_table(
    table: Path, annotated: Path, rows: Rows, options: NegativeOptions, made: Made
) -> None:
    """Write the table of all captions with their negatives."""
    images, counts = Annotations(annotated), made.counts
    counts["negatives that people judged true"] = sum(map(len, options.rejected.values()))
    nouns = list_annotated_nouns(options.graphs)
    maker = make_foil_maker(images, options.kinds, counts, options.rejected, nouns)
    is_balanced = not BALANCED_KINDS.keys().isdisjoint(options.kinds)
    share = min(1.0, MAX_BALANCED / max(counts["captions"], 1)) if is_balanced else 0.0
    captions = make_captions(images, maker, rows, share, options.workers)
    captions = options.track(captions, "Hard negatives of images", counts["images"])
    write_table(table, TABLE_SCHEMA, chain.from_iterable(captions))
    counts["captions with distinct atoms"] = parquet.count_rows(table)


def _apply_model(
    model: LanguageModel, table: Path, judged: Path, options: NegativeOptions, counts: Counter[str]
) -> Path:
    """Write the table with the negatives that a language model wrote, and without those that it judges to be true."""
    kinds, rejected = [kind for kind in options.kinds if kind in SIZES], options.rejected
    if options.max_cost is not None:
        pairs = [(row[kind], _make_texts(row, kind)) for row in read_table(table) for kind in kinds]
        texts = [texts for _, texts in pairs]
        outcomes = model.ask(
            texts, [[item["caption"] for item in made] for made, _ in pairs], options.max_cost
        )
        counts.update(
            {f"requests to the language model: {name}": number for name, number in outcomes.items()}
        )

    def rewrite() -> Iterator[Row]:
        for row in read_table(table):
            true = rejected.get(row["crop_id"], frozenset())
            for kind in kinds:
                texts, by_rules = (
                    _make_texts(row, kind),
                    {item["caption"]: item for item in row[kind]},
                )
                written = [text for text in model.list_written(texts) if text not in true]
                kept = list(model.drop_true(texts, written, needs_verdict=True))
                rules = list(model.drop_true(texts, by_rules, needs_verdict=False))
                counts["negatives that the language model judged true, or could not judge"] += (
                    len(written) + len(by_rules) - len(kept) - len(rules)
                )
                if is_written := len(kept) >= texts.size:
                    row[kind] = [
                        describe(HardNegative(text, ()), False) for text in kept[: texts.size]
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
    table: Path, shards: Sequence[Shard], options: NegativeOptions, made: Made
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
    found = [targets.items[index] for index in result.counts]
    seen = Seen(
        frozenset(item for item in found if isinstance(item, Atom)),
        frozenset(item for item in found if isinstance(item, Compound)),
    )
    splits: list[str] = []
    for row in read_table(table, ["atoms", "compounds"]):
        atoms, compounds = (
            [Atom(**item) for item in row["atoms"]],
            [Compound(**item) for item in row["compounds"]],
        )
        splits.append(choose_split(atoms, compounds, *seen) if compounds else "no compound")
    made.corpus = {
        "files": sorted({shard.path.name for shard in shards}),
        "captions": result.captions,
        "skipped": result.skipped,
        "atoms": {"all": len(targets.atoms), "seen": len(seen.atoms)},
        "compounds": {"all": len(targets.compounds), "seen": len(seen.compounds)},
        "splits": dict(Counter(splits)),
    }
    return splits


def _write_kind(folder: Path, table: Path, kind: str, splits: Sequence[str], made: Made) -> None:
    """Write the configs of a kind: one for each split that has captions with these negatives."""
    counts = Counter(
        split for split, row in zip(splits, read_table(table, [kind]), strict=True) if row[kind]
    )
    for split in (split for split in SPLITS if counts[split]):
        pairs = zip(splits, read_table(table), strict=True)
        selected = (
            make_row(row, kind, row[kind]) for name, row in pairs if name == split and row[kind]
        )
        _write(folder, f"{split}_{kind}".lstrip("_"), selected, made)


def _write_balanced(
    folder: Path,
    table: Path,
    kind: str,
    splits: Sequence[str],
    options: NegativeOptions,
    made: Made,
) -> None:
    """Write the balanced configs of a kind: one for each split that has captions with such negatives."""
    columns = ["image_id", "crop_id", "caption", "atoms", "compounds", "parts", "draw_key"]
    pairs = zip(splits, read_table(table, columns), strict=True)
    rows = {
        split: [row for name, row in pairs if name == split and row["parts"]] for split in SPLITS
    }
    nouns = ImageNouns.of_rows(chain.from_iterable(rows.values()))
    compounds = {
        split: {Compound(**row["compounds"][0]) for row in members}
        for split, members in rows.items()
    }
    for split, others in SPLITS.items():
        outside = compounds[others] - compounds[split]
        negatives = make_balanced_negatives(
            rows[split],
            BALANCED_KINDS[kind],
            compounds[split],
            nouns,
            outside,
            options.rejected,
            options.refine,
        )
        keys = [(row["crop_id"], row["caption"]) for row in rows[split]]
        by_caption = {key: items for key, items in zip(keys, negatives, strict=True) if items}
        if by_caption:
            _write(
                folder, f"{split}_{kind}_balanced".lstrip("_"), _join(table, kind, by_caption), made
            )


def _join(
    table: Path, kind: str, by_caption: Mapping[tuple[str, str], Sequence[Row]]
) -> Iterator[Row]:
    """Yield the rows of the captions with balanced negatives."""
    for row in read_table(table):
        if items := by_caption.get((row["crop_id"], row["caption"])):
            proven = [any(foil["type"] != "object" for foil in item["foils"]) for item in items]
            marked = [
                {**item, "proven": is_proven} for item, is_proven in zip(items, proven, strict=True)
            ]
            yield make_row(row, kind, marked)


def _write(folder: Path, config: str, rows: Iterable[Row], made: Made) -> None:
    """Write a config, and count its proven negatives."""
    proven = Counter[bool | None]()

    def count() -> Iterator[Row]:
        for row in rows:
            proven.update(row["proven"])
            yield row

    write_config(folder, config, {"test": count()}, OWN_SCHEMA)
    judged = proven[True] + proven[False]
    made.proven[config] = proven[True] / judged if judged else None
