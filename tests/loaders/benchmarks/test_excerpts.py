"""Each benchmark on excerpts of its published files: all rows are read, and the scores of known models are right.

An oracle scores 1, a constant model 0, and a random one at chance. The numbers of rows are those of the excerpts' own
README, or were counted in the files.
"""

import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators import protocols
from compeval.evaluators.protocols import authors
from compeval.evaluators.protocols.base import Directions, RowProtocol
from compeval.loaders import benchmarks
from compeval.loaders.audit import audit_dataset
from compeval.loaders.benchmarks import colorfoil
from compeval.loaders.datasets.stats import read_stats
from compeval.loaders.importing.selection import RowSelection
from compeval.loaders.importing.write_dataset import import_files
from compeval.loaders.published.rows import Row, read_csv
from tests.published_files import list_leaves, read_file
from tests.stand_ins import write_stand_ins


class Excerpt(NamedTuple):
    path: str
    benchmark: str
    read: int
    """Rows in the file; for files in which several rows belong together, groups of rows."""
    dropped: int = 0
    contradictory: int = 0
    """Rows in which a wrong candidate equals the true one."""


VALSE = {
    "actant-swap": 4, "action-replacement": 6, "coreference-hard": 9, "coreference-standard": 7,
    "counting-adversarial": 5, "counting-hard": 8, "counting-small-quant": 7, "existence": 4, "foil-it": 4,
    "plurals": 4, "relations": 5,
}  # fmt: skip
"""Rows that fewer than two annotators confirmed."""
VL_CHECKLIST = {
    "Attribute/vaw/action": 0, "Attribute/vaw/material": 0, "Attribute/vg/action": 1, "Attribute/vg/color": 1,
    "Attribute/vg/material": 0, "Attribute/vg/size": 1, "Attribute/vg/state": 1,
    "Object/Location/hake_location/hake_obj_margin": 0, "Object/Location/swig_location/swig_tool/swig_tool_margin": 0,
    "Object/Location/vg_location/vg_subj_mid": 0, "Object/Size/hake_size/hake_obj_small": 0,
    "Object/Size/swig_size/swig_tool/swig_tool_small": 0, "Object/Size/vg_size/vg_obj_small": 0,
    "Relation/swig_action": 1, "Relation/vg/action": 1, "Relation/vg/spatial": 0,
}  # fmt: skip
"""Rows with two equal captions."""
SUGARCREPE_PP = {"replace_att": 0, "replace_obj": 0, "replace_rel": 0, "swap_att": 0, "swap_obj": 1}
EXCERPTS = [
    *(
        Excerpt(f"sugarcrepe_pp/data/{name}.json", "sugarcrepe_pp", 60, 0, n)
        for name, n in SUGARCREPE_PP.items()
    ),
    *(Excerpt(f"valse/data/{name}.json", "valse", 27, dropped) for name, dropped in VALSE.items()),
    *(
        Excerpt(f"vl_checklist/data/{name}.json", "vl_checklist", 18, 0, equal)
        for name, equal in VL_CHECKLIST.items()
    ),
    Excerpt("cola/data/COLA_multiobjects_matching_benchmark.json", "cola", 100),
    Excerpt("imagecode/data/valid_data.json", "imagecode", 217),
    Excerpt("aro/visual_genome_attribution.json", "aro_published", 203),
    Excerpt("aro/visual_genome_relation.json", "aro_published", 100),
    Excerpt("hard_positives/data/vl_checklist_attributes.json", "hard_positives", 70),
    Excerpt("hard_positives/data/vl_checklist_relations.json", "hard_positives", 70, 0, 1),
    Excerpt("predicate_noun/eval_set.json", "predicate_noun", 150 // 2),
    Excerpt("comvg/ComVG.csv", "comvg", 265),
    Excerpt("svo_probes/svo_probes.csv", "svo_probes", 240),
    Excerpt("negbench/images/synthetic_mcq_llama3.1_rephrased.csv", "negbench", 40),
]


@pytest.mark.parametrize("excerpt", EXCERPTS, ids=lambda excerpt: excerpt.path)
def test_real_rows(real_data: Path, excerpt: Excerpt):
    path = real_data / "benchmarks" / excerpt.path
    counts, rows = read_file(path)
    assert (counts.family, counts.read, counts.dropped.total()) == (
        excerpt.benchmark,
        excerpt.read,
        excerpt.dropped,
    )
    texts = {text for row in rows for text in (*row.captions, *row.hard_negatives)}
    companion = path.parent.parent / "swapped_data" / path.name
    assert texts <= {
        text for file in (path, companion) if file.is_file() for text in list_strings(file)
    }
    clear = [row for row in rows if not is_contradictory(row)]
    assert len(rows) - len(clear) == excerpt.contradictory
    for config in {row.config for row in rows}:
        config_rows = [row for row in clear if row.config == config]
        truth_NIT = np.stack([find_truth(row) for row in config_rows]).astype(np.float32)
        assert set(score(excerpt.benchmark, config, truth_NIT).values()) == {(1.0, 0)}, "an oracle"
        assert set(score(excerpt.benchmark, config, np.ones_like(truth_NIT)).values()) == {
            (0.0, 1)
        }, "a constant"
        check_chance(excerpt.benchmark, config, truth_NIT.shape)


def list_strings(path: Path) -> Iterator[str]:
    """Yield all strings of a JSON or CSV file."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            yield from (cell for row in csv.reader(file) for cell in row)
    else:
        yield from list_leaves(json.loads(path.read_text(encoding="utf-8")))


def find_truth(row: Row) -> np.ndarray:
    """Return True (I, T) where an image and a text of a row belong together."""
    images, texts = len(row.images), len(row.captions) + len(row.hard_negatives)
    if images == 1:
        return np.arange(texts)[None] < len(row.captions)
    return np.eye(images, texts, dtype=bool)


def is_contradictory(row: Row) -> bool:
    """Return True if a wrong pair of image and text equals a true one, so that no model can be right."""
    texts, truth_IT = (*row.captions, *row.hard_negatives), find_truth(row)
    pairs = {
        is_true: {(row.images[i], texts[t]) for i, t in np.argwhere(truth_IT == is_true)}
        for is_true in (True, False)
    }
    return not pairs[True].isdisjoint(pairs[False])


def evaluate(benchmark: str, config: str, score_NIT: np.ndarray) -> Directions:
    declaration = benchmarks.load(benchmark)
    protocol = protocols.find_protocol(declaration.find_schema(config).names)
    assert isinstance(protocol, RowProtocol)
    rule = declaration.find_authors_rule(config)
    return protocol.evaluate(score_NIT) | (authors.evaluate(rule, score_NIT) if rule else {})


def score(benchmark: str, config: str, score_NIT: np.ndarray) -> dict[str, tuple[float, float]]:
    """Return the main metric and the tie rate of each direction."""
    directions = evaluate(benchmark, config, score_NIT)
    summaries = {name: (metrics.main, metrics.summarise()) for name, metrics in directions.items()}
    return {
        name: (summary[main], summary["tie_rate"]) for name, (main, summary) in summaries.items()
    }


def check_chance(benchmark: str, config: str, shape: Sequence[int]) -> None:
    """Check that random scores agree with the declared chance level within its 99.9 % interval."""
    chance = benchmarks.load(benchmark).find_chance(config)
    directions = evaluate(
        benchmark, config, np.random.default_rng(0).random(shape, dtype=np.float32)
    )
    shares = [
        item.summarise()[item.main]
        for item in directions.values()
        if abs(item.chance[item.main] - chance) < 1e-4
    ]
    assert shares, f"no metric of {benchmark} has the declared chance"
    assert all(
        abs(share - chance) <= 3.3 * sqrt(chance * (1 - chance) / shape[0]) for share in shares
    )


CARDS = [
    *(f"benchmarks/{path}" for path in (
        "sugarcrepe_pp/data/swap_obj.json", "valse/data/actant-swap.json", "colorswap/test.json",
        "cola/data/COLA_multiobjects_matching_benchmark.json", "negbench/images/COCO_val_retrieval.csv",
        "vl_checklist/data/Attribute/vg/size.json", "aro/visual_genome_relation.json", "vsr/splits/zeroshot/dev.jsonl",
        "hard_positives/data/vl_checklist_relations.json", "negbench/images/COCO_val_mcq_llama3.1_rephrased.csv",)),
    "crepe/prod_hard_negatives/swap/prod_vg_hard_negs_swap_complexity_4.csv", "aro/valid_neg_clip.head500.tsv",
]  # fmt: skip
"""Files of each schema and reader."""


def test_the_counts_of_every_card_are_those_of_the_written_rows(real_data: Path, tmp_path: Path):
    """Some images are missing, so that some rows are not written."""
    files = [real_data / name for name in CARDS]
    write_stand_ins(files, tmp_path / "images")
    for path in [path for path in sorted((tmp_path / "images").rglob("*")) if path.is_file()][::9]:
        path.unlink()
    import_files(files, tmp_path / "images", tmp_path / "data", RowSelection(skip_missing=True))
    folders = [path.parent for path in sorted((tmp_path / "data").glob("*/stats.json"))]
    assert len(folders) == len({read_file(path)[0].family for path in files})
    for folder in folders:
        stats, written = read_stats(folder), Counter[str]()
        for name, entry in stats["imported"].items():
            assert entry["read"] == sum(entry["written"].values()) + sum(
                entry["dropped"].values()
            ), name
            written.update(entry["written"])
        assert written == {
            f"{c}/{s}": rows for c, splits in stats["rows"].items() for s, rows in splits.items()
        }
        audits = {
            name: audit
            for entry in stats["imported"].values()
            for name, audit in entry["audits"].items()
        }
        has_negatives = {name for name, audit in audits.items() if audit["negatives"]}
        recounted = audit_dataset(folder) if has_negatives else {}
        for name, audit in recounted.items():
            assert {**audits[name], **audit.to_json()} == audits[name], name


# Runs


def run(model: str, dataset: str) -> dict[str, Any]:
    """Return the first result of a model on a dataset in the current folder."""
    options = ["--task", f"{dataset}/*", "--data", "data", "--json"]
    result = CliRunner().invoke(app, ["run", f"python:{model}", *options])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)[0]


def run_constant(path: Path, folder: Path) -> dict[str, float]:
    """Import a file with stand-ins for its images, and return the metrics of a constant model on its first task."""
    write_stand_ins([path], folder / "images")
    (counts, *_) = import_files([path], folder / "images", folder / "data")
    return run("toy_models:Constant", counts.family)["metrics"]


RUNS = {
    "valse/data/existence.json": {"recall@1": 0, "tie_rate": 1},
    "vl_checklist/data/Relation/vg/action.json": {"recall@1_macro_source": 0},
    "hard_positives/data/vl_checklist_relations.json": {
        "accuracy": 0,
        "caption_accuracy": 0,
        "brittleness": 0,
    },
    "predicate_noun/eval_set.json": {"text_score": 0, "group_score": 0},
    "comvg/ComVG.csv": {},
}
"""Metrics of a model that encodes all texts alike."""


@pytest.mark.parametrize("name", RUNS)
def test_runs_of_real_rows(real_data: Path, here: Path, name: str):
    assert run_constant(real_data / "benchmarks" / name, here).items() >= RUNS[name].items()


def test_runs_of_image_sets(here: Path):
    prepositions = ("on", "under", "left_of", "right_of")
    items = [
        {
            "image_path": f"data/controlled_images/mug_{first}_table.jpg",
            "caption_options": [
                f"mug {other} table"
                for other in sorted(prepositions, key=lambda other: other != first)
            ],
        }
        for first in prepositions
    ]
    path = here / "controlled_images_dataset.json"
    path.write_text(json.dumps(items), encoding="utf-8")
    metrics = run_constant(path, here)
    assert [
        metrics[name] for name in ("accuracy", "pair_accuracy", "set_accuracy", "tie_rate")
    ] == [0, 0, 0, 1]
    authors_metrics = ("authors_accuracy", "authors_pair_accuracy", "authors_set_accuracy")
    assert [metrics[name] for name in authors_metrics] == [1, 1, 1]


MODELS = '''
import hashlib
import json
from pathlib import Path

import numpy as np


class Oracle:
    """Encodes an image as its number, and a text as the numbers of the images that it is true of."""

    fingerprint = "oracle"

    def __init__(self, device):
        self.truths = json.loads(Path("truths.json").read_text(encoding="utf-8"))

    def number(self, image):
        red, green, _ = image.getpixel((0, 0))
        return 256 * red + green

    def encode_image(self, images):
        return np.eye(len(self.truths[""]) + 1)[[self.number(image) for image in images]]

    def encode_text(self, texts):
        unknown = [len(self.truths[""])]
        return np.array([np.eye(unknown[0] + 1)[self.truths.get(text, unknown)].sum(axis=0) for text in texts])


class Random(Oracle):
    fingerprint = "random"

    def draw(self, key):
        return np.random.default_rng(int(hashlib.sha256(key.encode()).hexdigest()[:8], 16)).normal(size=64)

    def encode_image(self, images):
        return np.array([self.draw(str(self.number(image))) for image in images])

    def encode_text(self, texts):
        return np.array([self.draw(text) for text in texts])


class Constant(Oracle):
    fingerprint = "constant"

    def encode_text(self, texts):
        return np.ones((len(texts), len(self.truths[""]) + 1))
'''
FILES = {
    "negbench/images/COCO_val_mcq_llama3.1_rephrased.csv": 62,
    "negbench/images/VOC2007_mcq_llama3.1_rephrased.csv": 30,
    "negbench/images/COCO_val_retrieval.csv": 25,
    "naturalbench/dataset_split_for_finetuning/test_set.json": 65,
    "vsr/splits/zeroshot/dev.jsonl": 68,
    "colorswap/test.json": 100,
}
"""Number of rows (of groups for NaturalBench) of excerpts, one for each protocol."""
OTHER_FILES = {
    "negbench/images/COCO_val_negated_retrieval_llama3.1_rephrased_affneg_true.csv": (
        "coco_retrieval_negated",
        25,
    ),
    "negbench/images/synthetic_retrieval_v1.csv": ("synthetic_retrieval_v1", 25),
    "negbench/images/synthetic_retrieval_v2.csv": ("synthetic_retrieval_v2", 26),
    "vsr/splits/random/dev.jsonl": ("random", 70),
    "vsr/splits/zeroshot/test.jsonl": ("zeroshot", 67),
}
"""Config and number of rows of excerpts in the formats of FILES."""


def list_truths(row: Row) -> Iterator[tuple[str, str]]:
    """Yield pairs of an image and a text that is true of it."""
    if row.label is not None:
        yield from zip(row.images, row.captions, strict=True) if row.label else ()
    elif len(row.images) == 1:
        yield from ((row.images[0], caption) for caption in row.captions)
    else:
        yield from ((row.images[place % 2], caption) for place, caption in enumerate(row.captions))


def make_images(rows: list[Row], folder: Path) -> None:
    """Write an image in its own colour for each name, and the truths for the oracle."""
    names = list(dict.fromkeys(name for row in rows for name in row.images))
    truths: dict[str, list[int]] = {"": list(range(len(names)))}
    for number, name in enumerate(names):
        path = folder / "images" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (2, 2), (number // 256, number % 256, 0)).save(path, "PNG")
    for image, text in sorted({truth for row in rows for truth in list_truths(row)}):
        truths.setdefault(text, []).append(names.index(image))
    (folder / "truths.json").write_text(json.dumps(truths), encoding="utf-8")
    (folder / "real_models.py").write_text(MODELS, encoding="utf-8")


@pytest.mark.parametrize("name", FILES)
def test_oracle_constant_and_chance(real_data: Path, here: Path, name: str):
    path = real_data / "benchmarks" / name
    counts, rows = read_file(path)
    assert (counts.read, len(rows)) == (FILES[name], FILES[name])
    make_images(rows, here)
    import_files([path], here / "images", here / "data")
    models = ("Oracle", "Constant", "Random")
    oracle, constant, random = (run(f"real_models:{model}", counts.family) for model in models)
    for metric in oracle["main"]:
        if metric.startswith("authors"):
            continue
        assert (oracle["metrics"][metric], constant["metrics"][metric]) == (1, 0), metric
        chance = random["chance"][metric]
        error = np.sqrt(chance * (1 - chance) / len(rows))
        assert abs(random["metrics"][metric] - chance) < 4 * error, metric
    if name.endswith("mcq_llama3.1_rephrased.csv"):
        assert constant["metrics"]["authors_accuracy"] == 1, "the truth is the first option"
    if counts.family == "vsr":
        assert (oracle["metrics"]["auc"], constant["metrics"]["auc"]) == (1, 0)


@pytest.mark.parametrize("name", OTHER_FILES)
def test_rows_of_other_files(real_data: Path, name: str):
    counts, rows = read_file(real_data / "benchmarks" / name)
    assert not counts.dropped
    assert ({row.config for row in rows}, len(rows)) == (
        {OTHER_FILES[name][0]},
        OTHER_FILES[name][1],
    )


def test_bivlc_texts_in_the_layout_of_the_hub(real_data: Path, tmp_path: Path):
    results = list(read_csv(real_data / "benchmarks/bivlc/results/BiVLC_ViT-B-32.csv", ()))
    cell = {"bytes": b"no image", "path": None}
    texts = ("caption", "negative_caption", "type", "subtype")
    items = [
        {key: row[key] for key in texts} | dict.fromkeys(("image", "negative_image"), cell)
        for row in results
    ]
    path = tmp_path / "test-00000-of-00002-23fe2e02660e9182.parquet"
    pq.write_table(pa.Table.from_pylist(items), path)
    counts, rows = read_file(path)
    assert (counts.family, counts.read, len(rows)) == ("bivlc", 180, 180)
    assert [row.captions for row in rows] == [
        (row["caption"], row["negative_caption"]) for row in results
    ]
    assert rows[0].categories == (("type", "add"), ("subtype", "add obj"))
    # The authors' outcomes agree with the group protocol: a score is the conjunction of its two comparisons.
    for one in results:
        text, image = (
            all(one[key] == "True" for key in keys)
            for keys in (("text_score_i0", "text_score_i1"), ("image_score_c0", "image_score_c1"))
        )
        scores = [str(outcome) for outcome in (text, image, text and image)]
        assert scores == [one[f"{name}_score"] for name in ("text", "image", "group")]


def test_colorfoil_of_real_captions(real_data: Path):
    """24 of 55 images have a caption with a colour name, counted by another program with matplotlib's list of names."""
    path = real_data / "benchmarks/coco_captions/captions_val2017.json"
    counts, rows = read_file(path)
    assert (counts.family, counts.read, counts.dropped.total()) == ("colorfoil", 24, 0)
    assert [(row.images[0], row.captions[0]) for row in rows[:2]] == [
        ("000000331352.jpg", "A tan toilet and sink combination in a small room."),
        ("000000420281.jpg", "A man with thick black glasses eats a hotdog."),
    ]
    assert {row.captions[0] for row in rows} <= set(list_strings(path))
    colors = {*colorfoil.NAMES}
    for row in rows:
        pairs = zip(row.captions[0].split(" "), row.hard_negatives[0].split(" "), strict=True)
        assert all((a in colors) == (a != b) and (a == b or b in colors) for a, b in pairs)
    truth_NIT = np.stack([find_truth(row) for row in rows]).astype(np.float32)
    assert set(score("colorfoil", "main", truth_NIT).values()) == {(1.0, 0)}, "an oracle"
    assert set(score("colorfoil", "main", np.ones_like(truth_NIT)).values()) == {(0.0, 1)}
