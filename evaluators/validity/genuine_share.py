"""How valid are the sets? The oracle's verdict on every caption and hard negative (stage ``validity``).

    python -m evaluators.validity.genuine_share        # writes validity.json

Only for the micro-world, whose scenes are completely known. Checked are the sets as they were built, and, for the curve
over annotation recall, sets built anew from the same scenes with more or fewer of their facts annotated. A caption that
the oracle cannot read counts as a failure: as not true if it should be, as not false if it should be.

A hard negative is *genuine* if it is false of the whole scene, and so of every crop of it. People judged 8 to 30 % of
CREPE's not to be (arXiv:2212.07796, Table 7).
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tqdm import tqdm

from evaluators.validity.oracle import UnreadableError, is_true, read
from generators.readers.corpora import Skipped, captions, shards
from generators.storage import parquet, stage
from generators.storage.params import block, reading

WORD = re.compile(r"[a-z]+")
COLUMNS = ["image_id", "caption", "hard_negatives"]
MOST_LISTED = 40
DENYING = "prod_hnneg_balanced"
"""The config whose true captions are not those of the others: they hold a denial, and are counted by split."""


@dataclass(frozen=True, order=True)
class Claim:
    """One text that a set makes about an image, and what it is there: ``truth`` or the type of hard negative."""

    image_id: str
    text: str
    kind: str
    split: str
    caption: str


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@dataclass
class Verdicts:
    """How many claims of each (kind, split) are as they should be, and those that are not, with the reason."""

    right: Counter[tuple[str, str]] = field(default_factory=Counter)
    total: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[tuple[Claim, str]] = field(default_factory=list)

    def share(self, kind: str) -> float | None:
        """The share of a kind, over all its splits; None where there is no claim of it."""
        return _share(sum(count for (name, _), count in self.right.items() if name == kind), self.count(kind))

    def count(self, kind: str) -> int:
        return sum(count for (name, _), count in self.total.items() if name == kind)

    @property
    def kinds(self) -> list[str]:
        """The types of hard negative, the truth left out."""
        return sorted({kind for kind, _ in self.total} - {"truth"})


def claims(dataset: Path) -> list[Claim]:
    """Every distinct claim of the hard-negative configs, and every distinct true caption of the raw ones."""
    found: set[Claim] = set()
    for path in sorted(dataset.glob("*/*.parquet")):
        config, split = path.parent.name, path.name.rsplit("-", 3)[0]
        kind = config if config.startswith("prod_") else config.rsplit("_", 1)[-1]
        if kind.endswith("hnall"):  # the same negatives as in the sets of one type
            continue
        of_truth = split if kind == DENYING else ""
        for row in parquet.read_table(path, COLUMNS[:2] if kind.endswith("raw") else COLUMNS).to_pylist():
            found.add(Claim(row["image_id"], row["caption"], "truth", of_truth, row["caption"]))
            for negative in row.get("hard_negatives", ()):
                found.add(Claim(row["image_id"], negative, kind, split, row["caption"]))
    return sorted(found)


def judge(found: Iterable[Claim], scenes: Mapping[str, Mapping[str, Any]]) -> Verdicts:
    """The oracle's verdict on each claim; ``scenes`` are the complete scenes by image id."""
    verdicts = Verdicts()
    for claim in found:
        key, expected = (claim.kind, claim.split), claim.kind == "truth"
        verdicts.total[key] += 1
        try:
            if is_true(claim.text, scenes[claim.image_id]) == expected:
                verdicts.right[key] += 1
            else:
                verdicts.wrong.append((claim, "false" if expected else "true of the scene"))
        except UnreadableError as error:
            verdicts.wrong.append((claim, str(error)))
    return verdicts


def read_truth(path: Path) -> dict[str, dict[str, Any]]:
    """Image id -> complete scene. FileNotFoundError where the source has no known truth."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: the complete scenes are not there; only the micro-world has them.")
    scenes = map(json.loads, path.read_text().splitlines())
    return {str(scene["image_id"]): scene for scene in scenes}


def new_words(claim: Claim) -> set[str]:
    """The words of a hard negative that its true caption does not have."""
    return set(WORD.findall(claim.text.lower())) - set(WORD.findall(claim.caption.lower()))


def foil_words(found: Iterable[Claim], vocabularies: Mapping[str, set[str]]) -> dict[str, Any]:
    """The share of HN-Atom and HN-Comp foil words that can be drawn and that occur in each corpus' captions.

    Shares are None where there is no such word.
    """
    count, drawable, seen = 0, 0, Counter[str]()
    for claim in found:
        if claim.kind not in ("hnatom", "hncomp", "prod_hnatom"):
            continue
        try:
            undrawn = set(WORD.findall(" ".join(read(claim.text).undrawable).lower()))
        except UnreadableError:
            undrawn = new_words(claim)
        for word in new_words(claim):
            count += 1
            drawable += word not in undrawn
            for corpus, vocabulary in vocabularies.items():
                seen[corpus] += word not in undrawn and word in vocabulary
    return {
        "words": count,
        "drawable": _share(drawable, count),
        "drawable_and_seen": _share(min(seen[corpus] for corpus in vocabularies), count),
        "by_corpus": {corpus: _share(seen[corpus], count) for corpus in vocabularies},
    }


def vocabulary(files: str, column: str) -> set[str]:
    """Every word of a corpus' captions."""
    texts = (text for shard in shards(files) for text in captions(shard, column, Skipped()))
    return {word for text in texts for word in WORD.findall(text.lower())}


def rebuilt(recall: float, seed: int, images: int, source: Path) -> Verdicts:
    """Verdicts on sets that are built from the first ``images`` scenes with another annotation recall."""
    from generators import crepe_productivity, crepe_systematicity
    from generators.microworld.annotate import annotate, write
    from generators.microworld.build import evaluation_scene
    from generators.microworld.scenes.sampler import TEST_IDS
    from generators.readers import visual_genome
    from generators.storage.dataset import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA, write_config

    scenes = [evaluation_scene(seed, image_id) for image_id in TEST_IDS[:images]]
    with TemporaryDirectory() as scratch:
        folder, root = Path(scratch) / "source", Path(scratch) / "crepe"
        folder.mkdir()
        write(annotate(scenes, seed, recall), folder)
        (folder / "VG_100K").symlink_to((source / "VG_100K").resolve())
        settings = block("crepe_systematicity") | {"workers": 1} | reading()
        crepe_systematicity.build_regions(
            "microworld", lambda: visual_genome.read(folder, lambda flaw: None), settings, Path(scratch) / "regions"
        )
        rows = list(crepe_systematicity.read_rows(Path(scratch) / "regions"))
        write_config(root, "all_raw", {"test": crepe_systematicity.raw_rows(rows)}, RAW_SCHEMA)
        for kind in crepe_systematicity.NEGATIVES:
            kept = crepe_systematicity.hard_negative_rows(rows, [kind])
            write_config(root, f"all_{kind}", {"test": kept}, HARD_NEGATIVE_SCHEMA)
        productivity = crepe_productivity.Settings(**block("crepe_productivity") | {"workers": 1} | reading())
        crepe_productivity.write(folder, "microworld", productivity, root)
        return judge(claims(root), {str(scene.image_id): scene.to_json() for scene in scenes})


def summary(built: Verdicts, curve: Mapping[float, Verdicts], words: Mapping[str, Any]) -> dict[str, Any]:
    """What the report shows, and what slipped through, listed."""
    reasons = defaultdict(list)
    for claim, reason in built.wrong:
        reasons[claim.kind].append({"image_id": claim.image_id, "text": claim.text, "of": claim.caption, "why": reason})
    return {
        "positives": {
            "captions": built.count("truth"),
            "true_share": built.share("truth"),
            "with_denial": [
                {"split": split, "captions": total, "true_share": built.right[kind, split] / total}
                for (kind, split), total in sorted(built.total.items())
                if kind == "truth" and split
            ],
        },
        "built": [
            {"type": kind, "split": split, "captions": total, "genuine": built.right[kind, split] / total}
            for (kind, split), total in sorted(built.total.items())
            if kind != "truth"
        ],
        "genuine": [
            {"type": kind, "recall": recall, "genuine": verdicts.share(kind), "captions": verdicts.count(kind)}
            for recall, verdicts in sorted(curve.items(), reverse=True)
            for kind in verdicts.kinds
        ],
        "true_by_recall": {str(recall): verdicts.share("truth") for recall, verdicts in curve.items()},
        "foil_words": dict(words),
        "slipped": {kind: found[:MOST_LISTED] for kind, found in sorted(reasons.items())},
    }


def main() -> None:
    settings, world, source = block("validity"), block("microworld"), Path("sources") / block("source")
    corpora = block("corpora")
    found = claims(Path("crepe"))
    built = judge(tqdm(found, "oracle", unit="caption"), read_truth(source / "truth.jsonl"))
    words = foil_words(found, {name: vocabulary(corpus["files"], corpus["column"]) for name, corpus in corpora.items()})
    build = partial(rebuilt, seed=world["seed"], images=settings["images"], source=source)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        verdicts = tqdm(pool.map(build, settings["recalls"]), "annotation recall", total=len(settings["recalls"]))
        curve = dict(zip(settings["recalls"], verdicts, strict=True))
    Path("validity.json").write_text(json.dumps(summary(built, curve, words), indent=1) + "\n")


if __name__ == "__main__":
    stage.run(main)
