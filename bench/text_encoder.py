"""Fine-tune a text encoder to find the true caption without the image: ``python -m bench.text_encoder``.

Measures every config of a dataset folder with hard negatives, or those whose names contain ``--only``. As in stage
``text_only``, images are split into five folds, the encoder is trained on the true captions and negatives of four of
them and selects the captions of the fifth, and Recall@1 has a 95 % interval over images. The sets of the paper are the
control: an encoder that cannot learn is at chance on them, too.

Source: arXiv:2511.04655, which trains on a benchmark's texts to find out what they tell without the image.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluators.validity.text_only import group_configs, measure_scorers, read
from generators.hard_negatives.text_only_scorers import RetrievalSets

EPOCHS, BATCH_SIZE, LEARNING_RATE, HEAD_LEARNING_RATE = 5, 32, 5e-4, 5e-3
MAX_ROWS = 1000
"""Maximum number of rows of a group; systematicity has more in the sets of the paper."""


class Encoder(nn.Module):
    """The text tower of an open_clip model with a linear head: indices into ``vocabulary`` (M, T) -> scores (M).

    The tower embeds only the tokens of the vocabulary, in the order of their ids: most of a small tower is its
    embedding, which the optimizer would update as a whole in each step.
    """

    def __init__(self, model: str, vocabulary: Tensor) -> None:
        super().__init__()
        self.clip: Any = open_clip.create_model(model)
        weight = self.clip.token_embedding.weight.detach()[vocabulary]
        self.clip.token_embedding = nn.Embedding.from_pretrained(weight, freeze=False)
        self.head = nn.Linear(self.clip.text_projection.shape[-1], 1)

    def forward(self, token_MT: Tensor) -> Tensor:
        return self.head(functional.normalize(self.clip.encode_text(token_MT), dim=-1) * 10).squeeze(-1)


def score_by_encoder(sets: RetrievalSets, model: str) -> np.ndarray:
    """Return the scores (N, K) of encoders that were trained on the sets of other images."""
    vocabulary, token_NKT = open_clip.get_tokenizer(model)(sets.texts).unique(return_inverse=True)
    token_NKT = token_NKT.view(len(sets), sets.size, -1)
    score_NK = np.zeros((len(sets), sets.size))
    for train, test in sets.splits():
        torch.manual_seed(0)
        encoder = Encoder(model, vocabulary)
        _train(encoder, token_NKT[torch.from_numpy(train)])
        encoder.eval()
        with torch.inference_mode():
            for part in np.array_split(test, max(1, len(test) // 100)):
                score_NK[part] = _score(encoder, token_NKT[torch.from_numpy(part)]).numpy()
    return score_NK


def _score(encoder: Encoder, token_NKT: Tensor) -> Tensor:
    return encoder(token_NKT.flatten(0, 1)).view(token_NKT.shape[:2])


def _train(encoder: Encoder, token_NKT: Tensor) -> None:
    """Minimise the cross-entropy of the true caption, which is in column 0, among the captions of its set."""
    text_weights = [weight for name, weight in encoder.clip.named_parameters() if not name.startswith("visual")]
    groups = [
        {"params": text_weights, "lr": LEARNING_RATE},
        {"params": encoder.head.parameters(), "lr": HEAD_LEARNING_RATE},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.05)
    generator = torch.Generator().manual_seed(0)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(token_NKT), generator=generator).split(BATCH_SIZE):
            score_NK = _score(encoder, token_NKT[batch])
            loss = functional.cross_entropy(score_NK, torch.zeros(len(batch), dtype=torch.long))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def take_random_rows(sets: RetrievalSets, count: int) -> RetrievalSets:
    """Return at most ``count`` random rows."""
    rows = np.sort(np.random.default_rng(0).permutation(len(sets))[:count])
    return sets.take(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="local-dir:checkpoints/clip-laion-s0", help="an open_clip model with a CLIP")
    parser.add_argument("--folder", type=Path, default=Path("crepe"), help="a dataset folder")
    parser.add_argument("--only", default="", help="part of the names of the groups of configs")
    arguments = parser.parse_args()
    print(f"{'group':34} {'rows':>6} {'chance':>7} {'correct':>8}   95 % interval")
    for name, configs in group_configs(arguments.folder).items():
        if arguments.only not in name:
            continue
        sets = take_random_rows(read(arguments.folder, configs), MAX_ROWS)
        if len(sets):
            scorer = partial(score_by_encoder, model=arguments.model)
            result = measure_scorers(sets, {"encoder": scorer})["encoder"]
            low, high = result["interval"]
            print(
                f"{name:34} {len(sets):6,} {sets.chance:7.1%} {result['recall@1']:8.1%}   {low:.1%} to {high:.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
