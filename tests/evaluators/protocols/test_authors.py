"""The authors' own scoring rule next to ours."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators.protocols import authors
from compeval.evaluators.results.external import score_file
from compeval.loaders.benchmarks import sugarcrepe
from compeval.loaders.published.declaration import AuthorsRule
from tests.evaluators import tiny

TIES_WIN = AuthorsRule(
    "A tie is a win.", lambda score: {"": score[:, 0, 0] >= score[:, 0, 1:].max(axis=1)}, {"": 0.5}
)


def test_hits_have_their_own_names():
    def hits(score_NIT: np.ndarray) -> dict[str, np.ndarray]:
        return {"pair": score_NIT[:, 0, 0] > 0, "set": score_NIT[:, 0, 0] > 1}

    directions = authors.evaluate(
        AuthorsRule("", hits, {"pair": 0.25, "set": 0.1}), np.array([[[1.0]], [[2.0]]])
    )
    assert {name: metrics.summarise() for name, metrics in directions.items()} == {
        "authors_pair": {"accuracy": 1.0},
        "authors_set": {"accuracy": 0.5},
    }
    assert [metrics.chance["accuracy"] for metrics in directions.values()] == [0.25, 0.1]
    with pytest.raises(ValueError, match="not a finite number"):
        authors.evaluate(TIES_WIN, np.array([[[1.0, np.nan]]]))


@pytest.mark.parametrize("name", ["crepe", "../x", "x.y", "benchmarks", ""])
def test_only_published_benchmarks_have_a_rule(name: str):
    assert authors.find_rule(name, "main") is None


def test_a_result_shows_both(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        sugarcrepe, "BENCHMARK", replace(sugarcrepe.BENCHMARK, authors={"swap_*": TIES_WIN})
    )
    rows = tiny.choice_rows(4, 1)
    tiny.write_dataset(
        here,
        {"swap_obj": {"test": rows}, "add_obj": {"test": tiny.choice_rows(4, 1)}},
        "sugarcrepe",
    )
    pq.write_table(
        pa.table({"row": [0, 1, 2, 3], "scores": [[2, 1], [1, 1], [1, 2], [3, 1]]}),
        "scores.parquet",
    )
    result = score_file(Path("scores.parquet"), "sugarcrepe/swap_obj", "gpt", data_dir=here)
    assert result["main"] == ["recall@1", "authors_accuracy"]
    assert (result["metrics"]["recall@1"], result["metrics"]["authors_accuracy"]) == (0.5, 0.75)
    assert result["authors"] == "A tie is a win."
    shown = CliRunner().invoke(app, ["show"])
    assert "authors_accuracy" in shown.output
    assert "A tie is a win." in " ".join(shown.stderr.split())
    other = score_file(Path("scores.parquet"), "sugarcrepe/add_obj", "gpt", data_dir=here)
    assert other["main"] == ["recall@1"]
    assert "authors" not in other["code"]
