"""A local endpoint of the chat-completions protocol whose model names the colour of an image."""

import base64
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from PIL import Image
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.evaluators.tiny import COLORS

PATH = "/v1/chat/completions"


class ChatModel:
    """Answers questions about the colour of an image, truthfully, and counts the requests for each of them."""

    def __init__(self, log_probabilities: bool = True) -> None:
        self.log_probabilities = log_probabilities
        self.asked: Counter[tuple[str, str]] = Counter()
        """Number of complete answers to each question about an image."""
        self.headers: list[dict[str, str]] = []
        self.before: Callable[[str], Response | None] = lambda question: None
        """Returns what is sent instead of an answer, or None."""
        self.change: Callable[[dict[str, Any]], dict[str, Any]] = lambda answer: answer

    def answer(self, request: Request) -> Response:
        body = json.loads(request.get_data())
        self.headers.append(dict(request.headers))
        (image, text) = body["messages"][0]["content"]
        if (instead := self.before(text["text"])) is not None:
            return instead
        if not self.log_probabilities and "logprobs" in body:
            message = "logprobs are not supported with this model"
            error = {
                "message": message,
                "type": "invalid_request_error",
                "param": "logprobs",
                "code": None,
            }
            return Response(json.dumps({"error": error}), 400, mimetype="application/json")
        data = image["image_url"]["url"]
        self.asked[data, text["text"]] += 1
        pixels = Image.open(io.BytesIO(base64.b64decode(data.partition(",")[2])))
        color = tuple(np.asarray(pixels).reshape(-1, 3).mean(axis=0).round().astype(int).tolist())
        named = re.findall(r"red|green|blue|yellow|pink", text["text"])
        if "\nA: " in text["text"]:
            top = {"A": -0.1, "B": -2.5} if COLORS[named[0]] == color else {"B": -0.2, "A": -1.9}
        else:
            top = (
                {"Yes": -0.3, "yes": -2.0, "No": -3.0}
                if COLORS[named[0]] == color
                else {"No": -0.1, " yes": -3.5}
            )
        return Response(json.dumps(self.change(self.completion(top))), mimetype="application/json")

    def completion(self, top: dict[str, float]) -> dict[str, Any]:
        (token, *_) = top
        choice: dict[str, Any] = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": token},
        }
        if self.log_probabilities:
            listed = [{"token": one, "logprob": value, "bytes": None} for one, value in top.items()]
            choice["logprobs"] = {"content": [listed[0] | {"top_logprobs": listed}]}
        usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
        return {
            "id": "x",
            "object": "chat.completion",
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }


@contextmanager
def serve(model: ChatModel) -> Iterator[HTTPServer]:
    with HTTPServer(host="127.0.0.1", threaded=True) as server:
        answer_with(server, model.answer)
        yield server


def answer_with(server: HTTPServer, answer: Callable[[Request], Response]) -> None:
    """Make the server answer with a function from now on."""
    server.clear()
    server.expect_request(PATH, method="POST").respond_with_handler(answer)
