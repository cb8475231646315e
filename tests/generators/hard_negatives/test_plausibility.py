import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from generators.hard_negatives.foils import Foil, HardNegative
from generators.hard_negatives.plausibility import UNKNOWN, CausalLM, CorpusStatistics, MaskedLM, best, language_model

CAPTIONS = ["a red cup on a table", "a red cup", "a green tree", "a cup on a box"]


def negative(caption: str, original: str, replacement: str) -> HardNegative:
    return HardNegative(caption, (Foil("object", original, replacement),))


class Lengths:
    """A ranker that likes long captions."""

    def score(self, captions: Sequence[str]) -> list[float]:
        return [float(len(caption)) for caption in captions]


def test_statistics_prefer_what_the_source_says():
    statistics = CorpusStatistics.of(CAPTIONS)
    usual, odd, unknown = statistics.score(["a red cup", "a green cup", "a red zeppelin"])
    assert usual > odd > unknown


def test_one_unknown_word_weighs_more_than_any_known_ones():
    statistics = CorpusStatistics.of(CAPTIONS)
    known, one, two = statistics.score(["tree box green", "a red zeppelin", "a mauve zeppelin"])
    assert known > one + UNKNOWN / 2 > two + UNKNOWN


def test_statistics_by_hand():
    """One caption "cup": (<s>, cup) follows once, and 1 x 1 / 1 = 1 was expected by chance: log(1.1 / 2); no pairs."""
    assert CorpusStatistics.of(["cup"]).score(["Cup!", ""]) == [pytest.approx(math.log(1.1 / 2)), 0.0]


def test_best_takes_the_highest_scores_and_earlier_ones_on_ties():
    candidates = [negative("bb", "x", "b"), negative("ccc", "y", "c"), negative("aa", "z", "a")]
    assert best(candidates, 2, Lengths()) == (candidates[1], candidates[0])


def test_best_is_exactly_k_or_nothing():
    candidates = [negative("a", "x", "a"), negative("b", "x", "b")]
    assert best(candidates, 3, Lengths()) is None
    assert best(candidates, 2, Lengths()) == tuple(candidates)
    assert best([], 0, Lengths()) == ()


def test_best_spreads_over_the_atoms_of_the_caption():
    """Of four, two may replace the same atom; the best of the other atoms follow, before a third."""
    same = [negative("long" * size, "cup", str(size)) for size in (9, 8, 7, 6)]
    others = [negative("short", "table", "x"), negative("tiny", "red", "y")]
    assert best([*same, *others], 4, Lengths()) == (*same[:2], *others)
    assert best([*same, others[0]], 4, Lengths()) == (*same[:3], others[0])


def test_best_spreads_over_the_new_words():
    """Of two compound foils one may have the word "bus"."""
    pairs = [("red", "bus"), ("blue", "bus"), ("green", "car")]
    candidates = [
        HardNegative(
            f"{color} {noun}" + " " * (9 - at), (Foil("attribute", f"{at}", color), Foil("object", f"{at}", noun))
        )
        for at, (color, noun) in enumerate(pairs)
    ]
    assert best(candidates, 2, Lengths()) == (candidates[0], candidates[2])


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
