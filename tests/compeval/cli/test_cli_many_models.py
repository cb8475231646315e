"""Several models in one call: globs, files of names, dry runs, and a model that fails among others."""

import json
import shutil
from pathlib import Path

import open_clip
import pytest

from compeval.cli.run import add_settings
from compeval.evaluators.models.names import expand
from tests.close import assert_close
from tests.compeval.cli.test_cli import call
from tests.evaluators import tiny

TASK = ("--task", "crepe/prod_hnatom")


@pytest.fixture
def checkpoints(here: Path) -> Path:
    """Three models, of which the weights of the second are cut off."""
    for seed, name in enumerate("abc"):
        tiny.write_clip(here / "checkpoints" / name, seed=seed)
    weights = here / "checkpoints/b/open_clip_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    return here / "checkpoints"


def test_a_model_that_fails_does_not_stop_the_others(checkpoints: Path, data: Path):
    result = call("run", "--model", "local:checkpoints/*", *TASK, "--data", data, "--json")
    assert result.exit_code == 1
    assert [(item["model"]["name"], item["task"]) for item in json.loads(result.stdout)] == [
        (name, f"crepe/prod_hnatom/{split}") for name in "ac" for split in ("n4", "n5")
    ]
    *_, total, reason = result.stderr.splitlines()
    assert total == "1 of 3 models failed:"
    assert reason.startswith("- local:checkpoints/b: checkpoints/b: the model cannot be loaded (")
    assert "Traceback" not in result.output


def test_quiet_hides_notes_but_not_failures(checkpoints: Path, data: Path):
    quiet = call("run", "--model", "local:checkpoints/*", *TASK, "--data", data, "-q")
    assert quiet.exit_code == 1
    total, reason = quiet.stderr.splitlines()
    assert total == "1 of 3 models failed:"
    assert reason.startswith("- local:checkpoints/b: checkpoints/b: the model cannot be loaded (")
    planned = call("run", "local:checkpoints/b", *TASK, "--data", "nowhere", "--dry-run", "-q")
    assert planned.exit_code in (1, 2)
    assert planned.stderr.strip()


def test_unknown_names_and_unexpected_errors_are_reported_too(here: Path, data: Path):
    Path("toy_bug.py").write_text(
        "class Bug:\n    fingerprint = 'bug'\n    def __init__(self, device): ...\n",
        encoding="utf-8",
    )
    with Path("toy_bug.py").open("a", encoding="utf-8") as file:
        file.write("    def score(self, images, texts): raise TypeError('no')\n")
    names = [
        "python:toy_models:Knows",
        "ViT-B-23/openai",
        "python:toy_bug:Bug",
        "python:toy_models:Constant",
    ]
    Path("names.txt").write_text(
        "# two lines\n" + "\n".join(names[1:3]) + "  # a comment\n\n", encoding="utf-8"
    )
    result = call(
        "run",
        names[0],
        "--model",
        names[3],
        "--models",
        "names.txt",
        *TASK,
        "--data",
        data,
        "--json",
    )
    assert result.exit_code == 1
    assert [item["model"]["name"] for item in json.loads(result.stdout)] == [
        "Knows",
        "Knows",
        "Constant",
        "Constant",
    ]
    lines = result.stderr.splitlines()[-3:]
    assert lines[0] == "2 of 4 models failed:"
    assert lines[1].startswith(
        "- ViT-B-23/openai: Unknown open_clip architecture 'ViT-B-23'. Did you mean ViT-B-32"
    )
    assert (
        lines[2]
        == "- python:toy_bug:Bug: score failed (TypeError: no). --verbose prints the traceback."
    )


def test_a_model_named_twice_runs_once_and_all_models_run(here: Path, data: Path):
    names = ["python:toy_models:Knows", "python:toy_models:Constant", "python:toy_models:Knows"]
    result = call(
        "run",
        *(part for name in names for part in ("--model", name)),
        *TASK,
        "--data",
        data,
        "--json",
    )
    assert result.exit_code == 0
    assert [item["model"]["name"] for item in json.loads(result.stdout)] == ["Knows"] * 2 + [
        "Constant"
    ] * 2


def test_dry_run_of_a_glob_needs_neither_network_nor_weights(
    here: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a dry run loads nothing")

    monkeypatch.setattr("compeval.evaluators.models.load_model", refuse)
    monkeypatch.setattr("socket.socket.connect", refuse)
    result = call("run", "--model", "ViT-B-32/*", "--dry-run", "--data", data, "--json")
    assert result.exit_code == 0
    plans = {plan["model"]: plan for plan in json.loads(result.stdout)}
    assert list(plans) == [
        f"ViT-B-32/{tag}" for tag in open_clip.list_pretrained_tags_by_model("ViT-B-32")
    ]
    # The four splits that are not raw: 23 rows of laion, 7 of cc12m, 5 and 4 of productivity. The corpus of these
    # weights is laion, so those of cc12m are left out; the corpus of OpenAI's is unknown.
    assert (plans["ViT-B-32/laion400m_e32"]["tasks"], plans["ViT-B-32/laion400m_e32"]["rows"]) == (
        3,
        32,
    )
    assert (plans["ViT-B-32/openai"]["tasks"], plans["ViT-B-32/openai"]["rows"]) == (4, 39)
    assert {plan["seconds"] for plan in plans.values()} == {None}
    assert not Path("results").exists()


def test_dry_run_counts_what_is_finished_and_cached(checkpoints: Path, data: Path):
    shutil.rmtree(checkpoints / "b")
    assert (
        call(
            "run", "local:checkpoints/a", "--task", "crepe/prod_hnatom/n4", "--data", data
        ).exit_code
        == 0
    )
    result = call(
        "run", "--model", "local:checkpoints/*", *TASK, "--data", data, "--dry-run", "--json"
    )
    a, c = json.loads(result.stdout)
    # n4 has 5 rows: 5 images, 5 captions, and 3 negatives of each: 25 features. n5 has 4 rows.
    assert (a["tasks"], a["finished"], a["rows"], a["cached"]) == (2, 1, 4, 25)
    assert (c["tasks"], c["finished"], c["rows"], c["cached"]) == (2, 0, 9, 0)
    side = json.loads(Path("results/microworld/a.run.json").read_text(encoding="utf-8"))
    assert_close(a["seconds"], side["seconds"] / 5 * 4)
    assert c["seconds"] is None


def test_dry_run_does_not_hash_files_and_the_run_does(
    checkpoints: Path, data: Path, tmp_path: Path
):
    copy = shutil.copytree(data, tmp_path / "copy")
    (path,) = (copy / "crepe/prod_hnatom").glob("n4-*.parquet")
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    arguments = ("run", "local:checkpoints/a", "--task", "crepe/prod_hnatom/n4", "--data", copy)
    assert call(*arguments, "--dry-run").exit_code == 0
    result = call(*arguments)
    assert result.exit_code == 2
    assert "expected (stats.json). The file has changed" in result.stderr


def test_dry_run_names_what_would_fail(here: Path, data: Path):
    result = call(
        "run", "--model", "local:nowhere", "--model", "locl:x", "--dry-run", "--data", data
    )
    assert result.exit_code == 1
    assert "local:nowhere would fail: nowhere/open_clip_config.json: not found." in result.stderr
    assert "locl:x would fail: Unknown model backend 'locl'. Did you mean local" in result.stderr


@pytest.mark.parametrize(
    ("patterns", "content", "message"),
    [
        ([], None, "Name one model, for example ViT-B-32/openai; got none."),
        (["ViT-B-23/*"], None, r"ViT-B-23/\*: no pretrained weights of open_clip match this glob"),
        (
            ["local:nowhere/*"],
            None,
            r"local:nowhere/\*: no folder with an open_clip_config.json match",
        ),
        ([], b"# nothing\n\n", "names.txt: names no model"),
        ([], b"\xff\xfe\x00", "names.txt: not a text file in UTF-8"),
    ],
)
def test_what_names_no_model_is_refused(
    here: Path, patterns: list[str], content: bytes | None, message: str
):
    file = None if content is None else Path("names.txt")
    if file:
        file.write_bytes(content or b"")
    with pytest.raises(ValueError, match=message):
        expand(patterns, file)


@pytest.mark.parametrize(
    ("spec", "settings", "base_url", "expected"),
    [
        ("ViT-B-32/openai", [], None, "ViT-B-32/openai"),
        ("ViT-B-32/openai", ["adapter=lora"], None, "ViT-B-32/openai?adapter=lora"),
        ("vlm:m?think=5", ["scoring=yes"], None, "vlm:m?think=5&scoring=yes"),
        (
            "api:m",
            ["question=Is it {}?"],
            "http://host/v1",
            "api:m?base_url=http://host/v1&question=Is%20it%20%7B%7D%3F",
        ),
    ],
)
def test_settings_are_added_to_specs(
    spec: str, settings: list[str], base_url: str | None, expected: str
):
    assert add_settings(spec, settings, base_url) == expected


@pytest.mark.parametrize(
    ("spec", "settings", "base_url", "message"),
    [
        ("sentence-transformers:m", ["adapter=lora"], None, "--setting is for vlm: and api:"),
        ("python:module:Class", ["adapter=lora"], None, "--setting is for vlm: and api:"),
        ("local:folder", ["scoring=yes", "adapter=lora"], None, "--setting is for vlm: and api:"),
        ("vlm:m", [], "http://host/v1", "--base-url for api: models"),
        ("locl:folder", ["adapter=lora"], None, "Unknown model backend 'locl'. Did you mean local"),
    ],
)
def test_settings_that_a_backend_does_not_have(
    spec: str, settings: list[str], base_url: str | None, message: str
):
    with pytest.raises(ValueError, match=message):
        add_settings(spec, settings, base_url)
