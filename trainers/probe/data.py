"""Prepare the training texts of recovery probes and the autoencoder: reading, split, tokenizer and batches.

Source: Kamath, Hessel and Chang 2023, section 3: a 90/10 split of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import yaml
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor
from torch.utils.data import Sampler
from transformers import PreTrainedTokenizerFast

from compeval.base.readers import corpora
from compeval.evaluators.models.recovery_probe import MAX_TOKENS
from compeval.generators import compprompts
from compeval.trainers.probe import text as probe_text
from compeval.trainers.probe.overlap import Prompts

VALIDATION_SHARE = 0.1
MAX_VOCABULARY = 8192
IGNORED_LABEL = -100
"""Label of positions that the loss ignores."""
BATCHES_PER_SORT = 20
"""Number of batches whose texts are sorted by length together. Texts of similar length need little padding."""


def generate_captions(count: int, seed: int, excluded: Prompts) -> list[str]:
    """Generate ``count`` captions with the grammar of text.py, the default training text.

    Raises FileNotFoundError if the word list is missing.
    """
    if not compprompts.WORDS.is_file():
        raise FileNotFoundError(
            f"{compprompts.WORDS}: not found. Run `dvc repro compprompts`, or pass --text."
        )
    words = probe_text.inflect_words(yaml.safe_load(compprompts.WORDS.read_text(encoding="utf-8")))
    return list(probe_text.generate_captions(words, count, seed, excluded))


def read_captions(pattern: str, column: str) -> list[str]:
    """Read the captions of the files that match a glob pattern (base/readers/corpora.py)."""
    key: corpora.Column = int(column) if column.isdigit() else column
    return [
        caption.strip()
        for shard in corpora.list_shards(pattern)
        for caption in corpora.read_captions(shard, key)
    ]


def split_texts(texts: Sequence[str], seed: int) -> tuple[list[str], list[str]]:
    """Split the distinct texts into 90 % training and 10 % validation texts, in a seeded order.

    Raises ValueError if there are too few texts.
    """
    distinct = list(dict.fromkeys(texts))
    order = torch.randperm(len(distinct), generator=torch.Generator().manual_seed(seed)).tolist()
    num_validation = round(VALIDATION_SHARE * len(distinct))
    if not num_validation:
        raise ValueError(
            f"{len(distinct)} distinct training texts; at least {round(1 / VALIDATION_SHARE)} are needed."
        )
    shuffled = [distinct[index] for index in order]
    return shuffled[num_validation:], shuffled[:num_validation]


def train_tokenizer(texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """Train a byte-pair tokenizer with T5's special tokens (with the same ids as in T5) on the texts."""
    special = ["<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.BPE(unk_token=special[2]))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.decoder = decoders.Metaspace()  # pyright: ignore[reportAttributeAccessIssue]
    trainer = trainers.BpeTrainer(
        vocab_size=MAX_VOCABULARY, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(  # pyright: ignore[reportAttributeAccessIssue]
        single=f"$A {special[1]}", special_tokens=[(special[1], 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=special[0], eos_token=special[1], unk_token=special[2]
    )


@dataclass(frozen=True)
class Collator:
    """Collates texts into a batch.

    ``embed`` returns the text features (N, D) that are the input of a probe. It is None for the autoencoder.
    """

    tokenizer: Any
    embed: Callable[[list[str]], Tensor] | None

    def __call__(self, texts: list[str]) -> dict[str, Tensor]:
        tokens = self.tokenizer(
            texts, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
        )
        ids_NL = tokens["input_ids"]
        mask_NL = tokens["attention_mask"]
        labels = {"labels": ids_NL.masked_fill(mask_NL == 0, IGNORED_LABEL)}
        if self.embed is None:
            return labels | {"input_ids": ids_NL, "attention_mask": mask_NL}
        return labels | {"embedding": self.embed(texts)}


class SimilarLengthSampler(Sampler[int]):
    """Samples texts in a random order, in which the texts of a batch have similar lengths.

    The order depends only on the seed and the epoch, so a training that resumes within an epoch sees the same batches.
    """

    def __init__(self, texts: Sequence[str], batch_size: int, seed: int) -> None:
        self._lengths = [len(text.split()) for text in texts]
        self._batch_size = batch_size
        self._seed = seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch. Called by accelerate."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(1_000_003 * self._seed + self._epoch)
        order = torch.randperm(len(self), generator=generator).tolist()
        batches: list[list[int]] = []
        step = self._batch_size * BATCHES_PER_SORT
        for start in range(0, len(order), step):
            similar = sorted(order[start : start + step], key=self._lengths.__getitem__)
            batches += [
                similar[first : first + self._batch_size]
                for first in range(0, len(similar), self._batch_size)
            ]
        complete = [batch for batch in batches if len(batch) == self._batch_size]
        incomplete = [batch for batch in batches if len(batch) < self._batch_size]
        for index in torch.randperm(len(complete), generator=generator).tolist():
            yield from complete[index]
        for batch in incomplete:
            yield from batch
