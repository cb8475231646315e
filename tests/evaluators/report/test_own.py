"""The section of own data."""

from pathlib import Path

import pytest

from compeval.evaluators.report.pages import render
from compeval.evaluators.report.results import Result, Results
from compeval.evaluators.report.sections.own import (
    PALETTE,
    describe_set,
    draw_kinds,
    list_categories,
    make_section,
)


def make_result(
    config: str, recall: float, source: str = "mine", categories: dict | None = None
) -> Result:
    data = {
        **{
            "dataset": "mine",
            "source": source,
            "config": config,
            "task": f"mine/{config}",
            "protocol": "choice",
        },
        "model": {"name": "m", "contaminated": None},
        "data": {"rows": 20, "version": "1", "limit": None},
        "metrics": {"recall@1": recall},
        "intervals": {"recall@1": [recall - 0.1, recall + 0.1]},
        "chance": {"recall@1": 0.2},
        "categories": categories or {},
    }
    return Result(Path(), data)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("atom", "atom"),
        ("uc_atom_balanced", "atom balanced, unseen compounds"),
        ("sc_swap", "swap, seen compounds"),
        ("foils_1", "your table, 1 negative a row"),
    ],
)
def test_sets_are_named_in_words(config: str, words: str):
    assert describe_set(config) == words


def test_own_results_have_a_section_with_the_baselines_of_inspect():
    results = Results(
        [
            make_result("uc_atom", 0.5),
            make_result("sc_atom", 0.6),
            make_result("vg", 0.5, source="coco"),
        ]
    )
    results.text_only = {
        "mine": {"uc_atom": {"rules": {"longest": {"recall@1": 0.3, "interval": [0.2, 0.4]}}}}
    }
    section = make_section(results)
    assert section is not None
    (table,) = section.tables
    assert table.cells["Hard negatives"].tolist() == [
        "atom, seen compounds",
        "atom, unseen compounds",
    ]
    assert table.cells["Best text-only baseline"].tolist()[1].startswith("30.0 [20.0, 40.0]")
    assert section.shown == {("m", "mine/uc_atom"), ("m", "mine/sc_atom")}
    assert make_section(Results([make_result("vg", 0.5, source="coco")])) is None


def test_kinds_of_the_user_are_rows():
    result = make_result(
        "foils_1",
        0.5,
        categories={"kind": {"object": {"rows": 4, "recall@1": 0.25, "tie_rate": 0.5}}},
    )
    (row,) = list_categories(result)
    # Wilson's interval of 1 of 4.
    assert (row["kind"], row["rows"], row["recall"], row["ties"]) == (
        "object",
        4,
        "25.0 [4.6, 69.9]",
        0.5,
    )


def test_commands_in_the_text_of_a_section_are_code(tmp_path: Path):
    (tmp_path / "text.html.j2").write_text("{{ text | code }}", encoding="utf-8")
    assert render("text.html.j2", tmp_path, text="`run` <a>") == "<code>run</code> &lt;a&gt;"


def test_eight_models_have_eight_colours():
    results = [make_result(config, 0.5) for config in ("atom", "swap") for _ in PALETTE]
    for number, result in enumerate(results):
        result.data["model"] = {"name": f"model {number % len(PALETTE)}", "contaminated": None}
    figure = draw_kinds(results)
    assert figure.startswith("<svg")
    assert all(colour in figure for colour in PALETTE)
    assert len(set(PALETTE)) == 8
