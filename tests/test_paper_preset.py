"""params/paper.yaml: CREPE as published, from the parameters of every stage to a complete dataset."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from PIL import Image
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from bench.stand_in_models import SMALL, write_language_models
from bench.synthetic_data.formats import write_visual_genome
from bench.synthetic_data.texts import generate_captions
from compeval.base.pipeline.params import read_settings
from compeval.generators import (
    captioned_walks,
    compprompts,
    compun,
    controlledimcaps,
    crepe_productivity,
)
from compeval.generators.graphs.walks import COMPLEXITIES
from compeval.generators.llm.client import KEY_VARIABLE, Endpoint
from compeval.generators.microworld.build import Params
from compeval.loaders.papers.figures import figures
from tests.annotated import annotations_of
from tests.generators.llm_answers import KEY, completion
from tests.graph_captions import GraphCaptions

ROOT = Path(__file__).parent.parent
PRESET = ROOT / "params" / "paper.yaml"
PAGE = ROOT / "docs" / "crepe-on-visual-genome.md"
PROGRAMS = {"python": sys.executable}
FREE_FORM = {"captioner", "own_copies", "cells", "chat", "productivity_variants"}
"""Blocks whose keys are the user's."""


def list_keys(params: Mapping[str, Any], prefix: str = "") -> Iterable[str]:
    """Yield the keys of nested mappings, with dots."""
    for name, value in params.items():
        yield prefix + name
        if isinstance(value, dict) and name not in FREE_FORM:
            yield from list_keys(value, f"{prefix}{name}.")


def test_preset_has_the_keys_of_the_parameters_in_their_order():
    default, preset = (
        yaml.safe_load(path.read_text(encoding="utf-8")) for path in (ROOT / "params.yaml", PRESET)
    )
    assert list(list_keys(preset)) == list(list_keys(default))


def test_preset_is_the_paper_s_crepe():
    params = yaml.safe_load(PRESET.read_text(encoding="utf-8"))
    assert params["rules"] == "paper"
    assert (params["source"], params["spelling"], params["parser"]) == (
        "visual_genome",
        True,
        "sng",
    )
    assert params["crepe_systematicity"]["ranker"] == "bert-base-uncased"
    productivity = params["crepe_productivity"] | params["captioned_walks"]
    assert (productivity["rows"], productivity["visible"], productivity["refine"]) == (
        2250,
        1.0,
        True,
    )
    assert productivity["rows"] >= max(row[0] for row in figures("crepe")["productivity"].values())
    assert params["productivity_variants"] == {}
    assert productivity["entailment"] == "roberta-large-mnli"
    assert "microworld" not in yaml.safe_dump(
        {name: params[name] for name in ("corpora", "aro", "retrieval")}
    )


def test_every_stage_accepts_the_preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shutil.copy2(PRESET, tmp_path / "params.yaml")
    monkeypatch.chdir(tmp_path)
    crepe_productivity.ProductivitySettings.read()
    settings = captioned_walks.CaptionedWalkSettings.read()
    assert Endpoint(**settings.captioner).price_in is not None, (
        "the cost of the captions can be estimated"
    )
    Params.read()
    read_settings(compprompts.CompPromptsSettings, "compprompts")
    read_settings(compun.CompunSettings, "compun")
    read_settings(controlledimcaps.ControlledImCapsSettings, "controlledimcaps")


def test_pipeline_resolves_with_the_preset(tmp_path: Path):
    """DVC reads params.yaml alone, so the preset is copied to it; every value that dvc.yaml uses must be there."""
    shutil.copy2(PRESET, tmp_path / "params.yaml")
    shutil.copy2(ROOT / "dvc.yaml", tmp_path)
    subprocess.run(["dvc", "init", "--no-scm", "--quiet"], cwd=tmp_path, check=True)
    listed = subprocess.run(
        ["dvc", "stage", "list"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        encoding="utf-8",
        # DVC prints the descriptions of dvc.yaml in the encoding of the locale.
        env=os.environ | {"PYTHONUTF8": "1"},
    )
    assert "seen@laion" in listed.stdout


def write_real_images(folder: Path, real_data: Path) -> None:
    """Copy the annotations of Visual Genome's images 1 to 5, and write images of their size."""
    for path in (real_data / "visual_genome/v1.2.0").glob("*.json"):
        (folder / path.name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / path.name)
    for record in json.loads((folder / "image_data.json").read_text(encoding="utf-8")):
        file = folder / "VG_100K" / f"{record['image_id']}.jpg"
        file.parent.mkdir(exist_ok=True)
        Image.new("RGB", (record["width"], record["height"])).save(file)


def write_corpora(folder: Path, phrases: list[str]) -> None:
    """Write the three corpora in the formats of the preset: web text, and every second, third or fourth phrase.

    With a part of the phrases, some atoms and compounds of the test captions are seen and others are not.
    """
    for number, corpus in enumerate(("cc12m", "yfcc", "laion")):
        (folder / corpus).mkdir(parents=True)
        web = (
            text
            for _, text in zip(range(300), generate_captions(corpus, 0, dirt=0.2), strict=False)
        )
        captions = [*web, *phrases[:: number + 2]]
        if corpus == "cc12m":
            lines = (
                f"https://example.com/{n}.jpg\t{' '.join(text.split())}\n"
                for n, text in enumerate(captions)
            )
            (folder / corpus / "cc12m.tsv").write_text("".join(lines), encoding="utf-8")
        else:
            import pyarrow as pa

            column = {"yfcc": "caption", "laion": "TEXT"}[corpus]
            pq.write_table(
                pa.table({"URL": [""] * len(captions), column: captions}),
                folder / corpus / "0.parquet",
            )


def read_commands() -> list[list[str]]:
    """Return the commands of the page, after the download and the copy of the preset."""
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    download, copy, *commands = block.splitlines()
    assert download == "compeval sources get visual_genome"
    assert copy == "cp params/paper.yaml params.yaml"
    return list(map(shlex.split, commands))


def run_pipeline(
    clone: Path, settings: Mapping[str, Mapping[str, Any]], server: HTTPServer
) -> dict[str, Any]:
    """Build CREPE in a clone of the checkout with the preset, by the commands of the page; return its statistics."""
    source = clone / "sources/visual_genome"
    annotations = list(annotations_of(source, clone.parent / "annotations.parquet"))
    language_model = GraphCaptions(image.graph for image in annotations)

    def answer(request: Request) -> Response:
        prompt = json.loads(request.data)["messages"][-1]["content"]
        return Response(
            json.dumps(completion(language_model.answer(prompt))), content_type="application/json"
        )

    server.expect_request("/v1/chat/completions").respond_with_handler(answer)
    phrases = [region.phrase for image in annotations for region in image.regions]
    write_corpora(clone / "corpora/visual_genome", phrases)
    models = write_language_models(clone.parent / "models", phrases, SMALL)
    params = yaml.safe_load(PRESET.read_text(encoding="utf-8"))
    params["crepe_systematicity"] |= {
        "ranker": models["ranker"],
        **settings["crepe_systematicity"],
    }
    params["crepe_productivity"] |= {
        "entailment": models["entailment"],
        **settings.get("crepe_productivity", {}),
    }
    params["captioned_walks"] |= settings["captioned_walks"]
    params["captioned_walks"]["captioner"] |= {"base_url": server.url_for("/v1"), "concurrency": 1}
    (clone / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")
    environment = os.environ | {
        "PYTHONPATH": str(clone),
        KEY_VARIABLE: KEY,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for program, *arguments in read_commands():
        subprocess.run(
            [PROGRAMS.get(program, program), *arguments], cwd=clone, env=environment, check=True
        )
    return json.loads((clone / "crepe/stats.json").read_text(encoding="utf-8"))


def check_complete(stats: Mapping[str, Any], smallest: Mapping[str, int]) -> None:
    """Print the rows of each config and split, and check that systematicity and productivity are not empty.

    ``smallest``: kind of hard negatives -> the smallest number of atoms whose split must have rows. Few graphs of four
    atoms have five swaps that change their meaning (the published set has 27), so few images may have none.
    """
    for config, rows in stats["rows"].items():
        print(f"{config:<24}", *(f"{split} {count}" for split, count in rows.items()))
        assert stats["sources"][config] == ["visual_genome"] * any(rows.values())
    paper_s = [
        config
        for config in stats["rows"]
        if not config.startswith("prod_") and "balanced" not in config
    ]
    empty = [config for config in paper_s if not stats["rows"][config]["test"]]
    for kind, first in {crepe_productivity.RAW: 4, **smallest}.items():
        rows = stats["rows"][f"prod_{kind}"]
        empty += [
            f"prod_{kind}/n{atoms}"
            for atoms in COMPLEXITIES
            if atoms >= first and not rows[f"n{atoms}"]
        ]
    assert not empty


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of the checkout's last commit."""
    subprocess.run(["git", "clone", "--quiet", ROOT, tmp_path / "clone"], check=True)
    return tmp_path / "clone"


@pytest.mark.acceptance
def test_preset_builds_crepe_from_the_real_images(
    clone: Path, real_data: Path, httpserver: HTTPServer
):
    """Five images have few words, so a word is a foil after one occurrence, and an image has more walks.

    The balanced sets need families of words that replace each other, for which five images have too few words. hnall
    needs a graph with negatives of all types, which they do not have at five atoms.
    """
    write_real_images(clone / "sources/visual_genome", real_data)
    settings = {
        "crepe_systematicity": {"at_least": 1},
        "captioned_walks": {"walks_per_image": 8, "attempts": 150},
    }
    smallest = {"hnatom": 4, "hnneg": 4, "hnswap": 4, "hnall": 6}
    check_complete(run_pipeline(clone, settings, httpserver), smallest)


@pytest.mark.acceptance
def test_preset_builds_crepe_from_synthetic_data(clone: Path, httpserver: HTTPServer):
    """Swaps of four or five atoms, and balanced swaps and negations, need more than 300 images."""
    write_visual_genome(clone / "sources/visual_genome", 300)
    settings = {
        "crepe_systematicity": {},
        "crepe_productivity": {"rows": 20},
        "captioned_walks": {"walks": 30},
    }
    smallest = {"hnatom": 4, "hnneg": 4, "hnatom_balanced": 4, "hnswap": 6, "hnall": 6}
    check_complete(run_pipeline(clone, settings, httpserver), smallest)
