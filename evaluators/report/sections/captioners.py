"""Compare the captioners of the productivity sets: the captions themselves, and the scores of models on them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from evaluators.metrics.intervals import compute_share_interval
from evaluators.report.headlines import read_hits
from evaluators.report.results import COMPLEXITY, PRODUCTIVITY_KINDS, Result, Results
from evaluators.report.section import Section
from evaluators.report.tables import MISSING, Table, format_with_interval, make_table
from evaluators.report.text_only import find_rule
from generators.schemas.corpus_names import ProductivityConfig, parse_productivity

KINDS = ("hnatom", "hnswap", "hnneg")


def make_section(results: Results) -> Section | None:
    """Make the section. Returns None without results on a variant of the productivity sets."""
    by_config = group_by_config(results)
    variants = sorted({config.variant for config in by_config if config.variant})
    tables = [table for variant in variants for table in [make_score_table(by_config, variant)] if len(table.cells)]
    if not tables:
        return None
    measured = (results.validity or {}).get("captioners")
    if measured:
        tables.insert(0, make_caption_table(results, by_config, measured))
    shown = {
        result.key for config, items in by_config.items() if config.variant and config.kind in KINDS for result in items
    }
    return Section("captioners", tables, shown=shown)


def group_by_config(results: Results) -> dict[ProductivityConfig, list[Result]]:
    by_config: dict[ProductivityConfig, list[Result]] = {}
    for result in results.select("crepe"):
        config = parse_productivity(result.data["config"])
        if config and COMPLEXITY.fullmatch(result.data["split"]):
            by_config.setdefault(config, []).append(result)
    return by_config


def make_caption_table(
    results: Results,
    by_config: Mapping[ProductivityConfig, list[Result]],
    measured: Collection[Mapping[str, Any]],
) -> Table:
    """Make the table of captions: one row per captioner and range of complexities."""
    rows = []
    for line in measured:
        on_atoms = by_config.get(ProductivityConfig(line["variant"] or None, "hnatom"), [])
        rule = find_rule(results, on_atoms[0]) if on_atoms else None
        first, last = min(line["complexities"]), max(line["complexities"])
        rows.append(
            [
                line["captioner"],
                str(first) if first == last else f"{first} to {last}",
                line["captions"],
                line["kept"],
                line["true"],
                line["genuine"],
                MISSING if line["log_probability"] is None else f"{line['log_probability']:.2f}",
                str(rule) if rule else MISSING,
            ]
        )
    header = ("Captioner", "Atoms", "Captions", "Kept", "True", "Genuine negatives", "Fluency", "Best rule on HN-Atom")
    return make_table("captioners", header, rows)


def make_score_table(by_config: Mapping[ProductivityConfig, list[Result]], variant: str) -> Table:
    """Make the table of scores: Recall@1 of each model on a variant and on the default, at the same complexities."""
    rows = [row for kind in KINDS for row in _compare(by_config, variant, kind)]
    header = ("Model", "Type", "Atoms", "Rows", f"Recall@1, {variant}", "Rows, default", "Recall@1, default", "Chance")
    return make_table("captioner_scores", header, rows, suffix=f"_{variant}", variant=variant)


def _compare(by_config: Mapping[ProductivityConfig, list[Result]], variant: str, kind: str) -> Iterator[list[object]]:
    ours, default = (
        {(result.label, result.data["split"]): result for result in by_config.get(ProductivityConfig(name, kind), [])}
        for name in (variant, None)
    )
    for model in dict.fromkeys(model for model, _ in ours):
        splits = [split for label, split in ours if label == model and (model, split) in default]
        if not splits:
            continue
        numbers = sorted(int(split[1:]) for split in splits)
        cells: list[object] = []
        for results in (ours, default):
            hits = read_hits([results[model, split] for split in splits], "split", splits)
            interval = compute_share_interval(hits["hit"].to_numpy(dtype=float), hits["image_id"].to_numpy())
            cells += [len(hits), format_with_interval(hits["hit"].mean(), interval)]
        chance = ours[model, splits[0]].data["chance"]["recall@1"]
        atoms = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        yield [model, PRODUCTIVITY_KINDS[kind], atoms, *cells, chance]
