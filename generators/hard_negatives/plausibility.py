"""How plausible a caption reads, and the best k hard negatives of one caption.

Source: CREPE (arXiv:2212.07796), section 4.1: BERT selects the most sensical negatives. ``MaskedLM`` does that, as
pseudo-log-likelihood (Salazar et al. 2020); the default, ``CorpusStatistics``, needs no weights and reads the captions
of the source (never a training corpus, so that the negatives do not depend on it). Differs from CREPE in spreading the
choice over the atoms of the caption.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Protocol

from generators.hard_negatives.foils import Foil, HardNegative

if TYPE_CHECKING:
    from torch import Tensor

WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
START = "<s>"
TOGETHER = 0.5
"""Weight of the words that come together in a caption, beside the words that follow each other."""
SMOOTHING = 0.1
UNKNOWN = 100.0
"""What one unknown word costs: more than any known words can make up for."""


class Ranker(Protocol):
    """Scores captions by how plausible they read; higher is more plausible, and only the order counts."""

    def score(self, captions: Sequence[str]) -> Sequence[float]: ...


@dataclass(frozen=True)
class CorpusStatistics:
    """Smoothed statistics of a source's captions: which words follow each other, and which occur together.

    ``words`` counts the captions that have a word, ``following`` pairs of adjacent words, ``together`` (unordered)
    pairs of words of one caption.
    """

    words: Mapping[str, int]
    following: Mapping[tuple[str, str], int]
    together: Mapping[tuple[str, str], int]

    @classmethod
    def of(cls, captions: Iterable[str]) -> CorpusStatistics:
        words, following, together = Counter[str](), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for caption in captions:
            tokens = _tokens(caption)
            kinds = sorted(set(tokens))
            words.update([START, *kinds])
            following.update(pairwise([START, *tokens]))
            together.update(combinations(kinds, 2))
        return cls(words, following, together)

    @cached_property
    def _total(self) -> int:
        return max(self.words.get(START, 0), 1)

    def score(self, captions: Sequence[str]) -> list[float]:
        """Mean log-odds of neighbours and of companions; ``UNKNOWN`` less for each word that the source lacks."""
        return [self._score(_tokens(caption)) for caption in captions]

    def _score(self, tokens: Sequence[str]) -> float:
        unknown = sum(token not in self.words for token in tokens)
        neighbours = [self._association(self.following, pair) for pair in pairwise([START, *tokens])]
        companions = [self._association(self.together, pair) for pair in combinations(sorted(set(tokens)), 2)]
        return _mean(neighbours) + TOGETHER * _mean(companions) - UNKNOWN * unknown

    def _association(self, pairs: Mapping[tuple[str, str], int], pair: tuple[str, str]) -> float:
        """How much more often two words go together than they would by chance, as a smoothed logarithm."""
        expected = self.words.get(pair[0], 0) * self.words.get(pair[1], 0) / self._total
        return math.log((pairs.get(pair, 0) + SMOOTHING) / (expected + 1))


def _tokens(caption: str) -> list[str]:
    return WORD.findall(caption.lower())


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


class MaskedLM:
    """A Hugging Face masked language model: the mean log-probability of each token, masked in turn.

    ``name`` is a model of the Hub or a local folder. On the CPU unless ``device`` says otherwise.
    """

    def __init__(self, name: str = "bert-base-uncased", batch_size: int = 64, device: str = "cpu") -> None:
        from transformers import AutoModelForMaskedLM, AutoTokenizer

        self.tokenizer: Any = AutoTokenizer.from_pretrained(name, padding_side="right")  # places count from the left
        self.model: Any = AutoModelForMaskedLM.from_pretrained(name).eval().to(device)
        self.batch_size = batch_size
        self.device = device

    def score(self, captions: Sequence[str]) -> list[float]:
        """One score a caption. A caption of T tokens takes T rows; rows of all captions share batches."""
        sums, lengths = [0.0] * len(captions), [0] * len(captions)
        for batch in _batched(self._masked(captions), self.batch_size):
            for (owner, *_), value in zip(batch, self._log_probabilities(batch), strict=True):
                sums[owner] += value
                lengths[owner] += 1
        return [total / max(length, 1) for total, length in zip(sums, lengths, strict=True)]

    def _masked(self, captions: Sequence[str]) -> Iterator[tuple[int, list[int], int]]:
        """(caption, its token ids, the place to mask), the special tokens at both ends left out."""
        special = set(self.tokenizer.all_special_ids)
        for owner, ids in enumerate(self.tokenizer(list(captions), truncation=True)["input_ids"] if captions else []):
            yield from ((owner, ids, place) for place, token in enumerate(ids) if token not in special)

    def _log_probabilities(self, batch: Sequence[tuple[int, list[int], int]]) -> list[float]:
        import torch

        rows = torch.arange(len(batch))
        places = torch.tensor([place for _, _, place in batch])
        padded = self.tokenizer.pad({"input_ids": [ids for _, ids, _ in batch]}, return_tensors="pt")
        truth: Tensor = padded["input_ids"][rows, places].clone()
        padded["input_ids"][rows, places] = self.tokenizer.mask_token_id
        with torch.inference_mode():
            logits = self.model(**padded.to(self.device)).logits[rows, places].float()
        return logits.log_softmax(-1)[rows, truth].tolist()


class CausalLM:
    """A Hugging Face causal language model: the mean log-probability of each token, given those before it.

    ``name`` is a model of the Hub or a local folder.
    """

    def __init__(self, name: str, batch_size: int = 64, device: str = "cpu") -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.tokenizer: Any = AutoTokenizer.from_pretrained(name)
        model: Any = AutoModelForCausalLM.from_pretrained(name)
        self.model = model.eval().to(device)
        self.batch_size = batch_size
        self.device = device

    def score(self, captions: Sequence[str]) -> list[float]:
        """One score a caption; the first token counts where the model has a token that opens a text."""
        import torch

        opening = self.tokenizer.bos_token_id
        start = [] if opening is None else [opening]
        scores: list[float] = []
        for batch in _batched(captions, self.batch_size):
            ids = [start + self.tokenizer(text, add_special_tokens=False)["input_ids"] for text in batch]
            width = max(map(len, ids))
            token_BT = torch.tensor([row + [0] * (width - len(row)) for row in ids], device=self.device)
            given_BT = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in ids], device=self.device)
            with torch.inference_mode():
                logits_BTV = self.model(input_ids=token_BT, attention_mask=given_BT).logits[:, :-1].float()
            log_BT = logits_BTV.log_softmax(-1).gather(-1, token_BT[:, 1:, None])[..., 0] * given_BT[:, 1:]
            scores += (log_BT.sum(1) / given_BT[:, 1:].sum(1).clamp(min=1)).tolist()
        return scores


def language_model(name: str) -> Ranker:
    """The masked or causal model of that name or folder, as its own configuration says."""
    from transformers import AutoConfig

    architectures = AutoConfig.from_pretrained(name).architectures or []
    return MaskedLM(name) if any(item.endswith("ForMaskedLM") for item in architectures) else CausalLM(name)


def _batched(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for row in rows:
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def best(
    candidates: Sequence[HardNegative], k: int, ranker: Ranker, rejected: frozenset[str] = frozenset()
) -> tuple[HardNegative, ...] | None:
    """The k most plausible candidates, None if there are fewer; spread over the caption's atoms and over the new words.

    No atom and no new word has a part in more than half of them (rounded up) as long as others can take the place.
    Ties go to the earlier candidate. A rejected one is replaced by the next-ranked.
    """
    if len(candidates) < k:
        return None
    scores = ranker.score([candidate.caption for candidate in candidates])
    ranked = [candidates[at] for at in sorted(range(len(candidates)), key=lambda at: (-scores[at], at))]
    chosen = replaced(_spread(ranked, k), ranked, rejected)
    return chosen if len(chosen) == k else None


def replaced(
    chosen: Sequence[HardNegative], ranked: Iterable[HardNegative], rejected: frozenset[str]
) -> tuple[HardNegative, ...]:
    """``chosen`` with each rejected one replaced, in its place, by the next of ``ranked`` that is neither rejected nor
    chosen; nothing where there are too few."""
    taken = {negative.caption for negative in chosen} | rejected
    spare = (negative for negative in ranked if negative.caption not in taken)
    found = [next(spare, None) if negative.caption in rejected else negative for negative in chosen]
    return tuple(negative for negative in found if negative) if None not in found else ()


def _spread(candidates: Sequence[HardNegative], k: int) -> tuple[HardNegative, ...]:
    """The first k of ranked candidates, spread as ``best`` says; fewer where there are not so many."""
    chosen: list[int] = []
    used = Counter[object]()
    for limit in (math.ceil(k / 2), k):
        for at, candidate in enumerate(candidates):
            marks = [mark for foil in candidate.foils for mark in _marks(foil)]
            if len(chosen) < k and at not in chosen and all(used[mark] < limit for mark in marks):
                chosen.append(at)
                used.update(marks)
    return tuple(candidates[at] for at in sorted(chosen))


def _marks(foil: Foil) -> tuple[object, object]:
    return ("atom", foil.type, foil.original), ("word", foil.type, foil.replacement)
