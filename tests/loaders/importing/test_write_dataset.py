import errno
import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from PIL import Image

from compeval.base.schemas.scene_graph import Box
from compeval.loaders.audit import audit_dataset
from compeval.loaders.benchmarks import crepe_published
from compeval.loaders.datasets.stats import read_stats
from compeval.loaders.importing import write_dataset
from compeval.loaders.importing.identify import identify
from compeval.loaders.importing.images import ImageFinder
from compeval.loaders.importing.read_published import read_files, read_published
from compeval.loaders.importing.repair import match_stop, normalize_spacing, repair
from compeval.loaders.importing.selection import RowSelection
from compeval.loaders.importing.write_dataset import import_files, import_published, measure_outside
from compeval.loaders.load import load_dataset
from compeval.loaders.published.image_sets import ImageSet
from compeval.loaders.published.rows import Row, Unusable, parse_texts, read_csv, read_each
from tests.published_files import read_file
from tests.stand_ins import write_stand_ins

HEADER = "image_id,caption,n,hard_negs,x,y,width,height\n"
FIVE = "['a hat', 'a bag', 'a cat', 'a car', 'a bus']"


def productivity(folder: Path, *lines: str, kind: str = "atom", complexity: int = 4) -> Path:
    path = folder / f"prod_vg_hard_negs_{kind}_complexity_{complexity}.csv"
    path.write_text(HEADER + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def line(image: int = 1, negatives: str = FIVE, box: str = "1,2,30,40") -> str:
    return f'{image},a cup,4,"{negatives}",{box}'


def test_lists_and_sets_are_parsed_without_executing_code():
    assert parse_texts("['b', 'a']") == (("b", "a"), False)
    assert parse_texts("{'b', 'a'}") == (("a", "b"), True)
    for text in ("__import__('os').getcwd()", "[1, 2]", "['a'", "'a'", "[" * 10_000, "{'a': 'b'}"):
        with pytest.raises(ValueError, match="not a list of texts"):
            parse_texts(text)


def test_an_unclosed_quote_is_one_message(tmp_path: Path):
    path = productivity(tmp_path, line(), '1,"a cup' + "x" * 11_000_000)
    with pytest.raises(
        ValueError, match=r"complexity_4\.csv, after line 2: not a valid table row \(field larger"
    ):
        read_file(path)


@pytest.mark.parametrize(
    "name", ["../secret.jpg", "{folder}/secret.jpg", "below/../../secret.jpg", "..", "/", ""]
)
def test_no_name_leads_outside_the_image_folder(tmp_path: Path, name: str):
    (tmp_path / "secret.jpg").write_bytes(b"secret")
    (tmp_path / "images").mkdir()
    finder = ImageFinder(tmp_path, tmp_path / "images")
    assert finder.find(ImageSet("mine", ("below",)), name.format(folder=tmp_path)) is None


def test_an_absolute_name_is_found_by_its_end(tmp_path: Path):
    (tmp_path / "val2014").mkdir()
    (tmp_path / "val2014" / "x.jpg").write_bytes(b"")
    found = ImageFinder(tmp_path, tmp_path).find(ImageSet("mine", ()), "/data/coco/val2014/x.jpg")
    assert found == tmp_path / "val2014" / "x.jpg"


def test_an_image_is_found_after_it_was_missing(tmp_path: Path):
    finder, images = ImageFinder(tmp_path, tmp_path), ImageSet("mine", ())
    assert finder.find(images, "1.png") is None
    (tmp_path / "1.png").write_bytes(b"")
    assert finder.find(images, "1.png") == tmp_path / "1.png"


def test_two_names_that_are_one_file_here_are_an_error(tmp_path: Path):
    (tmp_path / "1.png").write_bytes(b"")
    finder, images = ImageFinder(tmp_path, tmp_path), ImageSet("mine", ())
    finder.check_distinct(images, ["positive/1.png", "data/positive/1.png", "1.png"])
    with pytest.raises(
        ValueError,
        match=r"^positive/1\.png and negative/1\.png are two images, but both are found as",
    ):
        finder.check_distinct(images, ["positive/1.png", "negative/1.png"])
    for folder in ("positive", "negative"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1.png").write_bytes(b"")
    finder = ImageFinder(tmp_path, tmp_path)
    finder.check_distinct(images, ["positive/1.png", "negative/1.png"])


def test_rows_with_cells_beyond_the_header_are_unusable(tmp_path: Path):
    path = tmp_path / "pairs.csv"
    path.write_text(
        "image,caption\n1.png,a cup\n2.png,a cup, red\n3.png,a cup,\n", encoding="utf-8-sig"
    )
    read = read_each(
        read_csv(path, ("image", "caption")),
        lambda row: Row("c", (row["image"],), (row["caption"],)),
    )
    assert list(read) == [
        Row("c", ("1.png",), ("a cup",)),
        Unusable("the row has more cells than the header"),
        Row("c", ("3.png",), ("a cup",)),
    ]


HEADER_OF_COMVG = "id,sentence,pos_image_id,neg_image_id,neg_value\n"
GOOD = "1,a man eats,1,2,verb\n"


@pytest.mark.parametrize(
    ("text", "captions", "dropped"),
    [
        (f"\ufeff{HEADER_OF_COMVG}{GOOD}", ["a man eats"], {}),
        (
            f"{HEADER_OF_COMVG}1,a man, eats,1,2,verb\n{GOOD}",
            ["a man eats"],
            {"the row has more cells than the header": 1},
        ),
        (f"{HEADER_OF_COMVG}{GOOD}1,a man ea", ["a man eats"], {"fields are missing": 1}),
        (
            f'{HEADER_OF_COMVG}1,"a\r\nman",1,2,verb\n'.replace("verb\n", "verb\r\n"),
            ["a\r\nman"],
            {},
        ),
        (f"{HEADER_OF_COMVG}\n\n{GOOD}\n", ["a man eats"], {}),
        ((HEADER_OF_COMVG + GOOD).replace(",", "\t"), ["a man eats"], {}),
        ((HEADER_OF_COMVG + '1,"a ""red"" man\teats",1,2,verb\n'), ['a "red" man\teats'], {}),
    ],
)
def test_odd_tables(tmp_path: Path, text: str, captions: list[str], dropped: dict[str, int]):
    (tmp_path / "ComVG.csv").write_bytes(text.encode())
    counts, rows = read_file(tmp_path / "ComVG.csv")
    assert ([row.captions[0] for row in rows], counts.dropped) == (captions, dropped)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "ComVG.csv",
            f'{HEADER_OF_COMVG}1,"a man,1,2,verb\n{GOOD}',
            r"after line 0: .* \(a quote is not closed\)",
        ),
        (
            "ComVG.csv",
            HEADER_OF_COMVG.replace(",", ";"),
            "no column neg_image_id, .* are id;sentence;pos_image_id",
        ),
        (
            "ComVG.csv",
            HEADER_OF_COMVG.replace("id,", "sentence,", 1),
            "two columns are called sentence",
        ),
        (
            "mine.csv",
            "",
            r"mine\.csv: not recognised as a published file, .* Known benchmarks: .*, sugarcrepe, ",
        ),
        ("swap_att.json", "{", r"swap_att\.json: not JSON"),
        ("swap_att.json", "1", "expected a list or an object of items"),
        ("swap_att.json", "[{}, 2]", r"none of its 2 rows is usable \(2 fields are missing\)"),
        (
            "prod_vg_hard_negs_atom_complexity_4.csv",
            "",
            r"no column caption, hard_negs, .*its columns are none",
        ),
        (
            "prod_vg_hard_negs_atm_complexity_4.csv",
            HEADER,
            "unknown file name. Expected prod_vg_hard_negs_",
        ),
        # Hostile content under another name.
        *(
            (name, text, "not recognised as a published file")
            for name, text in (
                ("rows.json", '[{"n": [1], "hard_negs": "[]"}]'),
                ("rows.json", '[{"n": 4, "hard_negs": {"a": 1}, "caption": 3}]'),
                ("rows.json", '[{"title": 1, "filepath": null, "neg_caption": 2}, {"title": 1}]'),
                ("rows.json", '[1, {"true_caption": "a", "false_caption": "b", "bbox_x": 1}]'),
                ("rows.csv", "caption,n,hard_negs\na,4,[]\nb\n"),
                ("rows.csv", "caption,n,hard_negs\na,../4,oops\n"),
                ("rows.tsv", "title\tfilepath\tneg_caption\na\n"),
            )
        ),
    ],
)
def test_invalid_files_are_one_message(tmp_path: Path, name: str, text: str, message: str):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_file(tmp_path / name)


def test_a_folder_is_not_a_file(tmp_path: Path):
    with pytest.raises(
        ValueError,
        match=rf"^{tmp_path} is a folder\. Name its files, for example {tmp_path}/\*\.json",
    ):
        identify(tmp_path)


def test_a_file_with_its_published_name_is_hashed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path, hashed = productivity(tmp_path, line()), []
    write_stand_ins([path], tmp_path / "images")
    digest = hashlib.file_digest
    monkeypatch.setattr(
        hashlib, "file_digest", lambda file, name: hashed.append(file.name) or digest(file, name)
    )
    identify(path)
    assert not hashed
    import_files([path], tmp_path / "images", tmp_path)
    assert hashed.count(path) + hashed.count(str(path)) == 1


# Repair


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("Lamp next to bed. . There is no end table.", "Lamp next to bed. There is no end table."),
        ("A man 's  hat , and a yak .", "A man's hat, and a yak."),
        ("it is n't red ... no", "it isn't red... no"),
        ("at 5 .30 or a .com", "at 5 .30 or a .com"),
    ],
)
def test_normalize_spacing(text: str, better: str):
    assert normalize_spacing(text) == better


def test_repair_removes_cues_and_rows_without_a_single_correct_caption():
    row = Row("prod_hnneg", ("1.jpg",), ("a tv.",), ("No TV .", "a  TV. No cat."))
    counted = Counter[str]()
    assert repair(row, counted) == row._replace(hard_negatives=("no tv.", "a tv. no cat."))
    assert counted == {"spacing": 2, "stop": 0, "case": 2}
    cased = repair(row._replace(captions=("A tv.",), hard_negatives=("a TV set",)), counted)
    assert isinstance(cased, Row)
    assert cased.hard_negatives == ("A TV set.",)
    assert repair(row._replace(hard_negatives=("A TV .", "x")), counted) == Unusable(
        "a negative is the caption"
    )
    assert repair(row._replace(hard_negatives=("x", "X ")), counted) == Unusable(
        "two negatives are the same"
    )


@pytest.mark.parametrize(
    ("negative", "caption", "better"),
    [
        ("a hat.", "a cup", "a hat"),
        ("a hat...", "a cup", "a hat"),
        ("a hat", "a cup.", "a hat."),
        ("a hat!", "a cup.", "a hat!"),
        ("a hat.", "a cup?", "a hat."),
        ("a hat.", "a cup.", "a hat."),
        (".", "a cup", ""),
    ],
)
def test_match_stop(negative: str, caption: str, better: str):
    assert match_stop(negative, caption) == better


# Import


def test_imported_rows_reference_their_image_and_load_with_the_crop(tmp_path: Path):
    path = productivity(tmp_path, line(1), line(2, box="0,0,5.4,7.6"))
    write_stand_ins([path], tmp_path / "images" / "VG_100K_2")
    (report,) = import_files([path], tmp_path / "images", tmp_path)
    assert report.written == {"prod_hnatom/n4": 2}
    rows = load_dataset("crepe_published", "prod_hnatom", "n4", data_dir=tmp_path)
    assert [row["image"].size for row in rows] == [(30, 40), (5, 8)]  # pyright: ignore
    assert "image" not in rows.column_names, "nothing is compressed a second time"  # pyright: ignore
    first = rows[0]
    with Image.open(first["image_path"]) as whole:
        x, y, width, height = (round(first[side]) for side in ("x", "y", "width", "height"))
        assert (
            first["image"].tobytes()
            == whole.convert("RGB").crop((x, y, x + width, y + height)).tobytes()
        )
    assert (first["caption"], first["hard_negatives"][0], first["complexity"]) == (
        "a cup",
        "a hat",
        4,
    )
    assert first["provenance"]["source"] == "visual_genome"


def test_whole_images_are_referenced_and_found_by_any_end_of_their_name(tmp_path: Path):
    path = tmp_path / "valid_neg_clip.tsv"
    lines = (
        "0\ta b\tcoco/val2014/x.jpg\t['b a']\n",
        "1\ta b c\tcoco/val2014/x.jpg\t['b a c', 'c b a']\n",
    )
    path.write_text("\ttitle\tfilepath\tneg_caption\n" + "".join(lines), encoding="utf-8")
    write_stand_ins([path], tmp_path / "all")
    (tmp_path / "flat").mkdir()
    image = (tmp_path / "all" / "coco" / "val2014" / "x.jpg").rename(tmp_path / "flat" / "x.jpg")
    import_files([path], tmp_path / "flat", tmp_path)
    assert read_stats(tmp_path / "aro_published")["rows"] == {
        "negclip_1": {"valid": 1},
        "negclip_2": {"valid": 1},
    }
    (row,) = load_dataset("aro_published", "negclip_2", "valid", data_dir=tmp_path)
    assert row["hard_negatives"] == ["b a c", "c b a"]  # pyright: ignore
    assert row["image_path"] == str(image)  # pyright: ignore
    with Image.open(image) as whole:
        assert row["image"].tobytes() == whole.tobytes()  # pyright: ignore


def test_a_missing_image_is_named_or_its_rows_are_skipped(tmp_path: Path):
    path = productivity(tmp_path, line(1), line(2), line(3))
    write_stand_ins([path], tmp_path / "images")
    (tmp_path / "images" / "2.jpg").unlink()
    with pytest.raises(
        FileNotFoundError,
        match=r"2\.jpg: image not found in .*VG_100K_2.*; 1 of 3 images are missing",
    ):
        import_files([path], tmp_path / "images", tmp_path)
    assert not (tmp_path / "crepe_published").exists()
    (report,) = import_files([path], tmp_path / "images", tmp_path, RowSelection(skip_missing=True))
    assert (report.written, report.dropped) == ({"prod_hnatom/n4": 2}, {"image missing": 1})
    (tmp_path / "none").mkdir()
    (report,) = import_files(
        [path], tmp_path / "none", tmp_path / "other", RowSelection(skip_missing=True)
    )
    assert (report.written, report.dropped) == ({}, {"image missing": 3})


def test_an_import_changes_nothing_of_the_files_that_were_read(tmp_path: Path):
    """An image is missing, and comes later."""
    path = productivity(tmp_path, line(1), line(2))
    write_stand_ins([path], tmp_path / "images")
    (tmp_path / "images/2.jpg").rename(tmp_path / "2.jpg")
    read = read_files([identify(path)], tmp_path)
    finder = ImageFinder(tmp_path, tmp_path / "images")
    (first,) = import_published(read, finder, skip_missing=True)
    assert (first.written, first.dropped) == ({"prod_hnatom/n4": 1}, {"image missing": 1})
    (tmp_path / "2.jpg").rename(tmp_path / "images/2.jpg")
    (second,) = import_published(read, finder)
    assert (second.written, second.dropped) == ({"prod_hnatom/n4": 2}, {})
    assert second.audits["prod_hnatom/n4"].rows == 2


def test_all_configs_are_written_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "valid_neg_clip.tsv"
    path.write_text(
        "title\tfilepath\tneg_caption\na b\tx.jpg\t['b a']\na b c\tx.jpg\t['b a c', 'c b a']\n",
        encoding="utf-8",
    )
    Image.new("RGB", (4, 4)).save(tmp_path / "x.jpg")
    write, written = write_dataset.write_split, []

    def write_one(folder: Path, *arguments: Any) -> int:
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(folder.name)
        return write(folder, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(write_dataset, "write_split", write_one)
        with pytest.raises(OSError, match="No space"):
            import_files([path], tmp_path, tmp_path / "data")
    assert (written, list((tmp_path / "data").glob("aro_published/*"))) == (["negclip_1"], [])
    import_files([path], tmp_path, tmp_path / "data")
    assert read_stats(tmp_path / "data/aro_published")["rows"].keys() == {"negclip_1", "negclip_2"}


def test_a_new_import_keeps_other_splits_and_replaces_its_own(tmp_path: Path):
    sets = "{'a', 'b', 'c', 'd', 'e'}"
    four, eight = (
        productivity(tmp_path, line(1, sets)),
        productivity(tmp_path, line(2), complexity=8),
    )
    write_stand_ins([four, eight], tmp_path / "images")
    import_files([four], tmp_path / "images", tmp_path)
    import_files([eight], tmp_path / "images", tmp_path)
    folder = tmp_path / "crepe_published"
    assert read_stats(folder)["rows"] == {"prod_hnatom": {"n4": 1, "n8": 1}}
    assert {name: one.flaws["unordered"] for name, one in audit_dataset(folder).items()} == {
        "prod_hnatom/n4": 1,
        "prod_hnatom/n8": 0,
    }
    four.write_text(HEADER + line(1) + "\n" + line(1) + "\n", encoding="utf-8")
    import_files([four], tmp_path / "images", tmp_path)
    assert read_stats(folder)["rows"] == {"prod_hnatom": {"n4": 2, "n8": 1}}
    assert audit_dataset(folder)["prod_hnatom/n4"].flaws["unordered"] == 0
    assert f"| {four.name} |" in (folder / "README.md").read_text(encoding="utf-8")


def test_the_three_files_of_a_complexity_are_joined(tmp_path: Path):
    """prod_hnall has the captions of all three files with their negatives, prod_raw those of any, once each."""
    files = [
        productivity(
            tmp_path,
            *(line(row, str([f"{kind} {n}" for n in range(5)])) for row in rows),
            kind=kind,
        )
        for kind, rows in {"atom": (1, 2), "swap": (1,), "negate": (1, 3)}.items()
    ]
    write_stand_ins(files, tmp_path / "images")
    import_files(files[:2], tmp_path / "images", tmp_path)
    assert read_stats(tmp_path / "crepe_published")["rows"].keys() == {"prod_hnatom", "prod_hnswap"}
    reports = import_files(files, tmp_path / "images", tmp_path)
    assert reports[0].written == {"prod_hnatom/n4": 2, "prod_hnall/n4": 1, "prod_raw/n4": 3}
    (row,) = load_dataset("crepe_published", "prod_hnall", "n4", data_dir=tmp_path)
    negatives = [f"{kind} {n}" for kind in ("atom", "swap", "negate") for n in range(5)]
    assert row["hard_negatives"] == negatives  # pyright: ignore
    raw = load_dataset("crepe_published", "prod_raw", "n4", data_dir=tmp_path)
    assert [row["image_id"] for row in raw] == ["1", "2", "3"]  # pyright: ignore
    assert "hard_negatives" not in raw.column_names  # pyright: ignore
    files[0].write_text(HEADER + line(2) + "\n", encoding="utf-8")
    # The joined splits were made of another file.
    import_files(files[:1], tmp_path / "images", tmp_path)
    assert read_stats(tmp_path / "crepe_published")["rows"].keys() == {
        "prod_hnatom",
        "prod_hnswap",
        "prod_hnneg",
    }


@pytest.mark.parametrize(
    ("complexity", "joined", "raw"),
    [
        (4, 26, 1445),
        pytest.param(8, 982, 2285, marks=pytest.mark.acceptance),
        pytest.param(12, 1577, 2008, marks=pytest.mark.acceptance),
    ],
)
def test_joined_rows_of_the_published_files(
    real_data: Path, complexity: int, joined: int, raw: int
):
    """The expected numbers were counted with csv and sets of (image, caption, box)."""
    splits: dict[tuple[str, str], list[Row]] = {}
    for kind in ("atom", "swap", "negate"):
        name = f"prod_vg_hard_negs_{kind}_complexity_{complexity}.csv"
        splits |= read_published(
            identify(real_data / "crepe/prod_hard_negatives" / kind / name)
        ).splits
    rows = list(crepe_published.join(splits))
    assert Counter(row.config for row in rows) == {"prod_hnall": joined, "prod_raw": raw}
    assert {len(row.hard_negatives) for row in rows if row.config == "prod_hnall"} == {15}


def test_a_file_that_is_named_twice_is_imported_once_and_two_files_of_one_split_are_an_error(
    tmp_path: Path,
):
    (tmp_path / "again").mkdir()
    files = [productivity(tmp_path, line()), productivity(tmp_path / "again", line())]
    write_stand_ins(files, tmp_path / "images")
    with pytest.raises(ValueError, match=r"are both prod_hnatom/n4 of crepe_published\."):
        import_files(files, tmp_path / "images", tmp_path)
    (report,) = import_files([files[0], files[0]], tmp_path / "images", tmp_path)
    assert report.written == {"prod_hnatom/n4": 1}
    assert read_stats(tmp_path / "crepe_published")["rows"] == {"prod_hnatom": {"n4": 1}}


REAL = {
    "crepe/prod_hard_negatives/swap/prod_vg_hard_negs_swap_complexity_4.csv": (27, {}, 26, {}),
    "crepe/prod_hard_negatives/negate/prod_vg_hard_negs_negate_complexity_4.csv": (
        1262, {}, 1251, {"spacing": 1132, "case": 6296},
    ),
    "aro/visual_genome_relation.json": (60, {}, 60, {}),
    "aro/valid_neg_clip.head500.tsv": (500, {}, 497, {"spacing": 600, "case": 103}),
    "sugar_crepe/swap_att.json": (666, {}, 666, {"spacing": 101, "stop": 79, "case": 22}),
}  # fmt: skip
"""Rows read, dropped without repair; rows left and texts changed with repair."""


@pytest.mark.parametrize("name", REAL)
def test_real_files(real_data: Path, name: str):
    report, rows = read_file(real_data / name)
    read, dropped, left, changed = REAL[name]
    assert (report.read, report.dropped, len(rows)) == (read, dropped, read)
    report, rows = read_file(real_data / name, repair=True)
    assert (len(rows), +report.repaired) == (left, changed)
    assert report.dropped.total() == read - left
    assert report.dropped.keys() <= {"a negative is the caption", "two negatives are the same"}


def write_boxes(folder: Path, *boxes: str, size: tuple[int, int] = (40, 50)) -> Path:
    """Write image 1 and a file with a row per box."""
    Image.new("RGB", size).save(folder / "1.jpg")
    return productivity(folder, *(line(box=box) for box in boxes))


def test_boxes_that_leave_the_image(tmp_path: Path):
    # The image has 40 x 50 pixels: inside, inside up to a pixel, partly outside, outside, more than twice as wide.
    path = write_boxes(tmp_path, "1,2,30,40", "0,0,41,50", "20,2,40,40", "40,2,10,10", "0,0,81,50")
    (counts,) = import_files([path], tmp_path, tmp_path / "data")
    assert (counts.read, counts.written, counts.cut) == (5, {"prod_hnatom/n4": 3}, 1)
    assert counts.dropped == {"the box is outside the image": 2}
    card = (tmp_path / "data/crepe_published/README.md").read_text(encoding="utf-8")
    assert "The texts are the authors', including their flaws.\n\n## Files" in card
    assert "has not been tried" not in card
    shrunken = tmp_path / "shrunken"
    shrunken.mkdir()
    path = write_boxes(shrunken, "1,2,30,40", size=(2, 2))
    with pytest.raises(ValueError, match="all boxes of prod_hnatom/n4 are outside their images"):
        import_files([path], shrunken, tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("corner", "share"),
    [((0, 0), 0), ((35, 0), 1 / 2), ((-5, -5), 3 / 4), ((40, 0), 1), ((-10, 0), 1)],
)
def test_share_of_a_box_outside_its_image(
    tmp_path: Path, corner: tuple[float, float], share: float
):
    Image.new("RGB", (40, 50)).save(tmp_path / "1.png")
    assert measure_outside(Box(*corner, 10, 10), tmp_path / "1.png") == share


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        (("", ""), 0),
        (("kitchen", "kitchen\n"), 1),
        (("kitchen", "kitchen "), 1),
        (("&", "&amp;"), 1),
    ],
)
def test_captions_of_karpathy_are_compared_with_the_text_of_the_file(
    tmp_path: Path, change: tuple[str, str], changed: int
):
    """Flickr30k's file has "Architects &amp; Engineers"."""
    caption = "a red cup & a jug stand on a blue table in the small kitchen"
    entry = {"image": "1.jpg", "caption": [caption.replace(*change) if change[0] else caption]}
    (tmp_path / "coco_karpathy_test.json").write_text(json.dumps([entry]), encoding="utf-8")
    read = read_published(identify(tmp_path / "coco_karpathy_test.json"))
    assert [(row.captions, row.changed) for row in read] == [((caption,), bool(changed))]


def test_captions_of_karpathy_are_all_counted_and_the_card_names_the_changes(tmp_path: Path):
    caption = "A red cup stands on a blue table in the small kitchen"
    entry = {"image": "val2014/1.jpg", "caption": [caption, f"{caption} ", " ", "a cup"]}
    (tmp_path / "coco_karpathy_test.json").write_text(
        json.dumps([entry, entry | {"caption": caption}]), encoding="utf-8"
    )
    (tmp_path / "val2014").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "val2014/1.jpg")
    (counts,) = import_files([tmp_path / "coco_karpathy_test.json"], tmp_path, tmp_path / "data")
    splits = ["test", *(f"test.s{seed}" for seed in range(1, 5))]
    assert (counts.read, counts.written, counts.changed) == (
        5,
        {f"coco_order/{split}": 1 for split in splits},
        5,
    )
    folder = tmp_path / "data/aro_published/coco_order"
    rows = [pq.read_table(next(folder.glob(f"{split}-*"))).to_pylist()[0] for split in splits]
    assert {row["caption"] for row in rows} == {rows[0]["caption"]}
    assert len({tuple(row["hard_negatives"]) for row in rows}) == 5, "each seed has other shuffles"
    assert [row["provenance"]["seed"] for row in rows] == [0, 1, 2, 3, 4]
    assert counts.dropped == {
        "a shuffle would leave the caption unchanged": 1,
        "a caption is empty": 1,
        "the image has this caption twice": 2,
    }
    card = (tmp_path / "data/aro_published/README.md").read_text(encoding="utf-8")
    assert (
        "with these exceptions:\n\n- `*_order`: the shuffles are ours (seed 0, and 1 to 4" in card
    )
    assert "5 rows have a text that differs from the published one." in card


def test_the_card_counts_quotes_and_images_that_programs_show_in_different_ways(
    tmp_path: Path, real_data: Path
):
    """The images are as the authors' code sees them: deep pixels are clipped, and EXIF is ignored."""
    cases, images = real_data / "cases", tmp_path / "images"
    images.mkdir()
    for number, name in enumerate(
        ("grey16/ramp16.png", "orientation/phone.jpg", "orientation/phone180.jpg")
    ):
        shutil.copy(cases / name, images / f"{number}.jpg")
    Image.new("F", (4, 4)).save(images / "3.jpg", "TIFF")
    Image.new("RGB", (4, 4)).save(images / "4.jpg")
    rows = (
        "".join(f'1,"a "red" cup",{number},{number + 1},verb\n' for number in range(4))
        + "2,a cup,0,4,verb\n"
    )
    (tmp_path / "ComVG.csv").write_text(
        "id,sentence,pos_image_id,neg_image_id,neg_value\n" + rows, encoding="utf-8"
    )
    (counts,) = import_files([tmp_path / "ComVG.csv"], images, tmp_path / "data")
    expected = {
        "more than 8 bits per channel": 1,
        "an EXIF rotation": 2,
        "floating-point pixels": 1,
    }
    assert (counts.images, counts.quotes) == (expected, 4)
    card = (tmp_path / "data/comvg/README.md").read_text(encoding="utf-8")
    assert "4 rows of the tables have text after a closing quote." in card
    assert (
        "ComVG.csv: 1 images have more than 8 bits per channel; 2 images have an EXIF rotation; 1 images"
        in card
    )
    shown = list(load_dataset("comvg", "verb", "test", data_dir=tmp_path / "data"))
    for row, number in ((0, 0), (1, 1), (2, 2)):
        with Image.open(images / f"{number}.jpg") as image:
            assert shown[row]["image"].tobytes() == image.convert("RGB").tobytes()  # pyright: ignore
    assert shown[0]["caption"] == 'a red" cup"'  # pyright: ignore
