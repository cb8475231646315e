"""Train a small masked language model on captions, where BERT cannot be downloaded.

    python -m bench.masked_lm FOLDER CAPTIONS [CAPTIONS ...]    # text files with one caption a line

It is a stand-in for ``bert-base-uncased``: the same classes of transformers, a vocabulary of whole words, two layers.
It knows which words fit a caption, but not as well as BERT, so ranks that are measured with it are upper bounds.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
BATCH_ROWS = 32
MAX_TOKENS = 32
MIN_COUNT = 2
"""Rarer words have no entry, which makes the last layer a third as large."""
LEARNING_RATE = 2e-3
MASKED_SHARE = 0.15
WORD = re.compile(r"[a-z]+")


def train(folder: Path, captions: Sequence[str], words: Iterable[str], steps: int) -> None:
    """Save a masked language model with its tokenizer.

    ``words`` are further entries of the vocabulary. They have a score in every gap, but nothing was learnt about them.
    """
    import torch
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    counts = Counter(word for caption in captions for word in WORD.findall(caption.lower()))
    frequent = {word for word, count in counts.items() if count >= MIN_COUNT}
    vocabulary = [*SPECIAL, *sorted({*frequent, *words, *"abcdefghijklmnopqrstuvwxyz.,'-"})]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"), model_max_length=128)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=192,
        max_position_embeddings=128,
    )
    model = transformers.BertForMaskedLM(config)
    collate = transformers.DataCollatorForLanguageModeling(
        tokenizer, mlm_probability=MASKED_SHARE, seed=0
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    ids = tokenizer(list(captions), truncation=True, max_length=MAX_TOKENS)["input_ids"]
    order = torch.Generator().manual_seed(0)
    model.train()
    for _ in range(steps):
        chosen = torch.randint(len(ids), (BATCH_ROWS,), generator=order).tolist()
        loss = model(**collate([{"input_ids": ids[number]} for number in chosen])).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("captions", type=Path, nargs="+")
    parser.add_argument("--steps", type=int, default=1500)
    options = parser.parse_args(arguments)
    lines = [
        line for path in options.captions for line in path.read_text("utf-8").splitlines() if line
    ]
    train(options.folder, lines, (), options.steps)


if __name__ == "__main__":
    main()
