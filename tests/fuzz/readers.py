"""Fuzz the readers of data that others write, coverage-guided: make fuzz.

    python -m tests.fuzz.readers build/fuzz tests/fuzz/corpus -max_total_time=600

An input is the number of a reader (one byte) and the content of its file. The property: the reader returns, or raises
one of EXPECTED; nothing is written outside the scratch folder, and nothing is executed, unpickled or connected to.
libFuzzer's options limit the time and memory of an input. Inputs that once failed are kept in tests/fuzz/corpus, which
``make test`` reads (test_readers.py).
"""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import os
import sys
import tarfile
import tempfile
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

import webdataset.tariterators  # noqa: F401  (loads PyTorch, which starts a program, before the audit begins)
import yaml

from compeval.base.files import csv_tables
from compeval.base.files.untrusted import (
    UnsafeNameError,
    decode_image,
    resolve_below,
    resolve_image,
    safe_name,
)
from compeval.base.readers import corpora, gqa, karpathy, shards, visual_genome
from compeval.base.readers.records import Flaws
from compeval.base.sources.unpack import unpack
from compeval.base.storage import parquet
from compeval.evaluators.results import documents, external, foreign
from compeval.generators.llm.answers import read_list
from compeval.loaders.benchmarks import negbench, photograph_pairs
from compeval.loaders.datasets.stats import read_stats
from compeval.loaders.datasets.verified import verify_images
from compeval.loaders.own_data.entries import read_entries
from compeval.loaders.published.rows import parse_texts
from tests.published_files import read_file

EXPECTED = (ValueError, FileNotFoundError)
UNNAMED = (UnicodeDecodeError, json.JSONDecodeError)
"""ValueErrors of libraries that do not name the file, so they are no clear message."""
FORBIDDEN = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.fork",
    "pickle.find_class",
    "socket.connect",
)
"""Audit events that no reader of data causes."""


def _read_stats_of(path: Path) -> Any:
    return read_stats(path.parent)


def _read_entries_of(path: Path) -> Any:
    (path.parent / "scratch").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        return _exhaust(read_entries(path, path.parent, Path(scratch)))


def _read_visual_genome(path: Path) -> None:
    """Read Visual Genome's files; those that are not fuzzed are valid."""
    for name in VISUAL_GENOME:
        if name not in ("scene_graphs.json", path.name):
            (path.parent / name).write_text(SEEDS[name], encoding="utf-8")
    _exhaust(visual_genome.read(path.parent, Flaws()))


def _unpack_to(path: Path) -> Any:
    with tempfile.TemporaryDirectory(dir=path.parent) as target:
        return unpack(path, Path(target))


def _names(path: Path) -> None:
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    with suppress(UnsafeNameError):
        safe_name(text)
    with suppress(UnsafeNameError):
        resolve_below(path.parent, text)
    with suppress(UnsafeNameError):
        resolve_image(path.parent / "crepe", text)


def _read_hashes(path: Path) -> None:
    """Read a list of hashes that equals its own hash, so that its lines are read."""
    sums = path.parent / "images" / path.name
    sums.parent.mkdir()
    path.rename(sums)
    os.environ["COMPEVAL_CACHE"] = str(path.parent / "cache")
    images = {f"images/{path.name}": hashlib.sha256(sums.read_bytes()).hexdigest()}
    verify_images(path.parent, {"images": images})


def _read_answer(path: Path) -> None:
    read_list(path.read_bytes().decode("utf-8", "replace"))


def _read_captions(path: Path) -> None:
    for shard in corpora.list_shards(str(path)):
        _exhaust(corpora.read_captions(shard, "caption"))


def _exhaust(items: Iterable[Any]) -> None:
    for _ in items:
        pass


SEEDS: dict[str, str] = yaml.safe_load(Path(__file__).with_name("seeds.yaml").read_text("utf-8"))
"""A small valid input for each reader of text, so that the fuzzer starts behind the first checks."""
VISUAL_GENOME = (
    *("image_data.json", "objects.json", "attributes.json", "relationships.json"),
    *("region_descriptions.json", "scene_graphs.json"),
)
# The first byte of an input is the index of its reader, so new readers are appended.
READERS: list[tuple[str, Callable[[Path], Any]]] = [
    ("image.jpg", lambda path: decode_image(path.read_bytes())),
    ("image_data.json", _read_visual_genome),
    ("sceneGraphs.json", lambda path: _exhaust(gqa.read(path, path.parent, Flaws()))),
    ("karpathy.json", lambda path: _exhaust(karpathy.read_images(path, path.parent))),
    ("pairs.csv", _read_entries_of),
    ("pairs.jsonl", _read_entries_of),
    ("pairs.json", _read_entries_of),
    ("pairs.tar", _read_entries_of),
    ("shard.tar.gz", lambda path: _exhaust(shards.read_decoded_pairs(path, Counter()))),
    ("captions.tsv", _read_captions),
    ("captions.parquet", _read_captions),
    ("prod_vg_hard_negs_atom_complexity_4.csv", read_file),
    ("swap_obj.json", read_file),
    ("visual_genome_relation.json", read_file),
    ("valid_neg_clip.tsv", read_file),
    ("stats.json", _read_stats_of),
    ("answers.csv", csv_tables.read),
    ("scores.parquet", parquet.read_table),
    ("archive.zip", _unpack_to),
    ("archive.tar.gz", _unpack_to),
    ("answer.txt", _read_answer),
    ("name.txt", _names),
    ("literal.txt", lambda path: parse_texts(path.read_bytes().decode("utf-8", "replace"))),
    *((name, _read_visual_genome) for name in VISUAL_GENOME if name != "image_data.json"),
    ("examples.jsonl", read_file),
    ("images.zip", _unpack_to),
    ("pairs_of_photographs.csv", photograph_pairs.read),
    *((f"scores_of_rows.{kind}", external.read_pairs) for kind in ("csv", "jsonl", "parquet")),
    ("result.json", lambda path: foreign.find_fault(documents.read(path))),
    *((f"renamed.{suffix}", read_file) for suffix in ("csv", "tsv", "json")),
    ("SHA256SUMS", _read_hashes),
    ("swap_att.json", read_file),
    ("COLA_multiobjects_matching_benchmark.json", read_file),
    ("valid_data.json", read_file),
    *((name, read_file) for name in ("test_set.json", "private_info_global.json", "Questions.csv")),
    *((f"{stem}.csv", read_file) for stem in (*negbench.CHOICES, *negbench.RETRIEVALS)),
    *((f"test-00000-of-00001.{suffix}", read_file) for suffix in ("parquet", "json")),
    ("data-00000-of-00001.arrow", read_file),
]


class Violation(BaseException):
    """A reader did something that data may not cause."""


class Auditor:
    """Raise Violation for forbidden audit events while :meth:`watch` is active."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event in FORBIDDEN:
            raise Violation(f"{event}{arguments}")
        if (
            event == "open"
            and isinstance(arguments[0], str)
            and arguments[1]
            and set(arguments[1]) & set("wax+")
        ):
            path = Path(arguments[0]).absolute()
            if not path.is_relative_to(self.folder) and not str(path).startswith("/dev/"):
                raise Violation(f"{event}{arguments}")


AUDITOR = Auditor()


def check(data: bytes) -> None:
    """Read one input. Raises whatever the reader raises, except for one clear message."""
    name, read = READERS[data[0] % len(READERS)] if data else READERS[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data[1:])
        AUDITOR.folder = Path(folder)
        try:
            read(path)
        except UNNAMED:
            raise
        except EXPECTED:
            pass
        finally:
            AUDITOR.folder = None


def _save(write: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def _write_tar(
    members: Mapping[str, bytes], mode: Literal["w", "w:gz"], buffer: io.BytesIO
) -> None:
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def make_seeds() -> list[bytes]:
    """Return a small valid input for each reader, so that the fuzzer starts behind the first checks."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from PIL import Image

    def write_zip(buffer: io.BytesIO) -> None:
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("1.txt", "a red cup")

    def write_stream(buffer: io.BytesIO) -> None:
        with pa.ipc.new_stream(buffer, vismin.schema) as writer:
            writer.write_table(vismin)

    image = _save(lambda buffer: Image.new("RGB", (8, 6), "red").save(buffer, "PNG"))
    picture = {"bytes": b"", "path": None}
    color_swap = {
        "id": 1,
        "image_1": picture,
        "image_2": picture,
        "caption_1": "a",
        "caption_2": "b",
    }
    change = {
        "image_0": picture,
        "text_0": "a",
        "image_1": picture,
        "text_1": "b",
        "category": "object",
    }
    vismin, captions = (
        pa.Table.from_pylist([change]),
        {"caption": ["a cup"], "row": [0], "scores": [[0.5, 0.25]]},
    )
    members = {"1.png": image, "1.txt": b"a red cup"}
    tar, tar_gz = (_save(partial(_write_tar, members, mode)) for mode in ("w", "w:gz"))
    binary = {
        **{"image.jpg": image, "pairs.tar": tar, "shard.tar.gz": tar_gz, "archive.tar.gz": tar_gz},
        **dict.fromkeys(["images.zip", "archive.zip"], _save(write_zip)),
        **dict.fromkeys(
            ["captions.parquet", "scores.parquet", "scores_of_rows.parquet"],
            _save(partial(pq.write_table, pa.table(captions))),
        ),
        "test-00000-of-00001.parquet": _save(
            partial(pq.write_table, pa.Table.from_pylist([color_swap]))
        ),
        "data-00000-of-00001.arrow": _save(write_stream),
        "SHA256SUMS": f"{hashlib.sha256(b'').hexdigest()}  missing.jpg\n".encode(),
    }
    contents = binary | {name: content.encode() for name, content in SEEDS.items()}
    return [bytes([number]) + contents[name] for number, (name, _) in enumerate(READERS)]


class Fuzzer:
    """Check inputs, save one input per kind of failure to a folder, and go on."""

    def __init__(self, failures: Path) -> None:
        self.failures = failures
        self.signatures: set[str] = set()

    def __call__(self, data: bytes) -> None:
        try:
            check(data)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            frames = [
                frame
                for frame in traceback.extract_tb(error.__traceback__)
                if ".venv" not in frame.filename
            ]
            place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
            signature = f"{type(error).__name__} at {place}"
            if signature not in self.signatures:
                self.signatures.add(signature)
                self.failures.mkdir(parents=True, exist_ok=True)
                name = hashlib.sha256(data).hexdigest()[:16]
                (self.failures / name).write_bytes(data)
                print(
                    f"FAILED {signature} in {READERS[data[0] % len(READERS)][0]}: {error} ({name})",
                    file=sys.stderr,
                )


def main() -> None:
    import atheris  # pyright: ignore[reportMissingImports]  (installed by make fuzz)

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(make_seeds()):
        (folder / f"seed-{number:02d}").write_bytes(seed)
        check(seed)  # imports what the reader imports on first use
    for module in [name for name in sys.modules if name.startswith("compeval.")]:
        for value in vars(sys.modules[module]).values():
            if inspect.isfunction(value) and value.__module__ == module:
                atheris.instrument_func(value)
    atheris.Setup(sys.argv, Fuzzer(folder.with_name(f"{folder.name}-failures")))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
