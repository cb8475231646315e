"""Train recovery probes, which measure how much of a text can be recovered from its text features (one vector).

    compeval train autoencoder                                  # writes checkpoints/autoencoder
    compeval train probe --text-encoder local:checkpoints/autoencoder
    compeval train probe --text-encoder ViT-B-32/openai --decoder t5-large --text 'cc3m/*.tsv' --column 0

Source: Kamath, Hessel and Chang 2023, section 3. A probe maps the features of a frozen text encoder through a linear
layer and layer norm into T5's decoder. Adafactor, batches of 512, 4 epochs; the checkpoint with the lowest validation
loss is kept. Differences from the paper, by default: the decoder is a small T5 trained from scratch with its own
tokeniser (paper: t5-large, ``--decoder``), and the text is generated (paper: Conceptual Captions, ``--text``).

An interrupted training resumes from its last checkpoint and ends with the same weights as an uninterrupted training.

To train on several GPUs, launch one process per GPU: ``torchrun --nproc-per-node 4 -m compeval train probe ...``. The
batch is divided among the processes, so a step sees the same number of texts.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Sampler
from transformers import AutoTokenizer, Seq2SeqTrainer, Seq2SeqTrainingArguments, T5Config

from compeval.base.files.atomic import atomic_folder, check_replaceable
from compeval.base.files.cache_folder import cache_folder
from compeval.evaluators.engine import encode as engine
from compeval.evaluators.engine.encode import Report, no_progress
from compeval.evaluators.engine.feature_cache import FeatureStore
from compeval.evaluators.models import Model, TextEncoder, fingerprint
from compeval.evaluators.models.recovery_probe import AUTOENCODER, PROBE, RecoveryT5
from compeval.trainers.clip.precision import has_fast_bfloat16
from compeval.trainers.probe.data import (
    Collator,
    SimilarLengthSampler,
    split_texts,
    train_tokenizer,
)

SMALL = {
    "d_model": 256,
    "d_kv": 64,
    "num_heads": 4,
    "d_ff": 512,
    "num_decoder_layers": 2,
    "dropout_rate": 0.0,
}
"""Configuration of the T5 that is trained from scratch. t5-large is 4 times as wide and has 12 times as many layers."""
SMALL_ENCODER_LAYERS = 2
NUM_CHECKPOINTS = 8
"""Number of checkpoints per training. The validation loss is measured at each checkpoint."""
MAX_VALIDATION_TEXTS = 5_000
"""Maximum number of texts for the validation loss."""
NUM_INIT_TEXTS = 10_000
"""Number of texts whose features determine the initial weights of the linear layer."""


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters. The defaults are the paper's, except for the decoder and the learning rate."""

    decoder: str | None = None
    """Name on the Hub or folder of a T5. None: train a small T5 from scratch."""
    epochs: int = 4
    batch_size: int = 512
    """Number of texts per step."""
    accumulate: int = 1
    """Number of parts into which a batch, or the share of a process, is divided (gradient accumulation)."""
    learning_rate: float = 3e-3
    precision: str = "fp32"
    """fp32, or bf16 or fp16 for mixed precision. The weights are always fp32."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.batch_size % self.accumulate:
            raise ValueError(
                f"Batch size {self.batch_size} is not divisible by {self.accumulate} (accumulate)."
            )


def divide_batch(recipe: Recipe, num_processes: int) -> int:
    """Return the number of texts that a process computes at once. Raises ValueError if the batch is not divisible."""
    size, rest = divmod(recipe.batch_size, recipe.accumulate * num_processes)
    if rest:
        raise ValueError(
            f"Batch size {recipe.batch_size} is not divisible by {recipe.accumulate} (accumulate) times "
            f"{num_processes} (processes)."
        )
    return size


def _count_processes() -> int:
    """Return the number of processes that train together, which torchrun and accelerate set."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def choose_precision(device: str) -> str:
    """Return "bf16" if bfloat16 is fast on the device (CUDA, processors with AMX), else "fp32"."""
    return "bf16" if has_fast_bfloat16(device) else "fp32"


@dataclass
class OneDeviceArguments(Seq2SeqTrainingArguments):
    """Training arguments with the device of this process. The Trainer would use all GPUs, starting with the first.

    If several processes train together, each has the device that its launcher assigned.
    """

    one_device: str = "cpu"

    @cached_property
    def _setup_devices(self) -> torch.device:
        device = super()._setup_devices
        if device.type != "cuda" or _count_processes() > 1:
            return device
        chosen = torch.device("cuda", torch.device(self.one_device).index or 0)
        torch.cuda.set_device(chosen)
        self._n_gpu = 1
        return chosen


class _Trainer(Seq2SeqTrainer):
    """Trainer of transformers with batches of texts of similar length."""

    def _get_train_sampler(self, train_dataset: Any = None) -> Sampler[int]:
        arguments = self.args
        step = (
            arguments.train_batch_size
            * arguments.gradient_accumulation_steps
            * arguments.world_size
        )
        return SimilarLengthSampler(train_dataset or self.train_dataset, step, arguments.seed)  # pyright: ignore[reportArgumentType]


Build = Callable[[list[str], Any], tuple[RecoveryT5, Collator, dict[str, Any]]]
"""Function of the training texts and the tokenizer that returns the model, its collator and what its file records."""


def train_probe(
    encoder: Model,
    texts: Sequence[str],
    recipe: Recipe,
    folder: Path,
    *,
    device: str = "cpu",
    about: dict[str, Any] | None = None,
    report: Report = no_progress,
) -> float:
    """Train a probe of a text encoder on ``texts``, write it to ``folder`` and return its validation loss.

    ``about`` is added to the JSON file in the folder. If the folder holds a probe that was trained on the same inputs,
    nothing is trained. Raises ValueError if the model has no text features.
    """
    if not isinstance(encoder.encoder, TextEncoder):
        raise ValueError(f"{encoder.spec} has no text features to probe.")
    with closing(FeatureStore(cache_folder(), encoder.fingerprint)) as store:

        def embed(batch: Sequence[str]) -> Tensor:
            return torch.from_numpy(store.get(engine.make_text_keys(batch)))

        def build(train: list[str], tokenizer: Any) -> tuple[RecoveryT5, Collator, dict[str, Any]]:
            engine.encode_texts(
                encoder, list(dict.fromkeys(texts)), store, recipe.batch_size, report
            )
            sample_ND = embed(train[:NUM_INIT_TEXTS])
            size = sample_ND.shape[1]
            model = make_model(recipe, len(tokenizer), size, has_encoder=False)
            model.standardise(sample_ND.mean(dim=0), sample_ND.std(dim=0))
            record = {
                "text_encoder": encoder.spec,
                "fingerprint": encoder.fingerprint,
                "precision": encoder.precision,
            }
            return model, Collator(tokenizer, embed), record | {"embedding_size": size}

        return _train(folder / PROBE, build, [encoder.fingerprint], texts, recipe, device, about)


def train_autoencoder(
    texts: Sequence[str],
    recipe: Recipe,
    folder: Path,
    *,
    device: str = "cpu",
    about: dict[str, Any] | None = None,
) -> float:
    """Train the proof-of-concept encoder (section 3), write it to ``folder`` and return its validation loss.

    The model is a T5 whose decoder sees only the mean of the encoder's token states. This mean, with its dimensions
    shuffled, is the feature vector that probes get.
    """

    def build(train: list[str], tokenizer: Any) -> tuple[RecoveryT5, Collator, dict[str, Any]]:
        model = make_model(recipe, len(tokenizer), None, has_encoder=True)
        shuffle = torch.randperm(model.config.d_model).tolist()
        return model, Collator(tokenizer, None), {"shuffle": shuffle}

    return _train(folder / AUTOENCODER, build, [], texts, recipe, device, about)


def _train(
    path: Path,
    build: Build,
    encoder: list[str],
    texts: Sequence[str],
    recipe: Recipe,
    device: str,
    about: dict[str, Any] | None,
) -> float:
    """Train a model, write it to the folder of the JSON file ``path`` and return its validation loss.

    If the file records a training on the same inputs (``encoder``: fingerprint of the text encoder), nothing is
    trained. Of several processes, only the first writes.
    """
    inputs = fingerprint.of_json([asdict(recipe), *encoder, fingerprint.of_json(list(texts))])
    finished = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if finished.get("inputs") == inputs:
        return finished["validation_loss"]
    check_replaceable(path.parent)
    train, validation = split_texts(texts, recipe.seed)
    tokenizer: Any = (
        AutoTokenizer.from_pretrained(recipe.decoder, trust_remote_code=False)
        if recipe.decoder
        else train_tokenizer(train)
    )
    model, collator, record = build(train, tokenizer)
    # Trainings with different inputs have different hidden folders for their checkpoints.
    work = path.parent.with_name(f".{path.parent.name}.{inputs[:8]}")
    loss = _fit(model, train, validation, collator, _make_arguments(recipe, work, device))
    if os.environ.get("RANK", "0") == "0":
        record |= {
            "inputs": inputs,
            "recipe": asdict(recipe),
            "validation_loss": loss,
            **(about or {}),
        }
        with atomic_folder(path.parent) as scratch:
            model.save_pretrained(scratch)
            tokenizer.save_pretrained(scratch)
            (scratch / path.name).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        shutil.rmtree(work)
    return loss


def make_model(
    recipe: Recipe, vocabulary_size: int, embedding_size: int | None, *, has_encoder: bool
) -> RecoveryT5:
    """Return the untrained T5 of a recipe, with initial weights by its seed.

    The T5 of a probe has no encoder layers (``has_encoder`` is False).
    """
    torch.manual_seed(recipe.seed)
    if recipe.decoder:
        config = T5Config.from_pretrained(recipe.decoder)
        config.num_layers = config.num_layers if has_encoder else 0
    else:
        layers = SMALL_ENCODER_LAYERS if has_encoder else 0
        config = T5Config(vocab_size=vocabulary_size, num_layers=layers, **SMALL)
        config.decoder_start_token_id = config.pad_token_id  # pyright: ignore[reportAttributeAccessIssue]
    config.embedding_size = embedding_size or config.d_model  # pyright: ignore[reportAttributeAccessIssue]
    if recipe.decoder:
        return RecoveryT5.from_pretrained(recipe.decoder, config=config, dtype=torch.float32)  # pyright: ignore[reportReturnType]
    return RecoveryT5(config)


def _make_arguments(recipe: Recipe, work: Path, device: str) -> OneDeviceArguments:
    batch_size = divide_batch(recipe, _count_processes())
    return OneDeviceArguments(
        output_dir=str(work),
        one_device=device,
        num_train_epochs=recipe.epochs,
        per_device_train_batch_size=batch_size,
        per_device_eval_batch_size=batch_size,
        gradient_accumulation_steps=recipe.accumulate,
        optim="adafactor",
        learning_rate=recipe.learning_rate,
        warmup_steps=0.05,
        bf16=recipe.precision == "bf16",
        fp16=recipe.precision == "fp16",
        use_cpu=device == "cpu",
        seed=recipe.seed,
        eval_strategy="steps",
        eval_steps=1 / NUM_CHECKPOINTS,
        save_steps=1 / NUM_CHECKPOINTS,
        save_total_limit=1,
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        prediction_loss_only=True,
        logging_steps=50,
        label_names=["labels"],
        remove_unused_columns=False,
        dataloader_pin_memory=device != "cpu",
        report_to=[],
    )


def _fit(
    model: RecoveryT5,
    train: list[str],
    validation: list[str],
    collator: Collator,
    arguments: OneDeviceArguments,
) -> float:
    """Train ``model`` in place and return the lowest validation loss, whose weights the model has at the end.

    Resumes from the last checkpoint, if there is one. If several processes train together, all of them return after the
    last one has finished.
    """
    trainer = _Trainer(
        model=model,
        args=arguments,
        data_collator=collator,  # pyright: ignore[reportArgumentType]
        train_dataset=train,  # pyright: ignore[reportArgumentType]
        eval_dataset=validation[:MAX_VALIDATION_TEXTS],  # pyright: ignore[reportArgumentType]
    )
    last = find_last_checkpoint(Path(arguments.output_dir or ""))
    trainer.train(resume_from_checkpoint=str(last) if last else None)
    best = trainer.state.best_metric
    assert best is not None
    trainer.accelerator.wait_for_everyone()
    return best


def find_last_checkpoint(work: Path) -> Path | None:
    """Return the newest complete checkpoint. Returns None if there is none.

    A checkpoint is complete if it has ``trainer_state.json``, which the trainer writes last.
    """
    complete = [
        path.parent for path in work.glob("checkpoint-*/trainer_state.json") if path.stat().st_size
    ]
    return max(complete, key=lambda path: int(path.name.rpartition("-")[2]), default=None)
