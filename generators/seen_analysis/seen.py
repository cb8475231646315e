"""Which atoms and compounds of the test set occur in a training corpus (stage ``seen``).

    python -m generators.seen_analysis.seen CORPUS [--counts]

Writes ``seen/CORPUS.json``, with ``--counts`` ``seen/CORPUS.counts.json``. Source: CREPE, section 3.2 (Seen) and 4.1,
Figure 12 (counts). Differs from it in: the paper parses every training caption; here a caption is parsed only if its
words allow an unseen target (targets.py), with the same answer. ``--counts`` parses every caption that can have any
target.

The corpus is divided into shards, and the shards into rounds that double in length. Within a round a shard searches for
the targets that all earlier rounds left unseen, so its result depends neither on the number of workers nor on their
order. Every result is saved when its shard is finished, and a killed run resumes with the shards that have none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer
from tqdm import tqdm

from generators.parser.caption_parser import RULES
from generators.parser.spacy_model import MODELS
from generators.readers.corpora import list_shards
from generators.seen_analysis.engines import make_engine
from generators.seen_analysis.shards import RunShards, Search, ShardResult, result_path
from generators.seen_analysis.targets import Targets
from generators.storage import stage
from generators.storage.atomic import write_json
from generators.storage.code import code_digest
from generators.storage.params import read_params

FIRST_ROUND = 16
"""Shards in the first round."""


def analyse(search: Search, folder: Path, run_shards: RunShards, progress: bool = True) -> ShardResult:
    """The result of the whole corpus; results per shard are saved under ``folder`` and reused."""
    folder = folder / search.fingerprint
    folder.mkdir(parents=True, exist_ok=True)
    total = ShardResult()
    with tqdm(total=len(search.shards), unit="shard", disable=not progress) as bar:
        for numbers in split_into_rounds(len(search.shards)):
            seen = frozenset() if search.counting else frozenset(total.counts)
            missing = [number for number in numbers if not result_path(folder, number).exists()]
            bar.update(len(numbers) - len(missing))
            if missing:
                for _ in run_shards(search, missing, seen, folder):
                    bar.update()
            total = sum((ShardResult.load(result_path(folder, number)) for number in numbers), total)
            unseen = len(search.targets.items) - len(total.counts)
            bar.set_postfix(captions=total.captions, parsed=total.parsed, unseen=unseen, refresh=False)
    return total


def split_into_rounds(count: int) -> Iterator[range]:
    """Consecutive ranges of shard numbers: FIRST_ROUND, then each as long as all before it together."""
    start, stop = 0, FIRST_ROUND
    while start < count:
        yield range(start, min(stop, count))
        start, stop = stop, 2 * stop


def code_version(parser: str = RULES) -> str:
    """Everything that decides the answer: the parser, the code of parser and analysis, the versions of the packages."""
    versions = [parser]
    for package in ("spacy", "lemminflect", "SceneGraphParser", *MODELS):
        with contextlib.suppress(PackageNotFoundError):
            versions.append(f"{package} {version(package)}")
    return f"{code_digest(__file__)} {', '.join(versions)}"


def make_summary(corpus: str, search: Search, result: ShardResult) -> dict[str, Any]:
    """The content of ``seen/<corpus>.json``: the seen targets, or all targets with their counts, sorted."""
    items, counts, first_compound = search.targets.items, result.counts, len(search.targets.atoms)
    indexes = range(len(items)) if search.counting else sorted(counts)
    rows = [(index, [*items[index], counts.get(index, 0)] if search.counting else [*items[index]]) for index in indexes]
    return {
        "corpus": corpus,
        "captions": result.captions,
        "skipped": result.skipped,
        "parsed": result.parsed,
        "atoms": [row for index, row in rows if index < first_compound],
        "compounds": [row for index, row in rows if index >= first_compound],
    }


def main(corpus: str, counts: Annotated[bool, typer.Option(help="count every target, for Figure 12")] = False) -> None:
    """Find which of the test set's atoms and compounds occur in CORPUS."""
    corpora, settings, parser = read_params("corpora"), read_params("seen"), read_params("parser")
    if corpus not in corpora:
        raise ValueError(f"params.yaml: no corpus {corpus!r} in the block corpora; it has {', '.join(corpora)}.")
    files = tuple(list_shards(corpora[corpus]["files"]))
    targets = Targets.load(Path("regions/targets.json"))
    search = Search(targets, files, corpora[corpus]["column"], counts, code_version(parser))
    result = analyse(search, Path("seen") / "shards" / corpus, make_engine(settings, parser))
    write_json(Path("seen") / f"{corpus}{'.counts' if counts else ''}.json", make_summary(corpus, search, result))


if __name__ == "__main__":
    stage.run(main)
