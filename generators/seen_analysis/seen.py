"""Find the atoms and compounds of the test set that occur in a training corpus (stage ``seen``).

    python -m compeval.generators.seen_analysis.seen CORPUS [--counts]

Writes ``seen/CORPUS.json``. With ``--counts``, counts the captions of every atom and compound instead, and writes
``seen/CORPUS.counts.json``. The atoms and compounds are called targets.

Source: CREPE (arXiv:2212.07796), sections 3.2 and 4.1, Figure 12 (counts). Difference from the paper: the paper parses
every training caption. Here a caption is parsed only if it contains the words of a target that has not been found yet
(targets.py); the result is the same. With ``--counts``, every caption with the words of any target is parsed.

No caption stops a run. A caption that the parser cannot parse, or whose parse has a word that the filter does not
expect, is skipped; the numbers and the first caption of each kind are in the result and in the closing line.

The corpus is divided into shards, and the shards are processed in rounds; each round is as long as all earlier rounds
together. In a round, every shard searches for the targets that no earlier round found. The result of a shard therefore
does not depend on the number or the speed of the workers. The result of a shard is saved as soon as it is finished, and
a killed run continues with the shards that have no saved result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer
from tqdm import tqdm

from compeval.base.files.atomic import write_json
from compeval.base.pipeline import stage
from compeval.base.pipeline.code_digest import code_digest
from compeval.base.pipeline.input_sources import check_corpus
from compeval.base.pipeline.params import read_params
from compeval.base.readers.corpora import list_shards
from compeval.generators.parser.caption_parser import RULES
from compeval.generators.parser.spacy_model import MODELS
from compeval.generators.seen_analysis.engines import make_engine
from compeval.generators.seen_analysis.shards import (
    RunShards,
    Search,
    ShardResult,
    has_result,
    result_path,
)
from compeval.generators.seen_analysis.targets import Targets

FIRST_ROUND = 16
"""Number of shards in the first round."""


def analyse(
    search: Search, folder: Path, run_shards: RunShards, progress: bool = True
) -> ShardResult:
    """Return the result of the whole corpus; the results of shards are saved under ``folder`` and reused."""
    folder = folder / search.fingerprint
    folder.mkdir(parents=True, exist_ok=True)
    total = ShardResult()
    with tqdm(total=len(search.shards), unit="shard", disable=not progress) as bar:
        for numbers in split_into_rounds(len(search.shards)):
            seen = frozenset() if search.counting else frozenset(total.counts)
            missing = [number for number in numbers if not has_result(search, number, folder)]
            bar.update(len(numbers) - len(missing))
            if missing:
                for _ in run_shards(search, missing, seen, folder):
                    bar.update()
            total = sum(
                (ShardResult.load(result_path(folder, number)) for number in numbers), total
            )
            unseen = len(search.targets.items) - len(total.counts)
            failed = sum(total.failures.values())
            bar.set_postfix(
                captions=total.captions,
                parsed=total.parsed,
                failed=failed,
                unseen=unseen,
                refresh=False,
            )
    return total


def split_into_rounds(count: int) -> Iterator[range]:
    """Yield ranges of shard numbers: first FIRST_ROUND shards, then as many shards as in all earlier ranges."""
    start = 0
    stop = FIRST_ROUND
    while start < count:
        yield range(start, min(stop, count))
        start = stop
        stop = 2 * stop


def code_version(parser: str = RULES) -> str:
    """Identify everything that determines the result: the parser, the code, and the versions of the packages."""
    versions = [parser]
    for package in ("spacy", "lemminflect", "SceneGraphParser", *MODELS):
        with contextlib.suppress(PackageNotFoundError):
            versions.append(f"{package} {version(package)}")
    return f"{code_digest(__file__)} {', '.join(versions)}"


def make_summary(corpus: str, search: Search, result: ShardResult) -> dict[str, Any]:
    """Return the content of ``seen/<corpus>.json``: the seen targets, or all targets with their counts, sorted."""
    items = search.targets.items
    counts = result.counts
    num_atoms = len(search.targets.atoms)
    indexes = range(len(items)) if search.counting else sorted(counts)
    rows = [
        (index, [*items[index], counts.get(index, 0)] if search.counting else [*items[index]])
        for index in indexes
    ]
    fields = {
        name: getattr(result, name)
        for name in ("captions", "skipped", "parsed", "failures", "examples")
    }
    atoms = [row for index, row in rows if index < num_atoms]
    compounds = [row for index, row in rows if index >= num_atoms]
    return {"corpus": corpus, **fields, "atoms": atoms, "compounds": compounds}


def describe(corpus: str, search: Search, result: ShardResult) -> str:
    """Return the closing line of the stage."""
    failures = (
        f" {count:,} without a result because {reason}, such as {result.examples[reason]!r}."
        for reason, count in result.failures.items()
    )
    matches = f"{len(result.counts):,} of {len(search.targets.items):,} atoms and compounds found."
    quoted = (
        f" {result.quoted:,} rows with quotes were read as csv and pandas read them."
        if result.quoted
        else ""
    )
    return (
        f"{corpus}: {result.captions:,} captions, {result.parsed:,} parsed, {result.skipped:,} rows without a readable "
        f"caption. {matches}{''.join(failures)}{quoted}"
    )


def main(
    corpus: str,
    counts: Annotated[
        bool, typer.Option(help="Count the captions of every target, for Figure 12.")
    ] = False,
) -> None:
    """Find the atoms and compounds of the test set that occur in CORPUS."""
    corpora = read_params("corpora")
    settings = read_params("seen")
    parser = read_params("parser")
    if corpus not in corpora:
        raise ValueError(
            f"params.yaml, corpora: no corpus {corpus!r}; it has {', '.join(corpora)}."
        )
    check_corpus(corpus, corpora[corpus]["files"])
    files = tuple(list_shards(corpora[corpus]["files"]))
    targets = Targets.load(Path("regions/targets.json"))
    search = Search(targets, files, corpora[corpus]["column"], counts, code_version(parser))
    result = analyse(search, Path("seen") / "shards" / corpus, make_engine(settings, parser))
    write_json(
        Path("seen") / f"{corpus}{'.counts' if counts else ''}.json",
        make_summary(corpus, search, result),
    )
    print(describe(corpus, search, result))


if __name__ == "__main__":
    stage.run(main)
