"""The published scores: of papers' tables, of vl_compo's table of models, and those that benchmarks declare.

scores.csv contains the papers' tables, and scores of ten models from vl_compo's table. Its columns are those of
:class:`PublishedScore`. CREPE's authors did not release the raw pairs of Tables 15 and 16. If you have a copy, name
the dataset ``crepe_published`` and its configs ``<corpus>_{sc,uc,ua}_raw`` and ``prod_raw``.

vl_compo's whole table has 202 models (Oh et al. 2024, arXiv:2406.09388). It is read if it is here:
`compeval sources get vl_compo` downloads it to ``sources/`` in the current folder.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from loaders.datasets.folders import search_path

SCORES = Path(__file__).with_name("scores.csv")
DECLARATIONS = "loaders.benchmarks"
"""Imported by name: the stages of the pipeline report on generated datasets only and do not depend on it."""
TABLE = Path("sources", "vl_compo", "individual_results.csv")
TABLE_SOURCE = "vl_compo's table of published models"
PATTERN_BY, IMAGES_BY = "visual pattern", "kind of images"
"""Categories of MMVP-VLM and of ImageCoDe."""


class PublishedScore(NamedTuple):
    model: str
    """Effective name of the model in results."""
    task: str
    """Name of a task, or a glob of several tasks, whose mean over rows is compared."""
    metric: str
    percent: float
    tasks: int
    """Number of tasks that ``task`` matches."""
    source: str
    by: str = ""
    """Kind of category, for a score on a part of the rows."""
    category: str = ""


@cache
def read_scores() -> tuple[PublishedScore, ...]:
    """Return all published scores."""
    table = next((path for folder in search_path() if (path := folder / TABLE).is_file()), None)
    with SCORES.open(encoding="utf-8", newline="") as file:
        scores = [
            PublishedScore(model, task, metric, float(percent), int(tasks), *rest)
            for model, task, metric, percent, tasks, *rest in list(csv.reader(file))[1:]
        ]
    if table is not None:
        scores = [score for score in scores if score.source != TABLE_SOURCE] + read_table(table)
    return (*scores, *_read_declared())


def _read_declared() -> Iterator[PublishedScore]:
    for benchmark in import_module(DECLARATIONS).load_all():
        for score in benchmark.scores:
            task = f"{benchmark.name}/{score.config}"
            yield PublishedScore(score.model, task, score.metric, score.percent, 1, score.source)


class Column(NamedTuple):
    """What a column of vl_compo's table measures."""

    task: str
    metric: str
    tasks: int = 1
    by: str = ""
    category: str = ""


def read_table(path: Path) -> list[PublishedScore]:
    """Return the scores of vl_compo's table (``individual_results.csv``). Raises ValueError for another file."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        columns = {name: column for name in reader.fieldnames or () if (column := parse_column(name))}
        if not columns or not {"arch", "pretrained", "family"} <= set(reader.fieldnames or ()):
            raise ValueError(f"{path}: not vl_compo's individual_results.csv. Download it again.")
        rows = list(reader)
    return list(dict.fromkeys(score for row in rows for score in _read_row(row, columns)))


def _read_row(row: dict[str, str], columns: dict[str, Column]) -> Iterator[PublishedScore]:
    model = name_model(row["arch"], row["pretrained"], row["family"])
    patterns: dict[str, list[float]] = {}
    for name, (task, metric, tasks, by, category) in columns.items():
        percent = float(row[name] or "nan")
        if math.isnan(percent):
            continue
        if by == PATTERN_BY:
            patterns.setdefault(metric, []).append(percent)
        yield PublishedScore(model, task, metric, round(percent, 2), tasks, TABLE_SOURCE, by, category)
    for metric, percents in patterns.items():  # nine patterns of 15 pairs each
        percent = round(sum(percents) / len(percents), 2)
        yield PublishedScore(model, "mmvp_vlm/main", metric, percent, 1, TABLE_SOURCE)


def name_model(architecture: str, weights: str, family: str) -> str:
    """Return the name of a model of the table: open_clip's name, or one that begins with the family.

    open_clip always ran OpenAI's weights with QuickGELU, other weights with the activation of the architecture.
    """
    if architecture == "NegCLIP":
        return architecture
    if weights == "openai":
        return f"{architecture.removesuffix('-quickgelu')}-quickgelu/{weights}"
    return f"{architecture}/{weights}" if family == "OpenCLIP" else f"{family}/{architecture}/{weights}"


ARO = {
    "VG_Relation": ("vg_relation", "recall@1_macro_relation"),
    "VG_Attribute": ("vg_attribution", "recall@1_macro_attribute_pair_from_25_rows"),
    "Flickr30k_Order": ("flickr30k_order", "recall@1"),
    "COCO_Order": ("coco_order", "recall@1"),
}
CREPE = {"atom": "hnatom", "swap": "hnswap", "negate": "hnneg"}
COMPLEXITIES = 9
SVO = {"subj_neg": "subject", "verb_neg": "verb", "obj_neg": "object"}
WHATSUP = {f"WhatsUp_{key.upper()}": (f"whatsup/controlled_{key}", "accuracy") for key in "ab"}
RETRIEVAL = {"coco_karpathy": "retrieval/coco", "flickr30k": "retrieval/flickr30k"}
CLASSIFICATION = {"imagenet-1k": "imagenet", "cifar10": "cifar10", "cifar100": "cifar100"}


def parse_column(name: str) -> Column | None:
    """Return what a column measures; None for a benchmark that is not here."""
    benchmark, *parts = name.split("::")
    match benchmark, parts:
        case "aro", [part]:
            return Column(f"aro_published/{ARO[part][0]}", ARO[part][1])
        case "crepe", [part]:
            return Column(f"crepe_published/prod_{CREPE[part]}/n*", "recall@1", COMPLEXITIES)
        case "colorswap" | "winoground", [part]:
            return Column(f"{benchmark}/main", f"{part}_score")
        case "eqben", [subset, part]:
            return Column(f"eqben/{subset.removeprefix('eqben')}", f"{part}_score")
        case "mmvp_vlm", [pattern, part]:
            return Column("mmvp_vlm/main", f"{part}_score", 1, PATTERN_BY, pattern)
        case "imagecode", [part]:
            return Column("imagecode/valid", "recall@1", 1, IMAGES_BY, part.removesuffix("s"))
        case "sugarcrepe", [part]:
            return Column(f"sugarcrepe/{part}", "recall@1")
        case "svo_probes", [part]:
            return Column(f"svo_probes/{SVO[part]}", "recall@1")
        case "valse", [part]:
            return Column(f"valse/{part.replace('-', '_')}", "recall@1")
        case "vl_checklist", [part]:
            return Column(f"vl_checklist/{part.lower()}", "recall@1_macro_source")
        case "whatsup", [part]:
            return Column(*(WHATSUP.get(part) or (f"whatsup/{part.lower()}_obj", "recall@1")))
        case (("coco_karpathy" | "flickr30k"), [part]):
            direction, _, recall = part.partition("/")
            return Column(RETRIEVAL[benchmark], f"{direction}_{recall.replace('R', 'recall')}")
        case "elevator", [part] if part in CLASSIFICATION:
            return Column(f"classification/{CLASSIFICATION[part]}", "top1")
    return None
