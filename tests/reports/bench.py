"""The models, files and datasets that the reports share: each is made once per session."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pyarrow as pa
import torch
import transformers
from PIL import Image

from compeval.evaluators import models
from compeval.evaluators.models import Model
from compeval.evaluators.models.custom import adapt
from tests.evaluators import tiny, tiny_transformers, tiny_vlms

hf: Any = transformers
SIZE = {"height": 16, "width": 16}
ORIENTATION = 0x0112


class Bench:
    """Tiny random models, and the libraries' own objects for the same folders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.transformers_folder = cache(
            lambda family: tiny_transformers.write_model(family, folder / family)
        )
        self.vlm = cache(self._load_vlm)
        self.ours = cache(lambda family: self._resolve(self.transformers_folder(family)))
        self.library = cache(self._load_library)
        self.pair_library = cache(self._load_pair_library)

    def _resolve(self, path: Path) -> Any:
        return models.load_model(f"transformers:{path}").encoder

    def _load_library(self, family: str) -> tuple[Any, Any, Any]:
        """Return the model, the tokeniser and the image processor, loaded by transformers itself."""
        return self.pair_library(family, "AutoModel")

    def _load_pair_library(self, family: str, kind: str) -> tuple[Any, Any, Any]:
        path = self.transformers_folder(family)
        model = getattr(hf, kind).from_pretrained(path).eval()
        return (
            model,
            hf.AutoTokenizer.from_pretrained(path),
            hf.AutoImageProcessor.from_pretrained(path),
        )

    def _load_vlm(self, family: str) -> tuple[Any, Any, Any]:
        """Return our adapter, and transformers' model and processor."""
        with tiny_vlms.num2words_installed():
            path = tiny_vlms.write_vlm(family, self.folder / "vlm" / family)
        kind: Any = hf.AutoModelForImageTextToText
        library = kind.from_pretrained(path).eval()
        with tiny_vlms.num2words_installed():
            return (
                models.load_model(f"vlm:{path}").encoder,
                library,
                hf.AutoProcessor.from_pretrained(path),
            )

    @cached_property
    def clip_folder(self) -> Path:
        return tiny.write_clip(self.folder / "open_clip")

    @cached_property
    def clip(self) -> Any:
        return models.load_model(f"local:{self.clip_folder}").encoder

    @cached_property
    def open_clip(self) -> tuple[Any, Any, Any]:
        return self.load_open_clip(self.clip_folder)

    def load_open_clip(self, folder: Path) -> tuple[Any, Any, Any]:
        """Return the model, the transform and the tokeniser, loaded by open_clip itself."""
        loaded: Any = open_clip.create_model_from_pretrained(f"local-dir:{folder}")
        return loaded[0].eval(), loaded[1], open_clip.get_tokenizer(f"local-dir:{folder}")

    @cached_property
    def parser(self) -> Any:
        from compeval.generators.parser.rule_parser import RuleParser

        return RuleParser()

    @cached_property
    def siglip_folder(self) -> Path:
        return tiny.write_clip(self.folder / "open_clip_siglip", causal=False)

    @cached_property
    def real_tokenizer(self) -> Any:
        """OpenAI's vocabulary in transformers' tokeniser, for 77 tokens."""
        ours = open_clip.SimpleTokenizer()
        names = {"<start_of_text>": "<|startoftext|>", "<end_of_text>": "<|endoftext|>"}
        vocabulary = {names.get(token, token): number for token, number in ours.encoder.items()}
        return hf.CLIPTokenizer(vocab=vocabulary, merges=list(ours.bpe_ranks), model_max_length=77)

    @cached_property
    def real_clip(self) -> tuple[Any, Any]:
        """Our adapter and transformers' model, with OpenAI's vocabulary, transform and 77 tokens."""
        path = self.folder / "real_clip"
        text = tiny_transformers.SMALL | {
            "vocab_size": 49408,
            "eos_token_id": 2,
            "max_position_embeddings": 77,
        }
        config = hf.CLIPConfig(
            text_config=text, vision_config=tiny_transformers.VISION, projection_dim=8
        )
        torch.manual_seed(0)
        hf.CLIPModel(config).save_pretrained(path)
        self.real_tokenizer.save_pretrained(path)
        hf.CLIPImageProcessor(size={"shortest_edge": 16}, crop_size=SIZE).save_pretrained(path)
        return self._resolve(path), hf.CLIPModel.from_pretrained(path).eval()


def normalize(encoder: Any, image: Image.Image) -> torch.Tensor:
    """Return the model's input as open_clip's adapter makes it: bytes from the processor, normalised on the device."""
    prepared = encoder.preprocess(image)
    if encoder._transform is None:
        return prepared
    return encoder._transform.normalize(torch.from_numpy(prepared[None].copy()))[0]


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """Return an image of random pixels, the same at each call."""
    channels = len(Image.new(mode, (1, 1)).getbands())
    pixels = np.random.default_rng(width * height).integers(
        0, 256, (height, width, channels), dtype=np.uint8
    )
    return Image.fromarray(pixels.squeeze(axis=2) if channels == 1 else pixels, mode)


def encode(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def turned(kind: str) -> bytes:
    """Return a picture that is red above and blue below, stored sideways with EXIF orientation 6."""
    upright = Image.new("RGB", (4, 6), "blue")
    upright.paste("red", (0, 0, 4, 3))
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    return encode(upright.rotate(90, expand=True), kind, exif=exif)


class Colors:
    """Dual encoder of the colour that an image shows and a text names: every truth ranks first."""

    def __init__(self) -> None:
        self.calls = 0

    def encode_image(self, images: Sequence[Image.Image]) -> np.ndarray:
        self.calls += len(images)
        return np.array([np.asarray(image).reshape(-1, 3).mean(axis=0) for image in images])

    def encode_text(self, texts: Sequence[str]) -> np.ndarray:
        self.calls += len(texts)
        return np.array([tiny.COLORS[text.split()[1]] for text in texts], dtype=float)


def wrap(model: Any, fingerprint: str = "colors", **about: Any) -> Model:
    """Return a class of a user as a model."""
    return Model(
        "python:mine:Mine", "Mine", adapt(model, "python:mine:Mine"), fingerprint, "custom", **about
    )


def write_rows(
    root: Path, truths: Sequence[str], foils: Sequence[str] = ("blue",), shown: str = "red"
) -> Path:
    """Write crepe/prod_hnatom/n4: rows of an image of one colour, a true caption and foils."""
    rows = [
        tiny.row(number, truth, "ball", list(foils), tiny.picture(shown, (8, 6 + number)))
        for number, truth in enumerate(truths)
    ]
    return tiny.write_dataset(root, {"prod_hnatom": {"n4": rows}})


def write_table(
    path: Path, rows: Iterable[Mapping[str, Any]], schema: pa.Schema | None = None
) -> Path:
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(list(rows), schema), path)
    return path


def json_lines(rows: Iterable[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def tar_of(members: Iterable[tuple[str, bytes]]) -> bytes:
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def iterate_pairs(names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the members of a shard: pictures, and texts that repeat their names."""
    for name in names:
        yield name, name.encode() if name.endswith(".txt") else encode(Image.new("RGB", (2, 2)))
