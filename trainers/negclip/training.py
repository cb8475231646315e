"""Train NegCLIP and CLIP-FT: fine-tune a CLIP with and without composition-aware hard negatives.

    compeval train negclip --model ViT-B-32/openai --data coco_karpathy_train.json --images coco --output checkpoints/x

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C. The model is trained once per learning
rate, and the one with the best retrieval scores on the validation images is kept. Mined negatives and training states
are kept in a hidden folder next to the output until the checkpoint is complete. To resume an interrupted training, run
the same command again. To train on several GPUs, launch one process per GPU, which divide each batch:

    torchrun --nproc-per-node 4 -m compeval train negclip ...
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from compeval.base.files.atomic import atomic_folder, check_replaceable, write_json
from compeval.base.pipeline.params import OURS, PAPER
from compeval.base.readers import karpathy
from compeval.trainers.clip import training as clip
from compeval.trainers.negclip import published, starting_model
from compeval.trainers.negclip.embedding import Precision, encode_all_images, measure_retrieval
from compeval.trainers.negclip.export import Format, export
from compeval.trainers.negclip.finetune import Recipe, TrainingRun, compute_mean_recall, finetune
from compeval.trainers.negclip.image_text import (
    CaptionedImages,
    ImageDataset,
    read_captioned_images,
)
from compeval.trainers.negclip.mining import MinedData, mine
from compeval.trainers.negclip.processes import join
from compeval.trainers.negclip.starting_model import StartingModel

Method = Literal["negclip", "clip-ft"]

PRESETS = {
    "paper": Recipe(
        epochs=5, batch_size=256, learning_rates=(1e-5, 5e-6, 1e-6), augment=True, rules=PAPER
    ),
    "microworld": Recipe(epochs=4, batch_size=32, learning_rates=(3e-4,), weight_decay=0.1),
}
"""``paper``: appendix C.3, with the augmentation of open_clip, on whose code it builds. The authors' command has
``--batch-size=256``: 256 images and their neighbours are 512 images, and with the negatives there are 1,024 texts, the
paper's N = 1,024. ``microworld``: for tiny models; in its small batches, captions with the same words in another order
are rare."""
IMAGES_PER_VALIDATION_IMAGE = 20
"""Without validation data, one image in 20 (the last 5 %) is held out."""
CHUNK_SIZE = 256


@dataclass(frozen=True)
class TrainingData:
    """Paths of the training and validation data: Karpathy files, folders of shards or files of NegCLIP's authors.

    Without ``validation``, a part of the training data is held out.
    """

    data: Path
    image_folder: Path | None = None
    validation: Path | None = None

    def read(self) -> tuple[CaptionedImages, CaptionedImages]:
        data = self.read_all(self.data)
        if self.validation is None:
            return data.split(max(1, len(data.locations) // IMAGES_PER_VALIDATION_IMAGE))
        return data, self.read_all(self.validation, ("val",))

    def read_all(self, path: Path, splits: Collection[str] = karpathy.TRAIN) -> CaptionedImages:
        """Return all images of a file or folder; of a file in Karpathy's own layout, those of the ``splits``."""
        if path.suffix == published.SUFFIX:
            return published.read_captioned_images(path, self.image_folder or path.parent)
        return read_captioned_images(path, self.image_folder, splits)


def train(
    method: Method,
    spec: str,
    sources: TrainingData,
    output: Path,
    *,
    recipe: Recipe,
    seed: int = 0,
    device: str = "cpu",
    chunk_size: int = CHUNK_SIZE,
    workers: int = 0,
    precision: Precision = "auto",
    report: Callable[[str, int, int], None],
) -> dict[str, Any]:
    """Fine-tune the model ``spec`` and write the checkpoint to ``output``. Returns the content of metrics.json.

    Of several processes that a launcher has started, all train and validate, and the first one mines and writes.
    """
    check_replaceable(output)
    processes = join(device)
    data, validation = sources.read()
    start = starting_model.load(spec, processes.device)
    work = get_work_folder(output)
    with processes.main_process_first():
        keep_all = method == "clip-ft" and recipe.rules == PAPER
        mined = read_or_mine(
            sources.data, start, data, work, workers, report, recipe.rules, keep_all
        )
    transform = start.make_training_transform() if recipe.augment else start.preprocess
    images = ImageDataset(mined.data.locations, transform, seed=seed if recipe.augment else None)
    held_out = ImageDataset(validation.locations, start.preprocess)
    validate = partial(
        measure_retrieval,
        data=validation,
        images=held_out,
        tokenizer=start.tokenizer,
        workers=workers,
    )
    runs = [
        TrainingRun(
            initial_weights=start.fingerprint,
            mined=mined,
            images=images,
            tokenizer=start.tokenizer,
            recipe=recipe,
            use_hard_negatives=method == "negclip",
            work=work,
            processes=processes,
            learning_rate=learning_rate,
            seed=seed,
            chunk_size=chunk_size,
            workers=workers,
            precision=precision,
        )
        for learning_rate in recipe.learning_rates
    ]
    best, metrics = _choose_run(start, runs, validate, report)
    if processes.is_first:
        record = describe_checkpoint(
            start, sources.data, mined, recipe, metrics["chosen"], method, seed
        )
        _write_checkpoint(output, start, best, record, metrics)
        shutil.rmtree(work)
    processes.wait()
    return metrics


def _write_checkpoint(
    output: Path, start: StartingModel, model: Any, record: dict[str, Any], metrics: dict[str, Any]
) -> None:
    with atomic_folder(output) as scratch:
        clip.write_config(scratch, start.config, start.preprocess_config)
        clip.save(scratch, model, record)
        write_json(scratch / "metrics.json", metrics)


def _choose_run(
    start: StartingModel, runs: Sequence[TrainingRun], validate: Callable, report: Callable
) -> tuple[Any, dict[str, Any]]:
    """Train a model per run. Return that with the best retrieval scores, and the content of metrics.json."""
    best = start.model
    metrics: dict[str, Any] = {"before": validate(start.model), "learning_rates": {}}
    for run in runs:
        model = starting_model.load(start.spec, run.processes.device).model
        log = finetune(run, model, validate, report)
        metrics["learning_rates"][f"{run.learning_rate:g}"] = log
        score = compute_mean_recall(log[-1])
        if "chosen" not in metrics or score > compute_mean_recall(metrics["after"]):
            best = model
            metrics["chosen"] = run.learning_rate
            metrics["after"] = log[-1]
    return best, metrics


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
    """Mine hard negatives with the model ``spec``, write a training set and return its number of images."""
    data = sources.read_all(sources.data)
    start = starting_model.load(spec, device)
    work = get_work_folder(output)
    count = export(read_or_mine(sources.data, start, data, work, workers, report), output, format_)
    shutil.rmtree(work, ignore_errors=True)
    return count


def get_work_folder(output: Path) -> Path:
    """Return the hidden folder of an unfinished checkpoint."""
    return output.with_name(f".{output.name}.unfinished")


def read_or_mine(
    file: Path,
    start: StartingModel,
    data: CaptionedImages,
    work: Path,
    workers: int,
    report: Callable,
    rules: str = OURS,
    keep_all: bool = False,
) -> MinedData:
    """Return the images ``data`` of ``file`` with their hard negatives.

    They are read from the file if NegCLIP's authors wrote it. Otherwise they are mined, with neighbours by the features
    of the model.
    """
    if file.suffix == published.SUFFIX:
        return published.read_mined(file, data)
    return mine(
        data,
        lambda locations: encode_all_images(
            start.model, ImageDataset(locations, start.preprocess, cache=False), workers
        ),
        start.fingerprint,
        work / "mined",
        workers,
        report,
        rules,
        keep_all,
    )


def describe_checkpoint(
    start: StartingModel,
    data: Path,
    mined: MinedData,
    recipe: Recipe,
    learning_rate: float,
    method: Method,
    seed: int,
) -> dict[str, Any]:
    """Return the content of training.json: information on the training data, which ``local:`` reads, and the settings.

    The checkpoint keeps the ``corpus`` of the starting model only if it is fine-tuned on shards of that corpus. A
    Karpathy file marks it as contaminated, because test sets are built from the same datasets.
    """
    corpus = start.training.get("corpus")
    return {
        "corpus": corpus if data.name == corpus else None,
        "source": start.training.get("corpus_source", "web"),
        "contaminated": start.training.get("contaminated")
        or (None if data.is_dir() else f"fine-tuned on {data.name}"),
        "method": method,
        "start": start.spec,
        "seed": seed,
        "images": len(mined.data.locations),
        "captions": len(mined.data.captions),
        "data": mined.data.digest,
        "recipe": asdict(recipe) | {"learning_rates": [learning_rate]},
    }
