"""Readers of foreign data on valid inputs and on a corpus: all inputs that once failed, or $COMPEVAL_FUZZ_CORPUS."""

import os
from pathlib import Path

import pytest

from tests.fuzz import readers
from tests.fuzz.readers import READERS, Violation, check, make_seeds

FOLDER = Path(os.environ.get("COMPEVAL_FUZZ_CORPUS", Path(__file__).parent / "corpus"))
CORPUS = sorted(path for path in FOLDER.iterdir() if path.is_file())


@pytest.mark.parametrize("number", range(len(READERS)), ids=[name for name, _ in READERS])
def test_seed(number: int):
    check(make_seeds()[number])


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_corpus(path: Path):
    check(path.read_bytes())


@pytest.mark.parametrize(
    "action",
    [
        lambda path: (path.parent.parent / "outside.txt").write_text("", encoding="utf-8"),
        lambda path: __import__("pickle").loads(b"cos\nsystem\n."),
        lambda path: __import__("subprocess").run(["true"], check=False),
    ],
    ids=["write", "unpickle", "execute"],
)
def test_the_auditor_notices(monkeypatch: pytest.MonkeyPatch, action):
    monkeypatch.setattr(readers, "READERS", [("any", action)])
    with pytest.raises(Violation):
        check(b"\0")
