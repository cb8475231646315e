"""``compeval audit`` and ``inspect``: flaws of hard negatives, and cues that need no image, in a table or on a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from compeval.cli.console import check_writable, err, note, print_records
from compeval.cli.options import Data, Format, FormatName

if TYPE_CHECKING:
    from evaluators.validity.best_baselines import BestBaseline
    from loaders.audit import Audit


def audit(targets: list[str], data: Data = None, output_format: Format = "table") -> None:
    """Find flaws in hard negatives, and cues that select the correct caption without the image.

    A second table shows the best text-only baseline on each set, and its accuracy beside chance: of the cues, the
    medoid of the captions, and models that are trained on the captions of other images. Targets that cannot be read are
    listed at the end.

    Args:
        targets: Names or folders of datasets, or files of published benchmarks.
    """
    failed: list[str] = []
    audits: dict[str, Audit] = {}
    baselines: dict[str, BestBaseline] = {}
    with err.status("Reading"):
        for target in targets:
            try:
                of_target = _audit_target(target, data)
            except (ValueError, OSError) as error:
                if len(targets) == 1:
                    raise
                failed.append(str(error))
                continue
            for results, found in zip((audits, baselines), of_target, strict=True):
                results |= {f"{target}: {name}" if name in results else name: found[name] for name in found}
    judged = {name: _judge(name, result, baselines) for name, result in audits.items()}
    _print_audits(audits, judged, output_format)
    if output_format in ("table", "md"):
        if baselines:
            typer.echo()
            _print_baselines(baselines, output_format)
        flawed = sum(bool(findings) for _, findings in judged.values())
        note(
            f"{flawed} of {len(audits)} sets have flaws, or cues to the correct caption in the texts. `--format csv` "
            "counts them."
        )
    if failed:
        note(f"{len(failed)} of {len(targets)} targets cannot be read:")
        for reason in failed:
            note(reason)
        raise typer.Exit(1)


def _judge(name: str, result: Audit, baselines: Mapping[str, BestBaseline]) -> tuple[str, list[str]]:
    """Return the verdict on a set, from its audit and the best text-only baseline of its config, and what was found."""
    config = next((key for key in baselines if name == key or name.startswith(f"{key}/")), None)
    if config is None or not baselines[config].beats_chance:
        return result.verdict, result.findings
    best = baselines[config]
    found = (
        f"text-only baseline {best.name!r} selects the caption in {best.recall:.1%} of rows (chance {best.chance:.1%})"
    )
    verdict = result.verdict if "cues" in result.verdict else f"{result.verdict} and cues".removeprefix("clean and ")
    return verdict, [*result.findings, found]


def _print_audits(
    audits: Mapping[str, Audit], judged: Mapping[str, tuple[str, list[str]]], output_format: FormatName
) -> None:
    rows = [
        {
            "set": name,
            "verdict": judged[name][0],
            "found": "\n".join(judged[name][1]) or "nothing",
            "rows": f"{result.rows:,}",
            "negatives": f"{result.negatives:,}",
            "chance %": f"{100 * result.chance:.1f}",
        }
        for name, result in audits.items()
    ]
    records = [{"set": name, **record} for name, result in audits.items() for record in result.to_records()]
    document = {
        name: result.to_json() | dict(zip(("verdict", "findings"), judged[name], strict=True))
        for name, result in audits.items()
    }
    print_records(output_format, rows, records, document, left=3)


def _print_baselines(baselines: Mapping[str, BestBaseline], output_format: FormatName) -> None:
    rows = [
        {
            "set": name,
            "best text-only baseline": baseline.name,
            "correct": f"{baseline.recall:.1%}",
            "95 % interval": "{:.1%} to {:.1%}".format(*baseline.interval),
            "chance": f"{baseline.chance:.1%}",
            "above chance": "yes" if baseline.beats_chance else "no",
            "rows": f"{baseline.rows:,}",
        }
        for name, baseline in baselines.items()
    ]
    print_records(output_format, rows, [])
    solved = sum(baseline.beats_chance for baseline in baselines.values())
    note(f"A text-only baseline beats chance on {solved} of {len(baselines)} sets.")


def _audit_target(target: str, data: Path | None) -> tuple[dict[str, Audit], dict[str, BestBaseline]]:
    """Return the audits by split, and the best baselines by config, of a dataset or a published file.

    Prints how many rows of a file are unreadable.
    """
    if Path(target).is_file():
        return _audit_file(Path(target))
    from loaders.audit import audit_dataset
    from loaders.datasets.folders import resolve_folder
    from loaders.datasets.split_names import name_of_stored

    folder = resolve_folder(target, data)
    audits = {name_of_stored(folder.name, *name.split("/")): result for name, result in audit_dataset(folder).items()}
    from evaluators.validity.best_baselines import find_best_of_dataset

    return audits, {f"{folder.name}/{config}": result for config, result in find_best_of_dataset(folder).items()}


def _audit_file(path: Path) -> tuple[dict[str, Audit], dict[str, BestBaseline]]:
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
        for (config, name), rows in read.splits.items()
        if (split := f"{config}/{name}") in names
        and (baseline := find_best((row.image_id or row.images[0], row.list_candidates()) for row in rows))
    }
    return {names[split]: result for split, result in counts.audits.items()}, baselines


def inspect(
    targets: list[str], output: Path = Path("inspection"), data: Data = None, output_format: Format = "table"
) -> None:
    """Make a page per dataset: text-only baselines, how captions differ from negatives, duplicates, random rows.

    A baseline that learns is trained on other images of the same set, so the page shows what a model can learn from the
    texts of the set. `compeval audit` prints the simplest baselines and all flaws in seconds.

    Args:
        targets: Names or folders of datasets, or published files.
        output: Folder of the pages.
    """
    from loaders.datasets.folders import resolve_folder

    check_writable(output)
    for target in targets:
        if not Path(target).exists():
            resolve_folder(target, data)
    from evaluators.inspection import inspect as make_page
    from evaluators.inspection import open_sources
    from evaluators.report.tables import format_percent
    from evaluators.report.text_only import name_baseline

    records: list[dict[str, Any]] = []
    with err.status("Reading"):
        sources = open_sources(targets, data)
    for source in sources:
        with err.status(source.name) as status:
            reports = make_page(source, output, status.update)
        note(f"{source.name}: {output / source.name}.html")
        for report in reports:
            low, high = report.rules[report.best_baseline]["interval"]
            rule = name_baseline(report.best_baseline)
            verdict = "above chance" if report.above_chance else "not above chance"
            records.append(
                {"dataset": source.name, "set": report.name, "rows": report.rows, "chance": report.chance, "rule": rule}
                | {"recall@1": report.best_recall, "low": low, "high": high, "verdict": verdict}
            )
    rows = [
        {
            "dataset": record["dataset"],
            "set": record["set"],
            "rows": f"{record['rows']:,}",
            "chance %": format_percent(record["chance"]),
            "best baseline %": format_percent(record["recall@1"]),
            "95 %": f"{format_percent(record['low'])} to {format_percent(record['high'])}",
            "text-only baseline": record["rule"],
            "verdict": record["verdict"],
        }
        for record in records
    ]
    print_records(output_format, rows, records)
