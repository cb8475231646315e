"""The tiny CLIP's training: data in, checkpoint out, the same again at a second run."""

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image
from torch import nn

from trainers.clip.pairs import read_pairs
from trainers.clip.training import encode_text, optimizer_for, optimizers_for, run, write_config

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
        "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
    },
}


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """Nine pairs in one shard of the corpus ``toy``: flat grey images of rising brightness."""
    folder = tmp_path / "corpora" / "toy"
    folder.mkdir(parents=True)
    with tarfile.open(folder / "00000.tar", "w") as shard:
        for index in range(9):
            buffer = io.BytesIO()
            Image.fromarray(np.full((64, 64, 3), index * 20, np.uint8)).save(buffer, "PNG")
            for name, data in ((f"{index}.jpg", buffer.getvalue()), (f"{index}.txt", b"shade %d" % index)):
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                shard.addfile(entry, io.BytesIO(data))
    return folder.parent


@pytest.fixture(autouse=True)
def in_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "params.yaml").write_text("source: microworld\n")
    monkeypatch.chdir(tmp_path)


def test_checkpoint_loads_through_open_clip_and_says_what_it_was_trained_on(corpora: Path, tmp_path: Path):
    folder = tmp_path / "checkpoints" / "clip-toy-s3"
    run("toy", 3, RECIPE, corpora, folder)
    record = json.loads((folder / "training.json").read_text())
    assert (record["corpus"], record["seed"], record["pairs"], record["steps"]) == ("toy", 3, 9, 6)
    model, preprocess = open_clip.create_model_from_pretrained(f"local-dir:{folder}")
    image = preprocess(Image.new("RGB", (80, 40)))  # pyright: ignore
    assert model.encode_image(image[None]).shape == (1, 16)
    assert [path.name for path in folder.parent.iterdir()] == ["clip-toy-s3"]


def test_text_features_are_open_clips_own(tmp_path: Path):
    torch.manual_seed(0)
    write_config(tmp_path, RECIPE["model"], RECIPE["preprocess"])
    model = open_clip.create_model(f"local-dir:{tmp_path}", load_weights=False).eval()
    texts = open_clip.get_tokenizer(f"local-dir:{tmp_path}")(["a", "a red ball on a box", "two"])
    with torch.no_grad():
        torch.testing.assert_close(encode_text(model, texts), model.encode_text(texts, normalize=True))  # pyright: ignore


def test_same_seed_gives_the_same_weights(corpora: Path, tmp_path: Path):
    weights = []
    for attempt in ("a", "b"):
        run("toy", 0, RECIPE, corpora, tmp_path / attempt)
        weights.append((tmp_path / attempt / "open_clip_model.safetensors").read_bytes())
    assert weights[0] == weights[1]


def test_pairs_keep_image_and_caption_together(corpora: Path):
    pairs = read_pairs(
        corpora / "toy",
        lambda image: torch.tensor(np.asarray(image)[:1, :1, 0], dtype=torch.float)[None],
        lambda texts: torch.tensor([int(text.split()[1]) for text in texts]),
    )
    assert (pairs.image_NCHW.flatten() == pairs.text_NT.flatten() * 20).all()


def test_no_shard_is_one_clear_message(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"no webdataset shard \(\*\.tar\)\. Run `dvc repro sources`"):
        read_pairs(tmp_path, lambda image: image, lambda texts: texts)


@pytest.mark.parametrize("kept", [0, 1024, 3000])  # nothing, the first picture alone, a part of a member
def test_a_shard_that_is_cut_off_is_one_clear_message(corpora: Path, kept: int):
    shard = corpora / "toy" / "00000.tar"
    shard.write_bytes(shard.read_bytes()[:kept])
    with pytest.raises(ValueError, match=r"toy/00000\.tar: the tar file is cut off or damaged \(.*\)\. Delete it"):
        read_pairs(shard.parent, np.asarray, list)


def test_a_shard_with_damaged_bytes_is_one_clear_message(corpora: Path):
    shard = corpora / "toy" / "00000.tar"
    whole = shard.read_bytes()
    shard.write_bytes(b"x" * 512 + whole[512:])  # the first header
    with pytest.raises(ValueError, match=r"00000\.tar: the tar file is cut off or damaged \(invalid header\)"):
        read_pairs(shard.parent, np.asarray, list)


def test_a_pair_whose_image_cannot_be_decoded_is_skipped_and_shown(corpora: Path, capsys: pytest.CaptureFixture):
    shard = corpora / "toy" / "00000.tar"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:512] + b"x" * 100 + whole[612:])  # the first picture
    pairs = read_pairs(shard.parent, lambda image: torch.zeros(3, 2, 2), lambda texts: texts)
    assert pairs.text_NT == [f"shade {number}" for number in range(1, 9)]
    assert len(pairs.image_NCHW) == 8
    assert capsys.readouterr().err.endswith("toy: samples skipped: 1 with an image that cannot be decoded.\n")


def test_vectors_are_not_decayed():
    toy = nn.Linear(3, 2)
    vectors, matrices = optimizer_for(toy, 0.1, 0.2).param_groups
    assert (vectors["params"][0].shape, vectors["weight_decay"]) == ((2,), 0.0)
    assert (matrices["params"][0].shape, matrices["weight_decay"]) == ((2, 3), 0.2)


def test_muon_has_the_image_towers_kernels_and_adamw_all_the_rest(tmp_path: Path):
    write_config(tmp_path, RECIPE["model"], RECIPE["preprocess"])
    model = open_clip.create_model(f"local-dir:{tmp_path}", load_weights=False)
    assert isinstance(model, open_clip.CLIP)
    names = {id(weight): name for name, weight in model.named_parameters()}
    (adamw, rate), (muon, image_rate) = optimizers_for(model, RECIPE)
    of_adamw, of_muon = (
        [names[id(weight)] for group in optimizer.param_groups for weight in group["params"]]
        for optimizer in (adamw, muon)
    )
    assert (rate, image_rate) == (1e-3, 1e-2)
    assert sorted(of_adamw + of_muon) == sorted(names.values())
    assert {"visual.conv1.weight", "visual.layer1.0.conv2.weight", "visual.attnpool.c_proj.weight"} <= {*of_muon}
    assert {"logit_scale", "visual.bn1.weight", "token_embedding.weight", "text_projection"} <= {*of_adamw}
