"""The features of a text do not depend on the other texts of its batch, whatever a tokeniser's files say."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
import transformers

from compeval.evaluators import models
from compeval.evaluators.models import openclip
from tests.close import assert_close, count_terms
from tests.evaluators import tiny_transformers

TEXTS = ["a", "a red ball a blue ball a", "pink"]


@pytest.mark.parametrize("family", ["clip", "metaclip_2", "siglip", "siglip2", "align", "flava"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_on_either_side(tmp_path: Path, family: str, side: str):
    folder = tiny_transformers.write_model(family, tmp_path / family)
    path = folder / "tokenizer_config.json"
    path.write_text(
        json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"padding_side": side}),
        encoding="utf-8",
    )
    encoder: Any = models.load_model(f"transformers:{folder}").encoder
    together, alone = (encoder.encode_texts(TEXTS, size) for size in (3, 1))
    network: Any = transformers.AutoModel.from_pretrained(folder)
    assert_close(together, alone, summed=count_terms(network))
    assert np.abs(alone[0] - alone[2]).max() > 1e-5  # the texts differ


@pytest.mark.parametrize("reduction", ["random", "shuffle", "simple"])
def test_a_tokeniser_for_training_is_refused_because_it_is_random(reduction: str):
    tokenizer = open_clip.SimpleTokenizer(context_length=16, reduction_mask=reduction)
    torch.manual_seed(0)
    with pytest.raises(ValueError, match="keeps other words of a long text each time"):
        openclip.check_tokenizer(tokenizer)
    openclip.check_tokenizer(open_clip.SimpleTokenizer(context_length=16))
