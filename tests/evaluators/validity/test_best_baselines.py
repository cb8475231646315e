"""The best text-only baseline, on rows made to have one and on rows that have none."""

import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from compeval.base.text_only.judges import select_audited
from compeval.cli import app
from compeval.evaluators.report.results import Result, Results
from compeval.evaluators.report.sections.text_only import make_section
from compeval.evaluators.validity.best_baselines import (
    MAX_ROWS,
    BestBaseline,
    find_best,
    find_best_of_dataset,
    find_best_of_results,
)
from compeval.loaders.datasets.stats import read_version
from compeval.loaders.importing.identify import identify
from compeval.loaders.importing.read_published import read_published
from tests.evaluators import tiny

WORDS = ("red", "blue", "small", "big", "old", "new", "wet", "dry")


def make_pairs(
    count: int, truth: str = "a {} dog", foil: str = "a {} dog"
) -> list[tuple[str, tuple[str, ...]]]:
    """Rows whose words are drawn, so that no baseline can learn them; ``truth`` and ``foil`` may differ in form."""
    rng = random.Random(0)
    return [
        (
            str(number),
            (
                truth.format(" ".join(rng.choices(WORDS, k=3))),
                foil.format(" ".join(rng.choices(WORDS, k=3))),
            ),
        )
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("truth", "foil", "cue"),
    [
        ("a {} dog", "a {} dog.", "no final stop, or outer spaces"),
        ("a {} dog", "no {} dog", "no negation word"),
        ("{} dog", "a {} dog there", "fewest words"),
    ],
)
def test_a_cue_is_found(truth: str, foil: str, cue: str):
    found = find_best(make_pairs(60, truth, foil))
    assert found is not None
    assert (found.name, found.recall, found.chance, found.rows, found.beats_chance) == (
        cue,
        1,
        0.5,
        60,
        True,
    )


def test_the_medoid_is_found():
    """Every negative has one other word: the truth differs from each in one, two negatives differ in two."""
    rows = [(str(n), (f"a{n} b c", f"a{n} x c", f"a{n} b y", f"z{n} b c")) for n in range(40)]
    found = find_best(rows)
    assert found is not None
    assert (found.name, found.recall, found.chance) == ("medoid of characters", 1, 0.25)
    # All candidates have three words, so that each has the same chance.
    assert found.recalls["fewest words"] == found.recalls["most words"] == 0.25
    assert [*found.recalls.values()] == sorted(found.recalls.values(), reverse=True)
    assert {name.replace("_", " ") for name in select_audited(with_slow=False)} == {*found.recalls}


def test_drawn_words_have_no_baseline_above_chance_and_rows_are_limited():
    found = find_best(make_pairs(3 * MAX_ROWS))
    assert found is not None
    assert found.rows <= MAX_ROWS
    assert not found.beats_chance
    low, high = found.interval
    assert low < found.recall < high


def test_rows_without_negatives_have_none():
    assert find_best([("1", ("a dog",))]) is None
    assert find_best([]) is None


def test_published_crepe_falls_to_the_medoid(real_data: Path):
    """CREPE's atoms at n = 12, chance 1/6: every negative is an edit of the truth."""
    name = "prod_vg_hard_negs_atom_complexity_12.csv"
    read = read_published(identify(real_data / "crepe" / "prod_hard_negatives" / "atom" / name))
    found = find_best((row.image_id, row.list_candidates()) for row in read)
    assert found is not None
    assert found.name.startswith("medoid")
    assert found.recall > 0.98


def test_audit_of_several_sets_and_report_show_the_baselines(tmp_path: Path):
    rows = [
        row | {"caption": f"ball {number}", "hard_negatives": [f"ball {number} ."]}
        for number, row in enumerate(tiny.choice_rows(12, 1))
    ]
    tiny.write_dataset(
        tmp_path, {name: {"test": rows} for name in ("swap_obj", "swap_att")}, "sugarcrepe"
    )
    found = find_best_of_dataset(tmp_path / "sugarcrepe")
    rule = "no final stop, or outer spaces"
    assert [(name, *best[:2]) for name, best in found.items()] == [
        ("sugarcrepe/swap_att", rule, 1),
        ("sugarcrepe/swap_obj", rule, 1),
    ]
    printed = CliRunner().invoke(
        app, ["audit", "sugarcrepe", "--data", str(tmp_path), "--format", "md"]
    )
    line = f"| sugarcrepe/swap_obj | 12 | 100.0 | 61.0 to 100.0 | 50.0 | yes | {rule} |"
    assert line in printed.stdout
    assert "A text-only baseline beats chance on 2 of 2 sets." in printed.stderr
    document = {
        "dataset": "sugarcrepe", "config": "swap_obj", "task": "sugarcrepe/swap_obj", "main": ["recall@1"],
        "metrics": {"recall@1": 0.75}, "model": {"name": "A", "contaminated": None},
    }  # fmt: skip
    results = Results([Result(tmp_path, document)])
    assert make_section(results) is None
    version = read_version(tmp_path / "sugarcrepe")
    choice = {"protocol": "choice", "data": {"version": version}}
    results.best_baselines = find_best_of_results([document | choice], tmp_path)
    section = make_section(results.copy_with(results))
    assert section is not None
    (line,) = section.tables[0].cells.to_dict("records")
    assert (
        line["Set"],
        line["Best text-only baseline"],
        line["Above chance"],
        line["Best model"],
    ) == (
        "sugarcrepe/swap_obj",
        rule,
        "yes",
        "75.0",
    )
    assert find_best_of_results([document | choice | {"dataset": "crepe"}], tmp_path) == {}


def test_splits_with_other_numbers_of_negatives_are_measured_one_by_one(tmp_path: Path):
    """The splits of an imported file with a balanced subset: five captions in one split, two in the other."""

    def make(count: int) -> list[dict[str, Any]]:
        return [
            row
            | {"caption": f"ball {n}", "hard_negatives": [f"ball {n} {k} ." for k in range(count)]}
            for n, row in enumerate(tiny.choice_rows(12, count))
        ]

    rows, pairs = make(4), make(1)
    splits = {"n8": rows, "n8.balanced": pairs}
    tiny.write_dataset(tmp_path, {"prod_hnswap": splits}, "crepe_published")
    found = find_best_of_dataset(tmp_path / "crepe_published")
    assert {name: (best.recall, best.chance, best.rows) for name, best in found.items()} == {
        "crepe_published/prod_hnswap/n8": (1, 1 / 5, 12),
        "crepe_published/prod_hnswap/n8@balanced": (1, 1 / 2, 12),
    }
    command = ["audit", "crepe_published", "--data", str(tmp_path), "--format", "md"]
    printed = CliRunner().invoke(app, command)
    assert "A text-only baseline beats chance on 2 of 2 sets." in printed.stderr


def test_rows_with_another_number_of_negatives_are_left_out():
    most = [(str(number), (f"a {number}", f"b {number}")) for number in range(12)]
    found = find_best([*most, ("12", ("a", "b", "c")), ("13", ("a",))])
    assert found is not None
    assert (found.rows, found.chance) == (12, 1 / 2)
    assert find_best([("1", ("a",))]) is None


def test_audit_reads_the_other_targets_after_a_bad_one(tmp_path: Path):
    rows = list(tiny.choice_rows(12, 1))
    tiny.write_dataset(tmp_path, {"main": {"test": rows}}, "mine")
    empty = tmp_path / "empty.json"
    empty.write_text("[]", encoding="utf-8")
    result = CliRunner().invoke(
        app, ["audit", str(empty), "mine", "--data", str(tmp_path), "--format", "md"]
    )
    assert result.exit_code == 1
    assert "mine/main" in result.stdout
    assert "1 of 2 targets cannot be read:" in result.stderr
    assert "empty.json" in result.stderr
    assert CliRunner().invoke(app, ["audit", str(empty)]).exit_code != 0


@pytest.mark.parametrize(("rows", "beats"), [(9, False), (10, True)])
def test_few_rows_are_not_compared_with_chance(rows: int, beats: bool):
    baseline = BestBaseline("words", 1.0, (0.6, 1.0), 0.2, rows)
    assert baseline.beats_chance is beats
