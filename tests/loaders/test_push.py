"""Push to, and load from, a local server that imitates the endpoints of the Hub."""

from pathlib import Path

import pytest
import yaml
from PIL import Image
from typer.testing import CliRunner

from compeval import load_dataset
from compeval.base.files.atomic import MARKER
from compeval.base.schemas.rows import CHOICE_SCHEMA, GROUP_SCHEMA, HARD_NEGATIVE_SCHEMA
from compeval.base.storage.crops import replace_crop_files
from compeval.base.storage.dataset import write_config
from compeval.cli import app
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.image_sources import list_image_sources
from compeval.loaders.datasets.stats import measure
from compeval.loaders.push import push as push_folder
from tests.hub_server import SHA, Repositories
from tests.rows import hard_negative_row, picture, toy_dataset


def made(root: Path, rows: int = 3) -> Path:
    root.mkdir()
    return toy_dataset(root, rows=rows)


def push(*arguments: object):
    return CliRunner().invoke(app, ["push", *map(str, arguments)])


def test_a_loaded_dataset_equals_the_pushed_dataset(hub_server: Repositories, tmp_path: Path):
    folder = made(tmp_path / "data")
    pushed = push("crepe", "me/microworld-crepe", "--data", tmp_path / "data", "--private")
    assert pushed.stdout.endswith(f"/datasets/me/microworld-crepe/commit/{SHA}\n"), pushed.output
    assert hub_server.private == {"me/microworld-crepe": True}
    stored = hub_server.files["me/microworld-crepe"]
    assert yaml.safe_load(stored.pop("eval.yaml")) == {
        "name": "crepe",
        "description": "Compositionality of vision-language models, evaluated with CompEval.",
        "evaluation_framework": "compeval",
        "tasks": [
            {"id": "toy_hnatom", "config": "toy_hnatom", "split": "test"},
            {"id": "toy_raw/n4", "config": "toy_raw", "split": "n4"},
            {"id": "toy_raw/n5", "config": "toy_raw", "split": "n5"},
        ],
    }
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != MARKER]
    assert stored == {str(path.relative_to(folder)): path.read_bytes() for path in files}
    rows = load_dataset("me/microworld-crepe", "toy_hnatom", "test")
    assert rows["caption"] == ["red ball"] * 3
    assert rows[0]["image"].size == (40, 30)  # pyright: ignore
    assert (
        rows.to_dict()
        == load_dataset("crepe", "toy_hnatom", "test", data_dir=tmp_path / "data").to_dict()
    )


def test_a_revision_of_the_hub(hub_server: Repositories, tmp_path: Path):
    push(made(tmp_path / "data"), "me/microworld-crepe")
    for loaded in (
        load_dataset(f"me/microworld-crepe@{SHA}", "toy_hnatom", "test"),
        load_dataset("me/microworld-crepe", "toy_hnatom", "test", revision=SHA),
    ):
        assert loaded.num_rows == 3
    with pytest.raises(ValueError, match=r"me/microworld-crepe has no revision 'v9' on the Hub\."):
        load_dataset("me/microworld-crepe@v9", "toy_hnatom")
    with pytest.raises(ValueError, match="two revisions, 'v1' and 'v2'"):
        load_dataset("me/microworld-crepe@v1", "toy_hnatom", revision="v2")


def test_images_in_files_are_uploaded_in_the_rows(hub_server: Repositories, tmp_path: Path):
    folder, row = tmp_path / "data" / "crepe", hard_negative_row(tmp_path, 1)
    with replace_crop_files(folder, "toy") as crop_files:
        write_config(
            folder, "toy_hnatom", {"test": [row]}, HARD_NEGATIVE_SCHEMA, crop_files=crop_files
        )
    write_card(folder, {"license": "mit"}, "A toy.\n", measure(folder))
    push_folder(folder, "me/microworld-crepe")
    assert not [
        name for name in hub_server.files["me/microworld-crepe"] if name.startswith("images")
    ]
    loaded = load_dataset("me/microworld-crepe", "toy_hnatom", "test")
    here = load_dataset(str(folder), "toy_hnatom", "test")
    assert loaded[0]["image"].tobytes() == here[0]["image"].tobytes()  # pyright: ignore
    assert loaded[0]["crop_id"] == row["crop_id"]  # pyright: ignore


def test_a_second_push_replaces_the_first(hub_server: Repositories, tmp_path: Path):
    push(made(tmp_path / "a"), "me/microworld-crepe")
    hub_server.files["me/microworld-crepe"]["gone/test-00000-of-00001.parquet"] = b"old"
    hub_server.files["me/microworld-crepe"]["picture.png"] = b"the owner's"
    push(made(tmp_path / "b", rows=5), "me/microworld-crepe")
    assert "gone/test-00000-of-00001.parquet" not in hub_server.files["me/microworld-crepe"]
    assert "picture.png" in hub_server.files["me/microworld-crepe"]
    assert load_dataset("me/microworld-crepe", "toy_hnatom", "test").num_rows == 5


def test_a_name_without_microworld_is_an_error(hub_server: Repositories, tmp_path: Path):
    refused = push(toy_dataset(tmp_path), "me/crepe")
    assert refused.exit_code == 2
    assert "generated from the micro-world" in refused.stderr
    assert "for example me/microworld-crepe" in refused.stderr
    assert hub_server.files == {}


def test_pixels_are_not_uploaded_if_the_licence_forbids_it(
    hub_server: Repositories, tmp_path: Path
):
    row = {
        "image": {"bytes": picture(tmp_path, 1).read_bytes(), "path": None},
        **{"crop_id": "c", "image_id": "1", "caption": "a", "hard_negatives": ["b"]},
        **dict.fromkeys(("x", "y", "width", "height"), 9.0),
        "categories": [],
        "provenance": {"source": "coco", "captioner": "", "seed": 0},
    }
    folder = tmp_path / "sugarcrepe"
    write_config(folder, "swap_obj", {"test": [row]}, CHOICE_SCHEMA)
    write_card(folder, {"license": "mit"}, "# SugarCrepe\n", measure(folder))
    assert list_image_sources(folder) == {"swap_obj": ["coco"]}
    push_folder(folder, "me/sugarcrepe")
    loaded = load_dataset("me/sugarcrepe", "swap_obj", "test")
    assert "image" not in loaded.column_names  # pyright: ignore
    assert loaded[0]["image_id"] == "1"  # pyright: ignore
    card = hub_server.files["me/sugarcrepe"]["README.md"].decode()
    assert (
        "The rows of `swap_obj` hold no pixels: the licence of their images (COCO, captions" in card
    )
    assert "image" in load_dataset(str(folder), "swap_obj", "test").column_names, (
        "the folder here keeps them"
    )


def test_names_are_searched_locally_then_as_a_path_then_on_the_hub(
    hub_server: Repositories, tmp_path: Path
):
    toy_dataset(tmp_path, rows=1)
    push(made(tmp_path / "far", rows=2), "me/microworld-crepe")
    assert load_dataset("crepe", "toy_hnatom", "test").num_rows == 1
    assert load_dataset("far/crepe", "toy_hnatom", "test").num_rows == 2
    with pytest.raises(ValueError, match=r"me/gone: cannot be downloaded from the Hub \(.*404"):
        load_dataset("me/gone", "toy_hnatom")
    with pytest.raises(
        ValueError, match=r"Unknown config of me/microworld-crepe 'toy'\. Did you mean"
    ):
        load_dataset("me/microworld-crepe", "toy")
    hub_server.files["me/other"] = {"README.md": b"no data"}
    with pytest.raises(ValueError, match=r"me/other: no stats\.json in the repository"):
        load_dataset("me/other", "toy_hnatom")


def test_images_that_cells_reference_are_uploaded(hub_server: Repositories, tmp_path: Path):
    paths = []
    for number in (1, 2):
        path = tmp_path / "sources/visual_genome" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4), (number, 0, 0)).save(path)
        paths.append(path)
    row = {
        f"image_{place}": {"bytes": None, "path": str(path.relative_to(tmp_path))}
        for place, path in enumerate(paths)
    }
    row |= {f"crop_id_{place}": f"c{place}" for place in (0, 1)} | {
        "caption_0": "a",
        "caption_1": "b",
        "image_id": "1",
    }
    row |= {
        "categories": [],
        "provenance": {"source": "visual_genome", "captioner": "published", "seed": 0},
    }
    folder = tmp_path / "cola"
    write_config(folder, "multi_object", {"test": [row]}, GROUP_SCHEMA)
    write_card(folder, {"license": "mit"}, "# COLA\n", measure(folder))
    push_folder(folder, "me/cola")
    for path in paths:
        path.unlink()
    (loaded,) = load_dataset("me/cola", "multi_object", "test")
    assert [loaded[f"image_{place}"].getpixel((0, 0))[0] for place in (0, 1)] == [1, 2]  # pyright: ignore
    with pytest.raises(ValueError, match=r"row 0: the image cannot be read"):
        push_folder(folder, "me/cola")
