"""Hugging Face models that score captions (masked and causal language models) or compare them (NLI classifiers).

The ``name`` of a model is a repository on the Hub or a local folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from generators.hard_negatives.corpus_statistics import Ranker
from generators.hard_negatives.hard_negative import HardNegative

Item = TypeVar("Item")


class _Model:
    """A tokenizer and a model of a transformers ``auto_class``."""

    def __init__(self, auto_class: str, name: str, batch_size: int, **tokenizer_options: Any) -> None:
        import transformers

        self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
            name, trust_remote_code=False, **tokenizer_options
        )
        self.model: Any = getattr(transformers, auto_class).from_pretrained(name, trust_remote_code=False).eval()
        self.batch_size = batch_size


class MaskedLM(_Model):
    """Scores captions by pseudo-log-likelihood (Salazar et al. 2020).

    The score is the mean log-probability of the tokens, each masked in turn.
    """

    def __init__(self, name: str, batch_size: int = 64) -> None:
        super().__init__(
            "AutoModelForMaskedLM", name, batch_size, padding_side="right"
        )  # because positions count from the left

    def score(self, captions: Sequence[str]) -> list[float]:
        """Return one score per caption. A caption of T tokens needs T rows; a batch may contain several captions."""
        sums, lengths = [0.0] * len(captions), [0] * len(captions)
        for batch in _split_batches(self._mask_each_token(captions), self.batch_size):
            for (caption, *_), value in zip(batch, self._log_probabilities(batch), strict=True):
                sums[caption] += value
                lengths[caption] += 1
        return [total / max(length, 1) for total, length in zip(sums, lengths, strict=True)]

    def _mask_each_token(self, captions: Sequence[str]) -> Iterator[tuple[int, list[int], int]]:
        """Yield (index of the caption, token ids, position to mask) for each token that is not special."""
        special = set(self.tokenizer.all_special_ids)
        for caption, ids in enumerate(self.tokenizer(list(captions), truncation=True)["input_ids"] if captions else []):
            yield from ((caption, ids, position) for position, token in enumerate(ids) if token not in special)

    def _log_probabilities(self, batch: Sequence[tuple[int, list[int], int]]) -> list[float]:
        import torch

        rows, positions = torch.arange(len(batch)), torch.tensor([position for _, _, position in batch])
        inputs = self.tokenizer.pad({"input_ids": [ids for _, ids, _ in batch]}, return_tensors="pt")
        truth = inputs["input_ids"][rows, positions].clone()
        inputs["input_ids"][rows, positions] = self.tokenizer.mask_token_id
        with torch.inference_mode():
            logits = self.model(**inputs).logits[rows, positions].float()
        return logits.log_softmax(-1)[rows, truth].tolist()


class CausalLM(_Model):
    """Scores captions by the mean log-probability of each token given the previous tokens."""

    def __init__(self, name: str, batch_size: int = 64) -> None:
        super().__init__("AutoModelForCausalLM", name, batch_size)

    def score(self, captions: Sequence[str]) -> list[float]:
        """Return one score per caption. The first token counts only if the model has a beginning-of-text token."""
        import torch
        from torch.nn.utils.rnn import pad_sequence

        bos = [] if self.tokenizer.bos_token_id is None else [self.tokenizer.bos_token_id]
        scores: list[float] = []
        for batch in _split_batches(captions, self.batch_size):
            ids = [bos + self.tokenizer(text, add_special_tokens=False)["input_ids"] for text in batch]
            token_BT = pad_sequence([torch.tensor(row, dtype=torch.long) for row in ids], batch_first=True)
            mask_BT = (torch.arange(token_BT.shape[1]) < torch.tensor([[len(row)] for row in ids])).long()
            with torch.inference_mode():
                logits_BTV = self.model(input_ids=token_BT, attention_mask=mask_BT).logits[:, :-1].float()
            log_BT = logits_BTV.log_softmax(-1).gather(-1, token_BT[:, 1:, None])[..., 0] * mask_BT[:, 1:]
            scores += (log_BT.sum(1) / mask_BT[:, 1:].sum(1).clamp(min=1)).tolist()
        return scores


def load_language_model(name: str) -> Ranker:
    """Load the masked or causal language model with this name, as its configuration says."""
    from transformers import AutoConfig

    architectures = AutoConfig.from_pretrained(name, trust_remote_code=False).architectures or []
    return MaskedLM(name) if any(item.endswith("ForMaskedLM") for item in architectures) else CausalLM(name)


class EntailmentModel(_Model):
    """A sequence classifier with a label "entailment", such as roberta-large-mnli.

    CREPE (arXiv:2212.07796, section 4.2) uses RoBERTa to remove swaps that the caption entails, because these are true
    of the image. Here this filter is optional and is applied in addition to the proof by the image's graph.
    """

    def __init__(self, name: str, batch_size: int = 32) -> None:
        """Load the model. Raises ValueError if it has no entailment label."""
        super().__init__("AutoModelForSequenceClassification", name, batch_size)
        labels = {label.lower(): index for index, label in self.model.config.id2label.items()}
        if "entailment" not in labels:
            raise ValueError(f"{name}: no label 'entailment'; its labels are {', '.join(labels)}. Use an NLI model.")
        self.label = labels["entailment"]

    def logits(self, premise: str, hypotheses: Sequence[str]) -> list[list[float]]:
        """Return a list of one logit per label for each hypothesis."""
        import torch

        logits: list[list[float]] = []
        for batch in _split_batches(hypotheses, self.batch_size):
            inputs = self.tokenizer([premise] * len(batch), batch, padding=True, truncation=True, return_tensors="pt")
            with torch.inference_mode():
                logits += self.model(**inputs).logits.float().tolist()
        return logits

    def predict_entailment(self, premise: str, hypotheses: Sequence[str]) -> list[bool]:
        """Return one boolean per hypothesis: True if entailment is the most likely label. A tie counts as entailed."""
        return [logits[self.label] == max(logits) for logits in self.logits(premise, hypotheses)]


def drop_entailed(
    caption: str, negatives: Iterable[HardNegative], model: EntailmentModel | None
) -> Iterator[HardNegative]:
    """Yield the negatives that the caption does not entail. Without a model, yield all negatives."""
    if model is None:
        yield from negatives
        return
    for batch in _split_batches(negatives, model.batch_size):
        entailed = model.predict_entailment(caption, [negative.caption for negative in batch])
        yield from (negative for negative, is_entailed in zip(batch, entailed, strict=True) if not is_entailed)


def _split_batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    iterator = iter(items)
    return iter(lambda: list(islice(iterator, size)), [])
