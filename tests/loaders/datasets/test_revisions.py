"""Datasets at a commit, in a repository with DVC but without a remote, and at a version; and changed files."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from compeval.base.schemas.rows import RAW_SCHEMA
from compeval.base.storage.crops import replace_crop_files
from compeval.base.storage.dataset import write_config
from compeval.cli import app
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.revisions import find_data_folder, find_revision
from compeval.loaders.datasets.stats import measure, read_stats
from compeval.loaders.datasets.verified import verify_images
from compeval.loaders.load import load_dataset
from tests.rows import hard_negative_row, toy_dataset


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tag v1 has three rows, and the files on disk have five. A third commit lacks the dataset."""
    folder = tmp_path_factory.mktemp("repository")
    names = {
        f"GIT_{role}_{part}": "a@b.c"
        for role in ("AUTHOR", "COMMITTER")
        for part in ("NAME", "EMAIL")
    }

    def call(command: str) -> None:
        subprocess.run(
            command, cwd=folder, shell=True, check=True, capture_output=True, env=os.environ | names
        )

    call("git init && dvc init --quiet && git commit --allow-empty -m empty && git tag v0")
    for rows, tag in ((3, "v1"), (5, "v2")):
        toy_dataset(folder, rows=rows)
        call(f"dvc add --quiet crepe && git add . && git commit -m {tag} && git tag {tag}")
    return folder


@pytest.mark.acceptance
def test_a_tag_and_the_version_on_disk(repository: Path, tmp_path: Path):
    def count(name: str, revision: str | None = None) -> int:
        return load_dataset(
            name, "toy_hnatom", "test", data_dir=repository, revision=revision
        ).num_rows  # pyright: ignore

    assert (count("crepe"), count("crepe@v1"), count("crepe", "v2")) == (5, 3, 5)
    version = read_stats(repository / "crepe")["version"]
    assert count("crepe", version[:8]) == 5
    commit = subprocess.run(
        ["git", "rev-parse", "v1"], cwd=repository, capture_output=True, text=True
    ).stdout.strip()
    assert (tmp_path / "cache/revisions" / commit / "crepe/stats.json").is_file()


@pytest.mark.acceptance
def test_an_unknown_revision_is_one_message(repository: Path):
    version = read_stats(repository / "crepe")["version"]
    with pytest.raises(
        ValueError,
        match=rf"^crepe has no revision 'v9': it is neither the version of .*crepe \({version}\) nor a commit, "
        r"branch or tag of .*\.$",
    ):
        load_dataset("crepe@v9", "toy_hnatom", data_dir=repository)
    with pytest.raises(
        ValueError,
        match=r"crepe at \w{12} is neither in the DVC cache nor in the remote of .*dvc repro",
    ):
        load_dataset("crepe@v0", "toy_hnatom", data_dir=repository)


@pytest.mark.acceptance
def test_the_command_evaluates_a_revision_and_the_result_names_it(
    repository: Path, tmp_path: Path, here: Path
):
    options = [
        "--task",
        "crepe/toy_hnatom",
        "--data",
        str(repository),
        "--output",
        str(tmp_path / "results"),
        "--json",
    ]
    command = ["run", "--model", "python:toy_models:Constant", *options]
    for revision, rows in (("v1", 3), (None, 5)):
        done = CliRunner().invoke(app, [*command, *(["--revision", revision] if revision else [])])
        assert done.exit_code == 0, done.output
        assert f'"rows": {rows}' in done.stdout
        assert ('"revision": null' in done.stdout) == (revision is None)
    unknown = CliRunner().invoke(app, [*command, "--revision", "v9"])
    assert (unknown.exit_code, "crepe has no revision 'v9'" in unknown.stderr) == (2, True)


def flip_a_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "file", ["toy_raw/n4-00000-of-00001.parquet", "images/toy/*.jpg", "images/toy/SHA256SUMS"]
)
def test_a_flipped_byte_is_one_message(tmp_path: Path, file: str):
    folder, row = tmp_path / "crepe", hard_negative_row(tmp_path, 1)
    with replace_crop_files(folder, "toy") as crop_files:
        raw = {name: row[name] for name in RAW_SCHEMA.names}
        write_config(folder, "toy_raw", {"n4": [raw]}, RAW_SCHEMA, crop_files=crop_files)
    write_card(folder, {"license": "mit"}, "", measure(folder))
    load_dataset("crepe", "toy_raw", data_dir=tmp_path)
    (path,) = folder.glob(file)
    flip_a_byte(path)
    place = "stats.json" if path.suffix != ".jpg" else "images/toy/SHA256SUMS"
    with pytest.raises(
        ValueError,
        match=rf"{path.name}: SHA-256 \w{{64}}, \w{{64}} expected \({place}\)\. The file has",
    ):
        load_dataset("crepe", "toy_raw", data_dir=tmp_path)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"0  ../outside.jpg\n"])
def test_a_damaged_list_of_hashes_is_named(tmp_path: Path, content: bytes):
    (tmp_path / "images" / "toy").mkdir(parents=True)
    path = tmp_path / "images" / "toy" / "SHA256SUMS"
    path.write_bytes(content)
    stats = {"files": {}, "images": {"images/toy/SHA256SUMS": hashlib.sha256(content).hexdigest()}}
    with pytest.raises(
        ValueError, match=r"images/toy/SHA256SUMS: not a list of hashes \("
    ) as raised:
        verify_images(tmp_path, stats)
    assert type(raised.value) is ValueError


def test_files_before_one_that_differs_are_not_hashed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "images" / "toy"
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        (folder / name).write_text(name, encoding="utf-8")
    sums = f"{hashlib.sha256(b'a').hexdigest()}  a\n{hashlib.sha256(b'damaged').hexdigest()}  b\n"
    (folder / "SHA256SUMS").write_text(sums, encoding="utf-8")
    stats = {"images": {"images/toy/SHA256SUMS": hashlib.sha256(sums.encode()).hexdigest()}}
    hashed, file_digest = [], hashlib.file_digest
    monkeypatch.setattr(
        hashlib,
        "file_digest",
        lambda file, *how: hashed.append(file.name) or file_digest(file, *how),
    )
    for _ in range(2):
        with pytest.raises(ValueError, match="toy/b: SHA-256"):
            verify_images(tmp_path, stats)
    assert [Path(name).name for name in hashed] == ["SHA256SUMS", "a", "b", "b"]


@pytest.mark.parametrize("content", ["[1]", "null", "{", "[" * 100_000])
def test_a_damaged_memory_of_verified_files_is_written_again(tmp_path: Path, content: str):
    toy_dataset(tmp_path)
    load_dataset("crepe", "toy_raw", data_dir=tmp_path)
    (memory,) = (tmp_path / "cache" / "verified").iterdir()
    intact = memory.read_text(encoding="utf-8")
    memory.write_text(content, encoding="utf-8")
    load_dataset("crepe", "toy_raw", data_dir=tmp_path)
    assert memory.read_text(encoding="utf-8") == intact


@pytest.mark.parametrize("content", ["{", "[]", '{"version": 1}'])
def test_damaged_statistics_are_named(tmp_path: Path, content: str):
    (tmp_path / "crepe").mkdir()
    (tmp_path / "crepe" / "stats.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"crepe/stats\.json: not valid statistics of a dataset"):
        find_revision("crepe", "1234567", tmp_path)


def test_datasets_in_two_folders_are_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    versions = []
    for parent, name in (("one", "crepe"), ("two", "aro")):
        (tmp_path / parent).mkdir()
        toy_dataset(tmp_path / parent).rename(tmp_path / parent / name)
        versions.append(read_stats(tmp_path / parent / name)["version"])
    assert versions[0] == versions[1]
    monkeypatch.chdir(tmp_path / "one")
    monkeypatch.setenv("COMPEVAL_DATA", str(tmp_path / "two"))
    with pytest.raises(
        ValueError, match=r"are not in one folder: crepe in .*one, aro in .*two\. Evaluate"
    ):
        find_data_folder(["crepe", "aro"], versions[0], None)


def test_a_file_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    toy_dataset(tmp_path)
    load_dataset("crepe", "toy_raw", data_dir=tmp_path)
    monkeypatch.setattr("hashlib.file_digest", None)
    load_dataset("crepe", "toy_raw", data_dir=tmp_path)
    with pytest.raises(TypeError):
        load_dataset("crepe", "toy_hnatom", data_dir=tmp_path)
