"""Tests of the papers' numbers: sums and means that other tables of the papers repeat."""

import csv
from pathlib import Path

import pytest
import yaml

from compeval.loaders.papers import figures as module
from compeval.loaders.papers.figures import figures
from compeval.loaders.papers.prompt_types import PROMPT_TYPES, TEXT_ENCODERS
from tests.close import assert_close

FOLDER = Path(module.__file__).parent
TYPES = figures("controlledimcaps")["types"]


def test_every_file_has_numbers():
    for path in FOLDER.glob("*.yaml"):
        assert figures(path.stem) == yaml.safe_load(path.read_text(encoding="utf-8"))
        assert figures(path.stem)


@pytest.mark.parametrize("model", figures("controlledimcaps")["scores"])
def test_tables_4_and_7_to_9_repeat_the_cells_of_table_2(model: str):
    """Exact match on CompPrompts, of the types that are cells. The spatial ones are parts of cells."""
    scores, column = figures("controlledimcaps")["scores"][model], TEXT_ENCODERS.index(model)
    assert scores.keys() == TYPES.keys()
    for kind in ("temporal", "verb_1", "verb_2", "adjective"):
        cells = [PROMPT_TYPES[config].published_scores for config in TYPES[kind]["probed_by"]]
        mean = sum(cell[column] for cell in cells if cell) / len(cells)
        assert_close(scores[kind][0], mean, within=0.051)
    # An image score is over 100 pairs (section 2.2): whole percents.
    assert all(score == int(score) for kind in scores.values() for score in kind[1:])


def test_tables_1_5_and_6_have_the_encoders_of_table_2_and_the_upper_bound():
    encoders = figures("compprompts")["text_encoders"]
    assert list(encoders) == [*TEXT_ENCODERS, "Proof-of-concepT5"]
    assert all(bleu4 > exact for exact, bleu4, _ in encoders.values() if bleu4)


def test_table_10_repeats_aros_own_accuracies_of_negclip():
    table = figures("aro")["text_only"]
    assert table["ChatGPT"].keys() == table["NegCLIP"].keys() == figures("aro")["options"].keys()
    path = FOLDER.parents[1] / "evaluators" / "results" / "published_papers.csv"
    with path.open(encoding="utf-8", newline="") as file:
        published = {
            row["task"]: float(row["percent"])
            for row in csv.DictReader(file)
            if row["model"] == "NegCLIP" and row["source"].startswith("ARO") and not row["category"]
        }
    shared = published.keys() & {f"aro_published/{config}" for config in table["NegCLIP"]}
    assert shared
    for task in shared:
        assert_close(table["NegCLIP"][task.partition("/")[2]], published[task], within=1.0)


def test_compuns_tables_agree():
    paper = figures("compun")
    assert sum(paper["categories"].values()) == paper["nouns"] == 400
    # Five example captions: the same accuracy in Tables 1 and 2; of 400 compounds, a quarter of a percent is one.
    assert paper["accuracy"]["CLIP, examples"] == paper["accuracy_by_examples"][4] == 86.5
    assert paper["accuracy"]["human"] == 96.25 == 100 * 385 / 400
    assert (
        paper["imagenet"]["template"]
        < paper["imagenet"]["descriptors"]
        < paper["imagenet"]["examples"]
    )
