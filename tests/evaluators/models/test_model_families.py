"""Compare every adapter with the forward pass of its library, on folders of random weights."""

import json
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import numpy as np
import open_clip
import pytest
import torch
import transformers
from PIL import Image
from safetensors.torch import save_file
from tokenizers import AddedToken
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators import models
from compeval.evaluators.models import checks
from compeval.loaders.importing.write_dataset import import_files
from tests.close import assert_close, count_terms
from tests.evaluators import tiny
from tests.evaluators.tiny_transformers import TEXT, WORDS, tokenizer

hf: Any = transformers
Folders = Callable[[str], Path]
TEXTS = ["a red ball", "a blue", "a pink ball ball", "a green ball a yellow ball"]
SIZES = ((20, 30), (30, 20), (24, 24), (48, 16))
IMAGES = [
    Image.new("RGB", size, color)
    for size, color in zip(SIZES, ("red", "blue", "yellow", "pink"), strict=True)
]
MARK = "trained on Visual Genome and COCO"


def unit(feature_ND: np.ndarray) -> np.ndarray:
    return feature_ND / np.linalg.norm(feature_ND, axis=1, keepdims=True)


def get_module(encoder: Any) -> torch.nn.Module:
    """Return the network of an adapter."""
    return next(value for value in vars(encoder).values() if isinstance(value, torch.nn.Module))


def get_rounding(encoder: Any) -> dict[str, Any]:
    """Return the arguments of ``assert_close`` for cosines and logits, whose terms are of size 1."""
    return {"size": 1, "dtype": np.float32, "summed": count_terms(get_module(encoder))}


def score_all(encoder: Any) -> np.ndarray:
    """Return the scores (I, T) of all images with all texts by an adapter, which do not depend on the batches."""
    images = [encoder.preprocess(image) for image in IMAGES]
    if isinstance(encoder, models.PairScorer):
        shown, texts = [image for image in images for _ in TEXTS], TEXTS * len(IMAGES)
        scores = np.reshape(encoder.score(shown, texts), (len(IMAGES), -1))
        alone = [
            encoder.score([image], [text])[0] for image, text in zip(shown, texts, strict=True)
        ]
        assert_close(scores.ravel(), np.array(alone), **get_rounding(encoder))
        return scores
    assert isinstance(encoder, models.DualEncoder)
    text_features = [encoder.encode_texts(TEXTS, size) for size in (3, 1)]
    assert_close(*text_features, summed=count_terms(get_module(encoder)))
    return unit(encoder.encode_images(images, 3)) @ unit(text_features[0]).T


def read_inputs(folder: Path, padding: str) -> Any:
    words, processor = (
        hf.AutoTokenizer.from_pretrained(folder),
        hf.AutoImageProcessor.from_pretrained(folder),
    )
    texts = words(TEXTS, padding=padding, truncation=True, max_length=12, return_tensors="pt")
    return texts | processor(images=IMAGES, return_tensors="pt")


def score_pairs(
    score: Callable[[Any, Any], torch.Tensor], folder: Path, padding: str
) -> np.ndarray:
    """Return the scores (I, T) of a function of pixel values (1, 3, H, W) and the inputs of all texts."""
    inputs = read_inputs(folder, padding)
    texts = {name: inputs[name] for name in ("input_ids", "attention_mask")}
    with torch.no_grad():
        return torch.stack(
            [score(pixels[None], texts) for pixels in inputs["pixel_values"]]
        ).numpy()


def expect_clip(folder: Path, family: str) -> np.ndarray:
    """Return the cosines: the library's logits without scale and bias."""
    library = hf.AutoModel.from_pretrained(folder).eval()
    inputs = read_inputs(folder, "max_length" if "siglip" in family else "longest")
    if "siglip" in family:  # trained without a mask of the padding, whatever the tokenizer returns
        inputs = {name: value for name, value in inputs.items() if name != "attention_mask"}
    with torch.no_grad():
        logits = library(**inputs).logits_per_image
        if family == "align":
            return (logits * library.temperature).numpy()
        return ((logits - getattr(library, "logit_bias", 0)) / library.logit_scale.exp()).numpy()


def expect_flava(folder: Path, _: str) -> np.ndarray:
    """Return the cosines of the projections of the first token of either tower."""
    library = hf.AutoModel.from_pretrained(folder).eval()

    def score(pixels: torch.Tensor, texts: Any) -> torch.Tensor:
        seen = library.image_projection(library.image_model(pixels).last_hidden_state[:, 0])
        return torch.cosine_similarity(
            seen, library.text_projection(library.text_model(**texts)[0][:, 0])
        )

    return score_pairs(score, folder, "longest")


def expect_flava_itm(folder: Path, _: str) -> np.ndarray:
    """Return the matches of captions of full length; the multimodal encoder attends to the padding, as ARO's did."""
    library = hf.FlavaForPreTraining.from_pretrained(folder).eval()
    multimodal = library.flava.multimodal_model
    forward = multimodal.forward
    multimodal.forward = lambda states, attention_mask=None, **options: forward(states, **options)

    def score(pixels: torch.Tensor, texts: Any) -> torch.Tensor:
        options = {"input_ids_masked": texts["input_ids"], "return_loss": False}
        logits = library(
            **texts, pixel_values=pixels.expand(len(TEXTS), -1, -1, -1), **options
        ).itm_logits
        return logits[:, 1] - logits[:, 0]

    return score_pairs(score, folder, "max_length")


def combine(head: str, logits: torch.Tensor, cosine: torch.Tensor) -> torch.Tensor:
    """Return the score that the suffix of a name chooses; by default, BLIP's is the match and BLIP-2's the cosine."""
    if head.endswith("@itm+itc"):
        return logits[:, 1] + cosine
    return cosine if head in ("blip@itc", "blip-2@itc", "blip-2") else logits[:, 1] - logits[:, 0]


def expect_blip(folder: Path, head: str) -> np.ndarray:
    library = hf.BlipForImageTextRetrieval.from_pretrained(folder).eval()

    def score(pixels: torch.Tensor, texts: Any) -> torch.Tensor:
        shown = pixels.expand(len(TEXTS), -1, -1, -1)
        logits = library(**texts, pixel_values=shown, use_itm_head=True).itm_score
        cosine = library(**texts, pixel_values=pixels, use_itm_head=False).itm_score[0]
        return combine(head, logits, cosine)

    return score_pairs(score, folder, "longest")


def expect_blip_2(folder: Path, head: str) -> np.ndarray:
    library = hf.Blip2ForImageTextRetrieval.from_pretrained(folder).eval()

    def score(pixels: torch.Tensor, texts: Any) -> torch.Tensor:
        lengths = texts["attention_mask"].sum(dim=1).tolist()
        logits, cosine = (
            torch.stack(
                [
                    library(
                        **{name: value[i : i + 1, :length] for name, value in texts.items()},
                        pixel_values=pixels,
                        use_image_text_matching_head=matches,
                    ).logits_per_image[0]
                    for i, length in enumerate(lengths)
                ]
            )
            for matches in (True, False)
        )
        return combine(head, logits, cosine[:, 0])

    return score_pairs(score, folder, "longest")


@pytest.mark.parametrize(
    ("family", "expect", "mark"),
    [
        *(
            (family, expect_clip, None)
            for family in ("clip", "metaclip_2", "siglip", "siglip2", "align")
        ),
        ("flava", expect_flava, MARK),
        ("flava_itm@itm", expect_flava_itm, MARK),
        *((f"blip{head}", expect_blip, MARK) for head in ("", "@itm", "@itc", "@itm+itc")),
        *((f"blip-2{head}", expect_blip_2, MARK) for head in ("", "@itm", "@itc", "@itm+itc")),
    ],
)
def test_scores_equal_those_of_transformers(
    family: str,
    expect: Callable[[Path, str], np.ndarray],
    mark: str | None,
    transformers_folder: Folders,
):
    name, at, head = family.partition("@")
    folder = transformers_folder(name)
    spec = f"transformers:{folder}{at}{head}"
    checks.check_name(spec)
    model = models.load_model(spec)
    expected_IT = expect(folder, family)
    assert_close(score_all(model.encoder), expected_IT, **get_rounding(model.encoder))
    assert np.std(expected_IT, axis=1).min() > 0, "texts matter"
    assert model.contaminated == mark


def test_scores_of_the_heads_of_one_checkpoint_are_not_cached_as_each_other(
    transformers_folder: Folders,
):
    specs = [
        f"transformers:{transformers_folder('blip')}{head}" for head in ("", "@itc", "@itm+itc")
    ]
    assert len({models.load_model(spec).fingerprint for spec in specs}) == 3


def test_blip_re_ranks_by_cosine_match_and_cosine(transformers_folder: Folders):
    """The features by which candidates are chosen have the cosine of ``@itc``."""
    folder = transformers_folder("blip")
    encoder: Any = models.load_model(f"transformers:{folder}@itm+itc").encoder
    assert (isinstance(encoder, models.ReRanker), encoder.num_reranked) == (True, 128)
    inputs = [encoder.preprocess(image) for image in IMAGES]
    features = encoder.encode_images(inputs, 2), encoder.encode_texts(TEXTS, 2)
    image_ID, text_TD = (
        feature / np.linalg.norm(feature, axis=1, keepdims=True) for feature in features
    )
    expected_IT = score_all(models.load_model(f"transformers:{folder}@itc").encoder)
    assert_close(image_ID @ text_TD.T, expected_IT, **get_rounding(encoder))
    assert (encoder.first_token, encoder.max_tokens) == (None, 12), (
        "the vocabulary of the tiny model is without [ENC]"
    )
    before = score_all(encoder)
    encoder.first_token = 3  # as [ENC], only for the match
    assert np.abs(score_all(encoder) - before).min() > 0
    np.testing.assert_array_equal(encoder.encode_texts(TEXTS, 2), features[1])
    assert not isinstance(
        models.load_model(f"transformers:{transformers_folder('blip-2')}@itm+itc").encoder,
        models.ReRanker,
    )


def test_flavas_matching_head_reports_the_texts_that_it_cuts(
    transformers_folder: Folders, monkeypatch: pytest.MonkeyPatch
):
    from compeval.evaluators.models.huggingface import FlavaMatcher

    assert FlavaMatcher.most_tokens == 77
    monkeypatch.setattr(FlavaMatcher, "most_tokens", 4)  # <s> a blue </s>
    encoder: Any = models.load_model(f"transformers:{transformers_folder('flava_itm')}@itm").encoder
    assert encoder.max_tokens == 4
    assert encoder.find_truncated(TEXTS).tolist() == [True, False, True, True]


def test_models_that_transformers_cannot_score(tmp_path: Path, transformers_folder: Folders):
    with pytest.raises(
        ValueError,
        match="only models of the types blip and blip-2 have @itc; this one is of type 'flava'",
    ):
        models.load_model(f"transformers:{transformers_folder('flava')}@itc")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}), encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"models of type 'bert' are not supported; known: clip, siglip"
    ):
        models.load_model(f"transformers:{tmp_path}")
    with pytest.raises(FileNotFoundError, match=r"nowhere: no such folder\.$"):
        models.load_model(f"transformers:{tmp_path / 'nowhere'}")


def siglip_2_processor(folder: Path) -> Any:
    """Return SigLIP 2's own processor, with a tokeniser of a few words that lowers the case."""
    words = {
        word: index for index, word in enumerate(("<pad>", "<eos>", "<bos>", "<unk>", "<mask>"))
    }
    letters = {letter: 5 + index for index, letter in enumerate("abcdefghijklmnopqrstuvwxyz▁")}
    made = hf.Siglip2Tokenizer(vocab=words | letters, merges=[])
    made.add_tokens([AddedToken("red"), AddedToken("ball")])
    made.save_pretrained(folder)
    images = hf.AutoImageProcessor.from_pretrained(folder)
    return hf.Siglip2Processor(images, hf.AutoTokenizer.from_pretrained(folder))


def test_siglip_2_reads_lower_case_and_64_tokens_as_its_processor_does(tmp_path: Path):
    small = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    config = hf.Siglip2Config(
        text_config=small | {"vocab_size": 40, "max_position_embeddings": 64},
        vision_config=small | {"num_patches": 256, "patch_size": 16},
    )
    torch.manual_seed(0)
    hf.Siglip2Model(config).save_pretrained(tmp_path)
    hf.Siglip2ImageProcessor(patch_size=16, max_num_patches=256).save_pretrained(tmp_path)
    processor = siglip_2_processor(tmp_path)
    model = hf.AutoModel.from_pretrained(tmp_path).eval()
    texts = ["A Red BALL", "a red ball", "a blue box and " * 20]
    inputs = processor(images=[IMAGES[0]], text=texts, return_tensors="pt")
    assert inputs["input_ids"].shape == (3, 64)
    with torch.no_grad():
        del inputs["attention_mask"]  # SigLIP was trained without one
        logits = model(**inputs).logits_per_image[0]
    encoder: Any = models.load_model(f"transformers:{tmp_path}").encoder
    read = encoder.encode_texts(texts, 3)
    cosine = (unit(encoder.encode_images([encoder.preprocess(IMAGES[0])], 1)) @ unit(read).T)[0]
    expected = ((logits - model.logit_bias) / model.logit_scale.exp()).detach()
    assert_close(cosine, expected, **get_rounding(encoder))
    np.testing.assert_array_equal(read[0], read[1])
    assert encoder.max_tokens == 64
    assert encoder.find_truncated(texts).tolist() == [False, False, True]


CAUSAL = {"context_length": 16, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2}
VIT = {"image_size": 16, "layers": 1, "width": 16, "patch_size": 8, "head_width": 8}
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
WITH_TOKENIZERS = {
    "metaclip2": {"pool_type": "eos", "eos_id": 2},
    "siglip2": {
        "no_causal_mask": True,
        "pool_type": "last",
        "tokenizer_kwargs": {"clean": "canonicalize"},
    },
}
"""Options of the text towers of families of open_clip with a tokeniser of transformers."""


def write_open_clip(family: str, folder: Path) -> Path:
    """Save a random model of open_clip in a folder."""
    torch.manual_seed(0)
    kind: Any = open_clip.CustomTextCLIP
    if family in TIMM:
        name, size, vision, text = TIMM[family]
        seen = {
            "image_size": size,
            "timm_model_name": name,
            "timm_model_pretrained": False,
            **vision,
        }
        config: dict[str, Any] = {"embed_dim": 16, "vision_cfg": seen, "text_cfg": CAUSAL | text}
    elif family == "coca":
        kind = open_clip.CoCa
        vision = VIT | {"attentional_pool": True, "attn_pooler_heads": 2, "output_tokens": True}
        text = CAUSAL | {"embed_cls": True, "output_tokens": True}
        config = {"embed_dim": 16, "vision_cfg": vision, "text_cfg": text}
        config["multimodal_cfg"] = CAUSAL | {"attn_pooler_heads": 2}
    else:
        text = CAUSAL | WITH_TOKENIZERS[family] | {"vocab_size": len(WORDS) + 1}
        config = {"embed_dim": 16, "vision_cfg": VIT, "text_cfg": text}
    model = kind(**config)
    folder.mkdir(parents=True)
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")
    saved: Any = {"model_cfg": config | {"custom_text": True}, "preprocess_cfg": {}}
    (folder / "open_clip_config.json").write_text(json.dumps(saved), encoding="utf-8")
    if family in WITH_TOKENIZERS:
        use_tokenizer(folder)
        tokenizer().save_pretrained(folder)
    return folder


def use_tokenizer(folder: Path) -> None:
    """Make a model of open_clip use a tokeniser of transformers."""
    config = json.loads((folder / "open_clip_config.json").read_text(encoding="utf-8"))
    config["model_cfg"]["text_cfg"]["hf_tokenizer_name"] = "our/tokenizer"
    (folder / "open_clip_config.json").write_text(json.dumps(config), encoding="utf-8")


def expect_open_clip(folder: Path) -> np.ndarray:
    """Return the cosines computed by open_clip's own functions."""
    loaded: Any = open_clip.create_model_from_pretrained(f"local-dir:{folder}")
    model, preprocess = loaded
    with torch.no_grad():
        seen = model.eval().encode_image(
            torch.stack([preprocess(image) for image in IMAGES]), normalize=True
        )
        read = model.encode_text(
            open_clip.get_tokenizer(f"local-dir:{folder}")(TEXTS), normalize=True
        )
    return (seen @ read.T).numpy()


@pytest.mark.parametrize(
    "family",
    [
        "coca",
        *WITH_TOKENIZERS,
        *(pytest.param(family, marks=pytest.mark.acceptance) for family in TIMM),
    ],
)
def test_scores_equal_those_of_open_clip(family: str, tmp_path: Path):
    folder = write_open_clip(family, tmp_path / family)
    model = models.load_model(f"local:{folder}")
    assert_close(score_all(model.encoder), expect_open_clip(folder), **get_rounding(model.encoder))
    assert not model.warnings


def test_siglip_of_open_clip_keeps_its_padding(tmp_path: Path):
    folder = tiny.write_clip(tmp_path / "siglip", causal=False)
    encoder: Any = models.load_model(f"local:{folder}").encoder
    assert encoder.prefix_forest is None
    assert_close(score_all(encoder), expect_open_clip(folder), **get_rounding(encoder))


def test_a_model_of_the_hub_from_its_cache_without_a_network(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    for name in ("clip", "mscoco_finetuned_CoCa", "bare"):
        repository = tmp_path / f"models--our--{name}"
        shutil.copytree(clip, repository / "snapshots" / ("a" * 40))
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text("a" * 40, encoding="utf-8")
    model = models.load_model("hf-hub:our/clip")
    assert (model.name, model.contaminated) == ("our/clip", None)
    assert (
        models.load_model("hf-hub:our/mscoco_finetuned_CoCa").contaminated == "fine-tuned on COCO"
    )
    assert_close(score_all(model.encoder), expect_open_clip(clip), **get_rounding(model.encoder))
    config = next((tmp_path / "models--our--bare").rglob("open_clip_config.json"))
    content = json.loads(config.read_text(encoding="utf-8"))
    del content["preprocess_cfg"]
    config.write_text(json.dumps(content), encoding="utf-8")
    assert not [text for text in model.warnings if "preprocess_cfg" in text]
    (warning,) = models.load_model("hf-hub:our/bare").warnings
    assert "images were prepared as for OpenAI's models" in warning
    with pytest.raises(
        FileNotFoundError, match=r"hf-hub:our/other: its files are not on this machine"
    ):
        models.load_model("hf-hub:our/other")


def swap_words(tokenizer_folder: Path) -> None:
    """Exchange the token ids of two words in the vocabulary."""
    path = tokenizer_folder / "tokenizer.json"
    made = json.loads(path.read_text(encoding="utf-8"))
    words = made["model"]["vocab"]
    words["pink"], words["yellow"] = words["yellow"], words["pink"]
    path.write_text(json.dumps(made), encoding="utf-8")


def test_features_of_another_tokeniser_are_not_reused(
    clip: Path, tmp_path: Path, transformers_folder: Folders
):
    folder = shutil.copytree(transformers_folder("clip"), tmp_path / "clip")
    open_clip_folder = shutil.copytree(clip, tmp_path / "open_clip")
    use_tokenizer(open_clip_folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder / name, open_clip_folder)
    specs = [f"transformers:{folder}", f"local:{open_clip_folder}"]
    before = [models.load_model(spec).fingerprint for spec in specs]
    assert [models.load_model(spec).fingerprint for spec in specs] == before
    swap_words(folder)
    swap_words(open_clip_folder)
    after = [models.load_model(spec).fingerprint for spec in specs]
    assert not set(before) & set(after)
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps(settings | {"model_max_length": 4}), encoding="utf-8"
    )
    assert models.load_model(specs[0]).fingerprint != after[0]


def test_a_folder_without_a_tokeniser_is_an_error(
    clip: Path, tmp_path: Path, transformers_folder: Folders
):
    """Without the files, transformers makes up a tokeniser that knows no word: all texts get equal features."""
    folder = shutil.copytree(transformers_folder("clip"), tmp_path / "clip")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    with pytest.raises(
        FileNotFoundError,
        match=r"files of the folder are missing or damaged \(there is no tokeniser",
    ):
        models.load_model(f"transformers:{folder}")
    open_clip_folder = shutil.copytree(clip, tmp_path / "open_clip")
    use_tokenizer(open_clip_folder)
    with pytest.raises(
        FileNotFoundError, match=f"local:{open_clip_folder}: its tokeniser is not on this machine"
    ):
        models.load_model(f"local:{open_clip_folder}")


def test_weights_that_are_truncated_or_contain_more_than_tensors(
    clip: Path, tmp_path: Path, transformers_folder: Folders
):
    folder = shutil.copytree(transformers_folder("clip"), tmp_path / "transformers")
    ours = shutil.copytree(clip, tmp_path / "local")
    for path in (folder / "model.safetensors", ours / "open_clip_model.safetensors"):
        path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(FileNotFoundError, match="files of the folder are missing or damaged"):
        models.load_model(f"transformers:{folder}")
    with pytest.raises(ValueError, match="local: the model cannot be loaded"):
        models.load_model(f"local:{ours}")
    torch.save({"state_dict": {}, "arguments": Path("x")}, tmp_path / "pickled.pt")
    (tmp_path / "page.pt").write_text("hello world, this is no checkpoint", encoding="utf-8")
    for name in ("pickled.pt", "page.pt"):
        with pytest.raises(
            ValueError,
            match=r"\(it contains more than tensors, or is damaged: save only its state dict",
        ):
            models.load_model(f"ViT-S-32-alt/{tmp_path / name}")


def evaluate(spec: str, *arguments: object) -> dict[str, Any]:
    """Return the result of a model on one task."""
    done = CliRunner().invoke(app, ["run", "--model", spec, "--json", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    (result,) = json.loads(done.stdout)
    return result


def test_texts_that_are_longer_than_a_tower_reads_are_counted_on_the_result(
    clip: Path, tmp_path: Path, transformers_folder: Folders
):
    """The tower of the tiny CLIP reads 16 tokens: 14 words, the beginning and the end."""
    row = tiny.row(0, "red", "ball", ["blue", "pink"])
    row |= {"caption": "red " * 14, "hard_negatives": ["red " * 13 + "ball", "blue " * 15]}
    data = tiny.write_dataset(tmp_path / "data", {"prod_hnatom": {"n4": [row]}})
    options = ("--data", data, "--output", tmp_path / "results", "--task", "crepe/prod_hnatom/n4")
    warnings = evaluate(f"local:{clip}", *options)["warnings"]
    assert warnings == [
        "1 of 3 texts are longer than 16 tokens; the model reads no more than these."
    ]
    # 12 tokens: two of the texts have 16, one has 17.
    warnings = evaluate(f"transformers:{transformers_folder('clip')}", *options)["warnings"]
    assert warnings == [
        "3 of 3 texts are longer than 12 tokens; the model reads no more than these."
    ]


def write_paraphrases(folder: Path) -> list[dict[str, str]]:
    """Import three rows of SugarCrepe++ into ``published`` and return them. Their image is gone afterwards."""
    rows = [
        {
            "filename": "1.jpg",
            "caption": f"red {noun}",
            "caption2": f"a red {noun}",
            "negative_caption": f"blue {noun}",
        }
        for noun in ("ball", "box", "ball")
    ]
    (folder / "swap_obj.json").write_text(json.dumps(rows), encoding="utf-8")
    Image.new("RGB", (2, 2)).save(folder / "1.jpg")
    import_files([folder / "swap_obj.json"], folder, folder / "published")
    (folder / "1.jpg").unlink()
    return rows


def test_sentence_transformers(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch):
    library = pytest.importorskip("sentence_transformers")
    monkeypatch.chdir(tmp_path)
    hf.BertModel(hf.BertConfig(**TEXT)).save_pretrained(tmp_path / "bert")
    tokenizer().save_pretrained(tmp_path / "bert")
    modules = import_module("sentence_transformers.sentence_transformer.modules")
    word = modules.Transformer(str(tmp_path / "bert"))
    built = library.SentenceTransformer(modules=[word, modules.Pooling(16, "mean")])
    built.save(str(tmp_path / "sentence"))
    spec = f"sentence-transformers:{tmp_path / 'sentence'}"
    model = models.load_model(spec)
    assert isinstance(model.encoder, models.TextEncoder)
    assert_close(
        model.encoder.encode_texts(TEXTS, 2), built.encode(TEXTS), summed=count_terms(built)
    )
    refused = CliRunner().invoke(
        app, ["run", "--model", spec, "--data", str(data), "--task", "crepe/prod_hnatom/n4"]
    )
    assert refused.exit_code == 2
    assert "encodes no images" in refused.stderr
    hits = []
    for _, *texts in (row.values() for row in write_paraphrases(tmp_path)):
        one, two, wrong = unit(built.encode(texts))
        hits.append(one @ two > max(one @ wrong, two @ wrong))
    # Needs no image.
    result = evaluate(spec, "--task", "sugarcrepe_pp/*", "--data", tmp_path / "published")
    assert result["main"] == ["text_accuracy"]
    assert_close(result["metrics"]["text_accuracy"], np.mean(hits))
    assert_close(result["chance"]["text_accuracy"], 1 / 3)
