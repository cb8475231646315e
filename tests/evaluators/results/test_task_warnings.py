"""One warning for all tasks that it holds for."""

from compeval.evaluators.results.task_warnings import summarise_warnings


def test_warnings_about_truncated_texts_are_one() -> None:
    rest = "texts are longer than 48 tokens; the model reads no more than these."
    assert summarise_warnings(
        [f"3 of 9 {rest}", "b", f"1 of 1,200 {rest}", "a", "b", rest.replace("48", "77")]
    ) == [
        "a",
        "b",
        f"In 2 results, some {rest}",
        rest.replace("48", "77"),
    ]
    unknown = "seen and unseen are those of the training corpus laion, but the training data of A is not known."
    tasks = ("crepe/laion_sc_hnatom", "crepe/laion_uc_hnatom")
    assert summarise_warnings(f"{task}: {unknown}" for task in tasks) == [
        f"In 2 results, {unknown}"
    ]
    assert summarise_warnings([f"{tasks[0]}: {unknown}"]) == [f"{tasks[0]}: {unknown}"]
