"""VG-Relation and VG-Attribution from real scene graphs of GQA."""

from collections import Counter
from pathlib import Path

from generators.aro import MINERS, mine
from generators.readers import gqa
from generators.readers.records import Flaws


def test_real_graphs(real_data) -> None:
    images = list(gqa.read(real_data / "gqa" / "sceneGraphs.debug.json", Path(), Flaws()))
    pairs = {config: list(mine(config, images, Counter())) for config in MINERS}
    assert {config: len(rows) for config, rows in pairs.items()} == {"vg_relation": 10, "vg_attribution": 31}
    assert "the food is in the bowl" in {pair.true for pair in pairs["vg_relation"]}
    # The paint is on the side of the building, so the white building's paint is white.
    assert "the peeling paint and the white building" not in {pair.true for pair in pairs["vg_attribution"]}
