"""Measure what the prefix cache of generative models saves: ``python -m bench.prefix_cache [--images 8]``.

    python -m bench.prefix_cache --device cuda --layers 36 --width 2048 --images 64      # 1.7 billion weights, bf16

The model is a Qwen2.5-VL with random weights, its own processor, and 64 tokens per image of 224 x 224 pixels. Each
image has K captions of 4 to 16 words, as in CREPE's retrieval sets. Prints for each K, with and without the cache: the
tokens that run through the language model, the seconds, and the largest difference of the scores. Precision is bf16 on
a GPU, otherwise fp32.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
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


def make_model(device: str, layers: int, width: int) -> Generative:
    """Return a model with random weights, whose image tower has 4 layers of the same width."""
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
    size = {"hidden_size": width, "intermediate_size": 11 * width // 4}
    heads = max(8, width // 128)
    text = {"num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": 4}
    half = width // heads // 2
    rope = {"rope_type": "default", "mrope_section": [half - 10 * half // 16, *[5 * half // 16] * 2], "rope_theta": 1e6}
    config = hf.Qwen2_5_VLConfig(
        text_config=size | text | {"rope_parameters": rope, "pad_token_id": 0, "vocab_size": len(WORDS)},
        vision_config=size | {"depth": 4, "num_heads": heads, "out_hidden_size": width, "fullatt_block_indexes": [3]},
        image_token_id=WORDS.index("<image>"),
        video_token_id=WORDS.index("<video>"),
        vision_start_token_id=WORDS.index("<start>"),
    )
    torch.manual_seed(0)
    with torch.device(device):
        model = hf.Qwen2_5_VLForConditionalGeneration(config).eval()
    answer = partial(log_probability, tokens=[WORDS.index("Yes")])
    return Generative(model.bfloat16() if device.startswith("cuda") else model, processor, Scoring().ask, answer)


def measure(model: Generative, pictures: list[Any], captions: list[str]) -> tuple[int, float, np.ndarray]:
    """Return the tokens, the seconds and the scores of pairs."""
    before, start = model.num_tokens, time.perf_counter()
    scores = model.read(pictures, captions).numpy()
    return model.num_tokens - before, time.perf_counter() - start, scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=8)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--layers", type=int, default=4, help="layers of the language model")
    parser.add_argument("--width", type=int, default=256, help="width of the language model")
    options = parser.parse_args()
    hf.logging.set_verbosity_error()
    random = np.random.default_rng(0)
    model = make_model(options.device, options.layers, options.width)
    images = [Image.fromarray(random.integers(0, 256, (224, 224, 3), np.uint8)) for _ in range(options.images)]
    print("captions  tokens, plain  cached  saved  seconds, plain  cached  speed-up  difference")
    for count in CAPTIONS_PER_IMAGE:
        captions = [
            " ".join(random.choice(CAPTION_WORDS, random.integers(4, 17))) for _ in range(options.images * count)
        ]
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
