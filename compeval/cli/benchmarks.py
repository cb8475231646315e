"""``compeval get`` and ``import``: published benchmarks as datasets."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compeval.cli.console import (
    check_writable,
    err,
    print_message,
    print_records,
    progress,
    reject_unused_options,
    report_failure,
)
from compeval.cli.options import (
    CaptionColumn,
    DatasetsOutput,
    DropEqual,
    DropMalformed,
    Format,
    FormatName,
    ImageColumn,
    KindColumn,
    LanguageModel,
    NegativeColumns,
    Repair,
    SkipMissing,
    TableColumns,
)
from compeval.loaders.importing.selection import RowSelection

if TYPE_CHECKING:
    from compeval.loaders.importing.row_counts import ImportedFile


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Published files, recognised by their names or content. If the first word is "
            "the name of a benchmark, they are files of this benchmark, and an error says what "
            "was expected."
        ),
    ],
    images: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the images, with their original file names. Do not delete it: crops "
            "are cut from these images when they are loaded. Not needed for tables that contain "
            "their images, and for images in sources/ of the output folder."
        ),
    ] = None,
    output: DatasetsOutput = Path(),
    repair: Repair = False,
    drop_malformed: DropMalformed = False,
    skip_missing: SkipMissing = False,
    image_column: ImageColumn = "",
    caption_column: CaptionColumn = "",
    negative_columns: NegativeColumns = "",
    kind_column: KindColumn = "",
    drop_equal: DropEqual = False,
    output_format: Format = "table",
) -> None:
    """Import files of published benchmarks as datasets. `compeval get` downloads them first.

    With the name of a column, tables of your own are imported: `compeval make` with the name of each file.

    Example: `compeval import sugarcrepe/swap_obj.json --images sources/coco/val2017`.
    """
    selection = RowSelection(
        repair=repair,
        drop_malformed=drop_malformed,
        skip_missing=skip_missing,
    )
    columns = TableColumns(
        image_column=image_column,
        caption_column=caption_column,
        negative_columns=negative_columns,
        kind_column=kind_column,
        drop_equal=drop_equal,
    )
    check_writable(output)
    if any(columns[:-1]):
        reject_unused_options(
            "on tables of your own", **selection._asdict(), format=output_format != "table"
        )
        from compeval.cli.datasets import HardNegatives, build_dataset

        for file in files:
            build_dataset(
                file.stem, [file], images, output, columns, HardNegatives(), LanguageModel()
            )
        return
    reject_unused_options("without the name of a column", drop_equal=columns.drop_equal)
    with err.status("Importing"):
        from compeval.loaders import benchmarks
        from compeval.loaders.importing.write_dataset import import_files

        name = str(files[0]) if len(files) > 1 and not files[0].is_file() else ""
        benchmark = benchmarks.load(name) if name in benchmarks.list_names() else None
        paths = files[1:] if benchmark else files
        imported = import_files(paths, images, output, selection, benchmark=benchmark)
    _print_imported(imported, output_format)


def get(
    name: Annotated[
        str, typer.Argument(help="Name of a benchmark, as in `compeval list benchmarks`.")
    ],
    images: Annotated[
        Path | None,
        typer.Option(
            help="Folder with images that you have. Do not delete it: datasets refer to it."
        ),
    ] = None,
    existing: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Folder with the published files and archives. Nothing is downloaded then.",
        ),
    ] = None,
    mirror: Annotated[
        str | None,
        typer.Option(help="URL of a mirror with the files as BENCHMARK/FILE and COLLECTION/IMAGE."),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option(
            "--partial", help="Import what the folder of --from has, also if rows are missing."
        ),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before downloading more than 1 GB.")
    ] = False,
    files_only: Annotated[
        bool,
        typer.Option(
            "--files-only",
            help="Download the published files without images, for `compeval audit`, and import nothing.",
        ),
    ] = False,
    repair: Repair = False,
    drop_malformed: DropMalformed = False,
    skip_missing: SkipMissing = False,
    refresh: Annotated[
        bool,
        typer.Option(
            "--refresh",
            help="Ask the servers whether images that were downloaded one by one have changed. "
            "This is always done if the published files have changed.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Folder to write to. Default: COMPEVAL_DATA or ~/.cache/compeval/datasets, "
            "which is searched."
        ),
    ] = None,
    output_format: Format = "table",
) -> None:
    """Download a published benchmark with the images that it uses. Interrupted downloads resume.

    Example: `compeval get sugarcrepe --images sources/coco/val2017`.
    """
    selection = RowSelection(
        repair=repair,
        drop_malformed=drop_malformed,
        skip_missing=skip_missing,
    )
    if existing is None:
        reject_unused_options("without --from", partial=partial)
    else:
        reject_unused_options("with --from", refresh=refresh)
    if files_only:
        reject_unused_options(
            "with --files-only",
            **selection._asdict(),
            images=images,
            partial=partial,
            refresh=refresh,
        )
    from compeval.base.files.untrusted import SOURCES
    from compeval.base.sources.obtain import is_complete
    from compeval.loaders import benchmarks
    from compeval.loaders.datasets.folders import data_folder
    from compeval.loaders.importing.download_benchmark import (
        download_images,
        find_or_download_files,
        needs_confirmation,
        update_images,
    )
    from compeval.loaders.importing.images import (
        ImageFinder,
        explain_absent,
        list_images_to_compare,
        plan_images,
    )
    from compeval.loaders.importing.read_published import check_complete, list_configs, read_files
    from compeval.loaders.importing.row_counts import compare_counts
    from compeval.loaders.importing.write_dataset import import_published

    # The benchmark, the folder to write to, and that of the user's images.
    benchmark = benchmarks.find(name)
    data = output or data_folder()
    check_writable(data)
    finder = ImageFinder(data, images)
    source = benchmark.source
    print_message(f"{source.title}: {benchmark.description}")
    print_message(f"Licence: {source.licence}.\nCite: {source.citation}.")
    if not benchmark.tested:
        print_message(
            "Untested: its reader follows the documented format and was not tried on the published files."
        )

    # Its published files. With --from, nothing is downloaded and so nothing is asked.
    size = benchmark.file_image_bytes
    is_asked = existing is None and not files_only
    if size and is_asked and not is_complete(source, data / SOURCES / name):
        print_message(f"The published files contain the images, about {size / 1e9:.2f} GB.")
        if needs_confirmation(size):
            _confirm_download(name, agrees=yes)
    with progress(in_bytes=True) as report:
        published = find_or_download_files(benchmark, data, mirror, existing, report)
    if files_only:
        typer.echo(data / SOURCES / name)
        return

    # Their rows. With --partial, files may be incomplete or missing; a selection drops rows.
    files = read_files(published, data, selection)
    if existing and not (partial or any(selection)):
        check_complete(benchmark, files, existing)
    configs = list_configs(benchmark, files) if partial else list(benchmark.rows)

    # The images of the rows that the user does not have.
    plan = plan_images(files, finder, existing, skip_missing=skip_missing)
    left_out = [f"{file}: left out. {reason}" for file, reason in plan.left_out.items()]
    if left_out and not plan.files:
        raise ValueError("\n".join(left_out))
    for message in left_out:
        report_failure(message)

    # Images that may have changed on the server, which has their version only if it sends them one by one.
    if existing is None:
        compared = list_images_to_compare(plan.files, data, refresh=refresh)
        for image_set, names in compared.items():
            with progress() as report:
                absent = update_images(image_set, names, data, mirror, report)
            if absent:
                report_failure(
                    f"{image_set.name}: the server no longer has {len(absent):,} images, which stay; the first is "
                    f"{absent[0]}."
                )

    if plan.missing:
        about = "of unknown size" if plan.size is None else f"about {plan.size / 1e9:.2f} GB"
        print_message(f"{plan.image_count:,} images are missing, {about}.")
        if existing is None and needs_confirmation(plan.size):
            _confirm_download(name, agrees=yes)
    for image_set, names in plan.missing.items():
        with progress(in_bytes=not image_set.url) as report:
            absent = download_images(image_set, names, data, mirror, existing, report)
        if absent and not skip_missing:
            raise FileNotFoundError(explain_absent(image_set, absent, len(names), existing))

    # The dataset, and what is not in it.
    imported = import_published(plan.files, finder, skip_missing=skip_missing)
    for difference in compare_counts(benchmark, configs, imported):
        report_failure(difference)
    print_message(f"{data / name}: `compeval run --task '{name}/*'` evaluates a model on it.")
    _print_imported(imported, output_format)


def _confirm_download(name: str, *, agrees: bool) -> None:
    """Ask for the permission to download, unless the user ``agrees``. Raises ValueError if there is no terminal to ask
    on."""
    if agrees:
        return
    if not sys.stdin.isatty():
        raise ValueError(
            f"{name}: not downloaded. Pass --yes to download this size, or --images or --from to use your own copy."
        )
    typer.confirm("Download?", abort=True, err=True)


def _print_imported(imported: Sequence[ImportedFile], output_format: FormatName) -> None:
    from compeval.loaders.datasets.split_names import name_of_stored

    rows: list[dict[str, str]] = []
    for file in imported:
        if not file.file.endswith(file.published_name.rpartition("/")[2]):
            print_message(f"{file.file}: recognised as {file.published_name} of {file.family}.")
        dropped, repaired = (
            "\n".join(f"{count:,} {reason}" for reason, count in counts.items() if count) or "0"
            for counts in (file.dropped, file.repaired)
        )
        rows.append(
            {
                "file": file.file,
                "tasks": "\n".join(
                    name_of_stored(file.family, *split.split("/")) for split in file.written
                ),
                "rows read": f"{file.read:,}",
                "written": f"{sum(file.written.values()):,}",
                "dropped": dropped,
                "repaired": repaired,
            }
        )
        if file.cut:
            print_message(
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
    print_records(output_format, rows, records, [file.to_json() for file in imported])
