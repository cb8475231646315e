"""Speed of the seen analysis beside parsing every caption, and their answers: ``python -m bench.seen [FOLDER]``.

Without FOLDER the corpus is made of captions of microworld training scenes (many of each scene, so that 200,000 are
there in minutes) and the targets are the parses of its region captions. FOLDER is COMPEVAL_REAL_DATA: then the targets
are the parses of every second web caption, of FACTUAL's and of Visual Genome's region captions, the corpus the other
web captions and CC12M's. One process throughout.

Printed for each size: captions per second, share parsed, and the ratio to parsing everything, whose time is measured
up to 10,000 captions and beyond that taken to grow with their number. The projection for LAION-400M takes the rate
between the last two sizes, which grows on, so it is an upper bound.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from generators import visual_genome
from generators.corpora import Column, captions, shards
from generators.microworld.build import evaluation_scene, training_scene
from generators.microworld.captions import region_phrase, training_caption
from generators.microworld.contents import REGION_KINDS, TRAINING_KINDS, Facts, choose
from generators.microworld.scenes import TEST_IDS, training_ids
from generators.seen import Language, LocalEngine, Search, ShardResult, analyse, our_language
from generators.targets import Targets

SIZES = (10_000, 50_000, 200_000)
PER_SCENE = 40
TEST_SCENES, PER_TEST_SCENE = 150, 6
LAION = 400_000_000


class Run(NamedTuple):
    captions: int
    seconds: float
    result: ShardResult


def microworld_captions() -> Iterator[str]:
    """Training captions of the corpus cc12m."""
    for image_id in training_ids(0, SIZES[-1] // PER_SCENE + 1):
        scene = training_scene(0, "cc12m", image_id)
        facts = Facts.of(scene, [thing.id for thing in scene.things], sizes=True)
        for number in range(PER_SCENE):
            rng = Random(f"{image_id}:{number}")
            if content := choose(facts, TRAINING_KINDS, rng):
                yield training_caption(facts, content, rng)


def microworld_test_captions() -> Iterator[str]:
    for image_id in TEST_IDS[:TEST_SCENES]:
        scene = evaluation_scene(0, image_id)
        facts = Facts.of(scene, [thing.id for thing in scene.things], sizes=True)
        for number in range(PER_TEST_SCENE):
            rng = Random(f"{image_id}:{number}")
            if content := choose(facts, REGION_KINDS, rng):
                yield region_phrase(facts, content, rng)


def real_captions(data: Path) -> tuple[list[str], list[str]]:
    """Test captions and corpus captions."""
    web = [*read(data / "captions/cc3m_validation_8k.tsv", 0), *read(data / "captions/web_alt_text_1k.tsv", "TEXT")]
    regions = [
        region.phrase
        for version in ("v1.0.0", "v1.2.0")
        for image in visual_genome.read(data / "visual_genome" / version)
        for region in image.regions
    ]
    return [*web[::2], *read(data / "factual/dev.csv", "caption"), *regions], [
        *web[1::2],
        *read(data / "cc12m/*.tar", "caption"),
    ]


def read(pattern: Path, column: Column) -> Iterator[str]:
    return (text for shard in shards(str(pattern)) for text in captions(shard, column))


def filtered(targets: Targets, texts: Iterable[str], language: Language) -> Run:
    """A whole analysis of the captions, from a file on disk."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "captions.txt"
        path.write_text("".join(f"{' '.join(text.split())}\n" for text in texts), encoding="utf-8")
        search = Search(targets, tuple(shards(str(path))), "caption")
        start = time.perf_counter()
        result = analyse(search, Path(folder), LocalEngine(lambda: language, 1), progress=False)
        return Run(result.captions, time.perf_counter() - start, result)


def everything(targets: Targets, texts: Iterable[str], language: Language) -> tuple[set[int], float]:
    """The targets that parsing every caption finds, and the seconds it takes."""
    start = time.perf_counter()
    found = {
        targets.index[item]
        for parse in language.parse(" ".join(text.split()) for text in texts)
        for item in (*parse.graph.atoms, *parse.graph.compounds)
        if item in targets.index
    }
    return found, time.perf_counter() - start


def report(run: Run, seconds_each: float) -> None:
    rate, ratio = run.captions / run.seconds, seconds_each * run.captions / run.seconds
    share = run.result.parsed / run.captions
    print(f"{run.captions:>9,} captions {rate:>9,.0f}/s   parsed {share:>6.1%}   {ratio:>5.1f} x parsing everything")


def compare(targets: Targets, texts: list[str], language: Language) -> float:
    """Seconds to parse one caption; AssertionError where the two answers differ."""
    found, seconds = everything(targets, texts, language)
    run = filtered(targets, texts, language)
    assert run.result.counts.keys() == found, "the word filter lost a target"
    print(f"same {len(found):,} of {len(targets.items):,} targets seen as by parsing all {len(texts):,} captions")
    report(run, seconds / len(texts))
    return seconds / len(texts)


def main() -> None:
    language = our_language()
    if len(sys.argv) > 1:
        test, corpus = real_captions(Path(sys.argv[1]))
        compare(Targets.of(parse.graph for parse in language.parse(test)), corpus, language)
        return
    targets = Targets.of(parse.graph for parse in language.parse(microworld_test_captions()))
    corpus = list(islice(microworld_captions(), SIZES[-1]))
    each = compare(targets, corpus[: SIZES[0]], language)
    runs = [filtered(targets, corpus[:size], language) for size in SIZES]
    for run in runs:
        report(run, each)
    rate = (runs[-1].captions - runs[-2].captions) / (runs[-1].seconds - runs[-2].seconds)
    print(f"LAION-400M at {rate:,.0f} captions/s and core: {LAION / rate / 3600 / 2:,.1f} h on 2 cores,", end=" ")
    print(f"{LAION / rate / 3600 / 64:,.1f} h on 64")


if __name__ == "__main__":
    main()
