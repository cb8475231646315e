"""``compeval audit``: find flaws in hard negatives, and rules that need no image."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compeval.cli.console import AsJson, Data, Format, err, note, print_records

if TYPE_CHECKING:
    from evaluators.validity.shortcuts import Shortcut
    from loaders.audit import Audit


def audit(
    targets: Annotated[
        list[str], typer.Argument(help="Names or folders of datasets, or files of published benchmarks.")
    ],
    data: Data = None,
    output_format: Format = "table",
    as_json: AsJson = False,
) -> None:
    """Find flaws in hard negatives, and rules that select the correct caption without the image.

    A second table shows the best rule without the image on each set, and its accuracy beside chance. It has more rules:
    also the medoid of the captions, and scorers that are trained on the captions of other images. Targets that cannot
    be read are listed at the end.
    """
    failed: dict[str, str] = {}
    audits: dict[str, Audit] = {}
    shortcuts: dict[str, Shortcut] = {}
    shows_tables = not as_json and output_format in ("table", "md")
    with err.status("Reading"):
        for target in targets:
            try:
                found, best = _audit_target(target, data, with_shortcuts=shows_tables)
            except (ValueError, OSError) as error:
                if len(targets) == 1:
                    raise
                failed[target] = str(error)
                continue
            for results, name, result in [
                *((audits, *item) for item in found.items()),
                *((shortcuts, *item) for item in best.items()),
            ]:
                results[name if name not in results else f"{target}: {name}"] = result
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
    if shows_tables:
        if shortcuts:
            typer.echo()
            _print_shortcuts(shortcuts, output_format)
        flawed = sum(bool(result.findings) for result in audits.values())
        note(f"{flawed} of {len(audits)} sets have flaws or cues to the correct caption. `--format csv` counts them.")
    if failed:
        note(f"{len(failed)} of {len(targets)} targets cannot be read:")
        for reason in failed.values():
            note(reason)
        raise typer.Exit(1)


def _print_shortcuts(shortcuts: Mapping[str, Shortcut], output_format: Format) -> None:
    header = ("set", "best rule without the image", "correct", "95 % interval", "chance", "above chance", "rows")
    rows = [
        (
            name,
            shortcut.rule,
            f"{shortcut.recall:.1%}",
            "{:.1%} to {:.1%}".format(*shortcut.interval),
            f"{shortcut.chance:.1%}",
            "yes" if shortcut.beats_chance else "no",
            f"{shortcut.rows:,}",
        )
        for name, shortcut in shortcuts.items()
    ]
    print_records(output_format, header, rows, [])
    solved = sum(shortcut.beats_chance for shortcut in shortcuts.values())
    note(f"A rule without the image beats chance on {solved} of {len(shortcuts)} sets.")


def _audit_target(
    target: str, data: Path | None, *, with_shortcuts: bool
) -> tuple[dict[str, Audit], dict[str, Shortcut]]:
    """Return the audits by split, and the shortcuts by config, of a dataset or a published file.

    Prints how many rows of a file are unreadable.
    """
    if Path(target).is_file():
        return _audit_file(Path(target), with_shortcuts=with_shortcuts)
    from loaders.audit import audit_dataset
    from loaders.datasets.folders import resolve_folder
    from loaders.datasets.split_names import name_of_stored

    folder = resolve_folder(target, data)
    audits = {name_of_stored(folder.name, *name.split("/")): result for name, result in audit_dataset(folder).items()}
    if not with_shortcuts:
        return audits, {}
    from evaluators.validity.shortcuts import find_shortcuts

    return audits, {f"{folder.name}/{config}": result for config, result in find_shortcuts(folder).items()}


def _audit_file(path: Path, *, with_shortcuts: bool) -> tuple[dict[str, Audit], dict[str, Shortcut]]:
    from evaluators.validity.shortcuts import find_shortcut
    from loaders.importing.identify import identify
    from loaders.importing.importing import read_published

    read = read_published(identify(path))
    counts = read.counts
    if unreadable := sum(counts.dropped.values()):
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in counts.dropped.items())
        note(f"{path}: {unreadable:,} of {counts.read:,} rows cannot be read and are not counted ({reasons}).")
    names = {split: path.name if len(counts.audits) == 1 else f"{path.name}: {split}" for split in counts.audits}
    shortcuts = {
        names[split]: shortcut
        for (config, name), rows in (read.splits.items() if with_shortcuts else ())
        if (split := f"{config}/{name}") in names
        and (shortcut := find_shortcut((row.image_id or row.images[0], row.list_candidates()) for row in rows))
    }
    return {names[split]: result for split, result in counts.audits.items()}, shortcuts
