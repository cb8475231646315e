"""``compeval audit`` and ``inspect``: flaws of hard negatives, and cues that need no image, in a table or on a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from compeval.base.extras import install_command
from compeval.cli.console import (
    check_writable,
    check_writable_file,
    err,
    print_message,
    print_records,
    reject_unused_options,
    report_failure,
)
from compeval.cli.options import Data, Format, FormatName

if TYPE_CHECKING:
    from compeval.evaluators.inspection import SetReport, Source
    from compeval.evaluators.validity.best_baselines import BestBaseline
    from compeval.loaders.audit import Audit
    from compeval.loaders.malformed import Finding


def audit(
    targets: Annotated[
        list[str],
        typer.Argument(help="Names or folders of datasets, or files of published benchmarks."),
    ],
    data: Data = None,
    output_format: Format = "table",
    csv: Annotated[
        Path | None,
        typer.Option(
            help="File to write the malformed texts to, with their rows: one line per text and "
            "kind."
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            help="Folder of a model's results: its Recall@1 on all rows, on those without a "
            "malformed text, and without the malformed negatives."
        ),
    ] = None,
) -> None:
    """Find flaws in hard negatives, and cues that select the correct caption without the image.

    A second table shows the best text-only baseline on each set, and its accuracy and chance: of the cues, the
    medoid of the captions, and models that are trained on the captions of other images. A third one counts malformed
    texts: words that a replacement inside a word made, doubled words, wrong articles, negatives that differ from the
    caption in punctuation only, wrong encodings, and phrases of a language model. Targets that cannot be read are
    listed at the end.

    Example: `compeval audit sugarcrepe swap_obj.json --csv malformed.csv`.
    """
    if output_format not in ("table", "md"):
        reject_unused_options(
            f"with --format {output_format}, which has no scores of a model", results=results
        )
    if csv:
        check_writable_file(csv, "--csv")
    with err.status("Reading"):
        (audits, baselines, malformed), failed = _audit_targets(targets, data)
    judged = {
        name: _combine_verdicts(result, baselines.get(name), malformed.get(name, ()))
        for name, result in audits.items()
    }
    _print_audits(audits, judged, baselines, malformed, output_format)
    if output_format in ("table", "md"):
        _print_baselines(baselines, output_format)
        _print_malformed(malformed, output_format)
        if results is not None:
            _print_scores(
                results,
                [target for target in targets if target not in dict(failed)],
                data,
                output_format,
            )
        _print_summary(judged)
    if csv:
        write_malformed(csv, malformed)
    if failed:
        _stop(failed, len(targets))


def _print_summary(judged: Mapping[str, tuple[str, list[str]]]) -> None:
    flawed = sum(bool(findings) for _, findings in judged.values())
    print_message(
        f"{flawed} of {len(judged)} sets have flaws, or cues to the correct caption in the texts. `--format csv` and "
        "`--json` contain all numbers."
    )


def _stop(failed: Sequence[tuple[str, str]], count: int) -> NoReturn:
    """Print why some of ``count`` targets cannot be read, and exit with 1."""
    report_failure(f"{len(failed)} of {count} targets cannot be read:")
    for _, reason in failed:
        report_failure(reason)
    raise typer.Exit(1)


def _combine_verdicts(
    result: Audit, best: BestBaseline | None, malformed: Iterable[Finding]
) -> tuple[str, list[str]]:
    """Return the verdict on a set, and what was found: flaws and cues, malformed negatives, a text-only baseline."""
    findings = list(result.findings)
    has_flaws = "flaws" in result.verdict
    has_cues = "cues" in result.verdict
    if by_kind := group_by_kind(malformed):
        texts = {(item.row, item.candidate) for found in by_kind.values() for item in found}
        findings.append(f"{len(texts):,} negatives are malformed ({', '.join(by_kind)})")
        has_flaws = True
    if best and best.beats_chance:
        findings.append(
            f"text-only baseline {best.name!r} selects the caption in {best.recall:.1%} of rows "
            f"(chance {best.chance:.1%})"
        )
        has_cues = True
    names = ["flaws"] * has_flaws + ["cues"] * has_cues
    return " and ".join(names) or "clean", findings


def _print_audits(
    audits: Mapping[str, Audit],
    judged: Mapping[str, tuple[str, list[str]]],
    baselines: Mapping[str, BestBaseline],
    malformed: Mapping[str, Sequence[Finding]],
    output_format: FormatName,
) -> None:
    """Print the audits. csv and json contain what the tables of baselines and of malformed texts show as well."""
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
    records: list[dict[str, Any]] = []
    document: dict[str, Any] = {}
    for name, result in audits.items():
        verdict, findings = judged[name]
        best = baselines.get(name)
        by_kind = group_by_kind(malformed.get(name, ()))
        sizes = {"rows": result.rows, "negatives": result.negatives, "chance": result.chance}
        found = [*result.to_records()]
        if best:
            found.append(sizes | {"kind": "baseline", "name": best.name, "value": best.recall})
        found += [
            sizes | {"kind": "malformed", "name": kind, "value": len(items)}
            for kind, items in by_kind.items()
        ]
        records += [{"set": name, "verdict": verdict, **record} for record in found]
        document[name] = result.to_json() | {
            "verdict": verdict,
            "findings": findings,
            "baseline": best and best._asdict() | {"beats_chance": best.beats_chance},
            "malformed": {kind: _describe_malformed(items) for kind, items in by_kind.items()},
        }
    print_records(output_format, rows, records, document, left=3)


def _describe_malformed(found: Sequence[Finding]) -> dict[str, Any]:
    """Return the numbers of malformed negatives of a kind and of their rows, and the first one."""
    return {
        "negatives": len(found),
        "rows": len({item.row for item in found}),
        "example": {"row": found[0].row, "detail": found[0].detail},
    }


def _print_baselines(baselines: Mapping[str, BestBaseline], output_format: FormatName) -> None:
    if not baselines:
        return
    from compeval.evaluators.report.tables import format_rows

    typer.echo()
    records = [
        {"set": name, "above": "yes" if baseline.beats_chance else "no", **baseline._asdict()}
        for name, baseline in baselines.items()
    ]
    print_records(output_format, format_rows("audited_baselines", records), [], left=1)
    solved = sum(baseline.beats_chance for baseline in baselines.values())
    print_message(f"A text-only baseline beats chance on {solved} of {len(baselines)} sets.")


def _print_malformed(malformed: Mapping[str, Sequence[Finding]], output_format: FormatName) -> None:
    rows: list[dict[str, str]] = []
    for name, findings in malformed.items():
        for kind, found in group_by_kind(findings).items():
            counts = _describe_malformed(found)
            row = {"set": name, "malformed": kind}
            row |= {key: f"{counts[key]:,}" for key in ("negatives", "rows")}
            rows.append(row | {"example": f"row {found[0].row}: {found[0].detail}"})
    if rows:
        typer.echo()
        print_records(output_format, rows, [], left=2)


def _print_scores(
    results: Path, targets: Sequence[str], data: Path | None, output_format: FormatName
) -> None:
    """Print a model's scores with and without malformed texts, on the tasks of the targets."""
    from compeval.evaluators.inspection.malformed import score_without_malformed
    from compeval.evaluators.report.tables import format_with_interval
    from compeval.loaders.datasets.folders import resolve_folder
    from compeval.loaders.importing.identify import identify

    names = (
        identify(Path(target)).benchmark.name
        if Path(target).is_file()
        else resolve_folder(target, data).name
        for target in targets
    )
    datasets = set(filter(_is_english, names))
    titles = {
        "all": "all rows",
        "rows": "rows without malformed texts",
        "negatives": "without malformed negatives",
    }
    rows: list[dict[str, str]] = []
    for record in score_without_malformed(results, datasets):
        texts = {"task": record["task"], "model": record["model"]}
        for name, title in titles.items():
            scores = record[name]
            interval = (
                format_with_interval(scores["recall@1"], scores["interval"])
                if scores["rows"]
                else "none"
            )
            texts[f"{title} %"] = f"{interval} of {scores['rows']:,}"
        rows.append(texts)
    if not rows:
        print_message(f"{results}: no results on tasks with malformed texts.")
        return
    typer.echo()
    print_records(output_format, rows, [], left=2)


def group_by_kind(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Return the malformed negatives by kind, the most frequent kind first; captions are not negatives."""
    by_kind: dict[str, list[Finding]] = {}
    for item in findings:
        if item.candidate:
            by_kind.setdefault(item.kind, []).append(item)
    return dict(sorted(by_kind.items(), key=lambda item: -len(item[1])))


def write_malformed(path: Path, malformed: Mapping[str, Sequence[Finding]]) -> None:
    """Write one line per malformed text and kind: the set, the number of the row in it (from 0), and the texts."""
    from compeval.base.files import csv_tables
    from compeval.loaders.malformed import Finding

    rows = ({"set": name, **item._asdict()} for name, found in malformed.items() for item in found)
    csv_tables.write(path, ["set", *Finding._fields], rows)
    print_message(f"{path}: {sum(map(len, malformed.values())):,} malformed texts")


AuditedTarget = tuple[dict[str, "Audit"], dict[str, "BestBaseline"], dict[str, "list[Finding]"]]


def _audit_targets(
    targets: Sequence[str], data: Path | None
) -> tuple[AuditedTarget, list[tuple[str, str]]]:
    """Return the audits of all targets, and those that cannot be read, with the reason; that of a single one is raised.

    A name that two targets have is preceded by the second one.
    """
    from compeval.loaders.malformed import KINDS, list_available_kinds

    if missing := set(KINDS) - set(list_available_kinds()):
        print_message(
            f"Not looked for: {', '.join(missing)}, which need WordNet ({install_command('nltk')})."
        )
    audited: AuditedTarget = ({}, {}, {})
    failed: list[tuple[str, str]] = []
    for target in targets:
        try:
            of_target = _audit_target(target, data)
        except (ValueError, OSError) as error:
            if len(targets) == 1:
                raise
            failed.append((target, str(error)))
            continue
        for known, found in zip(audited, of_target, strict=True):
            known |= {f"{target}: {name}" if name in known else name: found[name] for name in found}
    return audited, failed


def _audit_target(target: str, data: Path | None) -> AuditedTarget:
    """Return the audits and malformed texts by split, and the best baselines by set, of a dataset or published file.

    Prints how many rows of a file are unreadable.
    """
    if Path(target).is_file():
        return _audit_file(Path(target))
    from compeval.loaders.audit import audit_dataset, read_splits
    from compeval.loaders.datasets.folders import resolve_folder
    from compeval.loaders.datasets.split_names import name_of_stored
    from compeval.loaders.malformed import find_malformed, list_available_kinds

    folder = resolve_folder(target, data)
    audits = audit_dataset(folder)
    names = {split: name_of_stored(folder.name, *split.split("/")) for split in audits}
    from compeval.evaluators.validity.best_baselines import find_best_of_dataset

    baselines = find_best_of_dataset(folder)
    texts_by_split = read_splits(folder) if _is_english(folder.name) else {}
    malformed = {
        names[split]: list(find_malformed(list(texts), list_available_kinds()))
        for split, texts in texts_by_split.items()
    }
    return {names[split]: result for split, result in audits.items()}, baselines, malformed


def _audit_file(path: Path) -> AuditedTarget:
    from compeval.evaluators.validity.best_baselines import find_best
    from compeval.loaders.importing.identify import identify
    from compeval.loaders.importing.read_published import audit_splits, read_published
    from compeval.loaders.malformed import find_malformed, list_available_kinds

    published = identify(path)
    read = read_published(published)
    counts = read.counts
    if unreadable := sum(counts.dropped.values()):
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in counts.dropped.items())
        report_failure(
            f"{path}: {unreadable:,} of {counts.read:,} rows cannot be read and are not counted ({reasons})."
        )
    audits = audit_splits(read.splits)
    names = {split: path.name if len(audits) == 1 else f"{path.name}: {split}" for split in audits}
    baselines = {
        names[split]: baseline
        for (config, name), rows in read.splits.items()
        if (split := f"{config}/{name}") in names
        and (
            baseline := find_best(
                (row.image_id or row.images[0], row.list_candidates()) for row in rows
            )
        )
    }
    malformed = {
        names[f"{config}/{name}"]: list(
            find_malformed([row.texts() for row in rows], list_available_kinds())
        )
        for (config, name), rows in read.splits.items()
        if f"{config}/{name}" in names and "en" in published.benchmark.languages
    }
    return {names[split]: result for split, result in audits.items()}, baselines, malformed


def _is_english(dataset: str) -> bool:
    """Return True if the rules for malformed texts, which are of English, apply: not to published sets without it."""
    from compeval.loaders import benchmarks

    source = dataset.removesuffix("_half_truths")
    return source not in benchmarks.list_names() or "en" in benchmarks.load(source).languages


def inspect(
    targets: Annotated[
        list[str], typer.Argument(help="Names or folders of datasets, or published files.")
    ],
    output: Annotated[Path, typer.Option(help="Folder of the pages.")] = Path("inspection"),
    results: Annotated[
        Path | None,
        typer.Option(
            help="Folder of a model's results: its score on the sampled rows, and on the least "
            "predictable half of them, unless a text-only baseline beats chance on that half."
        ),
    ] = None,
    data: Data = None,
    output_format: Format = "table",
) -> None:
    """Make a page per dataset: text-only baselines, how captions differ from negatives, duplicates, random rows.

    A baseline that learns is trained on other images of the same set, so the page shows what a model can learn from the
    texts of the set. `compeval audit` prints the simplest baselines and all flaws in seconds.

    The file rows_NAME.csv has the text-only predictability of each sampled row: the share of the baselines that select
    its true caption.

    Example: `compeval inspect sugarcrepe --output inspection`.
    """
    check_writable(output)
    _check_targets(targets, data)
    from compeval.evaluators.inspection import open_sources
    from compeval.evaluators.inspection.predictability import score_least_predictable
    from compeval.evaluators.report.tables import format_rows

    records: list[dict[str, Any]] = []
    halves: list[dict[str, Any]] = []
    with err.status("Reading"):
        sources = open_sources(targets, data)
    for source in sources:
        reports = _make_page(source, output)
        if results is not None:
            halves += score_least_predictable(source, reports, results)
        records += [_describe_set(source.name, report) for report in reports]
    described = [
        record
        | {
            "set": f"{record['dataset']}/{record['set']}",
            "recall": record["recall@1"],
            "interval": (record["low"], record["high"]),
            "above": "no" if record["verdict"].startswith("not") else "yes",
            "name": record["rule"],
        }
        for record in records
    ]
    print_records(output_format, format_rows("inspected", described), records, left=1)
    if halves and output_format in ("table", "md"):
        typer.echo()
        print_records(output_format, [_describe_half(record) for record in halves], [], left=2)


def _check_targets(targets: Sequence[str], data: Path | None) -> None:
    """Raise FileNotFoundError or ValueError for a target that is neither a file or folder nor a dataset."""
    from compeval.loaders.datasets.folders import resolve_folder

    for target in targets:
        if not Path(target).exists():
            resolve_folder(target, data)


def _make_page(source: Source, output: Path) -> list[SetReport]:
    from compeval.evaluators.inspection import inspect as make_page

    with err.status(source.name) as status:
        reports = make_page(source, output, status.update)
    print_message(f"{source.name}: {output / source.name}.html")
    return reports


def _describe_set(dataset: str, report: SetReport) -> dict[str, Any]:
    """Return the best text-only baseline of a set, as a record."""
    from compeval.base.text_only.judges import name_judge

    low, high = report.rules[report.best_baseline]["interval"]
    return {
        "dataset": dataset,
        "set": report.name,
        "rows": report.rows,
        "chance": report.chance,
        "rule": name_judge(report.best_baseline),
        "recall@1": report.best_recall,
        "low": low,
        "high": high,
        "verdict": "above chance" if report.above_chance else "not above chance",
    }


def balance(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Published files, each of one set with negatives. Files of one benchmark judge "
            "each other."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            help="File of the lists. `compeval import` and `get` read sources/balanced.yaml of the folder that they "
            "write to."
        ),
    ] = Path("sources/balanced.yaml"),
    corpus: Annotated[
        str | None,
        typer.Option(
            help="Glob of caption files (parquet, csv, tsv, jsonl, txt, or tar) on which n-gram "
            "models are trained."
        ),
    ] = None,
    corpus_column: Annotated[
        str,
        typer.Option(
            help="Name of the column with the captions, or its position (from 0) in a table "
            "without a header."
        ),
    ] = "caption",
    output_format: Format = "table",
) -> None:
    """Select the pairs of published files on which no text-only baseline is above chance.

    A pair is a caption with one negative; of several negatives of a row, one is drawn. A subset is only offered if it
    has at least 100 pairs and no judge is more than 3 points above chance: text-only baselines that are trained on
    other images of the subset, on the pairs that were removed, on the other files of the benchmark in this call, and
    n-gram models of a corpus. Expect that most files have no subset, and more of them the more files and captions you
    give. Each file takes minutes.

    The list of pairs is written to a file, and `compeval import` then writes the task @balanced. Nothing of the other
    files and of the corpus is written.

    Example: `compeval balance swap_obj.json swap_att.json --corpus 'cc3m/*.tsv'`.
    """
    check_writable_file(output)
    from compeval.evaluators.validity.balanced_subsets import (
        Outside,
        balance_file,
        read_corpus,
        read_siblings,
    )
    from compeval.loaders.published.balanced import write_lists

    column = int(corpus_column) if corpus_column.isdecimal() else corpus_column
    models = read_corpus(corpus, column) if corpus else None
    entries: list[dict[str, Any]] = []
    for path in files:
        with err.status(f"{path}: selecting"):
            siblings, names = read_siblings(path, files)
            entries.append(balance_file(path, Outside(siblings, names, models)))
        write_lists(output, entries)
    print_records(output_format, list(map(_describe_balanced, entries)), entries)
    print_message(f"{output}: the pairs. The best judge of each kind is shown, after refinement.")


JUDGE_KINDS = ("seen", "unseen", "cues", "removed", "siblings", "corpus")


def _describe_balanced(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return an entry of balanced.yaml as a row of a table."""
    from compeval.evaluators.report.tables import format_with_interval

    kept = f"{entry.get('pairs_kept', 0):,} of {entry['pairs_tried']:,}"
    row = {"file": entry["file"], "kept": kept}
    for kind in JUDGE_KINDS:
        scores = entry.get("after", {}).get(kind)
        row[f"{kind} %"] = (
            format_with_interval(scores["accuracy"], scores["interval"]) if scores else ""
        )
    if "excluded_by" in entry:
        return row | {"balanced": f"no subset: {entry['excluded_by']['baseline']}"}
    return row | {"balanced": "yes" if "kept" in entry else "no subset"}


def _describe_half(record: Mapping[str, Any]) -> dict[str, str]:
    from compeval.base.text_only.judges import name_judge
    from compeval.evaluators.report.tables import format_with_interval

    texts = {"task": record["task"], "model": record["model"]}
    for name, title in (("all", "sampled rows"), ("least", "least predictable half")):
        score = format_with_interval(record[name], record[f"{name} interval"])
        texts[f"{title} %"] = f"{score} of {record[f'{name} rows']:,}"
    if record["solved by"]:
        baseline, recall = record["solved by"]
        texts["least predictable half %"] = f"none: {name_judge(baseline)} selects {recall:.1%}"
    return texts
