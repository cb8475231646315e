"""Every adapter and reader equals the library that is called directly, on the strangest inputs of the reports.

Token ids, pixels and features in fp32 are equal bit for bit, unless ``largest`` allows a difference, which says why.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from evaluators import models
from generators.files import csv_tables, json_lines
from generators.files.untrusted import decode_image
from generators.readers import shards
from loaders.published import rows, tables
from tests.evaluators.tiny_transformers import TEXT, tokenizer
from tests.reports import reports, runners
from tests.reports.bench import Bench, encode, hf, iterate_pairs, noise, normalize, tar_of, turned, wrap, write_table

TEXTS = [*reports.STRANGE, "a red ball", "You should've done this", "x " * 90, "A\n'll 11p223RF☆ho!!to? of a cat"]
IMAGES = [
    *(encode(noise(width, height)) for width, height in ((1, 1), (1000, 1), (1, 700), (333, 517), (15, 17), (19, 16))),
    *(encode(noise(20, 30, mode)) for mode in ("L", "LA", "RGBA")),
    encode(noise(20, 30, "CMYK"), "JPEG"),
    encode(Image.fromarray(reports.RAMP)),
    encode(Image.fromarray(reports.FLOATS), "TIFF"),
    turned("JPEG"),
    reports.palette(bytes([0] + [255] * 255)),
]


def open_each(data: bytes) -> tuple[Image.Image, Image.Image]:
    """Return an image as we decode it, and as Pillow does."""
    return decode_image(data), Image.open(io.BytesIO(data)).convert("RGB")


def check_equal(ours: Any, theirs: Any, largest: float = 0) -> None:
    ours, theirs = (
        value if isinstance(value, torch.Tensor) else torch.from_numpy(np.array(value)) for value in (ours, theirs)
    )
    assert ours.shape == theirs.shape
    if not largest:
        assert torch.equal(ours, theirs), float((ours - theirs).abs().max())
    assert float((ours.double() - theirs.double()).abs().max()) <= largest


@torch.no_grad()
@pytest.mark.parametrize("causal", [True, False], ids=["CLIP", "SigLIP"])
def test_open_clip(causal: bool, bench: Bench):
    folder = bench.clip_folder if causal else bench.siglip_folder
    encoder: Any = models.resolve(f"local:{folder}").encoder
    model, transform, words = bench.load_open_clip(folder)
    for text in TEXTS:
        check_equal(encoder._tokenize([text]), words([text]))
        # Without padding and with shared prefixes, sums are in another order.
        check_equal(encoder.encode_texts([text], 1), model.encode_text(words([text])), 2e-6 if causal else 0)
    for ours, theirs in map(open_each, IMAGES):
        check_equal(normalize(encoder, ours), transform(theirs))
        check_equal(encoder.encode_images([encoder.preprocess(ours)], 1), model.encode_image(transform(theirs)[None]))


FAMILIES = ("clip", "metaclip_2", "siglip", "siglip2", "align", "flava")


@torch.no_grad()
@pytest.mark.parametrize("family", FAMILIES)
def test_dual_encoders_of_transformers(family: str, bench: Bench):
    encoder, (model, words, processor) = bench.ours(family), bench.library(family)
    for text in TEXTS:
        padding = "max_length" if "siglip" in family else "do_not_pad"
        check_equal(encoder._texts([text])["input_ids"][0], words(text, padding=padding, **runners.CUT)["input_ids"])
        theirs = runners.library_texts(bench, bench.folder, (family, [text]))
        check_equal(encoder.encode_texts([text], 1), theirs)
    for ours, theirs in map(open_each, IMAGES):
        prepared, inputs = encoder.preprocess(ours), processor(images=theirs, return_tensors="pt")
        assert prepared.keys() == inputs.keys()
        for name, value in prepared.items():
            check_equal(value, inputs[name][0])
        expected = model.get_image_features(**inputs).pooler_output
        check_equal(encoder.encode_images([prepared], 1), expected[:, 0] if expected.ndim == 3 else expected)


@torch.no_grad()
def test_clip_with_the_vocabulary_of_openai(bench: Bench):
    encoder, model = bench.real_clip
    for text in TEXTS:
        tokens = bench.real_tokenizer(text, truncation=True, return_tensors="pt")
        check_equal(encoder._texts([text])["input_ids"], tokens["input_ids"])
        check_equal(encoder.encode_texts([text], 1), model.get_text_features(**tokens).pooler_output)


def blip(model: Any, inputs: Any) -> torch.Tensor:
    logits = model(**inputs, use_itm_head=True).itm_score[0].double()
    return logits[1] - logits[0]


def blip_2(model: Any, inputs: Any) -> torch.Tensor:
    return model(**inputs, use_image_text_matching_head=False).logits_per_image[0, 0]


def blip_2_itm(model: Any, inputs: Any) -> torch.Tensor:
    logits = model(**inputs, use_image_text_matching_head=True).logits_per_image[0].double()
    return logits[1] - logits[0]


@torch.no_grad()
@pytest.mark.parametrize(
    ("family", "kind", "score", "largest"),
    [
        ("blip", "BlipForImageTextRetrieval", blip, 0),
        # The library divides by the norm and multiplies; torch's cosine divides the product.
        ("blip-2", "Blip2ForImageTextRetrieval", blip_2, 2e-7),
        ("blip-2@itm", "Blip2ForImageTextRetrieval", blip_2_itm, 1e-6),
    ],
)
def test_pair_scorers_of_transformers(family: str, kind: str, score: Callable[..., Any], largest: float, bench: Bench):
    folder = bench.transformers_folder(family.removesuffix("@itm"))
    encoder: Any = models.resolve(f"transformers:{folder}{'@itm' if '@' in family else ''}").encoder
    model = getattr(hf, kind).from_pretrained(folder).eval()
    words, processor = hf.AutoTokenizer.from_pretrained(folder), hf.AutoImageProcessor.from_pretrained(folder)
    for number, data in enumerate(IMAGES):
        ours, theirs = open_each(data)
        text = TEXTS[number]
        inputs = words([text], return_tensors="pt", **runners.CUT) | processor(images=theirs, return_tensors="pt")
        check_equal(encoder._texts([text])["input_ids"], inputs["input_ids"])
        check_equal(encoder.preprocess(ours)["pixel_values"], inputs["pixel_values"][0])
        inputs = {name: inputs[name] for name in ("input_ids", "attention_mask", "pixel_values")}
        check_equal(encoder.score([encoder.preprocess(ours)], [text])[0], score(model, inputs), largest)


@torch.no_grad()
@pytest.mark.parametrize("family", ["qwen2.5-vl", "internvl"])
def test_generative_models(family: str, bench: Bench):
    encoder, _, processor = bench.vlm(family)
    for number, data in enumerate(IMAGES[3:]):  # Qwen refuses images whose sides differ more than 200 times
        ours, theirs = open_each(data)
        text = TEXTS[number].replace("<|", "< |")
        inputs = runners.ask(processor, theirs, text)
        for name, value in encoder.generative.process(ours, text).items():
            check_equal(value, inputs[name])


def test_sentence_transformers(bench: Bench, tmp_path: Path):
    library = pytest.importorskip("sentence_transformers")
    hf.BertModel(hf.BertConfig(**TEXT)).save_pretrained(tmp_path / "bert")
    tokenizer().save_pretrained(tmp_path / "bert")
    modules = import_module("sentence_transformers.sentence_transformer.modules")
    word = modules.Transformer(str(tmp_path / "bert"))
    library.SentenceTransformer(modules=[word, modules.Pooling(16, "mean")]).save(str(tmp_path / "sentence"))
    encoder: Any = models.resolve(f"sentence-transformers:{tmp_path / 'sentence'}").encoder
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
    assert [row for _, row in csv_tables.read_numbered(path, (), delimiter, is_ours=False)] == expected
    assert list(rows.read_csv(path, ("image",))) == expected


def test_readers_of_json_and_parquet(tmp_path: Path):
    records = [{"text": text, "more": [text, None, 2**53 + 1, {"a": 1e300}]} for text in CELLS]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in records), encoding="utf-8")
    assert [row for _, row in json_lines.read_numbered(path)] == records
    (tmp_path / "a.json").write_text(json.dumps(records), encoding="utf-8-sig")
    assert rows.read_json(tmp_path / "a.json") == records
    table = write_table(
        tmp_path / "a.parquet", [{"text": text, "many": [text, None], "id": 2**53 + 1} for text in CELLS]
    )
    assert [row for _, row in tables.read_table(table, ["text", "many", "id"])] == pq.read_table(table).to_pylist()


def test_the_reader_of_shards(tmp_path: Path):
    from webdataset.tariterators import group_by_keys, tar_file_expander

    names = [
        f"{folder}{key}.{suffix}" for folder in ("", "p/") for key in ("1", "ä", "b c") for suffix in ("jpg", "txt")
    ]
    data = tar_of(iterate_pairs(names))
    (tmp_path / "0.tar").write_bytes(data)
    expanded = tar_file_expander([{"url": "0.tar", "stream": io.BytesIO(data)}])
    expected = [(sample["__key__"], sample["jpg"], sample["txt"].decode()) for sample in group_by_keys(expanded)]
    pairs = shards.read_pairs(tmp_path / "0.tar", Counter())
    assert [(pair.key, pair.image.content, pair.caption) for pair in pairs] == expected
