"""End-to-end tests of ``compeval train probe`` and ``compeval probe run`` with a toy model that recognises colours."""

import json
from pathlib import Path

import pytest

from compeval.base.schemas.rows import GROUP_SCHEMA, TEXT_SCHEMA
from compeval.base.storage import dataset
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure
from compeval.trainers.probe import training as probe
from tests.compeval.cli.test_cli import call
from tests.evaluators import tiny
from tests.evaluators.engine.test_protocol_runs import PROVENANCE, groups

COLORS = ("red", "green", "blue", "yellow", "pink")
PROMPTS = {"obj1_adj": ["a red cat", "a pink cat"], "obj1_spatial": ["a red cat on the left"]}
SMALL = ["--epochs", "1", "--batch-size", "8", "--device", "cpu"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dataset folders ``compprompts`` and ``controlledimcaps``."""
    root = tmp_path_factory.mktemp("data")
    for config, prompts in PROMPTS.items():
        atoms = [{"kind": "noun", "text": "cat"}]
        rows = [
            {"prompt": text, "cell": config, "atoms": atoms, "provenance": PROVENANCE}
            for text in prompts
        ]
        dataset.write_config(root / "compprompts", config, {"test": rows}, TEXT_SCHEMA)
    pairs = groups([("red", "green"), ("blue", "pink")])
    for config in ("spatial_1", "adjective"):
        dataset.write_config(root / "controlledimcaps", config, {"test": pairs}, GROUP_SCHEMA)
    photographs = [pair | {"provenance": PROVENANCE | {"source": "photographs"}} for pair in pairs]
    dataset.write_config(
        root / "controlledimcaps_photographs", "verb_1", {"test": photographs}, GROUP_SCHEMA
    )
    for folder in root.iterdir():
        write_card(folder, {}, "", measure(folder) | {"source": "microworld"})
    return root


@pytest.fixture(autouse=True)
def use_tmp_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("COMPEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        probe,
        "SMALL",
        probe.SMALL | {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_decoder_layers": 1},
    )
    (tmp_path / "probed.py").write_text(tiny.MODELS, encoding="utf-8")
    captions = [
        f"{article} {color} {noun}"
        for article in ("a", "the")
        for color in COLORS
        for noun in ("cat", "box")
    ]
    (tmp_path / "texts.tsv").write_text(
        "".join(f"{caption}\thttps://example.org\n" for caption in captions), encoding="utf-8"
    )


def compeval(*arguments: str) -> str:
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_train_and_evaluate_a_probe(data: Path):
    text = ["--text", "texts.tsv", "--column", "0", "--data", str(data)]
    output = compeval(
        "train", "probe", "--text-encoder", "python:probed:Knows", *text, "--output", "p", *SMALL
    )
    assert (
        "20 captions; 2 are a prompt of CompPrompts, 0 contain two nouns of the same prompt"
        in output
    )
    assert json.loads(Path("p/probe.json").read_text(encoding="utf-8"))["overlap"] == {
        "captions": 20,
        "prompts": 2,
        "pairs": 0,
    }
    run = ["probe", "run", "local:p", "--data", str(data), "--device", "cpu"]
    figures = json.loads(compeval(*run, "--summary", "summary", "--json"))["p"]
    assert set(figures["exact_match"]) == set(PROMPTS)
    for name, kinds in {
        "controlledimcaps": {"spatial_1", "adjective"},
        "controlledimcaps_photographs": {"verb_1"},
    }.items():
        assert {
            kind: scores["image"] for kind, scores in figures[name]["scores"].items()
        } == dict.fromkeys(kinds, 1)
    tables = Path("summary/README.md").read_text(encoding="utf-8")
    for line in (
        "| T(x) | EM, cell mean |",
        "| 2 unique objects |",
        "| Spatial 1-obj L/R |",
        "| Verb 1-obj |",
        "image score is zero",
        "ControlledImCaps, photographs: share of pairs",
    ):
        assert line in tables
    assert compeval(*run, "--json") == compeval(*run, "--json")


def test_a_missing_caption_file_is_one_message(data: Path):
    result = call(
        "train",
        "probe",
        "--text-encoder",
        "python:probed:Knows",
        "--text",
        "no.txt",
        "--data",
        data,
    )
    assert (result.exit_code, result.stderr) == (2, "Error: no.txt: no caption file found.\n")
