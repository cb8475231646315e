"""Tests of the annotation workflow, from sampling to rejected negatives, with two simulated annotators."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA
from compeval.base.storage.dataset import write_config
from compeval.cli import app
from compeval.evaluators.annotations import answers, forms
from compeval.evaluators.annotations.items import CAPTION, Item, get_type, read_items, sample
from compeval.generators.hard_negatives.rejections import Rejections
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from tests.close import assert_close
from tests.rows import hard_negative_row


def call(*arguments: object) -> Result:
    """Call ``compeval annotate`` with the arguments."""
    return CliRunner().invoke(app, ["annotate", *map(str, arguments)])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Dataset crepe: 30 rows of prod_raw/n4, 20 rows of prod_hnatom/n4, and 3 rows in the sets of two corpora."""
    folder = tmp_path / "data" / "crepe"
    (tmp_path / "images").mkdir()
    rows = [hard_negative_row(tmp_path / "images", number) for number in range(30)]
    raw = [{key: row[key] for key in RAW_SCHEMA.names} for row in rows]
    write_config(folder, "prod_raw", {"n4": raw}, RAW_SCHEMA)
    for config in ("prod_hnatom", "prod_hnall"):
        write_config(folder, config, {"n4": rows[:20]}, HARD_NEGATIVE_SCHEMA)
    for config in ("laion_sc_hnatom", "yfcc_sc_hnatom"):
        write_config(folder, config, {"test": rows[20:23]}, HARD_NEGATIVE_SCHEMA)
    write_card(folder, {"license": "mit"}, "", measure(folder) | {"source": "microworld"})
    return tmp_path / "data"


def test_sample_is_stratified_and_contains_each_text_once(data: Path):
    items = sample(data / "crepe", 0.1, 0.25, seed=0)
    counts: dict[tuple[str, str], int] = {}
    for item in items:
        counts[item.config, item.type] = counts.get((item.config, item.type), 0) + 1
    # 3 of 30 captions; 5 of 20 rows and 1 of 3 rows with two negatives each. The rows of yfcc equal those of laion, and
    # prod_hnall repeats prod_hnatom.
    assert counts == {
        ("prod_raw", CAPTION): 3,
        ("prod_hnatom", "prod_hnatom"): 10,
        ("laion_sc_hnatom", "sc_hnatom"): 2,
    }
    assert [item.id for item in items] == sorted({item.id for item in items})
    assert sample(data / "crepe", 0.1, 0.25, seed=0) == items
    assert sample(data / "crepe", 0.1, 0.25, seed=1) != items
    assert [item.expected for item in items if item.type == CAPTION] == ["true"] * 3
    default = sample(data / "crepe", 0.02, 0.01, seed=0)  # at least one row of each split
    assert {item.type for item in default} == {CAPTION, "prod_hnatom", "sc_hnatom"}


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ("laion_uc_hncomp", "uc_hncomp"),
        ("prod_hnneg_balanced", "prod_hnneg_balanced"),
        ("vg_relation", "vg_relation"),
    ],
)
def test_type_does_not_contain_the_corpus(config: str, kind: str):
    assert get_type(config) == kind


def make_export(items: list[Item], wrong: set[str], annotator: object) -> list[dict]:
    """Make a Label Studio export with an answer to every item. Answers to items in ``wrong`` are wrong."""
    opposite = {"true": "false", "false": "true"}
    return [
        {
            "id": number,
            "data": {"id": item.id, "text": item.text, "image": "data:"},
            "annotations": [
                {
                    "completed_by": annotator,
                    "was_cancelled": False,
                    "result": [
                        {
                            "from_name": "verdict",
                            "to_name": "text",
                            "type": "choices",
                            "value": {
                                "choices": [
                                    opposite[item.expected] if item.id in wrong else item.expected
                                ]
                            },
                        }
                    ],
                }
            ],
        }
        for number, item in enumerate(items)
    ]


def test_round_trip(data: Path, tmp_path: Path):
    folder_option = ("--annotations", tmp_path / "annotations")
    sampled = call(
        "sample", "crepe", "--captions", 0.1, "--queries", 0.25, "--data", data, *folder_option
    )
    assert sampled.stdout.endswith("15 texts to annotate.\n"), sampled.output
    folder = tmp_path / "annotations" / "crepe"
    items = read_items(folder)
    negatives = [item for item in items if item.type == "prod_hnatom"]

    for form in ("label-studio", "csv"):
        exported = call(
            "export",
            "crepe",
            "--output",
            tmp_path / form,
            "--format",
            form,
            "--data",
            data,
            *folder_option,
        )
        assert exported.exit_code == 0, exported.output
    tasks = json.loads((tmp_path / "label-studio" / "tasks.json").read_text(encoding="utf-8"))
    assert [task["data"]["text"] for task in tasks] == [item.text for item in items]
    fields = {"id", "text", "image", "question", "allowed answers"}
    assert {*tasks[0]["data"]} == fields, "no field reveals which texts are captions"
    assert {task["data"]["question"] for task in tasks} == {"Is this text true of the image?"}
    assert tasks[0]["data"]["allowed answers"] == ["true", "false", "cannot tell"]

    # Anna is wrong on two of ten negatives. Ben is wrong on one of these two and on another negative.
    both, annas, bens = negatives[0].id, negatives[1].id, negatives[2].id
    (tmp_path / "export.json").write_text(
        json.dumps(make_export(items, {both, annas}, {"id": 7, "email": "anna@x.org"})),
        encoding="utf-8",
    )
    with (tmp_path / "csv" / "items.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["question"] == "Is this text true of the image?"
    assert rows[0]["allowed answers"] == "true / false / cannot tell"
    assert (tmp_path / "csv" / rows[0]["image"]).read_bytes().startswith(b"\xff\xd8")
    expected = {item.id: item.expected for item in items}
    with (tmp_path / "ben.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(
            [r | {"answer": "True" if r["id"] in (both, bens) else expected[r["id"]]} for r in rows]
        )

    imported = call(
        "import", "crepe", tmp_path / "export.json", tmp_path / "ben.csv", *folder_option
    )
    assert imported.stdout.splitlines() == [
        "anna@x.org: 15 of 15 answered",
        "ben: 15 of 15 answered",
        "1 hard negatives rejected by the majority of their annotators",
    ]
    lines = {
        (line["type"], line["complexity"]): line
        for line in json.loads(call("report", "crepe", *folder_option, "--json").stdout)
    }
    line = lines["prod_hnatom", None]
    # Both are right on 8 of 10. They agree on 8: both are right on 7 and both are wrong on 1.
    assert (line["items"], line["annotators"]) == (10, 2)
    assert_close((line["accuracy"], line["deviation"], line["agreement"]), (0.8, 0.0, 0.8))
    # 20 answers, 16 false, 4 true; observed disagreement 4/20, expected 2 * 16 * 4 / (20 * 19).
    assert_close(line["alpha"], 1 - (4 / 20) / (128 / 380))
    assert (lines["caption", None]["accuracy"], lines["caption", None]["alpha"]) == (1.0, None)
    assert "91.6 ± 4.2, 83.1" in call("report", "crepe", *folder_option).stdout

    # The answered sample is not replaced by another one unless forced; the same sample may be drawn again.
    again = (
        "sample",
        "crepe",
        "--captions",
        0.1,
        "--queries",
        0.25,
        "--data",
        data,
        *folder_option,
    )
    assert call(*again).exit_code == 0
    refused = call(*again, "--seed", 7)
    assert refused.exit_code == 2
    assert refused.stderr == (
        f"Error: {folder / 'items.csv'}: people have answered this sample: anna@x.org (15 of 15), ben (15 of 15). Use "
        "--force to replace it; their answers are kept, but those on texts outside the new sample do not count.\n"
    )
    assert read_items(folder) == items
    answered = answers.read_answers(folder)
    assert call(*again, "--seed", 7, "--force").exit_code == 0
    assert read_items(folder) != items
    assert answers.read_answers(folder) == answered
    assert call(*again, "--force").exit_code == 0

    rejections = Rejections.read(folder)
    assert rejections.by_crop == {negatives[0].crop_id: {negatives[0].text}}
    # Ben changes his answer, so no majority rejects the negative.
    (tmp_path / "ben.csv").write_text(f"id,answer\n{both},false\n", encoding="utf-8")
    assert (
        "0 hard negatives rejected"
        in call("import", "crepe", tmp_path / "ben.csv", *folder_option).stdout
    )
    assert Rejections.read(folder).by_crop == {}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "id,answer\nx,true\n", r"item 'x' is not in the sample"),
        (
            "a.csv",
            "id,answer\ni1,maybe\n",
            r"item i1: answer 'maybe'; expected one of true, false, cannot tell",
        ),
        ("a.csv", "id\ni1\n", r"no column answer; its columns are id"),
        ("a.csv", "id,answer\ni1,\n", r"no item has an answer"),
        ("a.json", "[1]", r"not an export in Label Studio's JSON format"),
        ("a.json", "{", r"not an export in Label Studio's JSON format"),
    ],
)
def test_errors_for_invalid_forms(tmp_path: Path, name: str, text: str, message: str):
    (tmp_path / name).write_text(text, encoding="utf-8")
    known = {"i1": Item("i1", "c", "s", 0, "", "", CAPTION, 4, "")}
    with pytest.raises(ValueError, match=message):
        answers.read_form(tmp_path / name, known)


def test_cancelled_annotations_are_skipped(tmp_path: Path):
    item = Item("i1", "c", "s", 0, "", "", CAPTION, 4, "")
    (cancelled,), (completed,) = make_export([item], set(), 1), make_export([item], {"i1"}, 2)
    cancelled["annotations"][0]["was_cancelled"] = True
    (tmp_path / "a.json").write_text(json.dumps([cancelled, completed]), encoding="utf-8")
    assert answers.read_form(tmp_path / "a.json", {"i1": item}) == {"2": {"i1": "false"}}


def test_label_studio_accepts_config_tasks_and_answers(tmp_path: Path):
    interface = pytest.importorskip("label_studio_sdk.label_interface").LabelInterface(
        forms.LABEL_STUDIO
    )
    interface.validate()
    item = Item("i1", "c", "s", 0, "crop", "", CAPTION, 4, "a cup")
    forms.write_label_studio(tmp_path, [item], {"crop": b"\xff\xd8"})
    (task,) = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    interface.validate_task(task)
    (answered,) = make_export([item], set(), 1)
    assert interface.validate_annotation(answered["annotations"][0])
