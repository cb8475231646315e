"""The numbers of a task do not depend on the other tasks of the run, their order, or what is cached."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from compeval.evaluators import models
from compeval.evaluators.engine.tasks import Task, discover
from compeval.evaluators.run import EvaluationOptions, run
from compeval.loaders.importing.write_dataset import import_files
from tests.stand_ins import write_stand_ins

FILES = (
    "crepe/prod_hard_negatives/atom/prod_vg_hard_negs_atom_complexity_4.csv",
    "aro/visual_genome_relation.json",
    "sugar_crepe/swap_obj.json",
)


@pytest.mark.acceptance
def test_imported_files_have_the_same_ranks_alone_and_together(
    here: Path, clip: Path, real_data: Path, monkeypatch: pytest.MonkeyPatch
):
    files = [real_data / name for name in FILES]
    write_stand_ins(files, here / "images")
    import_files(files, here / "images", here / "published")
    # The import allows the images for the first cache folder only, and each run has its own.
    monkeypatch.setenv("COMPEVAL_IMAGES", str(here / "images"))
    # Without balanced subsets.
    tasks = [task for task in discover(here / "published") if not task.variant]
    assert len(tasks) == len(files)

    def rank(part: list[Task], cache: str, output: str) -> dict[str, list[object]]:
        monkeypatch.setenv("COMPEVAL_CACHE", str(here / cache))
        run(
            models.load_model(f"local:{clip}"),
            part,
            EvaluationOptions(data_dir=here / "published", output=here / output),
        )
        examples = {
            path.parent.name + path.stem: path for path in (here / output).rglob("*.parquet")
        }
        return {name: pq.read_table(path)["rank"].to_pylist() for name, path in examples.items()}

    together = rank(tasks, "together", "together")
    assert [len(ranks) for ranks in together.values()]
    print({name: len(ranks) for name, ranks in together.items()})
    assert rank(tasks[::-1], "together", "reversed, warm") == together
    alone = {"cold": {}, "warm": {}}
    for number, task in enumerate(tasks):
        alone["cold"] |= rank([task], f"alone {number}", f"alone {number}, cold")
        alone["warm"] |= rank([task], "together", f"alone {number}, warm")
    assert alone == {"cold": together, "warm": together}
