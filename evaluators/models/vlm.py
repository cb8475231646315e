"""Load generative vision-language models of transformers: ``vlm:ORG/NAME``, or a folder of ``save_pretrained``.

They are pair scorers: VQAScore by default, two-alternative choice with ``vlm:ORG/NAME?scoring=choice``
(``compeval.evaluators.models.questions``). Every image-text-to-text model with a chat template can be used, and BLIP-2,
InstructBLIP and PaliGemma. The image and the common beginning of the prompts are computed once for all captions
(``compeval.evaluators.models.prefix_cache``), if the family allows it and the model's own forward pass returns the same
scores. A model that thinks before it answers needs a budget, ``?think=1024`` (``compeval.evaluators.models.thinking``).
``vlm:ORG/NAME@vllm`` runs in vLLM (``compeval.evaluators.models.vllm_engine``).
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
from compeval.evaluators.models import Model, fingerprint, peft_adapters
from compeval.evaluators.models.checks import unavailable
from compeval.evaluators.models.generated import is_thinking
from compeval.evaluators.models.generative import PROBES, Generative, first_tokens, log_probability
from compeval.evaluators.models.hub import get_title, read_family
from compeval.evaluators.models.questions import (
    QUESTIONS,
    SETTINGS,
    Scoring,
    make_scoring,
    split_settings,
)
from compeval.evaluators.models.thinking import ThinkingChooser, ThinkingGenerative

DEFAULTS = {"paligemma": Scoring(question=QUESTIONS["yes"], answers=("yes", "no"))}
"""Default scoring of families that answer in another spelling."""
KIND = "AutoModelForImageTextToText"
KNOWN = (*SETTINGS, "think", peft_adapters.SETTING)
"""Settings of a name."""


class Chooser(Generative):
    """Pair scorer that takes pairs of captions: the probability that the answer is the first."""

    chooses: Literal[True] = True


def load(name: str, device: str, precision: str) -> Model:
    """Load the model in a repository or folder.

    Raises ValueError if it is no generative model, and FileNotFoundError if it cannot be downloaded.
    """
    spec = f"vlm:{name}"
    if name.partition("?")[0].endswith("@vllm"):
        from compeval.evaluators.models import vllm_engine

        return vllm_engine.load(name, device, precision)
    name, settings = split_settings(name, KNOWN, spec)
    think = _read_budget(settings.get("think", "0"), spec)
    adapter = settings.get(peft_adapters.SETTING)
    if adapter is None:
        name, adapter = peft_adapters.find_base(name, spec)
    family = read_family(name, spec)
    scoring = make_scoring(settings, spec, DEFAULTS.get(family))
    model, processor = _load_pretrained(name, spec, family, device, precision)
    model, merged = peft_adapters.merge_if_named(model, adapter, name, spec)
    is_choice = scoring.method == "choice"
    answer_tokens = _answer_tokens(processor.tokenizer, scoring, spec)
    answer = partial(_read, answer_tokens, is_choice)
    probes = [*permutations(PROBES, 2)] if is_choice else PROBES
    try:
        arguments = (model, processor, scoring.ask, answer, probes)
        if think:
            encoder = (ThinkingChooser if is_choice else ThinkingGenerative)(
                *arguments, think=think
            )
        else:
            encoder = (Chooser if is_choice else Generative)(*arguments)
            _check_thinking(encoder.prompt(probes[0]))
        warnings = [encoder.check_prefix_cache(precision)]
        if not think:
            warnings.append(
                _warn_of_beginning(encoder.find_other_beginning(answer_tokens), scoring)
            )
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
        *([think] if think else []),
    ]
    record = {"no_prefix_cache": encoder.no_prefix_cache, **({"think": think} if think else {})}
    loaded = Model(
        spec=spec,
        name=get_title(name) + ("@choice" if is_choice else ""),
        encoder=encoder,
        fingerprint=fingerprint.of_json(parts),
        precision=precision,
        scoring=scoring.describe() | record,
        warnings=tuple(warning for warning in warnings if warning),
    )
    return peft_adapters.describe(loaded, merged)


def _read_budget(text: str, spec: str) -> int:
    """Return the number of tokens that a model may think. Raises ValueError if it is none."""
    if not text.isdecimal():
        raise ValueError(
            f"{spec}: think is {text!r}, expected a number of tokens, for example 1024."
        )
    return int(text)


def _check_thinking(prompt: str) -> None:
    """Raise ValueError if a prompt ends within the model's thoughts, whose first word is no answer."""
    if is_thinking(prompt):
        raise ValueError(
            "the model thinks before it answers. Give it a budget of tokens: --setting think=1024."
        )


def _warn_of_beginning(token: str | None, scoring: Scoring) -> str | None:
    """Return the warning for a model that begins its answers with another token than one of the answers."""
    if token is None:
        return None
    advice = "give it a budget of tokens (--setting think=1024)"
    if not token.startswith("<"):
        advice = "ask for one word only (--setting question=...)"
    return (
        f"The model begins its answers with {token!r}, not with {' or '.join(scoring.answers)}, whose probability is "
        f"read as the first token: {advice}."
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
