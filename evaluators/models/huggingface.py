"""Load models of transformers: ``transformers:openai/clip-vit-base-patch32``, or a folder of ``save_pretrained``.

CLIP, MetaCLIP 2, SigLIP, SigLIP 2, ALIGN and FLAVA are dual encoders. BLIP is a pair scorer with its matching head; the
score is the log-odds of a match. BLIP-2 is a pair scorer with its contrastive head (ITC): the score is the largest
cosine of the text with one of the image's queries. A suffix of the name chooses the score:

- ``@itm``: the matching head of FLAVA, BLIP or BLIP-2. ARO's authors scored FLAVA so.
- ``@itc``: the cosine of BLIP or BLIP-2.
- ``@itm+itc``: the logit of a match plus the cosine, by which the authors of BLIP and BLIP-2 rank. In retrieval, BLIP
  ranks the 128 candidates with the highest cosine so (``evaluators/protocols/reranking.py``).

EVA-CLIP, PE-Core and MobileCLIP2 are models of open_clip. ALBEF and X-VLM are in no maintained library, and jina-clip
runs code of its repository: wrap them in ``python:module:Class``. CyCLIP has the architecture of OpenAI's CLIP
ResNet-50: remove the prefix ``module.`` from the names in its state dict, save it as safetensors, and run it as
``RN50-quickgelu/FILE``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import transformers
from PIL.Image import Image
from safetensors import SafetensorError
from torch import Tensor
from torch.nn.functional import normalize

from compeval.base.pretrained import load_pretrained
from compeval.evaluators.models import NUM_RERANKED, Model, fingerprint, peft_adapters
from compeval.evaluators.models.batches import in_batches
from compeval.evaluators.models.checks import SCORES, unavailable
from compeval.evaluators.models.hub import get_title, read_family
from compeval.evaluators.models.missing_tensors import check_missing

CONTAMINATED: dict[str, str] = dict.fromkeys(
    ("flava", "blip", "blip-2"), "trained on Visual Genome and COCO"
)
SIGLIP_2_TOKENS = 256_000
"""Size of the vocabulary of SigLIP 2 (Gemma's). Its models of fixed resolution have the type of SigLIP."""
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def load(name: str, device: str, precision: str) -> Model:
    """Load the model in a repository or folder. Raises ValueError if its family is not supported."""
    spec = f"transformers:{name}"
    name, peft_adapter = peft_adapters.split(name, spec)
    score = next((suffix for suffix in SCORES if name.endswith(suffix)), "")
    name = name.removesuffix(score)
    if peft_adapter is None:
        name, peft_adapter = peft_adapters.find_base(name, spec)
    family = read_family(name, spec)
    if family not in ADAPTERS[""]:
        raise ValueError(
            f"{spec}: models of type {family!r} are not supported; known: {', '.join(ADAPTERS[''])}. For generative "
            "models, use vlm:NAME."
        )
    if family not in ADAPTERS[score]:
        families = " and ".join(ADAPTERS[score])
        raise ValueError(
            f"{spec}: only models of the types {families} have {score}; this one is of type {family!r}."
        )
    architecture, adapter = ADAPTERS[score][family]
    kind: Any = getattr(transformers, architecture)
    try:
        model, missing = load_pretrained(kind, name, dtype=DTYPES[precision])
        model = model.to(device).eval()
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        image_processor: Any = transformers.AutoImageProcessor.from_pretrained(
            name, trust_remote_code=False
        )
    except (OSError, SafetensorError) as error:
        raise unavailable(spec, name, error) from None
    # transformers makes up a tokeniser if there are no files.
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        raise unavailable(spec, name, OSError("there is no tokeniser, or its vocabulary is empty"))
    model, merged = peft_adapters.merge_if_named(model, peft_adapter, name, spec)
    parts = [
        fingerprint.of_weights(model.state_dict()),
        model.config.to_json_string(),
        image_processor.to_json_string(),
        fingerprint.of_tokenizer(tokenizer),
        precision,
        *([score] if score else []),
    ]
    encoder = adapter(model, tokenizer, image_processor, device)
    check_missing(spec, model, encoder, missing)
    loaded = Model(
        spec,
        get_title(name) + score,
        encoder,
        fingerprint.of_json(parts),
        precision,
        contaminated=CONTAMINATED.get(family),
    )
    return peft_adapters.describe(loaded, merged)


def process_image(image_processor: Any, image: Image) -> dict[str, Tensor]:
    """Return the inputs that an image processor makes of one image. Processes import this function."""
    return {
        name: value[0] for name, value in image_processor(images=image, return_tensors="pt").items()
    }


class _Adapter:
    """A transformers model with its image processor and tokeniser."""

    most_tokens = sys.maxsize
    """Number of tokens of a text that the authors' code reads."""
    padding = "longest"

    def __init__(self, model: Any, tokenizer: Any, image_processor: Any, device: str) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self.device = device
        self.preprocess = partial(process_image, image_processor)
        config = (
            model.config.qformer_config
            if model.config.model_type == "blip-2"
            else model.config.text_config
        )
        self.max_tokens = min(
            config.max_position_embeddings, tokenizer.model_max_length, self.most_tokens
        )
        self._is_siglip = "siglip" in model.config.model_type
        if self.padding == "longest" and not self._is_siglip:
            # In front of a text, padding would move its positions: features would depend on the longest text.
            tokenizer.padding_side = "right"
        # SigLIP 2 was trained on lower case; its tokeniser lowers the case only in some of its repositories.
        is_siglip_2 = model.config.model_type == "siglip2" or config.vocab_size >= SIGLIP_2_TOKENS
        self._lower = self._is_siglip and is_siglip_2

    def _images(self, batch: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
        stacked = {
            name: torch.stack([image[name] for image in batch]).to(self.device) for name in batch[0]
        }
        return stacked | {"pixel_values": stacked["pixel_values"].to(self._model.dtype)}

    def _texts(self, texts: Sequence[str]) -> Any:
        """Return token ids and masks. SigLIP was trained on texts of full length without a mask."""
        return self._tokenizer(
            self._clean(texts),
            padding="max_length" if self._is_siglip else self.padding,
            truncation=True,
            max_length=self.max_tokens,
            return_tensors="pt",
            return_attention_mask=not self._is_siglip,
        ).to(self.device)

    def _clean(self, texts: Sequence[str]) -> list[str]:
        return [text.lower() for text in texts] if self._lower else list(texts)

    def find_truncated(self, texts: Sequence[str]) -> np.ndarray:
        """Return whether each text is longer than the text tower reads, (T,) bool."""
        tokens = self._tokenizer(self._clean(texts), truncation=False)["input_ids"] if texts else []
        return np.array([len(token_ids) > self.max_tokens for token_ids in tokens], dtype=bool)


class TransformersEncoder(_Adapter):
    def encode_images(self, images: Sequence[dict[str, Tensor]], batch_size: int) -> np.ndarray:
        return in_batches(self._image_features, images, batch_size)

    def encode_texts(self, texts: Sequence[str], batch_size: int) -> np.ndarray:
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        return in_batches(self._text_features, [texts[index] for index in order], batch_size)[
            np.argsort(order)
        ]

    @torch.inference_mode()
    def _image_features(self, batch: Sequence[dict[str, Tensor]]) -> np.ndarray:
        return _pooled(self._model.get_image_features(**self._images(batch)))

    @torch.inference_mode()
    def _text_features(self, batch: Sequence[str]) -> np.ndarray:
        return _pooled(self._model.get_text_features(**self._texts(batch)))


class _PairAdapter(_Adapter):
    """A model that reads an image and a text together. Each distinct image of a batch is encoded once."""

    @torch.inference_mode()
    def score(self, images: Sequence[dict[str, Tensor]], texts: Sequence[str]) -> np.ndarray:
        distinct = {id(image): image for image in images}
        position = {key: index for index, key in enumerate(distinct)}
        index_B = [position[id(image)] for image in images]
        return (
            self._score(self._images(list(distinct.values())), index_B, texts)
            .double()
            .cpu()
            .numpy()
        )

    def _score(self, images: dict[str, Tensor], index_B: list[int], texts: Sequence[str]) -> Tensor:
        """Return the scores (B,) of texts with the images at ``index_B`` of the distinct images."""
        raise NotImplementedError


class _BlipAdapter(_PairAdapter):
    """A model with a contrastive head and a matching head. ``score`` is the one that scores, or both."""

    def __init__(
        self, model: Any, tokenizer: Any, image_processor: Any, device: str, *, score: str
    ) -> None:
        super().__init__(model, tokenizer, image_processor, device)
        self._chosen = score

    def _score(self, images: dict[str, Tensor], index_B: list[int], texts: Sequence[str]) -> Tensor:
        if self._chosen == "@itc":
            return self._cosine(images, index_B, texts)
        logits_B2 = self._match(images, index_B, texts)
        if self._chosen == "@itm":
            return compute_match_log_odds(logits_B2)
        return logits_B2[:, 1].double() + self._cosine(images, index_B, texts).double()

    def _match(self, images: dict[str, Tensor], index_B: list[int], texts: Sequence[str]) -> Tensor:
        """Return the logits (B, 2) of no match and of a match."""
        raise NotImplementedError

    def _cosine(
        self, images: dict[str, Tensor], index_B: list[int], texts: Sequence[str]
    ) -> Tensor:
        """Return the cosines (B,) of the contrastive head."""
        raise NotImplementedError


class Blip(_BlipAdapter):
    first_token: int | None = None
    """Id that replaces the first token of a text that is matched."""

    def _match(self, images: dict[str, Tensor], index_B: list[int], texts: Sequence[str]) -> Tensor:
        tokens = self._texts(texts)
        if self.first_token is not None:
            tokens["input_ids"][:, 0] = self.first_token
        joint = self._model.text_encoder(
            input_ids=tokens["input_ids"],
            attention_mask=tokens["attention_mask"],
            encoder_hidden_states=self._model.vision_model(**images).last_hidden_state[index_B],
        )
        return self._model.itm_head(joint.last_hidden_state[:, 0])

    def _cosine(
        self, images: dict[str, Tensor], index_B: list[int], texts: Sequence[str]
    ) -> Tensor:
        """Return the cosines of the first tokens of image and text."""
        seen_BD = normalize(self._project_images(images)[index_B].float(), dim=-1)
        return (seen_BD * normalize(self._project_texts(texts).float(), dim=-1)).sum(dim=-1)

    def _project_images(self, images: dict[str, Tensor]) -> Tensor:
        return self._model.vision_proj(self._model.vision_model(**images).last_hidden_state[:, 0])

    def _project_texts(self, texts: Sequence[str]) -> Tensor:
        tokens = self._texts(texts)
        read = self._model.text_encoder(
            input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]
        )
        return self._model.text_proj(read.last_hidden_state[:, 0])


class BlipReRanker(TransformersEncoder, Blip):
    """BLIP's evaluation: the logit of a match plus the cosine; in retrieval, of the best candidates by cosine only.

    As in its authors' code, a text has at most 35 tokens, and the first token of a matched text is [ENC]. transformers
    keeps [CLS] (issue 25629), and so do ``@itm`` and ``@itc``.
    """

    num_reranked = NUM_RERANKED
    most_tokens = 35
    ENC = 30_523

    def __init__(self, model: Any, tokenizer: Any, image_processor: Any, device: str) -> None:
        super().__init__(model, tokenizer, image_processor, device, score="@itm+itc")
        self.first_token = self.ENC if model.config.text_config.vocab_size > self.ENC else None

    @torch.inference_mode()
    def _image_features(self, batch: Sequence[dict[str, Tensor]]) -> np.ndarray:
        return self._project_images(self._images(batch)).float().cpu().numpy()

    @torch.inference_mode()
    def _text_features(self, batch: Sequence[str]) -> np.ndarray:
        return self._project_texts(batch).float().cpu().numpy()


class Blip2(_BlipAdapter):
    """BLIP-2's heads. It has several vectors per image, so it is not a dual encoder, and does not re-rank, here."""

    def _match(self, images: dict[str, Tensor], index_B: list[int], texts: Sequence[str]) -> Tensor:
        """Return the logits, the mean over the queries: they and the text attend to each other, and to the image."""
        tokens = self._texts(texts)
        query = self._model.query_tokens.expand(len(texts), -1, -1)
        mask = torch.cat(
            [tokens["attention_mask"].new_ones(query.shape[:2]), tokens["attention_mask"]], dim=1
        )
        joint = self._model.qformer(
            query_embeds=self._model.embeddings(input_ids=tokens["input_ids"], query_embeds=query),
            query_length=query.shape[1],
            attention_mask=mask,
            encoder_hidden_states=self._model.vision_model(**images).last_hidden_state[index_B],
        ).last_hidden_state
        return self._model.itm_head(
            joint[:, : query.shape[1]].to(self._model.itm_head.weight.dtype)
        ).mean(dim=1)

    def _cosine(
        self, images: dict[str, Tensor], index_B: list[int], texts: Sequence[str]
    ) -> Tensor:
        """Return the largest cosine of each text with a query of its image."""
        model = self._model
        image_state = model.vision_model(**images).last_hidden_state
        query = model.query_tokens.expand(len(image_state), -1, -1)
        seen = model.qformer(
            query_embeds=query, encoder_hidden_states=image_state
        ).last_hidden_state
        tokens = self._texts(texts)
        read = model.qformer(
            query_embeds=model.embeddings(input_ids=tokens["input_ids"]),
            query_length=0,
            attention_mask=tokens["attention_mask"],
        ).last_hidden_state[:, 0]
        seen = model.vision_projection(seen.to(model.vision_projection.weight.dtype)).float()[
            index_B
        ]
        read = model.text_projection(read.to(model.text_projection.weight.dtype)).float()
        return torch.cosine_similarity(seen, read[:, None], dim=-1).amax(dim=1)


class FlavaMatcher(_PairAdapter):
    """FLAVA's image-text matching head, as ARO's authors used it (vision-language-models-are-bows, flava.py).

    Captions are padded to 77 tokens, and the multimodal encoder attends to the padding, as it did in transformers until
    March 2024 (pull request 29446). A shorter padding would change the scores.
    """

    most_tokens = 77
    padding = "max_length"

    def _score(self, images: dict[str, Tensor], index_B: list[int], texts: Sequence[str]) -> Tensor:
        flava = self._model.flava
        tokens = self._texts(texts)
        image_state = flava.image_model(**images, output_hidden_states=True).hidden_states[-1]
        text_state = flava.text_model(
            tokens["input_ids"], tokens["attention_mask"], output_hidden_states=True
        ).hidden_states[-1]
        joint = torch.cat(
            [
                flava.image_to_mm_projection(image_state)[index_B],
                flava.text_to_mm_projection(text_state),
            ],
            dim=1,
        )
        return compute_match_log_odds(
            self._model.itm_head(flava.multimodal_model(joint).last_hidden_state)
        )


def compute_match_log_odds(logits_B2: Tensor) -> Tensor:
    """Return the log-odds of a match, which rank as its probability does without rounding to 0 or 1."""
    return logits_B2[:, 1].double() - logits_B2[:, 0].double()


def _pooled(output: Any) -> np.ndarray:
    """Return the features (B, D) in a model's output. FLAVA projects every token; its feature is the first token's."""
    pooled = output.pooler_output
    if pooled.ndim == 3:
        pooled = pooled[:, 0]
    return pooled.float().cpu().numpy()


_BLIP = {
    score: ("BlipForImageTextRetrieval", partial(Blip, score=score)) for score in ("@itm", "@itc")
}
_BLIP_2 = {score: ("Blip2ForImageTextRetrieval", partial(Blip2, score=score)) for score in SCORES}
_DUAL = dict.fromkeys(
    ("clip", "siglip", "siglip2", "metaclip_2", "align", "flava"),
    ("AutoModel", TransformersEncoder),
)
ADAPTERS: dict[str, dict[str, tuple[str, Any]]] = {
    "": {**_DUAL, "blip": _BLIP["@itm"], "blip-2": _BLIP_2["@itc"]},
    "@itm": {
        "flava": ("FlavaForPreTraining", FlavaMatcher),
        "blip": _BLIP["@itm"],
        "blip-2": _BLIP_2["@itm"],
    },
    "@itc": {"blip": _BLIP["@itc"], "blip-2": _BLIP_2["@itc"]},
    "@itm+itc": {
        "blip": ("BlipForImageTextRetrieval", BlipReRanker),
        "blip-2": _BLIP_2["@itm+itc"],
    },
}
"""Suffix of a name -> type of model -> class of transformers, and adapter."""
