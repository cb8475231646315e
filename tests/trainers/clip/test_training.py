"""Tests of the training of a tiny CLIP."""

import json
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image
from torch import nn

from compeval.trainers.clip.training import (
    encode_text,
    make_adamw,
    make_optimizers,
    read_pairs,
    rescale_initial_weights,
    train_checkpoint,
    write_config,
)
from tests.close import assert_close, count_terms
from tests.trainers import toy

RECIPE = {
    "steps": 6,
    "batch_size": 4,
    "learning_rate": 1e-3,
    "image_learning_rate": 1e-2,
    "weight_decay": 0.1,
    "warmup": 2,
    "preprocess": {"size": [64, 64], "mean": [0.5] * 3, "std": [0.5] * 3, "resize_mode": "squash"},
    "model": {
        "embed_dim": 16,
        "vision_cfg": {"image_size": 64, "layers": [1, 1, 1, 1], "width": 2, "head_width": 64},
        "text_cfg": {
            "context_length": 16,
            "vocab_size": 49408,
            "width": 16,
            "heads": 2,
            "layers": 1,
        },
    },
}


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """Folder with the corpus ``toy``: nine grey images of increasing brightness in one shard."""
    images = [Image.fromarray(np.full((64, 64, 3), index * 20, np.uint8)) for index in range(9)]
    samples = [(image, b"shade %d" % index) for index, image in enumerate(images)]
    toy.write_shard(tmp_path / "corpora" / "toy" / "00000.tar", samples)
    return tmp_path / "corpora"


@pytest.fixture(autouse=True)
def use_toy_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "params.yaml").write_text("source: microworld\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def test_checkpoint_loads_records_its_training_data_and_depends_on_the_seed(
    corpora: Path, tmp_path: Path
):
    weights = []
    for folder, seed in (("a", 3), ("b", 3), ("c", 4)):
        train_checkpoint("toy", seed, RECIPE, corpora, tmp_path / "checkpoints" / folder)
        weights.append(
            (tmp_path / "checkpoints" / folder / "open_clip_model.safetensors").read_bytes()
        )
    assert weights[0] == weights[1] != weights[2]
    folder = tmp_path / "checkpoints" / "a"
    record = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    assert (record["corpus"], record["seed"], record["pairs"], record["steps"]) == ("toy", 3, 9, 6)
    model, preprocess = open_clip.create_model_from_pretrained(f"local-dir:{folder}")
    image = preprocess(Image.new("RGB", (80, 40)))  # pyright: ignore
    assert model.encode_image(image[None]).shape == (1, 16)
    assert sorted(path.name for path in folder.parent.iterdir()) == ["a", "b", "c"]


def test_initial_position_embeddings_are_rescaled_in_both_towers(tmp_path: Path):
    write_config(tmp_path, RECIPE["model"], RECIPE["preprocess"])
    model = open_clip.create_model(f"local-dir:{tmp_path}", load_weights=False)
    before = model.positional_embedding.clone(), model.visual.attnpool.positional_embedding.clone()  # pyright: ignore
    rescale_initial_weights(model)
    assert_close(model.positional_embedding, 3 * before[0])
    assert_close(model.visual.attnpool.positional_embedding, 12 * before[1])  # pyright: ignore


def test_text_features_equal_those_of_open_clip(tmp_path: Path):
    torch.manual_seed(0)
    write_config(tmp_path, RECIPE["model"], RECIPE["preprocess"])
    model = open_clip.create_model(f"local-dir:{tmp_path}", load_weights=False).eval()
    texts = open_clip.get_tokenizer(f"local-dir:{tmp_path}")(["a", "a red ball on a box", "two"])
    with torch.no_grad():
        expected = model.encode_text(texts, normalize=True)  # pyright: ignore
        assert_close(encode_text(model, texts), expected, summed=count_terms(model))


def test_pairs_keep_image_and_caption_together(corpora: Path):
    pairs = read_pairs(
        corpora / "toy",
        lambda image: torch.tensor(np.asarray(image)[:1, :1, 0], dtype=torch.float)[None],
        lambda texts: torch.tensor([int(text.split()[1]) for text in texts]),
    )
    assert (pairs.image_NCHW.flatten() == pairs.text_NT.flatten() * 20).all()


def test_error_for_a_folder_without_shards(tmp_path: Path):
    with pytest.raises(
        FileNotFoundError, match=r"no webdataset shard \(\*\.tar\)\. Run `dvc repro corpora`"
    ):
        read_pairs(tmp_path, lambda image: image, lambda texts: texts)


def test_error_for_a_truncated_shard(corpora: Path):
    shard = corpora / "toy" / "00000.tar"
    shard.write_bytes(shard.read_bytes()[:3000])
    with pytest.raises(
        ValueError, match=r"toy/00000\.tar: the tar file is cut off or damaged \(.*\)\. Delete it"
    ):
        read_pairs(shard.parent, np.asarray, list)


def test_pairs_with_an_undecodable_image_are_skipped_and_counted(
    corpora: Path, capsys: pytest.CaptureFixture
):
    shard = corpora / "toy" / "00000.tar"
    content = shard.read_bytes()
    shard.write_bytes(content[:512] + b"x" * 100 + content[612:])  # the first image
    pairs = read_pairs(shard.parent, lambda image: torch.zeros(3, 2, 2), lambda texts: texts)
    assert pairs.text_NT == [f"shade {number}" for number in range(1, 9)]
    assert len(pairs.image_NCHW) == 8
    assert capsys.readouterr().err.endswith(
        "toy: samples skipped: 1 with an image that cannot be decoded.\n"
    )


def test_weight_decay_applies_to_matrices_only():
    layer = nn.Linear(3, 2)
    vectors, matrices = make_adamw(layer.parameters(), 0.1, 0.2).param_groups
    assert (vectors["params"][0].shape, vectors["weight_decay"]) == ((2,), 0.0)
    assert (matrices["params"][0].shape, matrices["weight_decay"]) == ((2, 3), 0.2)


def test_muon_optimises_the_matrices_of_the_image_tower_and_adamw_the_rest(tmp_path: Path):
    write_config(tmp_path, RECIPE["model"], RECIPE["preprocess"])
    model = open_clip.create_model(f"local-dir:{tmp_path}", load_weights=False)
    assert isinstance(model, open_clip.CLIP)
    names = {id(weight): name for name, weight in model.named_parameters()}
    (adamw, rate), (muon, image_rate) = make_optimizers(model, RECIPE)
    adamw_names, muon_names = (
        [names[id(weight)] for group in optimizer.param_groups for weight in group["params"]]
        for optimizer in (adamw, muon)
    )
    assert (rate, image_rate) == (1e-3, 1e-2)
    assert sorted(adamw_names + muon_names) == sorted(names.values())
    assert {
        "visual.conv1.weight",
        "visual.layer1.0.conv2.weight",
        "visual.attnpool.c_proj.weight",
    } <= {*muon_names}
    assert {"logit_scale", "visual.bn1.weight", "token_embedding.weight", "text_projection"} <= {
        *adamw_names
    }
