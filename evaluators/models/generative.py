"""Ask a generative model of transformers questions about images, and read the probabilities of its answers.

The prompt is the model's own chat template around the image and the question. BLIP-2, InstructBLIP and PaliGemma have
none; their prompts are those of their authors. Prompts of equal shape run in one batch, without padding between images.

Shapes: N prompts, V words of the vocabulary.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from evaluators.models import prefix_cache
from evaluators.models.prefix_cache import NOT_CAUSAL, collate, cut, run_beginning, run_rests

RAW_PROMPTS = {
    "blip-2": "Question: {} Answer:",
    "instructblip": "{}",
    "paligemma": "<image>answer en {}",
}
"""Prompt of each family without a chat template."""
PROBES = ("a dog", "a dog on a red table beside two boxes", "nothing here is blue")
"""Captions with which both ways of computing are compared."""
TOLERANCE = {"fp32": 1e-4, "fp16": 0.1, "bf16": 0.5}
"""Largest allowed difference of log-probabilities with and without the prefix cache."""
PROMPTS_PER_BATCH = {"cpu": 16}
ACCELERATOR_PROMPTS = 64


class Picture(NamedTuple):
    """An image, and the processor's inputs for it with the first probe as question."""

    image: Image.Image
    inputs: dict[str, Tensor]


@dataclass
class Work:
    """Number of tokens that ran through the language model."""

    tokens: int = 0


class Generative:
    """A generative model, its processor, and the question that it is asked."""

    def __init__(self, model: Any, processor: Any, ask: Callable[[Any], str], probes: Sequence[Any] = PROBES) -> None:
        self._model, self._processor, self._ask, self._probe = model, processor, ask, probes[0]
        self._family = model.config.model_type
        self._device, self._lock = model.device, threading.Lock()
        tokens = [re.escape(token) for token in processor.tokenizer.get_added_vocab() if token[0] in "<["]
        self._control_token = re.compile("|".join(tokens) or r"(?!)")
        self._limit = PROMPTS_PER_BATCH.get(self._device.type, ACCELERATOR_PROMPTS)
        config = getattr(model.config, "text_config", model.config)
        self._decoder_start: int | None = config.decoder_start_token_id if config.is_encoder_decoder else None
        self.work = Work()
        self.no_prefix_cache: str | None = self._refuse_prefix_cache()
        """Why the common beginning of an image's prompts is computed for each caption; None if it is computed once."""

    @cached_property
    def _chat_template(self) -> bool:
        return bool(getattr(self._processor, "chat_template", None))

    def prompt(self, captions: Any) -> str:
        """Return the text of a prompt. Raises ValueError if the model has no chat template and no known prompt."""
        # A caption must not contain a token of the template, such as a second image: "<image>" becomes "< image>".
        question = self._control_token.sub(lambda match: f"{match[0][0]} {match[0][1:]}", self._ask(captions))
        if self._chat_template:
            content = [{"type": "image"}, {"type": "text", "text": question}]
            return self._processor.apply_chat_template(
                [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
            )
        if self._family not in RAW_PROMPTS:
            raise ValueError(
                f"the model has no chat template, and its family {self._family!r} no known prompt (with one: "
                f"{', '.join(RAW_PROMPTS)}). Add a chat_template.jinja to its folder."
            )
        return RAW_PROMPTS[self._family].format(question)

    def process(self, image: Image.Image, captions: Any) -> dict[str, Tensor]:
        """Return the processor's own inputs for one prompt."""
        text = self.prompt(captions)
        images = [[image]] if self._chat_template else [image]
        inputs = self._processor(images=images, text=[text], return_tensors="pt", **self._special_tokens(text))
        return {name: value for name, value in inputs.items() if isinstance(value, Tensor) and name != "labels"}

    def _special_tokens(self, text: str) -> dict[str, bool]:
        """Return the argument for a prompt that begins with the token of the beginning: no second one is added."""
        bos = self._processor.tokenizer.bos_token
        return {"add_special_tokens": False} if self._chat_template and bos and text.startswith(bos) else {}

    def prepare(self, image: Image.Image) -> Picture:
        """Process an image once for all questions about it. Threads take turns: tokenisers are not thread-safe."""
        with self._lock:
            return Picture(image, self.process(image, self._probe))

    @torch.inference_mode()
    def read(self, pictures: Sequence[Picture], captions: Sequence[Any], answer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return ``answer(logits)`` (N,) of N pairs of a picture and a caption, or of captions to choose from.

        ``answer`` turns logits (n, V) behind n prompts into n numbers. If the device runs out of memory, the batches
        are halved for the rest of the run.
        """
        while True:
            try:
                run = self._read_plainly if self.no_prefix_cache else self._read_with_cache
                return run(pictures, captions, answer)
            except torch.OutOfMemoryError:
                if self._limit == 1:
                    raise
            self._limit //= 2  # outside of the handler, whose traceback keeps the tensors of the batch alive
            torch.cuda.empty_cache()

    def _read_plainly(
        self, pictures: Sequence[Picture], captions: Sequence[Any], answer: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Run each prompt as a whole, as the library does."""
        inputs = [self.process(picture.image, one) for picture, one in zip(pictures, captions, strict=True)]
        answer_N = torch.empty(len(inputs), dtype=torch.float64)
        for batch in self._batches(inputs):
            moved = self._move(collate([inputs[index] for index in batch]))
            if self._decoder_start is not None:
                moved["decoder_input_ids"] = torch.full((len(batch), 1), self._decoder_start, device=self._device)
            self.work.tokens += moved["input_ids"].numel()
            answer_N[batch] = answer(self._model(**moved).logits[:, -1]).cpu()
        return answer_N

    def _read_with_cache(
        self, pictures: Sequence[Picture], captions: Sequence[Any], answer: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Run the common beginning of an image's prompts once, and then the rests of the prompts."""
        tokens = [self._tokenize(one) for one in captions]
        probe = self._tokenize(self._probe)
        common = prefix_cache.count_common([probe, *tokens])
        distinct = list({id(picture): picture for picture in pictures}.values())
        position = {id(picture): index for index, picture in enumerate(distinct)}
        prompts: list[list[int]] = [[] for _ in distinct]
        for number, picture in enumerate(pictures):
            prompts[position[id(picture)]].append(number)
        answer_N = torch.empty(len(captions), dtype=torch.float64)
        pad = self._processor.tokenizer.pad_token_id or 0
        for batch in self._batches([picture.inputs for picture in distinct], list(map(len, prompts))):
            whole = collate([distinct[index].inputs for index in batch])
            beginning = self._move(cut(whole, whole["input_ids"].shape[1] - (len(probe) - common)))
            cache, next_I1 = run_beginning(self._model, beginning)
            self.work.tokens += beginning["input_ids"].numel()
            todo = sorted(
                ((len(tokens[number]), row, number) for row, index in enumerate(batch) for number in prompts[index])
            )
            for start in range(0, len(todo), self._limit):
                part = todo[start : start + self._limit]
                numbers = [number for _, _, number in part]
                rests = [tokens[number][common:] for number in numbers]
                self.work.tokens += len(rests) * max(map(len, rests))
                logits_NV = run_rests(self._model, cache, next_I1, [row for _, row, _ in part], rests, pad)
                answer_N[numbers] = answer(logits_NV).cpu()
        return answer_N

    def _tokenize(self, captions: Any) -> list[int]:
        """Return the tokens of a prompt in which the image is a single placeholder."""
        text = self.prompt(captions)
        return self._processor.tokenizer(text, **self._special_tokens(text))["input_ids"]

    def _batches(self, inputs: Sequence[dict[str, Tensor]], weights: Sequence[int] | None = None) -> list[list[int]]:
        """Return the positions of inputs of equal shape, in batches of at most ``_limit`` prompts.

        ``weights`` is the number of prompts of each input; 1 if it is None.
        """
        groups: dict[Any, list[list[int]]] = {}
        sizes: dict[Any, int] = {}
        for index, one in enumerate(inputs):
            shape = tuple((name, tuple(tensor.shape)) for name, tensor in one.items())
            weight = weights[index] if weights else 1
            if shape not in groups or sizes[shape] + weight > self._limit:
                groups.setdefault(shape, []).append([])
                sizes[shape] = 0
            groups[shape][-1].append(index)
            sizes[shape] += weight
        return [batch for group in groups.values() for batch in group]

    def _move(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Move inputs to the model's device, and pixels to its type."""
        dtype = self._model.dtype
        return {
            name: tensor.to(self._device, dtype if tensor.is_floating_point() else tensor.dtype)
            for name, tensor in inputs.items()
        }

    def _refuse_prefix_cache(self) -> str | None:
        """Return the reason why the family has no common beginning that can be computed once; None if it has."""
        if self._decoder_start is not None:
            return "its encoder reads the prompt in both directions"
        if self._family in NOT_CAUSAL:
            return NOT_CAUSAL[self._family]
        return None if self._chat_template else "it has no chat template"

    @torch.inference_mode()
    def check_prefix_cache(
        self, probes: Sequence[Any], answer: Callable[[Tensor], Tensor], precision: str
    ) -> str | None:
        """Compare both ways of computing on drawn images, and give up the prefix cache if they disagree.

        Returns the warning for readers of the results; None if there is nothing to say.
        """
        if self.no_prefix_cache:
            return None
        pictures = [picture for size in ((64, 48), (48, 80)) for picture in [self.prepare(_draw(*size))] * len(probes)]
        captions = [*probes, *probes]
        try:
            found_N = self._read_with_cache(pictures, captions, answer)
        except prefix_cache.UnrepeatableCacheError as error:
            self.no_prefix_cache = str(error)
            return None
        difference = float((found_N - self._read_plainly(pictures, captions, answer)).abs().max())
        self.work = Work()
        if difference <= TOLERANCE[precision]:
            return None
        self.no_prefix_cache = f"with it, scores differ by {difference:.1e}"
        return f"Each prompt was computed as a whole, because with the prefix cache scores differ by {difference:.1e}."


def _draw(width: int, height: int) -> Image.Image:
    """Return an image whose channels are gradients in three directions."""
    bands = (Image.linear_gradient("L"), Image.radial_gradient("L"), Image.linear_gradient("L").rotate(90))
    return Image.merge("RGB", [band.resize((width, height)) for band in bands])


def log_probability(logits_NV: Tensor, tokens: Sequence[int]) -> Tensor:
    """Return the log-probability (N,) that the next token is one of ``tokens``, in float64.

    It is computed from the odds, so that a probability close to 1 is not rounded to it.
    """
    logits_NV = logits_NV.double()
    index = torch.tensor(tokens, device=logits_NV.device)
    others_N = logits_NV.index_fill(1, index, -torch.inf).logsumexp(dim=1)
    return -functional.softplus(others_N - logits_NV[:, index].logsumexp(dim=1), threshold=100)


def first_tokens(tokenizer: Any, word: str) -> set[int]:
    """Return the first token of an answer, with and without a space before it."""
    ids = (tokenizer.encode(text, add_special_tokens=False) for text in (word, f" {word}"))
    return {one[0] for one in ids if one} - {tokenizer.unk_token_id}
