"""Run generative models in vLLM, in this process: ``vlm:ORG/NAME@vllm``, or a folder.

The question, its answers and the score are those of an endpoint with log-probabilities (``api:``): the 20 most probable
first tokens of the answer are read. vLLM batches the questions of a chunk, and computes an image and the common
beginning of its questions once. It chooses the devices itself (CUDA_VISIBLE_DEVICES).

Needs the extra ``vllm``. Written for the documented interface of vLLM 0.10 and later: ``LLM``, ``LLM.chat`` with images
as ``image_pil``, ``SamplingParams`` and ``RequestOutput``. It was tested with a stand-in of these, not with vLLM.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image

from compeval.base.files.hashes import hash_file
from compeval.evaluators.models import Model, fingerprint
from compeval.evaluators.models.checks import unavailable
from compeval.evaluators.models.endpoint import CUT_OFF, Answer, find_answer, strip_thoughts
from compeval.evaluators.models.generated import (
    CLOSE,
    DECLINED,
    UNDECIDED,
    mark_cut_off,
    read_choice,
    read_yes,
)
from compeval.evaluators.models.hub import get_title
from compeval.evaluators.models.questions import SETTINGS, Scoring, make_scoring, split_settings

SUFFIX = "@vllm"
TOP_LOGPROBS = 20
"""The largest number that vLLM returns by default (``max_logprobs``)."""
ANSWER_TOKENS = 4
"""Tokens of an answer: blank ones may come before its first word."""
DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
ENGINE = {"tensor_parallel_size": int, "gpu_memory_utilization": float, "max_model_len": int}
"""Settings that are arguments of ``vllm.LLM``, and their types."""
MODEL_FILES = ("*.safetensors", "*.bin", "*.json", "*.jinja", "*.model", "*.txt")
"""Files of a repository that determine the scores."""


class VllmScorer:
    """Pair scorer: the log-probability that the answer is yes."""

    no_answer = DECLINED
    cut_off = mark_cut_off(DECLINED)

    def __init__(self, engine: Any, parameters: Any, scoring: Scoring, *, thinks: bool) -> None:
        self._engine = engine
        self._parameters = parameters
        self._scoring = scoring
        self._thinks = thinks
        tokens = [re.escape(token) for token in engine.get_tokenizer().get_added_vocab()]
        self._control_token = re.compile("|".join(tokens) or r"(?!)")

    def preprocess(self, image: Image.Image, /) -> Image.Image:
        return image

    def score(self, images: Sequence[Image.Image], texts: Sequence[Any]) -> np.ndarray:
        """Return the scores (B,)."""
        conversations = [self._ask(*pair) for pair in zip(images, texts, strict=True)]
        outputs = self._engine.chat(conversations, self._parameters, use_tqdm=False)
        answers = (_read_output(output, self._scoring.answers, self._thinks) for output in outputs)
        return np.array([self.read(answer) for answer in answers])

    def read(self, answer: Answer) -> float:
        """Return the score of an answer."""
        return read_yes(answer, self._scoring)

    def _ask(self, image: Image.Image, captions: Any) -> list[dict[str, Any]]:
        """Return the conversation about an image. A caption cannot contain tokens of the template, such as an image."""
        question = self._control_token.sub(
            lambda match: f"{match[0][0]} {match[0][1:]}", self._scoring.ask(captions)
        )
        content = [
            {"type": "image_pil", "image_pil": image},
            {"type": "text", "text": question},
        ]
        return [{"role": "user", "content": content}]


class VllmChooser(VllmScorer):
    """Pair scorer that takes pairs of captions: the probability that the answer is the first."""

    chooses: Literal[True] = True
    no_answer = UNDECIDED
    cut_off = mark_cut_off(UNDECIDED)

    def read(self, answer: Answer) -> float:
        return read_choice(answer, self._scoring)


def _read_output(output: Any, words: Sequence[str], thinks: bool) -> Answer:
    """Return the answer in a ``RequestOutput`` of vLLM. ``words`` are the expected answers."""
    (completion,) = output.outputs
    tokens = [
        str(listed[token].decoded_token or "")
        for token, listed in zip(completion.token_ids, completion.logprobs, strict=True)
    ]
    text = "".join(tokens)
    is_full = completion.finish_reason == "length"
    reply = strip_thoughts(text)
    is_cut_off = reply is None or (thinks and is_full and (CLOSE not in text or not reply.strip()))
    position = find_answer(tokens, words)
    if is_cut_off or position is None:
        return Answer(refusal=CUT_OFF if is_cut_off else "no text")
    listed = completion.logprobs[position].values()
    return Answer(
        reply or "", tuple((str(entry.decoded_token or ""), entry.logprob) for entry in listed)
    )


def load(name: str, device: str, precision: str) -> Model:
    """Load the model in a repository or folder into vLLM.

    Raises ModuleNotFoundError, with the install command, if vLLM is not installed; ValueError if a setting is wrong, or
    if the model thinks and has no budget.
    """
    spec = f"vlm:{name}"
    name, settings = split_settings(name, (*SETTINGS, "think", *ENGINE), spec)
    name = name.removesuffix(SUFFIX)
    scoring = make_scoring(settings, spec)
    try:
        think = int(settings.get("think", 0))
        options = {key: kind(settings[key]) for key, kind in ENGINE.items() if key in settings}
    except ValueError:
        raise ValueError(f"{spec}: expected numbers for think, {', '.join(ENGINE)}.") from None
    if ":" in device:
        raise ValueError(
            f"{spec}: vLLM chooses its devices: set CUDA_VISIBLE_DEVICES in place of --device {device}."
        )
    vllm = _import_vllm(spec)
    folder = find_folder(name, spec)
    engine = vllm.LLM(
        model=str(folder),
        dtype=DTYPES[precision],
        seed=0,
        trust_remote_code=False,
        limit_mm_per_prompt={"image": 1},
        **options,
    )
    parameters = vllm.SamplingParams(
        temperature=0,
        max_tokens=think + ANSWER_TOKENS,
        logprobs=TOP_LOGPROBS,
        skip_special_tokens=False,  # the end of the thoughts is a special token of some models
    )
    is_choice = scoring.method == "choice"
    encoder = (VllmChooser if is_choice else VllmScorer)(
        engine, parameters, scoring, thinks=think > 0
    )
    _check_thinking(encoder, is_choice, think, spec)
    record = scoring.describe() | {"engine": f"vllm {vllm.__version__}"}
    record |= {"think": think} if think else {}
    parts = [_digest_files(folder), record, precision, TOP_LOGPROBS]
    return Model(
        spec=spec,
        name=get_title(name) + ("@choice" if is_choice else ""),
        encoder=encoder,
        fingerprint=fingerprint.of_json(parts),
        precision=precision,
        scoring=record,
    )


def _import_vllm(spec: str) -> Any:
    try:
        import vllm  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError as error:
        if error.name != "vllm":
            raise
        raise ModuleNotFoundError(
            f"{spec}: vLLM is not installed: pip install vllm, in an environment of its own, because it requires "
            f"exact versions of torch. Without it, name the model without {SUFFIX}."
        ) from None
    return vllm


def find_folder(name: str, spec: str) -> Path:
    """Return the folder of a model, which is downloaded if ``name`` is a repository on the Hub."""
    if Path(name).is_dir():
        return Path(name)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(MODEL_FILES)))
    except (OSError, ValueError) as error:
        raise unavailable(spec, name, error) from None


def _digest_files(folder: Path) -> dict[str, str]:
    """Return the digest of each file of a model by its name."""
    files = {file for pattern in MODEL_FILES for file in folder.glob(pattern)}
    return {file.name: hash_file(file) for file in sorted(files)}


def _check_thinking(encoder: VllmScorer, is_choice: bool, think: int, spec: str) -> None:
    """Raise ValueError if a model without a budget thinks. One question about a drawn image tells."""
    captions = next(permutations(("a dog", "a cat"))) if is_choice else "a dog"
    image = Image.linear_gradient("L").resize((64, 64)).convert("RGB")
    if not think and encoder.score([image], [captions])[0] == encoder.cut_off:
        raise ValueError(
            f"{spec}: the model thinks before it answers. Give it a budget of tokens: --setting think=1024."
        )
