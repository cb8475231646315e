"""Hugging Face models that score captions (masked and causal language models) or compare them (NLI classifiers).

The ``name`` of a model is a repository on the Hub or a local folder. A model runs on the GPU if there is one, in
float32. Each distinct text is scored once, in batches over all captions of a call, and its score is stored in the cache
of the machine (score_cache.py), so a killed run continues where it stopped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

from compeval.base.files.cache_folder import cache_folder
from compeval.base.text_only.corpus_statistics import Ranker
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
        model = getattr(transformers, auto_class).from_pretrained(
            name, trust_remote_code=False, dtype=torch.float32
        )
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


class MaskedLM(_LanguageModel):
    """Scores captions by pseudo-log-likelihood (Salazar et al. 2020).

    The score is the mean log-probability of the tokens, each masked in turn. A caption of T tokens needs T rows; a
    batch may contain several captions.
    """

    def __init__(self, name: str, batch_size: int | None = None) -> None:
        # Padded on the right, because positions count from the left.
        super().__init__("AutoModelForMaskedLM", name, batch_size, padding_side="right")

    def _compute(self, texts: Sequence[str]) -> Iterator[list[float]]:
        sums, lengths = [0.0] * len(texts), [0] * len(texts)
        for batch in split_batches(self._mask_each_token(texts), self.batch_size):
            for (caption, *_), value in zip(batch, self._log_probabilities(batch), strict=True):
                sums[caption] += value
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

    def _log_probabilities(self, batch: Sequence[tuple[int, list[int], int]]) -> list[float]:
        import torch

        rows, positions = (
            torch.arange(len(batch)),
            torch.tensor([position for _, _, position in batch]),
        )
        inputs = self.tokenizer.pad(
            {"input_ids": [ids for _, ids, _ in batch]}, return_tensors="pt"
        )
        truth = inputs["input_ids"][rows, positions].clone()
        inputs["input_ids"][rows, positions] = self.tokenizer.mask_token_id

        # Only the masked positions are compared with the vocabulary, which is a fifth of the work of BERT-base.
        vocabulary_layer = self.model.get_output_embeddings()
        hook = vocabulary_layer.register_forward_pre_hook(
            lambda _, hidden_BTD: (hidden_BTD[0][rows, positions],)
        )
        try:
            with torch.inference_mode():
                logits_BV = self.model(**inputs.to(self.model.device)).logits.float()
        finally:
            hook.remove()
        return logits_BV.log_softmax(-1).cpu()[rows, truth].tolist()


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
            token_BT, mask_BT = token_BT.to(self.model.device), mask_BT.to(self.model.device)
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
