"""Training texts of recovery probes and the autoencoder: reading, split, tokenizer and batches.

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

from evaluators.models.recovery_probe import MAX_TOKENS
from generators import compprompts
from generators.readers import corpora
from trainers.probe import text as probe_text
from trainers.probe.overlap import Prompts

VALIDATION = 0.1
VOCABULARY = 8192
"""Upper bound on the number of tokens."""
IGNORED = -100
"""Label of positions that the loss ignores."""
BATCHES_PER_SORT = 20
"""Batches whose texts are sorted by length together, for batches of similar lengths with little padding."""


def generated(count: int, seed: int, avoid: Prompts) -> list[str]:
    """Return ``count`` captions of text.py, the embedded default. Raises FileNotFoundError without the word list."""
    if not compprompts.WORDS.is_file():
        raise FileNotFoundError(f"{compprompts.WORDS}: not found. Run `dvc repro compprompts`, or pass --text.")
    words = probe_text.read_words(yaml.safe_load(compprompts.WORDS.read_text()))
    return list(probe_text.captions(words, count, seed, avoid))


def read(pattern: str, column: str) -> list[str]:
    """Return the captions of the files that match a glob (generators/readers/corpora.py), stripped."""
    place: corpora.Column = int(column) if column.isdigit() else column
    return [
        caption.strip() for shard in corpora.list_shards(pattern) for caption in corpora.read_captions(shard, place)
    ]


def split(texts: Sequence[str], seed: int) -> tuple[list[str], list[str]]:
    """Split distinct texts 90 to 10 into training and validation texts, in a seeded order.

    Raises ValueError if there are too few.
    """
    distinct = list(dict.fromkeys(texts))
    order = torch.randperm(len(distinct), generator=torch.Generator().manual_seed(seed)).tolist()
    validation = round(VALIDATION * len(distinct))
    if not validation:
        raise ValueError(f"{len(distinct)} distinct training texts; at least {round(1 / VALIDATION)} are needed.")
    return [distinct[place] for place in order[validation:]], [distinct[place] for place in order[:validation]]


def train_tokenizer(texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """Train a byte-pair tokenizer on the texts, with T5's special tokens and their ids."""
    special = ["<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.BPE(unk_token=special[2]))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.decoder = decoders.Metaspace()  # pyright: ignore[reportAttributeAccessIssue]
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(  # pyright: ignore[reportAttributeAccessIssue]
        single=f"$A {special[1]}", special_tokens=[(special[1], 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=special[0], eos_token=special[1], unk_token=special[2]
    )


@dataclass(frozen=True)
class Collator:
    """Texts to the batch of a step. ``embed`` returns a probe's vectors (N, D); None for the autoencoder."""

    tokenizer: Any
    embed: Callable[[list[str]], Tensor] | None

    def __call__(self, texts: list[str]) -> dict[str, Tensor]:
        read = self.tokenizer(texts, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
        ids_NL, mask_NL = read["input_ids"], read["attention_mask"]
        labels = {"labels": ids_NL.masked_fill(mask_NL == 0, IGNORED)}
        if self.embed is None:
            return labels | {"input_ids": ids_NL, "attention_mask": mask_NL}
        return labels | {"embedding": self.embed(texts)}


class SimilarLengths(Sampler[int]):
    """A random order of texts per epoch, in which the texts of a batch have similar lengths.

    The order depends on seed and epoch only, so a training that resumes within an epoch sees the same batches.
    """

    def __init__(self, texts: Sequence[str], batch_size: int, seed: int) -> None:
        self._lengths = [len(text.split()) for text in texts]
        self._batch_size, self._seed, self._epoch = batch_size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Called by accelerate."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(1_000_003 * self._seed + self._epoch)
        order = torch.randperm(len(self), generator=generator).tolist()
        batches: list[list[int]] = []
        step = self._batch_size * BATCHES_PER_SORT
        for start in range(0, len(order), step):
            part = sorted(order[start : start + step], key=self._lengths.__getitem__)
            batches += [part[first : first + self._batch_size] for first in range(0, len(part), self._batch_size)]
        whole = [batch for batch in batches if len(batch) == self._batch_size]
        ragged = [batch for batch in batches if len(batch) < self._batch_size]
        for place in torch.randperm(len(whole), generator=generator).tolist():
            yield from whole[place]
        for batch in ragged:
            yield from batch
