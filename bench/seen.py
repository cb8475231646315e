"""Speed and answers of the seen analysis compared with parsing every caption: ``python -m bench.seen``.

Two corpora, one process. The first has captions of micro-world training scenes, many per scene; its targets are the
parses of region captions. The second is read from COMPEVAL_REAL_DATA: the targets are the parses of every second web
caption and of FACTUAL's and Visual Genome's region captions, the corpus is the other web captions and CC12M's.

Every caption is also parsed, so answers and times are compared as measured at each size. Projections for LAION-400M use
the rate between the last two sizes as an upper bound of the cost, next to parsing everything and, for the real
captions, the word filter without parsing as the lower bound.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from generators.microworld.captions.content import REGION_KINDS, TRAINING_KINDS, SceneFacts, choose_content
from generators.microworld.captions.wording import write_region_phrase, write_training_caption
from generators.microworld.scenes.splits import TEST_IDS, sample_test_scene, sample_training_scene, training_ids
from generators.parser.caption_parser import CaptionParser, make_parser
from generators.readers import visual_genome
from generators.readers.corpora import Column, list_shards, read_captions
from generators.readers.records import Flaws
from generators.seen_analysis.engines import make_local_engine
from generators.seen_analysis.seen import analyse
from generators.seen_analysis.shards import Search, ShardResult
from generators.seen_analysis.targets import CaptionWords, Targets, UnseenTargets

SIZES = (10_000, 50_000, 200_000)
PER_SCENE = 80
TEST_SCENES, PER_TEST_SCENE = 150, 6
LAION = 407_000_000
"""Captions of LAION-400M."""


class Run(NamedTuple):
    """Result and time of an analysis, and targets and time of parsing every caption."""

    result: ShardResult
    targets: frozenset[int]
    seconds: float
    seconds_everything: float

    @property
    def rate(self) -> float:
        """Captions per second."""
        return self.result.captions / self.seconds


def microworld_captions() -> Iterator[str]:
    """Yield training captions of the corpus cc12m."""
    for image_id in training_ids(0, SIZES[-1] // PER_SCENE + 1):
        scene = sample_training_scene(0, "cc12m", image_id)
        facts = SceneFacts.of(scene, [item.id for item in scene.objects], sizes=True)
        for number in range(PER_SCENE):
            rng = Random(f"{image_id}:{number}")
            if content := choose_content(facts, TRAINING_KINDS, rng):
                yield write_training_caption(facts, content, rng)


def microworld_test_captions() -> Iterator[str]:
    for image_id in TEST_IDS[:TEST_SCENES]:
        scene = sample_test_scene(0, image_id)
        facts = SceneFacts.of(scene, [item.id for item in scene.objects], sizes=True)
        for number in range(PER_TEST_SCENE):
            rng = Random(f"{image_id}:{number}")
            if content := choose_content(facts, REGION_KINDS, rng):
                yield write_region_phrase(facts, content, rng)


def real_captions(data: Path) -> tuple[list[str], list[str]]:
    """Return test captions and corpus captions."""
    web = [*read(data / "captions/cc3m_validation_8k.tsv", 0), *read(data / "captions/web_alt_text_1k.tsv", "TEXT")]
    regions = [
        region.phrase
        for version in ("v1.0.0", "v1.2.0")
        for image in visual_genome.read(data / "visual_genome" / version, Flaws())
        for region in image.regions
    ]
    return [*web[::2], *read(data / "factual/dev.csv", "caption"), *regions], [
        *web[1::2],
        *read(data / "cc12m/*.tar", "caption"),
    ]


def read(pattern: Path, column: Column) -> Iterator[str]:
    return (" ".join(text.split()) for shard in list_shards(str(pattern)) for text in read_captions(shard, column))


def measure(targets: Targets, texts: Sequence[str], parser: CaptionParser, sizes: Sequence[int]) -> list[Run]:
    """Analyse and parse the first ``sizes`` captions. Raises AssertionError if the answers differ."""
    runs = []
    for size, (parsed_targets, seconds) in zip(sizes, everything(targets, texts, parser, sizes), strict=True):
        start = time.process_time()
        result = analysed(targets, texts[:size], parser)
        run = Run(result, parsed_targets, time.process_time() - start, seconds)
        assert result.counts.keys() == parsed_targets, "the word filter lost a target"
        runs.append(run)
    return runs


def everything(
    targets: Targets, texts: Sequence[str], parser: CaptionParser, sizes: Sequence[int]
) -> Iterator[tuple[frozenset[int], float]]:
    """Yield the targets in the parses of the first ``sizes`` captions, and the seconds of processor time."""
    seen: set[int] = set()
    seconds, first = 0.0, 0
    for size in sizes:
        start = time.process_time()
        for parse in parser.parse(texts[first:size]):
            items = (*parse.graph.atoms, *parse.graph.compounds)
            seen.update(targets.index[item] for item in items if item in targets.index)
        seconds, first = seconds + time.process_time() - start, size
        yield frozenset(seen), seconds


def analysed(targets: Targets, texts: Sequence[str], parser: CaptionParser) -> ShardResult:
    """Analyse the captions from a file on disk."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "captions.txt"
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        search = Search(targets, tuple(list_shards(str(path))), "caption")
        return analyse(search, Path(folder), make_local_engine(lambda: parser, 1), progress=False)


def filter_rate(targets: Targets, texts: Sequence[str], parser: CaptionParser) -> float:
    """Return the captions per second of the word filter while no target has been seen."""
    words, unseen = CaptionWords(frozenset().union(*targets.words), parser), UnseenTargets(targets.words, ())
    for text in texts:
        words(text)  # fills the cache of word forms
    start = time.process_time()
    for text in texts:
        unseen.any_possible(words(text))
    return len(texts) / (time.process_time() - start)


def targets_of(texts: Sequence[str], parser: CaptionParser) -> Targets:
    return Targets.of(parse.graph for parse in parser.parse(texts))


def report(targets: Targets, run: Run) -> None:
    share, ratio = run.result.parsed / run.result.captions, run.seconds_everything / run.seconds
    print(
        f"{run.result.captions:>9,} captions {run.rate:>8,.0f}/s   parsed {share:>6.1%}   {ratio:>5.1f} x parsing all"
        f"   same {len(run.targets):,} of {len(targets.items):,} targets seen"
    )


def project(what: str, rate: float) -> None:
    """Print the cost of LAION-400M at ``rate`` captions per second and core."""
    here = os.cpu_count() or 1
    hours = LAION / rate / 3600
    print(
        f"LAION-400M, {LAION / 1e6:.0f} M captions, {what}, {rate:,.0f}/s and core: "
        f"{hours / here:,.1f} h on {here} cores here, {hours / 64:,.2f} h on 64"
    )


def bench_microworld(parser: CaptionParser) -> None:
    targets = targets_of(list(microworld_test_captions()), parser)
    runs = measure(targets, list(islice(microworld_captions(), SIZES[-1])), parser, SIZES)
    print("microworld")
    for run in runs:
        report(targets, run)
    *_, before, last = runs
    project("at the rate of the last", (SIZES[-1] - SIZES[-2]) / max(last.seconds - before.seconds, 1e-9))
    project("parsing all", SIZES[-1] / last.seconds_everything)


def bench_real(parser: CaptionParser, data: Path) -> None:
    test, corpus = real_captions(data)
    targets = targets_of(test, parser)
    print(f"real captions: {len(test):,} give {len(targets.atoms):,} atoms, {len(targets.compounds):,} compounds")
    (run,) = measure(targets, corpus, parser, [len(corpus)])
    report(targets, run)
    project("the word filter without parsing", filter_rate(targets, corpus, parser))
    project("as in this small corpus", run.rate)
    project("parsing all", len(corpus) / run.seconds_everything)


def main() -> None:
    parser = make_parser()
    if data := os.environ.get("COMPEVAL_REAL_DATA"):
        bench_real(parser, Path(data))
    else:
        print("COMPEVAL_REAL_DATA is not set: no real captions.")
    bench_microworld(parser)


if __name__ == "__main__":
    main()
