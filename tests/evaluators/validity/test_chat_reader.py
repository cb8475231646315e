"""Tests of the chat model as a text-only baseline, with a server that returns right, wrong and unreadable answers."""

import json
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from compeval.base.schemas.rows import CHOICE_SCHEMA
from compeval.base.storage.dataset import write_config
from compeval.base.text_only.baselines import RetrievalSets
from compeval.evaluators.validity import chat_reader, text_only_aro
from compeval.evaluators.validity.chat_reader import (
    EXAMPLES,
    build_messages,
    format_question,
    read_choice,
    shuffle_captions,
)
from compeval.generators.llm.client import KEY_VARIABLE, Cache
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from compeval.loaders.papers.figures import figures
from tests.close import assert_close
from tests.evaluators.validity.test_text_only_aro import make_row
from tests.generators.llm_answers import KEY, completion

OPTIONS = figures("aro")["options"]
FIVE = [f"caption number {number}" for number in range(5)]


@pytest.mark.parametrize(
    ("answer", "choice"),
    [
        ("B", 1),
        (" (C)", 2),
        ("**D**.", 3),
        ("Answer: B", 1),
        ("The most likely one is E, since the others are not English.", 4),
        ("The answer is B because it is fluent.", 1),
        ("A. caption number 0", 0),
        ("D\nIt is the only sentence.", 3),
        ('It is "Caption number 2".', 2),
        ("F", None),
        ("A or B: both are fluent. A. B.", None),
        ("A photo is needed to tell.", None),
        ("caption number 1, or caption number 2", None),
        ("I cannot know.", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_choice_is_read_from_the_answer(answer: str, choice: int | None):
    assert read_choice(answer, FIVE) == choice


def test_shuffle_is_deterministic_and_the_true_caption_can_be_anywhere():
    positions = [
        shuffle_captions([f"true {number}", "false"]).index(f"true {number}")
        for number in range(400)
    ]
    assert positions == [
        shuffle_captions([f"true {number}", "false"]).index(f"true {number}")
        for number in range(400)
    ]
    assert 160 <= sum(positions) <= 240  # 400 fair coins: within 4 standard deviations of 200


@pytest.mark.parametrize("config", OPTIONS)
def test_worked_examples_match_the_config(config: str):
    first, second = EXAMPLES[config]
    assert first["answer"] != second["answer"], "no letter is right in both"
    for example in (first, second):
        assert len(set(example["captions"])) == OPTIONS[config]
        assert len({tuple(sorted(caption.split())) for caption in example["captions"]}) == 1, (
            "the same words"
        )
    request = build_messages(config, ["x", "y"])
    assert [message["role"] for message in request] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert request[-1]["content"] == format_question(["x", "y"])
    assert request[1]["content"] == first["answer"]


@pytest.fixture
def sets_of_four(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Working directory with four rows of VG-Relation, in which "caption N" is true and "N caption" is false."""
    write_config(
        tmp_path / "aro",
        "vg_relation",
        {"test": [make_row(number) for number in range(4)]},
        CHOICE_SCHEMA,
    )
    write_card(tmp_path / "aro", {}, "", measure(tmp_path / "aro"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    return tmp_path


def write_params(folder: Path, server: HTTPServer) -> None:
    chat = {"model": "m", "base_url": server.url_for("/v1"), "price_in": 1, "price_out": 1}
    params = {"text_only": {"model": None}, "text_only_aro": {"rows": 9, "chat": chat}}
    (folder / "params.yaml").write_text(json.dumps(params), encoding="utf-8")


def test_answers_right_wrong_and_unreadable(sets_of_four: Path, httpserver: HTTPServer):
    def answer(request: Request) -> Response:
        body = json.loads(request.data)
        assert (body["temperature"], body["max_tokens"]) == (0.0, 16)
        question = body["messages"][-1]["content"]
        right = "A" if "A. caption" in question else "B"
        number = next(number for number in range(4) if f"caption {number}" in question)
        wrong = "A" if right == "B" else "B"
        return Response(
            json.dumps(completion([right, f"({right})", wrong, "Both."][number])),
            mimetype="text/json",
        )

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer)
    write_params(sets_of_four, httpserver)
    with pytest.raises(ValueError, match=r"above --max-cost 0\.00\. No request was sent"):
        text_only_aro.main(ask_model=True)
    text_only_aro.main(ask_model=True, max_cost=1.0)
    text_only_aro.main(ask_model=True, max_cost=1.0)
    assert len(httpserver.log) == 4, "cached answers are not requested again"
    (sets_of_four / "data").mkdir()
    (sets_of_four / "data" / "llm").symlink_to(sets_of_four / "sample" / "llm")
    text_only_aro.main()
    results = json.loads((sets_of_four / "text_only_aro.json").read_text(encoding="utf-8"))[
        "vg_relation"
    ]["chat"]
    # Answers 0 and 1 are right, 2 is wrong, 3 is unreadable. Rows 0 and 1 share an image, as do rows 2 and 3, so
    # these are two images with one hit: Wilson's interval of 1 of 2.
    low, high = results["interval"]
    assert_close((low, high), (0.0945, 0.9055), within=5e-5)
    assert results == {
        "model": "m",
        "asked": 4,
        "unreadable": 1,
        "recall@1": 0.5,
        "interval": [low, high],
        "published": 0.9,
    }
    assert "| vg_relation | 4 | 50.0% | m | 50.0% (9.5% to 90.5%) | 90% | 1 |" in (
        sets_of_four / "text_only_aro.md"
    ).read_text(encoding="utf-8")


def test_without_an_endpoint_no_request_is_sent(sets_of_four: Path):
    (sets_of_four / "params.yaml").write_text(
        "{text_only: {model: null}, text_only_aro: {rows: 9, chat: {}}}", encoding="utf-8"
    )
    with pytest.raises(ValueError, match=r"text_only_aro\.chat: no endpoint"):
        text_only_aro.main(ask_model=True)
    text_only_aro.main()
    assert (
        json.loads((sets_of_four / "text_only_aro.json").read_text(encoding="utf-8"))[
            "vg_relation"
        ]["chat"]
        is None
    )
    assert "chat model" not in (sets_of_four / "text_only_aro.md").read_text(encoding="utf-8")


def test_a_missing_key_is_reported_before_the_sets_are_read(
    sets_of_four: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv(KEY_VARIABLE)
    write_params(sets_of_four, httpserver)
    monkeypatch.setattr(text_only_aro, "read_config", lambda *_: pytest.fail("sets are read"))
    with pytest.raises(ValueError, match=r"OPENAI_API_KEY is not set"):
        text_only_aro.main(ask_model=True, max_cost=1.0)


def test_sets_without_a_cached_answer_are_not_counted():
    sets = RetrievalSets([("a b", "b a")], ["1"])
    assert (
        chat_reader.measure(
            "vg_relation", sets, chat_reader.read_endpoint({"model": "m"}), Cache([])
        )
        is None
    )
