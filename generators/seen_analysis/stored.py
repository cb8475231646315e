"""Store which atoms and compounds a corpus contains, so that a second test set on the same corpus reads less of it.

Each target (atom or compound) that was searched for in a corpus is stored with the answer, seen or not. The answer for
a target does not depend on the other targets of a search, so it holds for every test set: only targets without an
answer are searched for. ``parse_all`` parses every caption instead, once, and stores all atoms and compounds of the
corpus; then every test set is divided without reading the corpus again.

A corpus is identified by the contents of its files (shards.py, ``sampled_digest``), the column, the parser and the
code, not by its paths. An answer is not reused if a file that is only sampled was written after it was stored.

Files of ``folder``, by the fingerprint of the corpus:

    <fingerprint>.parquet     kind, subject, relation, object, seen; in the metadata, counts of captions
    <fingerprint>/            atoms and compounds of each shard, while ``parse_all`` runs
    <fingerprint of a search>/  results of each shard, while targets are searched for (seen.py)
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from compeval.base.files.atomic import atomic_file
from compeval.base.pipeline.workers import map_in_processes
from compeval.base.readers.corpora import Column, Shard, Skipped, read_captions
from compeval.base.schemas.scene_graph import Atom, Compound
from compeval.base.storage import parquet
from compeval.generators.parser.caption_parser import CaptionParser, make_parser, parse_each
from compeval.generators.parser.spacy_model import MAX_CHARACTERS
from compeval.generators.seen_analysis.engines import make_engine
from compeval.generators.seen_analysis.seen import analyse, code_version
from compeval.generators.seen_analysis.shards import (
    BATCH_SIZE,
    BLOCK_BYTES,
    BLOCKS,
    Search,
    sampled_digest,
)
from compeval.generators.seen_analysis.splits import Seen
from compeval.generators.seen_analysis.targets import Target, Targets

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("kind", "subject", "relation", "object")),
        ("seen", pa.bool_()),
    ]
)
"""A target and the answer. The text of an atom is its ``subject``."""
METADATA = b"corpus"


@dataclass
class Stored:
    """Stored answers about a corpus."""

    answers: dict[Target, bool] = field(default_factory=dict)
    is_complete: bool = False
    """True if every caption was parsed: a target without an answer is unseen."""
    captions: int = 0
    skipped: int = 0
    """Rows without a readable caption."""
    failed: int = 0
    """Captions without a result, which the parser cannot parse, in the last search."""

    def find_unknown(self, targets: Targets) -> Targets:
        """Return the targets without an answer."""
        if self.is_complete:
            return Targets((), ())
        return Targets(
            tuple(atom for atom in targets.atoms if atom not in self.answers),
            tuple(compound for compound in targets.compounds if compound not in self.answers),
        )

    def find_seen(self, targets: Targets) -> Seen:
        """Return the targets that the corpus contains."""
        return Seen(
            frozenset(atom for atom in targets.atoms if self.answers.get(atom)),
            frozenset(compound for compound in targets.compounds if self.answers.get(compound)),
        )

    @classmethod
    def load(cls, path: Path) -> Stored:
        """Return what is stored in a file; nothing if there is none."""
        if not path.is_file():
            return cls()
        about = json.loads((parquet.read_schema(path).metadata or {})[METADATA])
        answers: dict[Target, bool] = {}
        for row in parquet.read_table(path).to_pylist():
            seen = row.pop("seen")
            answers[_to_target(**row)] = seen
        return cls(answers, **about)

    def save(self, path: Path) -> None:
        about = {
            name: getattr(self, name) for name in ("is_complete", "captions", "skipped", "failed")
        }
        rows = sorted((*_to_columns(target), seen) for target, seen in self.answers.items())
        records = [dict(zip(SCHEMA.names, row, strict=True)) for row in rows]
        schema = SCHEMA.with_metadata({METADATA: json.dumps(about).encode()})
        table = pa.Table.from_pylist(records, schema)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as scratch:
            pq.write_table(table, scratch, compression="zstd")


class Corpus(NamedTuple):
    """A corpus, and how it is read."""

    shards: tuple[Shard, ...]
    column: Column
    workers: int = 1

    @property
    def files(self) -> list[Path]:
        return list(dict.fromkeys(shard.path for shard in self.shards))

    @property
    def fingerprint(self) -> str:
        parts = [[sampled_digest(path) for path in self.files], self.column, code_version()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


class Found(NamedTuple):
    """The answer for the targets of a test set."""

    seen: Seen
    captions: int
    """Captions of the corpus, without ``skipped`` rows that have no readable one."""
    skipped: int
    failed: int
    searched: int
    """Targets that were searched for now; the others were known."""


def find_seen(
    targets: Targets,
    corpus: Corpus,
    folder: Path,
    *,
    parse_all: bool = False,
    progress: bool = True,
) -> Found:
    """Return which targets a corpus contains, and store the answers in ``folder``.

    The corpus is read only for targets without a stored answer.
    """
    path = folder / f"{corpus.fingerprint}.parquet"
    stored = Stored.load(path) if is_current(path, corpus.files) else Stored()
    unknown = stored.find_unknown(targets)
    if parse_all and not stored.is_complete:
        stored = _parse_all(corpus, folder / corpus.fingerprint)
        stored.save(path)
    elif unknown.items:
        search = Search(unknown, corpus.shards, corpus.column, code=code_version())
        engine = make_engine({"workers": corpus.workers})
        result = analyse(search, folder, engine, progress)
        stored.captions = result.captions
        stored.skipped = result.skipped
        stored.failed = sum(result.failures.values())
        stored.answers |= {item: index in result.counts for index, item in enumerate(unknown.items)}
        stored.save(path)
        shutil.rmtree(folder / search.fingerprint)
    return Found(
        stored.find_seen(targets),
        stored.captions,
        stored.skipped,
        stored.failed,
        len(unknown.items),
    )


def is_current(path: Path, files: Sequence[Path]) -> bool:
    """Return True if no file that is compared by samples only was written after the answers were stored."""
    if not path.is_file():
        return False
    stored_ns = path.stat().st_mtime_ns
    states = (file.stat() for file in files)
    return all(
        state.st_size <= BLOCKS * BLOCK_BYTES
        or max(state.st_mtime_ns, state.st_ctime_ns) <= stored_ns
        for state in states
    )


def _parse_all(corpus: Corpus, folder: Path) -> Stored:
    """Return all atoms and compounds of a corpus.

    The part of each shard is saved, so that a killed run continues.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:06d}.parquet" for number in range(len(corpus.shards))]
    missing = [pair for pair in zip(corpus.shards, paths, strict=True) if not pair[1].is_file()]
    parse = partial(_parse_shard, column=corpus.column)
    for _ in map_in_processes(make_parser, parse, missing, min(corpus.workers, len(missing) or 1)):
        pass
    total = Stored(is_complete=True)
    for path in paths:
        part = Stored.load(path)
        total.answers |= part.answers
        total.captions += part.captions
        total.skipped += part.skipped
        total.failed += part.failed
    shutil.rmtree(folder)
    return total


def _parse_shard(parser: CaptionParser, job: tuple[Shard, Path], column: Column) -> None:
    """Parse all captions of a shard, and save their atoms and compounds."""
    shard, path = job
    stored = Stored()
    skipped = Skipped()
    stream = read_captions(shard, column, skipped)
    while batch := list(islice(stream, BATCH_SIZE)):
        stored.captions += len(batch)
        for parse in parse_each(parser, [caption[:MAX_CHARACTERS] for caption in batch]):
            if isinstance(parse, Exception):
                stored.failed += 1
                continue
            stored.answers |= dict.fromkeys((*parse.graph.atoms, *parse.graph.compounds), True)
    stored.skipped = skipped.rows
    stored.save(path)


def _to_columns(target: Target) -> tuple[str, str, str, str]:
    if isinstance(target, Atom):
        return target.kind, target.text, "", ""
    return target.kind, target.subject, target.relation or "", target.object


def _to_target(kind: Any, subject: str, relation: str, object: str) -> Target:
    if kind in ("ao", "oro"):
        return Compound(kind, subject, relation if kind == "oro" else None, object)
    return Atom(kind, subject)
