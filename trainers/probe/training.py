"""Recovery probes: how much of a text can be given back from a text encoder's single vector?

    compeval train autoencoder                                  # the proof-of-concept encoder: checkpoints/autoencoder
    compeval train probe --text-encoder local:checkpoints/autoencoder
    compeval train probe --text-encoder ViT-B-32/openai --decoder t5-large --text 'cc3m/*.tsv' --column 0

Source: Kamath, Hessel and Chang 2023, section 3: a frozen encoder's vector, a linear map, layer norm, T5's decoder;
Adafactor, batches of 512, 4 epochs, the checkpoint of the lowest validation loss. Differs from it in: by default the
decoder is a small T5 from scratch with a tokeniser of its own (the paper's is t5-large: ``--decoder``) and the text is
generated (the paper's is Conceptual Captions: ``--text``).

A training that was stopped goes on from its last checkpoint, to the weights that it would have had.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Sampler
from transformers import AutoTokenizer, Seq2SeqTrainer, Seq2SeqTrainingArguments, T5Config

from evaluators.engine import encode as engine
from evaluators.engine.encode import Report, quiet
from evaluators.engine.feature_cache import FeatureStore, cache_folder
from evaluators.models import Model, TextEncoder, fingerprint
from evaluators.models.recovery_probe import AUTOENCODER, PROBE, RecoveryT5
from generators.storage.atomic import atomic_folder
from trainers.clip.precision import fast_bfloat16
from trainers.probe.data import Collator, SimilarLengths, split, train_tokenizer

SMALL = {"d_model": 256, "d_kv": 64, "num_heads": 4, "d_ff": 512, "num_decoder_layers": 2, "dropout_rate": 0.0}
"""The T5 that is trained from scratch; t5-large has four times the width and twelve times the layers."""
SMALL_ENCODER_LAYERS = 2
CHECKPOINTS = 8
"""Checkpoints per training, each with its validation loss."""
MAX_VALIDATION = 5_000
"""Validation texts per checkpoint: enough to choose between checkpoints."""
INIT_SAMPLE = 10_000
"""Vectors from which the initial weights are computed."""


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters. All defaults except decoder and learning rate are the paper's."""

    decoder: str | None = None
    """A T5 by its name on the Hub or its folder; None for a small one from scratch."""
    epochs: int = 4
    batch_size: int = 512
    """Texts per step."""
    accumulate: int = 1
    """Gradient accumulation steps per batch."""
    learning_rate: float = 3e-3
    precision: str = "fp32"
    """fp32, or bf16 or fp16 for mixed precision; the weights are fp32."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.batch_size % self.accumulate:
            raise ValueError(f"A batch of {self.batch_size} does not divide into {self.accumulate} parts.")


def mixed_precision(device: str) -> str:
    """Return bf16 for devices with fast bfloat16 (CUDA, processors with AMX), else fp32."""
    return "bf16" if fast_bfloat16(device) else "fp32"


class _Trainer(Seq2SeqTrainer):
    """transformers' trainer with batches of texts of similar length."""

    def _get_train_sampler(self, train_dataset: Any = None) -> Sampler[int]:
        arguments = self.args
        step = arguments.train_batch_size * arguments.gradient_accumulation_steps
        return SimilarLengths(train_dataset or self.train_dataset, step, arguments.seed)  # pyright: ignore[reportArgumentType]


def train_probe(
    encoder: Model,
    texts: Sequence[str],
    recipe: Recipe,
    folder: Path,
    *,
    device: str = "cpu",
    about: dict[str, Any] | None = None,
    report: Report = quiet,
) -> float:
    """Train a probe of a text encoder on ``texts``, write ``folder`` and return the validation loss.

    ``about`` is recorded in the folder's JSON. A finished training with the same inputs is not repeated. Raises
    ValueError for a model without text features.
    """
    if not isinstance(encoder.encoder, TextEncoder):
        raise ValueError(f"{encoder.spec} has no text features to probe.")
    inputs = fingerprint.of_json([asdict(recipe), encoder.fingerprint, fingerprint.of_json(list(texts))])
    if (done := _done(folder / PROBE, inputs)) is not None:
        return done
    store = FeatureStore(cache_folder(), encoder.fingerprint)
    engine.encode_texts(encoder, list(dict.fromkeys(texts)), store, recipe.batch_size, report)

    def embed(some: Sequence[str]) -> Tensor:
        return torch.from_numpy(store.get([engine.text_key(text) for text in some]))

    torch.manual_seed(recipe.seed)
    train, validation = split(texts, recipe.seed)
    sample_ND = embed(train[:INIT_SAMPLE])
    size = sample_ND.shape[1]
    tokenizer = _tokenizer(recipe, train)
    model = new_model(recipe, len(tokenizer), size, own_encoder=False)
    model.standardise(sample_ND.mean(dim=0), sample_ND.std(dim=0))
    try:
        loss = _fit(model, train, validation, Collator(tokenizer, embed), recipe, folder, inputs, device)
    finally:
        store.close()
    record = {"text_encoder": encoder.spec, "fingerprint": encoder.fingerprint, "precision": encoder.precision}
    _write(folder, PROBE, model, tokenizer, record | {"embedding_size": size}, recipe, inputs, loss, about)
    return loss


def train_autoencoder(
    texts: Sequence[str], recipe: Recipe, folder: Path, *, device: str = "cpu", about: dict[str, Any] | None = None
) -> float:
    """Train the proof-of-concept encoder (section 3), write ``folder`` and return the validation loss.

    It is a T5 whose decoder sees only the mean over the encoder's tokens; probes get this vector with its dimensions
    shuffled.
    """
    inputs = fingerprint.of_json([asdict(recipe), fingerprint.of_json(list(texts))])
    if (done := _done(folder / AUTOENCODER, inputs)) is not None:
        return done
    torch.manual_seed(recipe.seed)
    train, validation = split(texts, recipe.seed)
    tokenizer = _tokenizer(recipe, train)
    model = new_model(recipe, len(tokenizer), None, own_encoder=True)
    shuffle = torch.randperm(model.config.d_model).tolist()
    loss = _fit(model, train, validation, Collator(tokenizer, None), recipe, folder, inputs, device)
    _write(folder, AUTOENCODER, model, tokenizer, {"shuffle": shuffle}, recipe, inputs, loss, about)
    return loss


def new_model(recipe: Recipe, vocabulary: int, embedding_size: int | None, *, own_encoder: bool) -> RecoveryT5:
    """Return the T5 of a recipe before training; a probe's has no encoder layers."""
    if recipe.decoder:
        config = T5Config.from_pretrained(recipe.decoder)
        config.num_layers = config.num_layers if own_encoder else 0
    else:
        layers = SMALL_ENCODER_LAYERS if own_encoder else 0
        config = T5Config(vocab_size=vocabulary, num_layers=layers, **SMALL)
        config.decoder_start_token_id = config.pad_token_id  # pyright: ignore[reportAttributeAccessIssue]
    config.embedding_size = embedding_size or config.d_model  # pyright: ignore[reportAttributeAccessIssue]
    if recipe.decoder:
        return RecoveryT5.from_pretrained(recipe.decoder, config=config, dtype=torch.float32)  # pyright: ignore[reportReturnType]
    return RecoveryT5(config)


def _tokenizer(recipe: Recipe, texts: Sequence[str]) -> Any:
    return AutoTokenizer.from_pretrained(recipe.decoder) if recipe.decoder else train_tokenizer(texts)


def _fit(
    model: RecoveryT5,
    train: list[str],
    validation: list[str],
    collator: Collator,
    recipe: Recipe,
    folder: Path,
    inputs: str,
    device: str,
) -> float:
    """Train in place, resuming from the last checkpoint, and return the lowest validation loss.

    The model ends with the weights of that loss.
    """
    work = work_folder(folder, inputs)
    arguments = Seq2SeqTrainingArguments(
        output_dir=str(work),
        num_train_epochs=recipe.epochs,
        per_device_train_batch_size=recipe.batch_size // recipe.accumulate,
        per_device_eval_batch_size=recipe.batch_size // recipe.accumulate,
        gradient_accumulation_steps=recipe.accumulate,
        optim="adafactor",
        learning_rate=recipe.learning_rate,
        warmup_steps=0.05,
        bf16=recipe.precision == "bf16",
        fp16=recipe.precision == "fp16",
        use_cpu=device == "cpu",
        seed=recipe.seed,
        eval_strategy="steps",
        eval_steps=1 / CHECKPOINTS,
        save_steps=1 / CHECKPOINTS,
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
    trainer = _Trainer(
        model=model,
        args=arguments,
        data_collator=collator,  # pyright: ignore[reportArgumentType]
        train_dataset=train,  # pyright: ignore[reportArgumentType]
        eval_dataset=validation[:MAX_VALIDATION],  # pyright: ignore[reportArgumentType]
    )
    last = last_checkpoint(work)
    trainer.train(resume_from_checkpoint=str(last) if last else None)
    best = trainer.state.best_metric
    assert best is not None
    return best


def work_folder(folder: Path, inputs: str) -> Path:
    """Return the folder of a training's checkpoints, which depends on the inputs of the training."""
    return folder.with_name(f".{folder.name}.{inputs[:8]}")


def last_checkpoint(work: Path) -> Path | None:
    """Return the newest complete checkpoint; the trainer's state is its last file."""
    complete = [path.parent for path in work.glob("checkpoint-*/trainer_state.json") if path.stat().st_size]
    return max(complete, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def _done(path: Path, inputs: str) -> float | None:
    """Return the validation loss of a finished training with the same inputs."""
    record = json.loads(path.read_text()) if path.is_file() else {}
    return record["validation_loss"] if record.get("inputs") == inputs else None


def _write(
    folder: Path,
    name: str,
    model: RecoveryT5,
    tokenizer: Any,
    record: dict[str, Any],
    recipe: Recipe,
    inputs: str,
    loss: float,
    about: dict[str, Any] | None,
) -> None:
    """Write the finished folder and remove the checkpoints."""
    record = record | {"inputs": inputs, "recipe": asdict(recipe), "validation_loss": loss} | (about or {})
    with atomic_folder(folder) as scratch:
        model.save_pretrained(scratch)
        tokenizer.save_pretrained(scratch)
        (scratch / name).write_text(json.dumps(record, indent=1) + "\n")
    shutil.rmtree(work_folder(folder, inputs))
