"""NegCLIP and CLIP-FT: a CLIP fine-tuned with and without composition-aware hard negatives.

    compeval train negclip --model ViT-B-32/openai --data coco_karpathy_train.json --images coco --output checkpoints/x

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C. One training per learning rate; the model
with the best retrieval scores on the validation images is kept. Mined negatives and training states are in a hidden
folder next to the output until the checkpoint is complete, so the same command resumes an interrupted training.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from evaluators.models import fingerprint
from generators.storage.atomic import atomic_folder, write_json
from trainers.negclip import starting_model
from trainers.negclip.embedding import embed_all, retrieval
from trainers.negclip.export import Format, export
from trainers.negclip.finetune import Recipe, Run, finetune, mean_recall
from trainers.negclip.image_text import ImageText, Pixels, read
from trainers.negclip.mining import Mined, mine
from trainers.negclip.starting_model import Start

Method = Literal["negclip", "clip-ft"]

PRESETS = {
    "paper": Recipe(epochs=5, batch_size=1024, learning_rates=(1e-5, 5e-6, 1e-6)),
    "microworld": Recipe(epochs=4, batch_size=32, learning_rates=(3e-4,), weight_decay=0.1),
}
"""``paper``: appendix C.3. ``microworld``: for tiny models; its small batches rarely hold a caption with the same words
in another order."""
IMAGES_PER_VALIDATION_IMAGE = 20
"""Without validation data, the last image in 20 is held out."""
CHUNK = 256


@dataclass(frozen=True)
class TrainingData:
    """Training and validation data; without ``validation``, part of the training data is held out."""

    data: Path
    images: Path | None = None
    validation: Path | None = None

    def read(self) -> tuple[ImageText, ImageText]:
        data = read(self.data, self.images)
        if self.validation is None:
            return data.split(max(1, len(data.places) // IMAGES_PER_VALIDATION_IMAGE))
        return data, read(self.validation, self.images)


def train(
    method: Method,
    spec: str,
    sources: TrainingData,
    output: Path,
    *,
    recipe: Recipe,
    seed: int = 0,
    device: str = "cpu",
    chunk: int = CHUNK,
    workers: int = 0,
    report: Callable[[str, int, int], None],
) -> dict[str, Any]:
    """Fine-tune the model ``spec``, write the checkpoint ``output`` atomically and return its metrics.json."""
    data, validation = sources.read()
    start = starting_model.load(spec, device)
    work = work_folder(output)
    weights = fingerprint.of_weights(start.model.state_dict())
    mined = mine_with(start, weights, data, work, workers, report)
    pixels = Pixels(mined.data.places, start.preprocess)
    held_out = Pixels(validation.places, start.preprocess)
    validate = partial(retrieval, data=validation, pixels=held_out, tokenizer=start.tokenizer, workers=workers)
    best, metrics = start.model, {"before": validate(start.model), "learning_rates": {}}
    for learning_rate in recipe.learning_rates:
        run = Run(
            weights,
            mined,
            pixels,
            start.tokenizer,
            recipe,
            learning_rate,
            method == "negclip",
            seed,
            chunk,
            workers,
            work / f"{learning_rate:g}.pt",
        )
        model = starting_model.load(spec, device).model
        log = finetune(run, model, validate, report)
        metrics["learning_rates"][f"{learning_rate:g}"] = log
        if "chosen" not in metrics or mean_recall(log[-1]) > mean_recall(metrics["after"]):
            best, metrics = model, metrics | {"chosen": learning_rate, "after": log[-1]}
    record = describe(start, sources.data, mined, replace(recipe, learning_rates=(metrics["chosen"],)), method, seed)
    with atomic_folder(output) as scratch:
        starting_model.save(scratch, start, best, record)
        write_json(scratch / "metrics.json", metrics)
    shutil.rmtree(work)
    return metrics


def export_mined(
    spec: str,
    sources: TrainingData,
    output: Path,
    format_: Format,
    *,
    device: str = "cpu",
    workers: int = 0,
    report: Callable[[str, int, int], None],
) -> int:
    """Mine captioned images with the model ``spec``, write them as a training set and return the number of images."""
    data = read(sources.data, sources.images)
    start, work = starting_model.load(spec, device), work_folder(output)
    weights = fingerprint.of_weights(start.model.state_dict())
    count = export(mine_with(start, weights, data, work, workers, report), output, format_)
    shutil.rmtree(work)
    return count


def work_folder(output: Path) -> Path:
    return output.with_name(f".{output.name}.unfinished")


def mine_with(start: Start, weights: str, data: ImageText, work: Path, workers: int, report: Callable) -> Mined:
    """Mine hard negatives; neighbours are those by the model itself, whose fingerprint is ``weights``."""

    def embed(selected: ImageText) -> Any:
        return embed_all(start.model, Pixels(selected.places, start.preprocess), workers, report)

    return mine(data, embed, weights, work / "mined.json")


def describe(start: Start, data: Path, mined: Mined, recipe: Recipe, method: Method, seed: int) -> dict[str, Any]:
    """Return the checkpoint's training.json: the fields that ``local:`` reads, and the training's settings.

    A model keeps its ``corpus`` only if it is fine-tuned on shards of that corpus. Training on a Karpathy file marks
    the model as contaminated, since the test sets are of the same kind.
    """
    corpus = start.training.get("corpus")
    return {
        "corpus": corpus if data.name == corpus else None,
        "source": start.training.get("corpus_source", "web"),
        "contaminated": start.training.get("contaminated") or (None if data.is_dir() else f"fine-tuned on {data.name}"),
        "method": method,
        "start": start.spec,
        "seed": seed,
        "images": len(mined.data.places),
        "captions": len(mined.data.captions),
        "data": mined.data.digest,
        "recipe": json.loads(json.dumps(asdict(recipe))),
    }
