"""Downloads resume; failed downloads raise a clear message and leave no incomplete file."""

import hashlib
from collections import namedtuple
from pathlib import Path

import pytest

from compeval.base.sources import download as module
from compeval.base.sources.download import MAX_FAILURES, download
from tests.base.sources.server import Site

DATA = bytes(range(256)) * 40
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.fixture(autouse=True)
def serve_a(site: Site) -> None:
    site.files["/a.bin"] = DATA


def download_a(
    site: Site, folder: Path, size: int | None = len(DATA), sha256: str | None = SHA256
) -> Path:
    download(f"{site.url}/a.bin", folder / "a.bin", size, sha256)
    return folder / "a.bin"


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_downloaded(site: Site, tmp_path: Path):
    reports: list[tuple[str, int, int | None]] = []
    download(
        f"{site.url}/a.bin",
        tmp_path / "sub" / "a.bin",
        len(DATA),
        SHA256,
        report=lambda *counts: reports.append(counts),
        step="a.bin",
    )
    assert (tmp_path / "sub" / "a.bin").read_bytes() == DATA
    assert list_names(tmp_path / "sub") == ["a.bin"]
    assert reports[-1] == ("a.bin", len(DATA), len(DATA))


@pytest.mark.parametrize(
    "position", [0, 1, 2, 255, 256, 5_000, 7_777, len(DATA) - 2, len(DATA) - 1, 4_096]
)
def test_a_cut_connection_is_resumed(site: Site, tmp_path: Path, position: int):
    site.cuts = [position]
    assert download_a(site, tmp_path).read_bytes() == DATA
    assert site.requested_ranges == [None, f"bytes={position}-" if position else None]
    assert list_names(tmp_path) == ["a.bin"]


def test_a_file_is_compared_with_the_id_of_its_git_repository(site: Site, tmp_path: Path):
    """`git hash-object` prints 980a0d5f19a64b4b30a87d4206aade58726b60e3 for "Hello World!\\n"."""
    site.files["/hello.txt"] = b"Hello World!\n"
    blob = "980a0d5f19a64b4b30a87d4206aade58726b60e3"
    path = tmp_path / "hello.txt"
    download(f"{site.url}/hello.txt", path, git_blob=blob)
    assert module.compute_git_blob(path) == blob
    path.unlink()
    site.files["/hello.txt"] = b"Hello world!\n"
    with pytest.raises(ValueError, match=rf"git blob [0-9a-f]{{40}}, {blob} expected"):
        download(f"{site.url}/hello.txt", path, git_blob=blob)
    assert list_names(tmp_path) == []


def test_ten_cuts_in_one_file(site: Site, tmp_path: Path):
    site.cuts = [1_000] * 10
    assert download_a(site, tmp_path).read_bytes() == DATA
    assert site.requested_ranges[1:] == [f"bytes={1_000 * n}-" for n in range(1, 11)]


def test_a_later_call_resumes(site: Site, tmp_path: Path):
    site.cuts = [3_000, *[0] * (MAX_FAILURES - 1)]
    with pytest.raises(
        ValueError, match=r"/a\.bin: the connection failed 5 times in a row after 3,000 bytes"
    ):
        download_a(site, tmp_path)
    assert list_names(tmp_path) == ["a.bin.partial", "a.bin.partial.version"]
    assert download_a(site, tmp_path).read_bytes() == DATA
    assert site.requested_ranges[-1] == "bytes=3000-"
    assert list_names(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("change", [{"etag": '"two"'}, {"supports_ranges": False}, {"etag": None}])
def test_a_new_version_is_downloaded_from_its_beginning(site: Site, tmp_path: Path, change: dict):
    """Otherwise the end of the new file would be appended to the beginning of the old file."""
    site.cuts = [3_000, *[0] * (MAX_FAILURES - 1)]
    with pytest.raises(ValueError, match="the connection failed"):
        download_a(site, tmp_path)
    vars(site).update(change)
    site.files["/a.bin"] = new = DATA[::-1]
    assert download_a(site, tmp_path, sha256=None).read_bytes() == new


def test_a_complete_partial_file_is_only_verified(site: Site, tmp_path: Path):
    (tmp_path / "a.bin.partial").write_bytes(DATA)
    (tmp_path / "a.bin.partial.version").write_text('"one"', encoding="utf-8")
    assert download_a(site, tmp_path).read_bytes() == DATA


@pytest.mark.parametrize(
    ("files", "size", "sha256", "message"),
    [
        (
            {"/a.bin": DATA[:-1] + b"x"},
            len(DATA),
            SHA256,
            r"SHA-256 [0-9a-f]{64}, " + SHA256 + " expected",
        ),
        (
            {"/a.bin": DATA + b"x"},
            len(DATA),
            None,
            r"10,241 bytes, 10,240 expected\. The file differs from the registered file",
        ),
        ({"/a.bin": b""}, None, None, r"the file is empty\. Use a mirror \(--mirror URL\)"),
        ({"/a.bin": b""}, len(DATA), SHA256, r"the file is empty\."),
    ],
)
def test_a_wrong_file(
    site: Site,
    tmp_path: Path,
    files: dict[str, bytes],
    size: int | None,
    sha256: str | None,
    message: str,
):
    site.files = files
    with pytest.raises(ValueError, match=message):
        download_a(site, tmp_path, size, sha256)
    assert list_names(tmp_path) == []


def test_a_file_that_the_server_does_not_have(site: Site, tmp_path: Path):
    site.files = {}
    with pytest.raises(
        FileNotFoundError, match=r"/a\.bin: 404 Not Found\. .*\(--mirror URL\).*\(--from DIR\)"
    ):
        download_a(site, tmp_path)
    assert (list_names(tmp_path), len(site.requested_ranges)) == ([], 1)


def test_requests_to_a_busy_server_are_repeated_five_times(site: Site, tmp_path: Path):
    site.num_busy_answers = MAX_FAILURES - 1
    assert download_a(site, tmp_path).read_bytes() == DATA
    site.num_busy_answers = MAX_FAILURES
    with pytest.raises(
        ValueError, match=r"failed 5 times in a row after 0 bytes \(503 Service Unavailable\)"
    ):
        download(f"{site.url}/a.bin", tmp_path / "b.bin")
    assert list_names(tmp_path) == ["a.bin"]


def test_an_unreachable_server(site: Site, tmp_path: Path):
    with pytest.raises(ValueError, match=r"failed 5 times in a row.*Connection refused"):
        download("http://127.0.0.1:9/a.bin", tmp_path / "a.bin")
    assert list_names(tmp_path) == []


def test_a_login_page(site: Site, tmp_path: Path):
    site.content_type = "text/html; charset=utf-8"
    with pytest.raises(ValueError, match=r"the server sent a web page instead of the file"):
        download_a(site, tmp_path, None, None)
    assert list_names(tmp_path) == []


def test_a_disk_that_is_too_small(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    free = namedtuple("free", "free")(5)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: free)
    with pytest.raises(
        ValueError, match=r"no space left in .* \(10,240 bytes needed, 5 bytes free\)\. Free space"
    ):
        download_a(site, tmp_path)
    assert list_names(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_disk_that_fills_up_during_the_download(site: Site, tmp_path: Path):
    (tmp_path / "a.bin.partial").symlink_to("/dev/full")
    with pytest.raises(
        ValueError, match=r"no space left in .*run the same command again to resume"
    ):
        download_a(site, tmp_path)
    assert not (tmp_path / "a.bin").exists()


def test_a_gated_file_of_the_hub_needs_the_login(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = "/datasets/org/name/resolve/main/a.bin"
    site.files[path], site.refusal = DATA, 401
    monkeypatch.setenv("HF_ENDPOINT", site.url)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(
        ValueError, match=r"401 .*Accept the terms at .*/datasets/org/name and log in with `hf auth"
    ):
        download(f"https://huggingface.co{path}", tmp_path / "a.bin")
    assert list_names(tmp_path) == []
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "secret")
    download(f"https://huggingface.co{path}", tmp_path / "a.bin")
    assert list_names(tmp_path) == ["a.bin"]
