"""Two texts that look the same are the same text, wherever they come in."""

import html
import json
import tarfile
import unicodedata
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from compeval.loaders.importing.identify import identify
from compeval.loaders.importing.read_published import audit_splits, read_published
from compeval.loaders.importing.selection import RowSelection
from compeval.loaders.load import load_dataset
from compeval.loaders.user_files import make

CAPTION = "a red café & a naïve cat"
FORMS: dict[str, Callable[[str], str]] = {
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "entities": lambda text: html.escape(text).replace("é", "&#233;"),
    "zero-width spaces": lambda text: text.replace(" ", " \u200b"),
}


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    Image.new("RGB", (40, 30), "red").save(tmp_path / "1.png")
    return tmp_path


def write_rows(path: Path, row: object) -> Path:
    path.write_text(f"{json.dumps(row)}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("form", FORMS)
def test_own_tables_store_one_form_and_refuse_a_negative_that_is_the_caption(
    picture: Path, form: str
):
    written = FORMS[form](CAPTION)
    row = {"image": "1.png", "caption": written, "hard_negatives": [FORMS[form]("a blue café")]}
    make("mine", [write_rows(picture / "a.jsonl", row)], None, picture)
    (stored,) = load_dataset("mine", "foils_1", "test", data_dir=picture)
    assert (stored["caption"], stored["hard_negatives"]) == (CAPTION, ["a blue café"])  # pyright: ignore
    equal = row | {"hard_negatives": [CAPTION]}
    with pytest.raises(ValueError, match="equals a caption"):
        make("mine", [write_rows(picture / "a.jsonl", equal)], None, picture)
    twice = row | {"hard_negatives": ["un piñón", FORMS[form]("un piñón")]}
    if form != "entities":
        with pytest.raises(ValueError, match="is there twice"):
            make("mine", [write_rows(picture / "a.jsonl", twice)], None, picture)


@pytest.mark.parametrize("form", FORMS)
def test_shards_and_karpathys_files_have_the_same_form(picture: Path, form: str):
    written, buffer = FORMS[form](CAPTION), BytesIO()
    Image.new("RGB", (40, 30), "red").save(buffer, "PNG")
    with tarfile.open(picture / "a.tar", "w") as archive:
        for name, data in (("1.png", buffer.getvalue()), ("1.txt", written.encode())):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, BytesIO(data))
    (picture / "a.json").write_text(
        json.dumps([{"image": "1.png", "caption": [written]}]), encoding="utf-8"
    )
    for name in ("a.tar", "a.json"):
        make("mine", [picture / name], None, picture)
        (stored,) = load_dataset("mine", "captions", "test", data_dir=picture)
        assert stored["captions"] == [CAPTION]  # pyright: ignore


@pytest.mark.parametrize("form", FORMS)
def test_published_rows_keep_their_texts_up_to_composition_and_an_audit_finds_equal_ones(
    tmp_path: Path, form: str
):
    """Without repair, only the spellings of é are changed; with it, a negative equal to the caption drops its row."""
    written = FORMS[form](CAPTION)
    items = {
        "0": {"filename": "0.jpg", "caption": CAPTION, "negative_caption": written},
        "1": {"filename": "1.jpg", "caption": written, "negative_caption": FORMS[form]("a dog")},
    }
    path = tmp_path / "swap_att.json"
    path.write_text(json.dumps(items), encoding="utf-8")
    read = read_published(identify(path))
    first, second = read
    composed = unicodedata.normalize("NFC", written)
    assert (first.captions, first.hard_negatives) == ((CAPTION,), (composed,))
    assert second.captions == (composed,)
    assert first.changed == second.changed == (form == "decomposed")
    (audit,) = audit_splits(read.splits).values()
    flaw = "truth" if form == "decomposed" else "case"
    assert audit.to_json()["flaws"][flaw] == 1
    repaired = read_published(identify(path), RowSelection(repair=True))
    assert repaired.counts.dropped == {"a negative is the caption": 1}
    (row,) = repaired
    assert (row.captions, row.hard_negatives) == ((CAPTION,), ("a dog",))
