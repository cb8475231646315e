import hashlib
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest
import yaml
from PIL import Image
from pytest_httpserver import HTTPServer

from compeval.base.pipeline.params import PAPER
from compeval.base.readers.annotations import Annotations
from compeval.base.schemas.scene_graph import Box
from compeval.base.text_only.ngram import NgramModel
from compeval.base.texts import words
from compeval.generators import captioned_walks
from compeval.generators.captioned_walks import DEFAULT
from compeval.generators.captioner.captioned_walks import (
    CaptionedWalk,
    order_images,
    sample_keyed_walk,
)
from compeval.generators.captioner.captioner import Captioner, GrammarCaptioner, NoCaption, Request
from compeval.generators.captioner.prompted import PromptedCaptioner, read_shots
from compeval.generators.crepe_productivity import (
    RAW,
    Builder,
    ExampleRows,
    ImageWalks,
    ProductivitySettings,
    SplitRows,
    collect_rows,
    main,
    write,
)
from compeval.generators.graphs.facts import collect_facts
from compeval.generators.graphs.walks import COMPLEXITIES
from compeval.generators.hard_negatives.crepe.productivity import (
    BALANCED_KINDS,
    KINDS,
    PAPER_KINDS,
    Example,
)
from compeval.generators.hard_negatives.crepe.source import ImageSource, Source
from compeval.generators.llm.client import KEY_VARIABLE, Cache, Endpoint
from compeval.generators.parser.rule_parser import RuleParser
from compeval.generators.seen_analysis.regions import collect_image_facts
from tests.annotated import annotations_of

WALKS = captioned_walks.CaptionedWalkSettings(
    seed=0,
    workers=1,
    walks=4,
    walks_per_image=2,
    attempts=20,
    visible=0.1,
    template=False,
    captioner={},
)
SETTINGS = ProductivitySettings(seed=0, workers=1, rows=2, refine=False)
SPLITS = tuple(f"n{size}" for size in range(4, 13))
CONFIGS = tuple(f"prod_{kind}" for kind in ("raw", *KINDS))
NOUNS = ["cup", "table", "cat", "bus", "lamp", "chair", "apple", "box"]
ATTRIBUTES = [
    ["red", "small"],
    ["blue", "large", "striped"],
    ["green", "spotted"],
    ["black", "small", "striped"],
    ["white"],
]


def make_records(image_id: int) -> dict[str, list[dict]]:
    """Return Visual Genome records of an image with five objects side by side, 100 x 240 pixels each."""
    rng = Random(image_id)
    names, attribute_lists = rng.sample(NOUNS, 5), rng.sample(ATTRIBUTES, 5)
    boxes = [{"x": 10 + 120 * index, "y": 20, "w": 100, "h": 240} for index in range(5)]
    objects = [
        {"object_id": 10 * image_id + index, "names": [name], **box}
        for index, (name, box) in enumerate(zip(names, boxes, strict=True))
    ]
    pairs = [(left, right) for left in range(5) for right in range(left + 1, 5)]
    relationships = [
        {
            "predicate": predicate,
            "subject": objects[subject],
            "object": objects[target],
            "relationship_id": 0,
        }
        for left, right in pairs
        for subject, predicate, target in (
            (left, "to the left of", right),
            (right, "to the right of", left),
        )
    ]
    attributes = [
        {**item, "attributes": texts} for item, texts in zip(objects, attribute_lists, strict=True)
    ]
    return {
        "objects": objects,
        "attributes": attributes,
        "relationships": relationships,
        "regions": [],
    }


def make_examples(
    folder: Path,
    complexity: int,
    captioner: Captioner | None = None,
    dropped: Counter[str] | None = None,
) -> list[Example]:
    """Return the examples of two random walks of each image."""
    source = Source.read(make_annotations(folder))
    examples = []
    for image in source.images:
        walks = [sample_keyed_walk(image, complexity, WALKS, number=number) for number in range(2)]
        requests = [walk for walk in walks if walk is not None]
        captions = (captioner or GrammarCaptioner()).captions(
            Request(walk.walk.graph, walk.key) for walk in requests
        )
        for walk, caption in zip(requests, captions, strict=True):
            if isinstance(caption, NoCaption):
                assert dropped is not None
                dropped[caption.reason] += 1
            else:
                captioned = CaptionedWalk(*walk, caption)
                examples.append(
                    Example(captioned, ImageSource(image, source), lambda texts: [0.0] * len(texts))
                )
    return examples


def write_all(
    folder: Path,
    root: Path,
    settings: ProductivitySettings = SETTINGS,
    walks: captioned_walks.CaptionedWalkSettings = WALKS,
):
    """Write the walks of a source and then the sets; return what :func:`write` returns."""
    source = Source.read(make_annotations(folder))
    captioned_walks.build(source.images, walks, root.parent / "walks")
    return write(root.parent / "walks", source, "microworld", settings, root)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    write_source(folder, 4)
    return folder


def make_annotations(folder: Path) -> Path:
    """Write the annotations file of a source and return its path."""
    return annotations_of(folder).path


def write_source(folder: Path, count: int) -> None:
    images = {image_id: make_records(image_id) for image_id in range(1, count + 1)}
    files = {"objects": "objects", "attributes": "attributes", "relationships": "relationships"}
    for file, key in {**files, "region_descriptions": "regions"}.items():
        records = [
            {"image_id": image_id, "id": image_id, key: data[key]}
            for image_id, data in images.items()
        ]
        (folder / f"{file}.json").write_text(json.dumps(records), encoding="utf-8")
    sizes = [{"image_id": image_id, "width": 640, "height": 280, "url": ""} for image_id in images]
    (folder / "image_data.json").write_text(json.dumps(sizes), encoding="utf-8")
    (folder / "VG_100K").mkdir(exist_ok=True)
    for image_id in images:
        Image.new("RGB", (640, 280), (image_id, 99, 99)).save(
            folder / "VG_100K" / f"{image_id}.jpg"
        )


@pytest.fixture(scope="module")
def source(folder: Path) -> Source:
    return Source.read(make_annotations(folder))


@pytest.fixture(scope="module")
def walks(source: Source, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("walks")
    captioned_walks.build(source.images, WALKS, root)
    return root


@pytest.fixture(scope="module")
def built(walks: Path, source: Source, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("built") / "crepe"
    for balanced in (False, True):
        assert (
            tuple(write(walks, source, "microworld", replace(SETTINGS, balanced=balanced), root))
            == SPLITS
        )
    return root


def test_every_config_and_split_is_written(built: Path) -> None:
    assert {path.name for path in built.iterdir() if path.is_dir()} == {*CONFIGS, "images"}
    sizes = {config: 15 if config == "prod_hnall" else 5 for config in CONFIGS}
    for config in CONFIGS:
        paths = {path.name.partition("-")[0]: path for path in (built / config).glob("*.parquet")}
        assert set() < paths.keys() <= {*SPLITS}  # of these few images, not all splits have rows
        for split, path in paths.items():
            rows = pq.read_table(path).to_pylist()
            assert {row["complexity"] for row in rows} <= {int(split[1:])}
            nums_denied = {1, 2} if config == "prod_hnneg_balanced" else {0}
            assert {row["complexity"] - len(row["atoms"]) for row in rows} <= nums_denied
            assert {row["provenance"]["captioner"] for row in rows} <= {"grammar"}
            for row in rows if config != "prod_raw" else []:
                assert len({row["caption"], *row["hard_negatives"]}) == sizes[config] + 1
                assert len(row["foils"]) == sizes[config]
    captions = {config: _captions(built / config) for config in CONFIGS}
    negated_captions = captions["prod_hnneg_balanced"]
    assert all(len(re.findall(r"\b(?:not|no)\b", caption)) >= 1 for caption in negated_captions)
    assert negated_captions
    assert all(captions["prod_raw"] >= captions[f"prod_{kind}"] for kind in PAPER_KINDS)
    assert captions["prod_hnall"]


def test_balanced_swaps_are_six_orders_of_the_same_words(built: Path) -> None:
    rows = [
        row
        for path in (built / "prod_hnswap_balanced").glob("*.parquet")
        for row in pq.read_table(path).to_pylist()
    ]
    assert rows
    for row in rows:
        captions = [row["caption"], *row["hard_negatives"]]
        assert len({tuple(sorted(words(text))) for text in captions}) == 1
        assert len(set(captions)) == 6


def test_a_caption_that_repeats_an_object_is_reworded_for_balanced_swaps(folder: Path) -> None:
    """If it names one of the three objects twice, it has other words in another order."""
    examples = [item for n in (7, 8, 9) for item in make_examples(folder, n)]
    captions = {item.walk.caption.text: item.columns("hnswap_balanced") for item in examples}
    reworded = {
        text: columns["caption"]
        for text, columns in captions.items()
        if columns and columns["caption"] != text
    }
    assert reworded
    assert all(len(words(new)) < len(words(text)) for text, new in reworded.items())


def _captions(folder: Path) -> set[str]:
    return {
        row["caption"]
        for path in folder.glob("*.parquet")
        for row in pq.read_table(path, columns=["caption"]).to_pylist()
    }


class RecordingEntailment:
    """Records the pairs of each call; nothing is entailed."""

    def __init__(self) -> None:
        self.calls: list[list[tuple[str, str]]] = []

    def pair_logits(self, pairs: list[tuple[str, str]]) -> None:
        self.calls.append(pairs)

    def predict_entailment(self, premise: str, hypotheses: list[str]) -> list[bool]:
        assert {(premise, hypothesis) for hypothesis in hypotheses} <= set(self.calls[-1])
        return [False] * len(hypotheses)


def test_the_entailment_model_reads_the_swaps_of_all_captions_of_an_image_at_once(
    walks: Path, source: Source
) -> None:
    model = RecordingEntailment()
    builder = Builder(SETTINGS, "microworld", source, NgramModel.of([], 2))
    builder.__dict__["entailment"] = model
    kinds = dict.fromkeys(COMPLEXITIES, frozenset({"hnall"})) | {12: frozenset({"hnneg"})}
    rows = list(captioned_walks.read_walks(walks))
    examples = []
    for image in source.images:
        walks_of_image = [walk for walk in rows if walk["image_id"] == image.image_id]
        examples += builder.make_examples(ImageWalks(image.image_id, walks_of_image, kinds, ()))
    assert len(model.calls) == len(list(source.images))
    assert max(len({premise for premise, _ in pairs}) for pairs in model.calls) > 1
    assert any(example.columns.get("hnall") for example in examples)


def test_a_variant_has_its_own_configs_and_settings(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    keys = (
        "seed",
        "workers",
        "walks",
        "walks_per_image",
        "attempts",
        "visible",
        "template",
        "captioner",
    )
    params = {
        "captioned_walks": {key: getattr(WALKS, key) for key in keys},
        "crepe_systematicity": {"ranker": "statistics"},
        "crepe_productivity": {
            key: getattr(SETTINGS, key) for key in ("seed", "workers", "rows", "refine")
        },
        "productivity_variants": {"short": {"template": True, "complexities": [4]}},
        "parser": "rules",
    }
    Path("params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    settings = ProductivitySettings.read("short")
    assert list(
        write_all(
            folder, tmp_path / "crepe", settings, captioned_walks.CaptionedWalkSettings.read()
        )
    ) == ["n4"]
    configs = {path.name for path in Path("crepe").glob("prod_*")}
    assert configs == {
        f"prod_short_{kind}" for kind in ("raw", "hnatom", "hnswap", "hnneg", "hnall")
    }
    (path,) = Path("crepe/prod_short_hnatom").glob("*.parquet")
    rows = pq.read_table(path).to_pylist()
    assert rows
    assert {row["provenance"]["captioner"] for row in rows} == {"template"}
    with pytest.raises(ValueError, match="productivity_variants: no 'long'; it has short"):
        ProductivitySettings.read("long")
    params["productivity_variants"]["wrong"] = {"row": 3}
    Path("params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    with pytest.raises(ValueError, match="wrong: unknown key 'row'; expected template"):
        ProductivitySettings.read("short")
    with pytest.raises(ValueError, match="--balanced: the variant short has no balanced datasets"):
        main("short", balanced=True)


@pytest.mark.acceptance
def test_the_same_bytes_from_another_process_and_hash_seed(
    folder: Path, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    for balanced in (False, True):
        settings = replace(SETTINGS, workers=2, balanced=balanced)
        write_all(folder, tmp_path / "crepe", settings, replace(WALKS, workers=2))
    assert _hash_files(tmp_path / "crepe") == _hash_files(built)


WRITE = """
import sys
from dataclasses import replace
from pathlib import Path
from tests.generators.test_crepe_productivity import SETTINGS, WALKS, write_all
if __name__ == "__main__":
    workers = int(sys.argv[2])
    for balanced in (False, True):
        settings = replace(SETTINGS, workers=workers, balanced=balanced)
        write_all(Path(sys.argv[1]), Path(sys.argv[3]), settings, replace(WALKS, workers=workers))
"""


@pytest.mark.acceptance
@pytest.mark.parametrize(("hash_seed", "workers"), [("1", 1), ("2", 1), ("1", 2), ("2", 2)])
def test_every_split_has_the_same_bytes_from_any_process(
    folder: Path, built: Path, tmp_path: Path, hash_seed: str, workers: int
) -> None:
    (tmp_path / "write.py").write_text(WRITE, encoding="utf-8")
    command = [sys.executable, tmp_path / "write.py", folder, str(workers), tmp_path / "crepe"]
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    subprocess.run(command, env=environment, check=True)
    assert _hash_files(tmp_path / "crepe") == _hash_files(built)


def _hash_files(dataset: Path) -> dict[Path, str]:
    """Return the hash of each parquet file by its path in a dataset named crepe, whose rows have paths of crops."""
    files = dataset.rglob("*.parquet")
    return {
        path.relative_to(dataset): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def test_an_object_in_a_region_phrase_is_neither_a_foil_nor_negated(
    folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    box = {"x": 0, "y": 0, "width": 9, "height": 9}
    phrases = [{"phrase": f"there is a {noun} in the room"} | box for noun in NOUNS]
    regions = [
        {
            "id": image_id,
            "regions": [
                {"region_id": 10 * image_id + index} | item for index, item in enumerate(phrases)
            ],
        }
        for image_id in range(1, 5)
    ]
    (tmp_path / "region_descriptions.json").write_text(json.dumps(regions), encoding="utf-8")
    (without, captions), (with_phrases, captions_with) = (
        _find_foil_nouns(source) for source in (folder, tmp_path)
    )
    assert without & set(NOUNS)
    assert not with_phrases & set(NOUNS)
    assert captions == captions_with  # phrases change no walk and no caption


def _find_foil_nouns(folder: Path) -> tuple[set[str], list[str]]:
    """Return the nouns that HN-Atoms insert or balanced captions negate, and all captions."""
    found_examples = make_examples(folder, 6)
    foils = {
        foil.replacement for item in found_examples for atom in item.hnatom for foil in atom.foils
    }
    negated = set().union(*map(_find_denied_nouns, found_examples))
    return foils | negated, [item.walk.caption.text for item in found_examples]


def _find_denied_nouns(example: Example) -> set[str]:
    """Return the nouns that the true caption of the balanced negations denies."""
    foils = {foil for item in example.hnneg_balanced for foil in item.foils}
    return {foil.replacement for foil in foils if foil.original == f"no {foil.replacement}"}


def test_an_additional_image_does_not_change_the_examples_of_other_images(
    folder: Path, tmp_path: Path
) -> None:
    write_source(tmp_path, 5)
    few, more = (
        {example.walk.key: example.walk.caption.text for example in make_examples(source, 8)}
        for source in (folder, tmp_path)
    )
    assert few.items() <= more.items()
    assert len(more) > len(few)


def test_an_additional_image_keeps_the_order_of_other_images() -> None:
    few, more = order_images(map(str, range(20)), 0), order_images(map(str, range(21)), 0)
    assert [image_id for image_id in more if image_id != "20"] == few
    assert (
        order_images(map(str, reversed(range(20))), 0)
        == few
        != order_images(map(str, range(20)), 1)
    )


def test_walks_of_an_image_are_numbered(folder: Path) -> None:
    image, dropped = Annotations(make_annotations(folder))["2"], Counter[str]()
    walks = [
        sample_keyed_walk(image, 6, WALKS, number=number, dropped=dropped) for number in range(9)
    ]
    found = [walk for walk in walks if walk is not None]
    assert (
        len({walk.walk.box for walk in found})
        == len({walk.key for walk in found})
        == len(found)
        >= 2
    )
    assert walks == [*found, *[None] * (9 - len(found))]
    assert len(found) + dropped.total() == WALKS.attempts  # each attempt is counted once


def test_drops_are_counted_and_rows_are_capped(walks: Path, source: Source) -> None:
    splits = collect_rows(walks, source, "microworld", SETTINGS)
    assert len(list(splits[4].read_rows("hnatom"))) == 2
    dropped = splits[4].count_dropped()
    assert dropped["hnswap: fewer than 5 negatives"] > 0
    assert dropped["hnswap: rows not found"] == 2 - len(list(splits[4].read_rows("hnswap")))


def test_every_image_gives_a_walk_before_one_gives_a_second(
    walks: Path, source: Source, tmp_path: Path
) -> None:
    captioned_walks.build(source.images, replace(WALKS, walks_per_image=1), tmp_path)
    for folder in (tmp_path, walks):
        splits = collect_rows(folder, source, "microworld", replace(SETTINGS, rows=3))
        images = [row["image_id"] for row in splits[9].read_rows("hnatom")]
        assert len(images) == len(set(images)) == 3


def test_balanced_sets_use_an_image_at_one_complexity(walks: Path) -> None:
    num_walks = Counter(
        (row["image_id"], row["condition"])
        for row in captioned_walks.read_walks(walks, balanced=True)
    )
    assert num_walks
    assert set(num_walks.values()) == {1}
    assert sorted(captioned_walks.rotate_complexities(10)) == list(COMPLEXITIES)
    assert captioned_walks.rotate_complexities(1) == [5, 4, *range(12, 5, -1)]


CROP = Box(0, 0, 9, 9)


def make_rows(
    number: int, *kinds: str, undecided: int = 0, box: Box = CROP, key: str = "key"
) -> ExampleRows:
    """Return the rows of an example that has negatives of these kinds."""
    columns = {
        kind: pickle.dumps({"caption": f"{kind} {number}"}) if kind in kinds else None
        for kind in KINDS
    }
    raw = pickle.dumps({"caption": f"raw {number}", "image_id": str(number)})
    return ExampleRows(4, (1, str(number), key), box, raw, columns, dict.fromkeys(KINDS, undecided))


def list_captions(rows: SplitRows) -> dict[str, list[str]]:
    return {kind: [row["caption"] for row in rows.read_rows(kind)] for kind in (RAW, *KINDS)}


def test_rows_are_sorted_by_image_and_raw_has_the_examples_of_all_configs() -> None:
    rows = SplitRows(2, KINDS)
    for number, kinds in (
        (5, ["hnatom"]),
        (3, ["hnatom", "hnneg"]),
        (4, ["hnatom"]),
        (1, ["hnneg", "hnswap"]),
    ):
        rows.add(make_rows(number, *kinds))
    captions = list_captions(rows)
    # 4 was not needed: there were two HN-Atoms and two raw rows.
    assert captions[RAW] == [
        "raw 1",
        "raw 3",
        "raw 5",
    ]
    assert captions["hnatom"] == ["hnatom 3", "hnatom 5"]
    assert captions["hnneg"] == ["hnneg 1", "hnneg 3"]
    assert captions["hnswap"] == ["hnswap 1"]
    assert rows.open_kinds == {"hnswap", "hnall", *BALANCED_KINDS}


def test_a_config_has_no_crop_of_an_image_twice() -> None:
    """The walks of one image with different conditions may have the same crop, or be the same walk."""
    rows = SplitRows(9, KINDS)
    rows.add(make_rows(1, "hnatom", "hnneg"))
    rows.add(make_rows(1, "hnatom", "hnswap", key="other", box=Box(0, 0, 9, 8)))
    rows.add(make_rows(1, "hnatom", "hnall"))
    rows.add(make_rows(1, "hnatom", key="far", box=Box(9, 0, 9, 9)))
    rows.add(make_rows(2, "hnatom"))
    captions = list_captions(rows)
    assert {kind: len(captions[kind]) for kind in (RAW, "hnatom", "hnneg", "hnswap", "hnall")} == {
        RAW: 4,  # of the four examples of image 1, the third is the first again
        "hnatom": 3,
        "hnneg": 1,
        "hnswap": 1,
        "hnall": 1,
    }
    assert rows.count_dropped()["hnatom: crop overlaps an earlier one"] == 2


def test_a_split_closes_when_its_configs_are_complete_and_missing_rows_are_counted() -> None:
    rows = SplitRows(1, KINDS)
    rows.add(make_rows(1, *(kind for kind in KINDS if kind != "hnall"), undecided=3))
    assert rows.open_kinds == {"hnall"}
    assert rows.count_dropped()["hnall: rows not found"] == 1
    rows.add(make_rows(2, *KINDS, undecided=3))
    assert not rows.open_kinds
    rows.add(make_rows(3, undecided=3))
    dropped = rows.count_dropped()
    assert dropped.pop("hnall: proofs given up") == 6
    assert dropped.pop("hnall: fewer than 5 negatives") == 1
    assert dropped == {f"{kind}: proofs given up": 3 for kind in KINDS if kind != "hnall"}


def test_balanced_rows_replace_one_attribute_and_at_least_half_of_them_stay_when_refined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # At least five foils.
    colors = [[color] for color in ("red", "green", "blue", "yellow", "white", "black", "pink")]
    monkeypatch.setattr(sys.modules[__name__], "ATTRIBUTES", colors)
    choose = "compeval.generators.hard_negatives.crepe.productivity.select_rank_balanced"
    monkeypatch.setattr(
        choose, lambda *_: pytest.fail("What a set leaves out must not depend on scores.")
    )
    write_source(tmp_path, 8)
    settings = replace(SETTINGS, balanced=True, refine=True, rows=6, complexities=(7,))
    source = Source.read(make_annotations(tmp_path))
    captioned_walks.build(source.images, replace(WALKS, walks=9), tmp_path / "walks", ["balanced"])
    split = collect_rows(tmp_path / "walks", source, "microworld", settings)[7]
    hnatom_rows = list(split.read_rows("hnatom_balanced"))
    assert hnatom_rows
    for row in hnatom_rows:
        foils = [foil for foils in row["foils"] for foil in foils]
        assert len({foil["from"] for foil in foils}) == 1
        assert {foil["type"] for foil in foils} == {"attribute"}
        assert len({foil["to"] for foil in foils}) == 5
    dropped = write(tmp_path / "walks", source, "microworld", settings, tmp_path / "crepe")["n7"]
    num_written = sum(
        pq.ParquetFile(path).metadata.num_rows
        for path in (tmp_path / "crepe/prod_hnatom_balanced").glob("n7-*.parquet")
    )
    assert (
        len(hnatom_rows) / 2
        <= num_written
        == len(hnatom_rows) - dropped["hnatom_balanced: refined away"]
    )


@pytest.mark.acceptance
def test_real_annotations(real_data: Path, tmp_path: Path) -> None:
    for version in ("v1.0.0", "v1.2.0"):
        shutil.copytree(real_data / "visual_genome" / version, tmp_path / version)
        found_examples = make_examples(tmp_path / version, 8)
        assert len(found_examples) >= 5
        assert all(example.walk.walk.graph.complexity == 8 for example in found_examples)
        assert sum(bool(example.hnatom) for example in found_examples) >= 5


@pytest.mark.acceptance
def test_phrases_of_real_images_name_objects_that_the_graphs_lack(
    real_data: Path, tmp_path: Path
) -> None:
    """Phrases of images 1 to 5 in v1.2: "White canopy on brick building", "man is wearing dark cloths", "Woman sitting
    in a chair", "double wall outlet", "A plastic white bag", "a black cloth is on a chair". No object has these names.
    """
    images = annotations_of(
        real_data / "visual_genome" / "v1.2.0", tmp_path / "annotations.parquet", spelling=True
    )
    named = [
        ("1", "canopy"),
        ("2", "cloth"),
        ("3", "chair"),
        ("4", "outlet"),
        ("5", "bag"),
        ("5", "cloth"),
    ]
    for image_id, noun in named:
        assert collect_facts(images[image_id].facts()).is_absent(noun)
        assert not collect_image_facts(images[image_id]).is_absent(noun)
    # The spelling of "a calender has been hanged" is corrected.
    assert "calendar" in collect_image_facts(images["3"]).mentioned
    shutil.copytree(real_data / "visual_genome" / "v1.2.0", tmp_path / "source")
    for example in make_examples(tmp_path / "source", 6):
        facts = example.source.facts
        foils = [
            foil.replacement
            for item in example.hnatom
            for foil in item.foils
            if foil.type == "object"
        ]
        assert not facts.mentioned & {*foils, *_find_denied_nouns(example)}


def test_ask_prints_the_estimate_and_stops_above_the_cost(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = tmp_path / "sample" / "words"
    words.mkdir(parents=True)
    (words / "shots.yaml").symlink_to(Path(__file__).parents[2] / "sample/words/shots.yaml")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(KEY_VARIABLE, "sk-test")
    message = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": "a red cup"},
    }
    with HTTPServer(host="127.0.0.1") as server:
        server.expect_request("/v1/chat/completions").respond_with_json({"choices": [message]})
        endpoint = {
            "model": "org/m",
            "base_url": server.url_for("/v1"),
            "price_in": 1.0,
            "price_out": 4.0,
        }
        settings, images = replace(WALKS, captioner=endpoint), Annotations(make_annotations(folder))
        with pytest.raises(ValueError, match=r"above --max-cost 0\.00\. No request was sent"):
            captioned_walks.ask(images, settings, DEFAULT, 0.0)
        assert "requests, about" in capsys.readouterr().out
        assert len(server.log) == 0
        assert set(captioned_walks.ask(images, settings, DEFAULT, 1.0)) == {"answered"}
        # An answer that omits atoms stays in the cache, but it is not used as a caption.
        captioner = PromptedCaptioner(
            Endpoint(**endpoint),
            read_shots(words / "shots.yaml"),
            Cache([tmp_path / "sample/llm"]),
            RuleParser(),
        )
        dropped: Counter[str] = Counter()
        assert not make_examples(folder, 8, captioner, dropped)
        assert dropped["omits an object"] > 0
        assert dropped["no cached answer"] == 0
        num_requests = len(server.log)
        assert (
            len((tmp_path / "sample/llm/org-m.jsonl").read_text(encoding="utf-8").splitlines())
            == num_requests
            > 0
        )
        assert captioned_walks.ask(images, settings, DEFAULT, 1.0) == Counter()
        assert len(server.log) == num_requests


def test_asking_without_a_language_model_is_refused(folder: Path) -> None:
    with pytest.raises(
        ValueError, match=r"^params\.yaml, captioned_walks\.captioner: got no keys; expected model"
    ):
        captioned_walks.ask(Annotations(make_annotations(folder)), WALKS, DEFAULT, 1.0)


def test_walks_of_the_balanced_sets_follow_our_rules():
    by_paper = replace(WALKS, rules=PAPER)
    assert by_paper.of_set("paper") == by_paper
    assert by_paper.of_set("balanced") == WALKS == WALKS.of_set("balanced")
