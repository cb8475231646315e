"""Run a task of every protocol on the command line."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from compeval.base.schemas.rows import (
    CHOICE_SCHEMA,
    COMPOUND_SCHEMA,
    GROUP_SCHEMA,
    RETRIEVAL_SCHEMA,
    TEXT_SCHEMA,
    classification_schema,
)
from compeval.base.storage import dataset
from compeval.cli import app
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from tests.close import assert_close
from tests.evaluators import tiny

MODELS = '''
import numpy as np

COLORS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0), "pink": (255, 0, 255)}


class Sees:
    """Encodes images and texts as the sum of the colours that they show or name."""

    fingerprint = "sees"

    def __init__(self, device): ...

    def encode_image(self, images):
        return [np.asarray(image).reshape(-1, 3).mean(axis=0) for image in images]

    def encode_text(self, texts):
        return [sum((np.array(COLORS[word.strip(".")]) for word in text.split() if word.strip(".") in COLORS), np.ones(3)) for text in texts]


class ReRanks(Sees):
    """Re-ranks the best candidate of each query by the same cosine."""

    fingerprint, num_reranked = "re-ranks", 1

    def score(self, images, texts):
        pairs = zip(self.encode_image(images), self.encode_text(texts))
        return [np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b) for a, b in pairs]


class Matches:
    fingerprint = "matches"

    def __init__(self, device): ...

    def score(self, images, texts):
        return ReRanks("cpu").score(images, texts)


class Forgets:
    """Gives texts back without their last word where it is long."""

    fingerprint = "forgets"

    def __init__(self, device): ...

    def recover(self, texts):
        return [text if len(text.split()[-1]) < 5 else text.rsplit(" ", 1)[0] for text in texts]
'''  # noqa: E501
PROVENANCE = {"source": "microworld", "captioner": "test", "seed": 0}


def image(color: str) -> dict[str, Any]:
    return {"bytes": tiny.picture(color), "path": None}


def crop(color: str, number: int) -> dict[str, Any]:
    place = dict.fromkeys(("x", "y", "width", "height"), 1.0)
    return {
        "image": image(color),
        "crop_id": color,
        "image_id": f"image {number}",
        **place,
        "provenance": PROVENANCE,
    }


def choices(colors: Iterable[str]) -> list[dict[str, Any]]:
    return [
        crop(color, number)
        | {
            "caption": f"a {color} ball",
            "hard_negatives": ["a green ball" if color != "green" else "a red ball"],
            "categories": [
                {"by": "warmth", "name": "warm" if color in ("red", "yellow") else "cold"}
            ],
        }
        for number, color in enumerate(colors)
    ]


def retrieval(colors: Iterable[str]) -> list[dict[str, Any]]:
    """Yield rows in which image number i has i + 1 captions."""
    return [
        crop(color, number)
        | {
            "captions": [f"a {color} {noun}" for noun in ("ball", "box", "cat")[: number + 1]],
            "categories": [],
        }
        for number, color in enumerate(colors)
    ]


def groups(pairs: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        {
            **{f"image_{place}": image(color) for place, color in enumerate(pair)},
            **{f"crop_id_{place}": color for place, color in enumerate(pair)},
            **{f"caption_{place}": f"a {color} ball" for place, color in enumerate(pair)},
            "image_id": str(number),
            "categories": [],
            "provenance": PROVENANCE,
        }
        for number, pair in enumerate(pairs)
    ]


def compounds(prompts: Iterable[list[str]]) -> list[dict[str, Any]]:
    """Yield rows whose compound image is pink and whose constituent images are red and blue."""
    colors = {"": "pink", "_n1": "red", "_n2": "blue"}
    return [
        {
            **{f"image{part}": image(color) for part, color in colors.items()},
            **{f"crop_id{part}": color for part, color in colors.items()},
            "compound": "redblue",
            "n1": "red",
            "n2": "blue",
            "prompts": texts,
            "image_id": str(number),
            "categories": [],
            "provenance": PROVENANCE,
        }
        for number, texts in enumerate(prompts)
    ]


def texts(prompts: Iterable[str]) -> list[dict[str, Any]]:
    return [
        {"prompt": prompt, "cell": f"{len(prompt)} letters", "atoms": [], "provenance": PROVENANCE}
        for prompt in prompts
    ]


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a dataset ``kinds`` with one config per protocol and return its data folder."""
    root = tmp_path_factory.mktemp("kinds")
    classes = classification_schema(["red", "green", "blue"])
    classified = [
        crop(color, number) | {"label": label} for number, (color, label) in enumerate(CLASSIFIED)
    ]
    rows: dict[str, tuple[pa.Schema, dict[str, list[dict[str, Any]]]]] = {
        "order": (
            CHOICE_SCHEMA,
            {"test.s0": choices(["red", "green", "yellow"]), "test.s1": choices(["blue"])},
        ),
        "search": (RETRIEVAL_SCHEMA, {"test": retrieval(["red", "green", "blue"])}),
        "pairs": (GROUP_SCHEMA, {"test": groups([("red", "blue"), ("red", "red")])}),
        "nouns": (
            COMPOUND_SCHEMA,
            {"test": compounds([["a pink ball"], ["a red ball", "a blue ball"], ["a red ball"]])},
        ),
        "classes": (classes, {"test": classified}),
        "prompts": (TEXT_SCHEMA, {"test": texts(["a red ball", "a red balloon"])}),
    }
    for config, (schema, splits) in rows.items():
        dataset.write_config(root / "kinds", config, splits, schema)
    write_card(root / "kinds", {}, "", measure(root / "kinds"))
    return root


CLASSIFIED = [("red", 0), ("green", 1), ("blue", 2), ("red", 2)]


def run(kinds: Path, here: Path, model: str, *tasks: str) -> list[dict[str, Any]]:
    (here / "kinds_models.py").write_text(MODELS, encoding="utf-8")
    asked = [part for task in tasks for part in ("--task", task)]
    result = CliRunner().invoke(
        app,
        ["run", "--model", f"python:kinds_models:{model}", "--data", str(kinds), "--json", *asked],
    )
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_choice_with_categories_and_variants(kinds: Path, here: Path):
    first, second = run(kinds, here, "Sees", "kinds/order")
    assert (first["task"], second["task"]) == ("kinds/order@s0", "kinds/order@s1")
    assert first["main"] == ["recall@1"]
    # Red against green, green against red: right. Yellow is as near to green as to itself? No: cos(yellow, green) < 1.
    assert first["metrics"]["recall@1"] == first["metrics"]["recall@1_macro_warmth"] == 1.0
    assert {name: part["rows"] for name, part in first["categories"]["warmth"].items()} == {
        "cold": 1,
        "warm": 2,
    }
    assert first["chance"]["recall@1_macro_warmth"] == 0.5


@pytest.mark.parametrize("model", ["Sees", "ReRanks"])
def test_retrieval_with_several_captions(kinds: Path, here: Path, model: str):
    (result,) = run(kinds, here, model, "kinds/search")
    assert result["main"] == ["i2t_recall@1", "t2i_recall@1"]
    assert (result["metrics"]["i2t_recall@1"], result["metrics"]["t2i_recall@1"]) == (1.0, 1.0)
    # Images with 1, 2 and 3 of 6 captions; each caption has one image of three.
    assert_close(result["chance"]["i2t_recall@1"], (1 / 6 + 2 / 6 + 3 / 6) / 3)
    assert_close(result["chance"]["t2i_recall@1"], 1 / 3)
    table = pq.read_table(f"results/microworld/{model}/kinds/search.parquet")
    assert table["t2i_rank"].to_pylist() == [[1], [1, 1], [1, 1, 1]]


@pytest.mark.parametrize("model", ["Sees", "Matches", "ReRanks"])
def test_groups(kinds: Path, here: Path, model: str):
    (result,) = run(kinds, here, model, "kinds/pairs")
    # Two reds cannot be told apart: all four scores of the second item are equal.
    assert result["main"] == ["text_score", "image_score", "group_score"]
    assert [result["metrics"][name] for name in result["main"]] == [0.5, 0.5, 0.5]
    assert result["metrics"]["group_tie_rate"] == 0.5


@pytest.mark.parametrize("model", ["Sees", "Matches"])
def test_compounds(kinds: Path, here: Path, model: str):
    (result,) = run(kinds, here, model, "kinds/nouns")
    # Pink for pink; the mean of red and blue is nearest to pink; red alone is red.
    assert_close(result["metrics"]["recall@1"], 2 / 3)
    assert ("all_recall@1" in result["metrics"]) == (model == "Sees")


def test_classification(kinds: Path, here: Path):
    (result,) = run(kinds, here, "Sees", "kinds/classes")
    assert_close([result["metrics"]["top1"], result["chance"]["top1"]], [0.75, 1 / 3])
    table = pq.read_table("results/microworld/Sees/kinds/classes.parquet")
    assert table["predicted"].to_pylist() == [0, 1, 2, 0]
    # Mean per class: 1, 1, 1/2.
    assert_close(result["metrics"]["top1_macro_label"], 5 / 6)


@pytest.mark.parametrize("models", [("Sees", "Matches"), ("Matches", "Sees")])
def test_a_dual_encoder_and_a_pair_scorer_are_compared_on_their_common_metrics(
    kinds: Path, here: Path, models: tuple[str, str]
):
    for model in models:
        run(kinds, here, model, "kinds/nouns")
    folders = [f"results/microworld/{model}" for model in models]
    lines = json.loads(CliRunner().invoke(app, ["compare", *folders, "--json"]).stdout)
    assert [(line["task"], line["metric"]) for line in lines] == [("kinds/nouns", "recall@1")]


@pytest.mark.parametrize("label", [-1, 3])
def test_a_label_without_a_class_is_named(here: Path, tmp_path: Path, label: int):
    rows = [crop("red", 0) | {"label": 0}, crop("green", 1) | {"label": label}]
    dataset.write_config(
        tmp_path / "kinds",
        "classes",
        {"test": rows},
        classification_schema(["red", "green", "blue"]),
    )
    write_card(tmp_path / "kinds", {}, "", measure(tmp_path / "kinds"))
    (here / "kinds_models.py").write_text(MODELS, encoding="utf-8")
    arguments = [
        "run",
        "--model",
        "python:kinds_models:Sees",
        "--data",
        str(tmp_path),
        "--task",
        "kinds/classes",
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert f"kinds/classes, row 1: label {label}, expected 0 to 2." in result.stderr


def test_texts(kinds: Path, here: Path):
    (result,) = run(kinds, here, "Forgets", "kinds/prompts")
    assert result["metrics"]["exact_match"] == result["metrics"]["exact_match_macro_cell"] == 0.5
    assert_close(
        result["categories"]["cell"]["10 letters"], {"rows": 1, "exact_match": 1.0, "bleu4": 1.0}
    )


def test_by_default_a_model_runs_the_tasks_that_it_supports(kinds: Path, here: Path):
    assert [result["task"] for result in run(kinds, here, "Forgets")] == ["kinds/prompts"]
    assert [result["task"].partition("@")[0] for result in run(kinds, here, "Matches")] == [
        f"kinds/{config}" for config in ("nouns", "order", "order", "pairs")
    ]


@pytest.mark.parametrize(
    ("model", "task", "message"),
    [
        (
            "Sees",
            "kinds/prompts",
            "Error: kinds/prompts: this task recovers texts from their vectors",
        ),
        ("Forgets", "kinds/order@s0", "Error: kinds/order@s0: Forgets encodes no images."),
        (
            "Matches",
            "kinds/classes",
            "Error: kinds/classes: classification needs a score for each of 960 pairs",
        ),
    ],
)
def test_an_unsupported_task_is_one_message(
    kinds: Path, here: Path, model: str, task: str, message: str
):
    (here / "kinds_models.py").write_text(MODELS, encoding="utf-8")
    told = ["run", "--model", f"python:kinds_models:{model}", "--data", str(kinds), "--task", task]
    result = CliRunner().invoke(app, told)
    assert (result.exit_code, result.stderr.lstrip()[: len(message)]) == (2, message)


def test_compare_supports_every_protocol(kinds: Path, here: Path):
    tasks = ("kinds/search", "kinds/pairs", "kinds/classes", "kinds/nouns")
    run(kinds, here, "Sees", *tasks)
    folder = "results/microworld/Sees"
    lines = json.loads(CliRunner().invoke(app, ["compare", folder, folder, "--json"]).stdout)
    assert [(line["task"], line["metric"], line["rows"]) for line in lines] == [
        ("kinds/classes", "top1", 4),
        ("kinds/nouns", "recall@1", 3),
        ("kinds/nouns", "all_recall@1", 3),
        ("kinds/pairs", "text_score", 2),
        ("kinds/pairs", "image_score", 2),
        ("kinds/pairs", "group_score", 2),
        ("kinds/search", "i2t_recall@1", 3),
        ("kinds/search", "t2i_recall@1", 6),
        ("mean over 8 tasks", "share of hits", 25),
    ]
    assert all((line["difference"], line["mcnemar"]) == (0.0, 1.0) for line in lines[:-1])
    assert lines[-1]["difference"] == 0
