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

import transformers
from PIL.Image import Image
from torch import Tensor

from evaluators.models import fingerprint
from evaluators.models.generative import Generative, Picture, first_tokens, log_probability

QUESTION = 'Does this image show "{}"? Answer yes or no.'
YES, NO = ("yes", "Yes"), ("no", "No")


class YesLikelihood:
    """Pair scorer for a generative model. A subclass sets the name of the model."""

    name: ClassVar[str]
    question: ClassVar[str] = QUESTION

    def __init__(self, device: str) -> None:
        processor: Any = transformers.AutoProcessor.from_pretrained(self.name, trust_remote_code=False)
        kind: Any = transformers.AutoModelForImageTextToText
        model: Any = kind.from_pretrained(self.name, dtype="auto", trust_remote_code=False).to(device).eval()
        yes, no = (self._find_tokens(processor.tokenizer, words) for words in (YES, NO))
        self._yes, self._no = sorted(yes - no), sorted(no - yes)  # " yes" and " no" may start with the same token
        self._generative = Generative(model, processor, self.question.format, self._compare)
        self._generative.no_prefix_cache = "each pair takes one forward pass"
        parts = [
            fingerprint.of_weights(model.state_dict()),
            fingerprint.of_tokenizer(processor.tokenizer),
            processor.image_processor.to_json_string(),
            self._generative.prompt(self.question),
            transformers.__version__,
        ]
        self.fingerprint = fingerprint.of_json(parts)

    def score(self, images: Sequence[Image], texts: Sequence[str]) -> Tensor:
        """Return log p(yes) - log p(no) of each pair, of shape (B,)."""
        return self._generative.read([Picture(image, {}) for image in images], texts)

    def _find_tokens(self, tokenizer: Any, words: Sequence[str]) -> set[int]:
        """Return the first tokens of all spellings. Raises ValueError if the tokeniser knows none of them."""
        tokens = {token for word in words for token in first_tokens(tokenizer, word)}
        if not tokens:
            raise ValueError(f"{self.name}: the tokeniser has no word {words[0]!r}.")
        return tokens

    def _compare(self, logits_NV: Tensor) -> Tensor:
        return log_probability(logits_NV, self._yes) - log_probability(logits_NV, self._no)
