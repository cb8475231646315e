"""``compeval import``, ``audit``, ``make`` and ``push``: create, check and upload dataset folders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compeval.cli.console import AsJson, Data, DatasetsOutput, echo_json, err, note, out, table

if TYPE_CHECKING:
    from loaders.audit import Audit


def import_(
    files: Annotated[list[Path], typer.Argument(help="Published files, recognised by their names.")],
    images: Annotated[
        Path,
        typer.Option(
            help="Folder of the images, with their original file names. Do not delete it: crops are cut from these "
            "images when they are loaded."
        ),
    ],
    output: DatasetsOutput = Path(),
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Remove differences of case and spacing between captions, and rows without a correct caption.",
        ),
    ] = False,
    skip_missing: Annotated[bool, typer.Option("--skip-missing", help="Drop rows whose image is missing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Import published files of CREPE, ARO, NegCLIP and SugarCrepe as datasets."""
    with err.status("Importing"):
        from loaders.benchmarks.importing import import_files

        imported = import_files(files, images, output, repair=repair, skip_missing=skip_missing)
    if as_json:
        echo_json([file.to_json() for file in imported])
        return
    shown = table("file", "tasks", "rows read", "written", "dropped", "repaired")
    for file in imported:
        tasks = "\n".join(f"{file.family}/{split}".removesuffix("/test") for split in file.written)
        dropped, repaired = (
            "\n".join(f"{count:,} {reason}" for reason, count in counts.items() if count) or "0"
            for counts in (file.dropped, file.repaired)
        )
        shown.add_row(file.file, tasks, f"{file.read:,}", f"{sum(file.written.values()):,}", dropped, repaired)
    out.print(shown)


def audit(
    targets: Annotated[list[str], typer.Argument(help="Names or folders of datasets, or published files.")],
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Count flaws of hard negatives and measure how often simple text-only rules select the correct caption."""
    from loaders.audit import CUES, FLAW_NAMES, ROW_FLAW_NAMES

    audits: dict[str, Audit] = {}
    for target in targets:
        for name, result in _audit_target(target, data).items():
            audits[name if name not in audits else f"{target}: {name}"] = result
    if as_json:
        echo_json({name: result.to_json() for name, result in audits.items()})
        return
    flaws = table("set", "rows", "negatives", *FLAW_NAMES)
    flaws.columns[0].no_wrap = True
    cues = table("set", "chance", *CUES, "negation words only in negatives")
    for name, result in audits.items():
        counts = (f"{result.flaws[flaw]:,}" for flaw in FLAW_NAMES)
        flaws.add_row(name, f"{result.rows:,}", f"{result.negatives:,}", *counts)
        cues.add_row(name, f"{result.chance:.1%}", *(f"{result.cues[cue]:.1%}" for cue in CUES), f"{result.negated:,}")
    out.print(flaws)
    out.print(f"Counted in rows: {', '.join(ROW_FLAW_NAMES)}. All other flaws are counted in negatives.")
    out.print(cues)
    out.print("Share of rows in which a rule selects the correct caption without the image.")


def _audit_target(target: str, data: Path | None) -> dict[str, Audit]:
    """Return split name -> audit for a dataset or a published file. Prints how many rows of a file are unreadable."""
    path = Path(target)
    if not path.is_file():
        from loaders.audit import audit_dataset
        from loaders.datasets.folders import resolve_folder

        folder = resolve_folder(target, data)
        return {
            f"{folder.name}/{split}".removesuffix("/test"): result for split, result in audit_dataset(folder).items()
        }

    from loaders.benchmarks.importing import read_file

    counts, _ = read_file(path)
    if unreadable := sum(counts.dropped.values()):
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in counts.dropped.items())
        note(f"{target}: {unreadable:,} of {counts.read:,} rows cannot be read and are not counted ({reasons}).")
    if len(counts.audits) == 1:
        (result,) = counts.audits.values()
        return {path.name: result}
    return {f"{path.name}: {split}": result for split, result in counts.audits.items()}


def push(
    dataset: Annotated[str, typer.Argument(help="Name or folder of a dataset.")],
    repository: Annotated[
        str, typer.Argument(help="ORG/NAME. The name of a micro-world dataset must contain microworld.")
    ],
    private: Annotated[bool, typer.Option("--private", help="Create a new repository as private.")] = False,
    data: Data = None,
) -> None:
    """Upload a dataset folder to the Hugging Face Hub, with images if their licence permits redistribution."""
    from loaders.datasets.folders import resolve_folder
    from loaders.push import push as upload

    folder = resolve_folder(dataset, data)
    with err.status("Uploading"):
        url = upload(folder, repository, private=private)
    typer.echo(url)


def make(
    name: Annotated[str, typer.Argument(help="Name of the new dataset.")],
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Tables (csv, tsv, jsonl, json) with the columns image, caption or captions, and hard_negatives, or "
            "webdataset shards."
        ),
    ],
    images: Annotated[
        Path | None, typer.Option(help="Folder of the images. Default: the folder of each table.")
    ] = None,
    output: DatasetsOutput = Path(),
) -> None:
    """Build a dataset for retrieval and hard negatives from your own images and captions."""
    with err.status("Reading"):
        from loaders.user_files import make as build

        stats = build(name, files, images, output)
    for config, splits in stats["rows"].items():
        typer.echo(f"{name}/{config}\t{splits['test']:,}")
