"""``compeval audit``: find flaws in hard negatives, and cues that need no image."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compeval.cli.console import AsJson, Data, Format, err, note, print_records

if TYPE_CHECKING:
    from evaluators.validity.best_baselines import BestBaseline
    from loaders.audit import Audit


def audit(
    targets: Annotated[
        list[str], typer.Argument(help="Names or folders of datasets, or files of published benchmarks.")
    ],
    data: Data = None,
    output_format: Format = "table",
    as_json: AsJson = False,
) -> None:
    """Find flaws in hard negatives, and cues that select the correct caption without the image.

    A second table shows the best text-only baseline on each set, and its accuracy beside chance: of the cues, the
    medoid of the captions, and models that are trained on the captions of other images. Targets that cannot be read are
    listed at the end.
    """
    failed: dict[str, str] = {}
    audits: dict[str, Audit] = {}
    baselines: dict[str, BestBaseline] = {}
    shows_tables = not as_json and output_format in ("table", "md")
    with err.status("Reading"):
        for target in targets:
            try:
                found, best = _audit_target(target, data, with_baselines=shows_tables)
            except (ValueError, OSError) as error:
                if len(targets) == 1:
                    raise
                failed[target] = str(error)
                continue
            for results, name, result in [
                *((audits, *item) for item in found.items()),
                *((baselines, *item) for item in best.items()),
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
        if baselines:
            typer.echo()
            _print_baselines(baselines, output_format)
        flawed = sum(bool(result.findings) for result in audits.values())
        note(f"{flawed} of {len(audits)} sets have flaws or cues to the correct caption. `--format csv` counts them.")
    if failed:
        note(f"{len(failed)} of {len(targets)} targets cannot be read:")
        for reason in failed.values():
            note(reason)
        raise typer.Exit(1)


def _print_baselines(baselines: Mapping[str, BestBaseline], output_format: Format) -> None:
    header = ("set", "best text-only baseline", "correct", "95 % interval", "chance", "above chance", "rows")
    rows = [
        (
            name,
            baseline.name,
            f"{baseline.recall:.1%}",
            "{:.1%} to {:.1%}".format(*baseline.interval),
            f"{baseline.chance:.1%}",
            "yes" if baseline.beats_chance else "no",
            f"{baseline.rows:,}",
        )
        for name, baseline in baselines.items()
    ]
    print_records(output_format, header, rows, [])
    solved = sum(baseline.beats_chance for baseline in baselines.values())
    note(f"A text-only baseline beats chance on {solved} of {len(baselines)} sets.")


def _audit_target(
    target: str, data: Path | None, *, with_baselines: bool
) -> tuple[dict[str, Audit], dict[str, BestBaseline]]:
    """Return the audits by split, and the best baselines by config, of a dataset or a published file.

    Prints how many rows of a file are unreadable.
    """
    if Path(target).is_file():
        return _audit_file(Path(target), with_baselines=with_baselines)
    from loaders.audit import audit_dataset
    from loaders.datasets.folders import resolve_folder
    from loaders.datasets.split_names import name_of_stored

    folder = resolve_folder(target, data)
    audits = {name_of_stored(folder.name, *name.split("/")): result for name, result in audit_dataset(folder).items()}
    if not with_baselines:
        return audits, {}
    from evaluators.validity.best_baselines import find_best_of_dataset

    return audits, {f"{folder.name}/{config}": result for config, result in find_best_of_dataset(folder).items()}


def _audit_file(path: Path, *, with_baselines: bool) -> tuple[dict[str, Audit], dict[str, BestBaseline]]:
    from evaluators.validity.best_baselines import find_best
    from loaders.importing.identify import identify
    from loaders.importing.importing import read_published

    read = read_published(identify(path))
    counts = read.counts
    if unreadable := sum(counts.dropped.values()):
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in counts.dropped.items())
        note(f"{path}: {unreadable:,} of {counts.read:,} rows cannot be read and are not counted ({reasons}).")
    names = {split: path.name if len(counts.audits) == 1 else f"{path.name}: {split}" for split in counts.audits}
    baselines = {
        names[split]: baseline
        for (config, name), rows in (read.splits.items() if with_baselines else ())
        if (split := f"{config}/{name}") in names
        and (baseline := find_best((row.image_id or row.images[0], row.list_candidates()) for row in rows))
    }
    return {names[split]: result for split, result in counts.audits.items()}, baselines
