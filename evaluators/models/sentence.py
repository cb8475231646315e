"""Load text encoders of sentence-transformers: ``sentence-transformers:all-MiniLM-L6-v2``, or a folder.

They are used for recovery probes, for text-only baselines and for the text-only task of SugarCrepe++.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from compeval.base.pretrained import check_no_adapter, collect_missing
from compeval.evaluators.models import Model, fingerprint
from compeval.evaluators.models.checks import unavailable
from compeval.evaluators.models.hub import get_title
from compeval.evaluators.models.missing_tensors import check_missing

PROBES = ("a dog", "a dog on a red table beside two striped boxes and a tall lamp")
"""Texts of different length, encoded together and alone."""
TOLERANCE = 0.02
"""Allowed difference, as a share of the largest value. Half precision makes less, moved positions much more."""
ALONE = "Each text was encoded alone, because padding to the longest text of a batch changes the features."


class SentenceEncoder:
    """Text encoder. If padding changes the features, each text is encoded alone."""

    def __init__(self, model: Any) -> None:
        self._model = model
        together, alone = (self._encode(PROBES, size) for size in (len(PROBES), 1))
        self.is_padded = bool(np.allclose(together, alone, atol=TOLERANCE * np.abs(alone).max()))

    def encode_texts(self, texts: Sequence[str], batch_size: int) -> np.ndarray:
        """Return features (T, D) of texts in float32."""
        return self._encode(texts, batch_size if self.is_padded else 1)

    def _encode(self, texts: Sequence[str], batch_size: int) -> np.ndarray:
        features = self._model.encode(list(texts), batch_size=batch_size, show_progress_bar=False)
        return np.asarray(features, dtype=np.float32)

    @property
    def max_tokens(self) -> int:
        """The number of tokens that the encoder reads of a text."""
        return self._model.max_seq_length or sys.maxsize

    def find_truncated(self, texts: Sequence[str]) -> np.ndarray:
        """Return whether each text is longer than the encoder reads, (T,) bool."""
        tokens = self._model.tokenizer(list(texts), truncation=False)["input_ids"] if texts else []
        return np.array([len(token_ids) > self.max_tokens for token_ids in tokens], dtype=bool)


def load(name: str, device: str, precision: str) -> Model:
    """Load the model in a repository or folder.

    Raises ModuleNotFoundError, with the install command, if sentence-transformers is not installed.
    """
    try:
        import sentence_transformers
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "sentence-transformers is not installed: pip install 'compeval[sentence-transformers]'."
        ) from None
    from compeval.evaluators.models.huggingface import DTYPES

    spec = f"sentence-transformers:{name}"
    options = {"dtype": DTYPES[precision]}
    check_no_adapter(name)
    try:
        with collect_missing() as missing:
            model = sentence_transformers.SentenceTransformer(
                name, device=device, model_kwargs=options
            ).eval()
    except (OSError, ValueError) as error:
        raise unavailable(spec, name, error) from None
    encoder = SentenceEncoder(model)
    check_missing(spec, model, encoder, missing)
    parts = [
        fingerprint.of_weights(model.state_dict()),
        repr(model),
        fingerprint.of_tokenizer(model.tokenizer),
        precision,
        sentence_transformers.__version__,
    ]
    return Model(
        spec,
        get_title(name),
        encoder,
        fingerprint.of_json(parts),
        precision,
        warnings=() if encoder.is_padded else (ALONE,),
    )
