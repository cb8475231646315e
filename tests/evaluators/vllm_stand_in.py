"""A stand-in of the part of vLLM's documented interface that is used: ``LLM.chat`` with images, and its outputs.

Its model names the colour of an image truthfully, as that of tests/evaluators/chat_server.py does. It is no test of
vLLM itself.
"""

import re
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from tests.evaluators.tiny import COLORS


class StandIn:
    """The module ``vllm``, and what it was called with."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.parameters: dict[str, Any] = {}
        self.questions: list[str] = []
        self.thoughts = ""
        """The thoughts of the model before its answer, words separated by spaces."""
        self.module: Any = ModuleType("vllm")
        self.module.__version__ = "0.0-stand-in"
        self.module.LLM = self.start
        self.module.SamplingParams = self.set_parameters

    def start(self, **options: Any) -> Any:
        self.options = options
        tokenizer = SimpleNamespace(get_added_vocab=lambda: {"<image>": 7, "<think>": 8})
        return SimpleNamespace(chat=self.chat, get_tokenizer=lambda: tokenizer)

    def set_parameters(self, **parameters: Any) -> dict[str, Any]:
        self.parameters = parameters
        return parameters

    def chat(
        self,
        messages: list[list[dict[str, Any]]],
        sampling_params: dict[str, Any],
        *,
        use_tqdm: bool,
    ) -> list[Any]:
        assert not use_tqdm
        return [self.answer(message, sampling_params) for (message,) in messages]

    def answer(self, message: dict[str, Any], parameters: dict[str, Any]) -> Any:
        """Return a RequestOutput: token ids, and for each the most probable tokens by id."""
        image, text = message["content"]
        question = text["text"]
        self.questions.append(question)
        color = tuple(
            np.asarray(image["image_pil"]).reshape(-1, 3).mean(axis=0).round().astype(int)
        )
        named = re.findall(r"red|green|blue|yellow|pink", question)
        is_true = bool(named) and COLORS[named[0]] == color
        if "\nA: " in question:
            top = {"A": -0.1, "B": -2.5} if is_true else {"B": -0.2, "A": -1.9}
        else:
            top = {"Yes": -0.3, "yes": -2.0, "No": -3.0} if is_true else {"No": -0.1, " yes": -3.5}
        thoughts = [{word: -0.01, "Yes": -5.0} for word in self.thoughts.split()]
        if thoughts:
            thoughts = [{"<think>": -0.01}, *thoughts, {"</think>": -0.01}, {"\n": -0.01}]
        steps = [*thoughts, top][: parameters["max_tokens"]]
        is_cut = len(steps) < len(thoughts) + 1
        logprobs = [
            {
                number: SimpleNamespace(logprob=value, rank=number + 1, decoded_token=token)
                for number, (token, value) in enumerate(step.items())
            }
            for step in steps
        ]
        completion = SimpleNamespace(
            token_ids=[0] * len(steps),
            logprobs=logprobs,
            finish_reason="length" if is_cut else "stop",
        )
        return SimpleNamespace(outputs=[completion])
