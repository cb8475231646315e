"""Measure the shares of genuine hard negatives, true captions and correctly listed atoms (stage ``validity``).

    python -m compeval.evaluators.validity.genuine_share        # writes validity.json

Works only for the micro-world, whose scenes are completely known. The oracle judges the sets as built and sets that are
rebuilt from the same scenes with another annotation recall (the share of the facts that are annotated). A text that the
oracle cannot parse counts as a failure.

A hard negative is *genuine* if it is false of the whole scene, and therefore of every crop. Human annotators judged 8
to 30 % of CREPE's hard negatives not to be genuine (arXiv:2212.07796, Table 7).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from tqdm import tqdm

from compeval.base.pipeline import stage
from compeval.base.pipeline.params import read_params
from compeval.base.pipeline.workers import SafePool
from compeval.base.readers.corpora import Skipped, list_shards, read_captions
from compeval.base.schemas.corpus_names import get_kind
from compeval.base.storage import parquet
from compeval.base.text_only.ngram import NgramModel
from compeval.evaluators.validity.captioners import compare_captioners
from compeval.evaluators.validity.listed_atoms import ListedAtoms, measure_listed_atoms
from compeval.evaluators.validity.oracle import UnreadableError, is_true, parse_caption
from compeval.evaluators.validity.rebuild import rebuild_crepe

WORD = re.compile(r"[a-z]+")
TRUTH = "truth"
"""``kind`` of a true caption. All other kinds are types of hard negatives."""
FOIL_KINDS = (
    "hnatom",
    "hncomp",
    "hnatom_balanced",
    "hncomp_balanced",
    "prod_hnatom",
    "prod_hnatom_balanced",
)
"""Kinds of hard negatives with new words."""
COLUMNS = ["image_id", "text", "kind", "split", "caption"]
MAX_LISTED = 40
"""Failures per kind that are written to validity.json."""
WORKERS = 2
NEGATED_TRUTH = "prod_hnneg_balanced"
"""The config whose true captions contain a negation. Its true captions are counted per split."""


def read_texts(dataset: Path) -> pd.DataFrame:
    """Return the distinct true captions and hard negatives of all configs, raw configs included (COLUMNS)."""
    rows = []
    for path in sorted(dataset.glob("*/*.parquet")):
        config = path.parent.name
        split = path.name.rsplit("-", 3)[0]
        kind = get_kind(config)
        if kind.endswith("hnall"):  # repeats the negatives of the other sets
            continue
        columns = ["image_id", "caption"] + ([] if kind.endswith("raw") else ["hard_negatives"])
        for row in parquet.read_table(path, columns).to_pylist():
            image_id = row["image_id"]
            caption = row["caption"]
            rows.append((image_id, caption, TRUTH, split if kind == NEGATED_TRUTH else "", caption))
            rows += [
                (image_id, negative, kind, split, caption)
                for negative in row.get("hard_negatives", ())
            ]
    return pd.DataFrame(sorted(set(rows)), columns=COLUMNS)


def judge(
    texts: pd.DataFrame, scenes: Mapping[str, Mapping[str, Any]], progress: bool = False
) -> pd.DataFrame:
    """Add column ``failure``: why a caption is not true or a negative is not genuine; "" if there is no failure.

    ``scenes``: image id -> scene.
    """

    def describe_failure(text: str, kind: str, image_id: str) -> str:
        try:
            true = is_true(text, scenes[image_id])
        except UnreadableError as error:
            return str(error)
        return "" if true == (kind == TRUTH) else "true of the scene" if true else "false"

    columns = zip(texts["text"], texts["kind"], texts["image_id"], strict=True)
    tracked = tqdm(columns, "oracle", len(texts), unit="text", disable=not progress)
    return texts.assign(
        failure=pd.Series([describe_failure(*row) for row in tracked], texts.index, dtype=str)
    )


def compute_share(judged: pd.DataFrame) -> float | None:
    """Return the share of texts without failure. Returns None if there are no texts."""
    return float((judged["failure"] == "").mean()) if len(judged) else None


def read_truth(path: Path) -> dict[str, dict[str, Any]]:
    """Return image id -> complete scene. Raises FileNotFoundError if the source has no complete scenes."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: no complete scenes; only the micro-world has them.")
    scenes = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {str(scene["image_id"]): scene for scene in scenes}


def measure_foil_words(texts: pd.DataFrame, vocabularies: Mapping[str, set[str]]) -> dict[str, Any]:
    """Return the shares of new words in HN-Atom and HN-Comp negatives that are drawable and occur in each corpus.

    The shares are None if there are no such words.
    """
    drawable = 0
    count = 0
    seen = Counter[str]()
    foils = texts[texts["kind"].isin(FOIL_KINDS)]
    for text, caption in zip(foils["text"], foils["caption"], strict=True):
        new = set(WORD.findall(text.lower())) - set(WORD.findall(caption.lower()))
        try:
            undrawable = set(WORD.findall(" ".join(parse_caption(text).undrawable).lower()))
        except UnreadableError:
            undrawable = new
        count += len(new)
        drawable += len(new - undrawable)
        seen.update(
            {corpus: len((new - undrawable) & words) for corpus, words in vocabularies.items()}
        )
    shares = {corpus: seen[corpus] / count if count else None for corpus in vocabularies}
    return {
        "words": count,
        "drawable": drawable / count if count else None,
        "drawable_and_seen": min(seen[corpus] for corpus in vocabularies) / count
        if count
        else None,
        "by_corpus": shares,
    }


def read_corpus(files: str, column: str) -> Iterator[str]:
    """Yield the captions of a corpus in lower case."""
    return (
        text.lower()
        for shard in list_shards(files)
        for text in read_captions(shard, column, Skipped())
    )


def judge_rebuilt(
    recall: float, seed: int, num_images: int, source: Path, unseen_renderings: float = 0.0
) -> pd.DataFrame:
    """Rebuild the sets of the first ``num_images`` scenes with another annotation recall and judge their texts."""
    with TemporaryDirectory() as scratch:
        scenes = rebuild_crepe(recall, seed, num_images, source, Path(scratch), unseen_renderings)
        return judge(read_texts(Path(scratch) / "crepe"), scenes)


def summarise(
    built: pd.DataFrame, curve: Mapping[float, pd.DataFrame], words: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the content of validity.json: the shares and examples of failures.

    ``built``: judged texts of the sets as built. ``curve``: annotation recall -> judged texts of rebuilt sets.
    """
    counts_and_shares = {
        key: (len(group), compute_share(group)) for key, group in built.groupby(["kind", "split"])
    }
    truth = built[built["kind"] == TRUTH]
    failed = built[built["failure"] != ""].groupby("kind")[
        ["image_id", "text", "caption", "failure"]
    ]
    return {
        "positives": {
            "captions": len(truth),
            "true_share": compute_share(truth),
            "with_denial": [
                {"split": split, "captions": count, "true_share": true_share}
                for (kind, split), (count, true_share) in counts_and_shares.items()
                if kind == TRUTH and split
            ],
        },
        "built": [
            {"type": kind, "split": split, "captions": count, "genuine": genuine}
            for (kind, split), (count, genuine) in counts_and_shares.items()
            if kind != TRUTH
        ],
        "genuine": [
            {
                "type": kind,
                "recall": recall,
                "genuine": compute_share(group),
                "captions": len(group),
            }
            for recall, judged in sorted(curve.items(), reverse=True)
            for kind, group in judged.groupby("kind")
            if kind != TRUTH
        ],
        "true_by_recall": {
            str(recall): compute_share(judged[judged["kind"] == TRUTH])
            for recall, judged in curve.items()
        },
        "foil_words": dict(words),
        "slipped": {
            kind: rows.rename(columns={"caption": "of", "failure": "why"})[:MAX_LISTED].to_dict(
                "records"
            )
            for kind, rows in failed
        },
    }


def summarise_listed_atoms(listed: Mapping[str, ListedAtoms]) -> dict[str, Any]:
    """Return the part of validity.json about the atoms that rows list. ``listed``: kind -> comparison of its rows."""
    return {
        "listed_atoms": [
            {"type": kind, "rows": item.rows, "share": item.share} for kind, item in listed.items()
        ],
        "misread": {
            kind: [{"of": caption, "why": why} for caption, why in dict.fromkeys(item.failures)][
                :MAX_LISTED
            ]
            for kind, item in listed.items()
            if item.failures
        },
    }


def main() -> None:
    settings = read_params("validity")
    world = read_params("microworld")
    source = Path("sources") / read_params("source")
    texts = read_texts(Path("crepe"))
    corpora = read_params("corpora")
    scenes = read_truth(source / "truth.jsonl")
    build = partial(
        judge_rebuilt,
        seed=world["seed"],
        num_images=settings["images"],
        source=source,
        unseen_renderings=world["unseen_renderings"],
    )
    with SafePool(WORKERS) as pool:
        # Runs while this process judges the built sets.
        judged_by_recall = pool.map(build, settings["recalls"])
        built = judge(texts, scenes, progress=True)
        vocabularies = {
            name: {word for text in read_corpus(**corpus) for word in WORD.findall(text)}
            for name, corpus in corpora.items()
        }
        words = measure_foil_words(texts, vocabularies)
        listed = summarise_listed_atoms(measure_listed_atoms(Path("crepe")))
        tracked = tqdm(judged_by_recall, "annotation recall", total=len(settings["recalls"]))
        curve = dict(zip(settings["recalls"], tracked, strict=True))
    content = summarise(built, curve, words) | listed
    keys = zip(built["image_id"], built["text"], built["kind"] == TRUTH, strict=True)
    verdicts = dict(zip(keys, built["failure"] == "", strict=True))
    funnels = json.loads(Path("crepe/stats.json").read_text(encoding="utf-8"))["funnels"]
    # Measures fluency.
    trigrams = NgramModel.of(list(read_corpus(**next(iter(corpora.values())))), 3)
    content["captioners"] = compare_captioners(Path("crepe"), verdicts, funnels, trigrams)
    Path("validity.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    stage.run(main)
