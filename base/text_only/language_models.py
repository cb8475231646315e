"""Hugging Face models that score captions (masked and causal language models) or compare them (NLI classifiers).

The ``name`` of a model is a repository on the Hub or a local folder. A model runs on the GPU if there is one, in
float32. Each distinct text is scored once, in batches over all captions of a call, and its score is stored in the cache
of the machine (score_cache.py), so a killed run continues where it stopped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, TypeVar

from compeval.base.files.cache_folder import cache_folder
from compeval.base.pretrained import load_complete
from compeval.base.text_only.corpus_statistics import Ranker
from compeval.base.text_only.gaps import Gap
from compeval.base.text_only.score_cache import ScoreCache

Item = TypeVar("Item")

BATCH_ROWS = {"cpu": 64, "mps": 256, "cuda": 1024}
"""Texts per forward pass, for each type of device."""
SEPARATOR = "\0"
"""Separates the premise and the hypothesis in a key of the cache."""


def find_device() -> str:
    """Return the fastest device that PyTorch can use: "cuda", "mps" or "cpu"."""
    import torch

    return (
        "cuda"
        if torch.cuda.is_available()
        else "mps"
        if torch.backends.mps.is_available()
        else "cpu"
    )


class _Model:
    """A tokenizer and a model of a transformers ``auto_class``, with the cache of its scores."""

    def __init__(
        self, auto_class: str, name: str, batch_size: int | None, **tokenizer_options: Any
    ) -> None:
        import torch
        import transformers

        device = find_device()
        self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
            name, trust_remote_code=False, **tokenizer_options
        )
        model = load_complete(getattr(transformers, auto_class), name, dtype=torch.float32)
        self.model: Any = model.eval().to(device)
        self.batch_size = batch_size or BATCH_ROWS[device]

    @cached_property
    def cache(self) -> ScoreCache:
        """The cache for this kind of score, structure and weights of the model, and tokenizer."""
        digest = hashlib.sha256(
            f"{type(self).__name__} {self.model.config.to_json_string()}".encode()
        )
        digest.update(repr(sorted(self.tokenizer.get_vocab().items())).encode())
        digest.update(
            repr(
                (self.tokenizer.init_kwargs.get("do_lower_case"), self.tokenizer.model_max_length)
            ).encode()
        )
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.cpu().contiguous().numpy().data)
        return ScoreCache(cache_folder(), digest.hexdigest()[:32])

    def _compute(self, texts: Sequence[str]) -> Iterator[list[float]]:
        """Yield the scores of each text."""
        raise NotImplementedError


class _LanguageModel(_Model):
    """A model with one score per caption."""

    def score(self, captions: Sequence[str]) -> list[float]:
        scores = self.cache.score(captions, self._compute)
        return [scores[caption][0] for caption in captions]


class _MaskedModel(_Model):
    """A masked language model that predicts single tokens."""

    def __init__(self, name: str, batch_size: int | None = None) -> None:
        # Padded on the right, because positions count from the left.
        super().__init__("AutoModelForMaskedLM", name, batch_size, padding_side="right")

    def _predict(self, rows: Sequence[tuple[Sequence[int], int]]) -> Any:
        """Return the log-probabilities of the vocabulary, of shape (rows, vocabulary), at one position of each row.

        A row is its token ids and the position, which is masked here.
        """
        import torch

        numbers = torch.arange(len(rows))
        positions = torch.tensor([position for _, position in rows])
        inputs = self.tokenizer.pad(
            {"input_ids": [list(ids) for ids, _ in rows]}, return_tensors="pt"
        )
        inputs["input_ids"][numbers, positions] = self.tokenizer.mask_token_id

        # Only the masked positions are compared with the vocabulary, which is a fifth of the work of BERT-base.
        vocabulary_layer = self.model.get_output_embeddings()
        hook = vocabulary_layer.register_forward_pre_hook(
            lambda _, hidden_BTD: (hidden_BTD[0][numbers, positions],)
        )
        try:
            with torch.inference_mode():
                logits_BV = self.model(**inputs.to(self.model.device)).logits.float()
        finally:
            hook.remove()
        return logits_BV.log_softmax(-1).cpu()


class MaskedLM(_MaskedModel, _LanguageModel):
    """Scores captions by pseudo-log-likelihood (Salazar et al. 2020).

    The score is the mean log-probability of the tokens, each masked in turn. A caption of T tokens needs T rows; a
    batch may contain several captions.
    """

    def _compute(self, texts: Sequence[str]) -> Iterator[list[float]]:
        sums = [0.0] * len(texts)
        lengths = [0] * len(texts)
        for batch in split_batches(self._mask_each_token(texts), self.batch_size):
            predicted = self._predict([(ids, position) for _, ids, position in batch])
            truth = [ids[position] for _, ids, position in batch]
            for number, (caption, _, _) in enumerate(batch):
                sums[caption] += predicted[number, truth[number]].item()
                lengths[caption] += 1
        return ([total / max(length, 1)] for total, length in zip(sums, lengths, strict=True))

    def _mask_each_token(self, captions: Sequence[str]) -> Iterator[tuple[int, list[int], int]]:
        """Yield (index of the caption, token ids, position to mask) for each token that is not special.

        The captions are sorted by length, so that batches need little padding.
        """
        special = set(self.tokenizer.all_special_ids)
        ids_by_caption = self.tokenizer(list(captions), truncation=True)["input_ids"]
        for caption, ids in sorted(enumerate(ids_by_caption), key=lambda item: len(item[1])):
            yield from (
                (caption, ids, position)
                for position, token in enumerate(ids)
                if token not in special
            )


class MaskedWordScorer(_MaskedModel):
    """Scores the words for a gap in a caption by one prediction of a masked language model.

    Source: CREPE (arXiv:2212.07796), section 4.1. The gap is one mask token, so only words that are a single token of
    the model's vocabulary have a score: in the published files, 95.7 % of the new words are one of BERT's.
    """

    def score_words(self, gaps: Sequence[Gap]) -> list[dict[str, float]]:
        """Return the log-probability of each word of each gap that the vocabulary has as a single token."""
        scored = [
            [word for word in gap.words if self._find_token(word) is not None] for gap in gaps
        ]
        mask = self.tokenizer.mask_token
        texts = [
            SEPARATOR.join((gap.fill(mask), *words))
            for gap, words in zip(gaps, scored, strict=True)
        ]
        scores = self.cache.score(
            [text for text, words in zip(texts, scored, strict=True) if words], self._compute
        )
        return [
            dict(zip(words, scores[text], strict=True)) if words else {}
            for text, words in zip(texts, scored, strict=True)
        ]

    @lru_cache(maxsize=1 << 18)  # noqa: B019  (one scorer per process)
    def _find_token(self, word: str) -> int | None:
        """Return the token that is the whole word after a space, or None if there is none."""
        ids = self.tokenizer(f" {word}", add_special_tokens=False)["input_ids"]
        return ids[0] if len(ids) == 1 and ids[0] != self.tokenizer.unk_token_id else None

    def _compute(self, texts: Sequence[str]) -> Iterator[list[float]]:
        captions, words = zip(*(text.split(SEPARATOR, 1) for text in texts), strict=True)
        ids_by_caption = self.tokenizer(list(captions))["input_ids"]
        rows = [self._cut(ids) for ids in ids_by_caption]
        for numbers in split_batches(range(len(rows)), self.batch_size):
            predicted = self._predict([rows[number] for number in numbers])
            for row, number in enumerate(numbers):
                tokens = [self._find_token(word) for word in words[number].split(SEPARATOR)]
                yield predicted[row, tokens].tolist()

    def _cut(self, ids: Sequence[int]) -> tuple[Sequence[int], int]:
        """Return the tokens around the mask that the model can read, and the position of the mask in them."""
        position = list(ids).index(self.tokenizer.mask_token_id)
        limit = self.tokenizer.model_max_length
        start = max(0, min(position - limit // 2, len(ids) - limit))
        return ids[start : start + limit], position - start


class CausalLM(_LanguageModel):
    """Scores captions by the mean log-probability of each token given the previous tokens.

    The first token counts only if the model has a beginning-of-text token.
    """

    def __init__(self, name: str, batch_size: int | None = None) -> None:
        super().__init__("AutoModelForCausalLM", name, batch_size)

    def _compute(self, texts: Sequence[str]) -> Iterator[list[float]]:
        import torch
        from torch.nn.utils.rnn import pad_sequence

        bos = [] if self.tokenizer.bos_token_id is None else [self.tokenizer.bos_token_id]
        for batch in split_batches(texts, self.batch_size):
            ids = [
                bos + self.tokenizer(text, add_special_tokens=False)["input_ids"] for text in batch
            ]
            token_BT = pad_sequence(
                [torch.tensor(row, dtype=torch.long) for row in ids], batch_first=True
            )
            mask_BT = (
                torch.arange(token_BT.shape[1]) < torch.tensor([[len(row)] for row in ids])
            ).long()
            token_BT = token_BT.to(self.model.device)
            mask_BT = mask_BT.to(self.model.device)
            with torch.inference_mode():
                logits_BTV = (
                    self.model(input_ids=token_BT, attention_mask=mask_BT).logits[:, :-1].float()
                )
            log_BT = (
                logits_BTV.log_softmax(-1).gather(-1, token_BT[:, 1:, None])[..., 0]
                * mask_BT[:, 1:]
            )
            yield from (
                [value] for value in (log_BT.sum(1) / mask_BT[:, 1:].sum(1).clamp(min=1)).tolist()
            )


def load_language_model(name: str) -> Ranker:
    """Load the masked or causal language model with this name, as its configuration says."""
    from transformers import AutoConfig

    architectures = AutoConfig.from_pretrained(name, trust_remote_code=False).architectures or []
    return (
        MaskedLM(name)
        if any(item.endswith("ForMaskedLM") for item in architectures)
        else CausalLM(name)
    )


class EntailmentModel(_Model):
    """A sequence classifier with a label "entailment", such as roberta-large-mnli.

    CREPE (arXiv:2212.07796, section 4.2) uses RoBERTa to remove swaps that the caption entails, because these are true
    of the image. Here this filter is optional and is applied in addition to the proof by the image's graph.
    """

    def __init__(self, name: str, batch_size: int | None = None) -> None:
        """Load the model. Raises ValueError if it has no entailment label."""
        super().__init__("AutoModelForSequenceClassification", name, batch_size)
        labels = {label.lower(): index for index, label in self.model.config.id2label.items()}
        if "entailment" not in labels:
            raise ValueError(
                f"{name}: no label 'entailment'; its labels are {', '.join(labels)}. Use an NLI model."
            )
        self.label = labels["entailment"]

    def pair_logits(self, pairs: Sequence[tuple[str, str]]) -> list[list[float]]:
        """Return a list of one logit per label for each pair of a premise and a hypothesis."""
        texts = [SEPARATOR.join(pair) for pair in pairs]
        scores = self.cache.score(texts, self._compute)
        return [list(scores[text]) for text in texts]

    def _compute(self, texts: Sequence[str]) -> Iterator[list[float]]:
        import torch

        for batch in split_batches(texts, self.batch_size):
            premises, hypotheses = zip(*(text.split(SEPARATOR, 1) for text in batch), strict=True)
            inputs = self.tokenizer(
                list(premises), list(hypotheses), padding=True, truncation=True, return_tensors="pt"
            )
            with torch.inference_mode():
                yield from self.model(**inputs.to(self.model.device)).logits.float().tolist()

    def predict_entailment(self, premise: str, hypotheses: Sequence[str]) -> list[bool]:
        """Return one boolean per hypothesis: True if entailment is the most likely label. A tie counts as entailed."""
        return [
            logits[self.label] == max(logits)
            for logits in self.pair_logits([(premise, text) for text in hypotheses])
        ]


def split_batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    iterator = iter(items)
    return iter(lambda: list(islice(iterator, size)), [])
