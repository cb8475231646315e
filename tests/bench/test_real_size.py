"""Stand-ins of the language models, and the measurement of the stages with them."""

import json
from pathlib import Path

import pytest
import yaml

from bench import real_size
from bench.real_size import CACHE, STAGES, Usage, count_scored_texts, list_needed, write_params
from bench.stand_in_models import FULL, SMALL, list_words, write_language_models
from compeval.base.text_only.gaps import Gap
from compeval.base.text_only.language_models import EntailmentModel, MaskedWordScorer

CAPTIONS = ["a dog on a red sofa", "two dogs near a car", "the sky is blue."]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return write_language_models(tmp_path_factory.mktemp("models") / "new", CAPTIONS, SMALL)


def test_foils_follow_the_words_of_the_captions() -> None:
    words = list_words(CAPTIONS)
    assert words[0] == "a"
    assert {"dog", "dogs", "sofa"} <= set(words[:13])  # the captions have 13 different words
    assert {"truck", "green"} <= set(words[13:])


def test_words_are_single_tokens_and_no_pair_is_an_entailment(
    models: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPEVAL_CACHE", str(tmp_path / CACHE))
    gap = Gap("a dog on a red sofa", 2, 5, ("car", "truck", "dogs", "qzqz"))
    (scores,) = MaskedWordScorer(models["ranker"]).score_words([gap])
    assert scores.keys() == {"car", "truck", "dogs"}
    classifier = EntailmentModel(models["entailment"])
    assert classifier.predict_entailment("a dog", ["a dog", "a cat"]) == [False, False]
    assert count_scored_texts(tmp_path) == 3  # a gap and two pairs


def test_full_models_have_the_sizes_of_bert_base_and_roberta_large() -> None:
    """110 and 355 million weights."""
    import torch
    from transformers import (
        BertConfig,
        BertForMaskedLM,
        RobertaConfig,
        RobertaForSequenceClassification,
    )

    with torch.device("meta"):
        bert = BertForMaskedLM(BertConfig(**FULL["bert"]))
        roberta = RobertaForSequenceClassification(RobertaConfig(**FULL["roberta"]))
    assert round(sum(weight.numel() for weight in bert.parameters()) / 1e6) == 110
    assert round(sum(weight.numel() for weight in roberta.parameters()) / 1e6) == 355


def test_parameters_are_those_of_the_paper(tmp_path: Path) -> None:
    write_params(tmp_path, {}, None)
    plain = yaml.safe_load((tmp_path / "params.yaml").read_text(encoding="utf-8"))
    assert plain["rules"] == "paper"
    assert plain["crepe_systematicity"]["ranker"] == "statistics"
    assert (plain["crepe_productivity"]["rows"], plain["captioned_walks"]["walks"]) == (2250, 2500)
    write_params(tmp_path, {"ranker": "r", "entailment": "e"}, 7)
    few = yaml.safe_load((tmp_path / "params.yaml").read_text(encoding="utf-8"))
    assert few["crepe_systematicity"]["ranker"] == "r"
    assert few["crepe_productivity"] == plain["crepe_productivity"] | {
        "entailment": "e",
        "rows": 7,
    }
    assert few["captioned_walks"]["walks"] == 7


def test_a_stage_needs_those_whose_output_it_reads() -> None:
    by_name = {stage.name: stage for stage in STAGES}
    assert list_needed([by_name["systematicity"], by_name["aro"]]) == {
        "annotations",
        "parsed_regions",
        "regions",
        "seen",
        "systematicity",
        "annotations_gqa",
        "aro",
    }
    for index, stage in enumerate(STAGES):
        assert {*stage.needs} <= {earlier.name for earlier in STAGES[:index]}


def test_projection_is_the_line_through_both_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    """10 s and 1 s per 100 images: 10 + 1 * 1,080.77 - 1 = 1,089.77 s = 0.30 h; texts: 20 per 100 images."""
    stage = STAGES[0]
    usages = {100: Usage(10, 20, 10**9, 20), 200: Usage(11, 40, 10**9, 40)}
    real_size.print_slopes(stage, usages)
    (line,) = capsys.readouterr().out.splitlines()
    assert "2.0 x images     1.10 x        2.00 x" in line
    assert "all 108,077 images: 0.30 h, 6.00 CPU h, 1.0 GB, 21,615 texts" in line


def test_small_models_count_the_texts_of_a_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The annotations need no model; the models are written for the phrases of the folder."""
    monkeypatch.setattr(real_size, "CAPTIONS", 50)
    stage = STAGES[0]
    ((measured, usage),) = real_size.measure_stages(tmp_path, 2, [stage], "small", 3)
    assert (measured, usage.texts) == (stage, 0)
    assert usage.cpu_seconds > 0
    phrases = json.loads(
        (tmp_path / "sources/visual_genome/region_descriptions.json").read_text("utf-8")
    )
    vocabulary = (tmp_path / "models/bert/vocab.txt").read_text(encoding="utf-8").split("\n")
    assert len(vocabulary) == 30_522
    first = phrases[0]["regions"][0]["phrase"].split()[0].lower()
    assert first in vocabulary
