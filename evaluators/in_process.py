"""Evaluate a model in the current process: ``compeval.evaluate``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from compeval.evaluators import models
from compeval.evaluators.engine import plan
from compeval.evaluators.engine.compute import start_server_for_gpu
from compeval.evaluators.engine.encode import Engine
from compeval.evaluators.engine.feature_cache import FeatureStore
from compeval.evaluators.engine.pairs import stream_missing
from compeval.evaluators.engine.score import score_all
from compeval.evaluators.engine.tasks import Task, discover, select
from compeval.evaluators.models import Model
from compeval.evaluators.models.checks import check_name
from compeval.evaluators.results.compose import compose, make_examples
from compeval.evaluators.results.scores_of_tasks import Scores, TaskScores
from compeval.evaluators.run import (
    OpenedTask,
    default_batch_size,
    get_selected_or_default_tasks,
    open_tasks,
)

METHODS = (("encode_image", "encode_text"), ("get_image_features", "get_text_features"))
"""Methods of a torch module: open_clip's, or transformers'."""


def evaluate(
    model: Any,
    preprocess: Callable[..., Any] | None = None,
    tokenizer: Callable[..., Any] | None = None,
    tasks: str | Sequence[str] | None = None,
    *,
    data_dir: Path | str | None = None,
    limit: int | None = None,
    batch_size: int | None = None,
    device: str | None = None,
) -> Scores:
    """Evaluate a model in the current process, as ``compeval run`` does. No result or feature is written.

    A model keeps its modes (training or evaluation). Raises ValueError for a wrong model or task.

    Args:
        model: A torch module with open_clip's ``encode_image(pixels)`` and ``encode_text(token_ids)``, or with
            transformers' ``get_image_features`` and ``get_text_features``, with ``preprocess`` and ``tokenizer``. Or,
            without them, an object of your own class, whose ``encode_image(images)`` and ``encode_text(texts)``, or
            ``score(images, texts)``, take lists of PIL images and of strings. Or a name, as in ``compeval run``.
        preprocess: Turns an RGB image into a tensor: the transform for evaluation, which is not random.
        tokenizer: Turns a list of texts into a tensor of token ids.
        tasks: Names or globs, in a list or separated by commas. Default: all tasks except raw retrieval.
        data_dir: Folder that contains the dataset folders.
        limit: Evaluate the first rows of each task only.
        batch_size: Default: 64 on a CPU, 512 on an accelerator.
        device: Device of a model that is given by its name. Default: the fastest available device.

    Returns:
        The scores: ``scores["crepe/prod_hnatom/n4"].recall_at_1``, ``.interval``; ``scores.flat()`` for loggers.
    """
    _check_arguments(model, preprocess, tokenizer, device, limit)
    available = discover(data_dir)
    # A wrong name is reported before the model is touched.
    selected = None if tasks is None else select(available, tasks)
    with _in_evaluation_mode(model):
        loaded, device = _load(model, preprocess, tokenizer, device)
        chosen = get_selected_or_default_tasks(loaded, available, selected, data_dir)
        # Before the rows are read, since processes that prepare images take seconds to start.
        in_processes = start_server_for_gpu(loaded.encoder)
        opened, refused = open_tasks(loaded, chosen, data_dir, limit)
        if refused:
            raise ValueError(str(refused[0]))
        return _score(loaded, opened, batch_size or default_batch_size(device), in_processes)


def _score(
    model: Model, opened: Mapping[Task, OpenedTask], batch_size: int, in_processes: bool
) -> Scores:
    """Return the scores of a model by name of the task, with features in memory only."""
    planned = plan.build_plan([dataset for dataset, _ in opened.values()])
    scores: dict[str, TaskScores] = {}
    with closing(FeatureStore(None, model.fingerprint)) as store:
        engine = Engine(model, planned, store, batch_size, in_processes=in_processes)
        if isinstance(model.encoder, models.PaidScorer):
            # Raises ValueError above the maximum.
            model.encoder.estimate_cost(stream_missing(engine))
        for scored in score_all(engine):
            task = scored.task.dataset.task
            result = compose(opened[task].description, scored, make_examples(scored), model)
            scores[task.name] = TaskScores(result)
    return Scores(scores)


def _check_arguments(
    model: Any, preprocess: Any, tokenizer: Any, device: str | None, limit: int | None
) -> None:
    """Raise ValueError if the arguments are not those of one kind of model, or the limit is not positive."""
    _check_model(model, preprocess, tokenizer)
    if device is not None and not isinstance(model, str):
        raise ValueError(
            f"device={device!r} is for a model that is given by its name. Move yours with model.to(device)."
        )
    if limit is not None and limit < 1:
        raise ValueError(f"limit={limit}: expected at least 1 row.")


def _check_model(model: Any, preprocess: Any, tokenizer: Any) -> None:
    kind = type(model).__name__
    if isinstance(model, type):
        raise ValueError(f"{model.__name__} is a class: pass an object, {model.__name__}(...).")
    if isinstance(model, str | Model):
        if preprocess or tokenizer:
            raise ValueError(
                "A model that is given by its name has its own preprocess and tokenizer: leave them out."
            )
        if isinstance(model, str):
            check_name(model)
        return
    if (preprocess is None) != (tokenizer is None):
        present = "preprocess"
        missing = "tokenizer"
        if preprocess is None:
            present, missing = missing, present
        raise ValueError(
            f"{kind}: {present} is given without {missing}. Pass both, or none for a class of your own."
        )
    if preprocess is None:
        return
    if not hasattr(model, "parameters"):
        raise ValueError(
            f"{kind} is not a torch module. If its methods take PIL images and strings, leave out preprocess and "
            "tokenizer: compeval.evaluate(model, tasks=...)."
        )
    if not any(all(hasattr(model, name) for name in names) for names in METHODS):
        raise ValueError(
            f"{kind} has no {' and '.join(name for name in METHODS[0] if not hasattr(model, name))}. With preprocess "
            f"and tokenizer, a model needs {' and '.join(METHODS[0])} (open_clip), or {' and '.join(METHODS[1])} "
            "(transformers)."
        )
    _check_outputs(preprocess, tokenizer)


def _check_outputs(preprocess: Any, tokenizer: Any) -> None:
    """Raise ValueError if the functions return no tensors of the shapes that they should."""
    import torch
    from PIL import Image

    pixels = preprocess(Image.new("RGB", (64, 48)))
    tokens = tokenizer(["a dog", "a cat"])
    is_image = getattr(pixels, "ndim", 0) == 3
    are_two_texts = getattr(tokens, "ndim", 0) == 2 and len(tokens) == 2
    for name, value, shape, fits in (
        ("preprocess", pixels, "(3, height, width)", is_image),
        ("tokenizer", tokens, "(2, length) for two texts", are_two_texts),
    ):
        if not isinstance(value, torch.Tensor) or not fits:
            returned = type(value).__name__
            if isinstance(value, torch.Tensor):
                returned = f"shape {tuple(value.shape)}"
            raise ValueError(
                f"{name} returns {returned}, expected a tensor {shape}. Wrap transformers' processor in a function "
                "that returns its pixel_values of one image, or its input_ids."
            )


def _load(model: Any, preprocess: Any, tokenizer: Any, device: str | None) -> tuple[Model, str]:
    """Return the model with an interface that the engine uses, and the type of its device."""
    if isinstance(model, str):
        device = models.pick_device(device)
        return models.load_model(model, device), device
    if isinstance(model, Model):
        return model, _find_device(model.encoder)
    if preprocess is None:
        from compeval.evaluators.models.custom import wrap

        device = _find_device(model)
        return wrap(model, type(model).__name__, type(model).__name__, device), device
    from compeval.evaluators.models.openclip import in_process

    loaded = in_process(
        model if hasattr(model, "encode_image") else _WithOpenClipMethods(model),
        preprocess,
        tokenizer,
    )
    return loaded, _find_device(loaded.encoder)


def _find_device(model: Any) -> str:
    """Return the type of the device of a model: of its attribute ``device``, or of its weights. Default: cpu."""
    weights = model.parameters() if hasattr(model, "parameters") else ()
    device = getattr(model, "device", None) or next((weight.device for weight in weights), "cpu")
    return str(device).partition(":")[0]


class _WithOpenClipMethods:
    """A model of transformers with open_clip's ``encode_image`` and ``encode_text``."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def encode_image(self, pixels_NCHW: Any) -> Any:
        return self._pool(self._model.get_image_features(pixel_values=pixels_NCHW))

    def encode_text(self, tokens_TL: Any) -> Any:
        return self._pool(self._model.get_text_features(input_ids=tokens_TL))

    @staticmethod
    def _pool(output: Any) -> Any:
        return getattr(output, "pooler_output", output)


@contextmanager
def _in_evaluation_mode(model: Any) -> Iterator[None]:
    """Put a torch module into evaluation mode, and restore the mode of each of its modules."""
    if not hasattr(model, "modules"):
        yield
        return
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        # Some modules may have been in evaluation mode, for example frozen layers.
        for module, was_training in modes:
            module.training = was_training
