"""The sets of several stages become one dataset folder."""

import json
import shutil
from pathlib import Path

import pytest

from compeval.base.files.untrusted import resolve_image
from compeval.base.schemas.rows import RAW_SCHEMA
from compeval.base.storage import dataset
from compeval.base.storage.crops import Crop, replace_crop_files
from compeval.loaders.cards import parts
from compeval.loaders.cards.card import collect_stats, write_card
from compeval.loaders.datasets.stats import measure
from tests.rows import hard_negative_row

FILE = "raw/test-00000-of-00001.parquet"


def write_set(root: Path, config: str, image: Crop | None = None) -> Path:
    """Write one row into a set and return the folder of its dataset."""
    root.mkdir(parents=True, exist_ok=True)
    row = {
        key: value
        for key, value in hard_negative_row(root.parent, 0).items()
        if key in RAW_SCHEMA.names
    }
    storage = "by_reference" if image else "embedded"
    dataset.write_config(
        root, config, {"test": [row | ({"image": image} if image else {})]}, RAW_SCHEMA, storage
    )
    return root


def assemble(folder: Path) -> Path:
    with parts.assemble(folder) as scratch:
        write_card(scratch, {"license": "mit"}, "", measure(scratch))
    return folder


def list_sets(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/*.parquet"))


@pytest.mark.parametrize("has_links", [True, False])
def test_the_files_are_those_of_the_parts(
    tmp_path: Path, has_links: bool, monkeypatch: pytest.MonkeyPatch
):
    source = write_set(tmp_path / "parts/toy", "raw")
    with replace_crop_files(source, "shared"):
        pass
    # Of killed runs.
    for left in (
        source / ".partial/raw.x/raw",
        source / "images/.partial/shared.x",
    ):
        left.mkdir(parents=True)
        (left / "test.0.partial").write_bytes(b"PAR1")
    (source / ".DS_Store").touch()

    def fail(*paths: str) -> None:
        raise OSError("no hard links here")

    if not has_links:
        monkeypatch.setattr(parts.os, "link", fail)
    folder = assemble(tmp_path / "toy")
    assert (folder / FILE).read_bytes() == (source / FILE).read_bytes()
    assert (folder / FILE).samefile(source / FILE) == has_links
    names = {path.name for path in folder.iterdir()}
    assert names == {"raw", "images", "README.md", "croissant.json", "stats.json", ".compeval"}
    assert [path.name for path in (folder / "images").iterdir()] == ["shared"]


def test_a_link_to_a_file_becomes_a_file(tmp_path: Path):
    """DVC's cache may be linked; an edit of the dataset must not change it."""
    source = write_set(tmp_path / "parts/toy", "raw")
    cached = (source / FILE).rename(tmp_path / "cached")
    (source / FILE).symlink_to(cached)
    folder = assemble(tmp_path / "toy")
    assert not (folder / FILE).is_symlink()
    assert not (folder / FILE).samefile(cached)


def test_sets_that_have_no_part_stay(tmp_path: Path):
    """After ``dvc pull crepe``, there are no parts; a corpus of one's own is added to what is there."""
    for config in ("pulled", "both"):
        write_set(tmp_path / "parts/toy", config)
    assemble(tmp_path / "toy")
    shutil.rmtree(tmp_path / "parts")
    both = write_set(tmp_path / "parts/toy", "both") / "both/test-00000-of-00001.parquet"
    write_set(tmp_path / "parts/toy", "mine")
    folder = assemble(tmp_path / "toy")
    assert list_sets(folder) == ["both", "mine", "pulled"]
    assert (folder / "both" / both.name).samefile(both)


def test_a_dataset_of_an_earlier_version_is_replaced_and_no_other_folder(tmp_path: Path):
    write_set(tmp_path / "parts/toy", "new")
    folder = write_set(tmp_path / "toy", "old")
    write_card(folder, {"license": "mit"}, "", measure(folder))
    assert list_sets(assemble(folder)) == ["new", "old"]
    (folder / ".compeval").unlink()
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match="toy has contents that were not written by this command"):
        assemble(folder)
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_an_error_leaves_the_old_dataset(tmp_path: Path):
    write_set(tmp_path / "parts/toy", "raw")
    folder = assemble(tmp_path / "toy")
    version = (folder / "stats.json").read_text(encoding="utf-8")
    write_set(tmp_path / "parts/toy", "more")
    with pytest.raises(OSError, match="disk full"), parts.assemble(folder):
        raise OSError("disk full")
    assert list_sets(folder) == ["raw"]
    assert (folder / "stats.json").read_text(encoding="utf-8") == version


def test_the_images_that_a_set_references_may_be_read(tmp_path: Path):
    photo = tmp_path / "elsewhere/photo.jpg"
    photo.parent.mkdir()
    photo.write_bytes(b"")
    write_set(tmp_path / "checkout/parts/toy", "raw", Crop(photo, (0, 0, 5, 5)))
    assert resolve_image(assemble(tmp_path / "checkout/toy"), str(photo)) == photo


def test_a_folder_elsewhere_takes_some_of_the_sets(tmp_path: Path):
    for config in ("prod_raw", "prod_llm_raw", "cc12m_sc_raw"):
        write_set(tmp_path / "parts/toy", config)
    (tmp_path / "stats/toy").mkdir(parents=True)
    for name in ("productivity", "productivity_llm"):
        (tmp_path / f"stats/toy/{name}.json").write_text(
            json.dumps({"funnels": {name: [1]}}), encoding="utf-8"
        )
    with parts.assemble(tmp_path / "demo/toy", tmp_path, "cc12m|llm") as scratch:
        write_card(scratch, {"license": "mit"}, "", measure(scratch))
    assert list_sets(tmp_path / "demo/toy") == ["prod_raw"]
    assert collect_stats(tmp_path / "demo/toy", tmp_path, "cc12m|llm")["funnels"] == {
        "productivity": [1]
    }


def test_no_parts_are_an_error(tmp_path: Path):
    with pytest.raises(
        FileNotFoundError, match=r"parts/toy: no such folder\. Run the stages .* `dvc repro toy`"
    ):
        assemble(tmp_path / "toy")
