import re
from pathlib import Path

import pytest

from compeval.evaluators.engine import tasks
from compeval.evaluators.engine.tasks import Task
from compeval.evaluators.models import Model
from compeval.loaders.datasets.stats import list_configs
from tests.evaluators import tiny
from tests.rows import toy_dataset

KNOWN = [
    Task("crepe", "cc12m_uc_hnatom"),
    Task("crepe", "laion_sc_raw"),
    Task("crepe", "laion_uc_hnatom"),
    Task("crepe", "prod_hnatom", "n4"),
    Task("crepe", "prod_hnatom", "n5"),
    Task("crepe", "prod_raw", "n4"),
]


def model(corpus: str | None = None, source: str = "web") -> Model:
    return Model("spec", "name", None, "fingerprint", corpus=corpus, corpus_source=source)


def test_names():
    names = [task.name for task in KNOWN[2:4]]
    assert names == ["crepe/laion_uc_hnatom", "crepe/prod_hnatom/n4"]
    assert Task("aro", "coco_order", variant="s0").name == "aro/coco_order@s0"


def test_select_supports_globs_and_names_with_all_their_splits():
    assert tasks.select(KNOWN, ["crepe/prod_hnatom"]) == KNOWN[3:5]
    assert tasks.select(KNOWN, ["crepe/*_raw"]) == [KNOWN[1], KNOWN[5]]
    assert tasks.select(KNOWN, ["crepe/laion_*", "crepe/laion_uc_hnatom"]) == KNOWN[1:3]
    assert tasks.select(KNOWN, "crepe/prod_hnatom/n5, crepe/prod_raw,") == KNOWN[4:]
    assert (
        tasks.select(KNOWN, ["crepe/prod_hnatom/n5,crepe/prod_raw", "crepe/prod_raw/n4"])
        == KNOWN[4:]
    )


COCO = Task("retrieval", "coco")
SHUFFLED = [Task("retrieval", "coco", variant=f"shuffle_trigrams-s{seed}") for seed in (2, 10)]
ROTATED = Task("retrieval", "coco", variant="rotate-s0")
ORDERS = [Task("aro", "coco_order", variant=f"s{seed}") for seed in (0, 1)]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("retrieval/coco", [COCO]),
        ("retrieval", [COCO]),
        ("retrieval/coco@*", [ROTATED, *SHUFFLED]),
        ("retrieval/coco@shuffle*", SHUFFLED),
        ("retrieval/coco@shuffle_trigrams-s10", SHUFFLED[1:]),
        ("retrieval/coco@shuffle_trigrams.s10", SHUFFLED[1:]),
        ("retrieval/*", [COCO, ROTATED, *SHUFFLED]),
        ("aro/coco_order", ORDERS),
        ("aro/coco_order@s1", ORDERS[1:]),
        ("*@*", [*ORDERS, ROTATED, *SHUFFLED]),
    ],
)
def test_a_name_is_the_original_set_and_its_variants_follow_an_at_sign(
    pattern: str, expected: list[Task]
):
    assert tasks.select([*SHUFFLED[::-1], *ORDERS, COCO, ROTATED], pattern) == expected


@pytest.mark.parametrize(
    "pattern", ["retrieval/coc", "retrieval/coco@", "retrieval/coco@x", "coco"]
)
def test_parts_of_names_are_unknown(pattern: str):
    with pytest.raises(ValueError, match=f"Unknown task '{pattern}'"):
        tasks.select([COCO, *SHUFFLED], pattern)


@pytest.mark.parametrize("patterns", [[], "", [","], [" "]])
def test_no_task_is_an_error(patterns: str | list[str]):
    with pytest.raises(ValueError, match="No task is given"):
        tasks.select(KNOWN, patterns)


def test_tasks_are_in_natural_order(tmp_path: Path):
    splits = {f"n{number}": tiny.choice_rows(1) for number in (10, 12, 4, 9)}
    data = tiny.write_dataset(tmp_path, {"prod_hnatom": splits})
    names = [f"crepe/prod_hnatom/n{number}" for number in (4, 9, 10, 12)]
    assert [task.name for task in tasks.discover(data)] == names
    assert [task.name for task in tasks.select(tasks.discover(data)[::-1], "crepe")] == names
    assert list_configs("crepe", data) == {"prod_hnatom": {"n4": 1, "n9": 1, "n10": 1, "n12": 1}}
    card = (data / "crepe" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"split: (\w+)", card) == ["n4", "n9", "n10", "n12"]


def test_a_task_that_matches_nothing_is_an_error():
    with pytest.raises(
        ValueError, match=r"Unknown task 'crepe/laion_uc_hnatm'. Did you mean crepe/laion_uc_hnatom"
    ):
        tasks.select(KNOWN, ["crepe/*", "crepe/laion_uc_hnatm"])


@pytest.mark.parametrize(
    ("corpus", "expected"),
    [
        ("laion", KNOWN[2:5]),
        ("cc12m", [KNOWN[0], *KNOWN[3:5]]),
        (None, [KNOWN[0], *KNOWN[2:5]]),
        ("LAION-2B", [KNOWN[0], *KNOWN[2:5]]),
    ],
)
def test_default_tasks(corpus: str | None, expected: list[Task]):
    assert tasks.defaults(KNOWN, model(corpus)) == expected


def test_a_corpus_of_the_user_is_a_training_corpus_too():
    mine = [Task("crepe", "mine_uc_hnatom"), Task("crepe_published", "laion_uc_hnatom")]
    assert [task.corpus for task in mine] == ["mine", "laion"]
    assert Task("own", "mine_uc_hnatom").corpus is Task("crepe", "prod_hnatom", "n4").corpus is None
    assert tasks.defaults([*KNOWN, *mine], model("mine")) == [*KNOWN[3:5], mine[0]]
    assert tasks.defaults([*KNOWN, *mine], model("laion")) == [*KNOWN[2:5], mine[1]]
    assert (
        "name was trained on laion"
        in tasks.list_warnings(mine[0], "visual_genome", model("laion"))[0]
    )


def test_warnings():
    laion, productivity = KNOWN[2], KNOWN[3]
    assert tasks.list_warnings(laion, "microworld", model("laion", "microworld")) == []
    assert tasks.list_warnings(laion, "visual_genome", model("laion", "web")) == []
    assert tasks.list_warnings(productivity, "microworld", model("cc12m")) == []
    assert "name was trained on cc12m" in tasks.list_warnings(laion, "web", model("cc12m"))[0]
    assert "the training data of name is not known" in tasks.list_warnings(laion, "web", model())[0]
    (text,) = tasks.list_warnings(laion, "microworld", model("laion", "web"))
    assert "trained on the laion of web, these splits are of microworld" in text


def test_discover(data: Path):
    assert [task.name for task in tasks.discover(data)] == [
        "crepe/cc12m_uc_hnatom",
        "crepe/laion_sc_raw",
        "crepe/laion_uc_hnatom",
        "crepe/laion_uc_raw",
        "crepe/prod_hnatom/n4",
        "crepe/prod_hnatom/n5",
    ]


def test_no_dataset_at_all(tmp_path: Path):
    with pytest.raises(ValueError, match=f"No dataset was found in {tmp_path}"):
        tasks.discover(tmp_path)


def test_splits_without_a_row_and_raw_splits_with_one_are_no_tasks(tmp_path: Path):
    splits = {"n4": [], "n5": [tiny.row(0, "red", "ball", ["blue"])]}
    raw = {"mine_sc_raw": {"test": tiny.raw_rows(2)}, "mine_ua_raw": {"test": tiny.raw_rows(1)}}
    data = tiny.write_dataset(tmp_path, {"prod_hnatom": splits, **raw})
    assert [task.name for task in tasks.discover(data)] == [
        "crepe/mine_sc_raw",
        "crepe/prod_hnatom/n5",
    ]


def test_datasets_of_patterns_are_split_and_matched_as_tasks_are(tmp_path: Path):
    toy_dataset(tmp_path)

    def select(*patterns: str) -> set[str]:
        return tasks.select_datasets(patterns, tmp_path)

    assert select("crepe/toy_hnatom,aro/vg_relation", " retrieval/coco@s0 ") == {
        "crepe",
        "aro",
        "retrieval",
    }
    assert select("cr*/toy_hnatom") == select("*hnatom*") == select("[bc]repe") == {"crepe"}
    with pytest.raises(ValueError, match=r"Unknown task 'ar\*/x'"):
        select("ar*/x")
