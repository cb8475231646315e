"""Tests of tables: cells, pivots, and the formats that they are written in."""

import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from compeval.base.text_only.judges import name_judge
from compeval.evaluators.metrics.macro_views import name_frequent
from compeval.evaluators.report.tables import (
    LATEX,
    TABLES,
    Table,
    format_percent,
    format_values,
    make_table,
    pivot,
    to_csv,
    to_html,
    to_latex,
    to_markdown,
)


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
    ("values", "interval", "deviation"),
    [
        ([(0.5, 0.4, 0.6, None)], "50.0 [40.0, 60.0]", "50.0"),
        # Below chance; the deviation is over folds.
        (
            [(0.1, 0.05, 0.15, 0.01)],
            "10.0↓ [5.0, 15.0]",
            "10.0 ± 1.0",
        ),
        ([(0.5, None, None, None)], "50.0 [-]", "50.0"),
        # sqrt(2 * 0.1^2 / 1).
        (
            [(0.2, 0.1, 0.3, None), (0.4, 0.3, 0.5, None)],
            "30.0 [20.0, 40.0]",
            "30.0 ± 14.1",
        ),
    ],
)
def test_cells_have_intervals_or_deviations(values: list[tuple], interval: str, deviation: str):
    rows = pd.DataFrame(values, columns=["value", "low", "high", "std"], dtype=float).assign(
        chance=0.2
    )
    assert format_values(rows, "interval") == interval
    assert format_values(rows, "deviation") == deviation


def test_pivot_has_chance_levels_in_a_row_or_in_columns():
    rows = [
        ("a", "x", 0.5, 0.2, 10),
        ("a", "y", 0.4, 0.1, 20),
        ("b", "y", 0.3, 0.1, 20),
        ("b", "other", 1.0, 1.0, 1),
    ]
    values = pd.DataFrame(rows, columns=["label", "key", "value", "chance", "size"])
    values = values.assign(metric="recall@1", low=values["value"], high=values["value"], std=None)
    declared = {
        "rows": {"Model": "label"},
        "column": "key",
        "titles": {"x": "X", "y": "Y", "z": "Z"},
    }
    assert pivot(values, **declared, random_row=True) == [
        {"Model": "Random", "X": "20.0", "Y": "10.0", "Z": "-"},
        {"Model": "a", "X": "50.0 [50.0, 50.0]", "Y": "40.0 [40.0, 40.0]", "Z": "-"},
        {"Model": "b", "X": "-", "Y": "30.0 [30.0, 30.0]", "Z": "-"},
    ]
    a, b = pivot(values, **declared, joined={"N": "size", "Chance": "chance"})
    assert (a["N"], a["Chance"]) == ("10 / 20", "20.0 / 10.0")
    assert (b["N"], b["Chance"]) == ("20", "10.0")
    assert list(pivot(values, {"Model": "label"}, "size", "n = {}")[0]) == [
        "Model",
        "n = 1",
        "n = 10",
        "n = 20",
    ]
    assert pivot(values, **declared, metric="recall@5") == []


def test_records_are_formatted_as_declared_and_columns_without_a_value_are_left_out():
    rows = [
        {
            "name": "m",
            "type": "t",
            "exact_match": 0.5,
            "image": 0.25,
            "image_interval": (0.1, 0.4),
            "text": None,
        }
    ]
    table = make_table("controlledimcaps_probe", rows, "_m", model="m", dataset="D")
    assert table.name == "controlledimcaps_probe_m"
    assert table.caption.startswith("m, D: exact match")
    assert table.cells.to_dict("records") == [
        {"Prompt type": "t", "EM on CompPrompts": "50.0", "CIC image score": "25.0 [10.0, 40.0]"}
    ]
    gap = make_table(
        "gap", [{"corpus": "c", "gap": 0.051, "low": -0.01, "high": 0.1, "p": 0.0456}], kind="k"
    )
    assert gap.cells.to_numpy().tolist() == [["c", "+5.1", "-1.0 to +10.0", "0.046"]]
    rows = [
        {"A": "Random", "B": "", "C": 0.5, "D": 0.25},
        {"A": "x", "B": None, "C": 1_200, "D": None},
    ]
    table = make_table("captioner_scores", rows, variant="v")
    # D has a chance level only.
    assert table.cells.to_numpy().tolist() == [
        ["Random", "50.0"],
        ["x", "1,200"],
    ]
    assert make_table("models", []).cells.empty


def test_declared_metrics_are_those_of_the_macro_views():
    for name, by in (("relation", "relation"), ("attribution", "attribute pair")):
        metric = f"recall@1_macro_{by.replace(' ', '_')}_{name_frequent(by)}"
        assert metric in TABLES[f"aro_vg_{name}"]["pivot"]["titles"]


def test_markup_in_cells_and_captions_is_escaped():
    cells = pd.DataFrame(
        [["50% of a_b & $x$ #1 {y}", "<b>|`=1` [a](b)"], ["=HYPERLINK(1)", "-1.5"]],
        columns=["A", "<B>"],
    )
    table = Table("t", "50% {of} a_b \\x ^~ $&#", cells)
    latex = to_latex(table)
    assert (
        r"\caption{50\% \{of\} a\_b \textbackslash{}x \textasciicircum{}\textasciitilde{} \$\&\#}"
        in latex
    )
    assert r"50\% of a\_b \& \$x\$ \#1 \{y\}" in latex
    braces = latex.replace(r"\{", "").replace(r"\}", "")
    assert braces.count("{") == braces.count("}")
    assert r"| 50% of a_b & $x$ #1 {y} | \<b\>\|\`=1\` [a]\(b) |" in to_markdown(table)
    assert to_csv(table).splitlines()[2] == "'=HYPERLINK(1),-1.5"
    html = to_html(table)
    assert "&lt;b&gt;|`=1` [a](b)" in html
    assert "&lt;B&gt;" in html
    assert "<b>" not in html.lower()


def test_html_has_headings_and_separates_values_from_intervals():
    cells = pd.DataFrame(
        {
            "Model": ["Random", "a", "a"],
            "R": ["20.0", "50.0 [40.0, 60.0]", "1,200"],
            "S": ["-", "9.1↑ (best)", "-"],
        }
        | {
            "T": ["-0.03 ± 0.09", "95.0 #1 [90.0, 99.0]", "1.0↓ [0.0, 2.0]"],
            "U": ["-", "a name [x]", "-"],
        }
    )
    html = to_html(Table("t", "", cells))
    assert html.count('<th scope="col"') == 5
    assert html.count('<th scope="row">') == 3
    assert '<tr class="chance"><th scope="row">Random</th>' in html
    assert (
        '<td><span class="value">50.0</span> <span class="spread">[40.0, 60.0]</span></td>' in html
    )
    assert '<span class="value above">9.1↑</span> <span class="spread">(best)</span>' in html
    assert '<span class="value">-0.03</span> <span class="spread">± 0.09</span>' in html
    assert '<span class="value best">95.0 #1</span>' in html
    assert '<span class="value">1.0↓</span>' in html
    assert "<td>1,200</td>" in html
    # The text of a column without numbers is on the left.
    assert '<td class="text">a name [x]</td>' in html


def test_baselines_without_a_name_are_named_by_their_keys():
    assert (name_judge("learned"), name_judge("words_of_it")) == (
        "random forest",
        "words of it",
    )


IN_TEXT_MODE = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
"""LaTeX companion, table of special characters: the ten that TeX reads, and three that OT1 fonts print as others."""


@pytest.mark.parametrize("character", [chr(code) for code in range(33, 127)])
def test_each_printable_character_is_printed_by_latex(character: str):
    expected = f"a{IN_TEXT_MODE.get(character, character)}b"
    table = Table("t", f"a{character}b", pd.DataFrame({f"a{character}b": [f"a{character}b"]}))
    latex = to_latex(table)
    assert latex.count(expected) == 3  # caption, heading, cell
    rest = latex.replace(expected, "")
    assert "\\toprule\n \\\\\n\\midrule\n \\\\\n\\bottomrule" in rest


def test_latex_has_one_line_per_row_and_no_option_of_a_line_break():
    cells = pd.DataFrame({"Model": ["[a] b\nc", "< 0.001"], "p": ["50.0↓ [40.0, 60.0]", "‡"]})
    latex = to_latex(Table("t", "x", cells))
    assert "{}[a] b c & 50.0$\\downarrow$ [40.0, 60.0] \\\\\n" in latex
    assert "\\textless{} 0.001 & \\ddag{} \\\\\n" in latex
    assert latex.isascii()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_compiles(tmp_path: Path):
    """All printable characters of ASCII, and those that tables use, in a caption, a heading and a cell."""
    signs = "".join(map(chr, LATEX))
    characters = "".join(map(chr, range(32, 127))) + signs
    cells = pd.DataFrame({characters: [characters, "[a] & b"], "x": ["< 0.001", "50.0\u2193"]})
    body = to_latex(Table("t", characters, cells))
    text = (
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n"
        f"{body}\\end{{document}}\n"
    )
    (tmp_path / "t.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    log = done.stdout.decode(errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert "Missing character" not in log
