"""Compare the seen analysis with parsing every caption of a corpus.

    python -m bench.seen
    python -m bench.seen --regions VISUAL_GENOME --corpus 'laion/*.parquet' --column TEXT   # any size

The seen analysis finds which targets (atoms and compounds) occur in a corpus. It parses only captions whose words could
contain a target that has not been found yet. Both methods run in one process on two corpora, and their answers must be
equal:

- Captions of micro-world training scenes. The targets are the parses of region captions of test scenes.
- Captions read from COMPEVAL_REAL_DATA. The corpus is every second web caption and the captions of CC12M; the targets
  are the parses of the other web captions and of the region captions of FACTUAL and Visual Genome.

With ``--corpus``, the corpus is analysed by the pipeline's own code, with 200,000 targets from region phrases, and
every caption of a sample is parsed (bench/seen_at_real_size.py). ``python -m bench.standin`` writes such files.

The cost for LAION-400M is projected from the rate between the last two corpus sizes and from the rate of parsing every
caption (both upper bounds). For real captions, the rate of the word filter without parsing gives a lower bound.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from bench.seen_at_real_size import bench, print_projection
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
CAPTIONS_PER_SCENE = 80
NUM_TEST_SCENES, CAPTIONS_PER_TEST_SCENE = 150, 6


class Run(NamedTuple):
    """Result and time of the seen analysis, and found targets and time of parsing every caption."""

    result: ShardResult
    found_targets: frozenset[int]
    analysis_seconds: float
    parsing_seconds: float

    @property
    def rate(self) -> float:
        """Captions per second of the seen analysis."""
        return self.result.captions / self.analysis_seconds


def make_microworld_captions() -> Iterator[str]:
    """Yield training captions of the corpus cc12m."""
    for image_id in training_ids(0, SIZES[-1] // CAPTIONS_PER_SCENE + 1):
        scene = sample_training_scene(0, "cc12m", image_id)
        facts = SceneFacts.of(scene, [item.id for item in scene.objects], sizes=True)
        for number in range(CAPTIONS_PER_SCENE):
            rng = Random(f"{image_id}:{number}")
            if content := choose_content(facts, TRAINING_KINDS, rng):
                yield write_training_caption(facts, content, rng)


def make_microworld_test_captions() -> Iterator[str]:
    """Yield region captions of test scenes."""
    for image_id in TEST_IDS[:NUM_TEST_SCENES]:
        scene = sample_test_scene(0, image_id)
        facts = SceneFacts.of(scene, [item.id for item in scene.objects], sizes=True)
        for number in range(CAPTIONS_PER_TEST_SCENE):
            rng = Random(f"{image_id}:{number}")
            if content := choose_content(facts, REGION_KINDS, rng):
                yield write_region_phrase(facts, content, rng)


def read_real_captions(data: Path) -> tuple[list[str], list[str]]:
    """Return test captions and corpus captions."""
    web = [
        *read_corpus(data / "captions/cc3m_validation_8k.tsv", 0),
        *read_corpus(data / "captions/web_alt_text_1k.tsv", "TEXT"),
    ]
    regions = [
        region.phrase
        for version in ("v1.0.0", "v1.2.0")
        for image in visual_genome.read(data / "visual_genome" / version, Flaws())
        for region in image.regions
    ]
    return [*web[::2], *read_corpus(data / "factual/dev.csv", "caption"), *regions], [
        *web[1::2],
        *read_corpus(data / "cc12m/*.tar", "caption"),
    ]


def read_corpus(pattern: Path, column: Column) -> Iterator[str]:
    return (" ".join(text.split()) for shard in list_shards(str(pattern)) for text in read_captions(shard, column))


def measure(targets: Targets, texts: Sequence[str], parser: CaptionParser, sizes: Sequence[int]) -> list[Run]:
    """Run both methods on the first n captions, for each n in ``sizes``. Raises AssertionError if they differ."""
    runs = []
    for size, (parsed_targets, seconds) in zip(sizes, parse_everything(targets, texts, parser, sizes), strict=True):
        start = time.process_time()
        result = analyse_texts(targets, texts[:size], parser)
        run = Run(result, parsed_targets, time.process_time() - start, seconds)
        assert result.counts.keys() == parsed_targets, "the word filter missed a target"
        runs.append(run)
    return runs


def parse_everything(
    targets: Targets, texts: Sequence[str], parser: CaptionParser, sizes: Sequence[int]
) -> Iterator[tuple[frozenset[int], float]]:
    """Parse every caption. Yields the found targets and the processor time (seconds) for each of ``sizes``."""
    seen: set[int] = set()
    seconds, first = 0.0, 0
    for size in sizes:
        start = time.process_time()
        for parse in parser.parse(texts[first:size]):
            items = (*parse.graph.atoms, *parse.graph.compounds)
            seen.update(targets.index[item] for item in items if item in targets.index)
        seconds, first = seconds + time.process_time() - start, size
        yield frozenset(seen), seconds


def analyse_texts(targets: Targets, texts: Sequence[str], parser: CaptionParser) -> ShardResult:
    """Write the captions to a temporary file and run the seen analysis on it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "captions.txt"
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        search = Search(targets, tuple(list_shards(str(path))), "caption")
        return analyse(search, Path(folder), make_local_engine(lambda: parser, 1), progress=False)


def measure_filter_rate(targets: Targets, texts: Sequence[str], parser: CaptionParser) -> float:
    """Return the captions per second of the word filter in its slowest state, in which no target has been found yet."""
    words, unseen = CaptionWords(frozenset().union(*targets.words), parser), UnseenTargets(targets.words, ())
    for text in texts:
        words(text)  # fills the cache of word forms
    start = time.process_time()
    for text in texts:
        unseen.any_possible(words(text))
    return len(texts) / (time.process_time() - start)


def parse_targets(texts: Sequence[str], parser: CaptionParser) -> Targets:
    return Targets.of(parse.graph for parse in parser.parse(texts))


def print_run(targets: Targets, run: Run) -> None:
    share, ratio = run.result.parsed / run.result.captions, run.parsing_seconds / run.analysis_seconds
    print(
        f"{run.result.captions:>9,} captions {run.rate:>8,.0f}/s   parsed {share:>6.1%}   {ratio:>5.1f} x parsing all"
        f"   equal: {len(run.found_targets):,} of {len(targets.items):,} targets found"
    )


def bench_microworld(parser: CaptionParser) -> None:
    targets = parse_targets(list(make_microworld_test_captions()), parser)
    runs = measure(targets, list(islice(make_microworld_captions(), SIZES[-1])), parser, SIZES)
    print("microworld")
    for run in runs:
        print_run(targets, run)
    *_, previous, last = runs
    print_projection(
        "at the rate between the last two sizes",
        (SIZES[-1] - SIZES[-2]) / max(last.analysis_seconds - previous.analysis_seconds, 1e-9),
    )
    print_projection("parsing all", SIZES[-1] / last.parsing_seconds)


def bench_real(parser: CaptionParser, data: Path) -> None:
    test, corpus = read_real_captions(data)
    targets = parse_targets(test, parser)
    print(
        f"real captions: {len(test):,} captions have {len(targets.atoms):,} atoms, {len(targets.compounds):,} compounds"
    )
    (run,) = measure(targets, corpus, parser, [len(corpus)])
    print_run(targets, run)
    print_projection("the word filter without parsing", measure_filter_rate(targets, corpus, parser))
    print_projection("as in this small corpus", run.rate)
    print_projection("parsing all", len(corpus) / run.parsing_seconds)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--regions", type=Path, help="folder of Visual Genome's JSON files")
    options.add_argument("--corpus", help="glob of caption files")
    options.add_argument("--column", default="caption", help="column of the captions")
    options.add_argument("--targets", type=int, default=200_000, help="minimum number of targets")
    options.add_argument("--sample", type=int, default=30_000, help="captions that are all parsed")
    arguments = options.parse_args()
    parser = make_parser()
    if arguments.corpus:
        bench(arguments.regions, arguments.corpus, arguments.column, arguments.targets, arguments.sample, parser)
        return
    if data := os.environ.get("COMPEVAL_REAL_DATA"):
        bench_real(parser, Path(data))
    else:
        print("COMPEVAL_REAL_DATA is not set, so real captions are skipped.")
    bench_microworld(parser)


if __name__ == "__main__":
    main()
