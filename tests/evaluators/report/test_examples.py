"""Examples of retrieval."""

from pathlib import Path

import pandas as pd
from PIL import Image

from compeval.evaluators.engine.task_dataset import load
from compeval.evaluators.engine.tasks import Task
from compeval.evaluators.report.examples import find_retrieved_instead, load_split
from compeval.evaluators.report.results import Result
from tests.evaluators import tiny


def test_retrieval_examples_show_what_ranks_first_instead():
    # Rows 3 and 7 have captions a, b and c. Model "m" prefers c (text 2) to the captions of row 3, and for caption b,
    # the second of row 3, the image of row 7. Model "n" is right.
    frame = pd.DataFrame(
        {
            "captions": [["a", "b"], ["c"]],
            "i2t_rank": [2, 1],
            "i2t_wrong": [2, 0],
            "t2i_rank": [[1, 2], [1]],
            "t2i_wrong": [[1, 1], [0]],
        },
        index=[3, 7],
    )
    right = pd.DataFrame(
        {**frame, "i2t_rank": [1, 1], "t2i_rank": [[1, 1], [1]]}, index=frame.index
    )
    split = {7: {"image": Image.new("RGB", (8, 8))}}
    text, image = find_retrieved_instead({"m": frame, "n": right}, 3, split)
    assert (text.caption, text.picked_by, text.image) == ("c", ["m"], None)
    assert (image.caption, image.picked_by, image.is_truth) == ("b", ["m"], False)
    assert image.image
    assert image.image.startswith("data:image/jpeg;base64,")
    assert (
        find_retrieved_instead({"m": frame.drop(columns=["i2t_wrong", "t2i_wrong"])}, 3, split)
        == []
    )


def test_examples_of_a_variant_without_an_original_set(tmp_path: Path):
    """ARO's orders have only variants: aro/coco_order@s0."""
    data = tiny.write_dataset(tmp_path, {"coco_order": {"test.s0": tiny.choice_rows(3, 4)}}, "aro")
    task = Task("aro", "coco_order", "test", "s0")
    fingerprint = load(task, data).fingerprint
    result = {"dataset": "aro", "config": "coco_order", "split": "test", "variant": "s0"}
    result |= {"data": {"limit": None, "fingerprint": fingerprint}}
    split = load_split(Result(tmp_path, result), data)
    assert split is not None
    assert split["caption"] == [row["caption"] for row in tiny.choice_rows(3, 4)]
