"""Toy data for fine-tuning: images with two coloured halves, captions that name the colours in order, and a tiny
ViT."""

import io
import json
import tarfile
from collections.abc import Iterable
from itertools import permutations
from pathlib import Path

import open_clip
import torch
from PIL import Image
from safetensors.torch import save_file

from compeval.trainers.clip.training import write_config

COLORS = {
    "red": (255, 0, 0),
    "green": (0, 200, 0),
    "blue": (0, 0, 255),
    "black": (0, 0, 0),
    "white": (255, 255, 255),
}
MODEL = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 16, "patch_size": 8, "layers": 1, "width": 16, "head_width": 8},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
}
PREPROCESS = {"size": [16, 16], "mean": [0.5] * 3, "std": [0.5] * 3, "resize_mode": "squash"}


def draw_halves(left: str, right: str) -> Image.Image:
    """Return an image whose left and right halves have the given colours."""
    image = Image.new("RGB", (16, 16), COLORS[left])
    image.paste(COLORS[right], (8, 0, 16, 16))
    return image


def pairs() -> list[tuple[str, Image.Image]]:
    """Return 20 captions with their images."""
    return [
        (f"a {left} cup beside a {right} car", draw_halves(left, right))
        for left, right in permutations(COLORS, 2)
    ]


def write_shard(path: Path, samples: Iterable[tuple[Image.Image | bytes, bytes]]) -> None:
    """Write images and captions to a webdataset shard."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as shard:
        for number, (image, caption) in enumerate(samples):
            buffer = io.BytesIO(image if isinstance(image, bytes) else b"")
            if isinstance(image, Image.Image):
                image.save(buffer, "PNG")
            for name, content in ((f"{number}.png", buffer.getvalue()), (f"{number}.txt", caption)):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                shard.addfile(member, io.BytesIO(content))


def write_shards(folder: Path) -> Path:
    """Write all pairs to one webdataset shard and return ``folder``."""
    write_shard(folder / "00000.tar", ((image, caption.encode()) for caption, image in pairs()))
    return folder


def ignore_progress(title: str, num_done: int, total: int) -> None:
    """Print no progress."""


def write_karpathy(folder: Path) -> Path:
    """Write ``folder/train.json`` in Karpathy's format, with two captions per image, and the images.

    Returns its path.
    """
    (folder / "images").mkdir(parents=True)
    entries = []
    for number, (caption, image) in enumerate(pairs()):
        image.save(folder / "images" / f"{number}.png")
        captions = [caption, "nothing to exchange"] if number else ["only this"]
        entries.append({"image": f"images/{number}.png", "caption": captions})
    (folder / "train.json").write_text(json.dumps(entries), encoding="utf-8")
    return folder / "train.json"


def write_model(folder: Path, seed: int = 0) -> str:
    """Write an untrained model whose corpus is ``toy`` and return its spec."""
    folder.mkdir(parents=True)
    write_config(folder, MODEL, PREPROCESS)
    torch.manual_seed(seed)
    model = open_clip.create_model(f"local-dir:{folder}", load_weights=False)
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")
    (folder / "training.json").write_text(
        json.dumps({"corpus": "toy", "source": "microworld"}), encoding="utf-8"
    )
    return f"local:{folder}"
