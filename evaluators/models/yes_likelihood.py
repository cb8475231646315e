"""Use a generative vision-language model as a pair scorer that asks "Does this image show ...?".

This supports any image-text-to-text model of transformers (LLaVA, Qwen-VL, SmolVLM ...) in a repository or a folder.
Subclass YesLikelihood in a module of your own, ``my_vlm.py``, and run it as ``python:my_vlm:MyVLM``:

    from evaluators.models.yes_likelihood import YesLikelihood

    class MyVLM(YesLikelihood):
        name = "llava-hf/llava-1.5-7b-hf"

The score is log p(yes) - log p(no) for the first word of the answer. Each pair takes one forward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import transformers
from PIL.Image import Image

from evaluators.models import fingerprint

QUESTION = 'Does this image show "{}"? Answer yes or no.'
YES, NO = ("yes", "Yes", " yes", " Yes"), ("no", "No", " no", " No")


class YesLikelihood:
    """Pair scorer for a generative model. A subclass sets the name of the model."""

    name: ClassVar[str]
    question: ClassVar[str] = QUESTION

    def __init__(self, device: str) -> None:
        self._device = device
        self._processor: Any = transformers.AutoProcessor.from_pretrained(self.name, trust_remote_code=False)
        self._processor.tokenizer.padding_side = "left"  # so that the last position predicts the answer
        kind: Any = transformers.AutoModelForImageTextToText
        self._model: Any = kind.from_pretrained(self.name, dtype="auto", trust_remote_code=False).to(device).eval()
        yes, no = self._first_tokens(YES), self._first_tokens(NO)
        self._yes, self._no = sorted(yes - no), sorted(no - yes)  # " yes" and " no" may start with the same token
        parts = [
            fingerprint.of_weights(self._model.state_dict()),
            fingerprint.of_tokenizer(self._processor.tokenizer),
            self._processor.image_processor.to_json_string(),
            self._prompt(self.question),
            transformers.__version__,
        ]
        self.fingerprint = fingerprint.of_json(parts)

    @torch.inference_mode()
    def score(self, images: Sequence[Image], texts: Sequence[str]) -> torch.Tensor:
        """Return log p(yes) - log p(no) of each pair, of shape (B,)."""
        prompts = [self._prompt(text) for text in texts]
        has_bos = prompts[0].startswith(self._processor.tokenizer.bos_token or "\0")  # added by the chat template
        inputs = self._processor(
            images=[[image] for image in images],  # some processors treat a flat list as several images of one text
            text=prompts,
            padding=True,
            add_special_tokens=not has_bos,
            return_tensors="pt",
        )
        inputs = inputs.to(self._device, self._model.dtype)
        log_BV = self._model(**inputs).logits[:, -1].float().log_softmax(dim=-1)
        return log_BV[:, self._yes].logsumexp(dim=-1) - log_BV[:, self._no].logsumexp(dim=-1)

    def _prompt(self, text: str) -> str:
        content = [{"type": "image"}, {"type": "text", "text": self.question.format(text)}]
        return self._processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)

    def _first_tokens(self, words: Sequence[str]) -> set[int]:
        """Return the first token of each spelling. Raises ValueError if the tokeniser knows none of them."""
        tokenizer = self._processor.tokenizer
        tokens = {tokenizer.encode(word, add_special_tokens=False)[0] for word in words} - {tokenizer.unk_token_id}
        if not tokens:
            raise ValueError(f"{self.name}: the tokeniser has no word {words[0]!r}.")
        return tokens
