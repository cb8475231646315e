"""Compare the seen analysis with parsing every caption of a corpus.

    python -m bench.seen
    python -m bench.seen --regions VISUAL_GENOME --corpus 'laion/*.parquet' --column TEXT   # any size

The seen analysis finds which targets (atoms and compounds) occur in a corpus. It parses only captions whose words could
contain a target that has not been found yet. Both methods run in one process, and their answers must be equal.

By default, the corpus is captions of micro-world training scenes, and the targets are the parses of region captions of
test scenes. With ``--corpus``, the whole corpus is analysed, with at least 200,000 targets from region phrases, and
every caption of a sample is parsed. ``python -m bench.synthetic_data`` writes such files.

All rates are captions per second of processor time. The cost for LAION-400M is projected from the rate between the last
two corpus sizes and from the rate of parsing every caption (both upper bounds), and from the rate of the word filter
without parsing (a lower bound).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from compeval.base.readers import visual_genome
from compeval.base.readers.corpora import list_shards, read_captions
from compeval.base.readers.records import Flaws
from compeval.base.schemas.scene_graph import Atom, Compound, Parse, SceneGraph
from compeval.generators.microworld.captions.content import (
    REGION_KINDS,
    TRAINING_KINDS,
    Kind,
    SceneFacts,
    choose_content,
)
from compeval.generators.microworld.captions.wording import (
    write_region_phrase,
    write_training_caption,
)
from compeval.generators.microworld.scene import Scene
from compeval.generators.microworld.scenes.splits import (
    TEST_IDS,
    sample_test_scene,
    sample_training_scene,
    training_ids,
)
from compeval.generators.parser.caption_parser import CaptionParser, make_parser, parse_each
from compeval.generators.seen_analysis.engines import make_local_engine
from compeval.generators.seen_analysis.seen import analyse, describe, split_into_rounds
from compeval.generators.seen_analysis.shards import BATCH_SIZE, Search, ShardResult, result_path
from compeval.generators.seen_analysis.splits import normalize_caption
from compeval.generators.seen_analysis.targets import CaptionWords, Targets, UnseenTargets

SIZES = (10_000, 50_000, 200_000)
CAPTIONS_PER_SCENE = 80
NUM_TEST_SCENES = 150
CAPTIONS_PER_TEST_SCENE = 6
NUM_LAION_CAPTIONS = 407_000_000
"""Number of captions of LAION-400M."""


class Run(NamedTuple):
    """The seen analysis of captions, and the parsing of every one of them; times are in seconds of the processor."""

    result: ShardResult
    seconds: float
    found_targets: frozenset[int]
    """Targets that were found by parsing every caption."""
    parsing_seconds: float


def make_captions(
    scenes: Iterable[Scene], count: int, kinds: dict[Kind, float], write: Callable[..., str]
) -> Iterator[str]:
    """Yield captions of scenes, at most ``count`` per scene."""
    for scene in scenes:
        facts = SceneFacts.of(scene, [item.id for item in scene.objects], sizes=True)
        for number in range(count):
            rng = Random(f"{scene.image_id}:{number}")
            if content := choose_content(facts, kinds, rng):
                yield write(facts, content, rng)


def make_microworld_captions() -> Iterator[str]:
    """Yield training captions of the corpus cc12m."""
    ids = training_ids(0, SIZES[-1] // CAPTIONS_PER_SCENE + 1)
    scenes = map(partial(sample_training_scene, 0, "cc12m"), ids)
    return make_captions(scenes, CAPTIONS_PER_SCENE, TRAINING_KINDS, write_training_caption)


def make_microworld_test_captions() -> Iterator[str]:
    """Yield region captions of test scenes."""
    scenes = map(partial(sample_test_scene, 0), TEST_IDS[:NUM_TEST_SCENES])
    return make_captions(scenes, CAPTIONS_PER_TEST_SCENE, REGION_KINDS, write_region_phrase)


def parse_graphs(texts: Sequence[str], parser: CaptionParser) -> Iterator[SceneGraph]:
    """Yield the graphs of texts; those of texts that the parser fails on are missing."""
    for first in range(0, len(texts), BATCH_SIZE):
        for parse in parse_each(parser, texts[first : first + BATCH_SIZE]):
            if isinstance(parse, Parse):
                yield parse.graph


def collect_targets(folder: Path, count: int, parser: CaptionParser) -> Targets:
    """Return the targets of the first region phrases that have at least ``count`` distinct ones in total."""
    atoms: set[Atom] = set()
    compounds: set[Compound] = set()
    images = visual_genome.read(folder, Flaws())
    phrases = filter(
        None, (normalize_caption(region.phrase) for image in images for region in image.regions)
    )
    while len(atoms) + len(compounds) < count and (chunk := list(islice(phrases, 1024))):
        for graph in parse_graphs(list(dict.fromkeys(chunk)), parser):
            atoms.update(graph.atoms)
            compounds.update(graph.compounds)
    return Targets(
        tuple(sorted(atoms)),
        tuple(sorted(compounds, key=lambda item: [part or "" for part in item])),
    )


def run_analysis(
    search: Search, parser: CaptionParser
) -> tuple[ShardResult, list[ShardResult], float]:
    """Run the analysis in this process. Returns the result, the results of the shards, and the seconds."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        result = analyse(search, Path(folder), make_local_engine(lambda: parser, 1), progress=False)
        seconds = time.process_time() - start
        path = Path(folder) / search.fingerprint
        return (
            result,
            [ShardResult.load(result_path(path, number)) for number in range(len(search.shards))],
            seconds,
        )


def measure(
    targets: Targets, texts: Sequence[str], parser: CaptionParser, sizes: Sequence[int]
) -> list[Run]:
    """Run both methods on the first n captions, for each n in ``sizes``. Raises AssertionError if they differ."""
    runs = []
    seen = set[int]()
    seconds = 0.0
    first = 0
    for size in sizes:
        start = time.process_time()
        for graph in parse_graphs(texts[first:size], parser):
            items = (*graph.atoms, *graph.compounds)
            seen.update(targets.index[item] for item in items if item in targets.index)
        seconds = seconds + time.process_time() - start
        first = size
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "captions.jsonl"
            path.write_text(
                "".join(f"{json.dumps({'caption': text})}\n" for text in texts[:size]),
                encoding="utf-8",
            )
            search = Search(targets, tuple(list_shards(str(path))), "caption")
            result, _, analysis_seconds = run_analysis(search, parser)
        differing = seen ^ result.counts.keys()
        assert not differing, [targets.items[index] for index in differing]
        runs.append(Run(result, analysis_seconds, frozenset(seen), seconds))
    return runs


def measure_filter(
    targets: Targets, seen: Collection[int], texts: Sequence[str], parser: CaptionParser
) -> float:
    """Print and return the captions per second of the word filter, with the targets ``seen`` found already."""
    words = CaptionWords(frozenset().union(*targets.words), parser)
    unseen = UnseenTargets(targets.words, seen)
    half = len(texts) // 2
    for text in texts[:half]:  # fills the cache of word forms
        words(text)
    start = time.process_time()
    num_passed = sum(unseen.any_possible(words(text)) for text in texts[half:])
    rate = (len(texts) - half) / (time.process_time() - start)
    print(f"word filter: {rate:,.0f}/s; passes {num_passed / (len(texts) - half):.1%}")
    return rate


def print_run(targets: Targets, run: Run) -> None:
    num_captions = run.result.captions
    print(
        f"{num_captions:>9,} captions {num_captions / run.seconds:>8,.0f}/s   "
        f"parsed {run.result.parsed / num_captions:>6.1%}   {run.parsing_seconds / run.seconds:>5.2f} x parsing all   "
        f"equal: {len(run.found_targets):,} of {len(targets.items):,} targets found, "
        f"{sum(run.result.failures.values())} captions without a result"
    )


def print_projections(**rates: float) -> None:
    """Print the cost of LAION-400M at each rate, in captions per second and core."""
    for method, rate in rates.items():
        hours = NUM_LAION_CAPTIONS / rate / 3600
        title = method.replace("_", " ")
        print(
            f"LAION-400M, {title}, {rate:,.0f}/s and core: {hours / 2:,.1f} h on 2 cores, {hours / 64:,.2f} h on 64"
        )


def bench_microworld(parser: CaptionParser) -> None:
    targets = Targets.of(parse_graphs(list(make_microworld_test_captions()), parser))
    runs = measure(targets, list(islice(make_microworld_captions(), SIZES[-1])), parser, SIZES)
    for run in runs:
        print_run(targets, run)
    rate = (SIZES[-1] - SIZES[-2]) / (runs[-1].seconds - runs[-2].seconds)
    print_projections(as_at_the_end=rate, parsing_all=SIZES[-1] / runs[-1].parsing_seconds)


def bench_corpus(parser: CaptionParser, targets: Targets, search: Search, sample: int) -> None:
    """Analyse a corpus of any size, and compare both methods on captions of its first, middle and last shard."""
    print(
        f"targets: {len(targets.atoms):,} atoms and {len(targets.compounds):,} compounds; {os.cpu_count()} cores"
    )
    num_shards = len(search.shards)
    sampled = [search.shards[number] for number in sorted({0, num_shards // 2, num_shards - 1})]
    captions = [
        text
        for shard in sampled
        for text in islice(read_captions(shard, search.column), sample // 3)
    ]
    (run,) = measure(targets, captions, parser, [len(captions)])
    print_run(targets, run)

    result, shards, seconds = run_analysis(search, parser)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(describe("corpus", search, result))
    print(
        f"{result.captions:,} captions, {result.parsed / result.captions:.1%} parsed; peak {memory >> 10:,} MiB"
    )
    for numbers in split_into_rounds(num_shards):
        num_captions = max(1, sum(shards[number].captions for number in numbers))
        share = sum(shards[number].parsed for number in numbers) / num_captions
        print(f"  round of {len(numbers)} shards, {num_captions:>11,} captions: {share:.1%} parsed")
    filter_rate = measure_filter(targets, result.counts, captions, parser)
    rates = {
        "as_in_this_corpus": result.captions / seconds,
        "parsing_all": len(captions) / run.parsing_seconds,
    }
    print_projections(word_filter_without_parsing=filter_rate, **rates)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--regions", type=Path, help="folder of Visual Genome's JSON files")
    options.add_argument("--corpus", help="glob of caption files")
    options.add_argument("--column", default="caption", help="column of the captions")
    options.add_argument("--targets", type=int, default=200_000, help="minimum number of targets")
    options.add_argument("--sample", type=int, default=30_000, help="captions that are all parsed")
    arguments = options.parse_args()
    parser = make_parser()
    if arguments.corpus:
        targets = collect_targets(arguments.regions, arguments.targets, parser)
        search = Search(targets, tuple(list_shards(arguments.corpus)), arguments.column)
        bench_corpus(parser, targets, search, arguments.sample)
    else:
        bench_microworld(parser)


if __name__ == "__main__":
    main()
