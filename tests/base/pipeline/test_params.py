"""Reading a block of params.yaml as a dataclass."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from compeval.base.pipeline.params import read_settings


@dataclass(frozen=True)
class Walks:
    rows: int
    parser: str


def test_a_block_and_extra_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text("walks: { rows: 3 }\n", encoding="utf-8")
    assert read_settings(Walks, "walks", parser="rules") == Walks(3, "rules")


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (
            "{ rows: 3, rwos: 4 }",
            r"^params\.yaml, block walks: unknown key 'rwos'; expected rows\.$",
        ),
        ("{ rows: 3, parser: sng }", "block walks: unknown key 'parser'; expected rows"),
        ("{}", "block walks: no key 'rows'; expected rows"),
    ],
)
def test_an_unknown_or_missing_key_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(f"walks: {block}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_settings(Walks, "walks", parser="rules")
