"""The seen analysis of a corpus of any size, compared with parsing every caption of a sample (see bench/seen.py).

The targets are the parses of Visual Genome's region phrases. The corpus is analysed by one process; a second process
would double the rates. All rates are captions per second of processor time.
"""

from __future__ import annotations

import json
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from generators.parser.caption_parser import CaptionParser, parse_each
from generators.readers import visual_genome
from generators.readers.corpora import Column, list_shards, read_captions
from generators.readers.records import Flaws
from generators.schemas.scene_graph import Atom, Compound, Parse
from generators.seen_analysis.engines import make_local_engine
from generators.seen_analysis.seen import analyse, describe, split_into_rounds
from generators.seen_analysis.shards import BATCH_SIZE, Search, ShardResult, result_path
from generators.seen_analysis.splits import normalize_caption
from generators.seen_analysis.targets import CaptionWords, Targets, UnseenTargets

NUM_LAION_CAPTIONS = 407_000_000
"""Number of captions of LAION-400M."""


class Timed(NamedTuple):
    """The result of an analysis, the results of its shards, and its processor time in seconds."""

    result: ShardResult
    shards: list[ShardResult]
    seconds: float


def collect_targets(folder: Path, count: int, parser: CaptionParser) -> Targets:
    """Return the targets of the first region phrases that have at least ``count`` distinct ones in total."""
    atoms: set[Atom] = set()
    compounds: set[Compound] = set()
    images = visual_genome.read(folder, Flaws())
    phrases = (normalize_caption(region.phrase) for image in images for region in image.regions)
    phrases = filter(None, phrases)
    while chunk := list(islice(phrases, 1024)):
        for parse in parse_each(parser, list(dict.fromkeys(chunk))):
            if isinstance(parse, Parse):
                atoms.update(parse.graph.atoms)
                compounds.update(parse.graph.compounds)
        if len(atoms) + len(compounds) >= count:
            break
    return Targets(tuple(sorted(atoms)), tuple(sorted(compounds, key=lambda item: [part or "" for part in item])))


def run_analysis(search: Search, parser: CaptionParser) -> Timed:
    """Run the analysis in this process, without earlier results."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        result = analyse(search, Path(folder), make_local_engine(lambda: parser, 1))
        seconds = time.process_time() - start
        path = Path(folder) / search.fingerprint
        return Timed(result, [ShardResult.load(result_path(path, n)) for n in range(len(search.shards))], seconds)


def compare_with_parsing_all(targets: Targets, captions: list[str], parser: CaptionParser) -> float:
    """Analyse the captions in both ways, print both rates, and return the rate of parsing all.

    Raises AssertionError if the answers differ.
    """
    start, found = time.process_time(), set[int]()
    for first in range(0, len(captions), BATCH_SIZE):
        for parse in parse_each(parser, captions[first : first + BATCH_SIZE]):
            if isinstance(parse, Parse):
                items = (*parse.graph.atoms, *parse.graph.compounds)
                found.update(targets.index[item] for item in items if item in targets.index)
    rate = len(captions) / (time.process_time() - start)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.jsonl"
        path.write_text("".join(f"{json.dumps({'caption': caption})}\n" for caption in captions), encoding="utf-8")
        timed = run_analysis(Search(targets, tuple(list_shards(str(path))), "caption"), parser)
    missed = found ^ timed.result.counts.keys()
    analysed = timed.result
    print(
        f"sample: {len(captions):,} captions, parsing all {rate:,.0f}/s, analysis "
        f"{len(captions) / timed.seconds:,.0f}/s, {analysed.parsed / analysed.captions:.1%} parsed; {len(found):,} "
        f"targets found by both, {len(missed)} by one of them, {sum(analysed.failures.values())} without a result"
    )
    assert not missed, [targets.items[index] for index in missed]
    return rate


def measure_filter(search: Search, seen: frozenset[int], captions: list[str], parser: CaptionParser) -> float:
    """Print the rate of the word filter and the share of captions that it lets through after the whole corpus."""
    words = CaptionWords(frozenset().union(*search.targets.words), parser)
    unseen = UnseenTargets(search.targets.words, seen)
    half = len(captions) // 2
    for caption in captions[:half]:  # fills the cache of word forms
        words(caption)
    start = time.process_time()
    found = [words(caption) for caption in captions[half:]]
    middle = time.process_time()
    passed = sum(unseen.any_possible(item) for item in found)
    end = time.process_time()
    rate = len(found) / (end - start)
    print(
        f"word filter: {rate:,.0f}/s ({(middle - start) / len(found) * 1e6:.0f} us for the words of a caption, "
        f"{(end - middle) / len(found) * 1e6:.0f} us to compare them); passes {passed / len(found):.1%} in the end"
    )
    return rate


def print_rounds(shards: list[ShardResult]) -> None:
    """Print the share of parsed captions in each round of the analysis."""
    total = 0
    for numbers in split_into_rounds(len(shards)):
        part = [shards[number] for number in numbers]
        captions, parsed = sum(item.captions for item in part), sum(item.parsed for item in part)
        total += captions
        print(f"  up to {total:>11,} captions: {parsed / max(captions, 1):.1%} parsed, {len(part)} shards")


def print_projection(method: str, rate: float) -> None:
    """Print the cost of LAION-400M at ``rate`` captions per second and core."""
    hours = NUM_LAION_CAPTIONS / rate / 3600
    print(f"LAION-400M, {method}, {rate:,.0f}/s and core: {hours / 2:,.1f} h on 2 cores, {hours / 64:,.2f} h on 64")


def read_sample(search: Search, count: int) -> Iterator[str]:
    """Yield captions of the first, the middle and the last shard."""
    middle = len(search.shards) // 2
    for number in dict.fromkeys((0, middle, len(search.shards) - 1)):
        yield from islice(read_captions(search.shards[number], search.column), count // 3)


def bench(regions: Path, corpus: str, column: Column, num_targets: int, sample: int, parser: CaptionParser) -> None:
    targets = collect_targets(regions, num_targets, parser)
    print(f"targets: {len(targets.atoms):,} atoms and {len(targets.compounds):,} compounds; {os.cpu_count()} cores")
    search = Search(targets, tuple(list_shards(corpus)), column)
    captions = list(read_sample(search, sample))
    parse_rate = compare_with_parsing_all(targets, captions, parser)
    timed = run_analysis(search, parser)
    rate, memory = timed.result.captions / timed.seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(describe(corpus, search, timed.result))
    print(
        f"{rate:,.0f} captions/s and core, {timed.result.parsed / timed.result.captions:.1%} parsed, "
        f"{rate / parse_rate:.2f} x parsing all; peak memory {memory >> 10:,} MiB"
    )
    print_rounds(timed.shards)
    filter_rate = measure_filter(search, frozenset(timed.result.counts), captions, parser)
    print_projection("parsing all", parse_rate)
    print_projection("as in this corpus", rate)
    print_projection("the word filter without parsing (a lower bound of the time)", filter_rate)
