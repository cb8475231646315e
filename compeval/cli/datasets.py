"""``compeval import`` and ``compeval audit``: published files become datasets, and the flaws of hard negatives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compeval.cli.console import AsJson, Data, err, out, plain, table

if TYPE_CHECKING:
    from loaders.audit import Audit


def import_(
    files: Annotated[list[Path], typer.Argument(help="Published files, known by their names.")],
    images: Annotated[
        Path,
        typer.Option(
            help="Folder that holds the images, under their names in the source. Crops are cut from them when they are "
            "needed, so keep it."
        ),
    ],
    output: Annotated[Path, typer.Option(help="Folder of the dataset folders; `--data` of other commands.")] = Path(),
    repair: Annotated[
        bool, typer.Option("--repair", help="Remove cues of case and spacing, and rows without a right answer.")
    ] = False,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Leave out rows whose image is not there.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make datasets of published files: CREPE's, ARO's, NegCLIP's, SugarCrepe's."""
    with err.status("Importing"):
        from loaders.benchmarks import import_files

        reports = import_files(files, images, output, repair=repair, skip_missing=skip_missing)
    if as_json:
        typer.echo(json.dumps([report.to_json() for report in reports], indent=1))
        return
    shown = table("file", "tasks", "rows read", "written", "dropped", "repaired")
    for report in reports:
        tasks = "\n".join(f"{report.family}/{split}".removesuffix("/test") for split in report.written)
        dropped, repaired = (
            "\n".join(f"{count:,} {reason}" for reason, count in counts.items() if count) or "0"
            for counts in (report.dropped, report.repaired)
        )
        shown.add_row(report.file, tasks, f"{report.read:,}", f"{sum(report.written.values()):,}", dropped, repaired)
    out.print(shown)


def audit(
    targets: Annotated[list[str], typer.Argument(help="Datasets by name or folder, or published files.")],
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Count the flaws of hard negatives, and what rules that see no image make of them."""
    from loaders import audit as audits

    found: dict[str, Audit] = {}
    for target in targets:
        for name, one in _audits_of(target, data).items():
            found[name if name not in found else f"{target}: {name}"] = one
    if as_json:
        typer.echo(json.dumps({name: one.to_json() for name, one in found.items()}, indent=1))
        return
    flaws = table("set", "rows", "negatives", *audits.NAMES)
    flaws.columns[0].no_wrap = True
    cues = table("set", "chance", *audits.CUES, "negatives that alone have a negation word")
    for name, one in found.items():
        flaws.add_row(name, f"{one.rows:,}", f"{one.negatives:,}", *(f"{one.flaws[flaw]:,}" for flaw in audits.NAMES))
        picked = (f"{one.cues[cue]:.1%}" for cue in audits.CUES)
        cues.add_row(name, f"{one.chance:.1%}", *picked, f"{one.negated:,}")
    out.print(flaws)
    out.print(f"Counted are rows: {', '.join(audits.OF_ROWS)}; else negatives.")
    out.print(cues)
    out.print("How often the truth is picked without the image, by a rule alone.")


def _audits_of(target: str, data: Path | None) -> dict[str, Audit]:
    """Name -> audit of the splits of a dataset, or of a published file; what of a file cannot be read is told."""
    import loaders
    from loaders.audit import audit_dataset

    path = Path(target)
    if path.is_file():
        from loaders.benchmarks import read_file

        report, _ = read_file(path)
        if unread := sum(report.dropped.values()):
            reasons = "; ".join(f"{count:,} {reason}" for reason, count in report.dropped.items())
            told = f"{target}: {unread:,} of {report.read:,} rows cannot be read and are not counted ({reasons})."
            err.print(plain(told), highlight=False, soft_wrap=True)
        alone = len(report.audits) == 1
        return {path.name if alone else f"{path.name}: {split}": one for split, one in report.audits.items()}
    folder = loaders.named_folder(target, data)
    return {f"{folder.name}/{split}".removesuffix("/test"): one for split, one in audit_dataset(folder).items()}
