"""Ask a generative model of transformers questions about images, and read the probabilities of its answers.

The prompt is the model's own chat template around the image and the question. BLIP-2, InstructBLIP and PaliGemma have
none; their prompts are those of their authors. Prompts of equal shape run in one batch, without padding between images.

Shapes: N prompts, V words of the vocabulary.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from compeval.evaluators.models import prefix_cache
from compeval.evaluators.models.prefix_cache import (
    NOT_CAUSAL,
    collate,
    cut,
    run_beginning,
    run_rests,
)

RAW_PROMPTS = {
    "blip-2": "Question: {} Answer:",
    "instructblip": "{}",
    "paligemma": "<image>answer en {}",
}
"""Prompt of each family without a chat template."""
PROBES = ("a dog", "a dog on a red table beside two boxes", "nothing here is blue")
"""Captions with which both ways of computing are compared."""
TOLERANCE = {"fp32": 1e-4, "fp16": 0.1, "bf16": 0.5}
"""Largest allowed difference of log-probabilities with and without the prefix cache."""
LIKELY = 0.9
"""Probability of a first token with which a model is taken to begin each of its answers."""
PROMPTS_PER_BATCH = {"cpu": 16}
ACCELERATOR_PROMPTS = 64


class ProcessedImage(NamedTuple):
    """An image, and the processor's inputs for it with the first probe as question."""

    image: Image.Image
    inputs: dict[str, Tensor]


class ImagePrompts(NamedTuple):
    """The processor's inputs for an image, and the positions of its prompts among all prompts of a call."""

    inputs: dict[str, Tensor]
    prompts: list[int]


class Generative:
    """Pair scorer made of a generative model, its processor, and the question that it is asked."""

    def __init__(
        self,
        model: Any,
        processor: Any,
        ask: Callable[[Any], str],
        answer: Callable[[Tensor], Tensor],
        probes: Sequence[Any] = PROBES,
    ) -> None:
        """``ask`` turns captions into a question, ``answer`` logits (N, V) behind N prompts into N numbers."""
        self._model = model
        self._processor = processor
        self._ask = ask
        self._answer = answer
        self._probes = probes
        self._family = model.config.model_type
        self._device = model.device
        self._lock = threading.Lock()
        tokens = [
            re.escape(token) for token in processor.tokenizer.get_added_vocab() if token[0] in "<["
        ]
        self._control_token = re.compile("|".join(tokens) or r"(?!)")
        self._limit = PROMPTS_PER_BATCH.get(self._device.type, ACCELERATOR_PROMPTS)
        config = getattr(model.config, "text_config", model.config)
        self._decoder_start: int | None = (
            config.decoder_start_token_id if config.is_encoder_decoder else None
        )
        self._has_chat_template = bool(getattr(processor, "chat_template", None))
        self.num_tokens = 0
        """Number of tokens that ran through the language model."""
        self.no_prefix_cache: str | None = self._refuse_prefix_cache()
        """The reason why the common beginning of an image's prompts is computed for each caption; None if it is
        computed once."""

    def prompt(self, captions: Any) -> str:
        """Return the text of a prompt. Raises ValueError if the model has no chat template and no known prompt."""
        # A caption must not contain a token of the template, such as a second image: "<image>" becomes "< image>".
        question = self._control_token.sub(
            lambda match: f"{match[0][0]} {match[0][1:]}", self._ask(captions)
        )
        if self._has_chat_template:
            content = [{"type": "image"}, {"type": "text", "text": question}]
            return self._processor.apply_chat_template(
                [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
            )
        if self._family not in RAW_PROMPTS:
            raise ValueError(
                f"the model has no chat template, and its family {self._family!r} no known prompt (with one: "
                f"{', '.join(RAW_PROMPTS)}). Add a chat_template.jinja to its folder."
            )
        return RAW_PROMPTS[self._family].format(question)

    def process(self, image: Image.Image, captions: Any) -> dict[str, Tensor]:
        """Return the processor's own inputs for one prompt."""
        text = self.prompt(captions)
        images = [[image]] if self._has_chat_template else [image]
        inputs = self._processor(
            images=images, text=[text], return_tensors="pt", **self._special_tokens(text)
        )
        return {
            name: value
            for name, value in inputs.items()
            if isinstance(value, Tensor) and name != "labels"
        }

    def _special_tokens(self, text: str) -> dict[str, bool]:
        """Return the argument for a prompt that begins with the token of the beginning: no second one is added."""
        bos = self._processor.tokenizer.bos_token
        return (
            {"add_special_tokens": False}
            if self._has_chat_template and bos and text.startswith(bos)
            else {}
        )

    def preprocess(self, image: Image.Image, /) -> ProcessedImage:
        """Process an image once for all questions about it. Threads take turns: tokenisers are not thread-safe."""
        with self._lock:
            return ProcessedImage(image, self.process(image, self._probes[0]))

    @torch.inference_mode()
    def score(self, images: Sequence[ProcessedImage], texts: Sequence[Any]) -> np.ndarray:
        """Return the answers (N,) about N pairs of a picture and a caption, or of captions to choose from.

        If the device runs out of memory, the batches are halved for the rest of the run.
        """
        while True:
            try:
                read = self._read_plainly if self.no_prefix_cache else self._read_with_cache
                return read(images, texts).numpy()
            except torch.OutOfMemoryError:
                if self._limit == 1:
                    raise
            # Outside of the handler, whose traceback keeps the tensors of the batch alive.
            self._limit //= 2
            torch.cuda.empty_cache()

    def _read_plainly(self, pictures: Sequence[ProcessedImage], captions: Sequence[Any]) -> Tensor:
        """Run each prompt as a whole, as the library does."""
        return self._run_prompts(pictures, captions, self._answer)

    def _run_prompts(
        self,
        pictures: Sequence[ProcessedImage],
        captions: Sequence[Any],
        read: Callable[[Tensor], Tensor],
    ) -> Tensor:
        """Return what ``read`` makes of the logits (N, V) behind N prompts: N numbers."""
        pairs = enumerate(zip(pictures, captions, strict=True))
        prompts = [
            ImagePrompts(self.process(picture.image, caption), [number])
            for number, (picture, caption) in pairs
        ]
        answer_N = torch.empty(len(prompts), dtype=torch.float64)
        for batch in batch_equal_shapes(prompts, self._limit):
            inputs = self._move(collate([image_prompts.inputs for image_prompts in batch]))
            if self._decoder_start is not None:
                inputs["decoder_input_ids"] = torch.full(
                    (len(batch), 1), self._decoder_start, device=self._device
                )
            self.num_tokens += inputs["input_ids"].numel()
            numbers = [number for image_prompts in batch for number in image_prompts.prompts]
            answer_N[numbers] = read(self._model(**inputs).logits[:, -1]).double().cpu()
        return answer_N

    def _read_with_cache(
        self, pictures: Sequence[ProcessedImage], captions: Sequence[Any]
    ) -> Tensor:
        """Run the common beginning of an image's prompts once, and then the rests of the prompts."""
        tokens = [self._tokenize(caption) for caption in captions]
        probe = self._tokenize(self._probes[0])
        common = prefix_cache.count_common([probe, *tokens])
        rests = [token_ids[common:] for token_ids in tokens]
        prompts_by_image: dict[int, ImagePrompts] = {}
        for number, picture in enumerate(pictures):
            prompts_by_image.setdefault(
                id(picture), ImagePrompts(picture.inputs, [])
            ).prompts.append(number)
        answer_N = torch.empty(len(captions), dtype=torch.float64)
        pad = self._processor.tokenizer.pad_token_id or 0
        for batch in batch_equal_shapes([*prompts_by_image.values()], self._limit):
            whole = collate([image_prompts.inputs for image_prompts in batch])
            beginning = self._move(cut(whole, whole["input_ids"].shape[1] - (len(probe) - common)))
            cache, next_I1 = run_beginning(self._model, beginning)
            self.num_tokens += beginning["input_ids"].numel()
            image_of = {
                number: image
                for image, image_prompts in enumerate(batch)
                for number in image_prompts.prompts
            }
            numbers = sorted(image_of, key=lambda number: len(rests[number]))
            for start in range(0, len(numbers), self._limit):
                part = numbers[start : start + self._limit]
                part_rests = [rests[number] for number in part]
                self.num_tokens += len(part) * max(map(len, part_rests))
                images = [image_of[number] for number in part]
                answer_N[part] = self._answer(
                    run_rests(self._model, cache, next_I1, images, part_rests, pad)
                ).cpu()
        return answer_N

    def _tokenize(self, captions: Any) -> list[int]:
        """Return the tokens of a prompt in which the image is a single placeholder."""
        text = self.prompt(captions)
        return self._processor.tokenizer(text, **self._special_tokens(text))["input_ids"]

    def _move(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Move inputs to the model's device, and pixels to its type."""
        dtype = self._model.dtype
        return {
            name: tensor.to(self._device, dtype if tensor.is_floating_point() else tensor.dtype)
            for name, tensor in inputs.items()
        }

    def _refuse_prefix_cache(self) -> str | None:
        """Return the reason why the family has no common beginning that can be computed once; None if it has."""
        if self._decoder_start is not None:
            return "its encoder reads the prompt in both directions"
        if self._family in NOT_CAUSAL:
            return NOT_CAUSAL[self._family]
        return None if self._has_chat_template else "it has no chat template"

    @torch.inference_mode()
    def check_prefix_cache(self, precision: str) -> str | None:
        """Compare both ways of computing on drawn images, and disable the prefix cache if they disagree.

        Returns the warning for readers of the results; None if there is nothing to say.
        """
        if self.no_prefix_cache:
            return None
        images = [self.preprocess(_draw(width, height)) for width, height in ((64, 48), (48, 80))]
        pictures = [picture for picture in images for _ in self._probes]
        captions = [*self._probes, *self._probes]
        try:
            found_N = self._read_with_cache(pictures, captions)
        except prefix_cache.UnrepeatableCacheError as error:
            self.no_prefix_cache = str(error)
            return None
        difference = float((found_N - self._read_plainly(pictures, captions)).abs().max())
        self.num_tokens = 0
        if difference <= TOLERANCE[precision]:
            return None
        self.no_prefix_cache = f"with it, scores differ by {difference:.1e}"
        return f"Each prompt was computed as a whole, because with the prefix cache scores differ by {difference:.1e}."

    @torch.inference_mode()
    def find_other_beginning(self, answers: Sequence[Sequence[int]]) -> str | None:
        """Return the first token that the model writes after each of the probes, if it belongs to no answer.

        Such a token (``<think>``, ``**``, ``"``, ``The``) comes before the answer, whose probability as the first token
        then says little. None if an answer, or no token at all, is as probable as ``LIKELY``.
        """
        picture = self.preprocess(_draw(64, 48))
        pictures = [picture for _ in self._probes]
        token_N = self._run_prompts(pictures, self._probes, _find_likely_token)
        self.num_tokens = 0
        (token, *others) = {int(token) for token in token_N}
        if others or token < 0 or any(token in tokens for tokens in answers):
            return None
        return self._processor.tokenizer.decode([token]).strip() or None


def batch_equal_shapes(images: Sequence[ImagePrompts], limit: int) -> list[list[ImagePrompts]]:
    """Return batches of images with inputs of equal shapes. A batch of several images has at most ``limit`` prompts."""
    batches: dict[Any, list[list[ImagePrompts]]] = {}
    sizes: Counter[Any] = Counter()
    for image in images:
        shape = tuple((name, tuple(tensor.shape)) for name, tensor in image.inputs.items())
        if shape not in batches or sizes[shape] + len(image.prompts) > limit:
            batches.setdefault(shape, []).append([])
            sizes[shape] = 0
        batches[shape][-1].append(image)
        sizes[shape] += len(image.prompts)
    return [batch for same_shape in batches.values() for batch in same_shape]


def _draw(width: int, height: int) -> Image.Image:
    """Return an image whose channels are gradients in three directions."""
    bands = (
        Image.linear_gradient("L"),
        Image.radial_gradient("L"),
        Image.linear_gradient("L").rotate(90),
    )
    return Image.merge("RGB", [band.resize((width, height)) for band in bands])


def _find_likely_token(logits_NV: Tensor) -> Tensor:
    """Return the token (N,) whose probability is above ``LIKELY``, -1 if there is none."""
    probability_N, token_N = logits_NV.double().softmax(dim=1).max(dim=1)
    return torch.where(probability_N > LIKELY, token_N, -1)


def log_probability(logits_NV: Tensor, tokens: Sequence[int]) -> Tensor:
    """Return the log-probability (N,) that the next token is one of ``tokens``, in float64.

    It is computed from the odds, so that a probability close to 1 is not rounded to it.
    """
    logits_NV = logits_NV.double()
    index = torch.tensor(tokens, device=logits_NV.device)
    others_N = logits_NV.index_fill(1, index, -torch.inf).logsumexp(dim=1)
    return -functional.softplus(others_N - logits_NV[:, index].logsumexp(dim=1), threshold=100)


def first_tokens(tokenizer: Any, word: str) -> set[int]:
    """Return the first token of an answer, with and without a space before it."""
    ids = (tokenizer.encode(text, add_special_tokens=False) for text in (word, f" {word}"))
    return {token_ids[0] for token_ids in ids if token_ids} - {tokenizer.unk_token_id}
