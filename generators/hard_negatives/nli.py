"""HN-Swap's second check: a negative that its caption entails is true wherever the caption is.

Source: CREPE (arXiv:2212.07796), section 4.2, which filters swaps by RoBERTa's entailment. Any Hugging Face sequence
classifier with a label "entailment" will do (roberta-large-mnli); premise is the caption, hypothesis the negative. It
comes on top of the proof by the image's graph, never in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from generators.hard_negatives.foils import HardNegative

LABEL = "entailment"


class EntailmentModel:
    """Says what a caption entails. ``name`` is a model of the Hub or a local folder."""

    def __init__(self, name: str, batch_size: int = 32, device: str = "cpu") -> None:
        """ValueError for a model that has no entailment label."""
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        self.tokenizer: Any = AutoTokenizer.from_pretrained(name)
        self.model: Any = AutoModelForSequenceClassification.from_pretrained(name).eval().to(device)
        labels = {label.lower(): index for index, label in self.model.config.id2label.items()}
        if LABEL not in labels:
            raise ValueError(f"{name}: no label {LABEL!r}; its labels are {', '.join(labels)}. Name an NLI model.")
        self.label = labels[LABEL]
        self.batch_size = batch_size
        self.device = device

    def logits(self, premise: str, hypotheses: Sequence[str]) -> list[list[float]]:
        """One list a hypothesis, one logit a label; hypotheses share batches."""
        import torch

        found: list[list[float]] = []
        for start in range(0, len(hypotheses), self.batch_size):
            batch = list(hypotheses[start : start + self.batch_size])
            inputs = self.tokenizer([premise] * len(batch), batch, padding=True, truncation=True, return_tensors="pt")
            with torch.inference_mode():
                found += self.model(**inputs.to(self.device)).logits.float().tolist()
        return found

    def entailed(self, premise: str, hypotheses: Sequence[str]) -> list[bool]:
        """Of each hypothesis, whether entailment is its most likely label; a tie counts as entailed."""
        return [logits[self.label] == max(logits) for logits in self.logits(premise, hypotheses)]


def not_entailed(
    caption: str, negatives: Iterable[HardNegative], model: EntailmentModel | None
) -> Iterator[HardNegative]:
    """The negatives that the caption does not entail, in their order; all of them without a model.

    Takes no more of them than a batch ahead.
    """
    stream = iter(negatives)
    if model is None:
        yield from stream
        return
    while batch := list(islice(stream, model.batch_size)):
        told = model.entailed(caption, [negative.caption for negative in batch])
        yield from (negative for negative, entailed in zip(batch, told, strict=True) if not entailed)
