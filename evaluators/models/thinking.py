"""Ask a generative model of transformers that thinks before it answers, within a budget of tokens.

The model writes its thoughts greedily, so that scores can be reproduced. Then it reads the probabilities of the first
token of its answer that is not blank. A model that is still thinking after ``think`` tokens is cut off: the question
scores as one without an answer, and is counted on the result (``compeval.evaluators.models.generated``).

Shapes: B prompts of equal shape, L tokens of a prompt and of what follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from transformers import StoppingCriteria, StoppingCriteriaList

from compeval.evaluators.models.generated import (
    CLOSE,
    DECLINED,
    OPEN,
    UNDECIDED,
    is_thinking,
    mark_cut_off,
)
from compeval.evaluators.models.generative import (
    Generative,
    ImagePrompts,
    ProcessedImage,
    batch_equal_shapes,
)
from compeval.evaluators.models.prefix_cache import collate

BLANKS = 4
"""Maximum number of blank tokens, such as line breaks, between the thoughts and the answer, and its first token."""
TAIL = 12
"""Tokens at the end of a text in which the end of the thoughts is looked for; it may consist of several tokens."""


class ThinkingGenerative(Generative):
    """Pair scorer made of a model that thinks before each answer."""

    no_answer = DECLINED
    cut_off = mark_cut_off(DECLINED)

    def __init__(self, *arguments: Any, think: int) -> None:
        """``think`` is the budget in tokens. Raises ValueError for a model that has no chat template."""
        super().__init__(*arguments)
        self._think = think
        if self._decoder_start is not None or not self._has_chat_template:
            raise ValueError("the setting think is for models with a chat template")
        self.no_prefix_cache = "each answer has thoughts of its own before it"

    @torch.inference_mode()
    def _read_plainly(self, pictures: Sequence[ProcessedImage], captions: Sequence[Any]) -> Tensor:
        """Generate the thoughts of each prompt, and read the probabilities of its answer."""
        pairs = enumerate(zip(pictures, captions, strict=True))
        prompts = [
            ImagePrompts(self.process(picture.image, caption), [number])
            for number, (picture, caption) in pairs
        ]
        answer_N = torch.empty(len(prompts), dtype=torch.float64)
        for batch in batch_equal_shapes(prompts, self._limit):
            inputs = self._move(collate([image_prompts.inputs for image_prompts in batch]))
            token_BL = self._generate(inputs)
            for image_prompts, token_L in zip(batch, token_BL, strict=True):
                (number,) = image_prompts.prompts
                prompt = self.prompt(captions[number])
                answer_N[number] = self._read_answer(
                    self._move(image_prompts.inputs), token_L, prompt
                )
        return answer_N

    def _generate(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return the tokens (B, L) that follow the prompts: the thoughts and the beginning of the answer."""
        length = inputs["input_ids"].shape[1]
        has_begun = _AnswerBegins(self._decode, length)
        token_BL = self._model.generate(
            **inputs,
            max_new_tokens=self._think + BLANKS,
            do_sample=False,
            num_beams=1,
            stopping_criteria=StoppingCriteriaList([has_begun]),
        )[:, length:]
        self.num_tokens += inputs["input_ids"].numel() + token_BL.numel()
        return token_BL

    def _read_answer(self, inputs: dict[str, Tensor], token_L: Tensor, prompt: str) -> float:
        """Return the score of a generated text, from the probabilities of the first token of its answer."""
        is_open = is_thinking(prompt) or self._decode(token_L).lstrip().startswith(OPEN)
        begin = self._find_end_of_thoughts(token_L) if is_open else 0
        if begin is None:
            return self.cut_off
        begin = self._find_token(token_L, begin)
        if begin is None:
            is_full = len(token_L) == self._think + BLANKS
            return self.cut_off if is_full else self.no_answer
        logits_1V = self._model(**_append(inputs, token_L[:begin])).logits[:, -1]
        return float(self._answer(logits_1V)[0])

    def _find_end_of_thoughts(self, token_L: Tensor) -> int | None:
        """Return the position after the thoughts; None if they are longer than the budget."""
        for end in range(1, min(len(token_L), self._think) + 1):
            if CLOSE in self._decode(token_L[max(0, end - TAIL) : end]):
                return end
        return None

    def _find_token(self, token_L: Tensor, begin: int) -> int | None:
        """Return the position of the first token from ``begin`` that is neither blank nor special."""
        special = set(self._processor.tokenizer.all_special_ids)
        for position in range(begin, len(token_L)):
            token = token_L[position : position + 1]
            if int(token) not in special and self._decode(token).strip():
                return position
        return None

    def _decode(self, token_L: Tensor) -> str:
        return self._processor.tokenizer.decode(token_L, skip_special_tokens=False)


class ThinkingChooser(ThinkingGenerative):
    """A model that thinks, and takes pairs of captions: the probability that the answer is the first."""

    chooses: Literal[True] = True
    no_answer = UNDECIDED
    cut_off = mark_cut_off(UNDECIDED)


class _AnswerBegins(StoppingCriteria):
    """Stops a prompt's text when something follows its thoughts. ``start`` is the length of the prompts."""

    def __init__(self, decode: Callable[[Tensor], str], start: int) -> None:
        self._decode = decode
        self._start = start

    def __call__(self, input_ids: Any, scores: Any, **options: Any) -> Any:
        has_begun = []
        for token_L in input_ids[:, self._start :]:
            _, closing, answer = self._decode(token_L[-TAIL:]).rpartition(CLOSE)
            has_begun.append(bool(closing and answer.strip()))
        return torch.tensor(has_begun, device=input_ids.device)


def _append(inputs: dict[str, Tensor], token_L: Tensor) -> dict[str, Tensor]:
    """Return the inputs of one prompt, followed by tokens of text."""
    shape = inputs["input_ids"].shape
    longer = {"input_ids": token_L[None]}
    longer["attention_mask"] = torch.ones_like(token_L[None])
    zeros = torch.zeros_like(token_L[None])
    return {
        name: torch.cat([tensor, longer.get(name, zeros).to(tensor.dtype)], dim=1)
        if tensor.shape == shape
        else tensor
        for name, tensor in inputs.items()
    }
