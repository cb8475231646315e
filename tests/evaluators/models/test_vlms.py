"""Compare generative models with the forward pass of their library, on folders of random weights."""

import inspect
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
import transformers as hf
from PIL import Image
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators import models
from compeval.evaluators.models import generative
from tests.close import assert_close, count_terms
from tests.evaluators import tiny
from tests.evaluators.tiny_vlms import FAMILIES, ID, num2words_installed

Folders = Callable[[str], Path]
CACHED = ("qwen2.5-vl", "qwen3-vl", "internvl", "llava-onevision", "smolvlm", "gemma3")
RAW = {"paligemma": "<image>answer en {}", "blip-2": "Question: {} Answer:", "instructblip": "{}"}
QUESTION = 'Does this figure show "{}"? Please answer yes or no.'


@pytest.fixture(scope="module", autouse=True)
def _num2words():
    with num2words_installed():
        yield


def run(spec: str, data: Path, output: Path) -> tuple[dict[str, Any], Any]:
    """Evaluate a model by the spec that a user would type. Returns the result and the table of examples."""
    arguments = [
        "run",
        "--model",
        spec,
        "--data",
        str(data),
        "--output",
        str(output),
        "--name",
        "vlm",
        "--json",
    ]
    done = CliRunner().invoke(app, [*arguments, "--task", "crepe/prod_hnatom/n4"])
    assert done.exit_code == 0, done.output
    (result,) = json.loads(done.stdout)
    return result, pq.read_table(
        output / "microworld" / "vlm" / "crepe" / "prod_hnatom" / "n4.parquet"
    )


class Library:
    """A model of transformers, called in the library's own way: one prompt, one forward pass."""

    def __init__(self, folder: Path) -> None:
        kind: Any = hf.AutoModelForImageTextToText
        self.model: Any = kind.from_pretrained(folder).eval()
        self.processor: Any = hf.AutoProcessor.from_pretrained(folder)

    def probabilities(self, image: Image.Image, question: str) -> torch.Tensor:
        """Return the probabilities of the next token."""
        family = self.model.config.model_type
        if family in RAW:
            inputs = self.processor(
                images=image, text=RAW[family].format(question), return_tensors="pt"
            )
        else:
            content = [{"type": "image", "image": image}, {"type": "text", "text": question}]
            inputs = self.processor.apply_chat_template(
                [{"role": "user", "content": content}],
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
            )
        inputs.pop("labels", None)
        if (
            hasattr(self.model, "language_model")
            and self.model.language_model.config.is_encoder_decoder
        ):
            inputs["decoder_input_ids"] = torch.tensor([[0]])
        with torch.no_grad():
            return self.model(**inputs).logits[0, -1].softmax(dim=0)


def get_rounding(model: torch.nn.Module) -> dict[str, Any]:
    """Return the arguments of ``assert_close`` for probabilities and their logarithms, computed from logits near 1."""
    return {"size": 1, "dtype": np.float32, "summed": count_terms(model)}


FAST = ("qwen2.5-vl", "qwen3-vl", "internvl", "paligemma", "blip-2-opt")


@pytest.mark.parametrize(
    ("family", "count"),
    [
        *((family, 5) for family in FAST),
        *(pytest.param(family, 40, marks=pytest.mark.acceptance) for family in FAMILIES),
    ],
)
def test_rows_score_as_the_library_does_caption_by_caption(
    family: str, count: int, vlm_folder: Folders, tmp_path: Path
):
    data = tiny.write_varied_rows(tmp_path / "data", count)
    result, examples = run(f"vlm:{vlm_folder(family)}", data, tmp_path / "results")
    scoring = result["model"]["scoring"]
    yes = "yes" if family == "paligemma" else "Yes"
    assert (scoring["method"], scoring["question"], scoring["answers"][0]) == ("yes", QUESTION, yes)
    assert (scoring["no_prefix_cache"] is None) == (family in CACHED)
    assert not result["warnings"]
    library = Library(vlm_folder(family))
    rows = tiny.read_rows(data)
    assert len(rows) == examples.num_rows == count
    expected = [
        [
            float(library.probabilities(row["pixels"], QUESTION.format(caption))[ID[yes]].log())
            for caption in (row["caption"], *row["hard_negatives"])
        ]
        for row in rows
    ]
    scores = np.array(examples["scores"].to_pylist())
    assert_close(scores, np.array(expected), **get_rounding(library.model))
    assert np.std(expected, axis=1).min() > 0  # captions matter
    assert np.std(np.array(expected)[:, 0]) > 1e-3


def test_a_choice_between_two_captions_in_both_orders(vlm_folder: Folders, tmp_path: Path):
    folder = vlm_folder("qwen2.5-vl")
    question = "Which caption describes this image?\nA: {}\nB: {}\nPlease answer A or B."
    data = tmp_path / "data"
    rows = [
        tiny.row(number, color, "ball", [name for name in tiny.COLORS if name != color][:2])
        for number, color in enumerate(tiny.COLORS)
    ]
    tiny.write_dataset(data, {"prod_hnatom": {"n4": rows}})
    result, examples = run(f"vlm:{folder}?scoring=choice", data, tmp_path / "results")
    assert result["model"]["scoring"]["method"] == "choice"
    assert result["model"]["scoring"]["question"] == question
    library = Library(folder)

    def first(pixels: Image.Image, one: str, other: str) -> float:
        probability = library.probabilities(pixels, question.format(one, other))
        return float(probability[ID["A"]] / (probability[ID["A"]] + probability[ID["B"]]))

    answers, expected = [], []
    for row in tiny.read_rows(data):
        texts = [row["caption"], *row["hard_negatives"]]
        chosen = {
            (a, b): first(row["pixels"], texts[a], texts[b])
            for a in range(3)
            for b in range(3)
            if a != b
        }
        answers.append(chosen)
        # A caption is compared with two others, in two orders: the mean of four probabilities.
        expected.append(
            [sum(chosen[a, b] + 1 - chosen[b, a] for b in range(3) if b != a) / 4 for a in range(3)]
        )
    scores = np.array(examples["scores"].to_pylist())
    assert_close(scores, np.array(expected), **get_rounding(library.model))
    firsts = [value > 0.5 for chosen in answers for value in chosen.values()]
    flips = [
        (chosen[a, b] > 0.5) == (chosen[b, a] > 0.5)
        for chosen in answers
        for a in range(3)
        for b in range(a)
    ]
    assert_close(result["position_bias"]["first"], np.mean(firsts))
    assert_close(result["position_bias"]["flipped"], np.mean(flips))
    always = [all(chosen[0, b] > 0.5 > chosen[b, 0] for b in (1, 2)) for chosen in answers]
    assert result["metrics"]["circular_accuracy"] == np.mean(always)


def test_a_batch_that_does_not_fit_is_halved_and_scores_the_same(
    vlm_folder: Folders, monkeypatch: Any
):
    encoder: Any = models.load_model(f"vlm:{vlm_folder('qwen3-vl')}").encoder
    pictures = [
        encoder.preprocess(Image.new("RGB", (20, 30), color))
        for color in ("red", "blue")
        for _ in "123"
    ]
    texts = ["a red ball", "a blue ball on a table", "a dog"] * 2
    expected = encoder.score(pictures, texts)
    network = Library(vlm_folder("qwen3-vl")).model
    forward = type(network).forward
    sizes = []

    def limited(*arguments: Any, **options: Any) -> Any:
        sizes.append(len(options["input_ids"]))
        if sizes[-1] > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(*arguments, **options)

    limited.__signature__ = inspect.signature(forward)  # pyright: ignore[reportFunctionMemberAccess]
    monkeypatch.setattr(type(network), "forward", limited)
    assert_close(encoder.score(pictures, texts), expected, **get_rounding(network))
    assert max(sizes) > 2  # 16 prompts per batch, then 8, 4 and 2
    sizes.clear()
    encoder.score(pictures, texts)
    assert max(sizes) <= 2


def test_prompts_of_like_length_are_in_one_batch(
    vlm_folder: Folders, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(generative.PROMPTS_PER_BATCH, "cpu", 2)
    encoder: Any = models.load_model(f"vlm:{vlm_folder('internvl')}").encoder
    picture = encoder.preprocess(Image.new("RGB", (20, 30), "red"))
    short = "a dog"
    long = "a dog on a red table beside two boxes"
    tokens = []
    for texts in ([short, short, long, long], [short, long, short, long]):
        before = encoder.num_tokens
        encoder.score([picture] * 4, texts)
        tokens.append(encoder.num_tokens - before)
    assert tokens[0] == tokens[1]


def test_a_caption_cannot_add_an_image(vlm_folder: Folders):
    encoder: Any = models.load_model(f"vlm:{vlm_folder('internvl')}").encoder
    pictures = [encoder.preprocess(Image.new("RGB", (20, 30), "red"))] * 2
    assert "< image>" in encoder.prompt("a <image> ball")
    scores = encoder.score(pictures, ["a <image> ball", "a < image> ball"])
    assert np.isfinite(scores).all()
    rounding = get_rounding(Library(vlm_folder("internvl")).model)
    assert_close(scores[0], scores[1], **rounding)


def test_a_prefix_cache_that_changes_scores_is_given_up_with_a_warning(
    vlm_folder: Folders, monkeypatch: pytest.MonkeyPatch
):
    plain = models.load_model(f"vlm:{vlm_folder('internvl')}")
    run_rests = generative.run_rests
    monkeypatch.setattr(generative, "run_rests", lambda *arguments: 1.1 * run_rests(*arguments))
    model = models.load_model(f"vlm:{vlm_folder('internvl')}")
    assert plain.scoring is not None
    assert model.scoring is not None
    assert plain.scoring["no_prefix_cache"] is None
    assert "scores differ by" in model.scoring["no_prefix_cache"]
    assert "Each prompt was computed as a whole" in model.warnings[0]
    encoders: list[Any] = [plain.encoder, model.encoder]
    monkeypatch.undo()
    one, other = (
        encoder.score([encoder.preprocess(Image.new("RGB", (20, 30), "red"))], ["a red ball"])
        for encoder in encoders
    )
    assert_close(one, other, **get_rounding(Library(vlm_folder("internvl")).model))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scoring": "maybe"}, "scoring is 'maybe', expected yes or choice"),
        ({"template": "x"}, "unknown setting 'template'; known: scoring, question, answers"),
        ({"question": "Is this it?"}, "expected one place {} for the caption"),
        ({"question": "Is {} on {}?"}, "expected one place {} for the caption"),
        ({"scoring": "choice", "question": "Is it {}?"}, "expected two places {} for the captions"),
        ({"answers": "Yes"}, "answers is 'Yes', expected two words"),
        (
            {"answers": "qwertz,asdf"},
            "the tokeniser does not tell the answers qwertz and asdf apart",
        ),
    ],
)
def test_wrong_settings_are_one_clear_message(
    vlm_folder: Folders, settings: dict[str, str], message: str
):
    spec = f"vlm:{vlm_folder('internvl')}?{urlencode(settings)}"
    with pytest.raises(ValueError, match="vlm:") as caught:
        models.load_model(spec)
    assert message in str(caught.value)


def test_models_that_cannot_be_asked(
    vlm_folder: Folders, transformers_folder: Folders, tmp_path: Path
):
    with pytest.raises(
        ValueError, match=r"models of type 'clip' generate no text about images. For dual encoders"
    ):
        models.load_model(f"vlm:{transformers_folder('clip')}")
    with pytest.raises(FileNotFoundError, match=r"nowhere: no such folder\.$"):
        models.load_model(f"vlm:{tmp_path / 'nowhere'}")
    folder = shutil.copytree(vlm_folder("internvl"), tmp_path / "internvl")
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(
        ValueError, match="has no chat template, and its family 'internvl' no known prompt"
    ):
        models.load_model(f"vlm:{folder}")
    question = 'Is "{}" shown? Answer Yes or No.'
    model = models.load_model(
        f"vlm:{vlm_folder('internvl')}?{urlencode({'question': question, 'answers': 'No,Yes'})}"
    )
    assert model.scoring is not None
    assert (model.scoring["question"], model.scoring["answers"]) == (question, ["No", "Yes"])
    assert model.fingerprint != models.load_model(f"vlm:{vlm_folder('internvl')}").fingerprint
