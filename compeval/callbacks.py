"""Evaluate every K steps of a training, inside open_clip's loop or transformers' Trainer.

open_clip's training has no callbacks. Call the evaluation after each optimiser step, in ``train_one_epoch`` of
``open_clip_train/train.py`` or in a loop of your own:

    evaluation = Evaluation(preprocess_val, tokenizer, "crepe/prod_*", every=1000)
    ...
    evaluation(step, model)

Under DDP, call it in the first process only, with ``unwrap_model(model)``. In transformers:

    trainer.add_callback(as_trainer_callback(evaluation))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import TrainerCallback

    from evaluators.results.documents import Result


@dataclass
class Evaluation:
    """Evaluates a model every K steps with ``compeval.evaluate``, in the current process and precision.

    The model's weights, its modes (training or evaluation) and the state of torch's random generators are as before.
    """

    preprocess: Callable[..., Any]
    """Turns an RGB image into a tensor: open_clip's transform for validation."""
    tokenizer: Callable[..., Any]
    """Turns a list of texts into a tensor of token ids."""
    tasks: str | Sequence[str]
    every: int
    """Number of steps between two evaluations."""
    data_dir: Path | None = None
    limit: int | None = None
    """Evaluate the first rows of each task only."""
    batch_size: int | None = None
    on_results: Callable[[int, dict[str, Result]], None] | None = None
    """Called with the step and the results, for instance to log them."""
    history: list[tuple[int, dict[str, Result]]] = field(default_factory=list)
    """Step and results of each evaluation."""

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"every: {self.every}, expected at least 1 step.")

    def __call__(self, step: int, model: Any) -> dict[str, Result] | None:
        """Evaluate the model if ``step``, the number of finished steps, is a multiple of K. Returns the results."""
        if step % self.every:
            return None
        import torch

        from evaluators.run import evaluate

        options = {"data_dir": self.data_dir, "limit": self.limit, "batch_size": self.batch_size}
        with torch.random.fork_rng():
            results = evaluate(model, self.preprocess, self.tokenizer, self.tasks, **options)
        self.history.append((step, results))
        if self.on_results:
            self.on_results(step, results)
        return results


def flatten(results: dict[str, Result]) -> dict[str, float]:
    """Return the main metrics of results as ``task/metric``, for a logger."""
    return {f"{task}/{name}": result["metrics"][name] for task, result in results.items() for name in result["main"]}


def as_trainer_callback(evaluation: Evaluation) -> TrainerCallback:
    """Return a callback of transformers' Trainer. Its model has ``get_image_features`` and ``get_text_features``.

    The main metrics are written to the trainer's log. With several processes, the first one evaluates.
    """
    from transformers import TrainerCallback

    class Callback(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            if state.is_world_process_zero and (results := evaluation(state.global_step, _wrap(model))):
                state.log_history.append({"step": state.global_step, **flatten(results)})

    return Callback()


def _wrap(model: Any) -> Any:
    """Return a model of transformers with open_clip's ``encode_image`` and ``encode_text``."""
    from torch import nn

    class Wrapper(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def encode_image(self, pixels_NCHW: Any) -> Any:
            return self.model.get_image_features(pixel_values=pixels_NCHW).pooler_output

        def encode_text(self, tokens_TL: Any) -> Any:
            return self.model.get_text_features(input_ids=tokens_TL).pooler_output

    return Wrapper()
