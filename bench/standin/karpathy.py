"""Write stand-ins in the format of Karpathy's splits of COCO and Flickr30k, as in the files of ARO and BLIP.

Test and validation files are a list of {"image", "caption": [captions]}; the training file has an entry per caption.
COCO has 5.003 captions per image, Flickr30k five.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from bench.standin.files import open_json
from bench.standin.photographs import draw_jpeg
from bench.standin.phrases import write_caption
from bench.standin.real_texts import read_photo_captions
from bench.standin.scene import draw_scene, make_rng
from bench.standin.vocabulary import load_words


class Format(NamedTuple):
    """Name of a split's file, and path of an image; the fields ``split``, ``folder`` and ``id`` are filled."""

    file: str
    image: str
    folders: dict[str, str]


FORMATS = {
    "coco": Format(
        "coco_karpathy_{split}.json",
        "{folder}/COCO_{folder}_{id:012d}.jpg",
        {"train": "train2014", "val": "val2014", "test": "val2014"},
    ),
    "flickr30k": Format(
        "flickr30k_{split}.json",
        "{folder}/{id}.jpg",
        dict.fromkeys(("train", "val", "test"), "flickr30k-images"),
    ),
}
FIRST_IDS = {"train": 1_000_000, "val": 2_000_000, "test": 3_000_000}
CAPTIONS = 5
SIXTH = 0.003
"""Share of COCO's images with six captions."""


def write(dataset: str, split: str, folder: Path, images: int, seed: int, long_side: int, pixels: bool) -> None:
    """Write the captions of ``images`` images of a split and, with ``pixels``, their JPEG files."""
    words, real, spec = load_words(), read_photo_captions(), FORMATS[dataset]
    with open_json(folder / spec.file.format(split=split)) as file:
        for index in tqdm(range(images), f"{dataset} {split}", unit="img", mininterval=5):
            image_id = FIRST_IDS[split] + index
            path = spec.image.format(folder=spec.folders[split], id=image_id)
            scene = draw_scene(seed, image_id, long_side, words)
            rng = make_rng(seed, dataset, split, index)
            count = CAPTIONS + (dataset == "coco" and rng.random() < SIXTH)
            captions = [write_caption(scene, real, rng) for _ in range(count)]
            if split == "train":
                for caption in captions:
                    file.add({"caption": caption, "image": path, "image_id": f"{dataset}_{image_id}"})
            else:
                file.add({"image": path, "caption": captions})
            if pixels:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                boxes = [thing.box for thing in scene.things]
                (folder / path).write_bytes(draw_jpeg(scene.width, scene.height, boxes, rng))
