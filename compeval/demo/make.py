"""Write the packaged data of ``compeval demo``, or check that they match the outputs of the pipeline.

    python -m compeval.demo.make                 # after `dvc repro`: write a sample of crepe/ and of a checkpoint
    python -m compeval.demo.make --check-only    # fail if they differ from crepe/ and checkpoints/

All columns but the image must be equal. Processors round differently in training, so the model may differ from the
checkpoint, as long as the accuracies on the whole sample differ by at most ``TOLERANCE``.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from compeval.base.pipeline import stage
from compeval.demo import FOLDER, MODEL, SAMPLE, write_model
from compeval.evaluators.models.local import CONFIG, EMBEDDING, TOKEN_IDS, TRAINING, WEIGHTS
from compeval.loaders.datasets.referenced_images import read_stored

ROWS = {
    **{(config, "test"): 300 for config in ("laion_sc_hnatom", "laion_uc_hnatom")},
    **{(config, split): 100 for config in ("prod_hnatom", "prod_hnneg") for split in ("n4", "n12")},
    # Few captions of 4 atoms have swaps.
    **{("prod_hnswap", split): 100 for split in ("n6", "n12")},
}
"""Number of rows per config and split."""
MAX_SIDE = 128
CORPUS = "corpora/microworld/laion/*.tar"
TOLERANCE = 0.05


def sample_rows(table: pa.Table, count: int, source: Path) -> pa.Table:
    """Return ``count`` evenly spaced rows, with their crops scaled down to ``MAX_SIDE`` pixels.

    ``source`` is the dataset folder, which contains the crops that the rows reference.
    """
    sample = table.take([index * len(table) // count for index in range(count)])
    position = sample.schema.get_field_index("image")
    field = sample.schema.field(position)
    cells = [
        {"bytes": _scale_down(read_stored(cell, source)), "path": None}
        for cell in sample["image"].to_pylist()
    ]
    return sample.set_column(position, field, pa.array(cells, field.type))


def _scale_down(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with Image.open(io.BytesIO(data)) as image:
        image.thumbnail((MAX_SIDE, MAX_SIDE))
        image.save(buffer, "JPEG", quality=90, subsampling=0)
    return buffer.getvalue()


def write_sample(source: Path, folder: Path) -> None:
    """Write the sample of the dataset folder ``source`` as a dataset folder."""
    from compeval.loaders.cards.card import hub_metadata, render, write_card
    from compeval.loaders.datasets.image_sources import list_image_sources
    from compeval.loaders.datasets.stats import measure, read_stats

    version = read_stats(source)["version"]
    shutil.rmtree(folder, ignore_errors=True)
    for (config, split), count in ROWS.items():
        (folder / config).mkdir(parents=True, exist_ok=True)
        table = pq.read_table(sorted((source / config).glob(f"{split}-*.parquet")))
        pq.write_table(
            sample_rows(table, count, source), folder / config / f"{split}-00000-of-00001.parquet"
        )
    stats = measure(folder) | {"sources": list_image_sources(folder), "sample_of": version}
    metadata = hub_metadata("CREPE, a sample", stats, ["zero-shot-image-classification"])
    write_card(folder, metadata, render("demo", stats=stats, max_side=MAX_SIDE), stats)


def read_texts(folder: Path) -> set[str]:
    """Return all captions and hard negatives of a dataset folder."""
    texts: set[str] = set()
    for path in folder.glob("*/*.parquet"):
        table = pq.read_table(path, columns=["caption", "hard_negatives"])
        texts |= {
            *table["caption"].to_pylist(),
            *(text for row in table["hard_negatives"].to_pylist() for text in row),
        }
    return texts


def shrink_model(checkpoint: Path, texts: Iterable[str], folder: Path) -> None:
    """Write the checkpoint in half precision, with the embeddings of the tokens of ``texts`` only."""
    import open_clip
    import torch
    from safetensors.torch import load_file, save_file

    folder.mkdir(parents=True, exist_ok=True)
    for name in (CONFIG, TRAINING):
        shutil.copyfile(checkpoint / name, folder / name)
    ids = torch.unique(open_clip.get_tokenizer(f"local-dir:{checkpoint}")(sorted(texts)))
    weights = load_file(checkpoint / WEIGHTS)
    small = {
        name: weight.half() if weight.is_floating_point() else weight
        for name, weight in weights.items()
    }
    small[EMBEDDING] = small[EMBEDDING][ids].contiguous()
    save_file(small | {TOKEN_IDS: ids.int()}, folder / WEIGHTS)


def measure_accuracy(model: Path) -> float:
    """Return the Recall@1 of a model over all rows of the sample."""
    from compeval.evaluators import models
    from compeval.evaluators.engine import tasks
    from compeval.evaluators.run import EvaluationOptions, run

    with tempfile.TemporaryDirectory() as scratch:
        loaded = models.load_model(f"local:{model}", "cpu", "fp32")
        results = run(
            loaded, tasks.discover(FOLDER), EvaluationOptions(data_dir=FOLDER, output=Path(scratch))
        )
    rows = [result["data"]["rows"] for result in results]
    return sum(
        count * result["metrics"]["recall@1"] for count, result in zip(rows, results, strict=True)
    ) / sum(rows)


def check(source: Path, checkpoint: Path) -> None:
    """Raise ValueError if the sample's rows, or the model's accuracy on it, differ from the pipeline's."""
    with tempfile.TemporaryDirectory() as scratch:
        write_sample(source, Path(scratch) / SAMPLE)
        for config in dict.fromkeys(config for config, _ in ROWS):
            ours, theirs = (
                pq.read_table(folder / config).drop(["image"])
                for folder in (FOLDER / SAMPLE, Path(scratch) / SAMPLE)
            )
            if not ours.equals(theirs):
                raise ValueError(
                    f"{FOLDER / SAMPLE / config} differs from {source}. Run `python -m compeval.demo.make`."
                )
        write_model(Path(scratch) / MODEL)
        shipped = measure_accuracy(Path(scratch) / MODEL)
        trained = measure_accuracy(checkpoint)
    print(f"Recall@1 on the sample: the packaged model {shipped:.1%}, {checkpoint} {trained:.1%}")
    if abs(shipped - trained) > TOLERANCE:
        raise ValueError(
            f"{FOLDER / MODEL} differs from {checkpoint}. Run `python -m compeval.demo.make`."
        )


def main(*, check_only: bool = False) -> None:
    from compeval.base.readers.corpora import list_shards, read_captions

    source = Path(SAMPLE)
    checkpoint = Path("checkpoints") / MODEL
    if check_only:
        check(source, checkpoint)
        return
    write_sample(source, FOLDER / SAMPLE)
    captions = {caption for shard in list_shards(CORPUS) for caption in read_captions(shard, "txt")}
    shrink_model(checkpoint, captions | read_texts(FOLDER / SAMPLE), FOLDER / MODEL)


if __name__ == "__main__":
    stage.run(main)
