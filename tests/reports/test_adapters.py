"""Every adapter and reader equals the library that is called directly, on the strangest inputs of the reports.

Token ids, pixels and features in fp32 are equal bit for bit, unless ``rounding`` says that sums are in another order.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import tarfile
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pandas
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image, ImageOps

from compeval.base.files import csv_tables, json_lines
from compeval.base.files.untrusted import decode_image, make_upright_rgb
from compeval.base.readers import coco, corpora, gqa, karpathy, shards, visual_genome
from compeval.base.readers.records import Flaws
from compeval.base.schemas.scene_graph import Box
from compeval.base.texts import normalize_text
from compeval.evaluators import models
from compeval.loaders.importing.embedded import extract_images
from compeval.loaders.own_data.entries import read_entries
from compeval.loaders.published import ImageSet, rows, tables
from tests.close import assert_close, count_terms
from tests.evaluators.tiny_transformers import TEXT, tokenizer
from tests.evaluators.tiny_vlms import FAMILIES
from tests.reports import reports, runners
from tests.reports.bench import (
    Bench,
    encode,
    hf,
    iterate_pairs,
    noise,
    normalize,
    tar_of,
    turned,
    wrap,
    write_table,
)

TEXTS = [
    *reports.STRANGE,
    "a red ball",
    "You should've done this",
    "x " * 90,
    "A\n'll 11p223RF☆ho!!to? of a cat",
]
IMAGES = [
    *(
        encode(noise(width, height))
        for width, height in ((1, 1), (1000, 1), (1, 700), (333, 517), (15, 17), (19, 16))
    ),
    *(encode(noise(20, 30, mode)) for mode in ("L", "LA", "RGBA")),
    encode(noise(20, 30, "CMYK"), "JPEG"),
    encode(Image.fromarray(reports.RAMP)),
    encode(Image.fromarray(reports.FLOATS), "TIFF"),
    turned("JPEG"),
    reports.palette(bytes([0] + [255] * 255)),
]


@cache
def open_each(data: bytes) -> tuple[Image.Image, Image.Image]:
    """Return an image as we decode it, and as Pillow does."""
    return decode_image(data), Image.open(io.BytesIO(data)).convert("RGB")


def check_equal(ours: Any, theirs: Any, rounding: Mapping[str, Any] | None = None) -> None:
    """Compare exactly, or, with arguments of ``assert_close``, up to the rounding of sums in another order."""
    ours, theirs = (
        value if isinstance(value, torch.Tensor) else torch.from_numpy(np.array(value))
        for value in (ours, theirs)
    )
    assert ours.shape == theirs.shape
    if rounding is None:
        assert torch.equal(ours, theirs), float((ours - theirs).abs().max())
    else:
        assert_close(ours, theirs, **rounding)


def get_rounding(model: torch.nn.Module) -> dict[str, Any]:
    """Return the arguments of ``assert_close`` for scores in float32, which are differences of logits near 1."""
    return {"size": 1, "dtype": np.float32, "summed": count_terms(model)}


@torch.no_grad()
@pytest.mark.parametrize("causal", [True, False], ids=["CLIP", "SigLIP"])
def test_open_clip(causal: bool, bench: Bench):
    encoder: Any = (
        bench.clip if causal else models.load_model(f"local:{bench.siglip_folder}").encoder
    )
    model, transform, words = (
        bench.open_clip if causal else bench.load_open_clip(bench.siglip_folder)
    )
    for text in TEXTS:
        check_equal(encoder._tokenize([text]), words([text]))
        # Without padding and with shared prefixes, sums are in another order.
        check_equal(
            encoder.encode_texts([text], 1),
            model.encode_text(words([text])),
            {"summed": count_terms(model.transformer)} if causal else None,
        )
    for ours, theirs in map(open_each, IMAGES):
        check_equal(normalize(encoder, ours), transform(theirs))
        check_equal(
            encoder.encode_images([encoder.preprocess(ours)], 1),
            model.encode_image(transform(theirs)[None]),
        )


DUAL_ENCODERS = ("clip", "metaclip_2", "siglip", "siglip2", "align", "flava")


@torch.no_grad()
@pytest.mark.parametrize("family", DUAL_ENCODERS)
def test_dual_encoders_of_transformers(family: str, bench: Bench):
    encoder, (model, words, processor) = bench.ours(family), bench.library(family)
    for text in TEXTS:
        padding = "max_length" if "siglip" in family else "do_not_pad"
        check_equal(
            encoder._texts([text])["input_ids"][0],
            words(text, padding=padding, **runners.CUT)["input_ids"],
        )
        theirs = runners.library_texts(bench, bench.folder, (family, [text]))
        check_equal(encoder.encode_texts([text], 1), theirs)
    for ours, theirs in map(open_each, IMAGES):
        prepared, inputs = encoder.preprocess(ours), processor(images=theirs, return_tensors="pt")
        assert prepared.keys() == inputs.keys()
        for name, value in prepared.items():
            check_equal(value, inputs[name][0])
        expected = model.get_image_features(**inputs).pooler_output
        check_equal(
            encoder.encode_images([prepared], 1), expected[:, 0] if expected.ndim == 3 else expected
        )


@torch.no_grad()
def test_clip_with_the_vocabulary_of_openai(bench: Bench):
    encoder, model = bench.real_clip
    for text in TEXTS:
        tokens = bench.real_tokenizer(text, truncation=True, return_tensors="pt")
        check_equal(encoder._texts([text])["input_ids"], tokens["input_ids"])
        check_equal(
            encoder.encode_texts([text], 1), model.get_text_features(**tokens).pooler_output
        )


def match(logits: torch.Tensor, head: str, cosine: torch.Tensor) -> torch.Tensor:
    """Return the score that the suffix of a name chooses, given the logits of no match and of a match."""
    if head == "@itm+itc":
        return logits[0, 1].double() + cosine.double()
    return cosine if head == "@itc" else logits[0, 1].double() - logits[0, 0].double()


def score_blip(model: Any, inputs: Any, head: str) -> torch.Tensor:
    logits, cosine = (model(**inputs, use_itm_head=use).itm_score for use in (True, False))
    return match(logits, head, cosine[0, 0])


def score_blip_2(model: Any, inputs: Any, head: str) -> torch.Tensor:
    logits, cosine = (
        model(**inputs, use_image_text_matching_head=use).logits_per_image for use in (True, False)
    )
    return match(logits, head or "@itc", cosine[0, 0])


def score_flava(model: Any, inputs: Any, head: str) -> torch.Tensor:
    """The multimodal encoder attends to the padding, as in the version of transformers that ARO's authors used."""
    forward = type(model.flava.multimodal_model).forward
    with mock.patch.object(
        model.flava.multimodal_model,
        "forward",
        lambda states, attention_mask=None, **options: forward(
            model.flava.multimodal_model, states, **options
        ),
    ):
        output = model(**inputs, input_ids_masked=inputs["input_ids"], return_loss=False)
    return match(output.itm_logits, head, torch.tensor(0.0))


PAIR_SCORERS: dict[str, tuple[str, Callable[..., Any]]] = {
    "blip": ("BlipForImageTextRetrieval", score_blip),
    "blip-2": ("Blip2ForImageTextRetrieval", score_blip_2),
    "flava_itm": ("FlavaForPreTraining", score_flava),
}


@torch.no_grad()
@pytest.mark.parametrize(
    ("name", "is_exact"),
    [
        ("blip", True),
        # The library divides by the norms and multiplies; torch's cosine divides the product.
        ("blip@itc", False),
        ("blip@itm+itc", False),
        ("blip-2", False),
        # The library runs queries and text through two calls, so sums are in another order.
        ("blip-2@itm", False),
        ("blip-2@itm+itc", False),
        ("flava_itm@itm", True),
    ],
)
def test_pair_scorers_of_transformers(name: str, is_exact: bool, bench: Bench):
    family, at, head = name.partition("@")
    kind, score = PAIR_SCORERS[family]
    encoder: Any = models.load_model(
        f"transformers:{bench.transformers_folder(family)}{at}{head}"
    ).encoder
    model, words, processor = bench.pair_library(family, kind)
    rounding = None if is_exact else get_rounding(model)
    cut = runners.CUT | ({"padding": "max_length"} if family == "flava_itm" else {})
    for (ours, theirs), text in zip(map(open_each, IMAGES), TEXTS, strict=True):
        inputs = words([text], return_tensors="pt", **cut) | processor(
            images=theirs, return_tensors="pt"
        )
        if family != "flava_itm":
            check_equal(encoder._texts([text])["input_ids"], inputs["input_ids"])
        check_equal(encoder.preprocess(ours)["pixel_values"], inputs["pixel_values"][0])
        inputs = {name: inputs[name] for name in ("input_ids", "attention_mask", "pixel_values")}
        check_equal(
            encoder.score([encoder.preprocess(ours)], [text])[0],
            score(model, inputs, at + head),
            rounding,
        )


QUICK = ("qwen2.5-vl", "internvl")
"""Generative models of other reports; the others take seconds each."""


@torch.no_grad()
@pytest.mark.parametrize(
    "family",
    [
        pytest.param(family, marks=() if family in QUICK else pytest.mark.acceptance)
        for family in FAMILIES
    ],
)
def test_generative_models(family: str, bench: Bench):
    """Inputs are equal. Scores differ by sums in another order, since captions of an image share its computation."""
    encoder, model, processor = bench.vlm(family)
    # Qwen refuses longer images.
    for (ours, theirs), text in zip(map(open_each, IMAGES[3:]), TEXTS, strict=False):
        caption = text.replace("<|", "< |")
        inputs = runners.ask(processor, theirs, caption)
        for name, value in encoder.process(ours, caption).items():
            check_equal(value, inputs[name])
        expected = runners.answer(model, processor, inputs)
        check_equal(
            encoder.score([encoder.preprocess(ours)], [caption])[0], expected, get_rounding(model)
        )


@pytest.mark.acceptance  # its import takes two seconds; tests/evaluators/models/test_model_families.py has other texts
def test_sentence_transformers(bench: Bench, tmp_path: Path):
    library = pytest.importorskip("sentence_transformers")
    hf.BertModel(hf.BertConfig(**TEXT)).save_pretrained(tmp_path / "bert")
    tokenizer().save_pretrained(tmp_path / "bert")
    modules = import_module("sentence_transformers.sentence_transformer.modules")
    word = modules.Transformer(str(tmp_path / "bert"))
    library.SentenceTransformer(modules=[word, modules.Pooling(16, "mean")]).save(
        str(tmp_path / "sentence")
    )
    encoder: Any = models.load_model(f"sentence-transformers:{tmp_path / 'sentence'}").encoder
    theirs = library.SentenceTransformer(str(tmp_path / "sentence"), device="cpu")
    check_equal(encoder.encode_texts(TEXTS, 4), theirs.encode(TEXTS, batch_size=4))


def test_classes_of_users(bench: Bench):
    """They get the pixels of Pillow and the texts as they are; float64 features arrive as they are."""
    seen: list[Any] = []

    class Watching:
        def encode_image(self, images: Any) -> np.ndarray:
            seen.extend(images)
            return np.full((len(images), 2), 1 / 3)

        def encode_text(self, texts: Any) -> np.ndarray:
            seen.extend(texts)
            return np.full((len(texts), 2), 1 / 3)

    encoder: Any = wrap(Watching()).encoder
    pictures = [open_each(data) for data in IMAGES]
    features = [encoder.encode_images([encoder.preprocess(ours) for ours, _ in pictures], 4)]
    for given, (_, theirs) in zip(seen, pictures, strict=True):
        check_equal(given, theirs)
    seen.clear()
    features.append(encoder.encode_texts(TEXTS, 4))
    assert seen == TEXTS
    assert all((feature == 1 / 3).all() for feature in features)


CELLS = [text for text in TEXTS if text.strip()] + [
    'a "quoted" cup',
    "a cup,\non a box",
    "'-1",
    "=1+1",
    "null",
    '12" x',
]


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_readers_of_csv(delimiter: str, tmp_path: Path):
    path = tmp_path / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(
            [("image", "caption"), *((str(i), c) for i, c in enumerate(CELLS))]
        )
    with path.open(encoding="utf-8", newline="") as file:
        expected = list(csv.DictReader(file, delimiter=delimiter))
    assert [
        row for _, row in csv_tables.read_numbered(path, (), delimiter, is_ours=False)
    ] == expected
    assert list(rows.read_csv(path, ("image",))) == expected


def test_readers_of_json_and_parquet(tmp_path: Path):
    records = [{"text": text, "more": [text, None, 2**53 + 1, {"a": 1e300}]} for text in CELLS]
    path = tmp_path / "a.jsonl"
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in records), encoding="utf-8"
    )
    assert [row for _, row in json_lines.read_numbered(path)] == records
    (tmp_path / "a.json").write_text(json.dumps(records), encoding="utf-8-sig")
    assert rows.read_json(tmp_path / "a.json") == records
    table = write_table(
        tmp_path / "a.parquet",
        [{"text": text, "many": [text, None], "id": 2**53 + 1} for text in CELLS],
    )
    assert [row for _, row in tables.read_table(table, ["text", "many", "id"])] == pq.read_table(
        table
    ).to_pylist()


def test_the_reader_of_shards(tmp_path: Path):
    from webdataset.tariterators import group_by_keys, tar_file_expander

    names = [
        f"{folder}{key}.{suffix}"
        for folder in ("", "p/")
        for key in ("1", "ä", "b c")
        for suffix in ("jpg", "txt")
    ]
    data = tar_of(iterate_pairs(names))
    (tmp_path / "0.tar").write_bytes(data)
    expanded = tar_file_expander([{"url": "0.tar", "stream": io.BytesIO(data)}])
    expected = [
        (sample["__key__"], sample["jpg"], sample["txt"].decode())
        for sample in group_by_keys(expanded)
    ]
    pairs = shards.read_pairs(tmp_path / "0.tar", Counter())
    assert [(pair.key, pair.image.content, pair.caption) for pair in pairs] == expected


ONE_LINE = [cell for cell in CELLS if cell.splitlines() == [cell]]
"""Texts that fit on a line of a txt or tsv file."""


def write_corpus(path: Path) -> list[str]:
    """Write a file of captions with the library of its kind, and return the captions as that library reads them."""
    match path.suffix:
        case ".parquet":
            write_table(path, [{"caption": text} for text in CELLS])
            return pq.read_table(path)["caption"].to_pylist()
        case ".csv":
            pandas.DataFrame({"caption": CELLS}).to_csv(path, index=False)
            return pandas.read_csv(path, keep_default_na=False)["caption"].tolist()
        case ".tsv":
            pandas.DataFrame({"id": range(len(ONE_LINE)), "caption": ONE_LINE}).to_csv(
                path, sep="\t", index=False
            )
            return pandas.read_csv(path, sep="\t", keep_default_na=False)["caption"].tolist()
        case ".jsonl":
            path.write_text(
                "".join(json.dumps({"caption": text}) + "\n" for text in CELLS), encoding="utf-8"
            )
            return [
                json.loads(line)["caption"]
                for line in path.read_text(encoding="utf-8").split("\n")[:-1]
            ]
        case ".txt":
            path.write_text(
                "".join(f"{text}\r\n" for text in ONE_LINE), encoding="utf-8-sig", newline=""
            )
            return path.read_bytes().decode("utf-8-sig").split("\r\n")[:-1]
        case _:
            path.write_bytes(
                tar_of([(f"{number}.txt", text.encode()) for number, text in enumerate(CELLS)])
            )
            with tarfile.open(path) as archive:
                return [archive.extractfile(member).read().decode() for member in archive]  # pyright: ignore


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".jsonl", ".txt", ".tar"])
def test_readers_of_corpora(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    expected = write_corpus(tmp_path / f"a{suffix}")
    monkeypatch.setattr(corpora, "TEXT_BYTES", 50)
    found = corpora.list_shards(str(tmp_path / f"a{suffix}"))
    assert (len(found) > 3) == (suffix in (".tsv", ".jsonl", ".txt")), "shards begin within lines"
    read = [text for shard in found for text in corpora.read_captions(shard, "caption")]
    assert read == list(map(normalize_text, expected))


def test_readers_of_lists(tmp_path: Path):
    for cells in (CELLS, ['a "b" \'', "\\", "a/b", "naïve 😀"]):
        assert rows.parse_texts(json.dumps(cells)) == (tuple(cells), False)
        assert rows.parse_texts(repr(cells)) == (tuple(ast.literal_eval(repr(cells))), False)
        assert rows.parse_texts(repr(set(cells))) == (tuple(sorted(cells)), True)


def test_readers_of_graphs(tmp_path: Path):
    """Visual Genome's and GQA's names have lower case and single spaces; COCO's end at the hyphen."""
    names = [text for text in CELLS if text.strip()]
    boxes = [[number, number + 0.1, 1e1 + 0.1 * number, 3] for number in range(len(names))]
    sides = [dict(zip("xywh", box, strict=True)) for box in boxes]
    vg = tmp_path / "vg"
    vg.mkdir()
    nodes = [
        {"object_id": n, "names": [text]} | side
        for n, (text, side) in enumerate(zip(names, sides, strict=True))
    ]
    files = {
        "image_data": [{"image_id": 2**53 + 1, "width": 90, "height": 90}],
        "scene_graphs": [{"image_id": 2**53 + 1, "objects": nodes, "relationships": []}],
        "region_descriptions": [{"id": 2**53 + 1, "regions": []}],
    }
    for name, content in files.items():
        (vg / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    objects = {
        str(n): {"name": text, "relations": [], "attributes": []} | side
        for n, (text, side) in enumerate(zip(names, sides, strict=True))
    }
    (tmp_path / "sceneGraphs.json").write_text(
        json.dumps({"7": {"width": 90, "height": 90, "objects": objects}}), encoding="utf-8"
    )
    annotations = [{"image_id": 7, "category_id": n, "bbox": box} for n, box in enumerate(boxes)]
    categories = [{"id": n, "name": text} for n, text in enumerate(names)]
    content = {
        "images": [{"id": 7, "file_name": "é/7.png"}],
        "annotations": annotations,
        "categories": categories,
    }
    (tmp_path / "instances.json").write_text(json.dumps(content), encoding="utf-8")
    normal = [" ".join(normalize_text(text).lower().split()) for text in names]
    for reader, image_id, expected in (
        (visual_genome.read(vg, Flaws()), str(2**53 + 1), normal),
        (gqa.read(tmp_path / "sceneGraphs.json", tmp_path, Flaws()), "7", normal),
        (
            coco.read(tmp_path / "instances.json", Flaws()),
            "7",
            [normalize_text(text).split("-")[0].lower() for text in names],
        ),
    ):
        (image,) = reader
        found = {item.name: item.box for item in image.graph.objects}
        assert image.image_id == image_id
        assert found == {
            name: Box(*map(float, box)) for name, box in zip(expected, boxes, strict=True)
        }


def test_readers_of_captioned_images(tmp_path: Path):
    entries = [
        {"image": f"é/{number}.png", "caption": [text, "x"]} for number, text in enumerate(CELLS)
    ]
    images = [
        {
            "filepath": "é",
            "filename": f"{number}.png",
            "split": "test",
            "sentences": [{"raw": text}, {"raw": "x"}],
        }
        for number, text in enumerate(CELLS)
    ]
    for content in (entries, {"images": images}):
        (tmp_path / "a.json").write_text(json.dumps(content), encoding="utf-8-sig")
        split = {} if content is entries else {"split": "test"}
        read = karpathy.read_entries(tmp_path / "a.json")
        assert read == [entry | split for entry in entries]
        found = [
            (item.image_id, list(item.captions))
            for item in karpathy.read_images(tmp_path / "a.json", tmp_path)
        ]
        assert found == [
            (entry["image"], [normalize_text(text).strip() for text in entry["caption"]])
            for entry in entries
        ]


def test_tables_with_images(tmp_path: Path):
    """``datasets`` saves Arrow files, and every byte of their pictures is kept."""
    datasets = import_module("datasets")
    records = [
        {"image": {"bytes": data, "path": None}, "caption": text}
        for data, text in zip(IMAGES, TEXTS, strict=True)
    ]
    features = datasets.Features(
        {"image": datasets.Image(decode=False), "caption": datasets.Value("string")}
    )
    datasets.Dataset.from_list(records, features).save_to_disk(tmp_path / "saved")
    (path,) = (tmp_path / "saved").glob("*.arrow")
    assert [row for _, row in tables.read_table(path, ["image", "caption"])] == list(
        datasets.Dataset.from_file(str(path))
    )
    images = ImageSet("own", (), columns=("image",))
    file: Any = SimpleNamespace(path=path, name="data.arrow", images=images)
    assert extract_images(file, tmp_path) == {}
    folder = tmp_path / "sources" / "own" / "data"
    assert [(folder / f"{number:06}_image").read_bytes() for number in range(len(IMAGES))] == IMAGES


def test_own_tables(tmp_path: Path):
    """Pictures are upright, on white and of 8 bits; texts are those of the table, without outer spaces."""
    texts = [text for text in CELLS if text not in ("null",)]
    (tmp_path / "pictures").mkdir()
    for number, data in enumerate(IMAGES):
        (tmp_path / "pictures" / f"{number}.png").write_bytes(data)
    records = [{"image": f"{n % len(IMAGES)}.png", "caption": text} for n, text in enumerate(texts)]
    pandas.DataFrame(records).to_csv(tmp_path / "a.csv", index=False)
    pandas.DataFrame(records).to_csv(tmp_path / "a.tsv", sep="\t", index=False)
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps(record) + "\n" for record in records), encoding="utf-8"
    )
    (tmp_path / "a.json").write_text(json.dumps(records), encoding="utf-8")
    for suffix in ("csv", "tsv", "jsonl", "json"):
        entries = read_entries(
            tmp_path / f"a.{suffix}", tmp_path / "pictures", tmp_path / "scratch"
        )
        assert [(entry.image.name, entry.captions) for entry in entries] == [
            (record["image"], (normalize_text(record["caption"]).strip(),)) for record in records
        ]
    for data in IMAGES:
        image = Image.open(io.BytesIO(data))
        if image.mode in ("RGB", "L", "CMYK") and ImageOps.exif_transpose(image) is not None:
            expected = ImageOps.exif_transpose(image).convert("RGB")
            check_equal(decode_image(make_upright_rgb(data)), expected)
