"""Write tiny random generative models of transformers with their processors, as ``save_pretrained`` does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

hf: Any = transformers
VOCABULARY = (
    '<pad> <s> </s> <unk> <image> <video> <row> <start> <end> user assistant Yes No yes no A B : ? . , " "? '
    "Does this figure show Please answer or Which caption describes image en Question Answer "
    "a red green blue yellow pink ball box dog on table beside two boxes nothing here is"
)
WORDS = VOCABULARY.split()
ID = {word: index for index, word in enumerate(WORDS)}
SPECIAL = ("<image>", "<video>", "<row>", "<start>", "<end>")
TEMPLATE = (
    "{% for m in messages %}<start> {{ m['role'] }} {% for c in m['content'] %}{% if c['type'] == 'image' %}IMAGE"
    "{% else %}{{ c['text'] }}{% endif %}{% endfor %} <end> {% endfor %}"
    "{% if add_generation_prompt %}<start> assistant {% endif %}"
)
TEXT: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": len(WORDS),
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "max_position_embeddings": 512,
    "initializer_range": 0.3,
}
VISION: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 16,
    "patch_size": 4,
    "initializer_range": 0.3,
}
SIZE = {"height": 16, "width": 16}


def tokenizer(begin: bool = False, **tokens: str) -> Any:
    """Return a tokeniser of whole words. ``begin`` puts <s> first; ``tokens`` names the special tokens of a family."""
    raw = Tokenizer(models.WordLevel(ID, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    if begin:
        raw.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", 1)]
        )
    made = hf.PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        extra_special_tokens=tokens,
    )
    made.add_tokens(list(SPECIAL), special_tokens=True)
    return made


def chat(image: str, begin: str = "") -> str:
    return begin + TEMPLATE.replace("IMAGE", f"{image} ")


def qwen(version: str) -> tuple[Any, Any]:
    text = TEXT | {
        "rope_parameters": {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 100.0}
    }
    ids = {
        "image_token_id": ID["<image>"],
        "video_token_id": ID["<video>"],
        "vision_start_token_id": ID["<start>"],
    }
    pixels = {
        "patch_size": 4,
        "merge_size": 2,
        "temporal_patch_size": 2,
        "min_pixels": 64,
        "max_pixels": 1024,
    }
    processor: dict[str, Any] = {
        "image_processor": hf.Qwen2VLImageProcessor(**pixels),
        "tokenizer": tokenizer(image_token="<image>", video_token="<video>"),
        "chat_template": chat("<image>"),
    }
    if version == "2.5":
        vision = {
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_heads": 2,
            "patch_size": 4,
        }
        vision |= {
            "out_hidden_size": 32,
            "window_size": 16,
            "fullatt_block_indexes": [1],
            "initializer_range": 0.3,
        }
        config = hf.Qwen2_5_VLConfig(text_config=text, vision_config=vision, **ids)
        processor["video_processor"] = hf.Qwen2VLVideoProcessor(**pixels)
        return hf.Qwen2_5_VLForConditionalGeneration(config), hf.Qwen2_5_VLProcessor(**processor)
    vision = {
        "depth": 2,
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_heads": 2,
        "patch_size": 4,
    }
    vision |= {
        "out_hidden_size": 32,
        "num_position_embeddings": 64,
        "deepstack_visual_indexes": [0],
    }
    config = hf.Qwen3VLConfig(
        text_config=text, vision_config=vision | {"initializer_range": 0.3}, **ids
    )
    processor["video_processor"] = hf.Qwen3VLVideoProcessor(**pixels)
    return hf.Qwen3VLForConditionalGeneration(config), hf.Qwen3VLProcessor(**processor)


def internvl() -> tuple[Any, Any]:
    config = hf.InternVLConfig(
        vision_config=VISION | {"image_size": [16, 16], "patch_size": [4, 4]},
        text_config=hf.Qwen2Config(**TEXT),
        image_token_id=ID["<image>"],
        image_seq_length=4,
    )
    words = tokenizer(
        start_image_token="<start>",
        end_image_token="<end>",
        context_image_token="<image>",
        video_token="<video>",
    )
    images = hf.GotOcr2ImageProcessor(size=SIZE, max_patches=3)
    videos = hf.InternVLVideoProcessor(size=SIZE)
    processor = hf.InternVLProcessor(
        images, words, videos, image_seq_length=4, chat_template=chat("<image>")
    )
    return hf.InternVLForConditionalGeneration(config), processor


def llava_onevision() -> tuple[Any, Any]:
    grid = [[16, 32], [32, 16], [32, 32]]
    config = hf.LlavaOnevisionConfig(
        vision_config=hf.SiglipVisionConfig(**VISION),
        text_config=hf.Qwen2Config(**TEXT),
        image_token_index=ID["<image>"],
        video_token_index=ID["<video>"],
        image_grid_pinpoints=grid,
        vision_feature_layer=-1,
    )
    processor = hf.LlavaOnevisionProcessor(
        hf.LlavaOnevisionImageProcessor(size=SIZE, image_grid_pinpoints=grid),
        tokenizer(image_token="<image>", video_token="<video>"),
        hf.LlavaOnevisionVideoProcessor(size=SIZE),
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        chat_template=chat("<image>"),
    )
    return hf.LlavaOnevisionForConditionalGeneration(config), processor


def smolvlm() -> tuple[Any, Any]:
    config = hf.SmolVLMConfig(
        vision_config=VISION,
        text_config=hf.LlamaConfig(**TEXT),
        image_token_id=ID["<image>"],
        scale_factor=2,
        pad_token_id=0,
    )
    words = tokenizer(
        fake_image_token="<row>",
        image_token="<image>",
        global_image_token="<start>",
        end_of_utterance_token="<end>",
    )
    size = {"longest_edge": 32}
    images = hf.SmolVLMImageProcessor(size=size, max_image_size={"longest_edge": 16})
    videos = hf.SmolVLMVideoProcessor(
        size=size,
        max_image_size={"longest_edge": 16},
        video_sampling={"video_size": size, "fps": 1, "max_frames": 2},
    )
    processor = hf.SmolVLMProcessor(
        images, words, videos, image_seq_len=4, chat_template=chat("<image>")
    )
    return hf.SmolVLMForConditionalGeneration(config), processor


def gemma3() -> tuple[Any, Any]:
    text = TEXT | {
        "sliding_window": 12,
        "query_pre_attn_scalar": 8,
        "layer_types": ["sliding_attention", "full_attention"],
    }
    config = hf.Gemma3Config(
        text_config=hf.Gemma3TextConfig(**text),
        vision_config=hf.SiglipVisionConfig(**VISION),
        mm_tokens_per_image=4,
        image_token_index=ID["<image>"],
        boi_token_index=ID["<start>"],
        eoi_token_index=ID["<end>"],
    )
    words = tokenizer(begin=True, boi_token="<row>", eoi_token="<end>", image_token="<image>")
    processor = hf.Gemma3Processor(
        hf.Gemma3ImageProcessor(size=SIZE),
        words,
        chat_template=chat("<row>", "<s> "),
        image_seq_length=4,
    )
    return hf.Gemma3ForConditionalGeneration(config), processor


def paligemma() -> tuple[Any, Any]:
    config = hf.PaliGemmaConfig(
        text_config=hf.GemmaConfig(**TEXT),
        vision_config=hf.SiglipVisionConfig(**VISION, projection_dim=32),
        image_token_index=ID["<image>"],
        projection_dim=32,
    )
    images = hf.SiglipImageProcessor(size=SIZE)
    images.image_seq_length = 16
    return hf.PaliGemmaForConditionalGeneration(config), hf.PaliGemmaProcessor(
        images, tokenizer(image_token="<image>")
    )


def qformer(instructed: bool) -> dict[str, Any]:
    vision, queries = (
        (hf.InstructBlipVisionConfig, hf.InstructBlipQFormerConfig)
        if instructed
        else (hf.Blip2VisionConfig, hf.Blip2QFormerConfig)
    )
    small = {
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    small |= {
        "vocab_size": len(WORDS),
        "encoder_hidden_size": 32,
        "initializer_range": 0.3,
        "pad_token_id": 0,
    }
    return {"vision_config": vision(**VISION), "qformer_config": queries(**small)}


def opt() -> Any:
    text = {
        key: TEXT[key]
        for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
    }
    text |= {
        key: TEXT[key]
        for key in ("pad_token_id", "bos_token_id", "eos_token_id", "max_position_embeddings")
    }
    return hf.OPTConfig(**text, ffn_dim=32, word_embed_proj_dim=32, init_std=0.3)


def t5() -> Any:
    return hf.T5Config(
        vocab_size=len(WORDS), d_model=32, d_kv=8, d_ff=32, num_layers=2, num_heads=4, pad_token_id=0,
        decoder_start_token_id=0, eos_token_id=2, initializer_factor=1.5,
    )  # fmt: skip


def blip2(language: Callable[[], Any]) -> tuple[Any, Any]:
    config = hf.Blip2Config(
        **qformer(False),
        text_config=language(),
        num_query_tokens=4,
        image_token_index=ID["<image>"],
    )
    processor = hf.Blip2Processor(hf.BlipImageProcessor(size=SIZE), tokenizer(True), 4)
    return hf.Blip2ForConditionalGeneration(config), processor


def instructblip(language: Callable[[], Any]) -> tuple[Any, Any]:
    config = hf.InstructBlipConfig(
        **qformer(True), text_config=language(), num_query_tokens=4, image_token_index=ID["<image>"]
    )
    words, queries = tokenizer(True), tokenizer(True)
    processor = hf.InstructBlipProcessor(hf.BlipImageProcessor(size=SIZE), words, queries, 4)
    return hf.InstructBlipForConditionalGeneration(config), processor


FAMILIES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "qwen2.5-vl": lambda: qwen("2.5"),
    "qwen3-vl": lambda: qwen("3"),
    "internvl": internvl,
    "llava-onevision": llava_onevision,
    "smolvlm": smolvlm,
    "gemma3": gemma3,
    "paligemma": paligemma,
    "blip-2-opt": lambda: blip2(opt),
    "blip-2-t5": lambda: blip2(t5),
    "instructblip-opt": lambda: instructblip(opt),
    "instructblip-t5": lambda: instructblip(t5),
}


def num2words_installed() -> Any:
    """Pretend that num2words is installed, which SmolVLM's processor needs for videos only."""
    return mock.patch("transformers.models.smolvlm.processing_smolvlm.num2words", mock.Mock())


def write_vlm(family: str, folder: Path) -> Path:
    """Save a random model of the family with its processor in a folder."""
    torch.manual_seed(0)
    model, processor = FAMILIES[family]()
    for parameter in model.parameters():
        # Gemma 3 begins with a projection of images to zero.
        if parameter.ndim > 1 and not parameter.any():
            torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
