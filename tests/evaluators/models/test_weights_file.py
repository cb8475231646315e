"""A weights file against its architecture: nothing is guessed, resized or left random without a word."""

from pathlib import Path
from typing import Any

import open_clip
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from compeval.evaluators import models
from compeval.evaluators.models import openclip, weights_file
from compeval.evaluators.models.open_clip_names import (
    find_preprocessing,
    get_pretrained_cfg,
    list_pretrained,
    parse_name,
)
from tests.close import assert_close, count_terms
from tests.evaluators import tiny, tiny_transformers

ARCHITECTURE = "ViT-S-32-alt"
"""A small architecture of open_clip without pretrained weights: 224 pixels, 77 tokens."""
FIELDS = ("mean", "std", "interpolation", "resize_mode")


def make(**options: Any) -> Any:
    torch.manual_seed(0)
    return openclip.create_empty(ARCHITECTURE, "cpu", "fp32", **options)


def load(path: Path) -> Any:
    return openclip.create_named(f"{ARCHITECTURE}/{path}", "cpu", "fp32")[0]


def test_a_file_is_prepared_as_the_pretrained_weights_of_its_architecture(tmp_path: Path):
    """For every architecture; where its weights differ, the name has to say which of them the file is like."""
    file = tmp_path / "weights.pt"
    file.touch()
    ambiguous = set[str]()
    for architecture in dict.fromkeys(name for name, _ in list_pretrained()):
        tags = [tag for name, tag in list_pretrained() if name == architecture]
        records = {tag: get_pretrained_cfg(architecture, tag) for tag in tags}
        wanted = {tag: {key: record[key] for key in FIELDS} for tag, record in records.items()}
        first, *others = wanted.values()
        name = f"{architecture}/{file}"
        if any(other != first for other in others):
            ambiguous.add(architecture)
            with pytest.raises(ValueError, match="nothing states how images were prepared"):
                find_preprocessing(name)
        else:
            assert find_preprocessing(name) == first
        for tag in tags:
            assert find_preprocessing(f"{name}?like={tag}") == wanted[tag]
    assert ambiguous == {"ViT-L-14", "ViT-H-14", "ViT-H-14-quickgelu"}


def test_a_tag_that_a_file_is_like_states_its_activation(tmp_path: Path):
    file = tmp_path / "weights.pt"
    file.touch()
    assert parse_name(f"ViT-B-32/{file}?like=openai") == ("ViT-B-32", str(file), True)
    assert parse_name(f"ViT-B-32/{file}?like=laion2b_s34b_b79k") == ("ViT-B-32", str(file), False)
    # The architecture has it.
    assert parse_name(f"ViT-B-32-quickgelu/{file}?like=openai")[2] is False
    assert parse_name(f"ViT-B-32-gelu/{file}?like=openai")[2] is False
    with pytest.raises(ValueError, match=r"Unknown open_clip tag of ViT-B-32 'opanai'.*openai"):
        parse_name(f"ViT-B-32/{file}?like=opanai")


def test_the_image_size_and_the_number_of_tokens_are_the_files(tmp_path: Path):
    trained = make(force_image_size=288, force_context_length=20)
    torch.save(trained.state_dict(), tmp_path / "a.pt")
    model = models.load_model(f"{ARCHITECTURE}/{tmp_path / 'a.pt'}")
    encoder: Any = model.encoder
    assert encoder.max_tokens == 20
    image = Image.linear_gradient("L").resize((400, 300)).convert("RGB")
    picture = open_clip.image_transform(288, is_train=False)(image)  # pyright: ignore
    theirs = trained.eval().encode_image(picture[None]).detach().numpy()
    ours = encoder.encode_images([encoder.preprocess(image)], 1)
    assert_close(ours, theirs, summed=count_terms(trained))


@pytest.mark.parametrize(
    ("prefix", "container"),
    [
        ("", None),
        ("module.", "state_dict"),
        ("_orig_mod.", None),
        ("model.", "state_dict"),
        ("module._orig_mod.", "model"),
        ("_orig_mod.module.", "model_state_dict"),
        ("clip_model.model.", None),
    ],
)
def test_prefixes_of_a_training_are_removed(tmp_path: Path, prefix: str, container: str | None):
    state = make().state_dict()
    saved: Any = {f"{prefix}{name}": value for name, value in state.items()}
    saved = {"epoch": 3, container: saved} if container else saved
    torch.save(saved, tmp_path / "a.pt")
    loaded = load(tmp_path / "a.pt").state_dict()
    assert all(torch.equal(loaded[name], value) for name, value in state.items())


def test_a_compiled_part_has_its_own_name():
    state = weights_file.WRAPPERS.sub("", "visual._orig_mod.conv1.weight")
    assert state == "visual.conv1.weight"


def test_a_file_of_another_model_is_an_error_of_one_line(tmp_path: Path):
    state = make().state_dict()
    torch.save({f"backbone.{name}": value for name, value in state.items()}, tmp_path / "a.pt")
    with pytest.raises(ValueError, match="tensors are missing") as caught:
        load(tmp_path / "a.pt")
    assert len(str(caught.value)) < 600 + len(str(tmp_path))
    assert "\n" not in str(caught.value)
    other = state | {"visual.proj": state["visual.proj"][:, :-1]}
    torch.save(other, tmp_path / "a.pt")
    with pytest.raises(ValueError, match=r"1 tensors have another shape \(visual.proj \("):
        load(tmp_path / "a.pt")


def test_a_folder_whose_configuration_says_another_size_is_an_error(tmp_path: Path):
    folder = tiny.write_clip(tmp_path / "clip")
    path = folder / "open_clip_model.safetensors"
    state = load_file(path)
    positions = state["positional_embedding"]
    save_file(state | {"positional_embedding": positions[:-2].clone()}, path)
    with pytest.raises(
        ValueError, match=f"of {len(positions) - 2} tokens, not of {len(positions)}"
    ):
        models.load_model(f"local:{folder}")
    save_file(state, path)
    models.load_model(f"local:{folder}")


def write_folder(family: str, folder: Path, *missing: str) -> Path:
    """Write a model of transformers whose files lack the tensors with these parts in their names."""
    tiny_transformers.write_model(family, folder)
    state = load_file(folder / "model.safetensors")
    kept = {name: value for name, value in state.items() if not any(map(name.count, missing))}
    assert len(kept) < len(state)
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize(
    ("family", "part", "suffix"),
    [
        ("clip", "text_projection", ""),
        ("clip", "vision_model.encoder.layers.0.mlp.fc2.bias", ""),
        ("siglip", "vision_model.embeddings", ""),
        ("blip", "itm_head", ""),
        ("blip", "vision_proj", "@itc"),
    ],
)
def test_missing_tensors_of_a_folder_are_an_error(
    tmp_path: Path, family: str, part: str, suffix: str
):
    folder = write_folder(family, tmp_path / family, part)
    with pytest.raises(ValueError, match=f"its files lack .*{part}.* which would be random"):
        models.load_model(f"transformers:{folder}{suffix}")


def test_a_missing_tensor_that_nothing_reads_is_none(tmp_path: Path):
    """The matching head of BLIP's scores by cosine, and a temperature, which moves no rank."""
    folder = write_folder("blip", tmp_path / "blip", "itm_head")
    model: Any = models.load_model(f"transformers:{folder}@itc").encoder
    again: Any = models.load_model(f"transformers:{folder}@itc").encoder
    picture = model.preprocess(Image.new("RGB", (8, 8), "red"))
    assert model.score([picture], ["a red ball"]) == again.score([picture], ["a red ball"])
    models.load_model(f"transformers:{write_folder('clip', tmp_path / 'clip', 'logit_scale')}")


@pytest.mark.parametrize("kind", ["transformers", "local", "open_clip"])
def test_an_adapter_next_to_the_weights_is_not_ignored(tmp_path: Path, kind: str):
    folder = tmp_path / "model"
    if kind == "transformers":
        spec = f"transformers:{tiny_transformers.write_model('clip', folder)}"
    elif kind == "local":
        spec = f"local:{tiny.write_clip(folder)}"
    else:
        folder.mkdir()
        torch.save(make().state_dict(), folder / "a.pt")
        spec = f"{ARCHITECTURE}/{folder / 'a.pt'}"
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA"}', encoding="utf-8")
    # transformers: a folder with an adapter is the adapter, whose file has to name the base.
    message = r"has an adapter .* not applied|adapter_config\.json does not name the base model"
    with pytest.raises(ValueError, match=message):
        models.load_model(spec)
