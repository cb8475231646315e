from typing import Any

import numpy as np
import open_clip
import pytest
import torch

from evaluators.models import layers, pooled
from evaluators.models.products import Plain, ways

CONFIG = {
    "embed_dim": 8,
    "vision_cfg": {"image_size": 16, "layers": 3, "width": 16, "patch_size": 8, "head_width": 8},
    "text_cfg": {"context_length": 20, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
}


def build(kind: Any = open_clip.CLIP, **vision: Any) -> Any:
    torch.manual_seed(0)
    return kind(**CONFIG | {"vision_cfg": CONFIG["vision_cfg"] | vision}).eval()


@pytest.mark.parametrize("vision", [{}, {"no_ln_pre": True}, {"final_ln_after_pool": True}, {"head_width": 16}])
@pytest.mark.parametrize("kind", [open_clip.CLIP, open_clip.CustomTextCLIP])
def test_pooled_features_are_the_models_own(kind: type, vision: dict[str, Any]):
    model = build(kind, **vision)
    images = list(torch.randn(7, 3, 16, 16))
    with torch.inference_mode():
        own = model.encode_image(torch.stack(images)).numpy()
    tower = pooled.class_token_tower(model)
    assert tower is not None
    for linear in ways(model):
        found = pooled.PooledImages(tower, "cpu", torch.float32, linear)(images, 4)
        np.testing.assert_allclose(found, own, atol=2e-6 if linear.name == "plain" else 5e-5)


def test_many_images_come_back_in_order(monkeypatch: pytest.MonkeyPatch):
    model, images = build(), list(torch.randn(23, 3, 16, 16))
    tower = pooled.class_token_tower(model)
    assert tower is not None
    encode = pooled.PooledImages(tower, "cpu", torch.float32, Plain())
    together = encode(images, 64)
    monkeypatch.setattr(layers, "POSITIONS_A_CORE", 12)  # two or three images of five positions
    np.testing.assert_allclose(encode(images, 64), together, atol=2e-6)


RESNET = {"timm_model_name": "resnet18", "timm_model_pretrained": False, "timm_pool": "avg", "timm_proj": "linear"}


@pytest.mark.parametrize("vision", [{"pool_type": "avg"}, {"attentional_pool": True}, {"ls_init_value": 0.1}, RESNET])
def test_other_image_towers_are_computed_by_the_model(vision: dict[str, Any]):
    assert pooled.class_token_tower(build(**vision)) is None


class Adapted(torch.nn.Linear):
    """A linear layer with more to it than its weights."""


@pytest.mark.parametrize("layer", [Adapted(16, 64), torch.nn.Linear(16, 64, bias=False)])
def test_an_altered_layer_is_computed_by_the_model(layer: torch.nn.Linear):
    model = build()
    model.visual.transformer.resblocks[1].mlp.c_fc = layer
    assert pooled.class_token_tower(model) is None


def test_attention_without_biases_is_computed_by_the_model():
    model = build()
    model.visual.transformer.resblocks[1].attn = torch.nn.MultiheadAttention(16, 2, bias=False)
    assert pooled.class_token_tower(model) is None
