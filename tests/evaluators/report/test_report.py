"""Tests of the report on written results of a toy dataset: its files, its pages, and its parts."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA
from compeval.base.storage.dataset import write_config
from compeval.evaluators.engine.task_dataset import load
from compeval.evaluators.engine.tasks import Task
from compeval.evaluators.report import build, make_sections
from compeval.evaluators.report.examples import find_top, mark_changes
from compeval.evaluators.report.figures import (
    describe_rows,
    describe_spread,
    draw,
    make_lines,
    share_axes,
    summarise_seeds,
)
from compeval.evaluators.report.headlines import STANDINGS
from compeval.evaluators.report.results import read_results, split_parts
from compeval.evaluators.report.sections import SECTIONS
from compeval.evaluators.report.text_only import (
    describe_best_baseline,
    find_best_baseline,
    read_text_only,
)
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from tests.evaluators.written import write_hits, write_result
from tests.rows import hard_negative_row, toy_dataset


def write_toy(root: Path) -> list[Path]:
    """Write results of two models on CREPE, and of one on a dataset that is there, and return their folders."""
    (root / "data").mkdir()
    toy_dataset(root / "data")
    for corpus, seen, unseen in (("laion", 0.6, 0.45), ("yfcc", 0.5, 0.4)):
        tasks = {f"{corpus}_sc_hnatom": seen, f"{corpus}_uc_hnatom": unseen}
        for name, recall in (tasks | {"prod_hnatom/n4": 0.5, "prod_hnatom/n12": 0.25}).items():
            write_result(
                root / "results",
                f"clip-{corpus}",
                f"crepe/{name}",
                {"recall@1": recall},
                corpus=corpus,
            )
    write_on_dataset(root, Task("crepe", "toy_hnatom"))
    return [root / "results" / "clip-laion", root / "results" / "clip-yfcc"]


def write_on_dataset(root: Path, task: Task) -> None:
    """Write a result of clip-laion on a task of the dataset in ``data``."""
    data = {"fingerprint": load(task, root / "data").fingerprint}
    write_result(
        root / "results", "clip-laion", task.name, {"recall@1": 1 / 3}, corpus="laion", data=data
    )


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.setattr("compeval.evaluators.report.EXAMPLE_TASKS", ("toy_hnatom",))
    return write_toy(tmp_path)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a report on both models."""
    root = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("compeval.evaluators.report.EXAMPLE_TASKS", ("toy_hnatom",))
        headline = build(write_toy(root), root / "report", root / "data")
    (root / "report" / "headline.txt").write_text(headline, encoding="utf-8")
    return root / "report"


def test_plots_for_dvc_are_in_the_order_of_their_axis(report: Path):
    lines = {
        path.stem: path.read_text(encoding="utf-8").splitlines()
        for path in (report / "plots").iterdir()
    }
    assert lines["productivity"] == [
        "model,kind,complexity,recall,low,high,chance",
        "clip-laion,hnatom,4,0.5000,0.4000,0.6000,0.3333",
        "clip-yfcc,hnatom,4,0.5000,0.4000,0.6000,0.3333",
        "clip-laion,hnatom,12,0.2500,0.1500,0.3500,0.3333",
        "clip-yfcc,hnatom,12,0.2500,0.1500,0.3500,0.3333",
    ]
    assert lines["systematicity"][:2] == [
        "model,kind,split,recall,low,high,chance",
        "clip-laion,hnatom,sc,0.6000,0.5000,0.7000,0.3333",
    ]
    metrics = json.loads((report / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["recall@1"]["crepe/prod_hnatom/n12"] == {"clip-laion": 0.25, "clip-yfcc": 0.25}
    # The same captions.
    assert metrics["seen_minus_unseen"] == {"hnatom": {"laion": 0.0, "yfcc": 0.0, "all": 0.0}}


def test_page_is_self_contained_and_marks_synthetic_data(report: Path):
    unmeasured = STANDINGS["unmeasured"]
    assert (report / "headline.txt").read_text(encoding="utf-8").splitlines() == [
        # Every set of the toy shows three images, too few for a test of seen against unseen or of a trend.
        f"clip-laion, 5 tasks with hard negatives: 3 {unmeasured}, 2 not different from chance (95 % intervals).",
        f"clip-yfcc, 4 tasks with hard negatives: 2 {unmeasured}, 2 not different from chance (95 % intervals).",
    ]
    page = (report / "index.html").read_text(encoding="utf-8")
    assert "Synthetic data" in page
    assert page.count("data:image/jpeg;base64,") == 3 + 1, (
        "one of the examples is at the top as well"
    )
    # The scores of the second row are .3 (truth), .8 and .1.
    first, second = "<li>blue ball</li>", '<li class="truth">red ball too</li>'
    assert f'<p class="kind">clip-laion: wrong</p>\n<ol class="top">{first}{second}' in page
    assert "<script" not in page
    assert 'src="http' not in page
    assert "Synthetic data" in (report / "report.md").read_text(encoding="utf-8")
    cells = pd.read_csv(report / "tables" / "systematicity_hnatom.csv")
    assert cells["R@1 UC"].tolist() == ["33.3", "40.0 [30.0, 50.0]", "45.0 [35.0, 55.0]"]
    assert not (report / "examples.html").exists()  # there are no results on prod_hnall


def test_page_is_accessible_and_complete_without_scripts(report: Path):
    page = (report / "index.html").read_text(encoding="utf-8")
    headers = re.findall(r"<th\b[^>]*>", page)
    assert headers
    assert all("scope=" in header for header in headers)
    assert page.count("<svg ") == page.count('<svg role="img" aria-label="') > 0
    assert all('alt="red ball' in image for image in re.findall(r"<img [^>]*>", page))
    assert "loading=" not in page  # a lazy image is missing in a captured or printed page
    assert '<a class="anchor" href="#productivity" aria-label="Link to Productivity">' in page
    assert "prefers-color-scheme: dark" in page
    assert '<span class="value">45.0</span> <span class="spread">[35.0, 55.0]</span>' in page


def test_changed_words_are_marked_and_failures_can_be_filtered(report: Path):
    page = (report / "index.html").read_text(encoding="utf-8")
    assert "<li><mark>blue</mark> ball" in page
    assert "<li>red <mark>kite</mark>" in page
    assert page.count('<p class="kind">HN-Atom: one atom replaced</p>') == 3 + 1
    # The truth wins in the first row only (scores .9, .1, .2); it loses in the second and ties in the third.
    assert page.count('<div class="example failure"') == 2 + 1
    assert page.count('<div class="example"') == 1
    assert page.count('id="failures"') == 1


def test_the_same_results_produce_the_same_bytes(results: list[Path], tmp_path: Path, report: Path):
    build(results, tmp_path / "again", tmp_path / "data")
    for path in (report / "index.html", *sorted((report / "figures").iterdir())):
        assert (tmp_path / "again" / path.relative_to(report)).read_bytes() == path.read_bytes()


def test_no_examples_without_the_dataset_or_if_it_has_changed_since(
    results: list[Path], tmp_path: Path
):
    build(results, tmp_path / "without", tmp_path / "nowhere")
    toy_dataset(tmp_path / "data", rows=4)
    build(results, tmp_path / "after", tmp_path / "data")
    for name in ("without", "after"):
        assert "data:image/jpeg;base64," not in (tmp_path / name / "index.html").read_text(
            encoding="utf-8"
        )


def test_page_of_productivity_examples(results: list[Path], tmp_path: Path):
    foils = (
        [{"type": "swap", "from": "red, blue", "to": "blue, red"}],
        [{"type": "negation", "from": "", "to": "not"}],
    )
    rows = [hard_negative_row(tmp_path / "data", number) | {"foils": foils} for number in range(3)]
    write_config(tmp_path / "data" / "crepe", "prod_hnall", {"n4": rows}, HARD_NEGATIVE_SCHEMA)
    stats = measure(tmp_path / "data" / "crepe") | {"source": "microworld"}
    write_card(tmp_path / "data" / "crepe", {"license": "mit"}, "A toy.\n", stats)
    write_on_dataset(tmp_path, Task("crepe", "prod_hnall", "n4"))
    build(results, tmp_path / "report", tmp_path / "data")
    page = (tmp_path / "report" / "examples.html").read_text(encoding="utf-8")
    assert (
        page.count("data:image/jpeg;base64,")
        == page.count(">HN-Swap: words swapped<")
        == page.count(">HN-Neg: a part negated<")
        == 2
    )
    assert (
        page.index('class="truth"')
        < page.index(">HN-Neg: a part negated<")
        < page.index(">HN-Swap: words swapped<")
    )
    assert '<h2 id="n4">n = 4 <a class="anchor"' in page
    assert 'href="examples.html"' in (tmp_path / "report" / "index.html").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"chance": {}}, "no chance level"),
        ({"data": {"fingerprint": "d2"}}, "different versions of the data"),
        (
            {"metrics": {"recall@1": 0.1}},
            "Two results of clip-yfcc on crepe/prod_hnatom/n4. Pass each model's folder once",
        ),
    ],
)
def test_errors_for_results_that_must_not_be_combined(
    results: list[Path], changes: dict, message: str
):
    folder = results[1].parent if "metrics" not in changes else results[1] / "again"
    arguments = {"metrics": {"recall@1": 0.3}, "corpus": "yfcc"} | changes
    write_result(folder, "clip-yfcc", "crepe/prod_hnatom/n4", arguments.pop("metrics"), **arguments)
    with pytest.raises(ValueError, match=message):
        _ = read_results(results).values


def test_error_without_results(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"empty: no results\. `compeval run"):
        read_results([tmp_path / "empty"])


def test_equal_results_count_once_and_without_results_there_is_no_section(tmp_path: Path):
    for folder in ("microworld", "probe/microworld"):
        write_result(
            tmp_path / folder, "clip-a", "other/main", {"recall@1": 0.5}, protocol="image_choice"
        )
    results = read_results([tmp_path])
    assert len(results) == 1
    assert [make_section(results) for make_section in SECTIONS] == [None] * len(SECTIONS)
    assert [section.id for section in make_sections(results)] == ["tasks"]
    build([tmp_path], tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert '<h2 id="tasks">' in page
    assert '<h2 id="examples">' not in page


def test_results_on_drawn_scenes_photographs_and_published_sets_are_parts(tmp_path: Path):
    real = {"synthetic": False, "source": "visual_genome"}
    write_hits(tmp_path / "r", "toy", "crepe/prod_hnatom/n4", 30, corpus="laion")
    write_hits(tmp_path / "r/vg", "clip", "crepe/prod_hnatom/n4", 30, corpus="laion", **real)
    write_hits(
        tmp_path / "r/published",
        "clip",
        "crepe_published/prod_hnatom/n4",
        20,
        corpus="laion",
        **real,
    )
    write_hits(tmp_path / "r/own", "clip", "mine/captions", 20, corpus="laion", **real)
    parts = split_parts(read_results([tmp_path / "r"]))
    assert {name: [result.data["task"] for result in part] for name, part in parts.items()} == {
        "microworld": ["crepe/prod_hnatom/n4"],
        "photographs": ["mine/captions", "crepe/prod_hnatom/n4"],
        "published": ["crepe_published/prod_hnatom/n4"],
    }
    lines = build([tmp_path / "r"], tmp_path / "report").splitlines()
    assert (
        lines[0]
        == f"Drawn scenes (micro-world): toy, 1 task with hard negatives: 1 {STANDINGS['unmeasured']} (95 % intervals)."
    )
    tables = {path.name for path in (tmp_path / "report/tables").glob("*.csv")}
    assert {"microworld_productivity_hnatom.csv", "photographs_tasks_mine.csv"} <= tables
    for part, corpus in (("microworld", "laion (micro-world)"), ("published", "LAION-400M")):
        cells = pd.read_csv(tmp_path / "report/tables" / f"{part}_productivity_hnatom.csv")
        assert cells["Training data"].tolist() == ["Random", corpus]
    page = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    assert page.count('<h2 class="part"') == 3
    assert page.count("Synthetic data.") == 1
    ids = re.findall(r'<(?:h2|figure|input)[^>]* id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert list(json.loads((tmp_path / "report/metrics.json").read_text(encoding="utf-8"))) == list(
        parts
    )


def test_limited_runs_are_in_a_table_of_their_own(tmp_path: Path):
    limited = {"fingerprint": "few", "rows": 5, "limit": 5}
    write_hits(tmp_path / "r", "a", "crepe/prod_hnatom/n4", 30)
    write_hits(tmp_path / "r" / "first", "a", "crepe/prod_hnatom/n8", 60, data=limited)
    build([tmp_path / "r"], tmp_path / "report")
    assert pd.read_csv(tmp_path / "report/tables/productivity_hnatom.csv").columns.tolist() == [
        "Model",  # no training data is known
        "n = 4",
    ]
    cells = pd.read_csv(tmp_path / "report/tables/limited_crepe.csv")
    assert cells[["Task", "Model", "Rows"]].to_numpy().tolist() == [
        ["crepe/prod_hnatom/n8", "a (first 5 rows)", 5]
    ]
    only = build([tmp_path / "r" / "first"], tmp_path / "only")
    assert (
        only == "All results are on a limited number of rows (--limit), so there are no findings."
    )


def test_every_result_is_in_a_table(tmp_path: Path):
    write_hits(tmp_path, "a", "crepe/prod_hnatom/n4", 30, corpus="laion")
    # Not the model's own corpus.
    write_hits(tmp_path, "a", "crepe/yfcc_sc_hnatom", 30, corpus="laion")
    metrics = {"i2t_recall@1": 0.5, "t2i_recall@1": 0.25, "i2t_recall@1_macro_kind": 0.4}
    intervals = {name: [share - 0.1, share + 0.1] for name, share in metrics.items()} | {
        "t2i_recall@1": None
    }
    changes = {
        "protocol": "recall",
        "main": ["i2t_recall@1", "t2i_recall@1"],
        "intervals": intervals,
    }
    write_hits(tmp_path, "a", "mine/pairs", 0, metrics=metrics, chance=0.01, **changes)
    section = make_sections(read_results([tmp_path]))[-1]
    assert [table.name for table in section.tables] == ["tasks_crepe", "tasks_mine"]
    assert section.tables[1].cells.to_numpy().tolist() == [
        ["mine/pairs", "a", "60", "i2t_recall@1", "50.0 [40.0, 60.0]", "1.0"],
        ["mine/pairs", "a", "60", "i2t_recall@1_macro_kind", "40.0 [30.0, 50.0]", "1.0"],
        ["mine/pairs", "a", "60", "t2i_recall@1", "25.0 [-]", "1.0"],
    ]


def test_best_text_only_baseline_is_next_to_chance(tmp_path: Path):
    def score(recall: float) -> dict:
        return {"recall@1": recall, "interval": [recall - 0.1, recall + 0.1]}

    group = {
        "version": "v1",
        "refining": {"longest": score(0.1)},
        "held_out": {"words_of_it": score(0.4)},
    }
    (tmp_path / "text_only.json").write_text(
        json.dumps({"prod_hnatom": group, "hnatom": group | {"version": "old"}}), encoding="utf-8"
    )
    write_hits(tmp_path / "r", "a", "crepe/prod_hnatom/n4", 30, corpus="laion")
    write_hits(tmp_path / "r", "a", "crepe/yfcc_sc_hnatom", 30, corpus="laion")
    results = read_results([tmp_path / "r"])
    results.text_only = read_text_only([tmp_path / "text_only.json"])
    baselines = {result.data["config"]: find_best_baseline(results, result) for result in results}
    assert str(baselines["prod_hnatom"]) == "40.0 [30.0, 50.0] words of it"
    assert baselines["yfcc_sc_hnatom"] is None  # of another version of the dataset
    (section, *_) = make_sections(results)
    assert section.tables[0].caption.endswith(
        "Best text-only baseline: 40.0 [30.0, 50.0] words of it."
    )
    results.text_only["crepe"]["yfcc_sc_hnatom"] = group | {"held_out": {"learned": score(0.5)}}
    assert describe_best_baseline(results, results) == (
        "Best text-only baseline on any of the 2 sets: 50.0 [40.0, 60.0] random forest."
    )
    for name, content in (
        ("text_only.json", "[1]"),
        ("text_only_aro.json", "{"),
        ("validity.json", "{}"),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        with pytest.raises(ValueError, match=f"{name}: not a file of the stage text_only"):
            read_text_only([tmp_path / name])
    with pytest.raises(FileNotFoundError, match=r"text_only_none\.json: no such file"):
        read_text_only([tmp_path / "text_only_none.json"])


def test_lines_are_per_model_and_summarise_its_seeds(tmp_path: Path):
    for model, recall in (
        ("clip-laion-s0", 0.5),
        ("clip-laion-s1", 0.3),
        ("negclip-laion-s0", 0.9),
    ):
        write_result(tmp_path, model, "crepe/prod_hnall/n4", {"recall@1": recall}, corpus="laion")
    values = read_results([tmp_path]).values
    by_label = {
        line.style["label"]: summarise_seeds(line.values, "complexity").iloc[0]
        for line in make_lines(values)
    }
    # Several seeds: mean, minimum and maximum. One seed: value and interval.
    assert {label: recall.round(6).tolist() for label, recall in by_label.items()} == {
        "laion (micro-world), clip-laion": [40.0, 30.0, 50.0],
        "laion (micro-world), negclip-laion": [90.0, 80.0, 100.0],
    }
    assert describe_rows([300, 100, 200]) == "100 to 300 rows per set."
    assert (
        describe_spread(values[:2], "Bars")
        == "Bars: minimum and maximum over the training seeds or models."
    )
    assert describe_spread(values, "Bars") == (
        "Bars: 95 % intervals over images (models with one seed) or minimum and maximum over the training seeds or "
        "models."
    )


def test_panels_share_their_axes_and_dollar_signs_in_names_are_no_formula():
    figure = Figure()
    panels = [figure.add_subplot(1, 2, number) for number in (1, 2)]
    panels[0].set(xlim=(0, 1), ylim=(5, 10))
    panels[1].set(xlim=(3, 4), ylim=(0, 7))
    share_axes(panels, "y")
    assert [panel.get_ylim() for panel in panels] == [(0, 10)] * 2
    assert [panel.get_xlim() for panel in panels] == [(0, 1), (3, 4)]
    assert "frac{1$ b" in draw(1, lambda axes: axes[0].set_title("a $\\frac{1$ b") and None)


def test_the_truth_never_wins_a_tie_and_three_captions_are_shown():
    assert find_top([0.5, 0.5, 0.1])[0] == 1
    assert find_top([0.9, 0.1]) == [0, 1]
    assert find_top([0.2, 0.5, 0.2, 0.1, 0.4]) == [1, 4, 2]


@pytest.mark.parametrize(
    ("truth", "text", "expected"),
    [
        ("a red ball", "a blue ball", [("a", False), ("blue", True), ("ball", False)]),
        (
            "a cup on a table",
            "a table on a cup",
            [("a", False), ("table", True), ("on a", False), ("cup", True)],
        ),
        ("a cup", "a cup", [("a cup", False)]),
        ("a red cup", "a cup", [("a cup", False)]),
        ("a cup", "not a cup", [("not", True), ("a cup", False)]),
    ],
)
def test_mark_changes(truth: str, text: str, expected: list[tuple[str, bool]]):
    assert mark_changes(truth, text) == expected
