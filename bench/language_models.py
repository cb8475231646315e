"""Measure the language models of the hard negatives: ``python -m bench.language_models [--images 8]``.

The models have the architecture of BERT-base (ranking of systematicity negatives) and the size of RoBERTa-large
(entailment of swaps), random weights, and a tokenizer with one token per word; real tokenizers make about 1.15. The
candidates are those of Visual Genome's images in COMPEVAL_REAL_DATA. Prints sentences per second (of processor time on
a CPU), with an empty and with a filled cache, and the time for all captions of CREPE (arXiv:2212.07796): the 32,500
captions of 325,000 negatives (abstract), and 17,000 productivity captions with swaps.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from generators.graphs.vocabulary import Vocabulary
from generators.hard_negatives.crepe.systematicity import make_atom_foils, make_comp_foils
from generators.readers import visual_genome
from generators.readers.records import Flaws
from generators.seen_analysis.regions import RegionReader
from generators.text_only.language_models import EntailmentModel, MaskedLM, find_device

RANKED_CAPTIONS, SWAPPED_CAPTIONS = 32_500, 17_000
SWAPS = 20
"""Swaps per productivity caption that are compared with it (selection.POOL)."""


def read_candidates(folder: Path, num_images: int) -> list[list[str]]:
    """Return the HN-Atom and HN-Comp candidates of each region caption with exactly one compound."""
    reader = RegionReader.make(spelling=False, parser="rules")
    images = list(islice(visual_genome.read(folder, Flaws()), num_images))
    vocabulary = Vocabulary.of((image.graph for image in images), 1)
    candidates = []
    for image, parses in zip(images, reader.parse_images(images), strict=True):
        facts = reader.facts(image)
        for parse in parses.values():
            if len(parse.graph.compounds) == 1:
                negatives = [*make_atom_foils(parse, facts, vocabulary), *make_comp_foils(parse, facts, vocabulary)]
                candidates.append([negative.caption for negative in negatives])
    return candidates


def write_model(folder: Path, texts: Sequence[str], model_class: str, **config: Any) -> str:
    """Save a model with random weights and a tokenizer that knows all words of ``texts``; return its folder."""
    import torch
    import transformers

    words = sorted({word for text in texts for word in text.lower().replace(".", " . ").split()})
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    torch.manual_seed(0)
    model = getattr(transformers, model_class)(transformers.BertConfig(**config))
    model.save_pretrained(folder)
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


def report(name: str, count: int, seconds: float, cached: float, total: int) -> None:
    rate = count / seconds
    print(
        f"{name}: {count:,} sentences in {seconds:.1f} s, {rate:,.1f}/s on {find_device()}; from the cache "
        f"{count / cached:,.0f}/s. {total:,} sentences of the paper's captions: {total / rate / 3600:,.1f} h"
    )


def time_twice(function: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of the first and of the second call."""
    clock = time.process_time if find_device() == "cpu" else time.perf_counter
    start = clock()
    function()
    middle = clock()
    function()
    return middle - start, clock() - middle


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--images", type=int, default=5)
    options.add_argument("--sentences", type=int, default=100, help="sentences that are scored")
    arguments = options.parse_args()
    folder = Path(os.environ["COMPEVAL_REAL_DATA"]) / "visual_genome" / "v1.2.0"
    by_caption = read_candidates(folder, arguments.images)
    texts = [text for candidates in by_caption for text in candidates]
    distinct, words = list(dict.fromkeys(texts)), sum(len(text.split()) for text in texts)
    per_caption = len(texts) / len(by_caption)
    print(
        f"{len(by_caption)} captions of one compound have {len(texts):,} candidates ({per_caption:.0f} each, "
        f"{words / len(texts):.1f} words), {len(distinct):,} distinct"
    )
    sample = distinct[:: max(1, len(distinct) // arguments.sentences)][: arguments.sentences]
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["COMPEVAL_CACHE"] = scratch
        base, large = Path(scratch) / "base", Path(scratch) / "large"
        base.mkdir()
        large.mkdir()
        masked = MaskedLM(write_model(base, texts, "BertForMaskedLM"))
        masked.score(["a"])
        seconds, cached = time_twice(lambda: masked.score(sample))
        report("BERT-base, one pass per token", len(sample), seconds, cached, round(RANKED_CAPTIONS * per_caption))
        size = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
        labels = {"id2label": {0: "neutral", 1: "entailment"}, "label2id": {"neutral": 0, "entailment": 1}}
        nli = EntailmentModel(write_model(large, texts, "BertForSequenceClassification", **size, **labels))
        pairs = [(text, " ".join(reversed(text.split()))) for text in sample]
        nli.pair_logits([("a", "a")])
        seconds, cached = time_twice(lambda: nli.pair_logits(pairs))
        report("RoBERTa-large's size, pairs", len(pairs), seconds, cached, SWAPPED_CAPTIONS * SWAPS)


if __name__ == "__main__":
    main()
