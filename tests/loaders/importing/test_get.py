"""``compeval get`` against a local server, for each kind of benchmark: single images, archives, tables with images."""

import errno
import io
import json
import random
import shutil
from collections import namedtuple
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from compeval.base.sources import download
from compeval.cli import app
from compeval.loaders import benchmarks
from compeval.loaders.importing import embedded, write_dataset
from compeval.loaders.importing.frames import NUM_FRAMES
from compeval.loaders.load import load_dataset
from compeval.loaders.published.declaration import Benchmark
from tests.base.sources.server import Site, make_zip, pin
from tests.close import assert_close
from tests.published_files import make_rotations


def picture(value: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 6), (value, 60, 0)).save(file, "JPEG")
    return file.getvalue()


def make_table(rows: int = 3) -> bytes:
    file = io.BytesIO()
    texts = {"caption": "a", "negative_caption": "b", "type": "add", "subtype": "obj"}
    images = [{"bytes": picture(40 * number), "path": None} for number in range(2 * rows)]
    items = [
        texts | {"image": images[2 * n], "negative_image": images[2 * n + 1]} for n in range(rows)
    ]
    pq.write_table(pa.Table.from_pylist(items), file)
    return file.getvalue()


def make_valse(dataset: str) -> bytes:
    item = {
        "caption": "a",
        "foil": "b",
        "image_file": "000000000001.jpg",
        "mturk": {"caption": 3},
        "dataset": dataset,
    }
    return json.dumps({"1": item}).encode()


def make_lines(items: list[dict]) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


PAIRS = json.dumps([
    {"id": number, "filename": f"{number % 2:012}.jpg", "caption": f"red cup {number}",
     "caption2": f"a cup {number} that is red", "negative_caption": f"blue cup {number}"}
    for number in range(5)
]).encode()  # fmt: skip
STATEMENTS = [
    {"image": f"{n:012}.jpg", "caption": f"cup {n}", "label": n % 2, "relation": "on"}
    for n in range(3)
]
EXAMPLES = [
    {"id": n, "image_0": f"ex_{n}_img_0", "image_1": f"ex_{n}_img_1", "caption_0": "an old dog",
     "caption_1": "a dog old", "collapsed_tag": "Relation", "secondary_tag": ""}
    for n in range(3)
]  # fmt: skip
FRAMES = {f"image-sets/video-x/img{3 * n}.jpg": picture(20 * n) for n in range(10)}
SPEC = {
    "count/image2text.json": json.dumps(
        [
            {"query": f"{n}.jpg", "keys": [f"{k} cups" for k in range(9)], "label": n}
            for n in range(2)
        ]
    ).encode(),
    **{f"count/{n}.jpg": picture(50 * n) for n in range(2)},
}
COCO_2014 = "COCO_val2014_000000000001.jpg"
QUESTION = {
    "question_id": 1,
    "image": COCO_2014,
    "text": "Is there a dog in the image?",
    "label": "yes",
}
BOX = {"img_path": "val2017/000000000001.jpg", "bbox": [1, 1, 4, 4], "pos_expression": ["a red cup"],
       "neg_expression": [f"a {n} cup" for n in range(10)]}  # fmt: skip
TRANSLATED = {
    "filename": "000000000001.jpg",
    "caption": "a",
    "negative_caption": "b",
    "source_caption": "c",
}
RATED = {"id": "00001", "prompt": "a cup", "models": {"DALLE_3": [4, 5, 5]}}
ABOUT_VIDEO = {"src_dataset": "VATEX", "video_name": "-a.mp4", "caption": "a man sits", "counterfactual": "a man rises",
               "aspect": "Direction"}  # fmt: skip
ROTATIONS = [line for image in ("coco/val2017/000000000001.jpg", "abnormal_images/2.jpg")
             for line in make_rotations("a cat", "a|b|c", image, category="subject")]  # fmt: skip
NOUNS = [{"img_filename": f"{image}.jpg", "open_images_split": "train", "pos": "object", "sentence_target": texts[0],
          "sentence_distractor": texts[1]} for image, texts in (("a", "st"), ("b", "ts"))]  # fmt: skip
PAIR = b"index,major,minor,pos_cap,neg_cap\n0,action,,a man sits,a man rises\n"
EDITED = {"id": "7_0", "caption_0": "a cat", "caption_1": "a dog"} | {
    f"image_{n}": f"7_0_img_{n}" for n in (0, 1)
}


def make_questions() -> bytes:
    """Return a table of CV-Bench, which contains its images."""
    file = io.BytesIO()
    row = {"question": "Where?", "choices": ["left", "right"], "answer": "(B)", "task": "Relation", "source": "COCO",
           "filename": "img/1.png", "image": {"bytes": picture(9), "path": None}}  # fmt: skip
    pq.write_table(pa.Table.from_pylist([row]), file)
    return file.getvalue()


def make_relations() -> bytes:
    """Return a table of BLINK, which contains its images."""
    file = io.BytesIO()
    row = {"idx": "val_Spatial_Relation_1", "question": "Is it left?", "choices": ["yes", "no"], "answer": "(A)",
           "image_1": {"bytes": picture(9), "path": None}}  # fmt: skip
    pq.write_table(pa.Table.from_pylist([row]), file)
    return file.getvalue()


NEW_FILES = {
    "pope": {"coco/coco_pope_random.json": make_lines([QUESTION, QUESTION | {"label": "no"}])},
    "amber": {
        "query/query_discriminative.json": json.dumps(
            [{"id": 1, "image": "A_1.jpg", "query": "Is it red?"}]
        ).encode(),
        "annotations.json": json.dumps(
            [{"id": 1, "type": "discriminative-relation", "truth": "yes"}]
        ).encode(),
    },
    "fg_ovd": {"h_attributes_llava.jsonl": make_lines([BOX])},
    "visla": {
        "Generic_VISLA.tsv": b"filename\tcaption\tsecond positive\tnegative_caption\n000000000001.jpg\ta\tb\tc\n"
    },
    "sugarcrepe_multilingual": {
        "sc/de/swap_att.json": json.dumps({"0": TRANSLATED}).encode(),
        **{f"sc/{language}/swap_att_issues.json": b"[]" for language in ("de", "es", "fa")},
    },
    "tifa160": {
        "human_annotations_with_scores.json": json.dumps(
            {
                "a": {
                    "text_id": "a",
                    "image_path": "a_sd.jpg",
                    "text": "a cup",
                    "human_scores": [4, 5],
                }
            }
        ).encode()
    },
    "genai_bench": {"genai_image.json": json.dumps({"00001": RATED}).encode()},
    "seetrue": {
        "SeeTRUE.csv": b"image,text,label,original_dataset_id,dataset_source\nid_1.png,a cup,1,t,drawbench\n"
    },
    "coco_counterfactuals": {"examples.jsonl": make_lines([EDITED])},
    "mmvp": {
        "Questions.csv": b"Index,Question,Options,Correct Answer\n1,A?,(a) Yes (b) No,(b)\n2,A?,(a) Yes (b) No,(a)\n"
    },
    "cv_bench": {"test.parquet": make_questions()},
    "blink": {"Spatial_Relation/val-00000-of-00001.parquet": make_relations()},
    "crpe": {"crpe_relation.jsonl": make_lines(ROTATIONS)},
    "vinoground": {"vinoground.csv": PAIR},
    "predicate_noun": {"eval_set.json": json.dumps(NOUNS).encode()},
    "vitatecs": {
        "Direction.jsonl": make_lines(
            [ABOUT_VIDEO, ABOUT_VIDEO | {"counterfactual": "a man falls"}]
        )
    },
}
"""Files of the benchmarks that are tested against the server only in :func:`test_new_benchmarks`."""
NEW_SPLITS = {
    "pope": ("coco_random", "test", 2), "amber": ("main", "test", 1), "fg_ovd": ("hard", "test", 1),
    "visla": ("generic", "test", 1), "sugarcrepe_multilingual": ("sc_de", "swap_att", 1),
    "tifa160": ("main", "test", 1), "genai_bench": ("main", "test", 1), "seetrue": ("drawbench", "test", 1),
    "coco_counterfactuals": ("main", "test", 1), "mmvp": ("main", "test", 1), "cv_bench": ("relation", "test", 1),
    "vitatecs": ("direction", "test", 2), "vinoground": ("main", "test", 1),
    "predicate_noun": ("main", "test", 1),
    "crpe": ("subject", "test", 2), "blink": ("spatial_relation", "test", 1),
}  # fmt: skip
OWN_IMAGES = {
    "amber": ["A_1.jpg"], "tifa160": ["a_sd.jpg"], "vitatecs": [f"VATEX/-a.mp4/{n}.jpg" for n in range(NUM_FRAMES)],
    "vinoground": [f"0_{video}.mp4/{n}.jpg" for video in ("pos", "neg") for n in range(NUM_FRAMES)],
}  # fmt: skip
"""Images of the benchmarks whose images must be downloaded manually."""
FILES: dict[str, dict[str, bytes]] = NEW_FILES | {
    "sugarcrepe_pp": {"swap_obj.json": PAIRS},
    "valse": {"relations.json": make_valse("coco_2017"), "existence.json": make_valse("visual7w")},
    "vsr": {"random/dev.jsonl": make_lines(STATEMENTS)},
    "imagecode": {"valid_data.json": json.dumps({"video-x": {"4": "a dog"}}).encode()},
    "winoground": {"data/examples.jsonl": make_lines(EXAMPLES)},
    "bivlc": {"data/test-00000-of-00002-23fe2e02660e9182.parquet": make_table()},
    "spec": {"data.zip": make_zip(SPEC)},
}
IMAGES = {
    "imagecode": ("image-sets.zip", make_zip(FRAMES), "image-sets"),
    "winoground": (
        "data/images.zip",
        make_zip(
            {f"images/ex_{n}_img_{i}.png": picture(40 * n + i) for n in range(3) for i in (0, 1)}
        ),
        "images",
    ),
    "genai_bench": ("DALLE_3.zip", make_zip({"DALLE_3/00001.jpeg": picture(1)}), "DALLE_3"),
    "seetrue": ("images.zip", make_zip({"images/id_1.png": picture(2)}), "images"),
    "coco_counterfactuals": (
        "images.zip",
        make_zip({f"images/7_0_img_{n}.jpg": picture(n) for n in (0, 1)}),
        "images",
    ),
}
"""Archives of images: name, content, and the folder that it contains."""
SPLITS = {
    "vsr": ("random", "dev", 3),
    "imagecode": ("valid", "test", 1),
    "bivlc": ("main", "test", 3),
    "spec": ("count_i2t", "test", 2),
}
"""Config, split and number of rows that the server offers of a benchmark of each kind."""


@pytest.fixture
def mirror(site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Site:
    """Return a mirror with the files and images of these benchmarks."""
    monkeypatch.setenv("COMPEVAL_DATA", str(tmp_path / "data"))
    site.files |= {f"/coco/val2017/{n:012}.jpg": picture(100 * n) for n in range(3)}
    site.files |= {f"/coco/val2014/{COCO_2014}": picture(3)} | {
        f"/mmvp/{n}.jpg": picture(n) for n in (1, 2)
    }
    site.files |= {f"/open_images/train/{name}.jpg": picture(2) for name in "ab"}
    site.files["/crpe_abnormal/abnormal_images/2.jpg"] = picture(2)
    site.files |= {
        f"/{name}/{file}": data for name, files in FILES.items() for file, data in files.items()
    }
    site.files |= {f"/{name}/{file}": data for name, (file, data, _) in IMAGES.items()}
    pin_files(monkeypatch)
    return site


def pin_files(
    monkeypatch: pytest.MonkeyPatch, makes: str = "count", *, with_hashes: bool = True
) -> None:
    """Pin the benchmarks to FILES and IMAGES. ``makes`` is what the archive of SPEC contains."""
    load = benchmarks.load

    def load_pinned(name: str) -> Benchmark:
        benchmark = load(name)
        if name not in FILES:
            return benchmark
        pins = [
            pin(file, data, makes if file == "data.zip" else None)
            for file, data in FILES[name].items()
        ]
        if not with_hashes:
            pins = [replace(file, size=None, sha256=None) for file in pins]
        if name in IMAGES:
            archives = (pin(*IMAGES[name]),)
            images = {
                file: replace(of_file, archives=archives)
                for file, of_file in benchmark.files.items()
            }
            benchmark = replace(benchmark, images=images)
        return replace(benchmark, source=replace(benchmark.source, files=tuple(pins)))

    monkeypatch.setattr(benchmarks, "load", load_pinned)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def get(name: str, site: Site, *options: str) -> Result:
    return call("get", name, "--mirror", site.url, *options)


def get_all_rows(name: str, site: Site, *options: str) -> None:
    """Download a benchmark again, and check that all its rows and images are there."""
    done = get(name, site, "--yes", *options)
    assert done.exit_code == 0, done.output
    config, split, count = (SPLITS | NEW_SPLITS)[name]
    rows: Any = load_dataset(name, config, split)
    images = [
        column
        for column in rows[0]
        if column.startswith("image") and column not in ("image_id", "image_path")
    ]
    assert all(row[column].size for row in rows for column in images)
    assert len(rows) == count


def assert_one_message(done: Result, message: str, data: Path, name: str) -> None:
    assert (done.exit_code, done.stderr.count("Error:")) == (2, 1), done.output
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.output
    assert not (data / name / "stats.json").exists(), "no part of a dataset is used"


def test_get_can_leave_out_the_images(mirror: Site, here: Path, tmp_path: Path):
    done = get("sugarcrepe_pp", mirror, "--files-only")
    assert done.exit_code == 0, done.output
    folder = tmp_path / "data" / "sources" / "sugarcrepe_pp"
    assert done.stdout.strip() == str(folder)
    assert (folder / "swap_obj.json").is_file()
    assert not (tmp_path / "data" / "sugarcrepe_pp").exists()
    assert not (tmp_path / "data" / "sources" / "coco").exists()
    assert "images are missing" not in done.stderr
    refused = get("sugarcrepe_pp", mirror, "--files-only", "--skip-missing")
    assert "--skip-missing has no effect with --files-only" in refused.stderr


@pytest.mark.parametrize("name", ["crepe_published", "colorfoil", "bla"])
def test_files_without_images_are_not_asked_for_as_images(name: str):
    """Their archives hold annotations; the images that rows need are requested when the rows are known."""
    assert benchmarks.load(name).file_image_bytes == 0
    assert benchmarks.load("spec").file_image_bytes > 1e9
    # 299,224 rows, but Visual Genome has 108,077 images.
    assert benchmarks.load("crepe_published").image_bytes == 9_731_705_982 + 5_471_658_058


def test_get_downloads_what_a_run_needs(mirror: Site, here: Path, tmp_path: Path):
    run = ["run", "python:toy_models:Constant", "--task", "sugarcrepe_pp/*", "--json"]
    absent = call(*run)
    assert absent.exit_code == 2
    assert "compeval get" in absent.stderr
    done = get("sugarcrepe_pp", mirror)
    assert done.exit_code == 0, done.output
    assert "Licence: CC BY 4.0" in done.stderr
    assert "arXiv:2406.11171" in done.stderr
    assert "2 images are missing, about 0.00 GB." in done.stderr
    assert "sugarcrepe_pp/swap_obj: 5 rows written, 245 expected." in done.stderr
    assert (tmp_path / "data/sources/coco/val2017/000000000001.jpg").read_bytes() == picture(100)
    (_, row, *_) = load_dataset("sugarcrepe_pp", "swap_obj", "test")
    assert (row["image_path"], row["paraphrase"]) == (
        "sources/coco/val2017/000000000001.jpg",
        "a cup 1 that is red",
    )
    assert row["image"].size == (8, 6)
    (record,) = json.loads(call(*run).stdout)
    assert [
        record["metrics"][name] for name in ("accuracy", "caption_accuracy", "text_accuracy")
    ] == [0, 0, 0]
    listed = {line.split("\t")[0]: line for line in call("list", "benchmarks").stdout.splitlines()}
    assert str(tmp_path / "data" / "sugarcrepe_pp") in listed["sugarcrepe_pp"]
    assert call("audit", "sugarcrepe_pp").exit_code == 0
    other = call(*run[:3], "cola/*")
    assert (
        "cola is a published benchmark that is not here. Download it with `compeval get cola`."
        in other.stderr
    )


def test_images_in_archives_and_rows_of_several_images(mirror: Site, here: Path):
    for name, config, metric in (
        ("imagecode", "valid", "recall@1"),
        ("winoground", "main", "group_score"),
    ):
        done = get(name, mirror)
        assert done.exit_code == 0, done.output
        result = call("run", "python:toy_models:Constant", "--task", f"{name}/{config}", "--json")
        assert json.loads(result.stdout)[0]["metrics"][metric] == 0
    (row,) = load_dataset("imagecode", "valid", "test")
    # Index 4 is the fifth frame, img12.jpg; the others follow in order.
    reds = [row[name].getpixel((0, 0))[0] for name in ("image", "image_n1", "image_n2", "image_n9")]
    assert_close(reds, [80, 0, 20, 180], within=4)
    lengths = [row["categories"][0]["name"] for row in load_dataset("winoground", "main", "test")]
    assert lengths == ["at most 5 words"] * 3


def test_files_whose_images_must_be_downloaded_manually_are_left_out(mirror: Site, tmp_path: Path):
    done = get("valse", mirror)
    assert done.exit_code == 0, done.output
    message = " ".join(done.stderr.split())
    assert (
        "existence.json: left out. The images of visual7w must be downloaded manually." in message
    )
    assert "valse/relations: 1 rows written, 535 expected." in message
    assert not (tmp_path / "data/valse/existence").exists()
    own = write(tmp_path / "own", {"000000000001.jpg": picture(100)})
    done = get("valse", mirror, "--images", str(own))
    assert done.exit_code == 0, done.output
    assert (tmp_path / "data/valse/existence").exists()
    del mirror.files["/valse/relations.json"]
    only = write(tmp_path / "only", {"existence.json": make_valse("visual7w")})
    failed = get(
        "valse", mirror, "--from", str(only), "--partial", "--output", str(tmp_path / "other")
    )
    assert_one_message(
        failed, "The images of visual7w must be downloaded manually", tmp_path / "other", "valse"
    )


@pytest.mark.parametrize(("seed", "name"), [*enumerate(SPLITS)])
def test_cut_connections_resume_and_nothing_is_downloaded_twice(mirror: Site, name: str, seed: int):
    rng = random.Random(seed)
    mirror.cuts = [rng.randrange(1, 60) for _ in range(4)]
    get_all_rows(name, mirror)
    assert any(mirror.requested_ranges), "a request continues where the connection ended"
    requests = len(mirror.requested_ranges)
    assert get(name, mirror, "--yes").exit_code == 0
    assert len(mirror.requested_ranges) == requests


@pytest.mark.parametrize(("seed", "name"), [*enumerate(NEW_SPLITS)])
def test_new_benchmarks(mirror: Site, tmp_path: Path, name: str, seed: int):
    """Connections are cut and resumed, and a file in which one byte differs is not used."""
    own = write(
        tmp_path / "own", {path: picture(7 + n) for n, path in enumerate(OWN_IMAGES.get(name, ()))}
    )
    options = ("--images", str(own)) if name in OWN_IMAGES else ()
    file = IMAGES[name][0] if name in IMAGES else next(iter(FILES[name]))
    content = mirror.files[f"/{name}/{file}"]
    place = random.Random(seed).randrange(len(content))
    mirror.files[f"/{name}/{file}"] = (
        content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    )
    refused = get(name, mirror, "--yes", *options)
    assert_one_message(refused, "differs from the registered file", tmp_path / "data", name)
    mirror.files[f"/{name}/{file}"] = content
    mirror.cuts = [random.Random(seed).randrange(1, 60) for _ in range(2)]
    get_all_rows(name, mirror, *options)
    assert any(mirror.requested_ranges), "a request continues where the connection ended"
    requests = len(mirror.requested_ranges)
    assert get(name, mirror, "--yes", *options).exit_code == 0
    assert len(mirror.requested_ranges) == requests


@pytest.mark.parametrize(
    ("name", "path", "change", "message"),
    [
        (
            "vsr",
            "/vsr/random/dev.jsonl",
            lambda data: data[:-1],
            " bytes, {size:,} expected. The file differs",
        ),
        (
            "vsr",
            "/vsr/random/dev.jsonl",
            lambda data: data[:-1] + b" ",
            "differs from the registered file",
        ),
        ("vsr", "/vsr/random/dev.jsonl", None, "The server no longer has the file"),
        (
            "vsr",
            "/coco/val2017/000000000001.jpg",
            lambda data: b"no image",
            "000000000001.jpg: not an image",
        ),
        (
            "vsr",
            "/coco/val2017/000000000001.jpg",
            None,
            "does not have 1 of 3 images; the first is 000000000001.jpg",
        ),
        *(
            (
                name,
                path,
                lambda data: data[:-1] + bytes([data[-1] ^ 1]),
                "differs from the registered file",
            )
            for name, path in (
                ("imagecode", "/imagecode/image-sets.zip"),
                ("bivlc", "/bivlc/data/test-00000-of-00002-23fe2e02660e9182.parquet"),
                ("spec", "/spec/data.zip"),
            )
        ),
    ],
)
def test_a_wrong_or_missing_file_is_one_message(
    mirror: Site, tmp_path: Path, name: str, path: str, change: Any, message: str
):
    content = mirror.files.pop(path)
    if change:
        mirror.files[path] = change(content)
    done = get(name, mirror, "--yes")
    assert_one_message(done, message.format(size=len(content)), tmp_path / "data", name)
    assert not list((tmp_path / "data").rglob("val2017/000000000001.jpg"))
    mirror.files[path] = content
    get_all_rows(name, mirror)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("vsr", make_lines([*STATEMENTS, {}])),
        ("bivlc", make_table(2)),
        ("spec", make_zip({"count/a": b"b"})),
    ],
)
def test_a_file_that_changed(
    mirror: Site, tmp_path: Path, name: str, changed: bytes, monkeypatch: pytest.MonkeyPatch
):
    pin_files(monkeypatch, with_hashes=False)
    assert get(name, mirror, "--yes").exit_code == 0
    shutil.rmtree(tmp_path / "data/sources" / name)
    mirror.files[f"/{name}/{next(iter(FILES[name]))}"] = changed
    done = get(name, mirror, "--yes")
    assert (done.exit_code, done.stderr.count("Error:")) == (2, 1)
    assert "from the first download). The file at" in done.stderr
    assert "has changed" in done.stderr


def test_an_image_that_is_missing_from_an_archive(
    mirror: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    mirror.files["/imagecode/image-sets.zip"] = fewer = make_zip(dict([*FRAMES.items()][1:]))
    monkeypatch.setitem(IMAGES, "imagecode", ("image-sets.zip", fewer, "image-sets"))
    assert_one_message(
        get("imagecode", mirror, "--yes"), "image not found", tmp_path / "data", "imagecode"
    )
    mirror.files["/spec/data.zip"] = fewer = make_zip(
        {name: data for name, data in SPEC.items() if "1.jpg" not in name}
    )
    monkeypatch.setitem(FILES["spec"], "data.zip", fewer)
    assert_one_message(get("spec", mirror, "--yes"), "count/1.jpg", tmp_path / "data", "spec")
    assert get("spec", mirror, "--yes", "--skip-missing").exit_code == 0
    assert len(load_dataset("spec", "count_i2t", "test")) == 1


def test_missing_images_can_be_skipped_or_named(mirror: Site, tmp_path: Path):
    del mirror.files["/coco/val2017/000000000001.jpg"]
    assert get("sugarcrepe_pp", mirror, "--skip-missing").exit_code == 0
    assert load_dataset("sugarcrepe_pp", "swap_obj", "test").num_rows == 3  # pyright: ignore
    own = write(tmp_path / "own", {"000000000001.jpg": picture(7)})
    assert get("sugarcrepe_pp", mirror, "--images", str(own)).exit_code == 0
    assert load_dataset("sugarcrepe_pp", "swap_obj", "test").num_rows == 5  # pyright: ignore


def fail(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("name", SPLITS)
def test_a_full_disk(mirror: Site, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    usage = namedtuple("usage", "total used free")(100, 90, 10)
    with monkeypatch.context() as patch:
        patch.setattr(download.shutil, "disk_usage", lambda path: usage)
        done = get(name, mirror, "--yes")
    assert_one_message(done, "Free space and run the same command again", tmp_path / "data", name)
    with monkeypatch.context() as patch:
        patch.setattr(write_dataset, "write_split", fail)
        assert_one_message(
            get(name, mirror, "--yes"), "No space left on device", tmp_path / "data", name
        )
    if name == "bivlc":
        shutil.rmtree(tmp_path / "data/sources/bivlc/test-00000-of-00002-23fe2e02660e9182")
        with monkeypatch.context() as patch:
            patch.setattr(embedded, "atomic_file", fail)
            assert_one_message(
                get(name, mirror, "--yes"), "no space left in", tmp_path / "data", name
            )
    get_all_rows(name, mirror)


def test_no_network(site: Site, tmp_path: Path):
    done = call("get", "vsr", "--mirror", "http://127.0.0.1:9", "--output", str(tmp_path))
    assert_one_message(done, "the connection failed 5 times in a row", tmp_path, "vsr")
    assert "--from DIR" in done.stderr


def test_a_wrong_image_folder_is_an_error_before_any_download(mirror: Site, tmp_path: Path):
    done = get("vsr", mirror, "--images", str(tmp_path / "typo"))
    assert_one_message(done, "typo: no such image folder.", tmp_path / "data", "vsr")
    assert mirror.requested_ranges == []


def test_a_file_that_is_left_out_is_named_once(mirror: Site, tmp_path: Path):
    """If a file is left, this is a message; if none is, it is the error."""
    write(tmp_path / "data/sources/coco/val2017", {"000000000001.jpg": picture(1)})
    for names, code in ((("existence", "relations"), 0), (("existence",), 2)):
        files = {f"{name}.json": FILES["valse"][f"{name}.json"] for name in names}
        own = write(tmp_path / "-".join(names), files)
        done = get("valse", mirror, "--from", str(own), "--partial")
        assert done.exit_code == code, done.output
        message = "existence.json: left out. The images of visual7w must be downloaded manually."
        assert " ".join(done.stderr.split()).count(message) == 1
        assert done.stderr.count("must be downloaded manually") == 1


@pytest.mark.parametrize(
    ("name", "image_set", "names"),
    [
        ("vsr", "coco", [f"{n:012}.jpg" for n in range(3)]),
        ("predicate_noun", "open_images", ["train/a.jpg", "train/b.jpg"]),
    ],
)
def test_own_files_without_archives_of_their_images(
    mirror: Site, tmp_path: Path, name: str, image_set: str, names: list[str]
):
    """COCO has archives as well as a URL for each image, and Open Images only the latter."""
    options = ("--partial", "--from", str(write(tmp_path / "own", FILES[name])))
    refused = get(name, mirror, *options)
    message = f"own: no archive of {image_set}. {len(names)} images are missing; the first is {names[0]}. Name "
    assert_one_message(refused, message, tmp_path / "data", name)
    assert mirror.requested_ranges == []
    images = str(write(tmp_path / "images", dict.fromkeys(names[1:], picture(1))))
    done = get(name, mirror, *options, "--images", images, "--skip-missing")
    assert (done.exit_code, "1 image missing" in done.stdout) == (0, True), done.output
    write(tmp_path / "images", {names[0]: picture(2)})
    get_all_rows(name, mirror, *options, "--images", images)


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("name", ["imagecode", "bivlc", "spec"])
def test_own_copies(mirror: Site, tmp_path: Path, name: str):
    images = dict([IMAGES[name][:2]]) if name in IMAGES else {}
    get_all_rows(
        name, mirror, "--partial", "--from", str(write(tmp_path / "own", FILES[name] | images))
    )
    assert mirror.requested_ranges == []


@pytest.mark.parametrize("name", ["imagecode", "bivlc", "spec", "nested"])
def test_corrected_copies_replace_the_images(
    mirror: Site, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, here: Path
):
    """The corrected file has the same name. Its images are new, and nothing is written if it is the same file."""
    own, is_nested, blue = tmp_path / "own", name == "nested", io.BytesIO()
    Image.new("RGB", (8, 6), (0, 0, 200)).save(blue, "PNG")
    name = "spec" if is_nested else name

    def write_version(image: bytes | None) -> None:
        files = SPEC | ({f"count/{n}.jpg": image for n in range(2)} if image else {})
        if is_nested:
            files = {
                "count.zip": make_zip(
                    {file.removeprefix("count/"): data for file, data in files.items()}
                )
            }
        frames = FRAMES | (dict.fromkeys(FRAMES, image) if image else {})
        table = pq.read_table(io.BytesIO(make_table())).to_pylist()
        for cell in (
            row[column] for row in table for column in ("image", "negative_image") if image
        ):
            cell["bytes"] = image
        parquet = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(table), parquet)
        content = {"spec": make_zip(files), "imagecode": FILES["imagecode"]["valid_data.json"]}
        content["bivlc"] = parquet.getvalue()
        monkeypatch.setitem(FILES, name, {next(iter(FILES[name])): content[name]})
        if name == "imagecode":
            monkeypatch.setitem(IMAGES, name, ("image-sets.zip", make_zip(frames), "image-sets"))
        pin_files(monkeypatch, makes="count.zip" if is_nested else "count")
        write(own, FILES[name] | (dict([IMAGES[name][:2]]) if name in IMAGES else {}))

    def list_colours() -> set[bool]:
        config, split, _ = SPLITS[name]
        return {image.getpixel((0, 0))[2] == 200 for row in load_dataset(name, config, split) for image in row.values()
                if isinstance(image, Image.Image)}  # fmt: skip

    for image, is_blue in ((None, False), (blue.getvalue(), True), (blue.getvalue(), True)):
        write_version(image)
        get_all_rows(name, mirror, "--partial", "--from", str(own))
        assert list_colours() == {is_blue}
    states = {
        path: path.stat().st_mtime_ns
        for path in (tmp_path / "data/sources").rglob("*")
        if path.is_file()
    }
    get_all_rows(name, mirror, "--partial", "--from", str(own))
    assert {path: path.stat().st_mtime_ns for path in states} == states


def test_a_corrected_release_asks_for_images_of_their_own_url(
    mirror: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The server has another picture under the same name, and then no more; pictures of other origin stay."""
    name, path = "vsr", "coco/val2017/000000000001.jpg"
    target, manual = (
        tmp_path / "data/sources" / path,
        tmp_path / "data/sources/coco/val2017/000000000002.jpg",
    )
    write(manual.parent, {manual.name: picture(3)})
    get_all_rows(name, mirror)
    mirror.files[f"/{path}"], mirror.etag = picture(77), '"two"'
    get_all_rows(name, mirror)
    assert target.read_bytes() == picture(100), "the release is the same, so no server is asked"
    (file, data) = next(iter(FILES[name].items()))
    for version, options, image in (
        ("\n", (), 77),
        ("\n", ("--refresh",), 78),
        ("\n\n", (), 78),
        ("", (), None),
    ):
        if image is None:
            del mirror.files[f"/{path}"]
        elif picture(image) != mirror.files[f"/{path}"]:
            mirror.files[f"/{path}"], mirror.etag = picture(image), f'"{image}"'
        changed = data + version.encode()
        monkeypatch.setitem(FILES, name, FILES[name] | {file: changed})
        mirror.files[f"/{name}/{file}"] = changed
        pin_files(monkeypatch)
        get_all_rows(name, mirror, *options)
        assert target.read_bytes() == picture(image or 78)
    assert manual.read_bytes() == picture(3)
    target.write_bytes(picture(5))  # changed here, with the server's version recorded
    mirror.files[f"/{path}"] = picture(78)
    get_all_rows(name, mirror, "--refresh")
    assert target.read_bytes() == picture(78)


def test_files_that_must_be_downloaded_manually(mirror: Site, tmp_path: Path):
    done = get("negbench", mirror)
    assert_one_message(
        done,
        "negbench must be downloaded manually. Download the files of",
        tmp_path / "data",
        "negbench",
    )
    row = b"data/coco/images/val2017/000000000001.jpg,0,a,b,c,d,positive\n"
    header = b"image_path,correct_answer,caption_0,caption_1,caption_2,caption_3,correct_answer_template\n"
    names = ("COCO_val_mcq_llama3.1_rephrased.csv", "val2017/000000000001.jpg", "unrelated.csv")
    own = str(
        write(tmp_path / "own", dict(zip(names, (header + row, picture(1), b"a,b\n"), strict=True)))
    )
    refused = call("get", "negbench", "--from", own, "--images", own)
    assert_one_message(refused, "negbench/coco_mcq: 1 of 5,914 rows", tmp_path / "data", "negbench")
    assert "Nothing was imported; --partial imports it as it is." in refused.stderr
    done = call("get", "negbench", "--from", own, "--images", own, "--partial")
    assert done.exit_code == 0, done.output
    assert len(load_dataset("negbench", "coco_mcq", "test")) == 1


def test_a_complete_file_with_an_unusable_row(
    mirror: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """245 rows are declared, of which the published file has one without a caption. Of the other file, one was cut."""
    items = [json.loads(PAIRS)[0] | {"id": number} for number in range(245)]
    items[7]["caption"] = " "
    files = {"swap_obj.json": json.dumps(items).encode(), "swap_att.json": b"[]"}
    monkeypatch.setitem(FILES, "sugarcrepe_pp", files)
    pin_files(monkeypatch)
    write(tmp_path / "data/sources/coco/val2017", {"000000000000.jpg": picture(1)})
    own = write(tmp_path / "own", {"swap_obj.json": json.dumps(items[:-1]).encode()})
    refused = get("sugarcrepe_pp", mirror, "--from", str(own))
    message = "sugarcrepe_pp/swap_obj: 243 of 245 rows"
    assert_one_message(refused, message, tmp_path / "data", "sugarcrepe_pp")
    write(own, {"swap_obj.json": files["swap_obj.json"]})
    done = get("sugarcrepe_pp", mirror, "--from", str(own))
    assert done.exit_code == 0, done.output
    assert "1 a caption is empty" in done.stdout
    assert "sugarcrepe_pp/swap_obj: 244 rows written, 245 expected." in done.stderr
    assert "sugarcrepe_pp/swap_att: 0 rows written" in done.stderr


def test_partial_copies_are_compared_with_the_rows_of_their_files(mirror: Site, tmp_path: Path):
    own = write(tmp_path / "own", {"swap_obj.json": PAIRS})
    write(own, {f"{n:012}.jpg": picture(n) for n in range(2)})
    done = get("sugarcrepe_pp", mirror, "--partial", "--from", str(own), "--images", str(own))
    assert done.exit_code == 0, done.output
    assert done.stderr.count("rows written") == 1
    assert "sugarcrepe_pp/swap_obj: 5 rows written, 245 expected." in done.stderr


@pytest.mark.parametrize("unsafe", [False, True])
def test_an_archive_in_an_archive(
    mirror: Site, tmp_path: Path, unsafe: bool, monkeypatch: pytest.MonkeyPatch
):
    inner = (
        {"../../../out.txt": b""}
        if unsafe
        else {name.removeprefix("count/"): SPEC[name] for name in SPEC}
    )
    mirror.files["/spec/data.zip"] = nested = make_zip({"count.zip": make_zip(inner)})
    monkeypatch.setitem(FILES["spec"], "data.zip", nested)
    pin_files(monkeypatch, makes="count.zip")
    if unsafe:
        assert_one_message(get("spec", mirror, "--yes"), "out.txt", tmp_path / "data", "spec")
        assert not list(tmp_path.rglob("out.txt"))
    else:
        get_all_rows("spec", mirror)


def test_large_downloads_need_a_confirmation(mirror: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("compeval.loaders.importing.download_benchmark.ASK_BYTES", 1)
    refused = get("sugarcrepe_pp", mirror)
    assert (refused.exit_code, "Pass --yes to download" in refused.stderr) == (2, True)
    assert get("sugarcrepe_pp", mirror, "--yes").exit_code == 0


def test_an_unknown_benchmark_lists_the_known_ones():
    done = call("get", "sugarcreep")
    assert (done.exit_code, "Did you mean sugarcrepe" in done.stderr) == (2, True)
