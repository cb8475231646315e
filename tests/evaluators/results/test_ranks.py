"""The ranks among the five built-in models of vl_compo's table, counted without this package.

swap_obj    75.9 (NegCLIP), 62.9 (ViT-L-14/laion400m_e32), 61.2245 (ViT-B-32/openai), twice 60.4
swap_att    77.0, 69.4, 67.4, 64.0 (ViT-B-32/openai), 62.3

150 of 245 rows of swap_obj are 61.2245 %: two models are better. 400 of 666 rows of swap_att are 60.0601 %: all are.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators.results import ranks
from compeval.evaluators.results.ranks import Position, compute_rank, find_positions
from compeval.evaluators.results.scores import PublishedScore
from tests.evaluators.results.test_published import MODEL, make_result
from tests.evaluators.written import write_hits

MTEB = ("openai/clip-vit-base-patch32", "BAAI/bge-visualized-base")
REAL = {"synthetic": False, "source": "coco", "chance": 0.5}


def make_results(model: str = "mine", **metrics: float) -> list[dict[str, Any]]:
    named = {"model": dict.fromkeys(("spec", "name", "effective"), model) | {"contaminated": None}}
    rows = {"swap_obj": 245, "swap_att": 666}
    return [
        make_result(f"sugarcrepe/{name}", value, rows[name]) | named
        for name, value in metrics.items()
    ]


@pytest.mark.parametrize(("percent", "rank"), [(3.0, 1), (2.0, 2), (1.5, 4), (1.0, 4), (0.0, 5)])
def test_models_with_equal_scores_share_a_rank(percent: float, rank: int):
    assert compute_rank(percent, [2.5, 2.0, 2.0, 1.0]) == rank


@pytest.mark.parametrize(
    ("model", "others", "last"),
    [
        ("mine", "6, shared with 1 (5 published models; median 61.2; best 75.9, NegCLIP)", 6),
        (MODEL, "5 (4 published models; median 61.6; best 75.9, NegCLIP)", 5),
        ("ViT-B-32/openai", "5 (4 published models; median 61.6; best 75.9, NegCLIP)", 5),
    ],
)
def test_rank_among_the_published_models(model: str, others: str, last: int):
    """A published model is not ranked with its own score."""
    results = make_results(model, swap_obj=150 / 245, swap_att=400 / 666)
    if model == "ViT-B-32/openai":
        results = [result | {"model": result["model"] | {"effective": MODEL}} for result in results]
    first, second = find_positions(results)
    assert str(first) == f"sugarcrepe/swap_obj 61.2: rank 3 of {others}"
    assert second.rank == last


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"data": {"rows": 200, "limit": None}}, "other rows, 200 rows here, 245 published"),
        (
            {"metrics": {"recall@1": 0.6, "tie_rate": 0.02}},
            "ties (2.0%) are errors here, there: not stated",
        ),
    ],
)
def test_what_differs_in_rows_or_ties_is_not_ranked(changes: dict[str, Any], text: str):
    (position,) = find_positions([make_results(swap_obj=0.6)[0] | changes])
    assert position.published == {}
    assert "not ranked among the published models (vl_compo's table of published models: " in str(
        position
    )
    assert text in str(position)


def test_a_source_that_differs_on_all_models_is_not_ranked_with_another(
    add_scores: Callable[..., None],
):
    """MTEB's ImageCoDe is not vl_compo's; its Winoground is. Of its two models here, vl_compo has one, too."""
    add_scores(
        *(("mteb", name, "ImageCoDe:accuracy", 14.0) for name in MTEB),
        *(("mteb", name, "Winoground:accuracy", 9.0) for name in MTEB),
        ("fsc_clip", "fsc-clip/openai_coco/ViT-B-32", "imagecode", 22.0),
        ("fsc_clip", "fsc-clip/openai_coco/ViT-B-32", "winoground", 6.5),
    )
    images, pairs = find_positions(
        [
            make_result("imagecode/valid", 0.2, 2302)
            | {"model": dict.fromkeys(("spec", "name", "effective"), "mine")},
            make_result("winoground/main", 0.1, 400, "group_score")
            | {"model": dict.fromkeys(("spec", "name", "effective"), "mine")},
        ]
    )
    assert len(images.published) == 5 + 1  # vl_compo and FSC-CLIP
    assert images.left_out.startswith(
        "MTEB's results repository: MTEB and vl_compo have other scores"
    )
    assert (len(pairs.published), pairs.left_out) == (5 + 1 + 2 - 1, "")


def test_what_differs_in_the_mean_is_ranked_by_its_own_metric(add_scores: Callable[..., None]):
    """MTEB has the micro mean, here of two models, and Table 2 the macro mean, which vl_compo has, too."""
    add_scores(*(("mteb", name, "AROVisualRelation:text_acc", 52.0) for name in MTEB))
    result = make_result("aro_published/vg_relation", 0.52, 23_937) | {"main": ["recall@1"]}
    (micro,) = find_positions([result])
    result["metrics"] = {"recall@1_macro_relation_table_2": 0.6}
    (macro,) = find_positions([result])
    assert (micro.metric, len(micro.published)) == ("recall@1", 1)
    assert len(macro.published) == 5 - 1 + 4  # of Table 2 also CLIP-FT, BLIP, X-VLM and FLAVA
    assert str(macro).startswith(
        "aro_published/vg_relation recall@1 macro relation table 2 60.0: rank "
    )


@pytest.mark.parametrize("changes", [{"synthetic": True}, {"data": {"rows": 245, "limit": 245}}])
def test_drawn_scenes_and_a_limited_number_of_rows_have_no_rank(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ranks, "read_scores", None)  # the scores are not even read
    assert find_positions([make_results(swap_obj=0.6)[0] | changes]) == []


def test_the_first_source_of_a_model_counts():
    others = [
        PublishedScore(model, "sugarcrepe/swap_obj", "recall@1", percent, 1, source)
        for model, percent, source in (("a", 70.0, "x"), ("a", 50.0, "y"), ("b", 60.0, "y"))
    ]
    published, _ = ranks.select_comparable(others, 245, make_results(swap_obj=0.6))
    assert published == {"a": 70.0, "b": 60.0}
    assert str(Position("mine", "d/c", "recall@1", True, 60.0, published, "")) == (
        "d/c 60.0: rank 2 of 3, shared with 1 (2 published models; median 65.0; best 70.0, a)"
    )


def test_show_ends_with_the_ranks(tmp_path: Path):
    """A result with a published model's hits, under another name. --quiet prints no ranks."""
    path = write_hits(tmp_path, "mine", "sugarcrepe/swap_obj", 150, 245, **REAL)
    shown = CliRunner().invoke(app, ["show", str(path)])
    assert "sugarcrepe/swap_obj 61.2: rank 3 of 6, shared with 1 (5 published" in " ".join(
        shown.stderr.split()
    )
    assert CliRunner().invoke(app, ["show", str(path), "--quiet"]).stderr == ""
    drawn = write_hits(tmp_path, "mine", "sugarcrepe/swap_obj", 150, 245)
    assert "rank" not in CliRunner().invoke(app, ["show", str(drawn)]).stderr
