"""The ranks among the published models, with the scores of tests/evaluators/made_up.py.

swap_obj: vl_compo has 201 models (one of its 202 is there twice). 150 of 245 rows are 61.2245 %: 85 models are better,
and 8 equal. Wilson's interval is [54.99, 67.11]: 13 and 179 models are better than its bounds. 18 models are at least
5 points better, and 5 at least 10.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from compeval.cli import app
from compeval.evaluators.results import ranks
from compeval.evaluators.results.ranks import (
    Position,
    compute_rank,
    describe_unranked,
    find_positions,
)
from compeval.evaluators.results.scores import PublishedScore, count_rows, find_cached_tables
from compeval.evaluators.results.ties import measure_ties
from tests.close import assert_close
from tests.evaluators.conftest import forget_scores
from tests.evaluators.results.test_published import MODEL, make_result
from tests.evaluators.written import write_hits

pytestmark = pytest.mark.usefixtures("all_models")
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
    ("model", "place", "last"),
    [
        ("mine", "86 of 202, shared with 8 (201 published models", 121),
        (MODEL, "86 of 201, shared with 7 (200 published models", 120),
        ("ViT-B-32/openai", "86 of 201, shared with 7 (200 published models", 120),
    ],
)
def test_rank_among_the_published_models(model: str, place: str, last: int):
    """A published model is not ranked with its own score."""
    results = make_results(model, swap_obj=150 / 245, swap_att=400 / 666)
    if model == "ViT-B-32/openai":
        results = [result | {"model": result["model"] | {"effective": MODEL}} for result in results]
    first, second = find_positions(results)
    rest = "; median 60.4; best 75.9, NegCLIP)"
    assert str(first) == f"sugarcrepe/swap_obj 61.2: rank {place}{rest}"
    assert second.rank == last


def test_the_ranks_at_the_bounds_of_the_interval():
    (result,) = make_results(swap_obj=150 / 245)
    result["intervals"] = {"recall@1": [0.5499493381, 0.6710749247]}
    (position,) = find_positions([result])
    assert position.rank_bounds == (14, 180)
    assert str(position).startswith(
        "sugarcrepe/swap_obj 61.2 [55.0, 67.1]: rank 86 of 202, 14 to 180 within the 95 % interval, shared with 8 ("
    )


def test_the_rank_of_a_published_model_as_if_it_had_been_evaluated_here():
    assert ranks.describe_published(MODEL, "sugarcrepe/swap_obj", "recall@1") == (
        "sugarcrepe/swap_obj 61.2 [55.0, 67.1]: rank 86 of 201, 14 to 179 within the 95 % interval, shared with 7 "
        "(200 published models; median 60.4; best 75.9, NegCLIP)"
    )
    with pytest.raises(ValueError, match="nobody: no published recall@1 on sugarcrepe/swap_obj"):
        ranks.describe_published("nobody", "sugarcrepe/swap_obj", "recall@1")


@pytest.mark.parametrize(
    ("tie_rate", "best", "text"),
    [
        (0.05, 19, "61.2 to 66.2: rank 19 to 86 of 202 (ties right to ties wrong) (201"),
        (0.1, 6, "61.2 to 71.2: rank 6 to 86 of 202 (ties right to ties wrong) (201"),
        (0.009, 86, "61.2: rank 86 of 202, shared with 8 (201"),  # too few to show
    ],
)
def test_with_ties_that_others_may_count_as_right_the_rank_is_a_range(
    tie_rate: float, best: int, text: str
):
    (result,) = make_results(swap_obj=150 / 245)
    result["metrics"]["tie_rate"] = tie_rate
    (position,) = find_positions([result])
    assert (position.rank, position.best_rank) == (86, best)
    assert str(position).startswith(f"sugarcrepe/swap_obj {text} published models; median 60.4")
    same = [
        PublishedScore("a", "d/c", "recall@1", 62.0, 1, "x", ties="errors"),
        PublishedScore("b", "d/c", "recall@1", 63.0, 1, "x"),
    ]
    comparable, _ = ranks.select_comparable(same, 245)
    lenient = frozenset(model for model, score in comparable.items() if score.ties != "errors")
    percents = {model: score.percent for model, score in comparable.items()}
    mixed = Position("mine", "d/c", "recall@1", True, 61.0, percents, "", None, 5.0, lenient)
    assert (mixed.rank, mixed.best_rank) == (3, 2)  # a counts ties as we do: it stays better


def test_ties_of_a_macro_mean_are_those_of_its_categories():
    """Relations with 10 and 90 rows have ties in 0.2 and 0.0 of them: 0.02 of the rows, 0.1 of the macro mean."""
    result = {
        "metrics": {"recall@1": 0.5, "tie_rate": 0.02},
        "categories": {
            "relation": {
                "on": {"rows": 10, "recall@1": 0.5, "tie_rate": 0.2},
                "under": {"rows": 90, "recall@1": 0.5, "tie_rate": 0.0},
            }
        },
    }
    assert measure_ties(result, "recall@1") == 0.02
    assert_close(measure_ties(result, "recall@1_macro_relation"), 0.1)
    assert_close(measure_ties(result, "recall@1_macro_relation_from_10_rows"), 0.1)
    del result["metrics"]["tie_rate"]
    assert measure_ties(result, "recall@1_macro_relation") == 0.0


def test_a_mean_over_tasks_has_the_mean_of_their_bounds_and_ties():
    """SugarCrepe's mean is over its three types, so swap_obj weighs 245 / 911 / 3. It alone has ties."""
    names = (
        "add_att",
        "add_obj",
        "replace_att",
        "replace_obj",
        "replace_rel",
        "swap_att",
        "swap_obj",
    )
    results = []
    for name in names:
        result = make_result(f"sugarcrepe/{name}", 0.7, count_rows(f"sugarcrepe/{name}") or 0)
        low = 0.6 if name == "swap_obj" else 0.67
        result["intervals"] = {"recall@1": [low, 0.73]}
        result["metrics"]["tie_rate"] = 0.21 if name == "swap_obj" else 0.0
        results.append(result)
    positions = {position.task: position for position in find_positions(results)}
    mean = positions["sugarcrepe"]
    weight = 245 / 911 / 3
    # Percents; the weights are entered with twelve decimals.
    assert_close(mean.interval, (67 - 7 * weight, 73.0), within=1e-9)
    assert_close(mean.ties, 21 * weight, within=1e-9)
    del results[0]["intervals"]
    positions = {position.task: position for position in find_positions(results)}
    assert positions["sugarcrepe"].interval is None


def test_what_differs_in_rows_is_not_ranked():
    (position,) = find_positions(
        [make_results(swap_obj=0.6)[0] | {"data": {"rows": 200, "limit": None}}]
    )
    assert position.published == {}
    assert "not ranked among the published models (vl_compo's table of published models: " in str(
        position
    )
    assert "other rows, 200 rows here, 245 published" in str(position)


def test_tasks_that_are_not_ranked_for_one_reason_are_one_line():
    positions = [
        Position("A", task, "recall@1", True, 50.0, {}, reason)
        for task, reason in (("x/1", "other rows"), ("x/2", "marked"), ("x/3", "other rows"))
    ]
    assert describe_unranked(positions) == [
        "Not ranked among the published models (other rows): x/1, x/3",
        "Not ranked among the published models (marked): x/2",
    ]


def test_marked_scores_are_never_ranked():
    """MTEB's ImageCoDe has other labels, its ARO whole images; its Winoground is ranked with the others."""
    model = {"model": dict.fromkeys(("spec", "name", "effective"), "mine")}
    results = [
        make_result("imagecode/valid", 0.2, 2302) | model,
        make_result("winoground/main", 0.1, 400, "group_score") | model,
        make_result("aro_published/vg_relation", 0.5, 23_937) | model | {"main": ["recall@1"]},
        make_result("aro_published/vg_attribution", 0.5, 28_748) | model | {"main": ["recall@1"]},
    ]
    images, pairs, relation, attribution = find_positions(results)
    assert len(images.published) == 201 + 12  # vl_compo and FSC-CLIP
    assert images.left_out.startswith("MTEB's results repository: MTEB's copy of the data numbers")
    # 201 + 49 + 12, of which 16 are in two, and two of CLIP-FlanT5
    assert (len(pairs.published), pairs.left_out) == (248, "")
    for position in (relation, attribution):
        assert position.published == {}
        assert "not ranked among the published models (MTEB's results" in str(position)
        assert "appears to show whole images" in str(position)


def test_what_differs_in_the_mean_is_ranked_by_its_own_metric():
    """Table 2 has the macro mean over 45 relations, which vl_compo has, too."""
    result = make_result("aro_published/vg_relation", 0.52, 23_937) | {"main": ["recall@1"]}
    result["metrics"] = {"recall@1_macro_relation_table_2": 0.6}
    (macro,) = find_positions([result])
    assert len(macro.published) == 201 - 1 + 4  # of Table 2 also CLIP-FT, BLIP, X-VLM and FLAVA
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
    comparable, _ = ranks.select_comparable(others, 245)
    published = {model: score.percent for model, score in comparable.items()}
    assert published == {"a": 70.0, "b": 60.0}
    assert str(Position("mine", "d/c", "recall@1", True, 60.0, published, "")) == (
        "d/c 60.0: rank 2 of 3, shared with 1 (2 published models; median 65.0; best 70.0, a)"
    )


def test_show_ends_with_the_ranks(tmp_path: Path):
    """A result with a published model's hits, under another name. --quiet prints no ranks."""
    path = write_hits(tmp_path, "mine", "sugarcrepe/swap_obj", 150, 245, **REAL)
    shown = CliRunner().invoke(app, ["show", str(path)])
    line = " ".join(shown.stderr.split())
    assert re.search(
        r"sugarcrepe/swap_obj 61\.2 \[\d+\.\d, \d+\.\d\]: rank 86 of 202, \d+ to \d+ within", line
    )
    assert CliRunner().invoke(app, ["show", str(path), "--quiet"]).stderr == ""
    drawn = write_hits(tmp_path, "mine", "sugarcrepe/swap_obj", 150, 245)
    assert "rank" not in CliRunner().invoke(app, ["show", str(drawn)]).stderr


def test_with_five_models_the_last_line_says_how_to_get_the_others(tmp_path: Path):
    path = write_hits(tmp_path, "mine", "sugarcrepe/swap_obj", 150, 245, **REAL)
    assert "are known here" not in CliRunner().invoke(app, ["show", str(path)]).stderr
    find_cached_tables().unlink()
    forget_scores()
    shown = " ".join(CliRunner().invoke(app, ["show", str(path)]).stderr.split())
    assert "rank 3 of 6" in shown  # two of five are better
    assert "five models are known here: `compeval results pull scores`" in shown
