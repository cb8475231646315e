"""``compeval get`` against a local server: annotations, single images, archives, and what can go wrong."""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from compeval.cli import app
from generators.sources import RemoteFile, download
from loaders import benchmarks
from loaders.datasets.load import load_dataset
from tests.generators.sources.server import Site, serve

PAIRS = [
    {"id": number, "filename": f"{number % 2:012}.jpg", "caption": f"red cup {number}",
     "caption2": f"a cup {number} that is red", "negative_caption": f"blue cup {number}"}
    for number in range(5)
]  # fmt: skip
CONTENT = json.dumps(PAIRS).encode()


def picture(value: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 6), (value, 60, 0)).save(file, "JPEG")
    return file.getvalue()


def pin(name: str, content: bytes, makes: str | None = None) -> RemoteFile:
    return RemoteFile(f"http://nowhere.invalid/{name}", name, makes, len(content), hashlib.sha256(content).hexdigest())


def archive(files: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        for name, content in files.items():
            zipped.writestr(name, content)
    return file.getvalue()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Site]:
    """A mirror with one file and two images of SugarCrepe++, and the images of ImageCoDe and Winoground in archives."""
    monkeypatch.setattr(download, "PAUSE", 0.0)
    monkeypatch.setenv("COMPEVAL_DATA", str(tmp_path / "data"))
    folder = "image-sets/video-x"
    sets = archive({f"{folder}/img{3 * n}.jpg": picture(20 * n) for n in range(10)})
    examples = b"".join(
        json.dumps({
            "id": n, "image_0": f"ex_{n}_img_0", "image_1": f"ex_{n}_img_1", "caption_0": "an old dog",
            "caption_1": "a dog old", "collapsed_tag": "Relation", "secondary_tag": "",
        }).encode() + b"\n"
        for n in range(3)
    )  # fmt: skip
    photographs = archive({f"images/ex_{n}_img_{i}.png": picture(40 * n + i) for n in range(3) for i in (0, 1)})
    valid = json.dumps({"video-x": {"4": "a dog"}}).encode()
    files = {
        "sugarcrepe_pp": [("swap_obj.json", CONTENT, None)],
        "imagecode": [("valid_data.json", valid, None)],
        "winoground": [("data/examples.jsonl", examples, None)],
        "valse": [("relations.json", valse("coco_2017"), None), ("existence.json", valse("visual7w"), None)],
    }
    archives = {
        "imagecode": ("image-sets.zip", sets, "image-sets"),
        "winoground": ("data/images.zip", photographs, "images"),
    }
    load = benchmarks.load

    def load_served(name: str):
        benchmark = load(name)
        if name in archives:
            images = replace(benchmark.find_images(files[name][0][0]), archives=(pin(*archives[name]),))
            benchmark = replace(benchmark, images=dict.fromkeys(benchmark.files, images))
        pins = tuple(pin(*file) for file in files.get(name, []))
        return replace(benchmark, source=replace(benchmark.source, files=pins)) if pins else benchmark

    monkeypatch.setattr(benchmarks, "load", load_served)
    served = {f"/{name}/{file[0]}": file[1] for name, items in files.items() for file in items}
    served |= {f"/{name}/{file[0]}": file[1] for name, file in archives.items()}
    served |= {f"/coco/val2017/{n:012}.jpg": picture(100 * n) for n in (0, 1)}
    with serve(Site(files=served)) as running:
        yield running


def get(name: str, site: Site, *options: str) -> Result:
    return CliRunner().invoke(app, ["get", name, "--mirror", site.url, *options])


def test_get_downloads_what_a_run_needs(site: Site, here: Path, tmp_path: Path):
    run = ["run", "python:toy_models:Constant", "--task", "sugarcrepe_pp/*", "--json"]
    absent = CliRunner().invoke(app, run)
    assert absent.exit_code == 2
    assert "compeval get" in absent.stderr
    done = get("sugarcrepe_pp", site)
    assert done.exit_code == 0, done.output
    assert "Licence: CC BY 4.0" in done.stderr
    assert "arXiv:2406.11171" in done.stderr
    assert "2 images are missing, about 0.00 GB." in done.stderr
    assert "sugarcrepe_pp/swap_obj: 5 rows written, 245 expected." in done.stderr
    assert (tmp_path / "data/sources/coco/val2017/000000000001.jpg").read_bytes() == picture(100)
    (_, row, *_) = load_dataset("sugarcrepe_pp", "swap_obj", "test")
    assert (row["image_path"], row["paraphrase"]) == ("sources/coco/val2017/000000000001.jpg", "a cup 1 that is red")
    assert row["image"].size == (8, 6)
    result = CliRunner().invoke(app, run)
    assert result.exit_code == 0, result.output
    (record,) = json.loads(result.stdout)
    assert {name: record["metrics"][name] for name in ("accuracy", "caption_accuracy", "text_accuracy")} == {
        "accuracy": 0,
        "caption_accuracy": 0,
        "text_accuracy": 0,
    }
    listed = {line.split("\t")[0]: line for line in CliRunner().invoke(app, ["list", "benchmarks"]).stdout.splitlines()}
    assert str(tmp_path / "data" / "sugarcrepe_pp") in listed["sugarcrepe_pp"]
    assert CliRunner().invoke(app, ["audit", "sugarcrepe_pp"]).exit_code == 0
    other = CliRunner().invoke(app, [*run[:3], "cola/*"])
    assert "cola is a published benchmark that is not here. Download it with `compeval get cola`." in other.stderr


def test_images_in_archives_and_rows_of_several_images(site: Site, here: Path):
    for name, config, metric in (("imagecode", "valid", "recall@1"), ("winoground", "main", "group_score")):
        done = get(name, site)
        assert done.exit_code == 0, done.output
        result = CliRunner().invoke(app, ["run", "python:toy_models:Constant", "--task", f"{name}/{config}", "--json"])
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)[0]["metrics"][metric] == 0
    (row,) = load_dataset("imagecode", "valid", "test")
    # Index 4 is the fifth frame, img12.jpg; the others follow in order.
    reds = [row[name].getpixel((0, 0))[0] for name in ("image", "image_n1", "image_n2", "image_n9")]
    assert reds == pytest.approx([80, 0, 20, 180], abs=4)
    lengths = [row["categories"][0]["name"] for row in load_dataset("winoground", "main", "test")]
    assert lengths == ["at most 5 words"] * 3


def valse(dataset: str) -> bytes:
    item = {"caption": "a", "foil": "b", "image_file": "000000000001.jpg", "mturk": {"caption": 3}, "dataset": dataset}
    return json.dumps({"1": item}).encode()


def test_files_whose_images_must_be_downloaded_manually_are_left_out(site: Site, tmp_path: Path):
    done = get("valse", site)
    assert done.exit_code == 0, done.output
    message = " ".join(done.stderr.split())
    assert "existence.json: left out. The images of visual7w must be downloaded manually." in message
    assert "valse/relations: 1 rows written, 535 expected." in message
    assert not (tmp_path / "data/valse/existence").exists()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "000000000001.jpg").write_bytes(picture(100))
    done = get("valse", site, "--images", str(tmp_path / "own"))
    assert done.exit_code == 0, done.output
    assert (tmp_path / "data/valse/existence").exists()
    del site.files["/valse/relations.json"]
    only = tmp_path / "only"
    only.mkdir()
    (only / "existence.json").write_bytes(valse("visual7w"))
    failed = get("valse", site, "--from", str(only), "--output", str(tmp_path / "other"))
    assert failed.exit_code == 2
    assert "The images of visual7w must be downloaded manually" in " ".join(failed.stderr.split())


def test_a_cut_connection_resumes_and_nothing_is_downloaded_twice(site: Site):
    site.cuts = [100, 50]
    assert get("sugarcrepe_pp", site).exit_code == 0
    count = len(site.requested_ranges)
    assert f"bytes={100}-" in site.requested_ranges
    assert get("sugarcrepe_pp", site).exit_code == 0
    assert len(site.requested_ranges) == count


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("/sugarcrepe_pp/swap_obj.json", CONTENT[:-1], "bytes, {size:,} expected. The file differs"),
        ("/sugarcrepe_pp/swap_obj.json", CONTENT[:-2] + b" ]", "expected. The file differs from the registered file"),
        ("/sugarcrepe_pp/swap_obj.json", None, "The server no longer has the file"),
        ("/coco/val2017/000000000001.jpg", b"no image", "000000000001.jpg: not an image"),
        ("/coco/val2017/000000000001.jpg", None, "the server does not have 1 of 2 images; the first is"),
    ],
)
def test_what_goes_wrong_is_one_message(site: Site, tmp_path: Path, path: str, content: bytes | None, message: str):
    site.files.pop(path)
    if content is not None:
        site.files[path] = content
    done = get("sugarcrepe_pp", site)
    assert (done.exit_code, done.stderr.count("Error:")) == (2, 1)
    assert message.format(size=len(CONTENT)) in done.stderr
    assert not (tmp_path / "data" / "sugarcrepe_pp").exists()
    assert not list((tmp_path / "data").rglob("val2017/000000000001.jpg"))


def test_missing_images_can_be_skipped_or_named(site: Site, tmp_path: Path):
    del site.files["/coco/val2017/000000000001.jpg"]
    assert get("sugarcrepe_pp", site, "--skip-missing").exit_code == 0
    assert load_dataset("sugarcrepe_pp", "swap_obj", "test").num_rows == 3  # pyright: ignore
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "000000000001.jpg").write_bytes(picture(7))
    assert get("sugarcrepe_pp", site, "--images", str(tmp_path / "own")).exit_code == 0
    assert load_dataset("sugarcrepe_pp", "swap_obj", "test").num_rows == 5  # pyright: ignore


def test_large_downloads_need_a_confirmation(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("loaders.importing.steps.ASK_BYTES", 1)
    refused = get("sugarcrepe_pp", site)
    assert (refused.exit_code, "Pass --yes to download" in refused.stderr) == (2, True)
    assert get("sugarcrepe_pp", site, "--yes").exit_code == 0


def test_an_unknown_benchmark_lists_the_known_ones(site: Site):
    done = get("sugarcreep", site)
    assert (done.exit_code, "Did you mean sugarcrepe" in done.stderr) == (2, True)
