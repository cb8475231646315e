import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from generators.hard_negatives.hard_negative import HardNegative
from generators.hard_negatives.language_models import CausalLM, EntailmentModel, MaskedLM, language_model, not_entailed

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "red", "blue", "cup", "on", "table"]
LABELS = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}


def write_classifier(folder: Path, labels: dict[int, str] = LABELS, bias: list[float] | None = None) -> str:
    """A random BERT of one layer; with ``bias`` these are its logits, whatever it reads."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
        id2label=labels, label2id={label: index for index, label in labels.items()}, initializer_range=1.0,
    )  # fmt: skip
    model = transformers.BertForSequenceClassification(config)
    if bias is not None:
        model.classifier.weight.data.zero_()
        model.classifier.bias.data = torch.tensor(bias)
    model.save_pretrained(folder)
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


def negatives(*captions: str) -> list[HardNegative]:
    return [HardNegative(caption, ()) for caption in captions]


CAPTION = "a red cup on a blue table"
SWAPS = ["a blue cup on a red table", "a red table on a blue cup", "a cup", "a blue table on a red cup", "red"]


def test_logits_do_not_depend_on_the_batch(tmp_path: Path):
    name = write_classifier(tmp_path)
    alone = [EntailmentModel(name, batch_size=1).logits(CAPTION, [swap])[0] for swap in SWAPS]
    for size in (2, 7):
        found = EntailmentModel(name, batch_size=size).logits(CAPTION, SWAPS)
        assert [pytest.approx(logits, abs=1e-5) for logits in found] == alone
    assert len({tuple(logits) for logits in alone}) == len(SWAPS)


def test_premise_and_hypothesis_are_distinguished(tmp_path: Path):
    model = EntailmentModel(write_classifier(tmp_path))
    assert model.logits("a red cup", ["a table"]) != model.logits("a table", ["a red cup"])


@pytest.mark.parametrize(
    ("bias", "kept"),
    [([0.0, 0.5, 1.0], 0), ([0.0, 1.0, 0.5], 5), ([1.0, 0.0, 0.5], 5), ([1.0, 0.0, 1.0], 0)],
)
def test_entailed_negatives_are_dropped(tmp_path: Path, bias: list[float], kept: int):
    model = EntailmentModel(write_classifier(tmp_path, bias=bias), batch_size=2)
    assert len(list(not_entailed(CAPTION, negatives(*SWAPS), model))) == kept


class ByPrefix(EntailmentModel):
    """Logits by rule: a hypothesis that begins with the premise's first two words is entailed."""

    def __init__(self) -> None:
        self.label, self.batch_size = 2, 2

    def logits(self, premise: str, hypotheses: Sequence[str]) -> list[list[float]]:
        return [[0.0, 0.1, float(text.split()[:2] == premise.split()[:2])] for text in hypotheses]


def test_the_others_stay_in_order_over_all_batches():
    kept = not_entailed(CAPTION, negatives(*SWAPS), ByPrefix())
    # One of the five begins with "a red"; the others come from three batches.
    assert [negative.caption for negative in kept] == [
        "a blue cup on a red table",
        "a cup",
        "a blue table on a red cup",
        "red",
    ]


def test_the_label_is_found_by_its_name(tmp_path: Path):
    labels = {0: "entailment", 1: "not_entailment"}
    model = EntailmentModel(write_classifier(tmp_path, labels, bias=[1.0, 0.0]))
    assert model.entailed(CAPTION, SWAPS) == [True] * 5


def test_a_classifier_without_the_label_is_an_error(tmp_path: Path):
    name = write_classifier(tmp_path, {0: "positive", 1: "negative"})
    with pytest.raises(
        ValueError, match=r"no label 'entailment'; its labels are positive, negative\. Use an NLI model"
    ):
        EntailmentModel(name)


def test_without_a_model_nothing_is_read_ahead():
    def endless() -> Iterator[HardNegative]:
        while True:
            yield from negatives("a cup")

    assert next(not_entailed(CAPTION, endless(), None)).caption == "a cup"


@pytest.fixture(scope="module")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("bert")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "red", "cup", "on", "table"]
    (folder / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


def test_masked_lm_is_the_mean_log_probability_of_each_masked_token(tiny_bert: Path):
    import torch

    ranker = MaskedLM(str(tiny_bert), batch_size=2)
    expected = []
    for words in ("a red cup", "on a table"):
        ids = ranker.tokenizer(words, return_tensors="pt")["input_ids"]
        values = []
        for place in range(1, ids.shape[1] - 1):
            masked = ids.clone()
            masked[0, place] = ranker.tokenizer.mask_token_id
            with torch.inference_mode():
                values.append(ranker.model(masked).logits[0, place].log_softmax(-1)[ids[0, place]].item())
        expected.append(sum(values) / len(values))
    assert ranker.score(["a red cup", "on a table"]) == pytest.approx(expected, abs=1e-5)


def test_masked_lm_does_not_depend_on_the_batch(tiny_bert: Path):
    captions = ["a red cup", "a cup on a red table", "", "table"]
    one, many = (MaskedLM(str(tiny_bert), batch_size=size).score(captions) for size in (1, 7))
    assert one == pytest.approx(many, abs=1e-5)
    assert one[2] == 0.0
    assert MaskedLM(str(tiny_bert)).score([]) == []


def test_causal_lm_without_weights_gives_every_token_the_same(tmp_path: Path):
    """All logits are zero, so each of the 6 tokens has probability 1/6, whatever the batch."""
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
    ranker = language_model(str(tmp_path))
    assert isinstance(ranker, CausalLM)
    assert ranker.score(["a red cup", "table"]) == [pytest.approx(-math.log(6))] * 2
    assert ranker.score([]) == []


def test_a_language_model_is_what_its_configuration_says(tiny_bert: Path):
    assert isinstance(language_model(str(tiny_bert)), MaskedLM)
