"""A dataset of an attacker, taken through load, run, report, audit, annotate, make and push."""

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from compeval import load_dataset
from compeval.loaders.push import push
from tests.compeval import hostile
from tests.evaluators import tiny
from tests.hub_server import Repositories

CHECKOUT = Path(__file__).parents[2]
MODEL = """
import numpy as np


class Any:
    fingerprint = "any"

    def __init__(self, device): ...

    def encode_image(self, images):
        return np.array([np.asarray(image).reshape(-1, 3).mean(axis=0) + 1 for image in images])

    def encode_text(self, texts):
        return np.array([[len(text), text.count("blue"), 1] for text in texts], dtype=float)
"""


FONT_TOOLS = ("/sbin/ldconfig", "fc-list")
"""Programs that the libraries of the report call, with arguments of their own."""


class World(NamedTuple):
    """``data`` has two hostile datasets. ``home`` is the current folder. ``private`` and ``data/thesis`` must
    not be read."""

    root: Path
    home: Path
    data: Path
    private: Path


@pytest.fixture
def world(tmp_path: Path, hub_server: Repositories, monkeypatch: pytest.MonkeyPatch) -> World:
    home, data, private = (tmp_path / name for name in ("home", "data", "private"))
    for folder in (home, private, data / "thesis", tmp_path / "scratch"):
        folder.mkdir(parents=True)
    for folder in (private, data / "thesis"):
        (folder / "picture.png").write_bytes(tiny.plain_picture(hostile.SECRET_COLOR))
        (folder / "secret.txt").write_bytes(hostile.SECRET)
    (home / "any_model.py").write_text(MODEL, encoding="utf-8")
    hostile.write_images_dataset(data, private)
    hostile.write_texts_dataset(data, private)
    for name, value in {
        "HOME": home,
        "TMPDIR": tmp_path / "scratch",
        "COMPEVAL_CACHE": tmp_path / "cache",
        "PYTHONPATH": f"{CHECKOUT}{os.pathsep}{home}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(home)
    return World(tmp_path, home, data, private)


def call(world: World, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Call ``compeval`` in a process of its own, which records what it opens."""
    command = [sys.executable, "-m", "tests.compeval.hostile", world.root / "log", *arguments]
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=300, check=False
    )
    print("$ compeval", *arguments, "->", done.returncode, done.stderr[-400:])
    assert "Traceback" not in done.stderr, done.stderr
    return done


def succeed(world: World, *arguments: object) -> str:
    done = call(world, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fail(world: World, *arguments: object) -> str:
    """Return the one message of a command that refuses its input."""
    done = call(world, *arguments)
    assert done.returncode == 2
    return done.stderr


def contents(*folders: Path) -> dict[str, bytes]:
    paths = sorted(
        path
        for folder in folders
        for path in folder.rglob("*")
        if not path.is_fifo() and path.is_file()
    )
    return {str(path): path.read_bytes() for path in paths}


def check_events(world: World) -> None:
    """Assert that nothing private was read, nothing was written elsewhere, and nothing was executed or connected to."""
    recorded = [
        tuple(json.loads(line))
        for line in (world.root / "log").read_text(encoding="utf-8").splitlines()
    ]
    read = {Path(place) for kind, place in recorded if kind == "read"}
    written = {Path(place) for kind, place in recorded if kind == "write"}
    other = {(kind, place) for kind, place in recorded if kind not in ("read", "write")}
    assert not [path for path in read | written if path.resolve().is_relative_to(world.private)]
    assert not [path for path in read | written if path.is_relative_to(world.data / "thesis")]
    assert not {Path("/etc/passwd"), Path("/dev/zero"), world.data / "images" / "images.py"} & (
        read | written
    )
    allowed = (world.home, world.root / "cache", world.root / "scratch")
    assert not [
        path
        for path in written
        if not any(map(path.is_relative_to, allowed)) and path != Path("/dev/null")
    ]
    hub = f", {os.environ['HF_ENDPOINT'].rpartition(':')[2]})"
    expected = {"socket.connect": (hub,), "subprocess.Popen": FONT_TOOLS}
    assert not [
        item for item in other if not any(part in item[1] for part in expected.get(item[0], ()))
    ]
    ours = sorted(str(path) for path in read if path.is_relative_to(world.root))
    print(f"read: {len(ours)} files below the test's folder, among them:")
    print(*(path for path in ours if str(world.data) in path), sep="\n")
    print(
        "written:",
        *sorted(
            {str(path.relative_to(world.root)) for path in written if path != Path("/dev/null")}
        ),
        sep="\n",
    )


@pytest.mark.acceptance
def test_hostile_datasets_read_write_and_execute_nothing_else(
    world: World, hub_server: Repositories
):
    before = contents(world.data, world.private)
    run = ("run", "--model", "python:any_model:Any", "--data", world.data, "--task")
    data, notes = ("--data", world.data), ("--annotations", "annotations")

    assert "is outside the folders whose images may be read" in fail(
        world, *run, "images/referenced"
    )
    assert "the image cannot be" in fail(world, *run, "images/stored")
    results = json.loads(succeed(world, *run, "*", "--on-error", "skip", "--json"))
    kept = {result["task"]: result["data"]["rows"] for result in results}
    # Good are 7 rows and, where images are referenced, the 3 rows whose stored hostile image has no path.
    assert kept == {"images/stored": 7, "images/referenced": 10, "texts/stored": 7}

    succeed(world, "report", *data)
    succeed(world, "audit", "images", *data)
    succeed(world, "audit", "texts", *data)
    for name in ("images", "texts"):
        succeed(world, "annotate", "sample", name, "--captions", 1, "--queries", 1, *data, *notes)
    for form in ("csv", "label-studio"):
        export = (
            "annotate",
            "export",
            "--format",
            form,
            "--output",
            f"forms-{form}",
            *data,
            *notes,
        )
        assert "the image cannot be read" in fail(world, *export, "images")
        succeed(world, *export, "texts")
    hostile.write_shard(world.root / "shard.tar")
    made = succeed(world, "make", "mine", world.root / "shard.tar", "--output", "made")
    # Members whose names lead outside are read, too: the names are no paths here. The picture that is a pickle is not.
    assert re.search(r"mine/captions +3\b", made)
    assert "is outside the folders whose images may be read" in fail(
        world, "push", "images", "me/images", *data
    )
    succeed(world, "push", "texts", "me/texts", *data)

    assert contents(world.data, world.private) == before
    check_events(world)
    uploaded = hub_server.files["me/texts"]
    files = [
        "README.md",
        "croissant.json",
        "eval.yaml",
        "stats.json",
        "stored/test-00000-of-00001.parquet",
    ]
    assert sorted(uploaded) == files
    assert "me/images" not in hub_server.files
    published = [*uploaded.values(), *contents(world.home).values()]
    assert not [content for content in published if hostile.SECRET in content]
    assert not list(world.root.rglob("executed"))
    assert not list(world.root.rglob("*escaped*"))


def test_images_of_a_hostile_dataset_are_not_decoded_by_datasets(world: World):
    rows = load_dataset("images", "stored", "test", world.data)
    assert rows[0]["image"].size == (8, 6)  # pyright: ignore
    for row in range(len(hostile.TEXTS), len(rows)):
        with pytest.raises((ValueError, OSError)):
            rows[row]["image"]  # pyright: ignore
    copy = pickle.loads(pickle.dumps(rows))
    with pytest.raises(ValueError, match="outside the folders"):
        copy[len(hostile.TEXTS)]
    assert rows["caption"] == ["a red picture"] * len(rows)  # pyright: ignore


def test_a_page_that_is_a_link_is_not_uploaded(world: World, hub_server: Repositories):
    (world.data / "texts" / "README.md").unlink()
    (world.data / "texts" / "README.md").symlink_to(world.private / "secret.txt")
    with pytest.raises(ValueError, match=r"README\.md is a link"):
        push(world.data / "texts", "me/texts")
    assert hub_server.files == {}
