"""Ray and local processes write the same bytes."""

from pathlib import Path

import pytest

from compeval.generators.seen_analysis.engines import make_ray_engine
from compeval.generators.seen_analysis.seen import analyse
from tests.generators import fake_language as fake
from tests.generators.seen_analysis.test_seen import make_search, read_results, run

ray = pytest.importorskip("ray")


@pytest.mark.acceptance
def test_ray_writes_the_same_bytes(tmp_path, monkeypatch) -> None:
    """Workers do not import from the current folder, so that they need a path to the parser of the tests."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    search = make_search(tmp_path)
    local = run(search, tmp_path / "local")
    try:
        assert (
            analyse(search, tmp_path / "ray", make_ray_engine(fake.FakeParser, 2), progress=False)
            == local
        )
    finally:
        ray.shutdown()
    assert read_results(tmp_path / "ray") == read_results(tmp_path / "local")
