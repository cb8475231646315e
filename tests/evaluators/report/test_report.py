"""Tests of the report on written results of a toy dataset."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from matplotlib.figure import Figure

from evaluators.engine.task_dataset import load
from evaluators.engine.tasks import Task
from evaluators.report import build, summarise_warnings
from evaluators.report.examples import find_best, find_top, mark_changes
from evaluators.report.figures import describe_rows, describe_spread, draw, make_lines, share_axes, summarise_seeds
from evaluators.report.results import make_frame, read_results
from evaluators.report.sections import classification, productivity, systematicity
from evaluators.report.tables import (
    Table,
    format_percent,
    make_table,
    split_spread,
    to_csv,
    to_latex,
    to_markdown,
)
from generators.schemas.rows import HARD_NEGATIVE_SCHEMA
from generators.storage.dataset import write_config
from loaders.cards.card import write_card
from loaders.datasets.stats import measure
from tests.rows import hard_negative_row, toy_dataset


def write_result(
    root: Path, model: str, corpus: str | None, config: str, recall: float, split: str = "test", **changes: object
) -> Path:
    """Write a result as `compeval run` writes it, with three rows of three candidates. Returns its path."""
    task = f"crepe/{config}" if split == "test" else f"crepe/{config}/{split}"
    path = root / model / f"{task}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {
        "schema": 1,
        "task": task,
        "dataset": "crepe",
        "config": config,
        "split": split,
        "variant": None,
        "protocol": "choice",
        "source": "microworld",
        "synthetic": True,
        "model": {"spec": model, "name": model, "effective": model, "corpus": corpus, "contaminated": None},
        "data": {"fingerprint": "d1", "rows": 3, "limit": None, "set_size": 3},
        "code": {"version": "0.1.0", "fingerprint": "c" * 16},
        "main": ["recall@1"],
        "metrics": {"recall@1": recall},
        "intervals": {"recall@1": [recall - 0.1, recall + 0.1]},
        "chance": {"recall@1": 1 / 3},
        "std": {},
        "warnings": [],
        "skipped": [],
    }
    path.write_text(json.dumps(data | changes))
    pd.DataFrame(
        {
            "row": [0, 1, 2],
            "crop_id": ["c0", "c1", "c2"],
            "image_id": ["0", "1", "2"],
            "caption": ["red ball", "red ball too", "red ball three"],
            "hard_negatives": [["blue ball", "red kite"]] * 3,
            "scores": [[0.9, 0.1, 0.2], [0.3, 0.8, 0.1], [0.5, 0.5, 0.1]],
            "rank": [1, 2, 2],
        }
    ).to_parquet(path.with_suffix(".parquet"))
    return path


def describe_data(data_dir: Path, task: Task) -> dict[str, object]:
    """Return the part of a result that describes the task's rows."""
    rows = load(task, data_dir)
    return {"fingerprint": rows.fingerprint, "rows": 3, "limit": None, "set_size": 3}


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.setattr("evaluators.report.EXAMPLE_TASKS", ("crepe/toy_hnatom",))
    (tmp_path / "data").mkdir()
    toy_dataset(tmp_path / "data")
    for corpus, seen, unseen in (("laion", 0.6, 0.45), ("yfcc", 0.5, 0.4)):
        for split, recall in (("sc", seen), ("uc", unseen)):
            write_result(tmp_path / "results", f"clip-{corpus}", corpus, f"{corpus}_{split}_hnatom", recall)
        for number, recall in ((4, 0.5), (12, 0.25)):
            write_result(tmp_path / "results", f"clip-{corpus}", corpus, "prod_hnatom", recall, f"n{number}")
    data = describe_data(tmp_path / "data", Task("crepe", "toy_hnatom"))
    write_result(tmp_path / "results", "clip-laion", "laion", "toy_hnatom", 1 / 3, data=data)
    return [tmp_path / "results" / "clip-laion", tmp_path / "results" / "clip-yfcc"]


def make_tables(module: ModuleType, folders: list[Path]) -> Sequence[Table]:
    return module.make_section(read_results(folders)).tables


def test_plots_for_dvc_are_in_the_order_of_their_axis(results: list[Path], tmp_path: Path):
    build(results[:1], tmp_path / "report", tmp_path / "data")
    lines = {path.stem: path.read_text().splitlines() for path in (tmp_path / "report/plots").iterdir()}
    assert lines == {
        "productivity": [
            "model,kind,complexity,recall,low,high,chance",
            "clip-laion,hnatom,4,0.5000,0.4000,0.6000,0.3333",
            "clip-laion,hnatom,12,0.2500,0.1500,0.3500,0.3333",
        ],
        "systematicity": [
            "model,kind,split,recall,low,high,chance",
            "clip-laion,hnatom,sc,0.6000,0.5000,0.7000,0.3333",
            "clip-laion,hnatom,uc,0.4500,0.3500,0.5500,0.3333",
        ],
    }


def test_tables_of_systematicity_and_productivity(results: list[Path]):
    (recalls,), (by_complexity,) = make_tables(systematicity, results), make_tables(productivity, results)
    assert recalls.cells.to_numpy().tolist() == [
        ["Random", "", "33.3", "33.3"],
        ["yfcc (micro-world)", "clip-yfcc", "50.0 [40.0, 60.0]", "40.0 [30.0, 50.0]"],
        ["laion (micro-world)", "clip-laion", "60.0 [50.0, 70.0]", "45.0 [35.0, 55.0]"],
    ]
    assert list(by_complexity.cells.columns) == ["Training data", "Model", "n = 4", "n = 12"]
    assert by_complexity.cells.iloc[2].tolist() == [
        "laion (micro-world)",
        "clip-laion",
        "50.0 [40.0, 60.0]",
        "25.0 [15.0, 35.0]",
    ]
    assert r"\begin{tabular}" in to_latex(recalls)


def test_no_examples_of_a_dataset_that_has_changed_since(results: list[Path], tmp_path: Path):
    build(results, tmp_path / "before", tmp_path / "data")
    assert "data:image/jpeg;base64," in (tmp_path / "before" / "index.html").read_text()
    toy_dataset(tmp_path / "data", rows=4)
    build(results, tmp_path / "after", tmp_path / "data")
    assert "data:image/jpeg;base64," not in (tmp_path / "after" / "index.html").read_text()


def test_markup_in_cells_and_captions_is_escaped():
    cells = pd.DataFrame(
        [["50% of a_b & $x$ #1 {y}", "<b>|`=1` [a](b)"], ["=HYPERLINK(1)", "-1.5"]], columns=["A", "B"]
    )
    table = Table("t", "50% {of} a_b \\x ^~ $&#", cells)
    latex = to_latex(table)
    assert r"\caption{50\% \{of\} a\_b \textbackslash{}x \textasciicircum{}\textasciitilde{} \$\&\#}" in latex
    assert r"50\% of a\_b \& \$x\$ \#1 \{y\}" in latex
    braces = latex.replace(r"\{", "").replace(r"\}", "")
    assert braces.count("{") == braces.count("}")
    assert r"| 50% of a_b & $x$ #1 {y} | \<b\>\|\`=1\` [a]\(b) |" in to_markdown(table)
    assert to_csv(table).splitlines()[2] == "'=HYPERLINK(1),-1.5"


def test_dollar_signs_in_names_of_models_are_no_formula():
    svg = draw(1, lambda axes: axes[0].set_title("a $\\frac{1$ b") and None)
    assert "frac{1$ b" in svg


def test_page_is_self_contained_and_marks_synthetic_data(results: list[Path], tmp_path: Path):
    headline = build(results, tmp_path / "report", tmp_path / "data")
    assert headline.splitlines() == [
        # Every set of the toy shows three images, too few for a test of seen against unseen or of a trend.
        "clip-laion, 5 tasks with hard negatives: 3 above chance, 2 not different from chance (95 % intervals).",
        "clip-yfcc, 4 tasks with hard negatives: 2 above chance, 2 not different from chance (95 % intervals).",
    ]
    page = (tmp_path / "report" / "index.html").read_text()
    assert "Synthetic data" in page
    assert page.count("data:image/jpeg;base64,") == 3
    # The scores of the second row are .3 (truth), .8 and .1.
    first, second = "<li>blue ball</li>", '<li class="truth">red ball too</li>'
    assert f'<p class="kind">clip-laion: wrong</p>\n<ol class="top">{first}{second}' in page
    assert "<script" not in page
    assert 'src="http' not in page
    assert "Synthetic data" in (tmp_path / "report" / "report.md").read_text()
    cells = pd.read_csv(tmp_path / "report" / "tables" / "systematicity_hnatom.csv")
    assert cells["R@1 UC"].tolist() == ["33.3", "40.0 [30.0, 50.0]", "45.0 [35.0, 55.0]"]
    first = (tmp_path / "report" / "index.html").read_bytes()
    build(results, tmp_path / "report", tmp_path / "data")
    assert (tmp_path / "report" / "index.html").read_bytes() == first


def test_lines_are_per_model_and_summarise_its_seeds(results: list[Path]):
    root = results[0].parent
    for model, recall in (("clip-laion-s0", 0.5), ("clip-laion-s1", 0.3), ("negclip-laion-s0", 0.9)):
        write_result(root, model, "laion", "prod_hnall", recall, "n4")
    rows = make_frame(read_results([root / name for name in ("clip-laion-s0", "clip-laion-s1", "negclip-laion-s0")]))
    by_label = {line.style["label"]: summarise_seeds(line.rows, "complexity").iloc[0] for line in make_lines(rows)}
    # Several seeds: mean, minimum and maximum. One seed: value and interval.
    assert {label: recall.round(6).tolist() for label, recall in by_label.items()} == {
        "laion (micro-world), clip-laion": [40.0, 30.0, 50.0],
        "laion (micro-world), negclip-laion": [90.0, 80.0, 100.0],
    }


def test_figure_6_shows_models_with_other_training_data(tmp_path: Path):
    for model, corpus, recall in (("RN50/openai", None, 0.4), ("RN101/openai", None, 0.6), ("flava", None, 0.3)):
        write_result(tmp_path, model, corpus, "prod_hnatom", recall, "n4")
    write_result(tmp_path, "clip-laion", "laion", "prod_hnatom", 0.9, "n4")
    frame = make_frame(read_results([tmp_path]))
    others = productivity.join_openai_models(frame[frame["trained_on"].isna()])
    means = {
        line.style["label"]: summarise_seeds(line.rows, "complexity")["mean"].iloc[0] for line in make_lines(others)
    }
    assert means == pytest.approx({"OpenAI CLIP": 50.0, "flava": 30.0})
    section = productivity.make_section(read_results([tmp_path]))
    assert section
    caption = f"{productivity.FIGURE_6} Bands: 95 % intervals over images (models with one seed) or minimum and maximum"
    (svg,) = [svg for text, svg in section.figures.items() if text.startswith(caption)]
    assert "OpenAI CLIP" in svg
    assert "LAION" not in svg


def test_correlation_with_classification(results: list[Path], tmp_path: Path):
    root = results[0].parent
    for number in range(3):
        # All points are on the line recall = 0.1 + accuracy / 2.
        write_result(root, f"tower-{number}", "laion", "prod_hnswap", 0.1 + 0.1 * number, "n8")
        top1 = {"metrics": {"top1": 0.2 * number}, "chance": {"top1": 0.1}, "dataset": "classification"}
        top1 |= {"intervals": {"top1": [0.2 * number, 0.2 * number]}}
        write_result(root, f"tower-{number}", "laion", "microworld", 0.0, task="classification/microworld", **top1)
    _, table = make_tables(classification, [root / f"tower-{number}" for number in range(3)])
    assert table.cells.iloc[:, :5].to_numpy().tolist() == [["microworld", "HN-Swap n = 8", "3", "1.00", "+0.50"]]
    build([root / f"tower-{number}" for number in range(3)], tmp_path / "report", tmp_path / "data")
    assert "correlation with retrieval" in (tmp_path / "report" / "index.html").read_text()
    (accuracy,) = make_tables(classification, [root / "tower-0"])
    assert accuracy.name == "classification"


def test_page_of_productivity_examples(results: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    build(results, tmp_path / "report", tmp_path / "data")
    assert not (tmp_path / "report" / "examples.html").exists()  # there are no results on prod_hnall
    foils = [{"type": "swap", "from": "red, blue", "to": "blue, red"}], [{"type": "negation", "from": "", "to": "not"}]
    rows = [hard_negative_row(tmp_path / "data", number) | {"foils": foils} for number in range(3)]
    write_config(tmp_path / "data" / "crepe", "prod_hnall", {"n4": rows}, HARD_NEGATIVE_SCHEMA)
    stats = measure(tmp_path / "data" / "crepe") | {"source": "microworld"}
    write_card(tmp_path / "data" / "crepe", {"license": "mit"}, "A toy.\n", stats)
    data = describe_data(tmp_path / "data", Task("crepe", "prod_hnall", "n4"))
    write_result(results[0].parent, "clip-laion", "laion", "prod_hnall", 1 / 3, "n4", data=data)
    build(results, tmp_path / "report", tmp_path / "data")
    page = (tmp_path / "report" / "examples.html").read_text()
    assert page.count("data:image/jpeg;base64,") == page.count(">HN-Swap<") == page.count(">HN-Neg<") == 2
    assert page.index('class="truth"') < page.index(">HN-Neg<") < page.index(">HN-Swap<")
    assert '<h2 id="n4">n = 4 <a class="anchor"' in page
    assert 'href="examples.html"' in (tmp_path / "report" / "index.html").read_text()


def test_validity_section(results: list[Path], tmp_path: Path):
    validity = tmp_path / "validity.json"
    shares = [{"type": "hnatom", "recall": recall, "genuine": share} for recall, share in ((1.0, 0.995), (0.5, 0.9))]
    content = {
        "positives": {"captions": 10, "true_share": 1.0},
        "genuine": shares,
        "foil_words": {"drawable_and_seen": 0.93},
        "listed_atoms": [{"type": "raw", "rows": 30, "share": 0.9}, {"type": "hnatom", "rows": 10, "share": 0.5}],
    }
    validity.write_text(json.dumps(content))
    build(results, tmp_path / "report", tmp_path / "data", validity)
    page = (tmp_path / "report" / "report.md").read_text()
    assert "| hnatom | 99.5 | 90.0 |" in page
    assert "93.0% of the words that hard negatives introduce" in page
    assert "80.00% of the rows list exactly the atoms" in page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chance": {}}, "no chance level"),
        ({"data": {"fingerprint": "d2", "rows": 3, "limit": None, "set_size": 3}}, "different versions of the data"),
    ],
)
def test_errors_for_results_that_must_not_be_combined(results: list[Path], change: dict, message: str):
    write_result(results[1].parent, "clip-yfcc", "yfcc", "prod_hnatom", 0.3, "n4", **change)
    with pytest.raises(ValueError, match=message):
        make_frame(read_results(results))


def test_error_without_results(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"empty: no results\. `compeval run"):
        read_results([tmp_path / "empty"])


def test_the_truth_never_wins_a_tie():
    assert find_best([0.5, 0.5, 0.1]) == 1
    assert find_best([0.5, 0.4, 0.1]) == 0


def test_the_first_three_captions_are_in_the_order_of_their_scores():
    assert find_top([0.2, 0.5, 0.2, 0.1, 0.4]) == [1, 4, 2]
    assert find_top([0.9, 0.1]) == [0, 1]


def test_page_is_accessible_and_complete_without_scripts(results: list[Path], tmp_path: Path):
    build(results, tmp_path / "report", tmp_path / "data")
    page = (tmp_path / "report" / "index.html").read_text()
    headers = re.findall(r"<th\b[^>]*>", page)
    assert headers
    assert all("scope=" in header for header in headers)
    assert page.count("<svg ") == page.count('<svg role="img" aria-label="') > 0
    assert all('alt="red ball' in image for image in re.findall(r"<img [^>]*>", page))
    assert "loading=" not in page  # a lazy image is missing in a captured or printed page
    assert '<a class="anchor" href="#productivity" aria-label="Link to Productivity">' in page
    assert "prefers-color-scheme: dark" in page
    assert '<span class="value">45.0</span> <span class="spread">[35.0, 55.0]</span>' in page


def test_changed_words_are_marked_and_failures_can_be_filtered(results: list[Path], tmp_path: Path):
    build(results, tmp_path / "report", tmp_path / "data")
    page = (tmp_path / "report" / "index.html").read_text()
    assert "<li><mark>blue</mark> ball" in page
    assert "<li>red <mark>kite</mark>" in page
    # The truth wins in the first row only (scores .9, .1, .2); it loses in the second and ties in the third.
    assert page.count('<div class="example failure">') == 2
    assert page.count('<div class="example">') == 1
    assert page.count('id="failures"') == 1


@pytest.mark.parametrize(
    ("truth", "text", "expected"),
    [
        ("a red ball", "a blue ball", [("a", False), ("blue", True), ("ball", False)]),
        ("a cup on a table", "a table on a cup", [("a", False), ("table", True), ("on a", False), ("cup", True)]),
        ("a cup", "a cup", [("a cup", False)]),
        ("a red cup", "a cup", [("a cup", False)]),
        ("a cup", "not a cup", [("not", True), ("a cup", False)]),
    ],
)
def test_mark_changes(truth: str, text: str, expected: list[tuple[str, bool]]):
    assert mark_changes(truth, text) == expected


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.5, "50.0"),
        (1 / 3, "33.3"),
        (0.0, "0.0"),
        (1 / 20_000, "0.005"),
        (-0.25, "-25.0"),
        (None, "-"),
        (0.001, "0.1"),
    ],
)
def test_percentages_have_one_decimal_unless_they_are_tiny(share: float | None, text: str):
    assert format_percent(share) == text


@pytest.mark.parametrize(
    ("cell", "parts"),
    [
        ("50.0 [40.0, 60.0]", ("50.0", "[40.0, 60.0]")),
        ("-0.033 ± 0.094", ("-0.033", "± 0.094")),
        ("1,200", ("1,200", "")),
        ("a name [x]", ("a name [x]", "")),
    ],
)
def test_split_spread(cell: str, parts: tuple[str, str]):
    assert split_spread(cell) == parts


def test_columns_without_a_value_are_left_out():
    table = make_table("models", ["A", "B", "C", "D"], [["Random", "", 0.5, 0.5], ["x", "y", None, 0.25]])
    assert table.cells.to_numpy().tolist() == [["Random", "", "50.0"], ["x", "y", "25.0"]]
    assert list(make_table("models", ["A", "B"], []).cells) == ["A", "B"]


def test_panels_share_their_axes():
    figure = Figure()
    panels = [figure.add_subplot(1, 2, number) for number in (1, 2)]
    panels[0].set(xlim=(0, 1), ylim=(5, 10))
    panels[1].set(xlim=(3, 4), ylim=(0, 7))
    share_axes(panels, "y")
    assert [panel.get_ylim() for panel in panels] == [(0, 10)] * 2
    assert [panel.get_xlim() for panel in panels] == [(0, 1), (3, 4)]


def test_captions_of_figures_explain_bands_and_rows(results: list[Path]):
    section = productivity.make_section(read_results(results))
    assert section
    assert list(section.figures) == [
        "Recall@1 against complexity, by type of hard negative (Figure 5 of the paper). Bands: 95 % intervals over "
        "images. 3 rows per set."
    ]
    assert describe_rows([300, 100, 200]) == "100 to 300 rows per set."
    rows = pd.DataFrame({"series": ["a", "a", "b"], "model": ["a-s0", "a-s1", "b"]})
    assert describe_spread(rows[:2], "Bars") == "Bars: minimum and maximum over the training seeds."
    assert describe_spread(rows, "Bars") == (
        "Bars: 95 % intervals over images (models with one seed) or minimum and maximum over the training seeds."
    )


def test_report_does_not_need_the_dataset(results: list[Path], tmp_path: Path):
    build(results, tmp_path / "report", tmp_path / "nowhere")
    assert "data:image/jpeg" not in (tmp_path / "report" / "index.html").read_text()


def test_warnings_about_truncated_texts_are_one() -> None:
    rest = "texts are longer than 48 tokens; the model reads no more than these."
    assert summarise_warnings([f"3 of 9 {rest}", "b", f"1 of 1,200 {rest}", "a", "b", rest.replace("48", "77")]) == [
        "a",
        "b",
        rest.replace("48", "77"),
        f"In 2 results, some {rest}",
    ]
