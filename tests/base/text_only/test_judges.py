"""Each baseline finds a cue, and is at chance without one."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

from compeval.base.pipeline.code_digest import list_code_files
from compeval.base.text_only.baselines import (
    Baseline,
    RetrievalSets,
    recall_at_1,
    score_by_function,
)
from compeval.base.text_only.cues import CUES
from compeval.base.text_only.judges import (
    JUDGES,
    judge,
    name_judge,
    select_audited,
    select_judges,
    select_transferable,
    select_untrained,
)
from compeval.base.text_only.refinement import REFINEMENT_BASELINES
from tests.close import assert_close

ROOT = Path(__file__).parents[3]

WORDS = ("cup", "hat", "cat", "bus", "box", "map", "pen", "jar")

UNSEEN_BASELINES = select_judges("unseen")


def make_sets(cue: bool, rows: int = 60) -> RetrievalSets:
    """Three captions with random words; with a cue, the true one says "on", the others say "in"."""
    rng = Random(0)
    places = ("on", "in", "in") if cue else ("on", "on", "on")
    captions = [
        [f"a {rng.choice(WORDS)} {place} a {rng.choice(WORDS)}" for place in places]
        for _ in range(rows)
    ]
    return RetrievalSets(captions, [str(row) for row in range(rows)])


@pytest.mark.parametrize("baseline", UNSEEN_BASELINES.values(), ids=UNSEEN_BASELINES)
def test_finds_a_cue_and_is_at_chance_without_one(
    baseline: Baseline, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("compeval.base.text_only.judges.BOOSTING_STEPS", 5)
    assert recall_at_1(baseline(make_sets(cue=True))).mean() > 0.95
    assert_close(recall_at_1(baseline(make_sets(cue=False))).mean(), 1 / 3, within=0.2)


def test_conditional_logit_by_hand():
    """A word decides all rows: with n training rows, its weight w solves n / (1 + e^2w) = w (ridge 1), by symmetry."""
    sets = RetrievalSets([["cup", "hat"]] * 10, [str(row) for row in range(10)])
    score_NK = UNSEEN_BASELINES["conditional_logit"](sets)
    weight = score_NK[0, 0]
    # The solver ends at a gradient of 1e-4 per row.
    assert_close(score_NK[0, 1], -weight, within=1e-3)
    assert_close(8 / (1 + np.exp(2 * weight)), weight, within=1e-3)


def test_a_new_judge_makes_no_dataset_stale():
    """The code of the stages that write CREPE has no line of the judges; `compeval run` prints the best of them."""
    for module in (
        *("generators/crepe_systematicity.py", "generators/crepe_productivity.py"),
        *("generators/crepe_regions.py", "loaders/cards/write.py"),
    ):
        names = {path.name for path in list_code_files(ROOT / module)}
        assert names
        assert names.isdisjoint({"judges.py", "transfer.py", "cues.py"})


def test_the_judges_of_each_use():
    """Refinement's own are judges, too; those of the audit are the fast ones of the inspection."""
    assert select_judges("refining") == dict(REFINEMENT_BASELINES)
    fast, audited = select_audited(with_slow=False), select_audited()
    assert (
        {*audited} - {*fast}
        == {name for name, judge in JUDGES.items() if judge.audited == "slow"}
        > {"learned"}
    )
    assert {*select_untrained()} == {*CUES, "longest", "shortest"}
    assert {*select_untrained()}.isdisjoint(select_transferable())


def test_a_judge_is_added_by_its_function_alone(monkeypatch: pytest.MonkeyPatch):
    """The example of the module: the truth of each row has the most capitals."""
    monkeypatch.setattr("compeval.base.text_only.judges.JUDGES", dict(JUDGES))

    @judge("held_out", label="most capitals", learns=False, audited="fast")
    def score_shouting(sets: RetrievalSets) -> np.ndarray:
        return score_by_function(sets, lambda text: sum(map(str.isupper, text)))

    sets = RetrievalSets([["A Cat", "a Cat", "a cat"]], ["1"])
    assert score_shouting(sets).tolist() == [[2, 1, 0]]
    for selected in (select_judges("held_out"), select_audited(), select_audited(with_slow=False)):
        assert recall_at_1(selected["shouting"](sets)).tolist() == [1]
    assert "shouting" not in {**select_untrained(), **select_transferable()}
    assert name_judge("shouting") == "most capitals"
    assert name_judge("language_model") == "language model"


def test_what_judges_declare_holds():
    """The scores of a judge that reads one caption do not depend on the other captions of its set, nor on the order."""
    sets = make_sets(cue=True, rows=12)
    reversed_sets = RetrievalSets([captions[::-1] for captions in sets.captions], sets.images)
    for name, declared in JUDGES.items():
        if declared.reads == "caption" and not declared.learns:
            scores = declared.score(sets)
            assert declared.score(reversed_sets)[:, ::-1].tolist() == scores.tolist(), name
