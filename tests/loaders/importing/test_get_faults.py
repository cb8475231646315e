"""Faults of ``compeval get`` for each kind of benchmark: single images, archives, tables with images, one archive."""

import errno
import hashlib
import io
import json
import random
import shutil
import socket
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from compeval.cli import app
from generators.sources import RemoteFile, download
from loaders import benchmarks
from loaders.datasets.load import load_dataset
from loaders.importing import embedded, importing
from loaders.published.declaration import Benchmark
from tests.generators.sources.server import Site, serve
from tests.loaders.importing.test_get import archive, picture

ROWS = {"vsr": 3, "imagecode": 1, "bivlc": 3, "spec": 2}
"""Number of rows that the server offers of each benchmark."""
TASKS = {
    "vsr": ("random", "dev"),
    "imagecode": ("valid", "test"),
    "bivlc": ("main", "test"),
    "spec": ("count_i2t", "test"),
}
TABLE = "data/test-00000-of-00002-23fe2e02660e9182.parquet"


def make_table(rows: int = 3) -> bytes:
    file = io.BytesIO()
    texts = {"caption": "a", "negative_caption": "b", "type": "add", "subtype": "obj"}
    images = [{"bytes": picture(40 * number), "path": None} for number in range(2 * rows)]
    items = [texts | {"image": images[2 * n], "negative_image": images[2 * n + 1]} for n in range(rows)]
    pq.write_table(pa.Table.from_pylist(items), file)
    return file.getvalue()


def make_spec() -> dict[str, bytes]:
    items = [{"query": f"{n}.jpg", "keys": [f"{k} cups" for k in range(9)], "label": n} for n in range(2)]
    return {"count/image2text.json": json.dumps(items).encode()} | {f"count/{n}.jpg": picture(50 * n) for n in range(2)}


STATEMENTS = b"".join(
    json.dumps({"image": f"{n:012}.jpg", "caption": f"cup {n}", "label": n % 2, "relation": "on"}).encode() + b"\n"
    for n in range(3)
)
SETS = json.dumps({"video-x": {"4": "a dog"}}).encode()
FRAMES = {f"image-sets/video-x/img{3 * n}.jpg": picture(20 * n) for n in range(10)}
FILES: dict[str, dict[str, bytes]] = {
    "vsr": {"random/dev.jsonl": STATEMENTS},
    "imagecode": {"valid_data.json": SETS, "image-sets.zip": archive(FRAMES)},
    "bivlc": {TABLE: make_table()},
    "spec": {"data.zip": archive(make_spec())},
}
MAKES = {"image-sets.zip": "image-sets", "data.zip": "count"}


def pin(name: str, content: bytes) -> RemoteFile:
    digest = hashlib.sha256(content).hexdigest()
    return RemoteFile(f"http://nowhere.invalid/{name}", name, MAKES.get(name), len(content), digest)


def unpin(benchmark: Benchmark) -> Benchmark:
    files = tuple(replace(file, size=None, sha256=None) for file in benchmark.source.files)
    return replace(benchmark, source=replace(benchmark.source, files=files))


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Site]:
    monkeypatch.setattr(download, "PAUSE", 0.0)
    monkeypatch.setenv("COMPEVAL_DATA", str(tmp_path / "data"))
    load = benchmarks.load

    def load_served(name: str) -> Benchmark:
        benchmark, pins = load(name), [pin(*file) for file in FILES.get(name, {}).items()]
        if name == "imagecode":
            *pins, images = pins
            benchmark = replace(
                benchmark,
                images={key: replace(images_of, archives=(images,)) for key, images_of in benchmark.files.items()},
            )
        return replace(benchmark, source=replace(benchmark.source, files=tuple(pins))) if name in FILES else benchmark

    monkeypatch.setattr(benchmarks, "load", load_served)
    served = {f"/{name}/{file}": content for name, files in FILES.items() for file, content in files.items()}
    served |= {f"/coco/val2017/{n:012}.jpg": picture(100 * n) for n in range(3)}
    with serve(Site(files=served)) as running:
        yield running


def get(name: str, site: Site, *options: str) -> Result:
    return CliRunner().invoke(app, ["get", name, "--yes", "--mirror", site.url, *options])


def count_rows(name: str) -> int:
    config, split = TASKS[name]
    rows: Any = load_dataset(name, config, split)
    images = [column for column in rows[0] if column.startswith("image") and column not in ("image_id", "image_path")]
    assert all(row[column].size for row in rows for column in images)
    return len(rows)


def assert_one_message(done: Result, message: str, data: Path, name: str) -> None:
    assert (done.exit_code, done.stderr.count("Error:")) == (2, 1), done.output
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert not (data / name / "stats.json").exists(), "no part of a dataset is used"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("seed", range(3))
def test_cut_connections_resume(site: Site, name: str, seed: int):
    rng = random.Random(seed)
    site.cuts = [rng.randrange(1, 60) for _ in range(4)]
    done = get(name, site)
    assert done.exit_code == 0, done.output
    assert any(site.requested_ranges), "a request continues where the connection ended"
    assert count_rows(name) == ROWS[name]
    requests = len(site.requested_ranges)
    assert get(name, site).exit_code == 0
    assert len(site.requested_ranges) == requests, "nothing is downloaded twice"


@pytest.mark.parametrize("name", FILES)
def test_another_hash(site: Site, tmp_path: Path, name: str):
    path = f"/{name}/{[*FILES[name]][-1]}"
    content = site.files[path]
    site.files[path] = content[:-1] + bytes([content[-1] ^ 1])
    assert_one_message(get(name, site), "The file differs from the registered file", tmp_path / "data", name)
    site.files[path] = content
    assert get(name, site).exit_code == 0
    assert count_rows(name) == ROWS[name]


@pytest.mark.parametrize("name", ["vsr", "bivlc", "spec"])
def test_a_file_that_changed(site: Site, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    load = benchmarks.load
    monkeypatch.setattr(benchmarks, "load", lambda name: unpin(load(name)))
    assert get(name, site).exit_code == 0
    shutil.rmtree(tmp_path / "data/sources" / name)
    path = f"/{name}/{next(iter(FILES[name]))}"
    site.files[path] = {"vsr": STATEMENTS + b"\n", "bivlc": make_table(2), "spec": archive({"count/a": b"b"})}[name]
    done = get(name, site)
    assert (done.exit_code, done.stderr.count("Error:")) == (2, 1)
    assert "from the first download). The file at" in done.stderr
    assert "has changed" in done.stderr


def test_a_missing_image_is_named(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data = tmp_path / "data"
    del site.files["/coco/val2017/000000000001.jpg"]
    message = "the server does not have 1 of 3 images; the first is 000000000001.jpg"
    assert_one_message(get("vsr", site), message, data, "vsr")
    monkeypatch.setitem(FILES["imagecode"], "image-sets.zip", archive(dict([*FRAMES.items()][1:])))
    site.files["/imagecode/image-sets.zip"] = FILES["imagecode"]["image-sets.zip"]
    assert_one_message(get("imagecode", site), "image not found", data, "imagecode")
    files = make_spec()
    del files["count/1.jpg"]
    monkeypatch.setitem(FILES["spec"], "data.zip", archive(files))
    site.files["/spec/data.zip"] = FILES["spec"]["data.zip"]
    done = get("spec", site)
    assert_one_message(done, "count/1.jpg", data, "spec")
    assert get("spec", site, "--skip-missing").exit_code == 0
    assert count_rows("spec") == 1


@pytest.mark.parametrize("name", FILES)
def test_a_full_disk(site: Site, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    usage = namedtuple("usage", "total used free")
    with monkeypatch.context() as patch:
        patch.setattr(download.shutil, "disk_usage", lambda path: usage(100, 90, 10))
        assert_one_message(get(name, site), "Free space and run the same command again", tmp_path / "data", name)

    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(importing, "write_split", fail)
        assert_one_message(get(name, site), "No space left on device", tmp_path / "data", name)
    if name == "bivlc":
        shutil.rmtree(tmp_path / "data/sources/bivlc/test-00000-of-00002-23fe2e02660e9182")
        with monkeypatch.context() as patch:
            patch.setattr(embedded, "atomic_file", fail)
            assert_one_message(get(name, site), "no space left in", tmp_path / "data", name)
    assert get(name, site).exit_code == 0
    assert count_rows(name) == ROWS[name]


@pytest.mark.parametrize("name", FILES)
def test_no_network(site: Site, tmp_path: Path, name: str):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = CliRunner().invoke(app, ["get", name, "--yes", "--mirror", f"http://127.0.0.1:{port}"])
    assert_one_message(done, "the connection failed 5 times in a row", tmp_path / "data", name)
    assert "--from DIR" in done.stderr


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("name", ["imagecode", "bivlc", "spec"])
def test_own_copies(site: Site, tmp_path: Path, name: str):
    own = write(tmp_path / "own", FILES[name])
    assert CliRunner().invoke(app, ["get", name, "--from", str(own)]).exit_code == 0
    assert count_rows(name) == ROWS[name]
    assert site.requested_ranges == []


def test_files_that_must_be_downloaded_manually(site: Site, tmp_path: Path):
    done = get("negbench", site)
    assert_one_message(
        done, "negbench must be downloaded manually. Download the files of", tmp_path / "data", "negbench"
    )
    own = write(
        tmp_path / "own",
        {
            "COCO_val_mcq_llama3.1_rephrased.csv": b"image_path,correct_answer,caption_0,caption_1,caption_2,caption_3,"
            b"correct_answer_template\ndata/coco/images/val2017/000000000001.jpg,0,a,b,c,d,positive\n",
            "val2017/000000000001.jpg": picture(1),
            "unrelated.csv": b"a,b\n",
        },
    )
    done = CliRunner().invoke(app, ["get", "negbench", "--from", str(own), "--images", str(own)])
    assert done.exit_code == 0, done.output
    assert len(load_dataset("negbench", "coco_mcq", "test")) == 1


@pytest.mark.parametrize("unsafe", [False, True])
def test_an_archive_in_an_archive(site: Site, tmp_path: Path, unsafe: bool, monkeypatch: pytest.MonkeyPatch):
    files = make_spec()
    inner = {"../../../out.txt": b""} if unsafe else {name.removeprefix("count/"): data for name, data in files.items()}
    nested = archive({"count.zip": archive(inner)})
    monkeypatch.setitem(FILES["spec"], "data.zip", nested)
    monkeypatch.setitem(MAKES, "data.zip", "count.zip")
    site.files["/spec/data.zip"] = nested
    done = get("spec", site)
    if unsafe:
        assert_one_message(done, "out.txt", tmp_path / "data", "spec")
        assert not list(tmp_path.rglob("out.txt"))
    else:
        assert done.exit_code == 0, done.output
        assert count_rows("spec") == 2
