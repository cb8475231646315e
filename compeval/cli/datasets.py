"""``compeval import``, ``audit``, ``make`` and ``push``: create, check and upload dataset folders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compeval.cli.console import AsJson, Data, DatasetsOutput, Format, err, note, print_records

if TYPE_CHECKING:
    from loaders.audit import Audit


def import_(
    files: Annotated[list[Path], typer.Argument(help="Published files, recognised by their names or content.")],
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
    output_format: Format = "table",
    as_json: AsJson = False,
) -> None:
    """Import published files of CREPE, ARO, NegCLIP and SugarCrepe as datasets."""
    with err.status("Importing"):
        from loaders.benchmarks.importing import import_files
        from loaders.datasets.split_names import name_of_stored

        imported = import_files(files, images, output, repair=repair, skip_missing=skip_missing)
    header = ("file", "tasks", "rows read", "written", "dropped", "repaired")
    rows: list[tuple[str, ...]] = []
    for file in imported:
        tasks = "\n".join(name_of_stored(file.family, *split.split("/")) for split in file.written)
        dropped, repaired = (
            "\n".join(f"{count:,} {reason}" for reason, count in counts.items() if count) or "0"
            for counts in (file.dropped, file.repaired)
        )
        rows.append((file.file, tasks, f"{file.read:,}", f"{sum(file.written.values()):,}", dropped, repaired))
    records = [
        {
            "file": file.file,
            "task": name_of_stored(file.family, *split.split("/")),
            "rows": written,
            "read": file.read,
            "dropped": file.dropped.total(),
            "repaired": file.repaired.total(),
        }
        for file in imported
        for split, written in file.written.items()
    ]
    print_records("json" if as_json else output_format, header, rows, records, [file.to_json() for file in imported])


def audit(
    targets: Annotated[list[str], typer.Argument(help="Names or folders of datasets, or published files.")],
    data: Data = None,
    output_format: Format = "table",
    as_json: AsJson = False,
) -> None:
    """Find flaws of hard negatives, and simple rules that select the correct caption without the image."""
    audits: dict[str, Audit] = {}
    for target in targets:
        for name, result in _audit_target(target, data).items():
            audits[name if name not in audits else f"{target}: {name}"] = result
    rows = [
        (
            name,
            result.verdict,
            "\n".join(result.findings) or "nothing",
            f"{result.rows:,}",
            f"{result.negatives:,}",
            f"{100 * result.chance:.1f}",
        )
        for name, result in audits.items()
    ]
    records = [{"set": name, **record} for name, result in audits.items() for record in result.to_records()]
    document = {name: result.to_json() for name, result in audits.items()}
    header = ("set", "verdict", "found", "rows", "negatives", "chance %")
    print_records("json" if as_json else output_format, header, rows, records, document, left=3)
    if as_json or output_format not in ("table", "md"):
        return
    flawed = sum(bool(result.findings) for result in audits.values())
    note(f"{flawed} of {len(audits)} sets have flaws or cues. `--format csv` lists all counts.")


def _audit_target(target: str, data: Path | None) -> dict[str, Audit]:
    """Return split name -> audit for a dataset or a published file. Prints how many rows of a file are unreadable."""
    path = Path(target)
    if not path.is_file():
        from loaders.audit import audit_dataset
        from loaders.datasets.folders import resolve_folder
        from loaders.datasets.split_names import name_of_stored

        folder = resolve_folder(target, data)
        return {
            name_of_stored(folder.name, *split.split("/")): result for split, result in audit_dataset(folder).items()
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
