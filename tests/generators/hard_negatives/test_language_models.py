import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from generators.hard_negatives.hard_negative import HardNegative
from generators.hard_negatives.language_models import (
    CausalLM,
    EntailmentModel,
    MaskedLM,
    drop_entailed,
    load_language_model,
)

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "red", "blue", "cup", "on", "table"]
LABELS = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}


def write_bert(folder: Path, model_class: str, bias: list[float] | None = None, **options: Any) -> str:
    """Save a random BERT with one layer and return its folder. With ``bias``, its logits are always ``bias``."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, **options
    )
    model = getattr(transformers, model_class)(config)
    if bias is not None:
        model.classifier.weight.data.zero_()
        model.classifier.bias.data = torch.tensor(bias)
    model.save_pretrained(folder)
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


def write_classifier(folder: Path, labels: dict[int, str] = LABELS, bias: list[float] | None = None) -> str:
    label_ids = {label: index for index, label in labels.items()}
    options = {"id2label": labels, "label2id": label_ids, "initializer_range": 1.0}
    return write_bert(folder, "BertForSequenceClassification", bias, **options)


def negatives(*captions: str) -> list[HardNegative]:
    return [HardNegative(caption, ()) for caption in captions]


CAPTION = "a red cup on a blue table"
SWAPS = ["a blue cup on a red table", "a red table on a blue cup", "a cup", "a blue table on a red cup", "red"]


def test_logits_do_not_depend_on_the_batch(tmp_path: Path):
    name = write_classifier(tmp_path)
    single = [EntailmentModel(name, batch_size=1).logits(CAPTION, [swap])[0] for swap in SWAPS]
    for size in (2, 7):
        batched = EntailmentModel(name, batch_size=size).logits(CAPTION, SWAPS)
        assert [pytest.approx(logits, abs=1e-5) for logits in batched] == single
    assert len({tuple(logits) for logits in single}) == len(SWAPS)


def test_premise_and_hypothesis_are_distinguished(tmp_path: Path):
    model = EntailmentModel(write_classifier(tmp_path))
    assert model.logits("a red cup", ["a table"]) != model.logits("a table", ["a red cup"])


@pytest.mark.parametrize(
    ("bias", "num_kept"), [([0.0, 0.5, 1.0], 0), ([0.0, 1.0, 0.5], 5), ([1.0, 0.0, 0.5], 5), ([1.0, 0.0, 1.0], 0)]
)
def test_entailed_negatives_are_dropped(tmp_path: Path, bias: list[float], num_kept: int):
    model = EntailmentModel(write_classifier(tmp_path, bias=bias), batch_size=2)
    assert len(list(drop_entailed(CAPTION, negatives(*SWAPS), model))) == num_kept


class PrefixEntailmentModel(EntailmentModel):
    """A model by which a hypothesis is entailed if it begins with the first two words of the premise."""

    def __init__(self) -> None:
        self.label, self.batch_size = 2, 2

    def logits(self, premise: str, hypotheses: Sequence[str]) -> list[list[float]]:
        return [[0.0, 0.1, float(text.split()[:2] == premise.split()[:2])] for text in hypotheses]


def test_remaining_negatives_keep_their_order_over_all_batches():
    kept = drop_entailed(CAPTION, negatives(*SWAPS), PrefixEntailmentModel())
    # One of the five hypotheses begins with "a red". The others are read in three batches.
    assert [negative.caption for negative in kept] == [
        "a blue cup on a red table",
        "a cup",
        "a blue table on a red cup",
        "red",
    ]


def test_entailment_label_is_found_by_name(tmp_path: Path):
    labels = {0: "entailment", 1: "not_entailment"}
    model = EntailmentModel(write_classifier(tmp_path, labels, bias=[1.0, 0.0]))
    assert model.predict_entailment(CAPTION, SWAPS) == [True] * 5


def test_classifier_without_entailment_label_is_an_error(tmp_path: Path):
    name = write_classifier(tmp_path, {0: "positive", 1: "negative"})
    with pytest.raises(
        ValueError, match=r"no label 'entailment'; its labels are positive, negative\. Use an NLI model"
    ):
        EntailmentModel(name)


def test_without_a_model_negatives_are_not_read_ahead():
    def endless() -> Iterator[HardNegative]:
        while True:
            yield from negatives("a cup")

    assert next(drop_entailed(CAPTION, endless(), None)).caption == "a cup"


@pytest.fixture(scope="module")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_bert(tmp_path_factory.mktemp("bert"), "BertForMaskedLM")


def test_masked_lm_is_the_mean_log_probability_of_each_masked_token(tiny_bert: str):
    import torch

    ranker = MaskedLM(tiny_bert, batch_size=2)
    expected = []
    for words in ("a red cup", "on a table"):
        ids = ranker.tokenizer(words, return_tensors="pt")["input_ids"]
        values = []
        for position in range(1, ids.shape[1] - 1):
            masked = ids.clone()
            masked[0, position] = ranker.tokenizer.mask_token_id
            with torch.inference_mode():
                values.append(ranker.model(masked).logits[0, position].log_softmax(-1)[ids[0, position]].item())
        expected.append(sum(values) / len(values))
    assert ranker.score(["a red cup", "on a table"]) == pytest.approx(expected, abs=1e-5)


def test_masked_lm_does_not_depend_on_the_batch(tiny_bert: str):
    captions = ["a red cup", "a cup on a red table", "", "table"]
    single, batched = (MaskedLM(tiny_bert, batch_size=size).score(captions) for size in (1, 7))
    assert single == pytest.approx(batched, abs=1e-5)
    assert single[2] == 0.0
    assert MaskedLM(tiny_bert).score([]) == []


def test_causal_lm_without_weights_scores_all_tokens_equally(tmp_path: Path):
    """All logits are zero, so that each of the 6 tokens has probability 1/6."""
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    words = {"<s>": 0, "<unk>": 1, "a": 2, "red": 3, "cup": 4, "table": 5}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", unk_token="<unk>"
    ).save_pretrained(tmp_path)
    config = transformers.GPT2Config(vocab_size=len(words), n_embd=8, n_layer=1, n_head=2, n_positions=16)
    model = transformers.GPT2LMHeadModel(config)
    for parameter in model.parameters():
        parameter.data.zero_()
    model.save_pretrained(tmp_path)
    ranker = load_language_model(str(tmp_path))
    assert isinstance(ranker, CausalLM)
    assert ranker.score(["a red cup", "table"]) == [pytest.approx(-math.log(6))] * 2
    assert ranker.score([]) == []


def test_configuration_decides_the_type_of_language_model(tiny_bert: str):
    assert isinstance(load_language_model(tiny_bert), MaskedLM)
