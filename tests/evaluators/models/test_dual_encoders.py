"""Evaluate tiny random dual encoders and matching heads on 40 rows, and compare with their library's forward pass."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pyarrow.parquet as pq
import pytest
import torch
import transformers
from tokenizers import AddedToken
from typer.testing import CliRunner

from compeval.cli import app
from evaluators import models
from tests.evaluators import tiny
from tests.evaluators.models.test_model_families import write_open_clip
from tests.evaluators.tiny_transformers import WORDS, tokenizer, transformers_folder

hf: Any = transformers
TEXT = {"context_length": 16, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2}
TIMM = {
    "eva-clip": ("eva02_tiny_patch14_224", 224, {"timm_pool": "token", "timm_proj": None}, {}),
    "pe-core": ("vit_pe_core_tiny_patch16_384", 384, {"timm_pool": "map", "timm_proj": None}, {}),
    "mobileclip2": (
        "fastvit_mci0",
        64,
        {"timm_pool": "avg", "timm_proj": None, "timm_drop": 0.0, "timm_drop_path": 0.0},
        {"no_causal_mask": True},
    ),
}
"""timm's smallest image tower of each family of open_clip, its resolution, and options of both towers."""
VIT = {"image_size": 16, "layers": 1, "width": 16, "patch_size": 8, "head_width": 8}
WITH_TOKENIZERS = {
    "metaclip2": {"pool_type": "eos", "eos_id": 2},
    "siglip2": {"no_causal_mask": True, "pool_type": "last", "tokenizer_kwargs": {"clean": "canonicalize"}},
}
"""Options of the text towers of families of open_clip with a tokeniser of transformers."""


@pytest.fixture(scope="module")
def forty_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_varied_rows(tmp_path_factory.mktemp("rows"), 40)


def run(spec: str, data: Path, output: Path) -> tuple[dict[str, Any], np.ndarray]:
    """Return the result, and the scores (N, T)."""
    arguments = ["run", "--model", spec, "--data", str(data), "--output", str(output), "--name", "tiny", "--json"]
    done = CliRunner().invoke(app, [*arguments, "--task", "crepe/prod_hnatom/n4"])
    assert done.exit_code == 0, done.output
    (result,) = json.loads(done.stdout)
    path = output / "microworld" / "tiny" / "crepe" / "prod_hnatom" / "n4.parquet"
    return result, np.array(pq.read_table(path)["scores"].to_pylist())


def captions(row: dict[str, Any]) -> list[str]:
    return [row["caption"], *row["hard_negatives"]]


def write_family(family: str, folder: Path) -> Path:
    """Save a random model of open_clip in a folder."""
    torch.manual_seed(0)
    if family in TIMM:
        name, size, vision, text = TIMM[family]
        seen = {"image_size": size, "timm_model_name": name, "timm_model_pretrained": False, **vision}
        config: dict[str, Any] = {"embed_dim": 16, "vision_cfg": seen, "text_cfg": TEXT | text}
        return write_open_clip(folder, config | {"custom_text": True}, open_clip.CustomTextCLIP(**config))
    text = TEXT | WITH_TOKENIZERS[family]
    config = {"embed_dim": 16, "vision_cfg": VIT, "text_cfg": text | {"vocab_size": len(WORDS) + 1}}
    model = open_clip.CustomTextCLIP(**config)
    write_open_clip(folder, config | {"custom_text": True}, model)
    made = json.loads((folder / "open_clip_config.json").read_text())
    made["model_cfg"]["text_cfg"]["hf_tokenizer_name"] = "our/tokenizer"
    (folder / "open_clip_config.json").write_text(json.dumps(made))
    tokenizer().save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    "family", [*(pytest.param(family, marks=pytest.mark.acceptance) for family in TIMM), *WITH_TOKENIZERS]
)
def test_families_of_open_clip(family: str, forty_rows: Path, tmp_path: Path):
    folder = write_family(family, tmp_path / family)
    result, scores = run(f"local:{folder}", forty_rows, tmp_path / "results")
    assert not result["warnings"]
    loaded: Any = open_clip.create_model_from_pretrained(f"local-dir:{folder}")
    model, preprocess = loaded[0].eval(), loaded[1]
    tokenize = open_clip.get_tokenizer(f"local-dir:{folder}")
    expected = []
    with torch.no_grad():
        for row in tiny.read_rows(forty_rows):
            seen = model.encode_image(preprocess(row["pixels"])[None], normalize=True)
            expected.append((seen @ model.encode_text(tokenize(captions(row)), normalize=True).T)[0].numpy())
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    assert np.std(scores) > 1e-4


@pytest.mark.parametrize("family", ["metaclip_2", "siglip2"])
def test_families_of_transformers(family: str, forty_rows: Path, tmp_path: Path):
    torch.manual_seed(0)
    folder = transformers_folder(family, tmp_path / family)
    _, scores = run(f"transformers:{folder}", forty_rows, tmp_path / "results")
    model, processor = hf.AutoModel.from_pretrained(folder).eval(), hf.AutoImageProcessor.from_pretrained(folder)
    words, padding = hf.AutoTokenizer.from_pretrained(folder), "max_length" if family == "siglip2" else "longest"
    expected = []
    with torch.no_grad():
        for row in tiny.read_rows(forty_rows):
            texts = words(captions(row), padding=padding, truncation=True, max_length=12, return_tensors="pt")
            logits = model(**texts, **processor(images=row["pixels"], return_tensors="pt")).logits_per_image
            expected.append(((logits - getattr(model, "logit_bias", 0)) / model.logit_scale.exp())[0].numpy())
    np.testing.assert_allclose(scores, expected, atol=1e-4)


@pytest.mark.parametrize("head", ["", "@itm"])
def test_both_heads_of_blip_2(head: str, forty_rows: Path, tmp_path: Path):
    torch.manual_seed(0)
    folder = transformers_folder("blip-2", tmp_path / "blip2")
    result, scores = run(f"transformers:{folder}{head}", forty_rows, tmp_path / "results")
    assert result["model"]["contaminated"] == "trained on Visual Genome and COCO"
    model = hf.Blip2ForImageTextRetrieval.from_pretrained(folder).eval()
    words, processor = hf.AutoTokenizer.from_pretrained(folder), hf.AutoImageProcessor.from_pretrained(folder)
    expected = []
    with torch.no_grad():
        for row in tiny.read_rows(forty_rows):
            pixels = processor(images=row["pixels"], return_tensors="pt")["pixel_values"]
            inputs = [words(text, truncation=True, max_length=12, return_tensors="pt") for text in captions(row)]
            outputs = [
                model(pixel_values=pixels, use_image_text_matching_head=bool(head), **one).logits_per_image[0]
                for one in inputs
            ]
            expected.append([float(one.softmax(dim=0)[1] if head else one[0]) for one in outputs])
    np.testing.assert_allclose(scores, expected, atol=1e-4)


def siglip_2_processor(folder: Path) -> Any:
    """Return SigLIP 2's own processor, with a tokeniser of a few words that lowers the case."""
    words = {word: index for index, word in enumerate(("<pad>", "<eos>", "<bos>", "<unk>", "<mask>"))}
    letters = {letter: 5 + index for index, letter in enumerate("abcdefghijklmnopqrstuvwxyz▁")}
    made = hf.Siglip2Tokenizer(vocab=words | letters, merges=[])
    made.add_tokens([AddedToken("red"), AddedToken("ball")])
    made.save_pretrained(folder)
    images = hf.AutoImageProcessor.from_pretrained(folder)
    return hf.Siglip2Processor(images, hf.AutoTokenizer.from_pretrained(folder))


def test_siglip_2_reads_lower_case_and_64_tokens_as_its_processor_does(tmp_path: Path):
    config = hf.Siglip2Config(
        text_config={"vocab_size": 40, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
        | {"num_attention_heads": 2, "max_position_embeddings": 64},
        vision_config={"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
        | {"num_patches": 256, "patch_size": 16},
    )
    torch.manual_seed(0)
    hf.Siglip2Model(config).save_pretrained(tmp_path)
    hf.Siglip2ImageProcessor(patch_size=16, max_num_patches=256).save_pretrained(tmp_path)
    processor = siglip_2_processor(tmp_path)
    model = hf.AutoModel.from_pretrained(tmp_path).eval()
    texts = ["A Red BALL", "a red ball", "a blue box and " * 20]
    image = tiny.Image.new("RGB", (20, 30), "red")
    inputs = processor(images=[image], text=texts, return_tensors="pt")
    assert inputs["input_ids"].shape == (3, 64)
    with torch.no_grad():
        logits = model(**inputs).logits_per_image[0]
    encoder: Any = models.resolve(f"transformers:{tmp_path}").encoder
    read = encoder.encode_texts(texts, 3)
    seen = encoder.encode_images([encoder.preprocess(image)], 1)
    cosine = (seen @ read.T)[0] / np.linalg.norm(seen) / np.linalg.norm(read, axis=1)
    np.testing.assert_allclose(cosine, ((logits - model.logit_bias) / model.logit_scale.exp()).detach(), atol=1e-5)
    np.testing.assert_array_equal(read[0], read[1])
    assert encoder.max_tokens == 64
    assert encoder.find_truncated(texts).tolist() == [False, False, True]


def test_texts_that_are_longer_than_a_tower_reads_are_counted_on_the_result(tmp_path: Path):
    """The tower of the tiny CLIP reads 16 tokens: 14 words, the beginning and the end."""
    row = tiny.row(0, "red", "ball", ["blue", "pink"])
    row |= {"caption": "red " * 14, "hard_negatives": ["red " * 13 + "ball", "blue " * 15]}
    data = tiny.write_dataset(tmp_path / "data", {"prod_hnatom": {"n4": [row]}})
    result, _ = run(f"local:{tiny.write_clip(tmp_path / 'clip')}", data, tmp_path / "results")
    assert result["warnings"] == ["1 of 3 texts are longer than 16 tokens; the model reads no more than these."]
    torch.manual_seed(0)
    clip = transformers_folder("clip", tmp_path / "transformers")  # 12 tokens: two of the texts have 16, one has 17
    result, _ = run(f"transformers:{clip}", data, tmp_path / "more")
    assert result["warnings"] == ["3 of 3 texts are longer than 12 tokens; the model reads no more than these."]
