"""A language model writes and judges the hard negatives of the user's own captions.

The model sees no image, only the captions. What it writes is used only if it differs from every caption of the image,
and has the form of the caption; a swap has exactly its words. A negative that the model judges to be true, unknown or
absurd is dropped, and one that it wrote also if its verdict is unclear. If too few remain, the negatives of the rules
stay (foils.py). Negations are judged only: the rules balance them.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from compeval.base.texts import fold_case_and_space, have_same_words, words
from compeval.generators.hard_negatives.own.form import split_form
from compeval.generators.llm.answers import read_list
from compeval.generators.llm.client import (
    Client,
    Endpoint,
    Message,
    ask_all,
    make_client,
    request_hash,
)

SPARE = 2
"""Texts that are requested beyond those of a row, because some are unusable."""
MAX_ADDED = 3
MAX_REPLACED = 4
"""A text with more words than the caption and these, or with fewer words of the caption, is no edit of it."""
DENIAL = re.compile(r"\b(?:not|no|without|never)\b|n['’]t\b")
FIRST_WORD = re.compile(r"[a-z]+")
TOKENS_PER_TEXT = 20
TOKENS_PER_VERDICT = 2
"""For the estimated cost."""


@cache
def _read_requests() -> Mapping[str, Any]:
    return yaml.safe_load(Path(__file__).with_name("requests.yaml").read_text(encoding="utf-8"))


class Texts(NamedTuple):
    """A caption, all captions of its image, and the number of its hard negatives of a kind."""

    caption: str
    captions: tuple[str, ...]
    kind: str
    size: int

    def ask_for_texts(self) -> list[Message]:
        """Return the request to write hard negatives."""
        edit = _read_requests()["edits"][self.kind]
        return self._fill("write", caption=self.caption, edit=edit, count=self.size + SPARE)

    def ask_whether_true(self, text: str) -> list[Message]:
        """Return the request to judge a text."""
        return self._fill("judge", text=text)

    def _fill(self, request: str, **fields: Any) -> list[Message]:
        captions = "\n".join(f"- {text.strip()}" for text in self.captions)
        return [
            Message(
                role="user", content=_read_requests()[request].format(captions=captions, **fields)
            )
        ]

    def select(self, answer: str) -> list[str]:
        """Return the usable texts of an answer, in the form of the caption."""
        form, _ = split_form(self.caption, begins_with_name=False)
        true = {fold_case_and_space(text).rstrip(" .!") for text in self.captions}
        texts: dict[str, str] = {}
        for text in read_list(answer):
            key = fold_case_and_space(text).rstrip(" .!")
            if key and key not in true and self._is_edit(text):
                texts.setdefault(key, form.write(split_form(text, begins_with_name=False)[1]))
        return list(texts.values())

    def _is_edit(self, text: str) -> bool:
        if self.kind == "swap":
            return have_same_words(text, self.caption)
        if self.kind == "negation":
            return len(DENIAL.findall(text.lower())) > len(DENIAL.findall(self.caption.lower()))
        own = words(self.caption)
        new = words(text)
        shared = {*own} & {*new}
        return (
            bool(shared)
            and len({*own} - shared) <= MAX_REPLACED
            and len(new) <= len(own) + MAX_ADDED
        )


class LanguageModel:
    """Writes and judges with one endpoint, and caches all answers in a folder."""

    def __init__(self, endpoint: Endpoint, answers: Path) -> None:
        self._writer = make_client(endpoint, answers)
        self._judge = Client(replace(endpoint, temperature=0.0, max_tokens=200), self._writer.cache)

    def ask(
        self, texts: Sequence[Texts], rules: Sequence[Sequence[str]], max_cost: float
    ) -> dict[str, int]:
        """Request all missing answers, and return the number of requests by outcome.

        ``rules``: the negatives that the rules made of each caption. Raises ValueError before the first request if the
        estimated cost is above ``max_cost``.
        """
        requests = [item.ask_for_texts() for item in texts]
        judged = [
            item.ask_whether_true(text)
            for item, by_rules in zip(texts, rules, strict=True)
            for text in by_rules
        ]
        judging = (2 + SPARE) * self._judge.estimate(
            judged, TOKENS_PER_VERDICT
        ).cost  # of one rule, up to three texts
        tokens = TOKENS_PER_TEXT * max((item.size + SPARE for item in texts), default=0)
        outcomes = ask_all(self._writer, requests, tokens, max_cost - judging)
        written = [
            item.ask_whether_true(text) for item in texts for text in self.list_written(item)
        ]
        outcomes.update(self._judge.ask([*judged, *written]))
        return dict(outcomes)

    def list_written(self, texts: Texts) -> list[str]:
        """Return the usable texts that the model has written."""
        return texts.select(_read_answer(self._writer, texts.ask_for_texts()))

    def drop_true(
        self, texts: Texts, candidates: Collection[str], *, needs_verdict: bool
    ) -> Iterator[str]:
        """Yield the candidates that the model judges to be false.

        One without a clear verdict (no answer, or one that was cut off) is dropped only if ``needs_verdict``.
        """
        for text in candidates:
            first_word = FIRST_WORD.search(
                _read_answer(self._judge, texts.ask_whether_true(text)).lower()
            )
            verdict = first_word[0] if first_word else ""
            if verdict in ("false", "no") or not (
                needs_verdict or verdict in ("true", "yes", "unknown", "absurd")
            ):
                yield text


def _read_answer(client: Client, messages: list[Message]) -> str:
    """Return the cached answer, or "" if it is missing."""
    return client.cache.get(request_hash(client.endpoint, messages)) or ""
