"""Data from a remote instead of a build: a folder, and a server that speaks S3 (moto), with a small dataset."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import datasets
import pytest
import yaml

from compeval.loaders.datasets.stats import read_stats
from compeval.loaders.load import load_dataset

ROOT = Path(__file__).parent.parent
SETS = """
import sys
from pathlib import Path
from compeval.base.schemas.rows import RAW_SCHEMA
from compeval.base.storage.crops import replace_crop_files
from compeval.base.storage.dataset import write_config
from tests.rows import hard_negative_row

rows = [hard_negative_row(Path("."), number) for number in range(4)]
raw = [{name: row[name] for name in RAW_SCHEMA.names} for row in rows]
with replace_crop_files(Path("parts/crepe"), "toy") as crop_files:
    for config in ("toy_a", "toy_b"):
        write_config(Path("parts/crepe"), config, {"test": raw}, RAW_SCHEMA, crop_files=crop_files)
"""
CARD = """
from pathlib import Path
from compeval.loaders.cards.card import write_card
from compeval.loaders.cards.parts import assemble
from compeval.loaders.datasets.stats import measure

with assemble(Path("crepe")) as scratch:
    write_card(scratch, {"license": "mit"}, "", measure(scratch))
"""
STAGES = {
    "sets": {
        "cmd": f"{sys.executable} sets.py",
        "deps": ["sets.py"],
        "outs": ["parts/crepe/toy_a", "parts/crepe/toy_b", "parts/crepe/images/toy"],
    },
    "crepe": {
        "cmd": f"{sys.executable} card.py",
        "deps": ["card.py", "parts/crepe"],
        "outs": ["crepe"],
    },
}
"""Stages as in dvc.yaml: one writes the sets, another depends on their folder and writes the dataset."""
ACCOUNT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
}
PERSON = {
    f"GIT_{role}_{part}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")
}

Options = dict[str, str]


def run(folder: Path, *command: object) -> str:
    """Run a command with only this environment's programs and the account of the server; return its output."""
    environment = os.environ | ACCOUNT | PERSON | {"PYTHONPATH": str(ROOT)}
    words = [str(word) for word in command]
    words = [sys.executable, "-m", *words] if words[0] == "dvc" else words
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def folder_remote(tmp_path: Path) -> Options:
    return {"url": str(tmp_path / "remote")}


@pytest.fixture
def s3_remote():
    pytest.importorskip("dvc_s3")
    boto3, server = pytest.importorskip("boto3"), pytest.importorskip("moto.server")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    address = f"http://{host}:{port}"
    keys = {
        "aws_access_key_id": "test",
        "aws_secret_access_key": "test",
        "region_name": "us-east-1",
    }
    boto3.client("s3", endpoint_url=address, **keys).create_bucket(Bucket="compeval")
    yield {"url": "s3://compeval/data", "endpointurl": address}
    running.stop()


@pytest.mark.acceptance
@pytest.mark.parametrize("remote", ["folder_remote", "s3_remote"])
def test_push_pull_get_and_import(
    tmp_path: Path, remote: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    options: Options = request.getfixturevalue(remote)
    author = tmp_path / "author"
    author.mkdir()
    for name, code in (("sets.py", SETS), ("card.py", CARD)):
        (author / name).write_text(code, encoding="utf-8")
    (author / "dvc.yaml").write_text(yaml.safe_dump({"stages": STAGES}), encoding="utf-8")
    (author / ".gitignore").write_text("/parts\n/crepe\n", encoding="utf-8")
    for command in (
        "git init -q",
        "dvc init -q",
        f"dvc remote add -q -d storage {options.pop('url')}",
    ):
        run(author, *command.split())
    for name, value in options.items():
        run(author, "dvc", "remote", "modify", "-q", "storage", name, value)
    run(author, "dvc", "repro")
    assert "Running stage" not in run(author, "dvc", "repro")
    run(author, "git", "add", "dvc.yaml", "dvc.lock", "sets.py", "card.py", ".dvc", ".gitignore")
    run(author, "git", "commit", "-q", "-m", "data")
    run(author, "dvc", "push", "-q")

    def load(folder: Path, config: str, check: Callable[..., object] = load_dataset) -> None:
        monkeypatch.chdir(folder)
        rows = check("crepe", config, split="test")
        assert [image.size for image in rows["image"]] == [(40, 30)] * 4  # pyright: ignore

    reader = tmp_path / "reader"
    run(tmp_path, "git", "clone", "-q", author, reader)
    run(reader, "dvc", "pull", "-q", "crepe")
    assert not (reader / "parts").exists()
    assert read_stats(reader / "crepe")["version"] == read_stats(author / "crepe")["version"]
    for check in (load_dataset, datasets.load_dataset):
        load(reader, "toy_a", check)

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run(elsewhere, "dvc", "get", "-q", author, "crepe")
    load(elsewhere, "toy_b", datasets.load_dataset)

    other = tmp_path / "other"
    (other / "crepe").mkdir(parents=True)
    run(other, "git", "init", "-q")
    run(other, "dvc", "init", "-q")
    for path in ("crepe/toy_a", "crepe/images"):
        run(other, "dvc", "import", "-q", "--out", path, author, path)
    imported = yaml.safe_load((other / "crepe/toy_a.dvc").read_text(encoding="utf-8"))["deps"][0][
        "repo"
    ]
    assert imported["rev_lock"] == run(author, "git", "rev-parse", "HEAD").strip()
    monkeypatch.chdir(other)
    rows = datasets.load_dataset("parquet", data_files="crepe/toy_a/*.parquet", split="train")
    assert rows[0]["image"].size == (40, 30)


def test_each_dataset_is_one_output():
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    assert [stages[name]["outs"] for name in ("crepe", "aro", "retrieval")] == [
        ["crepe"],
        ["aro"],
        ["retrieval"],
    ]
