"""Adapters of PEFT are merged: scores are those of PEFT's own forward pass, and what does not fit is an error."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators import models
from compeval.evaluators.models import checks, known, names
from compeval.evaluators.models.local import load_weights
from compeval.evaluators.models.openclip import load_tokenizer
from compeval.evaluators.results.published import find_scores
from tests.close import assert_close
from tests.evaluators.tiny_transformers import write_model
from tests.evaluators.tiny_vlms import write_vlm

TERMS = 500
"""Terms of all sums on the way through one of the tiny networks, rounded up."""

Folders = Callable[[str], Path]
hf: Any = transformers
IMAGE = Image.new("RGB", (20, 30), "red")
TEXTS = ["a red ball", "a blue ball"]


def write_adapter(model: Any, folder: Path, *targets: str, seed: int = 1) -> Any:
    """Save an adapter with random weights, and return the model with it, not merged."""
    torch.manual_seed(seed)
    config = peft.LoraConfig(r=2, target_modules=list(targets), init_lora_weights=False)
    adapted = peft.get_peft_model(model, config)
    adapted.save_pretrained(folder)
    return adapted.eval()


@pytest.fixture(scope="module")
def clip_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model("clip", tmp_path_factory.mktemp("base") / "tiny-clip")


@pytest.fixture(scope="module")
def adapted(clip_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The folder of an adapter of the model in ``clip_folder``, and the model with it."""
    folder = tmp_path_factory.mktemp("adapters") / "lora"
    return folder, write_adapter(hf.AutoModel.from_pretrained(clip_folder), folder, "q_proj", "fc1")


def encode(encoder: Any) -> list[np.ndarray]:
    return [
        encoder.encode_texts(TEXTS, 2),
        encoder.encode_images([encoder.preprocess(IMAGE)], 1),
    ]


def test_scores_of_an_adapter_equal_those_of_peft(clip_folder: Path, adapted: tuple[Path, Any]):
    folder, library = adapted
    words = hf.AutoTokenizer.from_pretrained(clip_folder)
    pixels = hf.AutoImageProcessor.from_pretrained(clip_folder)(images=IMAGE, return_tensors="pt")
    with torch.no_grad():
        text_TD = library.get_text_features(**words(TEXTS, return_tensors="pt")).pooler_output
        image_ID = library.get_image_features(**pixels).pooler_output
    base = models.load_model(f"transformers:{clip_folder}")
    for spec in (f"transformers:{folder}", f"transformers:{clip_folder}?adapter={folder}"):
        checks.check_name(spec)
        model = models.load_model(spec)
        found_TD, found_ID = encode(model.encoder)
        assert_close(found_TD, text_TD, summed=TERMS)
        assert_close(found_ID, image_ID, summed=TERMS)
        assert model.name == "tiny-clip+lora"
        assert model.fingerprint != base.fingerprint
        assert model.adapter is not None
        assert np.abs(found_TD - encode(base.encoder)[0]).max() > 1e-2, "it changes features"


def test_the_fingerprint_covers_adapter_and_base(
    clip_folder: Path, adapted: tuple[Path, Any], tmp_path: Path
):
    folder, _ = adapted
    copy = shutil.copytree(clip_folder, tmp_path / "tiny-clip")
    same = shutil.copytree(folder, tmp_path / "same")
    first = models.load_model(f"transformers:{clip_folder}?adapter={folder}").fingerprint
    assert models.load_model(f"transformers:{copy}?adapter={same}").fingerprint == first
    weights = load_file(copy / "model.safetensors")
    weights["logit_scale"] += 1
    save_file(weights, copy / "model.safetensors", {"format": "pt"})
    assert models.load_model(f"transformers:{copy}?adapter={same}").fingerprint != first
    weights = load_file(same / "adapter_model.safetensors")
    changed = {name: value * 1.001 for name, value in weights.items()}
    save_file(changed, same / "adapter_model.safetensors", {"format": "pt"})
    assert models.load_model(f"transformers:{clip_folder}?adapter={same}").fingerprint != first


def test_an_adapter_of_open_clip(clip: Path, data: Path, here: Path):
    """Attention of open_clip is nn.MultiheadAttention, whose projections PEFT adapts as one module."""
    base, _ = load_weights(clip, "cpu", "fp32")
    library = write_adapter(base, here / "lora", "attn", "c_fc")
    tokens = load_tokenizer(f"local-dir:{clip}", "clip")(TEXTS)
    with torch.no_grad():
        expected_TD = library.encode_text(tokens).numpy()
    model = models.load_model(f"local:{clip}?adapter=lora")
    assert_close(encode(model.encoder)[0], expected_TD, summed=TERMS)
    assert (model.corpus, model.warnings) == (None, ())  # what it was trained on is not known
    arguments = ["--data", str(data), "--task", "crepe/prod_hnatom/n4", "--json"]
    results = [
        json.loads(CliRunner().invoke(app, ["run", f"local:{clip}", *arguments, *more]).stdout)[0]
        for more in ([], ["--setting", "adapter=lora"])
    ]
    assert "adapter" not in results[0]["model"]
    assert results[1]["model"]["adapter"]["title"] == "lora"
    assert results[1]["model"]["name"] == f"{clip.name}+lora"
    assert results[0]["metrics"] != results[1]["metrics"]
    # PEFT is loaded each time.
    assert known.load_model_info(f"local:{clip}?adapter=lora", "fp32") is None
    assert names.expand([f"local:{clip}?adapter=lora"]) == [f"local:{clip}?adapter=lora"]


def test_a_generative_model_with_an_adapter(tmp_path: Path):
    folder = write_vlm("qwen2.5-vl", tmp_path / "qwen")
    base: Any = hf.AutoModelForImageTextToText.from_pretrained(folder)
    write_adapter(base, tmp_path / "lora", "q_proj", "v_proj")
    plain, merged = (models.load_model(f"vlm:{name}") for name in (folder, tmp_path / "lora"))
    scores = []
    for encoder in (plain.encoder, merged.encoder):
        assert isinstance(encoder, models.PairScorer)
        scores.append(float(encoder.score([encoder.preprocess(IMAGE)], ["a red ball"])[0]))
    assert abs(scores[0] - scores[1]) > 1e-3
    assert merged.name == "qwen+lora"


def change(folder: Path, **settings: Any) -> None:
    path = folder / "adapter_config.json"
    path.write_text(
        json.dumps(json.loads(path.read_text(encoding="utf-8")) | settings), encoding="utf-8"
    )


def test_an_adapter_that_does_not_fit_its_base_is_one_clear_message(
    clip_folder: Path, adapted: tuple[Path, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = shutil.copytree(adapted[0], tmp_path / "lora")
    siglip = write_model("siglip", tmp_path / "siglip")

    def fails(spec: str) -> str:
        with pytest.raises((ValueError, FileNotFoundError, ModuleNotFoundError)) as caught:
            models.load_model(spec)
        return str(caught.value).replace(str(tmp_path), "T").replace(str(clip_folder), "BASE")

    assert fails(f"transformers:{siglip}?adapter={folder}").endswith(
        "the adapter was trained on BASE, not on T/siglip (adapter_config.json, base_model_name_or_path). Name that "
        "base, or correct the file if T/siglip is a copy of it."
    )
    change(folder, base_model_name_or_path=None)
    message = fails(f"transformers:{siglip}?adapter={folder}")
    assert "the adapter T/lora cannot be merged into T/siglip (2 tensors do not fit: " in message
    assert "It was trained on a base that its adapter_config.json does not name." in message
    assert (
        "adapter_config.json does not name the base model. Name it: BASE?adapter=T/lora"
        in fails(f"transformers:{folder}")
    )
    weights = load_file(folder / "adapter_model.safetensors")
    grown = {name: torch.cat([value, value]) for name, value in weights.items()}
    save_file(grown, folder / "adapter_model.safetensors", {"format": "pt"})
    assert "cannot be merged into BASE (" in fails(f"transformers:{clip_folder}?adapter={folder}")
    more = weights | {"base_model.model.other.lora_A.weight": torch.zeros(2, 2)}
    save_file(more, folder / "adapter_model.safetensors", {"format": "pt"})
    assert "1 tensors do not fit: the base has no place for " in fails(
        f"transformers:{clip_folder}?adapter={folder}"
    )
    change(folder, peft_type="PROMPT_TUNING", num_virtual_tokens=2, task_type="FEATURE_EXTRACTION")
    assert "type PROMPT_TUNING adds tokens and cannot be merged" in fails(
        f"transformers:{clip_folder}?adapter={folder}"
    )
    (folder / "adapter_model.safetensors").unlink()
    spec = f"transformers:{clip_folder}?adapter={folder}"
    assert "T/lora/adapter_model.safetensors: not found. An adapter is a folder" in fails(spec)
    with pytest.raises(FileNotFoundError, match="An adapter is a folder"):
        checks.check_name(spec)
    with pytest.raises(FileNotFoundError, match="nowhere: no such folder"):
        checks.check_name("ViT-B-32/laion400m_e32?adapter=nowhere")
    monkeypatch.setitem(sys.modules, "peft", None)
    assert "adapters need PEFT, which is not installed: pip install 'compeval[peft]'" in fails(spec)


def test_an_adapted_model_is_not_taken_for_its_base_among_published_models():
    assert find_scores("ViT-B-32-quickgelu/openai")
    assert not find_scores(
        "ViT-B-32/openai?adapter=lora", "ViT-B-32/openai+lora", "ViT-B-32-quickgelu/openai+lora"
    )


def test_settings_of_a_model_without_settings(here: Path, data: Path):
    spec = "ViT-B-32/laion400m_e32"
    done = CliRunner().invoke(app, ["run", spec, "--data", str(data), "--setting", "scoring=yes"])
    assert done.exit_code == 2
    assert "have --setting adapter=FOLDER." in " ".join(done.stderr.split())
