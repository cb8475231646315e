"""``compeval get``, ``import``, ``audit``, ``make`` and ``push``: create, check and upload dataset folders."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compeval.cli.console import AsJson, Data, DatasetsOutput, Format, FormatName, err, note, print_records, progress

if TYPE_CHECKING:
    from loaders.audit import Audit
    from loaders.importing.importing import ImportedFile

ASK_BYTES = 1_000_000_000
"""A larger download of images needs a confirmation."""


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
            help="Remove differences of case, spacing and final stops between captions, and ambiguous rows.",
        ),
    ] = False,
    skip_missing: Annotated[bool, typer.Option("--skip-missing", help="Drop rows whose image is missing.")] = False,
    output_format: Format = "table",
    as_json: AsJson = False,
) -> None:
    """Import files of published benchmarks as datasets. `compeval get` downloads them first."""
    with err.status("Importing"):
        from loaders.importing.importing import import_files

        imported = import_files(files, images, output, repair=repair, skip_missing=skip_missing)
    _print_imported(imported, "json" if as_json else output_format)


def get(
    name: Annotated[str, typer.Argument(help="Name of a benchmark, as in `compeval list benchmarks`.")],
    images: Annotated[
        Path | None, typer.Option(help="Folder with images that you have. Do not delete it: datasets refer to it.")
    ] = None,
    existing: Annotated[
        Path | None,
        typer.Option("--from", help="Folder with the published files and archives. Nothing is downloaded then."),
    ] = None,
    mirror: Annotated[
        str | None, typer.Option(help="URL of a mirror with the files as BENCHMARK/FILE and COLLECTION/IMAGE.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before downloading more than 1 GB.")] = False,
    skip_missing: Annotated[bool, typer.Option("--skip-missing", help="Drop rows whose image is missing.")] = False,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Remove differences of case, spacing and final stops between captions, and ambiguous rows.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Folder to write to. Default: COMPEVAL_DATA or ~/.cache/compeval/datasets, which is searched."
        ),
    ] = None,
    output_format: Format = "table",
    as_json: AsJson = False,
) -> None:
    """Download a published benchmark with the images that it uses. Interrupted downloads resume."""
    from loaders import benchmarks
    from loaders.datasets.folders import data_folder, unknown_name
    from loaders.importing.get import (
        find_missing_images,
        get_files,
        get_images,
        leave_out_manual,
        measure_download,
        measure_tables,
    )
    from loaders.importing.importing import compare_counts, import_published, read_all

    if name not in benchmarks.list_names():
        raise unknown_name("benchmark", name, benchmarks.list_names())
    benchmark, data = benchmarks.load(name), output or data_folder()
    if images is not None and not images.is_dir():
        raise FileNotFoundError(f"{images}: no such image folder.")
    note(f"{benchmark.title}: {benchmark.asks}\nLicence: {benchmark.licence}.\nCite: {benchmark.paper}.")
    if existing is None and (size := measure_tables(benchmark, data)):
        note(f"The published files contain the images, about {size / 1e9:.2f} GB.")
        if size > ASK_BYTES and not yes:
            _confirm(name)
    with progress(in_bytes=True) as report:
        files = get_files(benchmark, data, mirror=mirror, existing=existing, report=report)
    with err.status("Reading"):
        read = read_all(files, data, repair=repair, skip_missing=skip_missing)
    missing = find_missing_images(read, data, images)
    if missing and not skip_missing:
        read, left_out = leave_out_manual(read, missing)
        for message in left_out:
            note(message)
        missing = find_missing_images(read, data, images) if left_out else missing
    missing = {image_set: names for image_set, names in missing.items() if not image_set.is_manual}
    if missing:
        count, size = sum(map(len, missing.values())), measure_download(missing)
        note(f"{count:,} images are missing, {'of unknown size' if size is None else f'about {size / 1e9:.2f} GB'}.")
        if existing is None and not yes and (size is None or size > ASK_BYTES):
            _confirm(name)
    for image_set, names in missing.items():
        with progress(in_bytes=not image_set.url) as report:
            absent = get_images(image_set, names, data, mirror=mirror, existing=existing, report=report)
        if absent and not skip_missing:
            raise FileNotFoundError(
                f"{image_set.url}: the server does not have {len(absent):,} of {len(names):,} images; the first is "
                f"{absent[0]}. Name a folder that has them with --images, or drop their rows with --skip-missing."
            )
    with err.status("Importing"):
        imported = import_published(read, images, data, skip_missing=skip_missing)
    for difference in compare_counts(benchmark, imported):
        note(difference)
    note(f"{data / name}: `compeval run --task '{name}/*'` evaluates a model on it.")
    _print_imported(imported, "json" if as_json else output_format)


def _confirm(name: str) -> None:
    """Ask for the permission to download. Raises ValueError if there is no terminal to ask on."""
    if not sys.stdin.isatty():
        raise ValueError(
            f"{name}: not downloaded. Pass --yes to download this size, or --images or --from to use your own copy."
        )
    typer.confirm("Download?", abort=True, err=True)


def _print_imported(imported: Sequence[ImportedFile], output_format: FormatName) -> None:
    from loaders.datasets.split_names import name_of_stored

    header = ("file", "tasks", "rows read", "written", "dropped", "repaired")
    rows: list[tuple[str, ...]] = []
    for file in imported:
        tasks = "\n".join(name_of_stored(file.family, *split.split("/")) for split in file.written)
        dropped, repaired = (
            "\n".join(f"{count:,} {reason}" for reason, count in counts.items() if count) or "0"
            for counts in (file.dropped, file.repaired)
        )
        rows.append((file.file, tasks, f"{file.read:,}", f"{sum(file.written.values()):,}", dropped, repaired))
        if file.cut:
            note(
                f"{file.file}: {file.cut:,} boxes are partly outside their images, and the crops are black there. "
                "Check that the images have their original size."
            )
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
    print_records(output_format, header, rows, records, [file.to_json() for file in imported])


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

    from loaders.importing.importing import read_file

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
