import json
import os
import shutil
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators import models
from compeval.evaluators.models import custom, open_clip_names, openclip
from compeval.evaluators.models.checks import check_module
from compeval.evaluators.models.custom import adapt
from tests.close import assert_close, count_layers
from tests.evaluators import tiny


def test_specs():
    assert models.parse("ViT-B-32/laion400m_e32") == ("open_clip", "ViT-B-32/laion400m_e32")
    assert models.parse("local:checkpoints/clip-laion") == ("local", "checkpoints/clip-laion")
    assert models.parse("python:my_module:MyModel") == ("python", "my_module:MyModel")


def test_only_modules_of_ones_own_are_found_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The named module finds its neighbour, also when a method runs. A library's optional package is not found."""
    (tmp_path / "own_model_1.py").write_text(
        "from own_part_1 import VALUE\ndef late():\n    import own_part_2\n    return own_part_2.VALUE + VALUE\n",
        encoding="utf-8",
    )
    (tmp_path / "own_part_1.py").write_text("VALUE = 1\n", encoding="utf-8")
    (tmp_path / "own_part_2.py").write_text("VALUE = 2\n", encoding="utf-8")
    (tmp_path / "optional_package_1.py").write_text(
        "raise AssertionError('executed')\n", encoding="utf-8"
    )
    (tmp_path / "json.py").write_text("raise AssertionError('executed')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    assert check_module("own_model_1:late") == "own_model_1"
    assert import_module("own_model_1").late() == 3
    with pytest.raises(ModuleNotFoundError):
        exec(compile("import optional_package_1", "/somewhere/library.py", "exec"))
    assert sys.path == path


def test_folder_names_of_specs():
    assert models.slug("ViT-B-32/laion400m_e32") == "ViT-B-32--laion400m_e32"
    assert models.slug("local:checkpoints/clip-laion") == "local=checkpoints--clip-laion"
    assert len(models.slug(f"local:{'a/' * 300}x")) < 150


@given(st.text(), st.text())
@example("a/b", "a--b")
@example("a-/b", "a/-b")
@example("a:b", "a=b")
@example("a:b", "a/b")
@example("a\\b", "a/b")
def test_two_specs_have_two_folder_names(first: str, second: str):
    names = models.slug(first), models.slug(second)
    assert (names[0] == names[1]) == (first == second)
    assert not any(set(name) & set("/\\:\0") for name in names)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("locl:x", "Unknown model backend 'locl'. Did you mean local"),
        ("local:", "Model 'local:' has no name after local:."),
        (
            "local:nowhere",
            "nowhere/open_clip_config.json: not found. A local model is a folder with",
        ),
        ("ViT-B-23/openai", "Unknown open_clip architecture 'ViT-B-23'. Did you mean ViT-B-32"),
        (
            "ViT-B-32/laion400m_e33",
            "neither a tag nor a file, 'laion400m_e33'. Did you mean laion400m_e32",
        ),
        ("ViT-B-32", "Model 'ViT-B-32' has no weights. Tags of ViT-B-32: openai, laion400m_e31"),
        ("python:toy_models", "expected python:module:Class"),
        (
            "python:no_such_module:Model",
            "No module named 'no_such_module'. The current folder and PYTHONPATH",
        ),
        ("python:toy_models:Nobody", "toy_models has no Nobody"),
        (
            "python:toy_models:Numbered",
            "its fingerprint is 7, a string expected that changes with the weights",
        ),
        (
            "python:toy_models:NoTexts",
            "has no encode_text. A model needs encode_image and encode_text, or score",
        ),
    ],
)
def test_wrong_specs_are_one_clear_message(here: Path, spec: str, message: str):
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        models.load_model(spec)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ViT-B-32/laion400m_e32", ("ViT-B-32", "laion400m_e32")),
        ("ViT-B-32-quickgelu/weights/file.pt", ("ViT-B-32-quickgelu", "weights/file.pt")),
        ("ViT-B-32-gelu/weights/file.pt", ("ViT-B-32-gelu", "weights/file.pt")),
    ],
)
def test_split_at_the_last_slash_that_gives_weights(
    here: Path, name: str, expected: tuple[str, str]
):
    Path("weights").mkdir()
    Path("weights/file.pt").touch()
    assert open_clip_names.split(name) == expected


class AskedError(Exception):
    """Raised with the arguments that open_clip was called with."""


@pytest.mark.parametrize(
    ("spec", "architecture", "quick_gelu"),
    [
        ("ViT-B-32/laion400m_e32", "ViT-B-32", True),
        ("ViT-B-16/laion400m_e32", "ViT-B-16", False),
        ("RN50/cc12m", "RN50", True),
        ("RN101/yfcc15m", "RN101", True),
        ("ViT-B-32-quickgelu/openai", "ViT-B-32-quickgelu", False),  # says it itself
        # Its configuration says it.
        (
            "roberta-ViT-B-32/laion2b_s12b_b32k",
            "roberta-ViT-B-32",
            False,
        ),
    ],
)
def test_the_tag_decides_the_activation(
    monkeypatch: pytest.MonkeyPatch, spec: str, architecture: str, quick_gelu: bool
):
    def create(
        name: str, device: str, precision: str, *, pretrained: str, force_quick_gelu: bool
    ) -> Any:
        raise AskedError(name, force_quick_gelu)

    monkeypatch.setattr(openclip, "create", create)
    with pytest.raises(AskedError) as caught:
        models.load_model(spec)
    assert caught.value.args == (architecture, quick_gelu)


def test_weights_in_a_file_must_state_their_activation(here: Path):
    Path("weights.pt").touch()
    with pytest.raises(
        ValueError, match=r"nothing states the activation .* Ask for ViT-B-32-quickgelu/\.\.\."
    ):
        models.load_model("ViT-B-32/weights.pt")


def test_weights_that_do_not_fit_or_cannot_be_downloaded(
    here: Path, monkeypatch: pytest.MonkeyPatch
):
    def create(name: str, *_: Any, **__: Any) -> Any:
        raise RuntimeError("No network\nmore")

    Path("weights.pt").touch()
    with pytest.raises(
        ValueError, match=r"weights.pt: the weights do not fit or cannot be read \(it contains more"
    ):
        models.load_model("ViT-S-32/weights.pt")
    monkeypatch.setattr(openclip, "create", create)
    with pytest.raises(FileNotFoundError) as caught:
        models.load_model("ViT-B-32/laion400m_e32")
    assert str(caught.value).splitlines() == [
        "ViT-B-32/laion400m_e32: the weights are not on this machine and could not be downloaded: "
        "timm/vit_base_patch32_clip_224.laion400m_e32 on the Hugging Face Hub (No network).",
        "With a network: `hf download timm/vit_base_patch32_clip_224.laion400m_e32` (into HF_HOME, then "
        "HF_HUB_OFFLINE=1 works without one).",
        "With a file: --model <architecture>-quickgelu/<file> or <architecture>-gelu/<file>.",
    ]


def test_local_models_record_their_training_data(clip: Path, tmp_path: Path):
    model, again = (models.load_model(f"local:{clip}") for _ in range(2))
    assert (model.name, model.corpus, model.corpus_source) == ("clip-laion", "laion", "microworld")
    other = models.load_model(f"local:{tiny.write_clip(tmp_path / 'other', corpus=None, seed=1)}")
    assert model.fingerprint == again.fingerprint != other.fingerprint
    assert other.corpus is None


def test_the_transform_is_part_of_the_fingerprint(clip: Path, tmp_path: Path):
    copy = shutil.copytree(clip, tmp_path / "clip")
    config = json.loads((copy / "open_clip_config.json").read_text(encoding="utf-8"))
    config["preprocess_cfg"] = {"interpolation": "bilinear"}
    (copy / "open_clip_config.json").write_text(json.dumps(config), encoding="utf-8")
    assert (
        models.load_model(f"local:{copy}").fingerprint
        != models.load_model(f"local:{clip}").fingerprint
    )


def test_a_folder_that_does_not_say_how_images_are_prepared_is_an_error(clip: Path, tmp_path: Path):
    copy = shutil.copytree(clip, tmp_path / "clip")
    config = json.loads((copy / "open_clip_config.json").read_text(encoding="utf-8"))
    del config["preprocess_cfg"]
    (copy / "open_clip_config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ValueError, match=r"open_clip_config\.json has no preprocess_cfg") as error:
        models.load_model(f"local:{copy}")
    assert '"preprocess_cfg": {}' in str(error.value)


def test_a_tower_that_differs_without_padding_is_run_with_padding_and_a_warning(
    clip: Path, monkeypatch: pytest.MonkeyPatch
):
    from compeval.evaluators.models.prefix_forest import PrefixForestEncoder

    encode = PrefixForestEncoder._encode
    monkeypatch.setattr(
        PrefixForestEncoder, "_encode", lambda self, forest: encode(self, forest)[::-1]
    )
    model = models.load_model(f"local:{clip}")
    assert "Texts were encoded with padding: without it they differ by" in model.warnings[0]
    assert isinstance(model.encoder, openclip.OpenClipEncoder)
    tokens = open_clip.get_tokenizer(f"local-dir:{clip}")(["a dog"])
    np.testing.assert_array_equal(
        model.encoder.encode_texts(["a dog"], 1), model.encoder.encode_padded(tokens, 1)
    )


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_is_close_to_single_precision(clip: Path, precision: models.Precision):
    texts = ["a dog", "a cat on a mat"]
    full, half = (
        models.load_model(f"local:{clip}", precision=name) for name in ("fp32", precision)
    )
    assert full.fingerprint != half.fingerprint
    unit: list[Any] = [
        model.encoder.encode_texts(texts, 2)
        for model in (half, full)
        if isinstance(model.encoder, openclip.OpenClipEncoder)
    ]
    unit = [feature / np.linalg.norm(feature, axis=1, keepdims=True) for feature in unit]
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[precision]
    network: Any = open_clip.create_model(f"local-dir:{clip}")
    assert_close(*unit, dtype=dtype, summed=count_layers(network.transformer))


def test_devices():
    assert models.pick_device("cpu") == "cpu"
    with pytest.raises(ValueError, match=r"Device 'abacus' cannot be used .*Try --device cpu"):
        models.pick_device("abacus")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (np.ones(3), r"encode_text returned shape \(3,\) for 3 inputs, \(3, D\) expected"),
        (np.ones((2, 3)), r"encode_text returned shape \(2, 3\) for 3 inputs\."),
        (
            np.ones((3, 5)),
            r"Features of images and of texts have different sizes: encode_image 3, encode_text 5\.",
        ),
        (None, r"encode_text returned NoneType for 3 inputs\."),
        (["a"] * 3, r"encode_text returned list, numbers for 3 inputs expected"),
    ],
)
def test_features_of_a_wrong_shape(texts: Any, message: str):
    model = SimpleNamespace(
        encode_image=lambda images: np.ones((len(images), 3)), encode_text=lambda _: texts
    )
    encoder: Any = adapt(model, "python:mine:Mine")
    encoder.encode_images([Image.new("RGB", (2, 2))], 1)
    with pytest.raises(ValueError, match=message):
        encoder.encode_texts(["a", "b", "c"], 3)


def test_scores_of_a_wrong_shape():
    scorer: Any = adapt(
        SimpleNamespace(score=lambda images, texts: np.ones((len(texts), 2))), "python:mine:Mine"
    )
    with pytest.raises(
        ValueError, match=r"score returned shape \(1, 2\) for 1 pairs, one number each expected"
    ):
        scorer.score([Image.new("RGB", (2, 2))], ["a"])


def evaluate(spec: str, data: Path, *more: str) -> Any:
    arguments = [
        "run",
        "--model",
        spec,
        "--data",
        str(data),
        "--task",
        "crepe/prod_hnatom/n4",
        "--json",
        *more,
    ]
    return CliRunner().invoke(app, arguments)


def test_a_class_without_a_device_and_a_fingerprint_is_evaluated_again_every_time(
    here: Path, data: Path
):
    for number in (1, 2):
        done = evaluate("python:toy_models:Anonymous", data)
        assert done.exit_code == 0, done.output
        (result,) = json.loads(done.stdout)
        assert result["warnings"] == [
            "The class has no attribute `fingerprint`: nothing was cached."
        ]
        assert result["metrics"]["recall@1"] == 1
        assert len(Path("calls.txt").read_text(encoding="utf-8")) == number
    assert not list(Path(os.environ["COMPEVAL_CACHE"]).glob("*.features.sqlite"))


def test_an_own_class_in_training_mode_is_named():
    model: Any = SimpleNamespace(
        encode_image=print, encode_text=print, tower=torch.nn.Dropout(), other=torch.nn.ReLU()
    )
    assert custom.wrap(model, "python:m:M", "M", "cpu").warnings == (
        "tower is in training mode (with Dropout), so the scores may be random: call its eval().",
    )
    module: Any = torch.nn.Sequential(torch.nn.Dropout(0.0), torch.nn.BatchNorm1d(2))
    module.encode_image = module.encode_text = print
    (warning,) = custom.wrap(module, "python:m:M", "M", "cpu").warnings
    assert warning.startswith("the model is in training mode (with BatchNorm1d), so")
    model.tower.eval()
    assert not custom.wrap(model, "python:m:M", "M", "cpu").warnings


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "WrongImage",
            "python:toy_models:WrongImage: encode_image failed (ZeroDivisionError: division by zero)",
        ),
        ("WrongText", "python:toy_models:WrongText: encode_text failed (KeyError: 'violet')"),
        ("WrongScore", "python:toy_models:WrongScore: score failed (TypeError:"),
        (
            "WrongStart",
            "python:toy_models:WrongStart: WrongStart('cpu') failed (RuntimeError: no weights)",
        ),
    ],
)
def test_a_broken_class_is_one_message_that_names_the_method(
    here: Path, data: Path, name: str, message: str
):
    done = evaluate(f"python:toy_models:{name}", data, "--device", "cpu")
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("signature", "query", "expected"),
    [
        ("device, path", "?path=a/b.pt", "cpu a/b.pt"),
        ("path, device", "?path=a/b.pt", "cpu a/b.pt"),
        ("path, place='no device'", "?path=a%20b", "no device a b"),
        ("place, path='default'", "", "cpu default"),
    ],
)
def test_a_class_of_ones_own_takes_arguments(
    signature: str, query: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The device is passed to its parameter, or to the first one; the arguments are a part of the model's name."""
    first = "place" if "place" in signature else "device"
    source = f"""
class Mine:
    fingerprint = "v1"
    def __init__(self, {signature}): self.given = f"{{{first}}} {{path}}"
    def score(self, images, texts): ...
"""
    (tmp_path / "mine_with_arguments.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine_with_arguments", raising=False)
    model = custom.load(f"mine_with_arguments:Mine{query}", "cpu", "fp32")
    encoder: Any = model.encoder
    assert encoder.model.given == expected
    assert model.name == f"Mine{query}"
    other = custom.load("mine_with_arguments:Mine?path=other", "cpu", "fp32")
    assert other.fingerprint != model.fingerprint
    monkeypatch.delitem(sys.modules, "mine_with_arguments")
    with pytest.raises(ValueError, match="unexpected keyword argument 'epoch'"):
        custom.load("mine_with_arguments:Mine?path=x&epoch=12", "cpu", "fp32")
