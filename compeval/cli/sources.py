"""``compeval sources``: the real data, from where it is published into sources/."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compeval.cli.console import AsJson, err, out, plain, progress, table

if TYPE_CHECKING:
    from generators.sources import DataSource

app = typer.Typer(no_args_is_help=True, help="The real data: where it comes from, and getting it.")

Folder = Annotated[Path, typer.Option("--output", help="Folder of the sources.")]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the sources with their size, licence and citation."""
    from generators.sources import registry

    sources = list(registry().values())
    if as_json:
        typer.echo(json.dumps([asdict(source) for source in sources], indent=1))
        return
    shown = table("source", "what", "files", "size", "licence", "citation")
    for column in shown.columns[4:]:
        column.justify = "left"
    for source in sources:
        size = f"{source.size / 1e9:.1f} GB" if source.size else "by hand" if source.how else "unknown"
        shown.add_row(source.name, source.title, str(len(source.files)), size, source.licence, source.citation)
    out.print(shown)


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="A name of `compeval sources list`.")],
    files: Annotated[list[str] | None, typer.Argument(help="Files of the source. Default: all.")] = None,
    output: Folder = Path("sources"),
    existing: Annotated[
        Path | None, typer.Option("--from", help="A folder that has the files already, packed or unpacked.")
    ] = None,
    mirror: Annotated[str | None, typer.Option(help="Address that has them as SOURCE/FILE.")] = None,
) -> None:
    """Get a source, or some of its files. What is there already is not got again; what was cut short goes on."""
    from generators.sources.obtain import obtain

    source = _source(name)
    err.print(f"{source.title}. Licence: {source.licence}. Cite: {source.citation}", highlight=False, soft_wrap=True)
    folder = output / name
    with progress(in_bytes=True) as report:
        got = obtain(source, folder, files or (), mirror=mirror, existing=existing, report=report)
    typer.echo(f"{folder}: got {', '.join(got) or 'nothing, all of it was there'}.")


@app.command()
def check(
    names: Annotated[list[str] | None, typer.Argument(help="Sources. Default: those that are in the folder.")] = None,
    output: Folder = Path("sources"),
    as_json: AsJson = False,
) -> None:
    """Check that what was got is still there and whole; exit code 1 if not."""
    from generators.sources import registry
    from generators.sources.obtain import state

    chosen = names or [name for name in registry() if (output / name).is_dir()]
    found = {name: {file.name: state(file, output / name) for file in _source(name).files} for name in chosen}
    if as_json:
        typer.echo(json.dumps(found, indent=1))
    else:
        shown = table("source", "file", "state")
        shown.columns[2].justify = "left"
        for name, states in found.items():
            for file, told in states.items():
                shown.add_row(name, file, plain(told))
            if how := _source(name).how:
                shown.add_row(name, "by hand", plain(how))
        out.print(shown)
    if any(told != "complete" for states in found.values() for told in states.values()):
        raise typer.Exit(1)


def _source(name: str) -> DataSource:
    from generators.sources import registry
    from loaders import unknown

    if name not in registry():
        raise unknown("source", name, registry())
    return registry()[name]
