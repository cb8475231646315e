"""Sample, forms, two simulated annotators, agreement, and the negatives that the next build skips."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from compeval.cli import app
from evaluators.annotations import answers, forms
from evaluators.annotations.items import CAPTION, Item, kind_of, read_items, sample
from generators.hard_negatives.rejections import Rejections
from generators.schemas.rows import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA
from generators.storage.dataset import write_config
from loaders.cards.card import write_card
from loaders.datasets.stats import measure
from tests.rows import hard_negative_row


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["annotate", *map(str, arguments)])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """crepe with 30 captions of n4, 20 rows of prod_hnatom/n4, and the same rows again in two corpora's sets."""
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


def test_the_sample_is_stratified_and_has_each_text_once(data: Path):
    items = sample(data / "crepe", 0.1, 0.25, seed=0)
    counts: dict[tuple[str, str], int] = {}
    for item in items:
        counts[item.config, item.type] = counts.get((item.config, item.type), 0) + 1
    # 3 of 30 captions; 5 of 20 rows and 1 of 3, two negatives each; yfcc's row is laion's; hnall has nothing new.
    assert counts == {("prod_raw", CAPTION): 3, ("prod_hnatom", "prod_hnatom"): 10, ("laion_sc_hnatom", "sc_hnatom"): 2}
    assert [item.id for item in items] == sorted({item.id for item in items})
    assert sample(data / "crepe", 0.1, 0.25, seed=0) == items
    assert sample(data / "crepe", 0.1, 0.25, seed=1) != items
    assert [item.expected for item in items if item.type == CAPTION] == ["true"] * 3


def test_the_default_shares_take_at_least_one_of_each_split(data: Path):
    items = sample(data / "crepe", 0.02, 0.01, seed=0)
    assert {item.type for item in items} == {CAPTION, "prod_hnatom", "sc_hnatom"}


@pytest.mark.parametrize(
    ("config", "kind"),
    [("laion_uc_hncomp", "uc_hncomp"), ("prod_hnneg_balanced", "prod_hnneg_balanced"), ("vg_relation", "vg_relation")],
)
def test_kinds_are_the_same_for_all_corpora(config: str, kind: str):
    assert kind_of(config) == kind


def as_exported(items: list[Item], wrong: set[str], annotator: object) -> list[dict]:
    """A Label Studio export with an answer to every item, wrong for those of ``wrong``."""
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
                            "value": {"choices": [opposite[item.expected] if item.id in wrong else item.expected]},
                        }
                    ],
                }
            ],
        }
        for number, item in enumerate(items)
    ]


def test_round_trip(data: Path, tmp_path: Path):
    where = ("--annotations", tmp_path / "annotations")
    drawn = call("sample", "crepe", "--captions", 0.1, "--queries", 0.25, "--data", data, *where)
    assert drawn.stdout.endswith("15 texts to annotate.\n"), drawn.output
    folder = tmp_path / "annotations" / "crepe"
    items = read_items(folder)
    negatives = [item for item in items if item.type == "prod_hnatom"]

    for form in ("label-studio", "csv"):
        made = call("export", "crepe", "--output", tmp_path / form, "--format", form, "--data", data, *where)
        assert made.exit_code == 0, made.output
    tasks = json.loads((tmp_path / "label-studio" / "tasks.json").read_text())
    assert [task["data"]["text"] for task in tasks] == [item.text for item in items]
    assert {*tasks[0]["data"]} == {"id", "text", "image"}, "no field tells which texts are captions"

    # Anna errs in two negatives of ten, Ben in one of those and in one more; both are right in all else.
    both, annas, bens = negatives[0].id, negatives[1].id, negatives[2].id
    (tmp_path / "export.json").write_text(
        json.dumps(as_exported(items, {both, annas}, {"id": 7, "email": "anna@x.org"}))
    )
    with (tmp_path / "csv" / "items.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert (tmp_path / "csv" / rows[0]["image"]).read_bytes().startswith(b"\xff\xd8")
    expected = {item.id: item.expected for item in items}
    with (tmp_path / "ben.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows([r | {"answer": "True" if r["id"] in (both, bens) else expected[r["id"]]} for r in rows])

    imported = call("import", "crepe", tmp_path / "export.json", tmp_path / "ben.csv", *where)
    assert imported.stdout.splitlines() == [
        "anna@x.org: 15 of 15 answered",
        "ben: 15 of 15 answered",
        "1 hard negatives rejected by the majority of their annotators",
    ]
    lines = {
        (line["type"], line["complexity"]): line
        for line in json.loads(call("report", "crepe", *where, "--json").stdout)
    }
    line = lines["prod_hnatom", None]
    # Each is right in 8 of 10; they answer alike in 8 (7 both right, 1 both wrong).
    assert (line["items"], line["annotators"]) == (10, 2)
    assert (line["accuracy"], line["deviation"], line["agreement"]) == pytest.approx((0.8, 0.0, 0.8))
    # 20 answers, 16 false, 4 true; observed disagreement 4/20, expected 2 * 16 * 4 / (20 * 19).
    assert line["alpha"] == pytest.approx(1 - (4 / 20) / (128 / 380))
    assert (lines["caption", None]["accuracy"], lines["caption", None]["alpha"]) == (1.0, None)
    assert "91.6 ± 4.2, 83.1" in call("report", "crepe", *where).stdout

    rejections = Rejections.read(folder)
    assert rejections.by_crop == {negatives[0].crop_id: {negatives[0].text}}
    # Ben thinks again: no majority is left.
    (tmp_path / "ben.csv").write_text(f"id,answer\n{both},false\n")
    assert "0 hard negatives rejected" in call("import", "crepe", tmp_path / "ben.csv", *where).stdout
    assert Rejections.read(folder).by_crop == {}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "id,answer\nx,true\n", r"item 'x' is not in the sample"),
        ("a.csv", "id,answer\ni1,maybe\n", r"item i1: the answer 'maybe', expected one of true, false, cannot tell"),
        ("a.csv", "id\ni1\n", r"no column answer; its columns are id"),
        ("a.csv", "id,answer\ni1,\n", r"no item has an answer"),
        ("a.json", "[1]", r"not an export in Label Studio's JSON format"),
        ("a.json", "{", r"not an export in Label Studio's JSON format"),
    ],
)
def test_invalid_forms_are_rejected(tmp_path: Path, name: str, text: str, message: str):
    (tmp_path / name).write_text(text)
    known = {"i1": Item("i1", "c", "s", 0, "", "", CAPTION, 4, "")}
    with pytest.raises(ValueError, match=message):
        answers.read_form(tmp_path / name, known)


def test_cancelled_annotations_are_skipped(tmp_path: Path):
    item = Item("i1", "c", "s", 0, "", "", CAPTION, 4, "")
    (cancelled,), (given,) = as_exported([item], set(), 1), as_exported([item], {"i1"}, 2)
    cancelled["annotations"][0]["was_cancelled"] = True
    (tmp_path / "a.json").write_text(json.dumps([cancelled, given]))
    assert answers.read_form(tmp_path / "a.json", {"i1": item}) == {"2": {"i1": "false"}}


def test_label_studio_accepts_the_config_the_tasks_and_the_answers(tmp_path: Path):
    interface = pytest.importorskip("label_studio_sdk.label_interface").LabelInterface(forms.LABEL_STUDIO)
    interface.validate()
    item = Item("i1", "c", "s", 0, "crop", "", CAPTION, 4, "a cup")
    forms.write_label_studio(tmp_path, [item], {"crop": b"\xff\xd8"})
    (task,) = json.loads((tmp_path / "tasks.json").read_text())
    interface.validate_task(task)
    (answered,) = as_exported([item], set(), 1)
    assert interface.validate_annotation(answered["annotations"][0])
