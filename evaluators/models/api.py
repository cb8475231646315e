"""Load models behind an OpenAI-compatible endpoint: ``api:MODEL`` (OpenAI), ``api:MODEL?base_url=URL`` (vLLM, SGLang).

An endpoint with log-probabilities is scored as VQAScore (``compeval.evaluators.models.questions``): the
probabilities of the tokens that spell yes are summed, where the answer begins: behind a thought, marks and "The answer
is". If the 20 most probable tokens contain no, but not yes, the score is the upper bound that they imply. An endpoint
without log-probabilities is asked to choose between two captions, in both orders. Questions that were declined, or
whose answer is none of the two, are counted on the result: they score as "no", or as half of a choice.

The key is read from ``OPENAI_API_KEY`` and never written. The number of requests is stated before the first of them and
capped; every answer is stored when it arrives (``compeval.evaluators.models.answers``).
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, Literal, NamedTuple

import numpy as np
from PIL.Image import Image
from PIL.Image import new as new_image

from compeval.base.files.cache_folder import cache_folder
from compeval.base.plain_text import strip_urls
from compeval.evaluators.models import Model, fingerprint
from compeval.evaluators.models.answers import AnswerStore
from compeval.evaluators.models.endpoint import Answer, Endpoint, RequestError
from compeval.evaluators.models.generated import (
    DECLINED,
    UNDECIDED,
    is_usable,
    mark_cut_off,
    read_choice,
    read_yes,
)
from compeval.evaluators.models.questions import SETTINGS, Scoring, make_scoring, split_settings

NUMBERS = {
    "max_tokens": 16,
    "think": 0,
    "timeout": 60,
    "retries": 6,
    "concurrency": 8,
    "price_in": 0,
    "price_out": 0,
}
"""Settings with a number, and their defaults. Prices are per million tokens."""
CHARACTERS_PER_TOKEN = 4
PIXELS_PER_TOKEN = 28 * 28
"""For the estimate: what most models of 2024 to 2026 count as a token of a text and of an image."""
DEFAULT_MAX_REQUESTS = 1000


class EncodedImage(NamedTuple):
    """An image that is sent if a question about it has no stored answer, and a digest of its pixels."""

    image: Image
    digest: str
    pixels: int

    def make_url(self) -> str:
        """Return the image as a URL with its data."""
        buffer = io.BytesIO()
        self.image.save(buffer, "PNG")
        return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


class ApiScorer:
    """Pair scorer: the log-probability that the answer is yes."""

    no_answer = DECLINED
    """Score of a question without a usable answer."""
    cut_off = mark_cut_off(DECLINED)
    """Score of a question whose answer was cut off, until such questions are counted."""

    def __init__(
        self, endpoint: Endpoint, scoring: Scoring, store: AnswerStore, numbers: dict[str, float]
    ) -> None:
        self._endpoint = endpoint
        self._scoring = scoring
        self._store = store
        self._numbers = numbers
        self.max_requests = DEFAULT_MAX_REQUESTS
        self.asks_again = False
        """True if stored answers are not used, but those of this process."""
        self._new = set[str]()
        self._times = list[str]()

    def preprocess(self, image: Image) -> EncodedImage:
        pixels = fingerprint.digest(str(image.size).encode(), image.tobytes()).hex()
        return EncodedImage(image, pixels, image.width * image.height)

    def score(self, images: Sequence[EncodedImage], texts: Sequence[Any]) -> np.ndarray:
        """Return the scores (B,). Questions with a stored answer are not asked again."""
        with ThreadPoolExecutor(int(self._numbers["concurrency"])) as pool:
            futures = [
                pool.submit(self.ask, image, text)
                for image, text in zip(images, texts, strict=True)
            ]
            try:
                return np.array([self.read(future.result()) for future in futures])
            except RequestError as error:
                raise ValueError(
                    f"{error} Answers that arrived are kept: run again to resume."
                ) from None
            finally:
                pool.shutdown(cancel_futures=True)

    def ask(self, image: EncodedImage, captions: Any) -> Answer:
        """Return the stored answer, or ask and store it."""
        key = self._key(image, captions)
        answer = self._find_stored(key)
        if answer is None:
            answer = self._endpoint.ask(
                self._scoring.ask(captions),
                image.make_url(),
                self.max_requests,
                self._scoring.answers,
            )
            self._store.put(key, asdict(answer))
            self._new.add(key)
        if answer.made:
            self._times.append(answer.made)
        return answer

    def _find_stored(self, key: str) -> Answer | None:
        """Return the stored answer to a question; None if there is none that can be used."""
        if self.asks_again and key not in self._new:
            return None
        stored = self._store.get(key)
        answer = Answer(**stored) if stored else None
        # Earlier versions stored the first token, even if it was a mark or the begin of a thought.
        is_outdated = answer and not answer.made and answer.top and not self.is_usable(answer)
        return None if is_outdated else answer

    def is_usable(self, answer: Answer) -> bool:
        """Return True if one of the expected answers is among the most probable tokens."""
        return is_usable(answer, self._scoring)

    def list_times(self) -> dict[str, str]:
        """Return when the first and the last of the answers arrived that were used so far; {} if that is not known."""
        return {"first": min(self._times), "last": max(self._times)} if self._times else {}

    def read(self, answer: Answer) -> float:
        """Return the score of an answer."""
        return read_yes(answer, self._scoring)

    def _key(self, image: EncodedImage, captions: Any) -> str:
        """Return the hash of everything that determines an answer."""
        request = [self._scoring.ask(captions), image.digest, self._endpoint.max_tokens]
        return fingerprint.of_json([*self._endpoint.identity, *request])

    def estimate_cost(self, questions: Iterable[tuple[EncodedImage, Any]]) -> str:
        """Return what the questions without a stored answer cost. Raises ValueError if they exceed ``max_requests``."""
        requests = tokens = 0
        times: list[str] = []
        for image, captions in questions:
            stored = self._find_stored(self._key(image, captions))
            if stored is not None:
                times.append(stored.made)
            else:
                requests += 1
                tokens += (
                    len(self._scoring.ask(captions)) // CHARACTERS_PER_TOKEN
                    + image.pixels // PIXELS_PER_TOKEN
                )
        answers = requests * int(self._endpoint.max_tokens)
        cost = (tokens * self._numbers["price_in"] + answers * self._numbers["price_out"]) / 1e6
        statement = (
            f"{requests:,} requests, about {tokens:,} tokens in and at most {answers:,} out"
            + (f", estimated cost {cost:.2f}" if self._numbers["price_in"] else "")
        )
        if requests > self.max_requests:
            raise ValueError(
                f"{statement}: above --max-requests {self.max_requests:,}. No request was sent. Raise it, choose "
                "fewer tasks, or use --limit."
            )
        return statement + _describe_stored(times)


def _describe_stored(times: Sequence[str]) -> str:
    """Return what a cache cannot know about stored answers, "" if there are none."""
    if not times:
        return ""
    known_times = sorted(filter(None, times))
    when = f", of {known_times[0]} to {known_times[-1]}" if known_times else ""
    return (
        f"; {len(times):,} stored answers are used{when}. If another model answers at this address now, ask again with "
        "--no-cache"
    )


class ApiChooser(ApiScorer):
    """Pair scorer that takes pairs of captions: the probability that the answer is the first, or 1 or 0."""

    chooses: Literal[True] = True
    no_answer = UNDECIDED
    cut_off = mark_cut_off(UNDECIDED)

    def read(self, answer: Answer) -> float:
        return read_choice(answer, self._scoring)


def load(name: str, device: str, precision: str) -> Model:
    """Connect to the endpoint of a model and ask one question, to learn if it returns log-probabilities.

    Raises ValueError if a setting is wrong, if there is no key, or if the endpoint does not answer.
    """
    spec = strip_urls(f"api:{name}")
    name, settings = split_settings(name, (*SETTINGS, "base_url", *NUMBERS), spec)
    try:
        numbers = {key: float(settings.get(key, default)) for key, default in NUMBERS.items()}
    except ValueError:
        raise ValueError(f"{spec}: expected numbers for {', '.join(NUMBERS)}.") from None
    store = AnswerStore(cache_folder())
    endpoint = Endpoint(name, settings.get("base_url"), numbers)
    probe = ApiScorer(endpoint, Scoring(), store, numbers)
    try:
        answer = probe.ask(probe.preprocess(new_image("RGB", (56, 56), "red")), "a red square")
    except RequestError as error:
        raise ValueError(f"{spec}: {error}") from None
    has_log_probabilities = bool(answer.top)
    endpoint.requests = 0  # --max-requests is about the run
    scoring = make_scoring(
        {"scoring": "yes" if has_log_probabilities else "choice"} | settings, spec
    )
    if scoring.method == "yes" and not has_log_probabilities:
        raise ValueError(f"{spec}: the endpoint returns no log-probabilities. Use scoring=choice.")
    if scoring == Scoring() and not (answer.refusal or probe.is_usable(answer)):
        raise ValueError(
            f"{spec}: asked if a red picture shows a red square, it answers neither Yes nor No: {answer.text[:80]!r}. "
            "Ask another question (--setting question=...), or for a choice (--setting scoring=choice)."
        )
    encoder = (ApiScorer if scoring.method == "yes" else ApiChooser)(
        endpoint, scoring, store, numbers
    )
    record = scoring.describe() | {
        "base_url": endpoint.address,
        "log_probabilities": has_log_probabilities,
        **({"think": int(numbers["think"])} if endpoint.thinks else {}),
    }
    return Model(
        spec=spec,
        name=name + ("" if scoring.method == "yes" else f"@{scoring.method}"),
        encoder=encoder,
        fingerprint=fingerprint.of_json([*endpoint.identity, record, endpoint.max_tokens]),
        precision="remote",
        scoring=record,
        # The address of a server does not tell whether its weights have changed. The answers are stored.
        keeps_features=False,
    )
