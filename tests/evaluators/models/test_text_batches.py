"""Texts in batches of similar length have the features of the model's own ``encode_text``."""

from typing import Any

import numpy as np
import open_clip
import pytest

from compeval.evaluators.models import load_model
from compeval.evaluators.models.openclip import OpenClipEncoder
from compeval.evaluators.models.prefix_forest import causal_tower
from compeval.evaluators.models.text_batches import LengthBatchEncoder, batches
from tests.close import assert_close, count_terms
from tests.evaluators import tiny
from tests.evaluators.models.test_prefix_forest import TERMS, TEXTS, TOWERS, encode_with_padding


def test_batches_of_sorted_lengths():
    # Six tokens at most: 2 x 3 of length 2, 1 x 3 and 2 x 3 of length 3, and a text that exceeds them alone.
    assert [*batches([2, 2, 2, 3, 3, 3, 8], 6)] == [
        slice(0, 3),
        slice(3, 5),
        slice(5, 6),
        slice(6, 7),
    ]


@pytest.mark.parametrize(("kind", "text"), TOWERS)
def test_features_equal_those_of_the_model(kind: type, text: dict):
    tower, tokens, own = encode_with_padding(kind, text)
    for batch_tokens in (1, 16, 1000):
        assert_close(LengthBatchEncoder(tower, "cpu")(tokens, batch_tokens), own, summed=TERMS)


def test_an_encoder_with_either_way_through_the_tower(tmp_path):
    folder = tiny.write_clip(tmp_path / "clip")
    forest, by_length = (load_model(f"local:{folder}").encoder for _ in range(2))
    assert isinstance(forest, OpenClipEncoder)
    assert isinstance(by_length, OpenClipEncoder)
    network: Any = open_clip.create_model(f"local-dir:{folder}").eval()
    by_length.unpadded = LengthBatchEncoder(causal_tower(network), "cpu")
    assert forest.prefix_forest is not None
    assert by_length.prefix_forest is None
    terms = count_terms(network)
    assert_close(by_length.encode_texts(TEXTS, 2), forest.encode_texts(TEXTS, 2), summed=terms)
    np.testing.assert_array_equal(
        by_length.start_texts(TEXTS, 2).numpy(), by_length.encode_texts(TEXTS, 2)
    )
