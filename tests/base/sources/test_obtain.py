import hashlib
import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from typer.testing import CliRunner

from compeval.base.files import file_state
from compeval.base.files.hashes import hash_file
from compeval.base.sources import DataSource, RemoteFile, obtain, unpack
from compeval.base.sources.obtain import fetch, find_problem
from compeval.cli import app
from compeval.loaders import benchmarks
from tests.base.sources.server import Site, make_zip, pin

IMAGES = make_zip({"VG_100K/1.jpg": b"one", "VG_100K/2.jpg": b"two"})
FACTS = b'{"facts": 1}'


@pytest.fixture(autouse=True)
def serve_files(site: Site) -> None:
    site.files |= {"/images.zip": IMAGES, "/facts.json": FACTS}


def make_source(site: Site, images: bytes = IMAGES) -> DataSource:
    files = (
        pin("images.zip", images, "VG_100K", site.url),
        RemoteFile(f"{site.url}/facts.json", "facts.json"),
    )
    return DataSource("toy", "A toy.", licence="CC0", files=files)


def read_files(folder: Path) -> dict[str, bytes]:
    """Return path -> content of all files outside the folder of downloads."""
    paths = [
        path for path in folder.rglob("*") if path.is_file() and ".downloads" not in path.parts
    ]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


FILES = {"VG_100K/1.jpg": b"one", "VG_100K/2.jpg": b"two", "facts.json": FACTS}


def test_a_source_is_downloaded_once_and_its_archive_is_deleted(site: Site, tmp_path: Path):
    assert fetch(make_source(site), tmp_path) == ["images.zip", "facts.json"]
    assert read_files(tmp_path) == FILES
    assert sorted(path.name for path in (tmp_path / ".downloads").iterdir()) == [
        "facts.json.json",
        "images.zip.json",
    ]
    assert fetch(make_source(site), tmp_path) == []
    assert len(site.requested_ranges) == 2


def test_missing_and_changed_files_are_detected_and_downloaded_again(site: Site, tmp_path: Path):
    source = make_source(site)
    images, facts = source.files
    assert find_problem(images, tmp_path) == "missing"
    fetch(source, tmp_path)
    (tmp_path / "VG_100K" / "2.jpg").unlink()
    (tmp_path / "facts.json").write_bytes(b"{}")
    assert find_problem(images, tmp_path) == "1 of 2 files are missing; the first is VG_100K/2.jpg"
    assert find_problem(facts, tmp_path) == "1 of 1 files have changed; the first is facts.json"
    assert fetch(source, tmp_path, ["images.zip"]) == ["images.zip"]
    assert find_problem(images, tmp_path) == ""


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"../escaped.jpg": b"x"}, r"the path '\.\./escaped\.jpg' is outside the folder"),
        ({"other/1.jpg": b"x"}, r"images\.zip: the archive contains other, VG_100K expected"),
    ],
)
def test_a_rejected_archive_leaves_no_files(
    site: Site, tmp_path: Path, members: dict[str, bytes], message: str
):
    site.files["/images.zip"] = bad = make_zip(
        {"VG_100K_2/1.jpg": b"x"} | members if "../" in message else members
    )
    with pytest.raises(ValueError, match=message):
        fetch(make_source(site, bad), tmp_path / "toy")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_an_archive_stays_until_there_is_space_to_unpack_it(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        patch.setattr(
            unpack, "shutil", SimpleNamespace(disk_usage=lambda folder: SimpleNamespace(free=5))
        )
        with pytest.raises(
            OSError, match=r"images\.zip: 6 bytes needed, 5 bytes free in .*\. Free space and run"
        ):
            fetch(make_source(site), tmp_path, ["images.zip"])
    assert read_files(tmp_path) == {}
    fetch(make_source(site), tmp_path, ["images.zip"])
    assert (len(site.requested_ranges), len(read_files(tmp_path))) == (1, 2)


def test_a_mirror_has_the_files_in_a_folder_named_after_the_source(site: Site, tmp_path: Path):
    site.files = {f"/mirror/toy{path}": data for path, data in site.files.items()}
    fetch(make_source(site), tmp_path, mirror=f"{site.url}/mirror/")
    assert read_files(tmp_path) == FILES


@pytest.mark.parametrize("packed", [True, False])
def test_a_folder_that_already_contains_the_files(site: Site, tmp_path: Path, packed: bool):
    existing = tmp_path / "existing"
    (existing / "VG_100K").mkdir(parents=True)
    if packed:
        (existing / "images.zip").write_bytes(IMAGES)
    else:
        (existing / "VG_100K" / "1.jpg").write_bytes(b"one")
        (existing / "VG_100K" / "2.jpg").write_bytes(b"two")
    (existing / "facts.json").write_bytes(FACTS)
    fetch(make_source(site), tmp_path / "toy", existing=existing)
    assert read_files(tmp_path / "toy") == FILES
    assert site.requested_ranges == []
    assert (existing / "facts.json").samefile(tmp_path / "toy" / "facts.json"), "not copied"
    assert (existing / "images.zip").is_file() == packed


@pytest.mark.parametrize("is_link", [False, True])
def test_files_that_are_in_the_folder_of_the_source_already(
    site: Site, tmp_path: Path, is_link: bool
):
    """They are recorded and stay where they are, also if the folder is a link to the given one."""
    existing = tmp_path / "existing"
    write_files(existing, FILES)
    folder = tmp_path / "toy" if is_link else existing
    if is_link:
        folder.symlink_to(existing)
    assert fetch(make_source(site), folder, existing=existing) == ["images.zip", "facts.json"]
    assert read_files(existing) == FILES
    assert {find_problem(file, folder) for file in make_source(site).files} == {""}


def test_a_folder_that_lacks_files(site: Site, tmp_path: Path):
    (tmp_path / "facts.json").write_bytes(FACTS)
    with pytest.raises(
        FileNotFoundError, match=r"images\.zip \(or VG_100K\) of toy not found\. To use only"
    ):
        fetch(make_source(site), tmp_path / "toy", existing=tmp_path)
    assert fetch(make_source(site), tmp_path / "toy", ["facts.json"], existing=tmp_path) == [
        "facts.json"
    ]
    with pytest.raises(
        ValueError, match=r"toy has no file fact\.json; it has images\.zip, facts\.json"
    ):
        fetch(make_source(site), tmp_path / "toy", ["fact.json"])


def test_a_folder_with_another_version_of_visual_genome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Version 1.2 has three files in place of 1.4's scene_graphs.json; annotations can be used without the images."""
    monkeypatch.chdir(tmp_path)
    common = {"image_data.json", "region_descriptions.json"}
    separate, graphs = (
        {"objects.json", "attributes.json", "relationships.json"},
        {"scene_graphs.json"},
    )

    def get(version: str, names: set[str], folder: str = ""):
        for name in names:
            (tmp_path / version).mkdir(exist_ok=True)
            (tmp_path / version / name).write_text(f"[] {version}", encoding="utf-8")
        arguments = ["--from", version, "--output", folder or f"sources-{version}"]
        return CliRunner().invoke(app, ["sources", "get", "visual_genome", *arguments])

    got = get("v1.2", common | separate)
    assert (got.exit_code, got.stderr.split("\n")[-2]) == (
        0,
        "v1.2 does not have images.zip, images2.zip, scene_graphs.json.zip.",
    )
    assert read_files(tmp_path / "sources-v1.2" / "visual_genome").keys() == common | separate
    checked = CliRunner().invoke(
        app, ["sources", "check", "visual_genome", "--output", "sources-v1.2", "--json"]
    )
    states = json.loads(checked.stdout)["visual_genome"]
    assert [name for name, state in states.items() if state == "missing"] == [
        "images.zip",
        "images2.zip",
    ]
    assert states["scene_graphs.json.zip"] == "not needed, other files replace it"

    assert get("only-graphs", common | graphs).exit_code == 0
    lacking = get("lacking", common | separate - {"attributes.json"}).stderr
    assert "attributes.json.zip (or attributes.json), scene_graphs.json.zip (or" in lacking
    mixed = get("v1.2", set(), "sources-only-graphs").stderr
    assert "has scene_graphs.json of another version than v1.2. Use another folder" in mixed


def test_a_folder_with_a_wrong_archive(site: Site, tmp_path: Path):
    (tmp_path / "images.zip").write_bytes(IMAGES[:-1])
    with pytest.raises(ValueError, match=r"images\.zip: \d+ bytes, \d+ expected"):
        fetch(make_source(site), tmp_path / "toy", ["images.zip"], existing=tmp_path)
    assert read_files(tmp_path / "toy") == {}
    assert (tmp_path / "images.zip").is_file()


OTHER_IMAGES = make_zip({"VG_100K/1.jpg": b"ONE", "VG_100K/3.jpg": b"new"})
OTHER_FACTS = b'{"facts": 2}'
OTHER_FILES = {"VG_100K/1.jpg": b"ONE", "VG_100K/3.jpg": b"new", "facts.json": OTHER_FACTS}


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).unlink(missing_ok=True)
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("way", ["registry", "lock", "packed", "unpacked", "in place"])
def test_another_version_of_the_files_replaces_them(site: Site, tmp_path: Path, way: str):
    """The other version has files of the same names and sizes, one image less and one more."""
    lock, existing, folder = tmp_path / "sources.lock", tmp_path / "existing", tmp_path / "toy"
    first = DataSource(
        "toy",
        files=tuple(replace(file, sha256=None, size=None) for file in make_source(site).files),
    )
    options: dict[str, Any] = (
        {"lock": lock} if way in ("registry", "lock") else {"existing": existing}
    )
    packed = way == "packed"
    write_files(existing, {"images.zip": IMAGES, "facts.json": FACTS} if packed else FILES)
    assert fetch(first, folder, **options) == ["images.zip", "facts.json"]
    assert fetch(first, folder, **options) == []
    assert read_files(folder) == FILES
    site.files |= {"/images.zip": OTHER_IMAGES, "/facts.json": OTHER_FACTS}
    others = {"images.zip": OTHER_IMAGES, "facts.json": OTHER_FACTS}
    second = first
    if way == "registry":
        second = DataSource("toy", files=(pin("images.zip", OTHER_IMAGES, "VG_100K", site.url), pin(
            "facts.json", OTHER_FACTS, None, site.url)))  # fmt: skip
        assert [find_problem(file, folder).split(" of ")[0] for file in second.files] == [
            "made from another version"
        ] * 2
    elif way == "lock":  # accepted elsewhere, and sources.lock was committed
        lock.unlink()
        fetch(first, tmp_path / "elsewhere", lock=lock)
    elif way == "in place":
        for name in ("VG_100K/1.jpg", "facts.json"):
            (existing / name).write_bytes(OTHER_FILES[name])
        (existing / "VG_100K/2.jpg").rename(existing / "VG_100K/3.jpg").write_bytes(b"new")
    else:
        shutil.rmtree(existing)
        write_files(existing, others if packed else OTHER_FILES)
    assert fetch(second, folder, **options) == ["images.zip", "facts.json"]
    assert read_files(folder) == OTHER_FILES
    assert fetch(second, folder, **options) == []


def test_a_copy_of_the_folder_is_complete_and_a_change_of_the_same_size_is_not(
    site: Site, tmp_path: Path
):
    source = make_source(site)
    fetch(source, tmp_path / "toy")
    shutil.copytree(tmp_path / "toy", tmp_path / "copy", copy_function=shutil.copyfile)
    assert [find_problem(file, tmp_path / "copy") for file in source.files] == [""] * 2
    changed, before = tmp_path / "copy/VG_100K/2.jpg", (tmp_path / "copy/VG_100K/2.jpg").stat()
    changed.write_bytes(b"TWO")
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    state = "1 of 2 files have changed; the first is VG_100K/2.jpg"
    assert [find_problem(file, tmp_path / "copy") for file in source.files] == [state, ""]
    record = tmp_path / "copy/.downloads/images.zip.json"
    changed.write_bytes(b"two")
    # Of an earlier version.
    record.write_text('{"members": {"VG_100K/1.jpg": 3, "VG_100K/2.jpg": 3}}', encoding="utf-8")
    assert find_problem(source.files[0], tmp_path / "copy") == ""


def test_members_are_hashed_while_they_are_unpacked_and_a_copy_is_hashed_once(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    hashed: list[str] = []
    for module in (obtain, file_state):
        monkeypatch.setattr(
            module, "hash_file", lambda path: hashed.append(path.name) or hash_file(path)
        )
    source = make_source(site)
    fetch(source, tmp_path / "toy", ["images.zip"])
    assert [find_problem(source.files[0], tmp_path / "toy"), hashed] == ["", []]
    shutil.copytree(tmp_path / "toy", tmp_path / "copy")
    for _ in range(2):
        assert find_problem(source.files[0], tmp_path / "copy") == ""
    assert hashed == ["1.jpg", "2.jpg"]


def test_a_finished_download_of_another_version_is_not_used(site: Site, tmp_path: Path):
    write_files(tmp_path / ".downloads", {"images.zip": OTHER_IMAGES})
    assert fetch(make_source(site), tmp_path, ["images.zip"]) == ["images.zip"]
    assert read_files(tmp_path) == {
        name: data for name, data in FILES.items() if name != "facts.json"
    }


@pytest.mark.parametrize(
    "source", benchmarks.read_sources().values(), ids=lambda source: source.name
)
def test_every_source_has_a_homepage_a_licence_and_a_citation(source: DataSource):
    assert bool(source.files) != bool(source.download_instructions)
    assert source.title
    assert source.licence
    assert source.citation
    assert source.homepage.startswith("https://")
    names = [file.name for file in source.files]
    assert len(set(names)) == len(names)
    for file in source.files:
        assert urlsplit(file.url).scheme in ("http", "https")
        # Compun's archive is read as it is, and CREPE's are unpacked by the importer.
        assert (
            file.makes
            or not file.name.endswith(".zip")
            or source.name in ("compun", "crepe_published")
        )
        assert file.sha256 is None or len(file.sha256) == 64
        assert "github" not in file.url or re.search(r"/[0-9a-f]{40}[/.]", file.url), (
            "a branch instead of a commit"
        )


def test_the_first_download_records_a_hash_and_a_later_difference_is_an_error(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    source, lock = make_source(site), tmp_path / "sources.lock"
    fetch(source, tmp_path / "a", lock=lock)
    assert f"recorded in {lock}. Later downloads must equal this one." in capsys.readouterr().err
    digest = hashlib.sha256(FACTS).hexdigest()
    record = {"url": f"{site.url}/facts.json", "size": len(FACTS), "sha256": digest}
    assert yaml.safe_load(lock.read_text(encoding="utf-8")) == {"toy": {"facts.json": record}}, (
        "the registry knows the other file"
    )
    fetch(source, tmp_path / "b", lock=lock)
    assert "recorded" not in capsys.readouterr().err
    site.files["/facts.json"] = b'{"facts": 12}'
    changed = (
        r"toy/facts\.json: 13 bytes, SHA-256 \w+; "
        r"12 bytes, SHA-256 \w+ expected \(.*sources\.lock, from the first"
    )
    for _ in range(2):  # the changed file is not kept
        with pytest.raises(ValueError, match=changed):
            fetch(source, tmp_path / "c", ["facts.json"], lock=lock)
    assert read_files(tmp_path / "c") == {}
    lock.write_text("toy: {}\n", encoding="utf-8")
    assert fetch(source, tmp_path / "c", ["facts.json"], lock=lock) == ["facts.json"]
    assert yaml.safe_load(lock.read_text(encoding="utf-8"))["toy"]["facts.json"]["size"] == 13


@pytest.mark.parametrize(
    "text", [b"toy: [", b"- toy", b"toy: facts.json", b"toy: {facts.json: {url: x}}", b"\xff"]
)
def test_a_malformed_lock_is_an_error_that_names_the_file(site: Site, tmp_path: Path, text: bytes):
    lock = tmp_path / "sources.lock"
    lock.write_bytes(text)
    with pytest.raises(
        ValueError, match=r"sources\.lock is malformed: it needs url, size and sha256"
    ):
        fetch(make_source(site), tmp_path / "a", lock=lock)
    assert lock.read_bytes() == text


def test_the_command(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sources = benchmarks.read_sources() | {"toy": make_source(site)}
    monkeypatch.setattr(benchmarks, "read_sources", lambda: sources)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str):
        return CliRunner().invoke(app, ["sources", *arguments])

    assert "toy" in call("list").stdout
    assert call("check", "toy").exit_code == 1
    assert call("get", "toy").stdout == "sources/toy: downloaded images.zip, facts.json.\n"
    assert read_files(tmp_path / "sources" / "toy") == FILES
    checked = call("check")
    assert (checked.exit_code, checked.stdout.count("complete")) == (0, 2)
    assert "Error: Unknown source 'tyo'. Did you mean toy?" in call("get", "tyo").stderr
