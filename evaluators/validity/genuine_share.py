"""The share of genuine hard negatives and true captions, by the oracle (stage ``validity``).

    python -m evaluators.validity.genuine_share        # writes validity.json

Micro-world only, whose scenes are completely known. Judged are the sets as built and, for the curve over annotation
recall, sets rebuilt from the same scenes with a larger or smaller part of their facts annotated. A text that the oracle
cannot read counts as a failure, whether it should be true or false.

A hard negative is *genuine* if it is false of the whole scene, and so of every crop. Human annotators judged 8 to 30 %
of CREPE's hard negatives not to be genuine (arXiv:2212.07796, Table 7).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from tqdm import tqdm

from evaluators.validity.oracle import UnreadableError, is_true, read
from evaluators.validity.rebuild import rebuild
from generators.readers.corpora import Skipped, list_shards, read_captions
from generators.storage import parquet, stage
from generators.storage.params import read_params

WORD = re.compile(r"[a-z]+")
TRUTH = "truth"
"""The kind of a true caption; other kinds are types of hard negatives."""
COLUMNS = ["image_id", "text", "kind", "split", "caption"]
MAX_LISTED = 40
NEGATED_TRUTH = "prod_hnneg_balanced"
"""The config whose true captions hold a negation; they are counted per split."""


def statements(dataset: Path) -> pd.DataFrame:
    """Every distinct text about an image (COLUMNS): hard negatives, and true captions, of the raw configs too."""
    rows = []
    for path in sorted(dataset.glob("*/*.parquet")):
        config, split = path.parent.name, path.name.rsplit("-", 3)[0]
        kind = config if config.startswith("prod_") else config.rsplit("_", 1)[-1]
        if kind.endswith("hnall"):  # repeats the negatives of the other sets
            continue
        names = ["image_id", "caption"] + ([] if kind.endswith("raw") else ["hard_negatives"])
        for row in parquet.read_table(path, names).to_pylist():
            image_id, caption = row["image_id"], row["caption"]
            rows.append((image_id, caption, TRUTH, split if kind == NEGATED_TRUTH else "", caption))
            rows += [(image_id, negative, kind, split, caption) for negative in row.get("hard_negatives", ())]
    return pd.DataFrame(sorted(set(rows)), columns=COLUMNS)


def judge(texts: pd.DataFrame, scenes: Mapping[str, Mapping[str, Any]], progress: bool = False) -> pd.DataFrame:
    """Add ``failure``: why a text is no true caption or no genuine negative, "" if it is; ``scenes`` by image id."""

    def failure(text: str, kind: str, image_id: str) -> str:
        try:
            true = is_true(text, scenes[image_id])
        except UnreadableError as error:
            return str(error)
        return "" if true == (kind == TRUTH) else "true of the scene" if true else "false"

    columns = zip(texts["text"], texts["kind"], texts["image_id"], strict=True)
    tracked = tqdm(columns, "oracle", len(texts), unit="text", disable=not progress)
    return texts.assign(failure=pd.Series([failure(*row) for row in tracked], texts.index, dtype=str))


def share(judged: pd.DataFrame) -> float | None:
    """Share of texts without failure; None if there are no texts."""
    return float((judged["failure"] == "").mean()) if len(judged) else None


def read_truth(path: Path) -> dict[str, dict[str, Any]]:
    """Image id -> complete scene. FileNotFoundError if the source has no known truth."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: no complete scenes; only the micro-world has them.")
    scenes = map(json.loads, path.read_text().splitlines())
    return {str(scene["image_id"]): scene for scene in scenes}


def new_words(text: str, caption: str) -> set[str]:
    """The words of a hard negative that its true caption does not have."""
    return set(WORD.findall(text.lower())) - set(WORD.findall(caption.lower()))


def foil_words(texts: pd.DataFrame, vocabularies: Mapping[str, set[str]]) -> dict[str, Any]:
    """Share of HN-Atom and HN-Comp foil words that are drawable and occur in each corpus; None without such words."""
    drawable, count, seen = 0, 0, Counter[str]()
    foils = texts[texts["kind"].isin(["hnatom", "hncomp", "prod_hnatom"])]
    for text, caption in zip(foils["text"], foils["caption"], strict=True):
        new = new_words(text, caption)
        try:
            undrawable = set(WORD.findall(" ".join(read(text).undrawable).lower()))
        except UnreadableError:
            undrawable = new
        count += len(new)
        drawable += len(new - undrawable)
        seen.update({corpus: len((new - undrawable) & words) for corpus, words in vocabularies.items()})
    by_corpus = {corpus: seen[corpus] / count if count else None for corpus in vocabularies}
    return {
        "words": count,
        "drawable": drawable / count if count else None,
        "drawable_and_seen": min(seen[corpus] for corpus in vocabularies) / count if count else None,
        "by_corpus": by_corpus,
    }


def vocabulary(files: str, column: str) -> set[str]:
    """Every word of a corpus' captions."""
    texts = (text for shard in list_shards(files) for text in read_captions(shard, column, Skipped()))
    return {word for text in texts for word in WORD.findall(text.lower())}


def judge_rebuilt(recall: float, seed: int, images: int, source: Path) -> pd.DataFrame:
    """Judged texts of the sets that the first ``images`` scenes yield with another annotation recall."""
    with TemporaryDirectory() as scratch:
        scenes = rebuild(recall, seed, images, source, Path(scratch))
        return judge(statements(Path(scratch) / "crepe"), scenes)


def summary(built: pd.DataFrame, curve: Mapping[float, pd.DataFrame], words: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of the report, and the failures, listed."""
    groups = {key: (len(group), share(group)) for key, group in built.groupby(["kind", "split"])}
    truth = built[built["kind"] == TRUTH]
    failed = built[built["failure"] != ""].groupby("kind")[["image_id", "text", "caption", "failure"]]
    return {
        "positives": {
            "captions": len(truth),
            "true_share": share(truth),
            "with_denial": [
                {"split": split, "captions": count, "true_share": true}
                for (kind, split), (count, true) in groups.items()
                if kind == TRUTH and split
            ],
        },
        "built": [
            {"type": kind, "split": split, "captions": count, "genuine": genuine}
            for (kind, split), (count, genuine) in groups.items()
            if kind != TRUTH
        ],
        "genuine": [
            {"type": kind, "recall": recall, "genuine": share(group), "captions": len(group)}
            for recall, judged in sorted(curve.items(), reverse=True)
            for kind, group in judged.groupby("kind")
            if kind != TRUTH
        ],
        "true_by_recall": {str(recall): share(judged[judged["kind"] == TRUTH]) for recall, judged in curve.items()},
        "foil_words": dict(words),
        "slipped": {
            kind: rows.rename(columns={"caption": "of", "failure": "why"})[:MAX_LISTED].to_dict("records")
            for kind, rows in failed
        },
    }


def main() -> None:
    settings, world, source = (
        read_params("validity"),
        read_params("microworld"),
        Path("sources") / read_params("source"),
    )
    texts, corpora = statements(Path("crepe")), read_params("corpora")
    built = judge(texts, read_truth(source / "truth.jsonl"), progress=True)
    words = foil_words(texts, {name: vocabulary(corpus["files"], corpus["column"]) for name, corpus in corpora.items()})
    build = partial(judge_rebuilt, seed=world["seed"], images=settings["images"], source=source)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        judged = tqdm(pool.map(build, settings["recalls"]), "annotation recall", total=len(settings["recalls"]))
        curve = dict(zip(settings["recalls"], judged, strict=True))
    Path("validity.json").write_text(json.dumps(summary(built, curve, words), indent=1) + "\n")


if __name__ == "__main__":
    stage.run(main)
