"""Load generative vision-language models of transformers: ``vlm:ORG/NAME``, or a folder of ``save_pretrained``.

They are pair scorers: VQAScore by default, two-alternative choice with ``vlm:ORG/NAME?scoring=choice``
(``compeval.evaluators.models.questions``). Every image-text-to-text model with a chat template can be used, and BLIP-2,
InstructBLIP and PaliGemma. The image and the common beginning of the prompts are computed once for all captions
(``compeval.evaluators.models.prefix_cache``), if the family allows it and the model's own forward pass gives the same
scores.
"""

from __future__ import annotations

from functools import partial
from itertools import permutations
from typing import Any, Literal

import torch
import transformers
from safetensors import SafetensorError
from torch import Tensor

from compeval.base.pretrained import load_complete
from compeval.evaluators.models import Model, fingerprint
from compeval.evaluators.models.checks import unavailable
from compeval.evaluators.models.generative import PROBES, Generative, first_tokens, log_probability
from compeval.evaluators.models.hub import get_title, read_family
from compeval.evaluators.models.questions import (
    QUESTIONS,
    SETTINGS,
    Scoring,
    make_scoring,
    split_settings,
)

DEFAULTS = {"paligemma": Scoring(question=QUESTIONS["yes"], answers=("yes", "no"))}
"""Default scoring of families that answer in another spelling."""
KIND = "AutoModelForImageTextToText"


class Chooser(Generative):
    """Pair scorer that takes pairs of captions: the probability that the answer is the first."""

    chooses: Literal[True] = True


def load(name: str, device: str, precision: str) -> Model:
    """Load the model in a repository or folder.

    Raises ValueError if it is no generative model, and FileNotFoundError if it cannot be downloaded.
    """
    spec = f"vlm:{name}"
    name, settings = split_settings(name, SETTINGS, spec)
    family = read_family(name, spec)
    scoring = make_scoring(settings, spec, DEFAULTS.get(family))
    model, processor = _load_pretrained(name, spec, family, device, precision)
    is_choice = scoring.method == "choice"
    answer = partial(_read, _answer_tokens(processor.tokenizer, scoring, spec), is_choice)
    probes = [*permutations(PROBES, 2)] if is_choice else PROBES
    try:
        encoder = (Chooser if is_choice else Generative)(
            model, processor, scoring.ask, answer, probes
        )
        warning = encoder.check_prefix_cache(precision)
    except ValueError as error:
        raise ValueError(f"{spec}: {error}") from None
    parts = [
        fingerprint.of_weights(model.state_dict()),
        model.config.to_json_string(),
        fingerprint.of_tokenizer(processor.tokenizer),
        processor.image_processor.to_json_string(),
        encoder.prompt(probes[0]),
        scoring.describe(),
        precision,
        transformers.__version__,
    ]
    return Model(
        spec=spec,
        name=get_title(name) + ("@choice" if is_choice else ""),
        encoder=encoder,
        fingerprint=fingerprint.of_json(parts),
        precision=precision,
        scoring=scoring.describe() | {"no_prefix_cache": encoder.no_prefix_cache},
        warnings=(warning,) if warning else (),
    )


def _load_pretrained(
    name: str, spec: str, family: str, device: str, precision: str
) -> tuple[Any, Any]:
    """Return the model and its processor."""
    from compeval.evaluators.models.huggingface import DTYPES

    kind: Any = getattr(transformers, KIND)
    try:
        processor = transformers.AutoProcessor.from_pretrained(name, trust_remote_code=False)
        model = load_complete(kind, name, dtype=DTYPES[precision]).to(device).eval()
    except (OSError, SafetensorError) as error:
        raise unavailable(spec, name, error) from None
    except ImportError as error:
        raise ValueError(
            f"{spec}: its processor needs another package ({' '.join(str(error).split())})."
        ) from None
    except ValueError as error:
        if KIND not in str(error):
            raise
        raise ValueError(
            f"{spec}: models of type {family!r} generate no text about images. For dual encoders and matching heads, "
            "use transformers:NAME."
        ) from None
    return model, processor


def _answer_tokens(tokenizer: Any, scoring: Scoring, spec: str) -> tuple[list[int], list[int]]:
    """Return the tokens of both answers without common ones. Raises ValueError if an answer has none."""
    first, second = (first_tokens(tokenizer, word) for word in scoring.answers)
    if not (first - second and second - first):
        raise ValueError(
            f"{spec}: the tokeniser does not tell the answers {' and '.join(scoring.answers)} apart."
        )
    return sorted(first - second), sorted(second - first)


def _read(tokens: tuple[list[int], list[int]], is_choice: bool, logits_NV: Tensor) -> Tensor:
    """Return the log-probability (N,) of the first answer or, for a choice, its probability among both answers."""
    first_N = log_probability(logits_NV, tokens[0])
    return (
        torch.sigmoid(first_N.double() - log_probability(logits_NV, tokens[1]).double())
        if is_choice
        else first_N
    )
