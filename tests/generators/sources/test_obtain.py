import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from compeval.cli import app
from generators.sources import DataSource, RemoteFile, read_registry
from generators.sources import download as downloads
from generators.sources.obtain import check_file, fetch
from tests.generators.sources.server import Site, serve


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


IMAGES = zipped({"VG_100K/1.jpg": b"one", "VG_100K/2.jpg": b"two"})
FACTS = b'{"facts": 1}'


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(downloads, "PAUSE", 0.0)
    with serve(Site({"/images.zip": IMAGES, "/facts.json": FACTS})) as served:
        yield served


def toy(site: Site, images: bytes = IMAGES) -> DataSource:
    digest = hashlib.sha256(images).hexdigest()
    files = (
        RemoteFile(f"{site.url}/images.zip", "images.zip", "VG_100K", len(images), digest),
        RemoteFile(f"{site.url}/facts.json", "facts.json", None, None, None),
    )
    return DataSource("toy", "A toy.", "", "CC0", "", files)


def files_of(folder: Path) -> dict[str, bytes]:
    """What a stage would read: all but the folder of downloads."""
    found = [path for path in folder.rglob("*") if path.is_file() and ".downloads" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


WHOLE = {"VG_100K/1.jpg": b"one", "VG_100K/2.jpg": b"two", "facts.json": FACTS}


def test_a_source_is_got_once_and_its_archive_goes(site: Site, tmp_path: Path):
    assert fetch(toy(site), tmp_path) == ["images.zip", "facts.json"]
    assert files_of(tmp_path) == WHOLE
    assert sorted(path.name for path in (tmp_path / ".downloads").iterdir()) == ["facts.json.json", "images.zip.json"]
    assert fetch(toy(site), tmp_path) == []
    assert len(site.asked) == 2


def test_what_is_gone_or_changed_is_seen_and_got_again(site: Site, tmp_path: Path):
    source = toy(site)
    images, facts = source.files
    assert check_file(images, tmp_path) == "missing"
    fetch(source, tmp_path)
    (tmp_path / "VG_100K" / "2.jpg").unlink()
    (tmp_path / "facts.json").write_bytes(b"{}")
    assert check_file(images, tmp_path) == "1 of 2 files are gone, VG_100K/2.jpg first"
    assert check_file(facts, tmp_path) == "1 of 1 files have changed, facts.json first"
    assert fetch(source, tmp_path, ["images.zip"]) == ["images.zip"]
    assert check_file(images, tmp_path) == "complete"


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"../escaped.jpg": b"x"}, r"its member '\.\./escaped\.jpg' leaves the folder"),
        ({"other/1.jpg": b"x"}, r"images\.zip: it holds other, VG_100K expected"),
    ],
)
def test_an_archive_that_is_refused_leaves_nothing(site: Site, tmp_path: Path, members: dict[str, bytes], message: str):
    site.files["/images.zip"] = bad = zipped({"VG_100K_2/1.jpg": b"x"} | members if "../" in message else members)
    with pytest.raises(ValueError, match=message):
        fetch(toy(site, bad), tmp_path / "toy")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_mirror_has_the_files_below_the_name_of_the_source(site: Site, tmp_path: Path):
    site.files = {f"/mirror/toy{path}": data for path, data in site.files.items()}
    fetch(toy(site), tmp_path, mirror=f"{site.url}/mirror/")
    assert files_of(tmp_path) == WHOLE


@pytest.mark.parametrize("packed", [True, False])
def test_a_folder_that_has_the_files_already(site: Site, tmp_path: Path, packed: bool):
    there = tmp_path / "there"
    (there / "VG_100K").mkdir(parents=True)
    if packed:
        (there / "images.zip").write_bytes(IMAGES)
    else:
        (there / "VG_100K" / "1.jpg").write_bytes(b"one")
        (there / "VG_100K" / "2.jpg").write_bytes(b"two")
    (there / "facts.json").write_bytes(FACTS)
    fetch(toy(site), tmp_path / "toy", existing=there)
    assert files_of(tmp_path / "toy") == WHOLE
    assert site.asked == []
    assert (there / "facts.json").is_file()
    assert (there / "images.zip").is_file() == packed


def test_a_folder_that_lacks_files(site: Site, tmp_path: Path):
    (tmp_path / "facts.json").write_bytes(FACTS)
    with pytest.raises(FileNotFoundError, match=r"images\.zip \(or VG_100K\) not found, of toy\. To take only"):
        fetch(toy(site), tmp_path / "toy", existing=tmp_path)
    assert fetch(toy(site), tmp_path / "toy", ["facts.json"], existing=tmp_path) == ["facts.json"]
    with pytest.raises(ValueError, match=r"toy has no file fact\.json; it has images\.zip, facts\.json"):
        fetch(toy(site), tmp_path / "toy", ["fact.json"])


def test_a_folder_with_a_wrong_archive(site: Site, tmp_path: Path):
    (tmp_path / "images.zip").write_bytes(IMAGES[:-1])
    with pytest.raises(ValueError, match=r"images\.zip: \d+ bytes, \d+ expected"):
        fetch(toy(site), tmp_path / "toy", ["images.zip"], existing=tmp_path)
    assert files_of(tmp_path / "toy") == {}
    assert (tmp_path / "images.zip").is_file()


@pytest.mark.parametrize("source", read_registry().values(), ids=lambda source: source.name)
def test_every_source_says_where_from_and_under_which_licence(source: DataSource):
    assert bool(source.files) != bool(source.how)
    assert source.title
    assert source.licence
    assert source.citation
    assert source.homepage.startswith("https://")
    names = [file.name for file in source.files]
    assert len(set(names)) == len(names)
    for file in source.files:
        assert urlsplit(file.url).scheme in ("http", "https")
        assert file.makes or not file.name.endswith(".zip") or source.name == "compun"
        assert file.sha256 is None or len(file.sha256) == 64


def test_the_command(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import generators.sources

    monkeypatch.setattr(generators.sources, "read_registry", lambda: {"toy": toy(site)})
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str):
        return CliRunner().invoke(app, ["sources", *arguments])

    assert "toy" in call("list").stdout
    assert call("check", "toy").exit_code == 1
    assert call("get", "toy").stdout == "sources/toy: downloaded images.zip, facts.json.\n"
    assert files_of(tmp_path / "sources" / "toy") == WHOLE
    checked = call("check")
    assert (checked.exit_code, checked.stdout.count("complete")) == (0, 2)
    assert "Error: Unknown source 'tyo'. Did you mean toy?" in call("get", "tyo").stderr
