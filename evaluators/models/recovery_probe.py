"""Recovery probes and the proof-of-concept autoencoder: T5 models that decode a text x from a single vector T(x).

Source: Kamath, Hessel and Chang 2023 (arXiv:2305.14897), section 3. The T5 decoder attends to one position only: T(x)
after a linear map and layer normalisation. The T(x) of a probe is the output of a frozen text encoder. The T(x) of the
autoencoder is the mean over the token states of its own T5 encoder, which is trained together with the decoder.
Difference from the paper: the vectors of a text encoder are scaled to unit length, because scores use them so.

Both are folders in transformers' layout (``local:checkpoints/probe-...``, written by trainers/probe/training.py) with
a ``probe.json`` or ``autoencoder.json``. Shapes: N texts, D dimensions of T(x), L tokens.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoTokenizer, T5Config, T5ForConditionalGeneration
from transformers.modeling_outputs import BaseModelOutput

from compeval.base.pretrained import load_complete
from compeval.evaluators.models import Model, TextEncoder, fingerprint, load_model
from compeval.evaluators.models.batches import in_batches, scale_to_unit_length
from compeval.evaluators.models.local_folder import AUTOENCODER, PROBE

MAX_TOKENS = 64
BEAMS = 5


class RecoveryT5(T5ForConditionalGeneration):
    """T5 whose decoder attends to one vector of ``config.embedding_size`` dimensions.

    The vector and its linear map are fp32 in any precision, because the probe measures what the vector contains.
    """

    _keep_in_fp32_modules_strict = {"bridge", "bridge_norm"}  # noqa: RUF012 - as in transformers

    def __init__(self, config: T5Config) -> None:
        super().__init__(config)
        self.bridge = nn.Linear(config.embedding_size, config.d_model)  # pyright: ignore[reportAttributeAccessIssue]
        self.bridge_norm = nn.LayerNorm(config.d_model)
        self.post_init()

    def standardise(self, mean_D: Tensor, std_D: Tensor) -> None:
        """Initialise the linear map so that its inputs have mean 0 and standard deviation 1 in each dimension.

        CLIP's unit vectors are all similar to their mean; without this, training would have to learn the mean first.
        """
        with torch.no_grad():
            nn.init.normal_(self.bridge.weight, std=len(mean_D) ** -0.5)
            self.bridge.weight.div_(std_D.clamp_min(1e-6))
            self.bridge.bias.copy_(-self.bridge.weight @ mean_D)

    def pool(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the mean (N, D) over the token states of this model's own encoder."""
        state_NLD = self.encoder(input_ids=input_ids, attention_mask=attention_mask)[0]
        mask_NL1 = attention_mask[:, :, None].to(state_NLD.dtype)
        return (state_NLD * mask_NL1).sum(dim=1) / mask_NL1.sum(dim=1)

    def project(self, embedding_ND: Tensor) -> BaseModelOutput:
        """Return the encoder output (N, 1, width) that the decoder attends to."""
        with torch.autocast(embedding_ND.device.type, enabled=False):
            state_ND = self.bridge_norm(self.bridge(embedding_ND.float()))
        return BaseModelOutput(state_ND[:, None].to(self.shared.weight.dtype))  # pyright: ignore[reportArgumentType]

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        embedding: Tensor | None = None,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        encoder_outputs: Any = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **decoding: Any,
    ) -> Any:
        """Return logits, given ``embedding`` (N, D), ``input_ids`` (autoencoder) or the output of ``project``.

        If ``labels`` (N, L) are given, the output also has the mean loss per token. The Trainer passes the number of
        tokens of all accumulated batches as ``num_items_in_batch`` when it accumulates gradients.
        """
        if encoder_outputs is None:
            if embedding is None:
                assert input_ids is not None
                assert attention_mask is not None
                embedding = self.pool(input_ids, attention_mask)
            encoder_outputs = self.project(embedding)
        if labels is None:
            return super().forward(encoder_outputs=encoder_outputs, **decoding)
        output: Any = super().forward(
            encoder_outputs=encoder_outputs, decoder_input_ids=self._shift_right(labels), **decoding
        )
        logits = output.logits.flatten(0, 1).float()
        targets = labels.flatten()
        if num_items_in_batch is None:
            output.loss = functional.cross_entropy(logits, targets)
        else:
            output.loss = (
                functional.cross_entropy(logits, targets, reduction="sum") / num_items_in_batch
            )
        return output


class Probe:
    """A frozen text encoder, and the decoder that was trained to recover texts from its vectors."""

    def __init__(self, model: RecoveryT5, tokenizer: Any, encoder: Model) -> None:
        self.encoder = encoder
        self._model = model
        self._tokenizer = tokenizer

    @torch.inference_mode()
    def recover(self, texts: Sequence[str]) -> list[str]:
        """Return the text decoded from each text's vector by beam search with five beams."""
        encoder = self.encoder.encoder
        assert isinstance(encoder, TextEncoder)
        feature_ND = scale_to_unit_length(
            encoder.encode_texts(texts, len(texts)), self.encoder.name, "text"
        )
        token_NL = self._model.generate(  # pyright: ignore[reportAttributeAccessIssue]
            encoder_outputs=self._model.project(
                torch.from_numpy(feature_ND).to(self._model.device)
            ),
            num_beams=BEAMS,
            max_new_tokens=MAX_TOKENS,
        )
        return self._tokenizer.batch_decode(token_NL, skip_special_tokens=True)


class AutoencoderText:
    """The encoder of the autoencoder, with permuted dimensions (section 3, Proof-of-concept T5)."""

    def __init__(self, model: RecoveryT5, tokenizer: Any, shuffle: Sequence[int]) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._shuffle = list(shuffle)

    @torch.inference_mode()
    def encode_texts(self, texts: Sequence[str], batch_size: int) -> np.ndarray:
        return in_batches(self._encode, texts, batch_size)[:, self._shuffle]

    def _encode(self, texts: Sequence[str]) -> np.ndarray:
        tokens = self._tokenizer(
            list(texts), padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
        )
        tokens = tokens.to(self._model.device)
        return self._model.pool(tokens["input_ids"], tokens["attention_mask"]).float().cpu().numpy()


def load(folder: Path, spec: str, device: str, precision: str) -> Model:
    """Load the probe or autoencoder in a folder.

    Raises ValueError if the text encoder of a probe has changed since the probe was trained.
    """
    from compeval.evaluators.models.huggingface import DTYPES

    is_probe = (folder / PROBE).is_file()
    record = json.loads((folder / (PROBE if is_probe else AUTOENCODER)).read_text(encoding="utf-8"))
    try:
        model: Any = load_complete(RecoveryT5, folder, dtype=DTYPES[precision]).to(device).eval()
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{folder}: the model cannot be loaded ({str(error).splitlines()[0]})."
        ) from None
    parts = [fingerprint.of_weights(model.state_dict()), precision, record]
    about: dict[str, Any] = {"spec": spec, "name": folder.absolute().name, "precision": precision}
    if not is_probe:
        encoder = AutoencoderText(model, tokenizer, record["shuffle"])
        return Model(encoder=encoder, fingerprint=fingerprint.of_json(parts), **about)
    frozen = load_model(record["text_encoder"], device, record["precision"])
    if frozen.fingerprint != record["fingerprint"]:
        raise ValueError(
            f"{folder}: its text encoder {frozen.spec} has changed since training (fingerprint "
            f"{frozen.fingerprint[:8]}, {record['fingerprint'][:8]} expected). Train the probe again."
        )
    return Model(
        encoder=Probe(model, tokenizer, frozen),
        fingerprint=fingerprint.of_json(parts),
        corpus=frozen.corpus,
        corpus_source=frozen.corpus_source,
        contaminated=frozen.contaminated,
        text_encoder=frozen.spec,
        **about,
    )
