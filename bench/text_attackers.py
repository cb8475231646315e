"""Attack hard negatives with text-only models that refinement does not use: ``python -m bench.text_attackers``.

Measures every config of a dataset folder with hard negatives, or those whose names contain ``--only``. As in stage
``text_only``, images are split into five folds, models are trained on the true captions and negatives of four of them
and select the captions of the fifth, and Recall@1 has a 95 % interval over images. The sets of the paper are the
control: a model that cannot learn is at chance on them, too.

- ``boosting``, ``boosting_words``: gradient boosting on the features of the random forest of ``text_only``, without and
  with the 150 most frequent words; ``forest_words``: a random forest with these words
- ``corpus_trigrams``, ``corpus_cooccurrence``, ``corpus_order``: a reader of the captions of a training corpus, who
  knows how probable a caption is, which words occur together, and which of two words comes first
- ``encoder``: a text encoder, fine-tuned on the set

Source: arXiv:2511.04655, which trains on a benchmark's texts to find out what they tell without the image.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluators.validity.text_only import group_configs, measure_scorers, read, take_random_rows
from generators.readers.corpora import list_shards, read_captions
from generators.text_only.baselines import (
    RetrievalSets,
    Scorer,
    list_ordered_pairs,
    score_by_function,
)
from generators.text_only.ngram import TOKEN, NgramModel
from generators.text_only.relative_baselines import MIN_LEAF, TREES, make_word_features, score_by_classifier

EPOCHS, BATCH_SIZE, LEARNING_RATE, HEAD_LEARNING_RATE = 5, 32, 5e-4, 5e-3
BOOSTING_ITERATIONS = 150


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


def score_by_boosting(sets: RetrievalSets, words: bool = True) -> np.ndarray:
    """Return the probabilities (N, K) of gradient boosting."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    classifier = HistGradientBoostingClassifier(max_iter=BOOSTING_ITERATIONS, random_state=0)
    return score_by_classifier(sets, classifier, [make_word_features(sets)] if words else [])


def score_by_forest(sets: RetrievalSets) -> np.ndarray:
    """Return the probabilities (N, K) of a random forest that reads words, too."""
    from sklearn.ensemble import RandomForestClassifier

    options: Any = {"class_weight": "balanced", "random_state": 0, "n_jobs": -1}
    classifier = RandomForestClassifier(TREES, min_samples_leaf=MIN_LEAF, **options)
    return score_by_classifier(sets, classifier, [make_word_features(sets)])


def make_corpus_readers(captions: list[str]) -> dict[str, Scorer]:
    """Return scorers that have read the captions of a training corpus."""
    trigrams = NgramModel.of(captions, order=3)
    num_captions = count_in_captions({*TOKEN.findall(text.lower())} for text in captions)
    num_both = count_in_captions(combinations(sorted({*TOKEN.findall(text.lower())}), 2) for text in captions)
    num_ordered = count_in_captions({*list_ordered_pairs(text)} for text in captions)

    def measure_cooccurrence(text: str) -> float:
        """Return the summed pointwise mutual information of all pairs of words."""
        pairs = combinations(sorted({*TOKEN.findall(text.lower())}), 2)
        expected = {pair: num_captions[pair[0]] * num_captions[pair[1]] / len(captions) for pair in pairs}
        return float(sum(np.log((num_both[pair] + 0.5) / (value + 0.5)) for pair, value in expected.items()))

    def measure_order(text: str) -> float:
        """Return the summed log-odds of the order of all pairs of words."""
        pairs = [pair.split() for pair in list_ordered_pairs(text)]
        odds = [(num_ordered[f"{a} {b}"] + 0.5) / (num_ordered[f"{b} {a}"] + 0.5) for a, b in pairs]
        return float(np.log(odds).sum())

    return {
        "corpus_trigrams": partial(score_by_function, function=lambda text: trigrams.score([text])[0]),
        "corpus_cooccurrence": partial(score_by_function, function=measure_cooccurrence),
        "corpus_order": partial(score_by_function, function=measure_order),
    }


def count_in_captions(items_by_caption: Iterable[Iterable[Any]]) -> Counter[Any]:
    """Return the number of captions with each item."""
    return Counter(item for items in items_by_caption for item in items)


def make_attackers(model: str, captions: list[str]) -> Mapping[str, Scorer]:
    return {
        "boosting": partial(score_by_boosting, words=False),
        "boosting_words": score_by_boosting,
        "forest_words": score_by_forest,
        **make_corpus_readers(captions),
        "encoder": partial(score_by_encoder, model=model),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attackers", nargs="*", help="names of attackers; default: all")
    parser.add_argument("--corpus", default="sources/microworld/corpora/laion/*.tar", help="shards of a caption corpus")
    parser.add_argument("--column", default="txt", help="its caption column")
    parser.add_argument("--captions", type=int, default=100_000, help="maximum number of its captions that are read")
    parser.add_argument("--model", default="local-dir:checkpoints/clip-laion-s0", help="an open_clip model with a CLIP")
    parser.add_argument("--folder", type=Path, default=Path("crepe"), help="a dataset folder")
    parser.add_argument("--only", default="", help="part of the names of the groups of configs")
    parser.add_argument("--rows", type=int, default=1000, help="maximum number of random rows of a group")
    arguments = parser.parse_args()
    corpus = (text for shard in list_shards(arguments.corpus) for text in read_captions(shard, arguments.column))
    attackers = make_attackers(arguments.model, [*islice(corpus, arguments.captions)])
    print(f"{'group':30} {'attacker':20} {'rows':>6} {'chance':>7} {'correct':>8}   95 % interval")
    groups = {name: configs for name, configs in group_configs(arguments.folder).items() if arguments.only in name}
    for name, configs in groups.items():
        sets = take_random_rows(read(arguments.folder, configs), arguments.rows)
        for attacker in (arguments.attackers or attackers) if len(sets) else ():
            result = measure_scorers(sets, {attacker: attackers[attacker]})[attacker]
            low, high = result["interval"]
            start = f"{name:30} {attacker:20} {len(sets):6,} {sets.chance:7.1%} {result['recall@1']:8.1%}"
            print(f"{start}   {low:.1%} to {high:.1%}", flush=True)


if __name__ == "__main__":
    main()
