"""Compare every adapter with the forward pass of its library, on folders of random weights."""

import json
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import numpy as np
import open_clip
import pytest
import torch
import transformers as hf
from PIL import Image
from safetensors.torch import save_file
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers import models as token_models
from typer.testing import CliRunner

from compeval.cli import app
from evaluators import models
from loaders.importing.importing import import_files
from tests.evaluators import tiny
from tests.evaluators.tiny_transformers import IDS, SMALL, TEXT, transformers_folder

TEXTS = ["a red ball", "a blue", "a pink ball ball"]
IMAGES = [Image.new("RGB", (20, 30), color) for color in ("red", "blue", "yellow")]


def unit(feature_ND: np.ndarray) -> np.ndarray:
    return feature_ND / np.linalg.norm(feature_ND, axis=1, keepdims=True)


def cosines(encoder: Any) -> np.ndarray:
    """Return the cosines of three images with three texts, computed by the adapter."""
    images = encoder.encode_images([encoder.preprocess(image) for image in IMAGES], 2)
    return unit(images) @ unit(encoder.encode_texts(TEXTS, 2)).T


def inputs_of(folder: Path, padding: str) -> Any:
    tokenizer, processor = hf.AutoTokenizer.from_pretrained(folder), hf.AutoImageProcessor.from_pretrained(folder)
    texts = tokenizer(TEXTS, padding=padding, max_length=12, return_tensors="pt")
    return texts | processor(images=IMAGES, return_tensors="pt")


@pytest.mark.parametrize("family", ["clip", "metaclip_2", "siglip", "siglip2", "align"])
def test_scores_equal_the_logits_of_the_library(tmp_path: Path, family: str):
    folder = transformers_folder(family, tmp_path)
    library: Any = hf.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = library(**inputs_of(folder, "max_length" if "siglip" in family else "longest")).logits_per_image
        if family == "align":
            expected = logits * library.temperature
        else:
            expected = (logits - getattr(library, "logit_bias", 0)) / library.logit_scale.exp()
    np.testing.assert_allclose(cosines(models.resolve(f"transformers:{folder}").encoder), expected.numpy(), atol=1e-5)


def test_flava_projects_the_first_token_of_either_tower(tmp_path: Path):
    folder = transformers_folder("flava", tmp_path)
    library: Any = hf.AutoModel.from_pretrained(folder).eval()
    inputs = inputs_of(folder, "longest")
    with torch.no_grad():
        seen = library.image_projection(library.image_model(inputs["pixel_values"]).last_hidden_state[:, 0])
        texts = {name: inputs[name] for name in ("input_ids", "attention_mask")}
        read = library.text_projection(library.text_model(**texts).last_hidden_state[:, 0])
    expected = unit(seen.numpy()) @ unit(read.numpy()).T
    np.testing.assert_allclose(cosines(models.resolve(f"transformers:{folder}").encoder), expected, atol=1e-5)


def test_blip_returns_the_probability_of_a_match(tmp_path: Path):
    folder = transformers_folder("blip", tmp_path)
    library: Any = hf.BlipForImageTextRetrieval.from_pretrained(folder).eval()
    inputs = inputs_of(folder, "longest")
    with torch.no_grad():
        expected = library(
            **{name: inputs[name] for name in ("input_ids", "attention_mask", "pixel_values")}, use_itm_head=True
        ).itm_score.softmax(dim=-1)[:, 1]
    encoder: Any = models.resolve(f"transformers:{folder}").encoder
    found = encoder.score([encoder.preprocess(image) for image in IMAGES], TEXTS)
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-6)


def test_flava_with_its_itm_head_scores_padded_captions_as_aros_authors_did(tmp_path: Path):
    folder = transformers_folder("flava_itm", tmp_path)
    library: Any = hf.FlavaForPreTraining.from_pretrained(folder).eval()
    inputs = inputs_of(folder, "max_length")
    names = ("input_ids", "attention_mask", "pixel_values")
    # Without a mask over both modalities, the multimodal encoder attends to the padding.
    multimodal = library.flava.multimodal_model
    forward = multimodal.forward
    multimodal.forward = lambda states, attention_mask=None, **options: forward(states, **options)
    arguments = {name: inputs[name] for name in names} | {"input_ids_masked": inputs["input_ids"]}
    with torch.no_grad():
        logits = library(**arguments, return_loss=False).itm_logits
    encoder: Any = models.resolve(f"transformers:{folder}@itm").encoder
    found = encoder.score([encoder.preprocess(image) for image in IMAGES], TEXTS)
    np.testing.assert_allclose(found, logits.softmax(dim=-1)[:, 1].numpy(), atol=1e-6)
    with pytest.raises(ValueError, match="only FLAVA and BLIP-2 have @itm; the model is of type 'blip'"):
        models.resolve(f"transformers:{transformers_folder('blip', tmp_path / 'blip')}@itm")


def write_open_clip(folder: Path, config: dict[str, Any], model: Any) -> Path:
    folder.mkdir(parents=True)
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": config, "preprocess_cfg": {}}))
    return folder


def open_clip_cosines(folder: Path) -> np.ndarray:
    """Return the cosines computed by open_clip's own functions."""
    loaded: Any = open_clip.create_model_from_pretrained(f"local-dir:{folder}")
    model, preprocess = loaded
    with torch.no_grad():
        seen = model.eval().encode_image(torch.stack([preprocess(image) for image in IMAGES]), normalize=True)
        read = model.encode_text(open_clip.get_tokenizer(f"local-dir:{folder}")(TEXTS), normalize=True)
    return (seen @ read.T).numpy()


def test_coca(tmp_path: Path):
    vision = {"image_size": 16, "layers": 1, "width": 16, "patch_size": 8, "head_width": 8}
    text = {"context_length": 16, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1}
    config = {
        "embed_dim": 16,
        "vision_cfg": vision | {"attentional_pool": True, "attn_pooler_heads": 2, "output_tokens": True},
        "text_cfg": text | {"embed_cls": True, "output_tokens": True},
        "multimodal_cfg": text | {"attn_pooler_heads": 2},
    }
    torch.manual_seed(0)
    built: Any = dict(config)
    folder = write_open_clip(tmp_path / "coca", config | {"custom_text": True}, open_clip.CoCa(**built))
    np.testing.assert_allclose(cosines(models.resolve(f"local:{folder}").encoder), open_clip_cosines(folder), atol=1e-5)


def test_siglip_of_open_clip_keeps_its_padding(tmp_path: Path):
    folder = tiny.write_clip(tmp_path / "siglip", causal=False)
    encoder: Any = models.resolve(f"local:{folder}").encoder
    assert encoder.prefix_forest is None
    np.testing.assert_allclose(cosines(encoder), open_clip_cosines(folder), atol=1e-5)


def test_a_model_of_the_hub_from_its_cache_without_a_network(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    for name in ("clip", "mscoco_finetuned_CoCa"):
        repository = tmp_path / f"models--our--{name}"
        shutil.copytree(clip, repository / "snapshots" / ("a" * 40))
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text("a" * 40)
    model = models.resolve("hf-hub:our/clip")
    assert (model.name, model.contaminated) == ("our/clip", None)
    assert models.resolve("hf-hub:our/mscoco_finetuned_CoCa").contaminated == "fine-tuned on COCO"
    np.testing.assert_allclose(cosines(model.encoder), open_clip_cosines(clip), atol=1e-5)
    with pytest.raises(FileNotFoundError, match=r"hf-hub:our/other: its files are not on this machine"):
        models.resolve("hf-hub:our/other")


def swap_words(tokenizer_folder: Path) -> None:
    """Exchange the token ids of two words in the vocabulary."""
    path = tokenizer_folder / "tokenizer.json"
    made = json.loads(path.read_text())
    words = made["model"]["vocab"]
    words["pink"], words["yellow"] = words["yellow"], words["pink"]
    path.write_text(json.dumps(made))


def test_features_of_another_tokeniser_are_not_reused(tmp_path: Path):
    folder = transformers_folder("clip", tmp_path / "clip")
    open_clip_folder = tiny.write_clip(tmp_path / "open_clip")
    config = json.loads((open_clip_folder / "open_clip_config.json").read_text())
    config["model_cfg"]["text_cfg"]["hf_tokenizer_name"] = "our/tokenizer"
    (open_clip_folder / "open_clip_config.json").write_text(json.dumps(config))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder / name, open_clip_folder)
    specs = [f"transformers:{folder}", f"local:{open_clip_folder}"]
    before = [models.resolve(spec).fingerprint for spec in specs]
    assert [models.resolve(spec).fingerprint for spec in specs] == before
    swap_words(folder)
    swap_words(open_clip_folder)
    after = [models.resolve(spec).fingerprint for spec in specs]
    assert not set(before) & set(after)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": 4}))
    assert models.resolve(specs[0]).fingerprint != after[0]


def test_a_folder_without_a_tokeniser_is_an_error(tmp_path: Path):
    """Without the files, transformers makes up a tokeniser that knows no word: all texts get equal features."""
    folder = transformers_folder("clip", tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=r"files of the folder are missing or damaged \(there is no tokeniser"):
        models.resolve(f"transformers:{folder}")
    with pytest.raises(FileNotFoundError, match=r"nowhere: no such folder\.$"):
        models.resolve(f"transformers:{tmp_path / 'nowhere'}")


def test_weights_that_are_truncated_or_contain_more_than_tensors(tmp_path: Path):
    folder = transformers_folder("clip", tmp_path / "transformers")
    ours = tiny.write_clip(tmp_path / "local")
    for path in (folder / "model.safetensors", ours / "open_clip_model.safetensors"):
        path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(FileNotFoundError, match="files of the folder are missing or damaged"):
        models.resolve(f"transformers:{folder}")
    with pytest.raises(ValueError, match="local: the model cannot be loaded"):
        models.resolve(f"local:{ours}")
    torch.save({"state_dict": {}, "arguments": Path("x")}, tmp_path / "pickled.pt")
    (tmp_path / "page.pt").write_text("hello world, this is no checkpoint")
    for name in ("pickled.pt", "page.pt"):
        with pytest.raises(
            ValueError, match=r"\(it contains more than tensors, or is damaged: save only its state dict"
        ):
            models.resolve(f"RN50-quickgelu/{tmp_path / name}")


def test_an_unavailable_tokeniser_is_named(tmp_path: Path):
    folder = tiny.write_clip(tmp_path / "clip")
    config = json.loads((folder / "open_clip_config.json").read_text())
    config["model_cfg"]["text_cfg"]["hf_tokenizer_name"] = "our/tokenizer"
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    with pytest.raises(FileNotFoundError, match=f"local:{folder}: its tokeniser is not on this machine"):
        models.resolve(f"local:{folder}")


def test_sentence_transformers(tmp_path: Path, data: Path):
    library = pytest.importorskip("sentence_transformers")
    from tests.evaluators.tiny_transformers import tokenizer

    hf.BertModel(hf.BertConfig(**TEXT)).save_pretrained(tmp_path / "bert")
    tokenizer().save_pretrained(tmp_path / "bert")
    modules = import_module("sentence_transformers.sentence_transformer.modules")
    word = modules.Transformer(str(tmp_path / "bert"))
    built = library.SentenceTransformer(modules=[word, modules.Pooling(16, "mean")])
    built.save(str(tmp_path / "sentence"))
    spec = f"sentence-transformers:{tmp_path / 'sentence'}"
    model = models.resolve(spec)
    assert isinstance(model.encoder, models.TextEncoder)
    np.testing.assert_allclose(model.encoder.encode_texts(TEXTS, 2), built.encode(TEXTS), atol=1e-5)
    told = CliRunner().invoke(app, ["run", "--model", spec, "--data", str(data), "--task", "crepe/prod_hnatom/n4"])
    assert told.exit_code == 2
    assert "encodes no images" in told.stderr
    rows = [
        {"filename": "1.jpg", "caption": f"red {noun}", "caption2": f"a red {noun}", "negative_caption": f"blue {noun}"}
        for noun in ("ball", "box", "ball")
    ]
    (tmp_path / "swap_obj.json").write_text(json.dumps(rows))
    Image.new("RGB", (2, 2)).save(tmp_path / "1.jpg")
    import_files([tmp_path / "swap_obj.json"], tmp_path, tmp_path / "published")
    (tmp_path / "1.jpg").unlink()  # the task on texts needs no image
    task = ["--task", "sugarcrepe_pp/*", "--data", str(tmp_path / "published"), "--json"]
    done = CliRunner().invoke(app, ["run", "--model", spec, *task])
    assert done.exit_code == 0, done.output
    (result,) = json.loads(done.stdout)
    unit = {text: feature / np.linalg.norm(feature) for row in rows for text in list(row.values())[1:]
            for feature in [built.encode([text])[0]]}  # fmt: skip
    hits = [
        unit[one] @ unit[two] > max(unit[one] @ unit[wrong], unit[two] @ unit[wrong])
        for _, one, two, wrong in (row.values() for row in rows)
    ]
    assert result["main"] == ["text_accuracy"]
    assert result["metrics"]["text_accuracy"] == pytest.approx(np.mean(hits))
    assert result["chance"]["text_accuracy"] == pytest.approx(1 / 3)


WORDS = ("<pad>", "<s>", "</s>", "<unk>", "<image>", "yes", "no", "red", "blue", "pink", "ball", "show", "image")


def write_vlm(folder: Path) -> Path:
    """Write a random LLaVA with its processor."""
    raw = Tokenizer(token_models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    tokens = hf.PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        additional_special_tokens=["<image>"],
    )
    size = {"height": 16, "width": 16}
    processor = hf.LlavaProcessor(
        image_processor=hf.CLIPImageProcessor(size=size, crop_size=size),
        tokenizer=tokens,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template="{% for m in messages %}{% for c in m['content'] %}{% if c['type'] == 'image' %}<image> "
        "{% else %}{{ c['text'] }}{% endif %}{% endfor %}{% endfor %}",
    )
    language: Any = SMALL | IDS | {"vocab_size": len(WORDS), "max_position_embeddings": 64}
    seen: Any = SMALL | {"image_size": 16, "patch_size": 8, "num_hidden_layers": 2}
    torch.manual_seed(0)
    model = hf.LlavaForConditionalGeneration(
        hf.LlavaConfig(
            text_config=hf.LlamaConfig(**language),
            vision_config=hf.CLIPVisionConfig(**seen),
            image_token_index=WORDS.index("<image>"),
            image_seq_length=4,
        )
    )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def test_a_generative_model_scores_by_the_likelihood_of_yes(here: Path, data: Path):
    folder = write_vlm(here / "vlm")
    Path("my_vlm.py").write_text(
        "from evaluators.models.yes_likelihood import YesLikelihood\n\n\n"
        f"class MyVLM(YesLikelihood):\n    name = {str(folder)!r}\n"
    )
    encoder: Any = models.resolve("python:my_vlm:MyVLM").encoder
    found = encoder.score(IMAGES, TEXTS)
    # In a batch as one by one.
    alone = [encoder.score([image], [text])[0] for image, text in zip(IMAGES, TEXTS, strict=True)]
    np.testing.assert_allclose(found, alone, atol=1e-4)
    # By hand for the first pair: the logits of "yes" and "no" after the question.
    library: Any = hf.AutoModelForImageTextToText.from_pretrained(folder).eval()
    processor: Any = hf.AutoProcessor.from_pretrained(folder)
    prompt = '<image> Does this image show "a red ball"? Answer yes or no.'
    with torch.no_grad():
        logits = library(**processor(images=[IMAGES[0]], text=[prompt], return_tensors="pt")).logits[0, -1]
    assert found[0] == pytest.approx(float(logits[WORDS.index("yes")] - logits[WORDS.index("no")]), abs=1e-4)
    told = CliRunner().invoke(
        app,
        ["run", "--model", "python:my_vlm:MyVLM", "--data", str(data), "--task", "crepe/prod_hnatom/n4", "--json"],
    )
    assert told.exit_code == 0, told.stderr
    assert json.loads(told.stdout)[0]["data"]["set_size"] == 4
