"""Measure what the prefix cache of generative models saves: ``python -m bench.prefix_cache [--images 8]``.

The model is a Qwen2.5-VL with random weights, its own processor, and 64 tokens per image of 224 x 224 pixels. Each
image has K captions of 4 to 16 words, as in CREPE's retrieval sets. Prints for each K, with and without the cache: the
tokens that run through the language model, the seconds, and the largest difference of the scores.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers

from evaluators.models.generative import Generative, log_probability
from evaluators.models.questions import Scoring

hf: Any = transformers
CAPTION_WORDS = ("a", "the", "two", "red", "small", "striped", "dog", "table", "lamp", "street", "on", "under", "with")
SPECIAL = ("<pad>", "<image>", "<video>", "<start>", "<end>", "<unk>", "user", "assistant")
QUESTION_WORDS = ("Does", "this", "figure", "show", '"', '"?', "Please", "answer", "yes", "or", "no", ".", "Yes", "No")
WORDS = (*SPECIAL, *QUESTION_WORDS, *CAPTION_WORDS)
TEMPLATE = (
    "{% for m in messages %}<start> user {% for c in m['content'] %}{% if c['type'] == 'image' %}<image> "
    "{% else %}{{ c['text'] }}{% endif %}{% endfor %} <end> {% endfor %}<start> assistant "
)
CAPTIONS_PER_IMAGE = (2, 5, 7, 16)


def make_model(folder: Path) -> Generative:
    """Return a model of 4 layers of width 256 with random weights."""
    raw = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    tokens = hf.PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="<pad>",
        unk_token="<unk>",
        extra_special_tokens={"image_token": "<image>", "video_token": "<video>", "start": "<start>", "end": "<end>"},
    )
    pixels = {"patch_size": 14, "merge_size": 2, "temporal_patch_size": 2}
    processor = hf.Qwen2_5_VLProcessor(
        hf.Qwen2VLImageProcessor(**pixels), tokens, hf.Qwen2VLVideoProcessor(**pixels), chat_template=TEMPLATE
    )
    width = {"hidden_size": 256, "intermediate_size": 704}
    text = {"num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": len(WORDS)}
    rope = {"rope_type": "default", "mrope_section": [6, 5, 5], "rope_theta": 1e6}
    config = hf.Qwen2_5_VLConfig(
        text_config=width | text | {"rope_parameters": rope, "pad_token_id": 0},
        vision_config=width | {"depth": 4, "num_heads": 8, "out_hidden_size": 256, "fullatt_block_indexes": [3]},
        image_token_id=WORDS.index("<image>"),
        video_token_id=WORDS.index("<video>"),
        vision_start_token_id=WORDS.index("<start>"),
    )
    torch.manual_seed(0)
    hf.Qwen2_5_VLForConditionalGeneration(config).save_pretrained(folder)
    model = hf.AutoModelForImageTextToText.from_pretrained(folder).eval()
    return Generative(model, processor, Scoring().ask)


def measure(model: Generative, pictures: list[Any], captions: list[str]) -> tuple[int, float, np.ndarray]:
    """Return the tokens, the seconds and the scores of pairs."""
    before, start = model.work.tokens, time.perf_counter()
    scores = model.read(pictures, captions, partial(log_probability, tokens=[WORDS.index("Yes")])).numpy()
    return model.work.tokens - before, time.perf_counter() - start, scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=8)
    num_images = parser.parse_args().images
    hf.logging.set_verbosity_error()
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        model = make_model(Path(folder))
    images = [Image.fromarray(random.integers(0, 256, (224, 224, 3), np.uint8)) for _ in range(num_images)]
    print("captions  tokens, plain  cached  saved  seconds, plain  cached  speed-up  difference")
    for count in CAPTIONS_PER_IMAGE:
        captions = [" ".join(random.choice(CAPTION_WORDS, random.integers(4, 17))) for _ in range(num_images * count)]
        shown = [picture for picture in map(model.prepare, images) for _ in range(count)]
        model.no_prefix_cache = None
        measure(model, shown[:count], captions[:count])  # warm-up
        tokens, seconds, scores = measure(model, shown, captions)
        model.no_prefix_cache = "measured without it"
        plain_tokens, plain_seconds, plain_scores = measure(model, shown, captions)
        difference = np.abs(scores - plain_scores).max()
        print(
            f"{count:8}  {plain_tokens:13,}  {tokens:6,}  {1 - tokens / plain_tokens:5.0%}  {plain_seconds:14.2f}  "
            f"{seconds:6.2f}  {plain_seconds / seconds:8.1f}  {difference:10.0e}"
        )


if __name__ == "__main__":
    main()
