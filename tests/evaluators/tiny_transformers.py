"""Write tiny random models of the transformers families, as ``save_pretrained`` does."""

from pathlib import Path
from typing import Any

import torch
import transformers as hf
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ("<pad>", "<s>", "</s>", "<unk>", "a", "red", "blue", "green", "yellow", "pink", "ball")
SMALL = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}
IDS = {"vocab_size": len(WORDS), "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
TEXT = SMALL | IDS | {"max_position_embeddings": 12}
VISION = SMALL | {"image_size": 16, "patch_size": 8}
EFFICIENT_NET = {
    "image_size": 16,
    "hidden_dim": 8,
    "in_channels": [32],
    "out_channels": [8],
    "kernel_sizes": [3],
    "strides": [1],
    "num_block_repeats": [1],
    "expand_ratios": [1],
    "depthwise_padding": [],
    "width_coefficient": 1.0,
    "depth_coefficient": 1.0,
}


def tokenizer() -> hf.PreTrainedTokenizerFast:
    """Return a tokeniser of whole words between <s> and </s>, at most 12 tokens."""
    raw = Tokenizer(
        models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="<unk>")
    )
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=12,
    )


def model(family: str) -> Any:
    """Return a random model of the family."""
    match family:
        case "clip":
            return hf.CLIPModel(
                hf.CLIPConfig(text_config=TEXT, vision_config=VISION, projection_dim=8)
            )
        case "metaclip_2":
            text = TEXT | {"eos_token_id": 2}
            return hf.MetaClip2Model(
                hf.MetaClip2Config(text_config=text, vision_config=VISION, projection_dim=8)
            )
        case "siglip2":
            vision = SMALL | {"num_patches": 16, "patch_size": 8}
            return hf.Siglip2Model(hf.Siglip2Config(text_config=TEXT, vision_config=vision))
        case "blip-2":
            queries = SMALL | {
                "vocab_size": len(WORDS),
                "encoder_hidden_size": 16,
                "max_position_embeddings": 12,
            }
            config = hf.Blip2Config(
                vision_config=VISION,
                qformer_config=queries | {"use_qformer_text_input": True},
                text_config=hf.OPTConfig(
                    vocab_size=len(WORDS), hidden_size=16, ffn_dim=16, num_hidden_layers=1
                ),
                num_query_tokens=3,
                image_text_hidden_size=8,
                image_token_index=None,
            )
            return hf.Blip2ForImageTextRetrieval(config)
        case "siglip":
            return hf.SiglipModel(hf.SiglipConfig(text_config=TEXT, vision_config=VISION))
        case "align":
            return hf.AlignModel(
                hf.AlignConfig(text_config=TEXT, vision_config=EFFICIENT_NET, projection_dim=8)
            )
        case "flava" | "flava_itm":
            config = hf.FlavaConfig(
                text_config=TEXT,
                image_config=VISION,
                multimodal_config=SMALL,
                hidden_size=16,
                projection_dim=8,
                init_codebook=False,
            )
            return hf.FlavaModel(config) if family == "flava" else hf.FlavaForPreTraining(config)
        case "blip":
            text = TEXT | {"encoder_hidden_size": 16}
            return hf.BlipForImageTextRetrieval(
                hf.BlipConfig(text_config=text, vision_config=VISION, image_text_hidden_size=8)
            )
        case _:
            raise AssertionError(family)


PROCESSORS = {
    "clip": hf.CLIPImageProcessor,
    "metaclip_2": hf.CLIPImageProcessor,
    "siglip": hf.SiglipImageProcessor,
    "siglip2": hf.Siglip2ImageProcessor,
    "blip-2": hf.BlipImageProcessor,
    "align": hf.EfficientNetImageProcessor,
    "flava": hf.FlavaImageProcessor,
    "flava_itm": hf.FlavaImageProcessor,
    "blip": hf.BlipImageProcessor,
}


def write_model(family: str, folder: Path) -> Path:
    """Save a random model of the family with its tokeniser and image processor in a folder."""
    torch.manual_seed(0)
    size = {"height": 16, "width": 16}
    model(family).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    options: dict[str, Any] = {"size": size, "crop_size": size, "do_center_crop": False}
    if family == "siglip2":
        options = {"patch_size": 8, "max_num_patches": 16}
    PROCESSORS[family](**options).save_pretrained(folder)
    return folder
