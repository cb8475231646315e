"""Tiny datasets and models for tests: plain coloured images, captions that name the colour, and encoders of colours."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from PIL import Image

from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA
from compeval.base.storage.dataset import write_config
from compeval.evaluators.models import Model, load_model
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure

COLORS = {
    "red": (255, 0, 0),
    "green": (0, 255, 0),
    "blue": (0, 0, 255),
    "yellow": (255, 255, 0),
    "pink": (255, 0, 255),
}

MODELS = '''
import numpy as np

COLORS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0), "pink": (255, 0, 255)}


class Knows:
    """Encoder of images and captions by the colour that they show or name: every truth ranks first, with score 1."""

    fingerprint = "knows"

    def __init__(self, device):
        self.calls = []

    def encode_image(self, images):
        self.calls.append(len(images))
        return np.array([np.asarray(image).reshape(-1, 3).mean(axis=0) for image in images])

    def encode_text(self, texts):
        self.calls.append(len(texts))
        return np.array([COLORS[text.split()[1]] for text in texts], dtype=float)


class Constant(Knows):
    fingerprint = "constant"

    def encode_text(self, texts):
        return np.ones((len(texts), 3))


class Broken(Knows):
    fingerprint = "broken"

    def encode_text(self, texts):
        return np.full((len(texts), 3), np.nan)


class Dying(Knows):
    """Encoder that ends the process in the middle of the texts, as a kill would."""

    fingerprint = "dying"

    def encode_text(self, texts):
        import os
        from pathlib import Path

        if not Path("revived").exists() and any("pink" in text for text in texts):
            os._exit(9)
        return super().encode_text(texts)


class Interrupted(Knows):
    """Encoder that receives a Ctrl-C in the middle of the texts."""

    fingerprint = "interrupted"

    def encode_text(self, texts):
        from pathlib import Path

        if not Path("revived").exists() and any("pink" in text for text in texts):
            raise KeyboardInterrupt
        return super().encode_text(texts)


class Company(Knows):
    """Slow encoder whose features depend slightly on the other items of the batch."""

    fingerprint = "company"

    def encode_image(self, images):
        return self.mix(super().encode_image(images))

    def encode_text(self, texts):
        return self.mix(super().encode_text(texts))

    def mix(self, features):
        import time

        time.sleep(0.002)
        return features + 1e-3 * features.mean(axis=0) + 1e-2 * len(features)


class Pairs:
    fingerprint = "pairs"

    def __init__(self, device):
        self.pairs = 0

    def score(self, images, texts):
        self.pairs += len(texts)
        shown = [np.asarray(image).reshape(-1, 3).mean(axis=0) for image in images]
        return [-np.abs(np.subtract(a, COLORS[b.split()[1]])).sum() for a, b in zip(shown, texts)]


class NoTexts:
    fingerprint = "no texts"

    def __init__(self, device): ...

    def encode_image(self, images): ...


class Anonymous(Knows):
    fingerprint = None

    def __init__(self):
        super().__init__("cpu")

    def encode_image(self, images):
        with open("calls.txt", "a") as file:
            file.write(".")
        return super().encode_image(images)


class Numbered(Knows):
    fingerprint = 7


class WrongImage(Knows):
    def encode_image(self, images):
        return 1 / 0


class WrongText(Knows):
    def encode_text(self, texts):
        return COLORS["violet"]


class WrongScore(Knows):
    def score(self, images):
        return []


class WrongStart(Knows):
    def __init__(self, device):
        raise RuntimeError("no weights")
'''


def toy(name: str) -> Model:
    """Return a model of MODELS, in the folder of the fixture ``here``."""
    return load_model(f"python:toy_models:{name}")


def all_files(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files of a folder but the side files."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(".run.json")
    }


def picture(color: str, size: tuple[int, int] = (8, 6)) -> bytes:
    return plain_picture(COLORS[color], size)


def plain_picture(color: tuple[int, ...], size: tuple[int, int] = (8, 6)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, color).save(buffer, "PNG")
    return buffer.getvalue()


def row(
    number: int, color: str, noun: str, negatives: Sequence[str] | None, pixels: bytes | None = None
) -> dict[str, Any]:
    """Return row ``number``, whose crop shows ``color``. Crops differ; two rows share an image id."""
    made = {
        "image": {
            "bytes": picture(color, (8, 6 + number)) if pixels is None else pixels,
            "path": None,
        },
        "crop_id": f"crop {number}",
        "image_id": f"image {number // 2}",
        **dict.fromkeys(("x", "y", "width", "height"), 1.0),
        "caption": f"a {color} {noun}",
        "atoms": [],
        "compounds": [],
        "complexity": 2,
        "scene_graph": {"objects": [], "relations": []},
        "provenance": {"source": "microworld", "captioner": "test", "seed": 0},
    }
    if negatives is not None:
        made |= {
            "hard_negatives": [f"a {other} {noun}" for other in negatives],
            "foils": [[] for _ in negatives],
        }
    return made


def choice_rows(count: int, negatives: int = 4, noun: str = "ball") -> Iterator[dict[str, Any]]:
    """Yield ``count`` rows whose negatives name the other colours."""
    names = list(COLORS)
    for number in range(count):
        color = names[number % len(names)]
        others = [name for name in names if name != color][:negatives]
        yield row(number, color, f"{noun} {number}", others)


def raw_rows(count: int) -> Iterator[dict[str, Any]]:
    names = list(COLORS)
    for number in range(count):
        yield row(number, names[number % len(names)], f"ball {number}", None)


def write_dataset(
    root: Path, configs: Mapping[str, Mapping[str, Iterable[dict[str, Any]]]], name: str = "crepe"
) -> Path:
    """Write a dataset ``root/name`` with the rows of each config and split. Returns ``root``."""
    for config, splits in configs.items():
        schema = RAW_SCHEMA if config.endswith("_raw") else HARD_NEGATIVE_SCHEMA
        write_config(root / name, config, splits, schema)
    write_card(root / name, {}, "", measure(root / name))
    return root


def write_varied_rows(root: Path, count: int) -> Path:
    """Write rows of an image and 4 captions of two lengths as crepe/prod_hnatom/n4. Images have five sizes."""
    sizes, colors = [(20, 30), (30, 20), (24, 24), (48, 16), (16, 40)], list(COLORS)
    rows = []
    for number in range(count):
        color = colors[number % 5]
        others = [name for name in colors if name != color][:3]
        pixels = plain_picture((number * 6, *COLORS[color][1:]), sizes[number % 5])
        made = row(number, color, "ball" if number % 2 else "ball on a red table", others, pixels)
        rows.append(made | {"caption": f"a {color} ball" if number % 3 else made["caption"]})
    return write_dataset(root, {"prod_hnatom": {"n4": rows}})


def read_rows(root: Path, split: str = "n4") -> list[dict[str, Any]]:
    """Return the rows of crepe/prod_hnatom, with their images as ``pixels``."""
    (path,) = (root / "crepe" / "prod_hnatom").glob(f"{split}-*.parquet")
    rows = pq.read_table(path).to_pylist()
    return [
        row | {"pixels": Image.open(io.BytesIO(row["image"]["bytes"])).convert("RGB")}
        for row in rows
    ]


def write_clip(
    folder: Path, corpus: str | None = "laion", seed: int = 0, causal: bool = True
) -> Path:
    """Write a random open_clip model in the layout of ``compeval train``."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    config = {
        "embed_dim": 16,
        "vision_cfg": {
            "image_size": 16,
            "layers": 1,
            "width": 16,
            "patch_size": 8,
            "head_width": 8,
        },
        "text_cfg": {
            "context_length": 16,
            "vocab_size": 49408,
            "width": 16,
            "heads": 2,
            "layers": 2,
        },
    }
    if not causal:
        config |= {"custom_text": True}
        config["text_cfg"] |= {"no_causal_mask": True, "pool_type": "last"}
    torch.manual_seed(seed)
    built = dict(config)
    model = (open_clip.CustomTextCLIP if built.pop("custom_text", False) else open_clip.CLIP)(
        **built
    )
    folder.mkdir(parents=True)
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")
    (folder / "open_clip_config.json").write_text(
        json.dumps({"model_cfg": config, "preprocess_cfg": {}}), encoding="utf-8"
    )
    if corpus is not None:
        (folder / "training.json").write_text(
            json.dumps({"corpus": corpus, "source": "microworld"}), encoding="utf-8"
        )
    return folder
