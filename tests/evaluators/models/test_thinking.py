"""Models that think before they answer: behind an endpoint, in transformers, and in a stand-in of vLLM."""

import itertools
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from pytest_httpserver import HTTPServer
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators import models
from compeval.evaluators.models import checks, generated, thinking
from compeval.evaluators.models.endpoint import CUT_OFF, Answer
from compeval.evaluators.models.questions import Scoring
from tests.close import assert_close, count_terms
from tests.evaluators import tiny
from tests.evaluators.chat_server import ChatModel, serve
from tests.evaluators.tiny_vlms import write_vlm
from tests.evaluators.vllm_stand_in import StandIn

hf: Any = transformers
IMAGE = Image.new("RGB", (32, 24), "red")
CUT = "of 24 questions were cut off, since the model used its budget of tokens (setting think) before it answered"


def test_an_answer_that_was_cut_off_ranks_as_one_that_was_declined():
    from compeval.evaluators.engine.score import replace_cut_off

    encoder = SimpleNamespace(no_answer=-100.0, cut_off=generated.mark_cut_off(-100.0))
    assert encoder.cut_off != encoder.no_answer
    answer_IQ = np.array([[encoder.cut_off, -100.0, -0.5]])
    np.testing.assert_array_equal(replace_cut_off(encoder, answer_IQ), [[-100.0, -100.0, -0.5]])
    cut = Answer(refusal=CUT_OFF)
    assert generated.read_choice(cut, Scoring("choice", answers=("A", "B"))) == math.nextafter(
        0.5, 0
    )


# An endpoint


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Eight rows of an image and three captions."""
    return tiny.write_dataset(tmp_path / "data", {"prod_hnatom": {"n4": tiny.choice_rows(8, 2)}})


@pytest.fixture
def model() -> ChatModel:
    return ChatModel()


@pytest.fixture
def server(model: ChatModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with serve(model) as started:
        yield started


def run(server: HTTPServer, rows: Path, *more: str) -> Any:
    places = ["--data", str(rows), "--output", str(rows.parent / "results")]
    places += ["--task", "crepe/prod_hnatom/n4", "--base-url", server.url_for("/v1")]
    return CliRunner().invoke(app, ["run", "--model", "api:m", *places, "--json", *more])


def think_first(answer: dict[str, Any], *, separate: bool = False) -> dict[str, Any]:
    """Put thoughts before an answer, or into a field of their own, as a server with a parser of thoughts does."""
    choice = answer["choices"][0]
    message, thoughts = choice["message"], ["<think>", "Yes", " or", " no", "</think>", "\n\n"]
    if separate:
        message["reasoning_content"] = "Yes or no"
    else:
        message["content"] = "".join(thoughts) + message["content"]
    if "logprobs" in choice:
        other = [{"token": "other", "logprob": -0.01}]
        listed = [{"token": token, "logprob": -0.01, "top_logprobs": other} for token in thoughts]
        choice["logprobs"]["content"] = listed + choice["logprobs"]["content"]
    return answer


def cut_off(answer: dict[str, Any], *, separate: bool = False) -> dict[str, Any]:
    """Cut a thinking model's answer off before the end of its thoughts."""
    choice = think_first(answer, separate=separate)["choices"][0]
    choice["finish_reason"] = "length"
    choice["message"]["content"] = "" if separate else "<think>Yes or"
    if "logprobs" in choice:
        choice["logprobs"]["content"] = choice["logprobs"]["content"][:3]
    return answer


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("log_probabilities", [True, False])
def test_an_endpoint_that_thinks_scores_as_one_that_does_not(
    server: HTTPServer, model: ChatModel, rows: Path, separate: bool, log_probabilities: bool
):
    model.log_probabilities = log_probabilities
    plain = json.loads(run(server, rows).stdout)[0]
    (rows.parent / "results").rename(rows.parent / "plain")
    model.change = lambda answer: think_first(answer, separate=separate)
    done = run(server, rows, "--setting", "think=100")
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)[0]
    assert result["metrics"] == plain["metrics"]
    assert result["metrics"]["recall@1"] == 1
    assert result["model"]["scoring"] == plain["model"]["scoring"] | {"think": 100}
    assert "and at most 2,784 out" in done.stderr or not log_probabilities  # 24 x (100 + 16)


@pytest.mark.parametrize("separate", [False, True])
def test_what_is_cut_off_is_counted_and_scores_as_no(
    server: HTTPServer, model: ChatModel, rows: Path, separate: bool
):
    numbers = itertools.count()  # the first request tells if there are log-probabilities

    def change(answer: dict[str, Any]) -> dict[str, Any]:
        is_cut = next(numbers) % 4 == 3
        return cut_off(answer, separate=separate) if is_cut else think_first(answer)

    model.change = change
    done = run(server, rows, "--setting", "think=50")
    assert done.exit_code == 0, done.output
    (warning,) = json.loads(done.stdout)[0]["warnings"]
    assert warning == f"6 {CUT}: they score as no, or half."
    assert "cut off" in " ".join(
        CliRunner().invoke(app, ["show", str(rows.parent / "results/microworld/m")]).output.split()
    )


def test_a_model_that_is_always_cut_off_has_no_score(
    server: HTTPServer, model: ChatModel, rows: Path
):
    model.change = cut_off
    result = json.loads(run(server, rows, "--setting", "think=5").stdout)[0]
    assert result["metrics"]["recall@1"] == 0
    assert result["metrics"]["tie_rate"] == 1
    assert result["warnings"][0].startswith(f"24 {CUT}")


@pytest.mark.parametrize("separate", [False, True])
def test_a_model_that_thinks_without_a_budget_is_one_clear_message(
    server: HTTPServer, model: ChatModel, rows: Path, separate: bool
):
    model.change = lambda answer: cut_off(answer, separate=separate)
    done = run(server, rows)
    assert done.exit_code == 2
    assert "If it thinks first, give it a budget of tokens: --setting think=1024." in " ".join(
        done.stderr.split()
    )


# transformers


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Qwen2.5-VL whose template opens the thoughts."""
    path = write_vlm("qwen2.5-vl", tmp_path_factory.mktemp("vlm") / "qwen")
    network: Any = hf.AutoModelForImageTextToText.from_pretrained(path)
    processor: Any = hf.AutoProcessor.from_pretrained(path)
    processor.tokenizer.add_tokens(["<think>", "</think>"])
    processor.chat_template = processor.chat_template.replace(
        "<start> assistant {% endif %}", "<start> assistant <think>\n{% endif %}"
    )
    network.resize_token_embeddings(len(processor.tokenizer))
    network.save_pretrained(path)
    processor.save_pretrained(path)
    return path


def load_library(folder: Path) -> tuple[Any, Any]:
    """Return the network of a folder and its processor, as the library loads them."""
    network: Any = hf.AutoModelForImageTextToText.from_pretrained(folder)
    return network.eval(), hf.AutoProcessor.from_pretrained(folder)


def write_thoughts(folder: Path, texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the model of a folder generate these texts, in this order, in place of its own."""
    remaining = iter(texts)
    network, processor = load_library(folder)

    def generate(self: Any, *, input_ids: torch.Tensor, **options: Any) -> torch.Tensor:
        rows = [processor.tokenizer.encode(next(remaining)) for _ in input_ids]
        width = max(map(len, rows))
        padded = torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])
        return torch.cat([input_ids, padded], dim=1)

    monkeypatch.setattr(type(network), "generate", generate)


def test_the_answer_after_the_thoughts_is_scored_as_the_library_does(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    model = models.load_model(f"vlm:{folder}?think=8")
    encoder: Any = model.encoder
    texts = [
        "a red ball </think> Yes",
        "</think> No",
        "a a a a a a a a a </think> Yes",
        "red </think> </s>",
    ]
    write_thoughts(folder, texts, monkeypatch)
    picture = encoder.preprocess(IMAGE)
    # Of equal length, so that they are one batch.
    captions = [
        "a dog",
        "a box",
        "a ball",
        "a table",
    ]
    scores = encoder.score([picture] * 4, captions)
    network, processor = load_library(folder)
    expected = []
    for caption, thoughts in (("a dog", "a red ball </think>"), ("a box", "</think>")):
        inputs = encoder.process(IMAGE, caption)
        more = processor.tokenizer(thoughts, return_tensors="pt")["input_ids"]
        ids = torch.cat([inputs["input_ids"], more], dim=1)
        given = {key: value for key, value in inputs.items() if key.startswith(("pixel", "image"))}
        types = (ids == network.config.image_token_id).long()
        with torch.no_grad():
            logits = network(
                input_ids=ids, attention_mask=torch.ones_like(ids), mm_token_type_ids=types, **given
            ).logits[0, -1]
        words = [processor.tokenizer.convert_tokens_to_ids(word) for word in ("Yes",)]
        expected.append(float(logits.double().log_softmax(dim=0)[words].logsumexp(dim=0)))
    assert_close(
        scores[:2], np.array(expected), size=1, dtype=np.float32, summed=count_terms(network)
    )
    assert scores[2] == encoder.cut_off  # nine tokens of thoughts, the budget is eight
    assert scores[3] == encoder.no_answer
    assert model.scoring is not None
    assert model.scoring["think"] == 8


def test_generation_stops_when_the_answer_begins(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The model is made to end its thoughts at once and to answer Yes then, and to think forever."""
    network, processor = load_library(folder)
    close, yes = (processor.tokenizer.convert_tokens_to_ids(word) for word in ("</think>", "Yes"))
    biases = {
        "answers": [[[close], 500.0], [[close, yes], 1000.0]],
        "thinks": [[[close], -500.0]],
    }
    kind = type(network)
    generate = kind.generate
    texts: list[list[int]] = []

    def record(self: Any, *, input_ids: torch.Tensor, **options: Any) -> torch.Tensor:
        token_BL = generate(self, input_ids=input_ids, **options)
        texts.append(token_BL[0, input_ids.shape[1] :].tolist())
        return token_BL

    monkeypatch.setattr(kind, "generate", record)
    scores = []
    for name, bias in biases.items():
        network.generation_config.sequence_bias = bias
        network.save_pretrained(tmp_path / name)
        processor.save_pretrained(tmp_path / name)
        encoder: Any = models.load_model(f"vlm:{tmp_path / name}?think=64").encoder
        scores += list(encoder.score([encoder.preprocess(IMAGE)], ["a dog"]))
    assert texts[0] == [close, yes]
    assert encoder.cut_off < scores[0] < 0
    assert scores[1] == encoder.cut_off
    assert len(texts[1]) <= 64 + thinking.BLANKS


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            "",
            "the model thinks before it answers. Give it a budget of tokens: --setting think=1024",
        ),
        ("?think=much", "think is 'much', expected a number of tokens, for example 1024"),
    ],
)
def test_a_budget_that_is_missing_or_wrong(folder: Path, settings: str, message: str):
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        models.load_model(f"vlm:{folder}{settings}")


@pytest.mark.parametrize(
    ("token", "warning"),
    [
        ("<think>", "The model begins its answers with '<think>', not with Yes or No"),
        ("red", "The model begins its answers with 'red', not with Yes or No"),
        ("Yes", None),
        (None, None),
    ],
)
def test_an_answer_that_does_not_come_first_is_a_warning(
    token: str | None, warning: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The template opens no thoughts, so that only the model's first token shows that it does not answer at once."""
    path = write_vlm("qwen2.5-vl", tmp_path / "qwen")
    processor: Any = hf.AutoProcessor.from_pretrained(path)
    processor.tokenizer.add_tokens(["<think>"])
    processor.save_pretrained(path)
    network: Any = hf.AutoModelForImageTextToText.from_pretrained(path)
    network.resize_token_embeddings(len(processor.tokenizer))
    network.save_pretrained(path)
    forward = type(network).forward

    def prefer(self: Any, *arguments: Any, **options: Any) -> Any:
        output = forward(self, *arguments, **options)
        if token is not None:
            output.logits[..., processor.tokenizer.convert_tokens_to_ids(token)] += 1000
        return output

    monkeypatch.setattr(type(network), "forward", prefer)
    warnings = models.load_model(f"vlm:{path}").warnings
    assert len(warnings) == (warning is not None)
    assert warning is None or warnings[0].startswith(warning)


def test_a_model_without_a_chat_template_cannot_think(tmp_path: Path):
    with pytest.raises(ValueError, match="the setting think is for models with a chat template"):
        models.load_model(f"vlm:{write_vlm('blip-2-opt', tmp_path / 'blip')}?think=8")


# vLLM


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setitem(sys.modules, "vllm", stand_in.module)
    return stand_in


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "model" / "model.safetensors").write_bytes(b"weights")
    return tmp_path / "model"


def run_vllm(weights: Path, rows: Path, *more: str) -> Any:
    places = ["--data", str(rows), "--output", str(rows.parent / "results")]
    arguments = ["run", f"vlm:{weights}@vllm", *places, "--task", "crepe/prod_hnatom/n4", "--json"]
    return CliRunner().invoke(app, [*arguments, *more])


def test_a_model_in_vllm(vllm: StandIn, weights: Path, rows: Path):
    done = run_vllm(weights, rows)
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)[0]
    assert result["metrics"]["recall@1"] == 1
    assert result["model"]["scoring"]["engine"] == "vllm 0.0-stand-in"
    assert vllm.options["model"] == str(weights)
    assert vllm.options["dtype"] == "float32"
    assert vllm.options["limit_mm_per_prompt"] == {"image": 1}
    assert vllm.options["trust_remote_code"] is False
    first, second = (models.load_model(f"vlm:{weights}@vllm").fingerprint for _ in range(2))
    assert first == second
    (weights / "model.safetensors").write_bytes(b"others")
    assert models.load_model(f"vlm:{weights}@vllm").fingerprint != first


def test_yes_in_vllm_is_the_sum_of_its_spellings(vllm: StandIn, weights: Path):
    encoder: Any = models.load_model(f"vlm:{weights}@vllm?max_model_len=512").encoder
    scores = encoder.score([Image.new("RGB", (8, 8), "red")] * 2, ["a red ball", "a blue ball"])
    assert_close(scores, [math.log(math.exp(-0.3) + math.exp(-2.0)), -3.5])
    assert vllm.options["max_model_len"] == 512
    assert vllm.parameters == {
        "temperature": 0,
        "max_tokens": 4,
        "logprobs": 20,
        "skip_special_tokens": False,
    }


def test_a_choice_in_vllm(vllm: StandIn, weights: Path, rows: Path):
    result = json.loads(run_vllm(weights, rows, "--setting", "scoring=choice").stdout)[0]
    assert (result["metrics"]["recall@1"], result["metrics"]["circular_accuracy"]) == (1, 1)
    assert result["model"]["name"] == "model@choice"


def test_a_thinking_model_in_vllm_and_its_budget(vllm: StandIn, weights: Path, rows: Path):
    vllm.thoughts = "Is it red ? Is it blue ?"
    refused = run_vllm(weights, rows)
    assert refused.exit_code == 2
    assert "Give it a budget of tokens: --setting think=1024." in " ".join(refused.stderr.split())
    full = json.loads(run_vllm(weights, rows, "--setting", "think=10").stdout)[0]
    assert full["metrics"]["recall@1"] == 1
    assert not full["warnings"]
    cut = json.loads(run_vllm(weights, rows, "--setting", "think=6", "--name", "cut").stdout)[0]
    assert cut["metrics"]["recall@1"] == 0
    assert cut["warnings"][0].startswith(f"24 {CUT}")


def test_a_caption_cannot_add_an_image_in_vllm(vllm: StandIn, weights: Path):
    encoder: Any = models.load_model(f"vlm:{weights}@vllm").encoder
    encoder.score([Image.new("RGB", (8, 8), "red")], ["a red <image>"])
    assert 'show "a red < image>"' in vllm.questions[-1]


def test_vllm_that_is_not_installed_or_gets_wrong_settings(
    weights: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(ModuleNotFoundError, match="pip install vllm"):
        models.load_model(f"vlm:{weights}@vllm")
    with pytest.raises(ValueError, match="expected numbers for think, tensor_parallel_size"):
        models.load_model(f"vlm:{weights}@vllm?think=much")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        checks.check_name("vlm:/nowhere@vllm")
