"""Write stand-ins for BERT-base and RoBERTa-large, where these cannot be downloaded.

    python -m bench.stand_in_models FOLDER CAPTIONS [CAPTIONS ...]    # text files with one caption a line
    python -m bench.stand_in_models FOLDER CAPTIONS --small

FOLDER/bert has the classes, the size and the number of vocabulary entries of ``bert-base-uncased``, and FOLDER/roberta
those of ``roberta-large-mnli``. With --small, both have one layer of width 8. The weights are random, so their choices
mean nothing, but a text costs as much as with the real models: the words of the captions are single tokens, as most are
in the real vocabularies. No pair is an entailment: with random weights only, every pair may be one.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.masked_lm import SPECIAL
from compeval.generators.language.wordnet import list_published_foils

FULL: Mapping[str, Mapping[str, Any]] = {
    "bert": {"vocab_size": 30_522},
    "roberta": {
        "vocab_size": 50_265,
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
        "max_position_embeddings": 514,
    },
}
"""The sizes that differ from the defaults of transformers, which are those of BERT-base."""
SMALL_SIZES = {
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
}
SMALL: Mapping[str, Mapping[str, Any]] = {name: sizes | SMALL_SIZES for name, sizes in FULL.items()}
LABELS: dict[int, str] = dict(enumerate(("CONTRADICTION", "NEUTRAL", "ENTAILMENT")))
"""Those of roberta-large-mnli."""
MAX_TOKENS = 512
CONTRADICTION_BIAS = 10
FREQUENT = 4000
"""Words of the captions whose foils are in the vocabulary."""
WORD = re.compile(r"[a-z]+")


def write_language_models(
    folder: Path, captions: Sequence[str], sizes: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Save a masked language model and an NLI classifier; return their folders by their use."""
    write_masked_model(folder / "bert", list_words(captions), sizes["bert"])
    write_classifier(folder / "roberta", captions, sizes["roberta"])
    return {"ranker": str(folder / "bert"), "entailment": str(folder / "roberta")}


def list_words(captions: Iterable[str]) -> list[str]:
    """Return the words of the captions, and then the foils of frequent words, the most frequent first."""
    counts = Counter(word for caption in captions for word in WORD.findall(caption.lower()))
    foils = Counter[str]()
    for word, count in counts.most_common(FREQUENT):
        for kind in ("object", "attribute", "relation"):
            for foil in list_published_foils(word, kind):
                if WORD.fullmatch(foil):
                    foils[foil] += count
    return list(dict.fromkeys(word for part in (counts, foils) for word, _ in part.most_common()))


def write_masked_model(folder: Path, words: Sequence[str], sizes: Mapping[str, Any]) -> None:
    """Save a masked language model whose vocabulary has characters and as many of the words as fit."""
    import torch
    import transformers

    folder.mkdir(parents=True)
    characters = "abcdefghijklmnopqrstuvwxyz"
    pieces = [*SPECIAL, *characters, *".,'-", *(f"##{character}" for character in characters)]
    count = sizes["vocab_size"]
    vocabulary = list(dict.fromkeys([*pieces, *words]))[:count]
    vocabulary += [f"[unused{number}]" for number in range(count - len(vocabulary))]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"), model_max_length=MAX_TOKENS)
    torch.manual_seed(0)
    model = transformers.BertForMaskedLM(transformers.BertConfig(**sizes))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def write_classifier(folder: Path, captions: Iterable[str], sizes: Mapping[str, Any]) -> None:
    """Save a classifier of pairs of captions, whose answer is always a contradiction."""
    import tokenizers
    import torch
    import transformers

    folder.mkdir(parents=True)
    bpe = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    bpe.train_from_iterator(captions, sizes["vocab_size"], special_tokens=special)
    bpe.save_model(str(folder))
    tokenizer = transformers.RobertaTokenizer(
        str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=MAX_TOKENS
    )
    torch.manual_seed(0)
    config = transformers.RobertaConfig(
        **sizes,
        type_vocab_size=1,
        id2label=LABELS,
        label2id={label: number for number, label in LABELS.items()},
    )
    model = transformers.RobertaForSequenceClassification(config)
    torch.nn.init.constant_(model.classifier.out_proj.bias[:1], CONTRADICTION_BIAS)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="a new folder")
    parser.add_argument("captions", type=Path, nargs="+")
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    captions = [
        line for path in arguments.captions for line in path.read_text("utf-8").splitlines() if line
    ]
    for use, path in write_language_models(
        arguments.folder, captions, SMALL if arguments.small else FULL
    ).items():
        print(f"{use}: {path}")


if __name__ == "__main__":
    main()
