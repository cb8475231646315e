"""The data of ``compeval demo``: a sample of CREPE's micro-world sets and a tiny CLIP. The wheel contains both.

``compeval.demo.make`` writes this folder's data. The crops are scaled down; the weights are in half precision, without
the embeddings of tokens that occur neither in the model's corpus nor in the sample: 1 MB instead of 27.
"""

from __future__ import annotations

from pathlib import Path

from compeval.evaluators.models.local import restore_embeddings

FOLDER = Path(__file__).resolve().parent
SAMPLE = "crepe"
MODEL = "clip-laion-s0"


def write_model(folder: Path, small: Path = FOLDER / MODEL) -> None:
    """Write the model as open_clip reads it. ``local:`` loads the packaged folder as well."""
    restore_embeddings(small, folder)
