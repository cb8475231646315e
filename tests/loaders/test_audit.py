from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA
from compeval.base.storage.dataset import write_config
from compeval.base.text_only.cues import has_negation
from compeval.loaders.audit import (
    FLAW_NAMES,
    Texts,
    audit,
    audit_dataset,
    count_flaws,
)
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from compeval.loaders.importing.identify import identify
from compeval.loaders.importing.read_published import audit_splits, read_published
from tests.close import assert_close
from tests.evaluators.tiny import row
from tests.rows import toy_dataset


def texts(caption: str, *negatives: str, swaps: bool = False, unordered: bool = False) -> Texts:
    return Texts(caption, negatives, [swaps] * len(negatives), unordered)


@pytest.mark.parametrize(
    ("negative", "swaps", "flaws"),
    [
        ("a cup on a table", False, {"truth": 1}),
        ("A cup on  a table", False, {"case": 1, "capital": 1, "double space": 1}),
        ("a cup on a table .", False, {"space .": 1, "final stop": 1}),
        ("a cup under a table ", False, {"outer space": 1}),
        ("", False, {"empty": 1}),
        ("a cup under a table.", False, {"final stop": 1}),
        ("A cup under a table", False, {"capital": 1}),
        ("a cup under a table", False, {}),
        ("a table on a cup", True, {}),
        ("a table on the cup", True, {"words": 1}),
        ("a cup, on a table", True, {"same order": 1}),  # only punctuation differs
        ("a cup on a table", True, {"truth": 1, "same order": 1}),
    ],
)
def test_flaws_of_a_negative(negative: str, swaps: bool, flaws: dict[str, int]):
    assert count_flaws(texts("a cup on a table", negative, swaps=swaps)) == flaws


def test_the_form_of_the_caption():
    # A feature of both is no flaw.
    assert not count_flaws(texts("A man . He  sits ", "A dog . It  sits "))
    assert count_flaws(texts("A man sits", "a dog sits")) == {"lower case": 1}
    assert count_flaws(texts("a cup ", "a hat", "a bag")) == {"caption space": 1}
    assert count_flaws(texts("A cup.", "A hat", "A bag.")) == {"final stop": 1}
    # The caption alone has no stop; a tie; the caption alone has outer spaces; the negative alone has outer spaces.
    rows = [texts("a", "b."), texts("a", "b"), texts("a ", "b"), texts("a", " b")]
    assert audit(rows).cues["no final stop, or outer spaces"] == (1 + 1 / 2 + 1 + 0) / 4


def test_flaws_of_rows_count_once_and_those_of_negatives_each():
    found = count_flaws(
        texts("a cup", "A hat", "a  hat", "a  HAT", "a cup", "a cup", unordered=True)
    )
    assert found == {"truth": 1, "duplicated": 1, "unordered": 1, "capital": 1, "double space": 2}


@pytest.mark.parametrize(
    "text", ["there is no cup", "Not a cup", "it isn't red", "a room without a door"]
)
def test_negation_words(text: str):
    assert has_negation(text)
    assert not has_negation("a note on a notebook, nowt else")


def test_a_tie_of_k_texts_counts_as_1_over_k():
    rows = [
        # Longest and shortest are negatives; two without a negation.
        texts("a red cup", "a cup", "no red cup at all"),
        texts("a red cup", "a red hat", "a hat"),  # two longest; three without a negation
    ]
    found = audit(rows)
    assert_close(
        found.cues,
        {
            "no negation word": (1 / 2 + 1 / 3) / 2,
            "fewest words": 0,
            "most words": (0 + 1 / 2) / 2,
            "no final stop, or outer spaces": 1 / 3,
        },
    )
    assert (found.rows, found.negatives, found.negated) == (2, 4, 1)
    assert_close(found.chance, 1 / 3)
    # The caption has a negation as well.
    assert audit([texts("no red cup", "no red hat", "a hat")]).negated == 0


@given(
    st.lists(
        st.tuples(st.text("aA .", max_size=4), st.lists(st.text("aA .", max_size=4), min_size=1)),
        min_size=1,
    )
)
def test_an_audit_is_the_sum_of_its_rows(rows: list[tuple[str, list[str]]]):
    given_rows = [texts(caption, *negatives, swaps=True) for caption, negatives in rows]
    total = sum((count_flaws(one) for one in given_rows), Counter[str]())
    assert {name: count for name, count in audit(given_rows).flaws.items() if count} == total
    assert tuple(audit(given_rows).flaws) == FLAW_NAMES
    with pytest.raises(ValueError, match="Nothing to audit"):
        audit([])


def test_a_dataset_is_audited_by_split_with_its_swaps(tmp_path: Path):
    swap = row(0, "red", "ball", ["blue"]) | {
        "foils": [[{"type": "swap", "from": "red", "to": "blue"}]]
    }
    folder = tmp_path / "crepe"
    write_config(
        folder, "prod_hnall", {"n4": [swap, row(1, "red", "cup", ["green"])]}, HARD_NEGATIVE_SCHEMA
    )
    write_config(
        folder, "prod_hnswap", {"n5": [row(2, "red", "hat", ["pink"])]}, HARD_NEGATIVE_SCHEMA
    )
    write_card(folder, {}, "", measure(folder))
    found = audit_dataset(folder)
    # By its foils the first negative is a swap; by its config's name all those of prod_hnswap are.
    assert {name: one.flaws["words"] for name, one in found.items()} == {
        "prod_hnall/n4": 1,
        "prod_hnswap/n5": 1,
    }
    assert audit_dataset(toy_dataset(tmp_path, "toy")).keys() == {"toy_hnatom/test"}


PRODUCTIVITY = {
    "atom/prod_vg_hard_negs_atom_complexity_4": {"unordered": 44},
    "atom/prod_vg_hard_negs_atom_complexity_8": {"unordered": 29},
    "atom/prod_vg_hard_negs_atom_complexity_12": {"unordered": 6},
    "swap/prod_vg_hard_negs_swap_complexity_4": {"truth": 1, "same order": 1, "words": 87},
    "swap/prod_vg_hard_negs_swap_complexity_8": {"truth": 4, "same order": 4, "words": 1746},
    "swap/prod_vg_hard_negs_swap_complexity_12": {"truth": 2, "final stop": 1, "same order": 2, "words": 3803},
    "negate/prod_vg_hard_negs_negate_complexity_4": {
        "case": 11, "unordered": 1181, "capital": 6181, "space .": 1130, "outer space": 2,
    },
    "negate/prod_vg_hard_negs_negate_complexity_8": {
        "case": 20, "final stop": 1947, "unordered": 194, "capital": 11084, "double space": 18, "space .": 2,
        "outer space": 31,
    },
    "negate/prod_vg_hard_negs_negate_complexity_12": {
        "case": 23, "final stop": 288, "unordered": 63, "capital": 9830, "double space": 461, "space .": 3,
        "outer space": 40,
    },
}  # fmt: skip
"""Counts that do not use the audit: a few lines of pandas, Counter and str."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=() if "swap" in name or name.endswith("_4") else pytest.mark.acceptance
        )
        for name in PRODUCTIVITY
    ],
)
def test_published_productivity_files_have_exactly_these_flaws(real_data: Path, name: str):
    read = read_published(identify(real_data / "crepe" / "prod_hard_negatives" / f"{name}.csv"))
    (found,) = audit_splits(read.splits).values()
    assert {flaw: count for flaw, count in found.flaws.items() if count} == PRODUCTIVITY[name]
