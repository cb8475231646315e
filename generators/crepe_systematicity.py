"""CREPE systematicity: region captions with atomic and compound hard negatives, split by what a corpus has seen.

    python -m generators.crepe_systematicity regions     # once: regions/*.parquet and regions/targets.json
    python -m generators.crepe_systematicity CORPUS      # with seen/CORPUS.json: the configs crepe/CORPUS_*

Source: CREPE (arXiv:2212.07796), sections 3.2 and 4.1, appendix A.5 and A.6. Configs: ``{sc,uc}_hnatom`` (4 negatives,
chance of R@1 1/5), ``{sc,uc}_hncomp`` (6, 1/7), ``{sc,uc}_hnall`` (both, 1/11), ``{sc,uc,ua}_raw``. Differs from it in:
a caption's negatives are made once, so that it has the same ones in every corpus' sets.

Only captions of one compound get negatives. One with too few for a set is left out of that set and stays in raw.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from generators.graphs.vocabulary import Vocabulary
from generators.hard_negatives.foils import HardNegative, atom_foils, comp_foils
from generators.hard_negatives.plausibility import CorpusStatistics, MaskedLM, Ranker, best
from generators.hard_negatives.rejections import NONE_REJECTED, Rejections
from generators.readers.annotations import Annotations
from generators.schemas.annotated_image import AnnotatedImage
from generators.schemas.rows import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA, Pixels, pixels_of
from generators.schemas.scene_graph import Atom, Compound, SceneGraph
from generators.seen_analysis.regions import Candidate, RegionReader, candidates
from generators.seen_analysis.splits import Funnel, Split, crop_fault, normalize_caption, split_of
from generators.seen_analysis.targets import Targets
from generators.storage import parquet, stage
from generators.storage.atomic import atomic_folder, write_json
from generators.storage.dataset import pixels_asked, raw_row, write_config, write_split
from generators.storage.params import block, reading
from generators.storage.workers import map_with

NEGATIVES = {"hnatom": 4, "hncomp": 6}
"""Hard negatives of each kind for one caption (appendix, Table 6: sets of 5 and 7)."""
STATISTICS = "statistics"
"""The ranker that needs no weights; any other name is a masked language model's."""

_negatives = pa.list_(
    pa.struct([("caption", pa.string()), ("foils", HARD_NEGATIVE_SCHEMA.field("foils").type.value_type)])
)
REGION_SCHEMA = RAW_SCHEMA.append(pa.field("hnatom", _negatives)).append(pa.field("hncomp", _negatives))
"""A raw row with the caption's negatives of each kind, or none where there are too few."""


class Foiler(NamedTuple):
    """What makes and ranks the negatives of a caption; ``provenance`` goes into its row."""

    vocabulary: Vocabulary
    ranker: Ranker
    provenance: Mapping[str, Any]
    rejections: Rejections = NONE_REJECTED


def region_rows(foiler: Foiler, found: list[Candidate]) -> list[dict[str, Any]]:
    """The REGION_SCHEMA rows of one image's candidates."""
    rows = []
    for image, region, parse, facts in found:
        row = raw_row(image.path, image.image_id, region.box, parse.caption, parse.graph, foiler.provenance)
        rejected = foiler.rejections.texts(image, region.box)
        for kind, make in (("hnatom", atom_foils), ("hncomp", comp_foils)):
            one = len(parse.graph.compounds) == 1
            made = make(parse, facts, foiler.vocabulary) if one else []
            chosen = best(made, NEGATIVES[kind], foiler.ranker, rejected)
            row[kind] = [_to_row(negative) for negative in chosen or ()]
        rows.append(row)
    return rows


def _to_row(negative: HardNegative) -> dict[str, Any]:
    return {
        "caption": negative.caption,
        "foils": [{"type": foil.type, "from": foil.original, "to": foil.replacement} for foil in negative.foils],
    }


class Seen(NamedTuple):
    """What a corpus has of the test set's atoms and compounds."""

    atoms: frozenset[Atom]
    compounds: frozenset[Compound]

    @classmethod
    def load(cls, path: Path) -> Seen:
        if not path.exists():
            raise FileNotFoundError(
                f"{path}: not found. Run `python -m generators.seen_analysis.seen {path.stem}` first."
            )
        data = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            frozenset(Atom(*item) for item in data["atoms"]), frozenset(Compound(*item) for item in data["compounds"])
        )

    def split_of(self, row: Mapping[str, Any]) -> Split:
        return split_of(_atoms(row), _compounds(row), self.atoms, self.compounds)


def _atoms(row: Mapping[str, Any]) -> list[Atom]:
    return [Atom(**atom) for atom in row["atoms"]]


def _compounds(row: Mapping[str, Any]) -> list[Compound]:
    return [Compound(**compound) for compound in row["compounds"]]


def raw_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    return ({name: value for name, value in row.items() if name not in NEGATIVES} for row in rows)


def hard_negative_rows(rows: Iterable[Mapping[str, Any]], kinds: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows that have negatives of every one of ``kinds``, with those negatives."""
    for row in rows:
        if all(row[kind] for kind in kinds):
            negatives = [negative for kind in kinds for negative in row[kind]]
            (raw,) = raw_rows([row])
            yield raw | {
                "hard_negatives": [negative["caption"] for negative in negatives],
                "foils": [negative["foils"] for negative in negatives],
            }


def configs(
    rows: Callable[[Split], Iterator[Mapping[str, Any]]],
) -> Iterator[tuple[str, Iterator[dict[str, Any]], pa.Schema]]:
    """A corpus' nine configs; ``rows`` gives the regions of a split."""
    for name in ("sc", "uc", "ua"):
        yield f"{name}_raw", raw_rows(rows(name)), RAW_SCHEMA
    for name in ("sc", "uc"):
        for kind, kinds in {**{kind: (kind,) for kind in NEGATIVES}, "hnall": tuple(NEGATIVES)}.items():
            yield f"{name}_{kind}", hard_negative_rows(rows(name), kinds), HARD_NEGATIVE_SCHEMA


def unique(rows: Iterable[Mapping[str, Any]], seen: Seen) -> dict[str, dict[str, int]]:
    """Table 8: distinct atoms, and distinct seen (SC) or unseen (UC) compounds, of the rows with negatives."""
    atoms: dict[str, set[Atom]] = {"sc": set(), "uc": set()}
    compounds: dict[str, set[Compound]] = {"sc": set(), "uc": set()}
    for row in rows:
        name = seen.split_of(row)
        if name != "ua" and any(row[kind] for kind in NEGATIVES):
            atoms[name].update(_atoms(row))
            compounds[name].update(item for item in _compounds(row) if (item in seen.compounds) == (name == "sc"))
    return {name: {"atoms": len(atoms[name]), "compounds": len(compounds[name])} for name in atoms}


def read_rows(
    folder: Path, columns: list[str] | None = None, keep: Sequence[bool] | None = None
) -> Iterator[dict[str, Any]]:
    """The rows of regions/, in constant memory; only those that ``keep`` marks, if it is given."""
    start = 0
    for path in sorted(folder.glob("*.parquet")):
        for batch in parquet.batches(path, 64, columns):
            marked = batch if keep is None else batch.filter(pa.array(keep[start : start + len(batch)], pa.bool_()))
            start += len(batch)
            yield from marked.to_pylist()


def build_regions(
    source: str,
    images: Iterable[AnnotatedImage],
    settings: Mapping[str, Any],
    folder: Path,
    pixels: Pixels = "embedded",
) -> Funnel:
    """Write the regions with their negatives, and the targets of the seen analysis; ``images`` are read three times."""
    workers, spelling = settings["workers"], settings["spelling"]
    vocabulary = Vocabulary.of((image.graph for image in images), settings["at_least"])
    statistics = CorpusStatistics.of(phrases(images)) if settings["ranker"] == STATISTICS else None
    provenance = {"source": source, "captioner": "region description", "seed": 0}
    make_foiler = partial(our_foiler, vocabulary, statistics or settings["ranker"], provenance)
    funnel = Funnel()
    found = candidates(images, partial(RegionReader.make, spelling, settings["parser"]), workers, funnel)
    rows = (row for part in map_with(make_foiler, region_rows, found, workers) for row in part)
    with atomic_folder(folder) as scratch:
        write_split(scratch, "regions", rows, REGION_SCHEMA, pixels)
        graphs = (SceneGraph.from_row(row["scene_graph"]) for row in read_rows(scratch, ["scene_graph"]))
        write_json(scratch / "targets.json", Targets.of(graphs).to_json())
    return funnel


def phrases(images: Iterable[AnnotatedImage]) -> Iterator[str]:
    """The captions that the negatives shall sound like: those of crops of the right size."""
    for image in images:
        for region in image.regions:
            if not crop_fault(region.box, image.width, image.height):
                yield normalize_caption(region.phrase)


def our_foiler(vocabulary: Vocabulary, ranker: CorpusStatistics | str, provenance: Mapping[str, Any]) -> Foiler:
    made = MaskedLM(ranker) if isinstance(ranker, str) else ranker
    return Foiler(vocabulary, made, provenance, Rejections.read())


def build_corpus(corpus: str, regions: Path, seen: Seen, root: Path) -> dict[str, Any]:
    """Write a corpus' configs under ``root``; gives what its card shows besides the counts of rows."""

    splits = [seen.split_of(row) for row in read_rows(regions, ["atoms", "compounds"])]

    def rows(name: Split) -> Iterator[dict[str, Any]]:
        return read_rows(regions, keep=[split == name for split in splits])

    pixels = pixels_of(parquet.read_schema(min(regions.glob("*.parquet"))))
    for config, found, schema in configs(rows):
        write_config(root, f"{corpus}_{config}", {"test": found}, schema, pixels)
    columns = ["atoms", "compounds", *NEGATIVES]
    return {
        "unique": {corpus: unique(read_rows(regions, columns), seen)},
        "funnels": {f"Systematicity, {corpus}": split_funnel(read_rows(regions, columns), seen)},
    }


def split_funnel(rows: Iterable[Mapping[str, Any]], seen: Seen) -> dict[str, int]:
    """How many captions each split has, and how many of them have what the hard-negative sets ask for."""
    counts: Counter[str] = Counter()
    for row in rows:
        name = seen.split_of(row).upper()
        counts[name] += 1
        counts[f"{name} with one compound"] += len(row["compounds"]) == 1
        for kind in NEGATIVES:
            counts[f"{name} with {NEGATIVES[kind]} negatives, {kind}"] += bool(row[kind])
    return dict(sorted(counts.items()))


def main(corpus: str) -> None:
    """Build the regions (CORPUS is "regions") or one corpus' datasets from them."""
    regions, stats = Path("regions"), Path("stats/crepe")
    if corpus != "regions":
        counted = build_corpus(corpus, regions, Seen.load(Path("seen") / f"{corpus}.json"), Path("crepe"))
        write_json(stats / f"systematicity_{corpus}.json", counted)
        return
    source, annotations = block("source"), Path("annotations/visual_genome.parquet")
    settings = block("crepe_systematicity") | reading()
    funnel = build_regions(source, Annotations(annotations), settings, regions, pixels_asked())
    flaws = json.loads(annotations.with_suffix(".json").read_text())["flaws"]
    funnels = {"Systematicity regions": funnel.to_json(), "Flawed records of the source": flaws}
    write_json(stats / "systematicity_regions.json", {"funnels": funnels})


if __name__ == "__main__":
    stage.run(main)
