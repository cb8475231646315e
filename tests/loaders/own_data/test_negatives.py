"""``compeval make --negatives``: from a table of captions to a dataset."""

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from compeval.base.readers.records import Flaws
from compeval.base.storage import parquet
from compeval.generators.hard_negatives.aro.word_order import Tagger
from compeval.generators.hard_negatives.own.language_model import LanguageModel, Texts
from compeval.generators.llm.client import KEY_VARIABLE, Endpoint
from compeval.generators.parser.caption_parser import make_parser
from compeval.generators.seen_analysis import engines
from compeval.loaders.audit import audit_dataset
from compeval.loaders.load import load_dataset
from compeval.loaders.own_data import captions
from compeval.loaders.own_data.columns import UserColumns
from compeval.loaders.own_data.graphs import read_graphs
from compeval.loaders.own_data.options import NegativeOptions
from compeval.loaders.user_files import make
from tests.generators.llm_answers import KEY, completion
from tests.rows import picture

load_parser, load_tagger = cache(make_parser), cache(Tagger)
CAPTIONS = {
    1: ["A black dog on a white couch.", "A dog sits on a couch."],
    2: ["A red car next to a green truck.", "Two vehicles on a street."],
    3: ["a young boy holding a blue umbrella"],
    4: ["a yellow kite above a wooden boat", "a kite in the sky"],
    5: ["a white dog on a black couch", "a black cat on a white couch"],
    6: ["a blue car next to a green truck", "a red bicycle next to a green truck"],
    7: ["a young boy holding a red umbrella", "a young boy holding a blue kite"],
}


@pytest.fixture(autouse=True)
def _load_models_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (captions, engines):
        monkeypatch.setattr(module, "make_parser", load_parser)
    monkeypatch.setattr(captions, "Tagger", load_tagger)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with (tmp_path / "captions.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file_name", "text", "wrong", "also wrong", "type"])
        for number, captions in CAPTIONS.items():
            name = picture(tmp_path, number).name
            writer.writerows([name, text, "a lion", "", "animal"] for text in captions)
    (tmp_path / "corpus.txt").write_text(
        "a black dog\na white couch\na dog on a couch\na red car, a green truck\n", encoding="utf-8"
    )
    return tmp_path


COLUMNS = UserColumns("file_name", "text", ("wrong", "also wrong"), "type")


def build(folder: Path, **options) -> dict:
    kinds = options.pop("kinds", ("atom", "swap", "negation", "order"))
    return make(
        "mine", [folder / "captions.csv"], None, folder, COLUMNS, NegativeOptions(kinds, **options)
    )


def read_rows(config: str, folder: Path) -> list[dict[str, Any]]:
    dataset: Any = load_dataset("mine", config, "test", folder)
    return list(dataset)


def test_captions_become_hard_negatives_of_every_kind(folder: Path):
    reported: list[tuple[str, int, int | None]] = []
    stats = build(folder, report=lambda *step: reported.append(step))
    assert reported[6:8] == [
        ("Parsing captions of images", 7, None),
        ("Parsing captions of images", 7, 7),
    ]
    assert reported[-1] == ("Hard negatives of images", 7, 7)
    assert {"captions", "foils_1", "atom", "swap", "negation", "order"} <= stats["rows"].keys()
    assert stats["rows"]["captions"] == {"test": 7}
    rows = read_rows("atom", folder)
    assert rows[0]["image"].size == (100, 80)
    for row in rows:
        assert len(set(row["hard_negatives"])) == len(row["proven"]) == 1
        assert row["categories"] == [{"by": "atoms", "name": str(row["complexity"])}]
    for config in ("atom", "swap", "negation", "order"):
        for row in read_rows(config, folder):
            assert {*CAPTIONS[int(Path(row["image_id"]).stem)]}.isdisjoint(row["hard_negatives"])
    (own,) = {tuple(map(str, row["categories"])) for row in read_rows("foils_1", folder)}
    assert "animal" in own[0]
    assert stats["negatives"]["proven"]["swap"] == stats["negatives"]["proven"]["negation"] == 1.0
    assert stats["negatives"]["proven"]["order"] is None
    card = (folder / "mine/README.md").read_text(encoding="utf-8")
    assert "| swap |" in card
    assert "100.0%" in card
    audits = audit_dataset(folder / "mine")
    assert not any(
        sum(audits[f"{config}/test"].flaws.values()) for config in ("atom", "swap", "negation")
    )
    assert build(folder)["version"] == stats["version"]


def test_a_corpus_divides_captions_into_seen_and_unseen_compounds(folder: Path):
    stats = build(folder, kinds=("negation",), corpus=[str(folder / "corpus.txt")])
    found = {
        config: {row["caption"] for row in read_rows(config, folder)}
        for config in stats["rows"]
        if config.endswith("negation")
    }
    assert found["sc_negation"] == {"A black dog on a white couch."}
    assert not any("car" in text or "boy" in text for text in found["sc_negation"])
    assert stats["negatives"]["corpus"]["splits"]["ua"] >= 2, "the corpus has no boy and no kite"


def test_rejected_negatives_do_not_come_back(folder: Path):
    build(folder, kinds=("atom", "order"))
    (folder / "annotations").mkdir()
    rejected = [
        (row["crop_id"], row["image_id"], row["hard_negatives"][0])
        for config in ("atom", "order")
        for row in read_rows(config, folder)
    ]
    with (folder / "annotations/rejected.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("crop_id", "image_id", "text"), *rejected])
    stats = build(folder, kinds=("atom", "order"), annotations=folder / "annotations")
    texts = {
        (row["crop_id"], text)
        for path in (folder / "mine").glob("*/*.parquet")
        if path.parent.name in ("atom", "order")
        for row in parquet.read_table(path, ["crop_id", "hard_negatives"]).to_pylist()
        for text in row["hard_negatives"]
    }
    assert texts.isdisjoint({(crop, text) for crop, _, text in rejected})
    assert stats["negatives"]["counts"]["negatives that people judged true"] == len(rejected)


def answer(request: Request) -> Response:
    """Write four negatives of atoms of the black dog, and judge those with a puppy to be true."""
    text = json.loads(request.data)["messages"][-1]["content"]
    if "Write" not in text:
        return Response(json.dumps(completion("True." if "puppy" in text else "false")))
    animals = (
        ["puppy", "cat", "dog", "horse", "wolf", "fox"]
        if "A black dog" in text.split("Write")[1]
        else []
    )
    return Response(
        json.dumps(
            completion(json.dumps([f"A black {animal} on a white couch" for animal in animals]))
        )
    )


def test_a_language_model_writes_and_judges_negatives(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    by_rules = build(folder, kinds=("atom",))
    with HTTPServer(host="127.0.0.1") as server:
        server.expect_request("/v1/chat/completions").respond_with_handler(answer)
        endpoint = Endpoint("m", server.url_for("/v1"), price_in=0.0, price_out=0.0)
        options = {"kinds": ("atom",), "model": LanguageModel(endpoint, folder / "llm")}
        stats = build(folder, **options, max_cost=0.0)
        requests = len(server.log)
        options["model"] = LanguageModel(endpoint, folder / "llm")
        assert build(folder, **options)["version"] == stats["version"], "answers are cached"
        assert len(server.log) == requests > 6
    rows = {row["caption"]: row for row in read_rows("atom", folder)}
    # The dog is the caption, and the puppy is judged true: the cat is the first that is left.
    row = rows["A black dog on a white couch."]
    assert row["hard_negatives"] == ["A black cat on a white couch."]
    assert row["proven"] == [False]
    counts = stats["negatives"]["counts"]
    assert counts["negatives that the language model wrote"] == 1
    assert counts["requests to the language model: answered"] == requests
    assert stats["rows"]["atom"]["test"] == by_rules["rows"]["atom"]["test"], (
        "the rules write the other negatives"
    )


@pytest.mark.parametrize(
    ("kind", "texts", "usable"),
    [
        (
            "swap",
            ["a white dog on a black couch", "a white cat on a black couch"],
            ["A white dog on a black couch."],
        ),
        (
            "negation",
            ["A black dog not on a white couch.", "a dog"],
            ["A black dog not on a white couch."],
        ),
        (
            "atom",
            [
                "A black dog on a white couch!",
                "a man",
                "a black cat on a white couch and a man with a hat",
            ],
            [],
        ),
    ],
)
def test_only_usable_answers_of_a_language_model_are_negatives(
    kind: str, texts: list[str], usable: list[str]
):
    caption = "A black dog on a white couch."
    assert Texts(caption, (caption, "A dog sits."), kind, 1).select(json.dumps(texts)) == usable


def test_scene_graphs_of_coco_are_used(folder: Path, capsys: pytest.CaptureFixture[str]):
    content = {
        "images": [
            {"id": 7, "file_name": "1.jpg", "width": 100, "height": 80},
            {"id": 8, "file_name": "9.jpg"},
            {"id": 9},
        ],
        "annotations": [
            {"image_id": 7, "category_id": 1, "bbox": [0, 0, 50, 50]},
            {"image_id": 7, "category_id": 2, "bbox": [0, 40, 90, 40]},
            {"image_id": 7, "category_id": 99, "bbox": [0, 0, 1, 1]},
            {"image_id": 7, "category_id": 1, "bbox": "wide"},
            {"category_id": 1},
            "none",
        ],
        "categories": [
            {"id": 1, "name": "dog"},
            {"id": 2, "name": "couch"},
            {"id": 3, "name": "cat"},
        ],
    }
    (folder / "instances_val2017.json").write_text(json.dumps(content), encoding="utf-8")
    stats = build(folder, kinds=("atom",), graphs=[folder / "instances_val2017.json"])
    assert stats["negatives"]["counts"]["images with a scene graph"] == 1
    assert stats["negatives"]["counts"]["scene graphs: malformed record"] == 5
    assert "5 flawed records (malformed record). The first: " in capsys.readouterr().err
    content["categories"].append({"id": 4})
    (folder / "instances_val2017.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match=r'category 3: got \{"id": 4\}, expected an id and a name'):
        build(folder, kinds=("atom",), graphs=[folder / "instances_val2017.json"])


@pytest.mark.parametrize(
    ("path", "images"), [("visual_genome/v1.0.0", 5), ("visual_genome/v1.2.0", 5), ("gqa", 4)]
)
def test_real_scene_graphs_are_used(tmp_path: Path, real_data: Path, path: str, images: int):
    """Captions name the first objects of each graph; no negative names another object of the image."""
    graphs = {image.image_id: image for image in read_graphs([real_data / path], Flaws())}
    with (tmp_path / "captions.jsonl").open("w", encoding="utf-8") as file:
        for number, image in enumerate(graphs.values(), 1):
            name = picture(tmp_path, number).rename(tmp_path / f"{image.image_id}.jpg").name
            captions = [
                f"a {' '.join([*item.attributes[:1], item.name])}"
                for item in image.graph.objects[:6]
            ]
            file.write(json.dumps({"image": name, "captions": captions}) + "\n")
    options = NegativeOptions(("atom", "negation"), graphs=[real_data / path])
    stats = make("mine", [tmp_path / "captions.jsonl"], None, tmp_path, negatives=options)
    assert stats["negatives"]["counts"]["images with a scene graph"] == len(graphs) == images
    assert stats["negatives"]["proven"]["atom"] == 1.0
    rows = read_rows("atom", tmp_path)
    assert rows
    for row in rows:
        image = graphs[Path(row["image_id"]).stem]
        names = {
            name
            for item in image.graph.objects
            for name in (item.name, *image.other_names.get(item.id, ()))
        }
        foils = [foil for foils in row["foils"] for foil in foils if foil["type"] == "object"]
        assert names.isdisjoint(foil["to"] for foil in foils)


def test_scene_graphs_of_other_images_are_an_error(folder: Path):
    content = {
        "77": {
            "width": 9,
            "height": 9,
            "objects": {"1": {"name": "cat", "x": 0, "y": 0, "w": 5, "h": 5}},
        }
    }
    (folder / "val_sceneGraphs.json").write_text(json.dumps(content), encoding="utf-8")
    message = "none of 1 scene graphs belongs to an image.*got the ids 77, and the images 1, 2, 3"
    with pytest.raises(ValueError, match=message):
        build(folder, graphs=[folder / "val_sceneGraphs.json"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"kinds": ("atom", "swop")},
            "--negatives: unknown kind swop; known: atom, comp, swap, negation, order",
        ),
        ({"corpus": ["none*.txt"]}, r"none\*\.txt: no caption file found"),
        ({"graphs": [Path("none.json")]}, "none.json: no such file or folder of scene graphs"),
    ],
)
def test_wrong_options_are_named(folder: Path, options: dict, message: str):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        build(folder, **options)
    assert not (folder / "mine").exists()


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_missing_columns_are_named_with_the_options(tmp_path: Path, suffix: str):
    text = (
        "file_name,positive\n1.jpg,a cup\n"
        if suffix == "csv"
        else '{"file_name": "1.jpg", "positive": "a cup"}\n'
    )
    (tmp_path / f"a.{suffix}").write_text(text, encoding="utf-8")
    message = r"row 1: no column image, caption; its columns are file_name, positive\. Name them with --image-column"
    with pytest.raises(ValueError, match=message):
        make("mine", [tmp_path / f"a.{suffix}"], None, tmp_path)


def test_a_negative_that_equals_its_caption_is_an_error_or_dropped(folder: Path):
    name = picture(folder, 1).name
    row = {"image": name, "caption": "A cup.", "hard_negatives": ["a cup", "a hat"]}
    (folder / "a.jsonl").write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"row 1: the hard negative 'a cup' equals a caption.*--drop-equal"
    ):
        make("other", [folder / "a.jsonl"], None, folder)
    (folder / "b.jsonl").write_text(
        json.dumps(row | {"hard_negatives": ["a hat", "a pen", "A hat."]}), encoding="utf-8"
    )
    with pytest.raises(
        ValueError, match=r"row 1: the hard negative 'A hat.' is there twice.*--drop-equal"
    ):
        make("other", [folder / "b.jsonl"], None, folder)
    assert make("b", [folder / "b.jsonl"], None, folder, drop_equal=True)["rows"]["foils_2"] == {
        "test": 1
    }
    stats = make("other", [folder / "a.jsonl"], None, folder, drop_equal=True)
    assert stats["rows"] == {"captions": {"test": 1}, "foils_1": {"test": 1}}


def test_a_table_is_loaded_without_a_dataset(folder: Path):
    columns = {"image_column": "file_name", "caption_column": "text", "kind_column": "type"}
    table: Any = load_dataset(str(folder / "captions.csv"), **columns, negative_columns=["wrong"])
    rows = list(table)
    assert {**rows[0], "image": None} == {
        "image": None,
        "image_id": "1.jpg",
        "captions": ["A black dog on a white couch."],
        "hard_negatives": ["a lion"],
        "kind": "animal",
    }
    assert (
        list(load_dataset(str(folder / "captions.csv"), **columns, negative_columns="wrong"))
        == rows
    )
    with pytest.raises(TypeError, match="a table has no split and no revision"):
        load_dataset(str(folder / "captions.csv"), split="test", revision="main", **columns)
    with pytest.raises(ValueError, match="a shard has neither columns nor a folder of images"):
        load_dataset("a.tar", **columns)
    with pytest.raises(ValueError, match="unknown colour_column; known: image_column"):
        load_dataset(str(folder / "captions.csv"), colour_column="x")
    with pytest.raises(ValueError, match="needs a config"):
        load_dataset("mine")


def test_long_captions_are_counted_and_not_parsed(folder: Path):
    long = " and ".join(["a dog"] * 200)
    with (folder / "captions.csv").open("a", newline="") as file:
        csv.writer(file).writerow(["1.jpg", long, "a lion", "", "animal"])
    stats = build(folder)
    assert stats["negatives"]["counts"]["captions of more than 1,000 characters"] == 1
    assert stats["negatives"]["counts"]["captions that the parser cannot read"] == 0
    captions = {row["caption"] for row in read_rows("atom", folder)}
    assert captions
    assert long not in captions


def test_balanced_sets_are_filled(tmp_path: Path):
    """Each of 216 images shows one of six objects in one of six colours; each compound is true of six images."""
    colours, nouns = (
        ["red", "blue", "green", "yellow", "black", "white"],
        ["dog", "cat", "horse", "car", "boat", "kite"],
    )
    with (tmp_path / "captions.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "caption"])
        for number in range(216):
            name = picture(tmp_path, number).name
            writer.writerow([name, f"a {colours[number % 6]} {nouns[number // 6 % 6]}"])
    options = NegativeOptions(("atom",))
    stats = make("mine", [tmp_path / "captions.csv"], None, tmp_path, negatives=options)
    rows = read_rows("atom_balanced", tmp_path)
    assert len(rows) == stats["rows"]["atom_balanced"]["test"] >= 50
    best = stats["negatives"]["baselines"]
    assert best["atom_balanced"]["share"] <= best["atom"]["share"]
    assert best["atom"]["chance"] == 0.5
    assert {row["caption"] for row in rows} <= {
        row["caption"] for row in read_rows("atom", tmp_path)
    }


def test_small_sets_are_not_balanced_and_the_reason_is_given(folder: Path):
    stats = build(folder, kinds=("atom",))
    rows = stats["rows"]["atom"]["test"]
    assert stats["negatives"]["unbalanced"] == {"atom": f"it has {rows} rows; 100 are needed"}
    without = stats["negatives"]["reasons"]["atom"]
    captions = stats["negatives"]["counts"]["captions with distinct atoms"]
    assert sum(without.values()) == captions - rows
    assert any("no false change that other captions support" in reason for reason in without)


@pytest.mark.parametrize(
    ("verdict", "of_rules", "written"),
    [
        ("False.", True, True),
        ("**No**, the cat is black.", True, True),
        ("True", False, False),
        ("unknown", False, False),
        ("Absurd.", False, False),
        ("Let me look at the captions", True, False),
        ("Not enough information.", True, False),
        ("", True, False),
    ],
)
def test_what_a_model_writes_needs_a_clear_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: str, of_rules: bool, written: bool
):
    texts = Texts("a cat", ("a cat",), "atom", 1)
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with HTTPServer(host="127.0.0.1") as server:
        server.expect_request("/v1/chat/completions").respond_with_json(completion(verdict))
        endpoint = Endpoint("m", server.url_for("/v1"), price_in=0.0, price_out=0.0)
        model = LanguageModel(endpoint, tmp_path)
        if verdict:  # without an answer, nothing is stored
            model.ask([texts], [["a dog"]], max_cost=0.0)
    assert [*model.drop_true(texts, ["a dog"], needs_verdict=False)] == ["a dog"] * of_rules
    assert [*model.drop_true(texts, ["a dog"], needs_verdict=True)] == ["a dog"] * written
