"""Train a tiny CLIP from scratch on one caption corpus.

    python -m compeval.trainers.clip.training laion --seed 0        # writes checkpoints/clip-laion-s0/

The model, tokenizer, loss and learning-rate schedule are open_clip's, and open_clip loads the checkpoint folder as
``local-dir:FOLDER``. Differences from CLIP's training (Radford et al. 2021, section 2.5): the size, the initial weights
and the optimiser of the image tower (Muon). The ``train`` block of params.yaml holds the settings.

The corpora are small, such as the micro-world's few thousand images of 64 px: their pairs are read into memory once.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import open_clip
import torch
from open_clip.loss import ClipLoss
from open_clip_train.scheduler import cosine_lr
from safetensors.torch import save_file
from timm.optim.muon import Muon
from torch import Tensor, nn
from torch.nn import functional
from tqdm import trange

from compeval.base.files.atomic import atomic_folder
from compeval.base.files.listing import list_files
from compeval.base.pipeline import stage
from compeval.base.pipeline.params import read_params
from compeval.base.readers import shards
from compeval.trainers.clip.precision import has_fast_bfloat16

LOGIT_SCALE_LIMIT = math.log(100)
"""Upper bound on the logit scale, as in CLIP (section 2.5)."""


def write_config(folder: Path, model: dict[str, Any], preprocess: dict[str, Any]) -> None:
    """Write ``open_clip_config.json``, from which open_clip builds the model of a ``local-dir:`` folder."""
    config = {"model_cfg": model, "preprocess_cfg": preprocess}
    (folder / "open_clip_config.json").write_text(
        json.dumps(config, indent=1) + "\n", encoding="utf-8"
    )


def save(folder: Path, model: nn.Module, record: dict[str, Any]) -> None:
    """Write the weights, and ``record`` to training.json. safetensors accepts only contiguous tensors."""
    weights = {
        name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()
    }
    save_file(weights, folder / "open_clip_model.safetensors")
    (folder / "training.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


class Pairs(NamedTuple):
    """Preprocessed images, token ids of their captions, and a hash of the shard files."""

    image_NCHW: Tensor
    text_NT: Tensor
    digest: str


def read_pairs(folder: Path, preprocess: Callable, tokenize: Callable) -> Pairs:
    """Read all readable pairs of the shards ``*.tar`` in ``folder``, in file order.

    Raises FileNotFoundError if there is no shard, and ValueError if a shard is damaged or no pair is readable.
    """
    paths = list_files(folder, "*.tar")
    if not paths:
        raise FileNotFoundError(f"{folder}: no webdataset shard (*.tar). Run `dvc repro corpora`.")
    images = []
    texts = []
    digest = hashlib.sha256()
    skipped = Counter[str]()
    for path in paths:
        digest.update(path.read_bytes())
        for pair, image in shards.read_decoded_pairs(path, skipped):
            images.append(preprocess(image))
            texts.append(pair.caption)
    shards.print_skipped(folder, skipped)
    if not images:
        raise ValueError(f"{folder}: no readable image with a caption.")
    image_NCHW = torch.stack(images).contiguous(memory_format=torch.channels_last)
    return Pairs(image_NCHW, tokenize(texts), digest.hexdigest()[:16])


def make_adamw(
    weights: Iterable[nn.Parameter], learning_rate: float, weight_decay: float
) -> torch.optim.AdamW:
    """Return an AdamW optimiser with open_clip's settings: no weight decay on gains, biases and the logit scale."""
    trained = [weight for weight in weights if weight.requires_grad]
    groups = [
        {"params": [weight for weight in trained if weight.ndim < 2], "weight_decay": 0.0},
        {
            "params": [weight for weight in trained if weight.ndim >= 2],
            "weight_decay": weight_decay,
        },
    ]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.98), eps=1e-6, fused=True)


def make_optimizers(
    model: open_clip.CLIP, recipe: dict[str, Any]
) -> list[tuple[torch.optim.Optimizer, float]]:
    """Return (optimiser, peak learning rate) pairs: Muon for the matrices of the image tower, AdamW for the rest.

    With Muon (from timm), a small image tower learns in 400 steps what takes more than 800 steps with AdamW. The text
    tower learns word order worse with Muon.
    """
    image_matrices = [weight for weight in model.visual.parameters() if weight.ndim >= 2]
    muon_ids = {id(weight) for weight in image_matrices}
    others = [weight for weight in model.parameters() if id(weight) not in muon_ids]
    rate = recipe["learning_rate"]
    image_rate = recipe["image_learning_rate"]
    return [
        (make_adamw(others, rate, recipe["weight_decay"]), rate),
        (Muon(image_matrices, image_rate, 0.01), image_rate),
    ]


@torch.no_grad()
def rescale_initial_weights(model: Any) -> None:
    """Rescale the initial weights for a short training.

    With CLIP's initial weights, token embeddings are nearly equal, and a few hundred steps do not change this. After
    the rescaling, the text tower starts close to a bag of words: token embeddings (except start and end of text) are 10
    times as large; attention is uniform (queries and keys near zero) and outweighs the residual state of the end token
    (output projection 6 times as large); position embeddings are 3 times as large.

    The position embeddings of an image tower with attention pooling are 12 times as large, so that pooling
    distinguishes left from right from the start.
    """
    attention = model.transformer.resblocks[0].attn
    model.token_embedding.weight.mul_(10)
    model.token_embedding.weight[-2:].mul_(0.05)
    model.positional_embedding.mul_(3)
    attention.in_proj_weight[: 2 * attention.embed_dim].mul_(0.05)
    attention.out_proj.weight.mul_(6)
    if hasattr(model.visual, "attnpool"):
        model.visual.attnpool.positional_embedding.mul_(12)


def encode_text(model: Any, text_NT: Tensor) -> Tensor:
    """Return the same unit features as open_clip's ``encode_text``, but skip the padding after the longest text.

    Skipping is exact, because the tower is causal and pools at the end-of-text token (the largest token id).
    """
    end_N = text_NT.argmax(dim=-1)
    length = int(end_N.max()) + 1
    state_NTW = model.token_embedding(text_NT[:, :length]) + model.positional_embedding[:length]
    state_NTW = model.ln_final(
        model.transformer(state_NTW, attn_mask=model.attn_mask[:length, :length])
    )
    pooled_NW = state_NTW[torch.arange(len(text_NT)), end_N]
    return functional.normalize(pooled_NW @ model.text_projection, dim=-1)


def encode_images(model: Any, pixels_NCHW: Tensor) -> Tensor:
    """Return unit features (N, D) in fp32, computed in bfloat16 on devices where bfloat16 is faster.

    Text towers on CPUs use fp32, because their attention is slower in bfloat16.
    """
    device = pixels_NCHW.device.type
    with torch.autocast(device, torch.bfloat16, enabled=has_fast_bfloat16(device)):
        image_ND = model.encode_image(
            pixels_NCHW.contiguous(memory_format=torch.channels_last), normalize=True
        )
    return image_ND.float()


def train(model: open_clip.CLIP, pairs: Pairs, recipe: dict[str, Any], seed: int) -> list[float]:
    """Train ``model`` in place for ``recipe['steps']`` steps and return the loss of every step.

    Each epoch has its own seeded order and drops the last batch if it is incomplete.
    """
    steps = recipe["steps"]
    batch_size = recipe["batch_size"]
    optimizers = make_optimizers(model, recipe)
    schedules = [
        cosine_lr(optimizer, rate, recipe["warmup"], steps) for optimizer, rate in optimizers
    ]
    compute_loss = ClipLoss()
    generator = torch.Generator().manual_seed(seed)
    losses = []
    order = torch.empty(0, dtype=torch.long)
    model.to(memory_format=torch.channels_last).train()
    for step in trange(steps, desc="training", unit="step"):
        if len(order) < batch_size:
            order = torch.randperm(len(pairs.text_NT), generator=generator)
        batch = order[:batch_size]
        order = order[batch_size:]
        for schedule in schedules:
            schedule(step)
        model.zero_grad(set_to_none=True)
        image_ND = encode_images(model, pairs.image_NCHW[batch])
        loss = compute_loss(
            image_ND, encode_text(model, pairs.text_NT[batch]), model.logit_scale.exp()
        )
        loss.backward()
        for optimizer, _ in optimizers:
            optimizer.step()
        with torch.no_grad():
            model.get_parameter("logit_scale").clamp_(0, LOGIT_SCALE_LIMIT)
        losses.append(loss.item())
    return losses


def train_checkpoint(
    corpus: str, seed: int, recipe: dict[str, Any], source: Path, folder: Path
) -> None:
    """Train on the shards (``*.tar``) in ``source/<corpus>`` and write the checkpoint to ``folder`` atomically."""
    torch.manual_seed(seed)
    with atomic_folder(folder) as scratch:
        write_config(scratch, recipe["model"], recipe["preprocess"])
        name = f"local-dir:{scratch}"
        model, _, preprocess = open_clip.create_model_and_transforms(name, load_weights=False)
        assert isinstance(model, open_clip.CLIP)
        assert callable(preprocess)
        rescale_initial_weights(model)
        pairs = read_pairs(source / corpus, preprocess, open_clip.get_tokenizer(name))
        losses = train(model, pairs, recipe, seed)
        last = losses[-50:]
        record = {
            "corpus": corpus,
            "source": read_params("source"),
            "seed": seed,
            "pairs": len(pairs.text_NT),
            "data": pairs.digest,
            "steps": recipe["steps"],
            "final_loss": round(sum(last) / len(last), 4),
        }
        save(scratch, model, record)
        rows = "".join(f"{step},{loss:.4f}\n" for step, loss in enumerate(losses))
        (scratch / "loss.csv").write_text("step,loss\n" + rows, encoding="utf-8")


def main(corpus: str, seed: int = 0, corpora: Path | None = None) -> None:
    """Train on CORPUS: cc12m, yfcc, laion, or a folder of shards in CORPORA.

    SEED sets the initial weights and the order.
    """
    # Hides open_clip's warning that there are no weights to load.
    logging.getLogger().setLevel(logging.ERROR)
    source = corpora or Path("corpora") / read_params("source")
    train_checkpoint(
        corpus, seed, read_params("train"), source, Path("checkpoints") / f"clip-{corpus}-s{seed}"
    )


if __name__ == "__main__":
    stage.run(main)
