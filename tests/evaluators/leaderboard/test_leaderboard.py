"""Tests of the leaderboard on written results. The page itself needs compeval[leaderboard]."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from compeval.evaluators import leaderboard
from compeval.evaluators.leaderboard.published import Published, find_published
from compeval.evaluators.leaderboard.scores import (
    COUNTED,
    BenchmarkScores,
    Score,
    choose_tasks,
    make_benchmarks,
)
from compeval.evaluators.metrics.intervals import compute_weighted_interval, wilson_interval
from compeval.evaluators.protocols import all_protocols
from compeval.evaluators.report.results import read_results
from compeval.evaluators.validity.best_baselines import BestBaseline
from tests.close import assert_close
from tests.evaluators.written import write_hits

ROWS = 40


def write(
    root: Path, model: str, task: str, hits: int, *, rows: int = ROWS, **changes: Any
) -> Path:
    return write_hits(
        root,
        model,
        task,
        hits,
        rows,
        **{"chance": 0.5, "synthetic": False, "source": "coco", **changes},
    )


@pytest.fixture
def results(tmp_path: Path) -> Path:
    root = tmp_path / "results"
    for model, first, second, accuracy in (
        ("A/x", 36, 40, 30),
        ("B/x", 34, 38, 35),
        ("C/y", 10, 12, 20),
    ):
        write(root, model, "sugarcrepe/swap_obj", first)
        write(root, model, "sugarcrepe/swap_att", second)
        metrics = {"top1": accuracy / ROWS}
        write(
            root,
            model,
            "classification/cifar10",
            accuracy,
            protocol="classification",
            chance=0.1,
            metrics=metrics,
        )
    write(root, "D/y", "sugarcrepe/swap_obj", 40)  # not the other task
    write(root, "A/x", "crepe_published/laion_sc_hnatom", 40)
    write(root / "few", "A/x", "other/test", 40, data={"limit": 5})
    return root


def test_benchmarks_are_means_over_tasks_with_ranks(results: Path):
    sugarcrepe, classification = make_benchmarks(read_results([results]))
    assert (sugarcrepe.name, sugarcrepe.tasks, sugarcrepe.chance) == (
        "sugarcrepe", ["sugarcrepe/swap_att", "sugarcrepe/swap_obj"], 0.5,
    )  # fmt: skip
    shares = {model: score.share for model, score in sugarcrepe.scores.items()}
    assert_close(shares, {"A/x": 76 / 80, "B/x": 72 / 80, "C/y": 22 / 80})  # D/y lacks a task
    # A and B differ on 2 images (in both tasks): no difference. C is worse than both.
    assert {model: score.rank for model, score in sugarcrepe.scores.items()} == {
        "A/x": 1,
        "B/x": 1,
        "C/y": 3,
    }
    assert (classification.is_recognition, classification.scores["B/x"].rank) == (True, 1)


def test_kinds_of_hard_negatives_are_columns_of_their_own(tmp_path: Path):
    """Atoms and word order have five candidates each: 20 of 40 rows and 8 of 8 rows are no 75 %."""
    own = {"source": "mine", "chance": 0.2}
    for name, atom in (("A/x", 20), ("B/x", 30)):
        write(tmp_path / "r", name, "mine/atom", atom, **own)
        write(tmp_path / "r", name, "mine/order", 8, rows=8, **own)
        write(tmp_path / "r", name, "crepe_published/prod_hnatom/n4", atom, chance=1 / 6)
        write(tmp_path / "r", name, "crepe_published/prod_hnatom/n12", atom, chance=1 / 6)
        write(tmp_path / "r", name, "crepe_published/prod_hnswap/n4", 10, chance=1 / 6)
        write(tmp_path / "r", name, "aro/vg_relation", 10)
        write(tmp_path / "r", name, "aro/coco_order", 10, chance=0.2)
    baselines = {
        "mine/atom": BestBaseline("fewest words", 1.0, (0.9, 1.0), 0.2, 40),
        "crepe_published/prod_hnatom/n4": BestBaseline("medoid", 0.5, (0.4, 0.6), 1 / 6, 40),
    }
    results = read_results([tmp_path / "r"])
    benchmarks = make_benchmarks(results, baselines)
    assert {item.name: (item.rows, item.baseline) for item in benchmarks} == {
        "aro, coco_order": (40, None),
        "aro, vg_relation": (40, None),
        "crepe_published, HN-Atom": (80, None),  # one of its two tasks was measured
        "crepe_published, HN-Swap": (40, None),
        "mine, atom": (40, 1.0),
        "mine, order": (8, None),
    }
    published = {item.name: Published() for item in benchmarks}
    models = leaderboard.make_models(results, benchmarks, published, {})
    assert models["mean"].isna().all()
    table = leaderboard.make_models_table(models, benchmarks, published)
    assert "Mean" not in table.cells
    cells = table.cells.set_index("Model").loc["B/x"]
    atom = cells["mine, atom (40 rows, chance 20.0, text-only 100.0)"]
    assert re.fullmatch(r"75\.0 #1 \[59\.\d, 85\.\d\] \(‡\)", atom)
    # Where the models are not shown to differ, there is no rank.
    assert cells["mine, order (8 rows, chance 20.0)"].startswith("100.0 [")
    assert list(cells.index)[:6] == [*leaderboard.make_headings(benchmarks)]
    assert leaderboard.describe_findings(benchmarks) == [
        "The models are shown to differ on 2 of 6 benchmarks.",
        "A model is above the best text-only baseline, which sees no image, on 0 of 1 benchmark.",
    ]
    (atom_only, order) = (item for item in benchmarks if item.name.startswith("mine"))
    assert leaderboard.make_headings([atom_only, order])[1] == "order (8 rows, chance 20.0)"
    assert "‡ not above the best text-only baseline" in table.caption
    rows = leaderboard.make_benchmarks_table(benchmarks).cells.set_index("Benchmark")
    assert rows.loc["mine, atom", "Best text-only baseline"] == "100.0 fewest words"


def test_the_score_of_other_protocols_is_that_of_one_metric(tmp_path: Path):
    """Metrics of the authors' rule and of the texts alone have columns of their own and do not count."""
    metrics = {"accuracy": 0.5, "text_accuracy": 0.9, "authors_accuracy": 0.7}
    changes = {"protocol": "paraphrase", "metrics": metrics, "main": list(metrics), "chance": 1 / 3}
    path = write(tmp_path, "A/x", "sugarcrepe_pp/swap_obj", 20, **changes).with_suffix(".parquet")
    rows = pd.read_parquet(path)
    columns = {"hit": rows["rank"] == 1, "text_hit": True, "authors_hit": False}
    rows.drop(columns="rank").assign(**columns).to_parquet(path)
    (benchmark,) = make_benchmarks(read_results([tmp_path]))
    assert_close([benchmark.scores["A/x"].share, benchmark.chance], [0.5, 1 / 3])


def test_every_protocol_with_images_is_ranked():
    with_images = {protocol.name for protocol in all_protocols() if protocol.images}
    assert with_images == set(COUNTED)


def test_tasks_of_most_models_are_chosen():
    a, b = frozenset({"a"}), frozenset({"a", "b"})
    assert choose_tasks({"x": b, "y": b, "z": a}) == b  # 2 tasks of 2 models before 1 task of 3
    assert choose_tasks({"w": a, "x": b, "y": a, "z": a}) == a


def test_weighted_interval_of_equal_weights_is_about_wilsons():
    hit_N = np.arange(400) < 300
    bounds = compute_weighted_interval(hit_N, np.arange(400), np.ones(400))
    assert_close(bounds, wilson_interval(0.75, 400), within=2e-4)
    assert_close(
        compute_weighted_interval(np.ones(40), np.arange(40), np.ones(40)), wilson_interval(1.0, 40)
    )


def test_pareto_front():
    assert leaderboard.find_pareto_front([(1, 3), (2, 2), (2, 1), (3, 1), (0, 0)]) == [0, 1, 3]


def test_page_is_self_contained(results: Path, tmp_path: Path):
    for name in ("itables", "vl_convert"):
        pytest.importorskip(name)
    (tmp_path / "about.csv").write_text("model,date,text_only\nC/y,2024,yes\n", encoding="utf-8")
    page = leaderboard.build([results], tmp_path / "out", about=tmp_path / "about.csv").read_text(
        encoding="utf-8"
    )
    body = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert 'src="http' not in page
    assert "<b>a</b> cat" not in body  # markup of captions is escaped
    assert "vegaEmbed(" in page
    assert '<input type="checkbox" name="images"> without text-only baselines' in body
    table = body[: body.index("</table>")]
    assert re.findall(r'<th scope="row">([^<]+)', table) == ["A/x", "B/x", "C/y"]
    assert 'sugarcrepe <span class="facts">(chance 50.0)</span>' in table
    assert "The models are shown to differ on 2 of 2 benchmarks." in body
    assert '<span class="value best">95.0 #1</span> <span class="spread">[8' in table
    points = json.loads(re.search(r'vegaEmbed\("#scatter", (.+), \{ actions', page)[1])["data"][
        "values"
    ]  # pyright: ignore
    assert [(point["model"], point["on the front"]) for point in points] == [
        ("A/x", "yes"),
        ("B/x", "yes"),
        ("C/y", "no"),
    ]
    assert "2 of 3 models" in body  # the choices of a row
    table = pd.read_parquet(tmp_path / "out/leaderboard.parquet")
    assert_close(table["mean"].tolist(), [0.95, 0.9, 0.275])
    assert pd.read_csv(tmp_path / "out/leaderboard.csv")["sugarcrepe rank"].tolist() == [1, 1, 3]
    assert r"95.0 \#1 [8" in (tmp_path / "out/leaderboard.tex").read_text(encoding="utf-8")


CHOOSE = """<script type="module">
const form = document.getElementById("controls");
while (!document.getElementById("count").textContent) await new Promise((resolve) => setTimeout(resolve, 20));
form.elements.NAME.value = "VALUE";
form.dispatchEvent(new Event("input"));
</script>"""
"""Changes a field of the form when the page has set itself up, as a visitor does."""


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs a browser")
@pytest.mark.parametrize(
    ("address", "name", "value", "expected"),
    [("", "family", "C", "1 of 3 models"), ("#model-A-x", "search", "x", "2 of 3 models")],
)
def test_search_and_filters_work_in_a_browser(
    results: Path, tmp_path: Path, address: str, name: str, value: str, expected: str
):
    pytest.importorskip("itables")
    pytest.importorskip("vl_convert")
    page = leaderboard.build([results], tmp_path / "page", with_published=False)
    with page.open("a", encoding="utf-8") as file:
        file.write(CHOOSE.replace("NAME", name).replace("VALUE", value))
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-sync",
    ]
    options += [
        "--disable-background-networking",
        "--disable-component-update",
        "--virtual-time-budget=5000",
    ]
    command = [
        "chromium",
        *options,
        f"--user-data-dir={tmp_path / 'profile'}",
        "--dump-dom",
        page.as_uri() + address,
    ]
    shown = subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", check=True, timeout=60
    ).stdout
    assert f'<p id="count" role="status">{expected}' in shown
    assert len(re.findall(r'<tr[^>]* class="chosen"', shown)) == bool(address)


@pytest.mark.usefixtures("all_models")
def test_published_models_are_next_to_ones_own(tmp_path: Path):
    """The scores of vl_compo's table: tests/evaluators/results/test_ranks.py. A model is not listed twice."""
    for name in ("itables", "vl_convert"):
        pytest.importorskip(name)
    write(tmp_path / "r", "mine", "sugarcrepe/swap_obj", 150, rows=245)
    write(tmp_path / "r", "NegCLIP", "sugarcrepe/swap_obj", 150, rows=245)
    write(tmp_path / "r", "mine", "aro_published/vg_relation", 120, rows=240)  # of 23,937
    page = leaderboard.build([tmp_path / "r"], tmp_path / "out").read_text(encoding="utf-8")
    models = pd.read_parquet(tmp_path / "out/leaderboard.parquet").set_index("model")
    places: dict[str, int] = dict(zip(models.index, models["sugarcrepe place"], strict=True))
    # 85 published models have more than 61.2; NegCLIP, which is one of them, was evaluated here.
    assert places["mine"] == places["NegCLIP"] == places["ViT-B-32-quickgelu/openai"] == 85
    assert places["ViT-L-14/laion400m_e32"] == 53
    assert places["ViT-L-14-quickgelu/openai"] == places["ViT-B-32-quickgelu/laion400m_e32"] == 102
    assert set(models["sugarcrepe models"].dropna()) == {2 + 200}
    assert (models["sugarcrepe best place"] == models["sugarcrepe place"]).sum() == 202
    assert pd.isna(models["aro_published place"].to_numpy()).all()
    known = models.loc["ViT-B-32-quickgelu/openai"]
    assert (known["parameters"], known["date"], known["training_data"]) == (
        "151M",
        "2021",
        "WIT-400M",
    )
    body = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "(85 of 202)" in body
    assert '<span class="spread">(†)</span>' in body  # MTEB's micro mean of whole images
    assert "MTEB appears to show whole images" in body
    for name in ("size", "year", "training_data", "own"):
        assert f'name="{name}"' in body
    for name in ("out", "own"):
        leaderboard.build([tmp_path / "r"], tmp_path / name, with_published=name == "out")
    assert len(pd.read_parquet(tmp_path / "own/leaderboard.parquet")) == 2


@pytest.mark.usefixtures("all_models")
def test_the_place_of_an_own_model_with_ties_is_a_range(tmp_path: Path):
    """150 of 245 rows are right and 49 are ties (20 points): with ties right, no published model is better."""
    metrics = {"recall@1": 150 / 245, "tie_rate": 0.2}
    write(tmp_path, "tied", "sugarcrepe/swap_obj", 150, rows=245, metrics=metrics)
    write(tmp_path, "mine", "sugarcrepe/swap_obj", 155, rows=245)
    results = read_results([tmp_path])
    benchmarks = make_benchmarks(results)
    published = {"sugarcrepe": find_published(benchmarks[0])}
    models = leaderboard.make_models(results, benchmarks, published, {})
    row = models[models["model"] == "tied"].iloc[0]
    # 85 published models and the own one with 155 are better; with ties right only the latter, whose rule is ours.
    assert (row["sugarcrepe place"], row["sugarcrepe best place"]) == (87, 2)
    assert "(2 to 87 of 203)" in leaderboard.format_score(row.to_dict(), benchmarks[0])
    other = models[models["model"] == "mine"].iloc[0]
    assert other["sugarcrepe place"] == other["sugarcrepe best place"]


@pytest.mark.usefixtures("all_models")
def test_a_model_without_a_score_of_ones_own_has_no_place(tmp_path: Path):
    """NegCLIP was evaluated on SugarCrepe only. Its published score on ImageCoDe is a row of its own."""
    write(tmp_path, "mine", "sugarcrepe/swap_obj", 150, rows=245)
    write(tmp_path, "NegCLIP", "sugarcrepe/swap_obj", 150, rows=245)
    write(tmp_path, "mine", "imagecode/valid", 500, rows=2302)
    results = read_results([tmp_path])
    benchmarks = make_benchmarks(results)
    published = {benchmark.name: find_published(benchmark) for benchmark in benchmarks}
    models = leaderboard.make_models(results, benchmarks, published, {}).set_index(
        ["model", "published"]
    )
    assert pd.isna(models.loc[("NegCLIP", ""), "imagecode place"])
    assert models.loc[("NegCLIP", "yes"), "imagecode place"] > 0
    assert models.loc[("mine", ""), "imagecode models"] == 1 + 201 + 12


@pytest.mark.usefixtures("all_models")
def test_marked_scores_are_shown_and_not_ranked(tmp_path: Path):
    """MTEB's ImageCoDe: of models that no other source has, the score is next to one's own without a place."""
    write(tmp_path, "mine", "imagecode/valid", 500, rows=2302)
    (benchmark,) = make_benchmarks(read_results([tmp_path]))
    found = find_published(benchmark)
    assert len(found.comparable) == 201 + 12
    assert "BAAI/bge-visualized-base" in found.others
    assert [reason for reason in found.reasons if "numbers the images of a set anew" in reason]
    sides = {
        first.model: (first.percent, other.percent, cause)
        for first, other, cause in found.disagreements
    }
    first, other, cause = sides["ViT-B-32-quickgelu/openai"]
    assert (first, round(other, 1)) == (21.7202, 13.2)
    assert cause.startswith("MTEB's copy of the data numbers the images of a set anew")
    cells = leaderboard.make_sources_table({"imagecode": found}).cells
    assert cells["Model"].tolist() == list(sides)


def test_drawn_scenes_are_never_next_to_published_models(tmp_path: Path):
    for name in ("itables", "vl_convert"):
        pytest.importorskip(name)
    write(tmp_path / "r", "mine", "sugarcrepe/swap_obj", 150, rows=245, synthetic=True)
    leaderboard.build([tmp_path / "r"], tmp_path / "out")
    assert len(pd.read_parquet(tmp_path / "out/leaderboard.parquet")) == 1


def test_errors(results: Path, tmp_path: Path):
    for name in ("itables", "vl_convert"):
        pytest.importorskip(name)
    (tmp_path / "about.csv").write_text("model,size\nC/y,1\n", encoding="utf-8")
    with pytest.raises(
        ValueError,
        match=r"about\.csv: its columns are model, size; expected model and any of family",
    ):
        leaderboard.build([results], tmp_path / "out", about=tmp_path / "about.csv")
    with pytest.raises(ValueError, match="no complete result of a benchmark"):
        leaderboard.build([results / "few"], tmp_path / "out")
    write(results, "toy", "crepe/prod_hnatom", 3, synthetic=True)
    with pytest.raises(
        ValueError, match=r"drawn scenes \(micro-world\), photographs, which must not be in one"
    ):
        leaderboard.build([results], tmp_path / "out")


def test_interval_of_the_mean_over_benchmarks():
    """Half widths of 0.06 and 0.08 of independent benchmarks: the mean has half of the root of their squares, 0.05."""

    def make(half: float, *models: str) -> pd.DataFrame:
        scores = {model: Score(0.5, (0.5 - half, 0.5 + half), 1) for model in models}
        return leaderboard.make_scores(
            BenchmarkScores("b", ["t"], 10, 0.5, False, scores, {}), Published()
        )

    scores = pd.concat(
        {"a": make(0.06, "clip", "other"), "b": make(0.08, "clip"), "c": make(0.4, "clip")}, axis=1
    )
    means = leaderboard.average(scores, ["a", "b"])
    assert_close(means.loc["", "clip"].tolist(), [0.5, 0.45, 0.55])
    assert means.loc["", "other"].isna().all()
    assert leaderboard.average(scores, []).isna().all(axis=None)
