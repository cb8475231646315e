"""NegCLIP and CLIP-FT: a CLIP fine-tuned with composition-aware hard negatives, and the same without them.

    compeval train negclip --model ViT-B-32/openai --data coco_karpathy_train.json --images coco --output checkpoints/x

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C. One training a learning rate; the one that
retrieves the validation images best is kept. What is mined and where each training stands lie in a hidden folder beside
the output until the checkpoint is whole, so that the same command goes on where it was killed.
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
from generators.storage.dataset import whole_folder
from generators.storage.stage import write_json
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
"""``paper``: appendix C.3. ``microworld``: for models of a minute, in batches so small that they seldom hold a caption
with the same words in another order."""
VALIDATION_SHARE = 20
"""Without validation data, one image in so many is held out, the last ones."""
CHUNK = 256


@dataclass(frozen=True)
class Sources:
    """What is trained on and what the learning rate is chosen by; ``validation`` None holds out some of the data."""

    data: Path
    images: Path | None = None
    validation: Path | None = None

    def read(self) -> tuple[ImageText, ImageText]:
        found = read(self.data, self.images)
        if self.validation is None:
            return found.split(max(1, len(found.places) // VALIDATION_SHARE))
        return found, read(self.validation, self.images)


def train(
    method: Method,
    spec: str,
    sources: Sources,
    output: Path,
    *,
    recipe: Recipe,
    seed: int = 0,
    device: str = "cpu",
    chunk: int = CHUNK,
    workers: int = 0,
    report: Callable[[str, int, int], None],
) -> dict[str, Any]:
    """Fine-tune the model ``spec`` and write the checkpoint ``output``, whole or not at all; gives its metrics.json."""
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
    with whole_folder(output) as scratch:
        starting_model.save(scratch, start, best, record)
        write_json(scratch / "metrics.json", metrics)
    shutil.rmtree(work)
    return metrics


def export_mined(
    spec: str,
    sources: Sources,
    output: Path,
    format_: Format,
    *,
    device: str = "cpu",
    workers: int = 0,
    report: Callable[[str, int, int], None],
) -> int:
    """Mine captioned images with the model ``spec`` and write them as a training set; gives the number of images."""
    data = read(sources.data, sources.images)
    start, work = starting_model.load(spec, device), work_folder(output)
    weights = fingerprint.of_weights(start.model.state_dict())
    count = export(mine_with(start, weights, data, work, workers, report), output, format_)
    shutil.rmtree(work)
    return count


def work_folder(output: Path) -> Path:
    return output.with_name(f".{output.name}.unfinished")


def mine_with(start: Start, weights: str, data: ImageText, work: Path, workers: int, report: Callable) -> Mined:
    """The hard negatives of captioned images, neighbours by the model itself, whose fingerprint is ``weights``."""

    def embed(kept: ImageText) -> Any:
        return embed_all(start.model, Pixels(kept.places, start.preprocess), workers, report)

    return mine(data, embed, weights, work / "mined.json")


def describe(start: Start, data: Path, mined: Mined, recipe: Recipe, method: Method, seed: int) -> dict[str, Any]:
    """The checkpoint's training.json: what ``local:`` reads of it, and how it was made.

    A model of a corpus that is trained further on shards of that corpus stays its model; on others it is nobody's.
    Captioned images of a Karpathy file are the tests' own kind: its numbers get a mark.
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
