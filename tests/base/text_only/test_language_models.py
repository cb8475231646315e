import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compeval.base.text_only import language_models, score_cache
from compeval.base.text_only.gaps import MIN_WORDS, Gap, score_by_caption
from compeval.base.text_only.language_models import (
    CausalLM,
    EntailmentModel,
    MaskedLM,
    MaskedWordScorer,
    load_language_model,
)
from compeval.generators.hard_negatives.crepe import selection
from compeval.generators.hard_negatives.hard_negative import HardNegative
from tests.close import assert_close

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "red", "blue", "cup", "on", "table"]
LABELS = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}


def write_bert(
    folder: Path, model_class: str, bias: list[float] | None = None, **options: Any
) -> str:
    """Save a random BERT with one layer and return its folder. With ``bias``, its logits are always ``bias``."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        **options,
    )
    model = getattr(transformers, model_class)(config)
    if bias is not None:
        model.classifier.weight.data.zero_()
        model.classifier.bias.data = torch.tensor(bias)
    model.save_pretrained(folder)
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


def write_classifier(
    folder: Path, labels: dict[int, str] = LABELS, bias: list[float] | None = None
) -> str:
    label_ids = {label: index for index, label in labels.items()}
    options = {"id2label": labels, "label2id": label_ids, "initializer_range": 1.0}
    return write_bert(folder, "BertForSequenceClassification", bias, **options)


def negatives(*captions: str) -> list[HardNegative]:
    return [HardNegative(caption, ()) for caption in captions]


FLOAT32 = {"dtype": np.float32, "summed": 500, "size": 1}
"""Rounding of a network of one layer, with 16 to 64 inputs per sum and logits near 1."""
CAPTION = "a red cup on a blue table"
SWAPS = [
    "a blue cup on a red table",
    "a red table on a blue cup",
    "a cup",
    "a blue table on a red cup",
    "red",
]


def test_logits_do_not_depend_on_the_batch(tmp_path: Path, monkeypatch):
    name, pairs = write_classifier(tmp_path), [(CAPTION, swap) for swap in SWAPS]
    single = [EntailmentModel(name, batch_size=1).pair_logits([pair])[0] for pair in pairs]
    for size in (2, 7):
        monkeypatch.setenv("COMPEVAL_CACHE", str(tmp_path / str(size)))
        batched = EntailmentModel(name, batch_size=size).pair_logits(pairs)
        assert_close(np.array(batched), np.array(single), **FLOAT32)
    assert len({tuple(logits) for logits in single}) == len(SWAPS)


def test_premise_and_hypothesis_are_distinguished(tmp_path: Path):
    model = EntailmentModel(write_classifier(tmp_path))
    first, second = model.pair_logits([("a red cup", "a table"), ("a table", "a red cup")])
    assert first != second


@pytest.mark.parametrize(
    ("bias", "num_kept"),
    [([0.0, 0.5, 1.0], 0), ([0.0, 1.0, 0.5], 5), ([1.0, 0.0, 0.5], 5), ([1.0, 0.0, 1.0], 0)],
)
def test_entailed_negatives_are_dropped(tmp_path: Path, bias: list[float], num_kept: int):
    model = EntailmentModel(write_classifier(tmp_path, bias=bias), batch_size=2)
    assert len(list(selection.drop_entailed(CAPTION, negatives(*SWAPS), model))) == num_kept


class PrefixEntailmentModel(EntailmentModel):
    """A model by which a hypothesis is entailed if it begins with the first two words of the premise."""

    def __init__(self) -> None:
        self.label = 2

    def pair_logits(self, pairs: Sequence[tuple[str, str]]) -> list[list[float]]:
        return [
            [0.0, 0.1, float(text.split()[:2] == premise.split()[:2])] for premise, text in pairs
        ]


def test_remaining_negatives_keep_their_order_over_all_batches(monkeypatch):
    monkeypatch.setattr(selection, "READ_AHEAD", 2)
    kept = selection.drop_entailed(CAPTION, negatives(*SWAPS), PrefixEntailmentModel())
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
        ValueError,
        match=r"no label 'entailment'; its labels are positive, negative\. Use an NLI model",
    ):
        EntailmentModel(name)


def test_without_a_model_negatives_are_not_read_ahead():
    def endless() -> Iterator[HardNegative]:
        while True:
            yield from negatives("a cup")

    assert next(selection.drop_entailed(CAPTION, endless(), None)).caption == "a cup"


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
                values.append(
                    ranker.model(masked)
                    .logits[0, position]
                    .log_softmax(-1)[ids[0, position]]
                    .item()
                )
        expected.append(sum(values) / len(values))
    assert_close(ranker.score(["a red cup", "on a table"]), expected, **FLOAT32)


def test_masked_lm_does_not_depend_on_the_batch(tiny_bert: str, tmp_path: Path, monkeypatch):
    captions = ["a red cup", "a cup on a red table", "", "table"]
    single = MaskedLM(tiny_bert, batch_size=1).score(captions)
    monkeypatch.setenv("COMPEVAL_CACHE", str(tmp_path))
    batched = MaskedLM(tiny_bert, batch_size=7).score(captions)
    assert_close(single, batched, **FLOAT32)
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
    config = transformers.GPT2Config(
        vocab_size=len(words), n_embd=8, n_layer=1, n_head=2, n_positions=16
    )
    model = transformers.GPT2LMHeadModel(config)
    for parameter in model.parameters():
        parameter.data.zero_()
    model.save_pretrained(tmp_path)
    ranker = load_language_model(str(tmp_path))
    assert isinstance(ranker, CausalLM)
    assert_close(ranker.score(["a red cup", "table"]), [-math.log(6)] * 2, dtype=np.float32)
    assert ranker.score([]) == []


def test_configuration_decides_the_type_of_language_model(tiny_bert: str):
    assert isinstance(load_language_model(tiny_bert), MaskedLM)


def test_words_are_scored_by_one_prediction(tiny_bert: str):
    """The score is the log-probability of the word at the mask; "green" and "red cup" are no single tokens."""
    torch = pytest.importorskip("torch")
    scorer = MaskedWordScorer(tiny_bert, batch_size=2)
    gaps = [
        Gap("a red cup on a table", 2, 5, ("blue", "green", "red", "red cup")),
        Gap("a red cup on a table", 14, 19, ("cup",)),
        Gap("a red cup", 2, 5, ("green",)),
        Gap("cups", 0, 3, ("table",)),
    ]
    rows = count_rows(scorer)
    scores = scorer.score_words(gaps)
    assert [list(words) for words in scores] == [["blue", "red"], ["cup"], [], ["table"]]
    assert sum(rows) == 3
    text = ["[CLS]", "a", "[MASK]", "cup", "on", "a", "table", "[SEP]"]
    with torch.inference_mode():
        logits = scorer.model(
            input_ids=torch.tensor([[WORDS.index(word) for word in text]])
        ).logits[0, 2]
    expected = logits.log_softmax(-1)
    assert_close(scores[0]["blue"], expected[WORDS.index("blue")].item(), within=1e-5)
    assert_close(scores[0]["red"], expected[WORDS.index("red")].item(), within=1e-5)
    # From the cache on disk.
    assert MaskedWordScorer(tiny_bert).score_words(gaps[::-1]) == scores[::-1]


def test_the_words_around_the_mask_are_read(tiny_bert: str):
    scorer = MaskedWordScorer(tiny_bert)
    scorer.tokenizer.model_max_length = 8
    caption = "a cup on a table " * 9
    assert (
        scorer.score_words([Gap(caption, len(caption) - 6, len(caption) - 1, ("cup",))])[0]["cup"]
        < 0
    )


def test_models_without_masks_score_whole_captions():
    gap = Gap("a cup", 2, 5, ("table", "mug", *"abcdefghijkl"))
    scores = score_by_caption(
        lambda texts: [len(text) for text in texts], {"mug", "l"}.__contains__
    )([gap])
    assert scores == [{"mug": 5, "l": 3, "table": 7} | dict.fromkeys("abcdefg", 3)]
    assert len(scores[0]) == MIN_WORDS


def count_rows(model: MaskedLM | MaskedWordScorer | EntailmentModel) -> list[int]:
    """Return a list to which every forward pass of the model appends its number of rows."""
    rows: list[int] = []
    model.model.register_forward_hook(
        lambda _module, _args, inputs, _output: rows.append(len(inputs["input_ids"])),
        with_kwargs=True,
    )
    return rows


def test_each_distinct_sentence_is_scored_once_and_in_batches_over_all_captions(tiny_bert: str):
    ranker = MaskedLM(tiny_bert, batch_size=4)
    rows = count_rows(ranker)
    captions = ["a red cup", "a table", "a red cup", "cup", "a table"]
    scores = ranker.score(captions)
    assert rows == [4, 2]  # 3 + 2 + 1 tokens
    assert scores[0] == scores[2]
    assert scores[1] == scores[4]
    assert ranker.score(captions[::-1]) == scores[::-1]
    assert MaskedLM(tiny_bert).score(captions) == scores  # from the cache on disk
    assert rows == [4, 2]


def test_a_killed_run_keeps_the_scores_of_finished_chunks(tiny_bert: str, monkeypatch):
    monkeypatch.setattr(score_cache, "CHUNK", 2)
    captions, ranker = ["a cup", "a table", "a red cup", "cup"], MaskedLM(tiny_bert)
    compute, calls = ranker._compute, []

    def fail_later(texts):
        if calls:
            raise KeyboardInterrupt
        calls.append(list(texts))
        return compute(texts)

    monkeypatch.setattr(ranker, "_compute", fail_later)
    with pytest.raises(KeyboardInterrupt):
        ranker.score(captions)
    resumed = MaskedLM(tiny_bert)
    rows = count_rows(resumed)
    assert len(resumed.score(captions)) == 4
    assert calls == [["a cup", "a table"]]
    assert rows == [4]  # "a red cup" and "cup"


def test_scores_of_other_weights_are_not_reused(tiny_bert: str, tmp_path: Path):
    first = MaskedLM(tiny_bert).score(["a red cup"])
    transformers = pytest.importorskip("transformers")
    model = transformers.AutoModelForMaskedLM.from_pretrained(tiny_bert)
    model.bert.embeddings.word_embeddings.weight.data.mul_(2)
    model.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(tmp_path)
    assert MaskedLM(str(tmp_path)).score(["a red cup"]) != first


def test_pairs_of_many_captions_are_compared_in_one_batch(tmp_path: Path):
    model = EntailmentModel(write_classifier(tmp_path))
    rows = count_rows(model)
    pairs = [(CAPTION, swap) for swap in SWAPS] + [("a cup", "a red cup"), (CAPTION, SWAPS[0])]
    logits = model.pair_logits(pairs)
    assert rows == [6]
    assert logits[0] == logits[-1]
    assert model.pair_logits(pairs[:5]) == logits[:5]
    assert rows == [6]


def test_only_masked_positions_are_compared_with_the_vocabulary(tiny_bert: str):
    ranker, shapes = MaskedLM(tiny_bert), []
    ranker.model.get_output_embeddings().register_forward_hook(
        lambda _module, _inputs, output: shapes.append(tuple(output.shape))
    )
    ranker.score(["a red cup"])
    assert shapes == [(3, len(WORDS))]


@pytest.mark.parametrize(
    ("cuda", "mps", "device"), [(True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")]
)
def test_models_run_on_the_fastest_device(monkeypatch, cuda: bool, mps: bool, device: str):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert language_models.find_device() == device
