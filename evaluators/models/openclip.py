"""Load models of open_clip by name or file, and wrap an open_clip model that is already in memory.

Names are, for example, ``ViT-B-32/laion400m_e32`` or ``ViT-B-32-quickgelu/path/to/weights.safetensors``.

open_clip chooses the activation (GELU or QuickGELU) by the architecture's name and only warns if the weights were
trained with the other. Here the weights decide: ``ViT-B-32/laion400m_e32`` runs with QuickGELU, and the result names
the requested model and the model that ran. For a weights file, the architecture's name must end in ``-quickgelu`` or
``-gelu``, or the file's in ``?like=TAG``, the tag that it was trained from.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import open_clip
import PIL.Image
import torch
from open_clip.tokenizer import HFTokenizer, SimpleTokenizer
from open_clip.transform import PreprocessCfg, image_transform_v2
from PIL.Image import Image
from safetensors import SafetensorError
from torch import Tensor

from compeval.evaluators.models import Model, fingerprint, peft_adapters, weights_file
from compeval.evaluators.models.open_clip_names import (
    CORPUS_OF_TAG,
    find_preprocessing,
    get_pretrained_cfg,
    missing_weights,
    parse_name,
    split,
)
from compeval.evaluators.models.prefix_forest import PrefixForestEncoder, causal_tower
from compeval.evaluators.models.text_batches import LengthBatchEncoder, start_copy
from compeval.evaluators.models.transforms import divide
from compeval.evaluators.models.word_cache import cache_words

CONTAMINATED_NAMES = {"mscoco_finetuned": "fine-tuned on COCO"}
"""Reason why scores are marked, by the beginning of the weights tag or repository name."""
UNREADABLE = (
    RuntimeError,
    OSError,
    AssertionError,
    LookupError,
    EOFError,
    UnpicklingError,
    SafetensorError,
)
"""Errors that open_clip and its libraries raise if weights or a tokeniser are missing, truncated or of a wrong type."""
PROBES = (
    "a dog",
    "a dog on a red table",
    "a dog on a red table beside two striped boxes and a tall lamp",
    "nothing in this photograph is blue",
    "A small bird, seen from above, flies over the sea.",
)
"""Texts on which the prefix forest is compared with ``encode_text`` of the model."""
LONG = " ".join(f"a {color} ball" for color in ("red", "green", "blue", "pink") * 100)
"""A text that is longer than every context."""
PROBE_TOKENS = 32
TOLERANCE = {"fp32": 1e-5, "fp16": 1e-2, "bf16": 5e-2}
"""Largest allowed difference between unit-length features of the prefix forest and of ``encode_text``."""
NUM_REPEATS = 8
"""Number of times that an image is prepared again. A random flip goes unnoticed in one of 256 cases."""


class OpenClipEncoder:
    """A dual encoder made of an open_clip model, its image transform and its tokeniser.

    A causal text tower is computed without padding if this agrees with ``encode_text`` within ``TOLERANCE`` on the
    texts in ``PROBES``: on prefix forests (the default on CPUs), or in batches of similar length (on other devices).
    Otherwise ``encode_text`` itself is used, and ``warnings`` says so.
    """

    def __init__(
        self,
        model: Any,
        preprocess: Callable[[Image], Tensor],
        tokenizer: Callable[[list[str]], Tensor],
        device: str,
        precision: str = "fp32",
        image_dtype: torch.dtype | None = None,
    ) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self.device = device
        self._tokenize = cache_words(tokenizer)
        self._image_dtype = image_dtype or open_clip.get_input_dtype(precision) or torch.float32
        self._transform = divide(preprocess, device)
        self.preprocess: Callable[[Image], Any] = (
            self._transform.get_pixels if self._transform else preprocess
        )
        self.unpadded: PrefixForestEncoder | LengthBatchEncoder | None = None
        self.warnings: tuple[str, ...] = ()
        tower = causal_tower(model)
        if tower is not None:
            kind = PrefixForestEncoder if device.partition(":")[0] == "cpu" else LengthBatchEncoder
            self._check_unpadded(kind(tower, device), TOLERANCE[precision])

    @property
    def prefix_forest(self) -> PrefixForestEncoder | None:
        """The encoder of prefix forests, if texts are computed so."""
        return self.unpadded if isinstance(self.unpadded, PrefixForestEncoder) else None

    def encode_images(self, images: Sequence[Any], batch_size: int) -> np.ndarray:
        return self.start_images(images, batch_size).float().cpu().numpy()

    def start_images(self, images: Sequence[Any], batch_size: int) -> Tensor:
        """Return features (N, D) on the device. A GPU may still compute them."""
        starts = range(0, len(images), batch_size)
        return torch.cat(
            [self._encode_images(images[start : start + batch_size]) for start in starts]
        )

    def encode_texts(self, texts: Sequence[str], batch_size: int) -> np.ndarray:
        return self._encode_tokens(self._tokenize(list(texts)), batch_size)

    def tokenize(self, texts: Sequence[str]) -> Sequence[np.ndarray]:
        """Return the tokens (L,), int64, of each text, for ``start_texts``."""
        return list(self._tokenize(list(texts)).cpu().numpy())

    def start_texts(self, texts: Sequence[Any], batch_size: int) -> Any:
        """Return features (T, D) of texts or of their tokens, on the device if a GPU may still compute them."""
        tokens = (
            self._tokenize(list(texts))
            if isinstance(texts[0], str)
            else torch.from_numpy(np.stack(texts))
        )
        if isinstance(self.unpadded, LengthBatchEncoder):
            return self.unpadded.start(tokens, batch_size * self.unpadded.per_text)
        return self._encode_tokens(tokens, batch_size)

    def _encode_tokens(self, tokens_TL: Tensor, batch_size: int) -> np.ndarray:
        if self.unpadded is not None:
            return self.unpadded(tokens_TL, batch_size * self.unpadded.per_text)
        return self.encode_padded(tokens_TL, batch_size)

    @property
    def max_tokens(self) -> int:
        """The number of tokens that the text tower reads of a text; 0 if its tokeniser does not tell."""
        return getattr(self._tokenizer, "context_length", None) or 0

    def find_truncated(self, texts: Sequence[str]) -> np.ndarray:
        """Return whether each text is longer than the text tower reads, (T,) bool.

        False if the tokeniser is not one of open_clip's.
        """
        is_truncated_T = np.zeros(len(texts), dtype=bool)
        if isinstance(self._tokenizer, SimpleTokenizer | HFTokenizer):
            # Characters, which are at least as many as the tokens between both ends.
            short = self.max_tokens - 2
            long = [
                index for index, text in enumerate(texts) if len(text) > short or not text.isascii()
            ]
            pad = getattr(getattr(self._tokenizer, "tokenizer", None), "pad_token_id", 0)
            if long:
                tokens_LC = self._tokenize(
                    [texts[index] for index in long], context_length=self.max_tokens + 1
                )
                is_truncated_T[long] = (tokens_LC[:, -1] != pad).numpy()
        return is_truncated_T

    @torch.inference_mode()
    def _encode_images(self, images: Sequence[Any]) -> Tensor:
        """Return features (B, D) of what ``preprocess`` returned: pixels (H, W, 3) or, of other transforms, tensors."""
        if self._transform is None:
            pixels_BCHW = start_copy(torch.stack(list(images)), self.device)
        else:
            shape = (len(images), *images[0].shape)
            is_cuda = self.device.startswith("cuda")
            # Filled without a second copy.
            pixels_BHWC = torch.empty(shape, dtype=torch.uint8, pin_memory=is_cuda)
            np.stack(images, out=pixels_BHWC.numpy())
            pixels_BCHW = self._transform.normalize(pixels_BHWC.to(self.device, non_blocking=True))
        return self._model.encode_image(pixels_BCHW.to(self._image_dtype))

    @torch.inference_mode()
    def encode_padded(self, tokens_TL: Tensor, batch_size: int) -> np.ndarray:
        """Return features (T, D) computed by the model's ``encode_text`` on padded texts."""
        parts = [
            self._model.encode_text(part.to(self.device)) for part in tokens_TL.split(batch_size)
        ]
        return torch.cat(parts).float().cpu().numpy()

    def _check_unpadded(
        self, encoder: PrefixForestEncoder | LengthBatchEncoder, tolerance: float
    ) -> None:
        """Encode without padding if the features of the probes agree with ``encode_text``; otherwise add a warning."""
        tokens_TL = self._tokenizer(list(PROBES))
        # Small batches, so that the probes make several, with and without shared prefixes.
        difference = _difference(
            encoder(tokens_TL, PROBE_TOKENS), self.encode_padded(tokens_TL, len(PROBES))
        )
        if isinstance(encoder, PrefixForestEncoder):
            encoder.nodes = 0
        if difference <= tolerance:
            self.unpadded = encoder
        else:
            self.warnings += (
                f"Texts were encoded with padding: without it they differ by {difference:.1e} (at most {tolerance:.0e} "
                "is allowed).",
            )


def _difference(feature_ND: np.ndarray, expected_ND: np.ndarray) -> float:
    """Return the largest absolute difference at unit length, or infinity if a feature is not finite."""
    unit_ND, expected_unit_ND = (
        vector_ND / np.linalg.norm(vector_ND, axis=1, keepdims=True)
        for vector_ND in (feature_ND, expected_ND)
    )
    return float(np.nan_to_num(np.abs(unit_ND - expected_unit_ND).max(), nan=np.inf))


def in_process(
    model: Any, preprocess: Callable[[Image], Tensor], tokenizer: Callable[[list[str]], Tensor]
) -> Model:
    """Wrap a model that is already in memory and in evaluation mode.

    Its precision is that of its least precise weights, since open_clip's models in half precision keep some in fp32.
    Under ``torch.autocast``, it is that of autocast. Raises ValueError if ``preprocess`` is random, as the transform of
    a training is.
    """
    check_deterministic(preprocess)
    check_tokenizer(tokenizer)
    weights = (parameter for parameter in model.parameters() if parameter.is_floating_point())
    parameter = min(weights, key=lambda parameter: parameter.dtype.itemsize)
    device = parameter.device.type
    dtype = (
        torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else parameter.dtype
    )
    precision = {torch.float16: "fp16", torch.bfloat16: "bf16"}.get(dtype, "fp32")
    encoder = OpenClipEncoder(
        model, preprocess, tokenizer, str(parameter.device), precision, parameter.dtype
    )
    return Model(
        spec="in-process",
        name="in-process",
        encoder=encoder,
        fingerprint=fingerprint.of_weights(model.state_dict()),
        precision=precision,
        warnings=encoder.warnings,
    )


def check_deterministic(preprocess: Callable[[Image], Tensor]) -> None:
    """Raise ValueError if a transform returns other pixels when an image is prepared again."""
    ramp = PIL.Image.linear_gradient("L").resize((320, 240)).convert("RGB")
    first = preprocess(ramp)
    if not all(torch.equal(first, preprocess(ramp)) for _ in range(NUM_REPEATS)):
        raise ValueError(
            "preprocess returns other pixels each time that it gets the same image, as a transform for training does. "
            "Pass the transform for evaluation: the third value of open_clip.create_model_and_transforms."
        )


def check_tokenizer(tokenizer: Callable[[list[str]], Tensor]) -> None:
    """Raise ValueError if a tokeniser cuts a long text in another way each time (open_clip's ``reduction_mask``)."""
    try:
        first = tokenizer([LONG])
    except (RuntimeError, ValueError):  # OpenAI's own tokeniser refuses long texts
        return
    if not all(torch.equal(first, tokenizer([LONG])) for _ in range(NUM_REPEATS)):
        raise ValueError(
            "the tokeniser keeps other words of a long text each time that it gets the same text, as one for training "
            "does (reduction_mask). Pass the tokeniser for evaluation: without reduction_mask, it keeps the beginning."
        )


def load(name: str, device: str, precision: str) -> Model:
    """Load ``architecture/tag`` or ``architecture/file``, with an adapter if the name states one."""
    spec = name
    name, adapter = peft_adapters.split(name, spec)
    built, weights, quick_gelu = parse_name(name)
    architecture, _ = split(name)
    tag = get_pretrained_cfg(architecture, weights)
    model, preprocess = create_named(name, device, precision)
    model, merged = peft_adapters.merge_if_named(model, adapter, name, spec)
    loaded = describe(
        model,
        preprocess,
        load_tokenizer(built, name, get_context_length(model)),
        device=device,
        precision=precision,
        spec=spec,
        name=f"{architecture}/{weights}" if tag else f"{architecture}/{Path(weights).stem}",
        effective=f"{built}-quickgelu/{weights}" if quick_gelu else None,
        corpus=CORPUS_OF_TAG.get(weights) if tag else None,
        contaminated=contaminated(weights) if tag else None,
    )
    return peft_adapters.describe(loaded, merged)


def contaminated(name: str) -> str | None:
    """Return the reason why the scores of a weights tag or repository are marked, or None if they are not."""
    return next(
        (reason for prefix, reason in CONTAMINATED_NAMES.items() if name.startswith(prefix)), None
    )


def get_context_length(model: Any) -> int | None:
    """Return the number of tokens that a text tower of open_clip reads; None if its tokeniser says it."""
    tower = getattr(model, "text", model)
    return getattr(tower, "context_length", None)


def load_tokenizer(built: str, spec: str, context_length: int | None = None) -> Any:
    """Load the tokeniser of an architecture. Raises FileNotFoundError if its files are not available."""
    try:
        return open_clip.get_tokenizer(built, context_length=context_length)
    except (*UNREADABLE, ValueError) as error:
        raise FileNotFoundError(
            f"{spec}: its tokeniser is not on this machine and could not be downloaded ({describe_error(error)})."
        ) from None


def create_named(name: str, device: str, precision: str) -> tuple[Any, Callable[[Image], Tensor]]:
    """Create ``architecture/tag`` or ``architecture/file`` with the right activation. Returns model and transform.

    A file's image size and number of tokens are its own; its images are prepared as for the pretrained weights of its
    architecture (``find_preprocessing``).
    """
    built, weights, quick_gelu = parse_name(name)
    if not get_pretrained_cfg(*split(name)):
        options = {"force_quick_gelu": quick_gelu, "force_preprocess_cfg": find_preprocessing(name)}
        make = partial(create_empty, built, device, precision, **options)
        try:
            model = weights_file.load(make, Path(weights))
        except (*UNREADABLE, ValueError) as error:
            reason = describe_error(error)
            raise ValueError(
                f"{name}: the weights do not fit or cannot be read ({reason})."
            ) from None
        return model, make_transform(model)
    try:
        return create(built, device, precision, pretrained=weights, force_quick_gelu=quick_gelu)
    except UNREADABLE as error:
        raise missing_weights(name, describe_error(error)) from None


def create_empty(name: str, device: str, precision: str, **options: Any) -> Any:
    """Return an untrained model of open_clip, whose weights are loaded afterwards. Nothing is downloaded for it."""
    with silence():
        return open_clip.create_model(
            name,
            device=device,
            precision=precision,
            load_weights=False,
            pretrained_text=False,
            **options,
        ).eval()


def make_transform(model: Any) -> Callable[[Image], Tensor]:
    """Return open_clip's image transform of a model for evaluation."""
    config = PreprocessCfg(**open_clip.get_model_preprocess_cfg(model))
    return image_transform_v2(config, is_train=False)


@contextmanager
def silence() -> Iterator[None]:
    """Suppress the log messages and warnings of open_clip."""
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def create(
    name: str, device: str, precision: str, **options: Any
) -> tuple[Any, Callable[[Image], Tensor]]:
    """Return model and image transform, without log messages of open_clip. Never unpickles arbitrary objects."""
    with silence():
        created: Any = open_clip.create_model_from_pretrained(
            name, device=device, precision=precision, weights_only=True, **options
        )
    return created[0].eval(), created[1]


def describe(
    model: Any,
    preprocess: Callable[[Image], Tensor],
    tokenizer: Any,
    *,
    device: str,
    precision: str,
    warnings_of_files: Sequence[str] = (),
    **about: Any,
) -> Model:
    """Return the loaded model with a fingerprint over weights, structure, transform, tokeniser, precision and library.

    ``about`` are further fields of Model, ``warnings_of_files`` what readers of its results should know of its files.
    """
    check_tokenizer(tokenizer)
    encoder = OpenClipEncoder(model, preprocess, tokenizer, device, precision)
    parts = [
        fingerprint.of_weights(model.state_dict()),
        repr(model),
        json.dumps(model.visual.preprocess_cfg, sort_keys=True, default=str),
        tokenizer(list(PROBES)).tolist(),
        *(
            [fingerprint.of_tokenizer(tokenizer.tokenizer)]
            if isinstance(tokenizer, HFTokenizer)
            else []
        ),
        precision,
        open_clip.__version__,
    ]
    return Model(
        encoder=encoder,
        fingerprint=fingerprint.of_json(parts),
        precision=precision,
        warnings=(*warnings_of_files, *encoder.warnings),
        **about,
    )


def describe_error(error: Exception) -> str:
    """Return the reason of an error in one line.

    open_clip's advice to load a file with ``pickle`` is replaced, since such a file can run arbitrary code.
    """
    message = str(error)
    if "weights_only" in message or isinstance(error, UnpicklingError | LookupError | EOFError):
        return "it contains more than tensors, or is damaged: save only its state dict, preferably as safetensors"
    first, *others = message.splitlines() or [type(error).__name__]
    return f"{first} {others[0].strip()}".rstrip(".") if first.endswith(":") and others else first
