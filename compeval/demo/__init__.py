"""What ``compeval demo`` evaluates: a sample of CREPE's micro-world sets and a tiny CLIP. The wheel contains both.

``compeval.demo.make`` writes this folder's data. The crops are scaled down; the weights are in half precision, without
the embeddings of tokens that occur neither in the model's corpus nor in the sample: 1 MB instead of 27.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from evaluators.models.local import CONFIG, TRAINING, WEIGHTS

FOLDER = Path(__file__).resolve().parent
SAMPLE, MODEL = "crepe", "clip-laion-s0"
EMBEDDING, TOKEN_IDS = "token_embedding.weight", "token_ids"


def write_model(folder: Path, small: Path = FOLDER / MODEL) -> None:
    """Write the model as a folder that ``local:FOLDER`` loads. The embeddings of other tokens are zero."""
    import torch
    from safetensors.torch import load_file, save_file

    folder.mkdir(parents=True, exist_ok=True)
    for name in (CONFIG, TRAINING):
        shutil.copyfile(small / name, folder / name)
    weights = load_file(small / WEIGHTS)
    ids = weights.pop(TOKEN_IDS).long()
    text_config = json.loads((small / CONFIG).read_text())["model_cfg"]["text_cfg"]
    embedding = torch.zeros(text_config["vocab_size"], text_config["width"])
    embedding[ids] = weights[EMBEDDING].float()
    full = {name: weight.float() if weight.is_floating_point() else weight for name, weight in weights.items()}
    save_file(full | {EMBEDDING: embedding}, folder / WEIGHTS)
