"""``compeval split``: divide a test set by what a training corpus contains."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from compeval.cli.console import check_writable, print_message, print_records
from compeval.cli.options import Data, Format

if TYPE_CHECKING:
    from compeval.base.readers.corpora import Shard
    from compeval.loaders.corpus_splits import Division


def split(
    name: Annotated[
        str,
        typer.Argument(
            help="Name or folder of a dataset with captions: a published one, or one of "
            "`compeval make`."
        ),
    ],
    corpus: Annotated[
        list[str],
        typer.Option(
            help="Files of the training corpus, as a glob: parquet, csv, tsv, jsonl, txt or "
            "webdataset shards. Repeatable."
        ),
    ],
    corpus_column: Annotated[
        str,
        typer.Option(
            help="Name of its caption column, or its position (from 0) in a table without a header."
        ),
    ] = "caption",
    output: Annotated[
        str | None,
        typer.Option(
            help="Name of the derived dataset, which is written next to the divided one. "
            "Default: NAME_split."
        ),
    ] = None,
    compounds: Annotated[
        Literal["all", "ao", "oro"],
        typer.Option(
            help="Compounds that count: all, ao (an attribute and its object: bindings) or oro "
            "(two objects and their relation)."
        ),
    ] = "all",
    parse_all: Annotated[
        bool,
        typer.Option(
            "--parse-all",
            help="Parse all captions of the corpus, once, and store all that it contains. Every "
            "further set is then divided without reading the corpus.",
        ),
    ] = False,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    data: Data = None,
    output_format: Format = "table",
) -> None:
    """Divide a test set into rows whose compounds a training corpus contains (sc), and does not contain (uc, ua).

    The derived dataset has the splits sc, uc and ua, which `compeval run` evaluates like all others, at no cost for a
    model that was run on the whole set: its features are cached. What was found out about the corpus is stored in the
    cache: for another set, only what is not known yet is searched for.

    Example: `compeval split sugarcrepe --corpus 'cc3m/*.tsv' --corpus-column caption`, then `compeval run MODEL
    --task 'sugarcrepe_split/*'`.
    """
    from compeval.base.readers.corpora import list_shards
    from compeval.generators.seen_analysis.stored import Corpus
    from compeval.loaders import corpus_splits
    from compeval.loaders.datasets.folders import resolve_folder

    source = resolve_folder(name, data)
    _check_language(source.name)
    target = output or f"{source.name}_split"
    _check_target(source, target)
    shards: list[Shard] = [shard for pattern in corpus for shard in list_shards(pattern)]
    column = int(corpus_column) if corpus_column.isdecimal() else corpus_column
    division = corpus_splits.divide(
        source,
        target,
        Corpus(tuple(shards), column, workers),
        kinds=compounds,
        parse_all=parse_all,
    )
    records = [
        {"config": label, "rows": counts.total()}
        | {kind: counts[kind] for kind in corpus_splits.CLASSES}
        for label, counts in division.rows.items()
    ]
    rows = [
        {key: value if isinstance(value, str) else f"{value:,}" for key, value in record.items()}
        for record in records
    ]
    print_records(output_format, rows, records)
    _describe(division)


def _describe(division: Division) -> None:
    found = division.result
    targets = division.targets
    print_message(
        f"The corpus ({found.captions:,} captions) contains {len(found.seen.atoms):,} of {len(targets.atoms):,} atoms "
        f"and {len(found.seen.compounds):,} of {len(targets.compounds):,} compounds of the captions."
    )
    if found.searched:
        print_message(f"{found.searched:,} of them were searched for; the others were known.")
    else:
        print_message("All of them were known: the corpus was not read.")
    if found.failed or found.skipped:
        print_message(
            f"{found.failed:,} captions of the corpus have no parse, {found.skipped:,} rows no readable caption."
        )
    folder = division.folder
    print_message(
        f"{folder}: evaluate it with `compeval run MODEL --data {folder.parent} --task '{folder.name}/*'`."
    )


def _check_language(dataset: str) -> None:
    """Raise ValueError for a published set without English captions, which the parser cannot read."""
    from compeval.loaders import benchmarks

    if dataset in benchmarks.list_names() and "en" not in benchmarks.load(dataset).languages:
        raise ValueError(f"{dataset}: its captions are not in English, the language of the parser.")


def _check_target(source: Path, target: str) -> None:
    """Raise ValueError if a name cannot be that of a derived dataset, or if the folder is another dataset's."""
    from compeval.loaders.datasets.stats import read_stats
    from compeval.loaders.user_files import check_dataset_name

    check_dataset_name(target)
    check_writable(source.parent / target, "--output")
    folder = source.parent / target
    if not (folder / "stats.json").is_file():
        return
    stats: dict[str, Any] = read_stats(folder)
    if "divided" not in stats.get("corpus", {}) or stats.get("source") != source.name:
        raise ValueError(f"{folder} is another dataset. Choose another name with --output.")
