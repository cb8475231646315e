"""Compare the captioners of the productivity sets: how many captions are kept, true and fluent.

A variant (the block ``productivity_variants`` of params.yaml) has captions of another captioner for the same scenes. It
is compared with the default captioner at the same complexities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from compeval.base.schemas.corpus_names import name_productivity_funnel, parse_productivity
from compeval.base.storage import parquet
from compeval.base.text_only.ngram import NgramModel

UNUSED = ("caption: no cached answer", "caption: no place in the template")
"""Reasons in the counts of CREPE's statistics for which the captioner wrote no caption."""


def compare_captioners(
    folder: Path,
    verdicts: Mapping[tuple[str, str, bool], bool],
    funnels: Mapping[str, Mapping[str, int]],
    model: NgramModel,
) -> list[dict[str, Any]]:
    """Return the measurements of each variant of the dataset ``folder``, each followed by those of the default.

    ``verdicts``: (image id, text, is it a caption) -> is a caption true, or a hard negative false, of the scene?
    ``funnels``: counts by step of the dataset's statistics. ``model``: n-gram model of the training captions.
    """
    texts = pd.DataFrame(
        _read_texts(folder),
        columns=["variant", "split", "captioner", "image_id", "text", "is_caption"],
    )
    texts = texts.drop_duplicates()
    keys = zip(texts["image_id"], texts["text"], texts["is_caption"], strict=True)
    texts["is_right"] = pd.Series([verdicts[key] for key in keys], texts.index, dtype=bool)
    measurements: list[dict[str, Any]] = []
    for variant in sorted(set(texts["variant"]) - {""}):
        splits = sorted(
            set(texts.loc[texts["variant"] == variant, "split"]),
            key=lambda split: int(split[1:]),
        )
        for measured in (variant, ""):
            of_variant = texts[(texts["variant"] == measured) & texts["split"].isin(splits)]
            measurements.append(_measure(of_variant, measured, splits, funnels, model))
    return measurements


def _read_texts(folder: Path) -> Iterator[tuple[str, str, str, str, str, bool]]:
    """Yield the captions of all productivity configs, and the hard negatives of the paper's types."""
    for path in sorted(folder.glob("prod_*/*.parquet")):
        config = parse_productivity(path.parent.name)
        split = path.name.rsplit("-", 3)[0]
        if config is None or config.kind == "hnall" or config.kind.endswith("balanced"):
            continue
        columns = [
            "image_id",
            "caption",
            "provenance",
            *(["hard_negatives"] if config.kind != "raw" else []),
        ]
        for row in parquet.read_table(path, columns).to_pylist():
            about = config.variant or "", split, row["provenance"]["captioner"], row["image_id"]
            yield *about, row["caption"], True
            for text in row.get("hard_negatives", ()):
                yield *about, text, False


def _measure(
    texts: pd.DataFrame,
    variant: str,
    splits: Sequence[str],
    funnels: Mapping[str, Mapping[str, int]],
    model: NgramModel,
) -> dict[str, Any]:
    captions = texts[texts["is_caption"]]
    negatives = texts[~texts["is_caption"]]
    counts = [funnels.get(name_productivity_funnel(variant, split), {}) for split in splits]
    rejected = sum(
        count
        for reasons in counts
        for reason, count in reasons.items()
        if reason.startswith("caption: ") and reason not in UNUSED
    )
    return {
        "variant": variant,
        "captioner": ", ".join(sorted(set(texts["captioner"]))),
        "complexities": [int(split[1:]) for split in splits],
        "captions": len(captions),
        "kept": len(captions) / (len(captions) + rejected) if len(captions) else None,
        "true": float(captions["is_right"].mean()) if len(captions) else None,
        "negatives": len(negatives),
        "genuine": float(negatives["is_right"].mean()) if len(negatives) else None,
        "log_probability": float(pd.Series(model.score(list(captions["text"]))).mean())
        if len(captions)
        else None,
    }
