"""Evaluate every K steps of a training: in open_clip's loop, in transformers' Trainer, or in a loop of your own.

    evaluation = Evaluation(preprocess_val, tokenizer, "crepe/prod_*", every=1000)
    for step, batch in enumerate(loader, 1):
        ...
        evaluation(step, model)

open_clip's training has no callbacks: call the evaluation after each optimiser step, in ``train_one_epoch`` of
``open_clip_train/train.py``. Under DDP, call it in the first process only, with ``unwrap_model(model)``. In
transformers:

    trainer.add_callback(as_trainer_callback(evaluation))

The scores go to a logger through ``on_results``:

    Evaluation(..., on_results=log_to_tensorboard(SummaryWriter("runs")))
    Evaluation(..., on_results=log_to_wandb(wandb.init(project="clip")))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import TrainerCallback

    from compeval.evaluators.results.scores_of_tasks import Scores

OnResults = Callable[[int, "Scores"], None]


@dataclass
class Evaluation:
    """Evaluates a model every K steps with ``compeval.evaluate``, in the current process and precision.

    The model's weights, its modes (training or evaluation) and the state of torch's random generators are as before.
    """

    preprocess: Callable[..., Any] | None
    """Turns an RGB image into a tensor: open_clip's transform for validation. None for a class of your own."""
    tokenizer: Callable[..., Any] | None
    """Turns a list of texts into a tensor of token ids. None for a class of your own."""
    tasks: str | Sequence[str] | None
    """Names or globs, as in ``compeval.evaluate``. None: all tasks except raw retrieval."""
    every: int
    """Number of steps between two evaluations."""
    data_dir: Path | None = None
    limit: int | None = None
    """Evaluate the first rows of each task only."""
    batch_size: int | None = None
    on_results: OnResults | None = None
    """Called with the step and the scores, for instance ``log_to_tensorboard(writer)``."""
    history: list[tuple[int, Scores]] = field(default_factory=list)
    """Step and scores of each evaluation."""

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"every: {self.every}, expected at least 1 step.")
        from compeval.evaluators.engine.tasks import discover, select

        all_tasks = discover(self.data_dir)
        if self.tasks is not None:
            select(all_tasks, self.tasks)  # a wrong name is reported before the training begins

    def __call__(self, step: int, model: Any) -> Scores | None:
        """Evaluate the model if ``step``, the number of finished steps, is a multiple of K. Returns the scores."""
        if step % self.every:
            return None
        import torch

        from compeval.evaluators.in_process import evaluate

        options = {"data_dir": self.data_dir, "limit": self.limit, "batch_size": self.batch_size}
        with torch.random.fork_rng():
            results = evaluate(model, self.preprocess, self.tokenizer, self.tasks, **options)
        self.history.append((step, results))
        if self.on_results:
            self.on_results(step, results)
        return results


def log_to_tensorboard(writer: Any) -> OnResults:
    """Return a function that writes the main metrics of each evaluation to TensorBoard, as ``task/metric``.

    ``writer`` is a ``torch.utils.tensorboard.SummaryWriter``.
    """

    def log(step: int, results: Scores) -> None:
        for name, value in results.flat().items():
            writer.add_scalar(name, value, step)
        writer.flush()

    return log


def log_to_wandb(run: Any) -> OnResults:
    """Return a function that logs the main metrics of each evaluation to Weights & Biases, as ``compeval/task/metric``.

    ``run`` is what ``wandb.init`` returns; offline runs work as well. The steps are logged as ``compeval/step``, which
    is the axis of these metrics, so the training may count wandb's own steps as it likes.
    """
    run.define_metric("compeval/*", step_metric="compeval/step")

    def log(step: int, results: Scores) -> None:
        run.log(
            {
                "compeval/step": step,
                **{f"compeval/{name}": value for name, value in results.flat().items()},
            }
        )

    return log


def flatten(results: Scores) -> dict[str, float]:
    """Return the main metrics of scores as ``task/metric``. The same as ``results.flat()``."""
    return results.flat()


def as_trainer_callback(evaluation: Evaluation) -> TrainerCallback:
    """Return a callback of transformers' Trainer. Its model has ``get_image_features`` and ``get_text_features``.

    The main metrics are appended to ``trainer.state.log_history``. The Trainer's own loggers (``report_to``) do not get
    them: pass ``on_results``. With several processes, the first one evaluates.
    """
    from transformers import TrainerCallback

    class Callback(TrainerCallback):
        def on_step_end(
            self, args: Any, state: Any, control: Any, model: Any = None, **_: Any
        ) -> None:
            if state.is_world_process_zero and (results := evaluation(state.global_step, model)):
                state.log_history.append({"step": state.global_step, **results.flat()})

    return Callback()
