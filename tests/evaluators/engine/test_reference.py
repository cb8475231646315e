"""Compare the engine's ranks with those of the papers' loop in plain open_clip."""

from pathlib import Path

import numpy as np
import open_clip
import pytest

from bench import engine as bench
from bench import reference, row_loop
from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA
from compeval.base.storage.dataset import write_config
from compeval.evaluators.engine.tasks import discover, select
from compeval.generators import captioned_walks, crepe_productivity, crepe_regions
from compeval.generators.crepe_systematicity import add_negatives
from compeval.generators.hard_negatives.crepe.source import Source
from compeval.generators.hard_negatives.crepe.systematicity import NEGATIVES
from compeval.generators.microworld.build import Params, build
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import list_configs, measure
from tests.annotated import annotations_of
from tests.close import assert_close

ROWS_PER_TASK = 2
REAL_ROWS = 20


def test_agreement_of_small_score_matrices():
    # Row 0: rank 1, right. Row 1: a tie. Row 2: rank 2, said to be 1. Row 3: 1e-6 apart. Row 4: rank 3, right.
    scores = np.array(
        [[0.5, 0.4, 0.3], [0.5, 0.5, 0.1], [0.5, 0.6, 0.1], [0.5, 0.500001, 0.1], [0.1, 0.2, 0.3]]
    )
    found = row_loop.compare_ranks(scores, np.array([1, 2, 1, 1, 3]))
    assert found == row_loop.Agreement(5, [2], [1, 3])
    assert (
        str(found) == "ranks equal on 2 of 3 clear rows; different: [2]; closer than 1e-5: [1, 3]"
    )


def test_shuffled_truths_score_chance():
    # A truth drawn among five captions that never tie is the best of them in a fifth of the rows, within 40 of 2,000.
    scores = [np.tile([5.0, 4.0, 3.0, 2.0, 1.0], (10_000, 1))]
    found, chance = reference.measure_shuffled_truth(scores)
    assert_close(chance, 0.2)
    assert abs(found - chance) < 4 * (0.2 * 0.8 / 10_000) ** 0.5


def test_a_tiny_model_on_all_sets(data: Path, clip: Path):
    network, preprocess = open_clip.create_model_from_pretrained(f"local-dir:{clip}")  # pyright: ignore
    model = network.eval(), preprocess, open_clip.get_tokenizer(f"local-dir:{clip}")
    tasks = select(discover(data), ["crepe/*_hn*"])
    found = list(reference.check(model, tasks, data, limit=30))
    assert [(task.name, scores.shape) for task, scores, _ in found] == [
        ("crepe/cc12m_uc_hnatom", (7, 5)),
        ("crepe/laion_uc_hnatom", (23, 5)),
        ("crepe/prod_hnatom/n4", (5, 4)),
        ("crepe/prod_hnatom/n5", (4, 4)),
    ]
    assert all(not agreement.different for _, _, agreement in found)


@pytest.fixture(scope="module")
def micro_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build CREPE's sets of a few micro-world scenes with the code of the pipeline."""
    root = tmp_path_factory.mktemp("world")
    crepe = root / "data" / "crepe"
    build(
        root / "source",
        Params(seed=1, test_images=24, train_images=3, train_size=16, annotation_recall=0.9),
        1,
    )
    regions = {"workers": 1, "at_least": 1, "ranker": "statistics", "balanced_share": 0.0}
    annotations = annotations_of(root / "source")
    crepe_regions.build("microworld", annotations, regions, root / "regions")
    for kind in NEGATIVES:
        negatives = [row[kind] for row in crepe_regions.read_negatives(root / "regions", [kind])]
        rows = add_negatives(crepe_regions.read_captions(root / "regions"), negatives)
        write_config(crepe, f"laion_sc_{kind}", {"test": rows}, HARD_NEGATIVE_SCHEMA)
    walks = captioned_walks.CaptionedWalkSettings(
        seed=0,
        workers=1,
        walks=9,
        walks_per_image=2,
        attempts=15,
        visible=0.1,
        template=False,
        captioner={},
    )
    captioned_walks.build(annotations, walks, root / "walks")
    settings = crepe_productivity.ProductivitySettings(
        seed=0, workers=1, rows=ROWS_PER_TASK, refine=False
    )
    crepe_productivity.write(
        root / "walks", Source.read(annotations.path), "microworld", settings, crepe
    )
    write_card(crepe, {}, "", measure(crepe))
    return root / "data"


@pytest.mark.acceptance
def test_a_random_vit_b_32_on_the_micro_world(micro_world: Path):
    built = list_configs("crepe", micro_world)
    known = select(discover(micro_world), ["crepe/*_hn*"])
    # So few scenes leave some split empty; of the others one a config is enough of a model of this size.
    chosen = {task.config: task for task in known if built[task.config][task.stored_split]}
    assert {"laion_sc_hnatom", "prod_hnatom", "prod_hnswap"} <= chosen.keys()
    model = row_loop.make_random_model("ViT-B-32")
    for task, _, found in reference.check(model, list(chosen.values()), micro_world, ROWS_PER_TASK):
        assert not found.different, f"{task.name}: {found}"


@pytest.mark.acceptance
def test_a_random_vit_b_32_on_published_rows(real_data: Path, tmp_path: Path):
    for kind, config in bench.TYPES.items():
        rows = bench.make_dataset_rows(
            bench.read_published_rows(real_data, kind, REAL_ROWS), tmp_path / "sources"
        )
        write_config(tmp_path / "crepe", config, {"n8": rows}, HARD_NEGATIVE_SCHEMA, "by_reference")
    write_card(tmp_path / "crepe", {}, "", measure(tmp_path / "crepe"))
    for task, _, found in reference.check(
        row_loop.make_random_model("ViT-B-32"), discover(tmp_path), tmp_path, REAL_ROWS
    ):
        assert not found.different, f"{task.name}: {found}"
