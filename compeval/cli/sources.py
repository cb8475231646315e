"""``compeval sources``: download published data to sources/."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compeval.cli.console import check_writable, echo_json, print_message, print_table, progress
from compeval.cli.options import AsJson

if TYPE_CHECKING:
    from compeval.base.sources import DataSource

LOCK = "sources.lock"
"""File next to the folder of the sources."""
COMPLETE = "complete"
REPLACED = "not needed, other files replace it"
"""State of a file that another version of the source does not have."""

app = typer.Typer(no_args_is_help=True, help="List, download and verify published data.")

Folder = Annotated[Path, typer.Option("--output", help="Folder of the sources.")]


@app.command("list")
def list_(
    as_json: AsJson = False,
) -> None:
    """List the sources with size, licence and citation.

    The first download of a file without a known hash is recorded in sources.lock, and later ones must equal it.

    Example: `compeval sources list --json`.
    """
    from compeval.loaders.benchmarks import read_sources

    sources = list(read_sources().values())
    if as_json:
        echo_json([asdict(source) for source in sources])
        return
    rows: list[tuple[str, ...]] = []
    for source in sources:
        unknown = "manual download" if source.download_instructions else "unknown"
        size = f"{source.size / 1e9:.1f} GB" if source.size else unknown
        rows.append(
            (source.name, source.title, source.pinned, size, source.licence, source.citation)
        )
    print_table(
        ("source", "content", "files with a hash", "size", "licence", "citation"), rows, left=6
    )


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="Name of a source, as in `compeval sources list`.")],
    files: Annotated[
        list[str] | None, typer.Argument(help="Files of the source. Default: all.")
    ] = None,
    output: Folder = Path("sources"),
    existing: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Folder that already contains the files, packed or unpacked. It may lack images of Visual Genome, and "
            "the files that only another version of it has.",
        ),
    ] = None,
    mirror: Annotated[
        str | None, typer.Option(help="URL of a mirror with the files as SOURCE/FILE.")
    ] = None,
) -> None:
    """Download a source, or some of its files. Existing files are skipped and interrupted downloads resume.

    Example: `compeval sources get visual_genome --output sources`.
    """
    check_writable(output)
    from compeval.base.sources.obtain import MISSING, fetch, find_problem

    source = _find_source(name)
    print_message(f"{source.title}. Licence: {source.licence}. Cite: {source.citation}")
    folder = output / name
    with progress(in_bytes=True) as report:
        new = fetch(
            source,
            folder,
            files or (),
            mirror=mirror,
            existing=existing,
            lock=output.parent / LOCK,
            report=report,
        )
    verb = "downloaded" if existing is None else "added"
    typer.echo(f"{folder}: {verb} {', '.join(new)}." if new else f"{folder}: already complete.")
    if existing and not files:
        absent = [file.name for file in source.files if find_problem(file, folder) == MISSING]
        if absent:
            print_message(f"{existing} does not have {', '.join(absent)}.")


@app.command()
def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Names of sources. Default: all sources in the folder."),
    ] = None,
    output: Folder = Path("sources"),
    as_json: AsJson = False,
) -> None:
    """Check that downloaded files are complete and unchanged. The exit code is 1 if a file is not.

    Example: `compeval sources check visual_genome`.
    """
    from compeval.base.sources.obtain import MISSING, find_problem, find_replacement
    from compeval.loaders.benchmarks import read_sources

    names = names or [name for name in read_sources() if (output / name).is_dir()]
    states: dict[str, dict[str, str]] = {}
    for name in names:
        source = _find_source(name)
        states[name] = {}
        for file in source.files:
            problem = find_problem(file, output / name)
            if problem == MISSING and find_replacement(source, file, output / name):
                problem = REPLACED
            states[name][file.name] = problem or COMPLETE
    if as_json:
        echo_json(states)
    else:
        rows: list[tuple[str, str, str]] = []
        for name, file_states in states.items():
            rows += [(name, file, file_state) for file, file_state in file_states.items()]
            if instructions := _find_source(name).download_instructions:
                rows.append((name, "manual download", instructions))
        print_table(("source", "file", "state"), rows, left=3)
    if any(
        file_state not in (COMPLETE, REPLACED)
        for file_states in states.values()
        for file_state in file_states.values()
    ):
        raise typer.Exit(1)


def _find_source(name: str) -> DataSource:
    """Return a source by its name. Raises ValueError if the name is unknown."""
    from compeval.loaders.benchmarks import read_sources
    from compeval.loaders.datasets.folders import unknown_name

    sources = read_sources()
    if name not in sources:
        raise unknown_name("source", name, sources)
    return sources[name]
