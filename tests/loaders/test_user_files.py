import csv
import io
import json
import re
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from compeval.evaluators.engine.tasks import Task
from compeval.evaluators.metrics.intervals import wilson_interval
from compeval.evaluators.run import EvaluationOptions, run
from compeval.loaders.load import load_dataset
from compeval.loaders.own_data.columns import UserColumns
from compeval.loaders.own_data.left_out import LeftOut
from compeval.loaders.user_files import make
from tests.close import assert_close
from tests.reports.bench import Colors, wrap
from tests.rows import picture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in (1, 2):
        picture(tmp_path, number)
    return tmp_path


ROWS = [
    {"image": "1.jpg", "caption": "a cup", "hard_negatives": ["a hat", "a cat"]},
    {"image": "1.jpg", "caption": "a red cup"},
    {"image": "2.jpg", "captions": ["a dog", "a cup"], "hard_negatives": ["a fox"]},
]


def as_csv(separator: str) -> str:
    lines = [
        ("image", "caption", "hard_negatives"),
        ("1.jpg", "a cup", "['a hat', 'a cat']"),
        ("1.jpg", "a red cup", ""),
    ]
    lines.append(("2.jpg", "['a dog', 'a cup']", "['a fox']"))
    return "".join(separator.join(f'"{cell}"' for cell in line) + "\n" for line in lines)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pairs.json", json.dumps(ROWS)),
        ("pairs.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS)),
        ("pairs.csv", as_csv(",")),
        ("pairs.tsv", as_csv("\t")),
    ],
)
def test_tables_of_every_format_become_the_same_dataset(folder: Path, name: str, text: str):
    (folder / name).write_text(text, encoding="utf-8")
    stats = make("mine", [folder / name], None, folder)
    assert stats["rows"] == {
        "captions": {"test": 2},
        "foils_1": {"test": 1},
        "foils_2": {"test": 1},
    }
    rows = load_dataset("mine", "captions", "test", data_dir=folder)
    assert rows["captions"] == [["a cup", "a red cup"], ["a dog", "a cup"]]
    assert rows[0]["image"].size == (100, 80)  # pyright: ignore
    (row,) = load_dataset("mine", "foils_2", "test", data_dir=folder)
    assert (row["caption"], row["hard_negatives"]) == ("a cup", ["a hat", "a cat"])  # pyright: ignore
    assert "| foils_2 | 1 | 1 / 3 |" in (folder / "mine" / "README.md").read_text(encoding="utf-8")


def test_a_webdataset_shard(folder: Path):
    with tarfile.open(folder / "shard.tar", "w") as archive:
        archive.add(folder / "1.jpg", "00001.jpg")
        member = tarfile.TarInfo("00001.txt")
        member.size = 6
        archive.addfile(member, io.BytesIO(b"a cup\n"))
    make("mine", [folder / "shard.tar"], None, folder)
    rows = load_dataset("mine", "captions", "test", data_dir=folder)
    assert (rows["image_id"], rows["captions"]) == (["00001"], [["a cup"]])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.json",
            '[{"image": "1.jpg"}]',
            r"a\.json, row 1: no column caption; its columns are image\. Name them with --image-column",
        ),
        (
            "a.json",
            '[{"image": "9.jpg", "caption": "a"}]',
            r"a\.json, row 1: image .*9\.jpg not found\. Restore it, or set the folder",
        ),
        ("a.json", '[{"image": "1.jpg", "caption": " "}]', r"row 1: a text is empty"),
        ("a.json", '[{"image": "a.json", "caption": "a"}]', r"a\.json: not a readable image"),
        ("a.csv", "image,caption\n", r"a\.csv: no rows found\."),
        (
            "a.json",
            '[{"image": "../1.jpg", "caption": "a"}]',
            r"row 1: '\.\./1\.jpg' does not name a file below",
        ),
        ("a.jsonl", '{"image": "1.jpg", "caption": "a"}\n{', r"a\.jsonl, line 2: not JSON"),
        (
            "a.csv",
            'image,caption\n1.jpg,"' + 11_000_000 * "a",
            r"line 2: not a valid table \(field larger",
        ),
        ("a.txt", "", r"a\.txt: unknown file type; supported: \.csv"),
    ],
)
def test_invalid_inputs_are_named_and_nothing_is_written(
    folder: Path, name: str, text: str, message: str
):
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        make("mine", [folder / name], None, folder)
    assert not (folder / "mine").exists()


def test_a_link_out_of_the_folder_of_images_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A downloaded folder of images may contain links to private pictures."""
    photos, private = tmp_path / "photos", tmp_path / "private"
    for path in (photos, private):
        path.mkdir()
    (photos / "1.jpg").symlink_to(picture(private, 1))
    (tmp_path / "pairs.json").write_text(json.dumps(ROWS[:2]), encoding="utf-8")
    arguments = ("mine", [tmp_path / "pairs.json"], photos, tmp_path / "made")
    with pytest.raises(ValueError, match=r"row 1: image .*1\.jpg is a link that leads outside"):
        make(*arguments)
    assert not (tmp_path / "made").exists()
    monkeypatch.setenv("COMPEVAL_IMAGES", str(private))
    assert make(*arguments)["rows"] == {"captions": {"test": 1}, "foils_2": {"test": 1}}


def test_images_with_the_same_name_in_two_folders_are_distinct(tmp_path: Path):
    for number, folder in enumerate(("s1", "s2")):
        (tmp_path / folder).mkdir()
        picture(tmp_path / folder, number).rename(tmp_path / folder / "001.jpg")
    lines = "".join(
        json.dumps({"image": f"{folder}/001.jpg", "caption": folder}) + "\n"
        for folder in ("s1", "s2")
    )
    (tmp_path / "pairs.jsonl").write_text(lines, encoding="utf-8")
    make("mine", [tmp_path / "pairs.jsonl"], None, tmp_path)
    rows = load_dataset("mine", "captions", "test", data_dir=tmp_path)
    assert rows["image_id"] == ["s1/001.jpg", "s2/001.jpg"]


def test_each_file_uses_the_images_in_its_own_folder(tmp_path: Path):
    for number, folder in enumerate(("a", "b")):
        (tmp_path / folder).mkdir()
        picture(tmp_path / folder, number).rename(tmp_path / folder / "1.jpg")
        (tmp_path / folder / f"{folder}.json").write_text(
            '[{"image": "1.jpg", "caption": "a cup"}]', encoding="utf-8"
        )
    make("mine", [tmp_path / "a/a.json", tmp_path / "b/b.json"], None, tmp_path)
    assert load_dataset("mine", "captions", "test", data_dir=tmp_path)["image_id"] == [
        "a.json/1.jpg",
        "b.json/1.jpg",
    ]


def test_a_smaller_dataset_replaces_all_configs(folder: Path):
    (folder / "pairs.json").write_text(json.dumps(ROWS), encoding="utf-8")
    make("mine", [folder / "pairs.json"], None, folder)
    (folder / "pairs.json").write_text(json.dumps(ROWS[2:]), encoding="utf-8")
    stats = make("mine", [folder / "pairs.json"], None, folder)
    assert stats["rows"] == {"captions": {"test": 1}, "foils_1": {"test": 1}}
    assert sorted(path.name for path in (folder / "mine").iterdir() if path.is_dir()) == [
        "captions",
        "foils_1",
    ]


def test_a_corrected_image_is_in_the_new_dataset(folder: Path):
    (folder / "pairs.json").write_text(json.dumps(ROWS), encoding="utf-8")
    versions = []
    for colour in ("red", "blue"):
        Image.new("RGB", (4, 4), colour).save(folder / "2.jpg")
        versions.append(make("mine", [folder / "pairs.json"], None, folder)["version"])
        rows = load_dataset("mine", "captions", "test", data_dir=folder)
        assert rows[1]["image"].getpixel((0, 0)) == Image.open(folder / "2.jpg").getpixel((0, 0))  # pyright: ignore
        versions.append(rows[1]["crop_id"])  # pyright: ignore
    assert len(set(versions)) == 4


def test_a_folder_of_other_files_is_not_replaced(folder: Path):
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.tex").write_text("my thesis", encoding="utf-8")
    (folder / "pairs.json").write_text(json.dumps(ROWS), encoding="utf-8")
    with pytest.raises(ValueError, match="mine has contents that were not written by this command"):
        make("mine", [folder / "pairs.json"], None, folder)
    assert (folder / "mine" / "thesis.tex").read_text(encoding="utf-8") == "my thesis"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"image": "1.jpg", "caption": "a cup\u2028and a hat"}\n'),
        ("a.csv", 'image,caption\n1.jpg,"a cup\x85and a hat"\n'),
    ],
)
def test_unusual_line_separators_are_part_of_a_text(folder: Path, name: str, text: str):
    (folder / name).write_text(text, encoding="utf-8")
    make("mine", [folder / name], None, folder)
    ((caption,),) = load_dataset("mine", "captions", "test", data_dir=folder)["captions"]
    assert caption in ("a cup\u2028and a hat", "a cup\x85and a hat")


@pytest.mark.parametrize("name", ["../mine", "a/b", ".hidden", ""])
def test_the_name_cannot_lead_outside_the_output_folder(folder: Path, name: str):
    (folder / "pairs.json").write_text(json.dumps(ROWS), encoding="utf-8")
    with pytest.raises(ValueError, match="cannot be used as a file name"):
        make(name, [folder / "pairs.json"], None, folder / "data")


CASES = {
    r'["a cat \ud83d\ude00 on a chair"]': "a cat 😀 on a chair",
    r'["a cup\/mug on a table"]': "a cup/mug on a table",
    r'["café sign"]': "café sign",
    r'["a \"red\" hat"]': 'a "red" hat',
    r'["line\nbreak"]': "line\nbreak",
    "[sic] a cup": "[sic] a cup",
    "(a cup)": "(a cup)",
    "('a tuple',)": "a tuple",
    "{'a set'}": "a set",
    r"['caf\xe9']": "café",
    "a plain text": "a plain text",
}


def test_lists_are_json_or_python_literals(folder: Path):
    with (folder / "pairs.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [
                ("image", "caption", "hard_negatives"),
                *(("1.jpg", f"caption {cell}", cell) for cell in CASES),
            ]
        )
    make("mine", [folder / "pairs.csv"], None, folder)
    rows = load_dataset("mine", "foils_1", "test", data_dir=folder)
    assert [texts for (texts,) in rows["hard_negatives"]] == list(CASES.values())


def test_apostrophes_of_files_that_we_did_not_write_stay(folder: Path):
    captions = ["'-40%' is on the sign", "'@home' is on the doormat", "-40% off"]
    text = "".join(f'1.jpg,{caption},"[""a wrong caption""]"\n' for caption in captions)
    (folder / "pairs.csv").write_text(f"image,caption,hard_negatives\n{text}", encoding="utf-8")
    make("mine", [folder / "pairs.csv"], None, folder)
    assert load_dataset("mine", "foils_1", "test", data_dir=folder)["caption"] == captions


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.csv",
            "image,caption,hard_negatives\n1.jpg,a man, who runs,a dog\n",
            "line 2: 4 cells for 3 columns",
        ),
        (
            "a.csv",
            "image,caption,hard_negatives\n1.jpg,a man\n",
            "line 2: no cell for hard_negatives",
        ),
        (
            "a.csv",
            'image,caption\n1.jpg,"a\n1.jpg,b\n',
            "line 2: not a valid table (a quote is not closed)",
        ),
        (
            "a.csv",
            "image,caption,hard_negatives\n1.jpg,b,nan\n",
            "row 1: a text is nan; leave the cell empty",
        ),
        (
            "a.csv",
            'image,caption,hard_negatives\n1.jpg,a,"[""c"", null]"\n',
            "row 1: the negatives are not a list of",
        ),
        (
            "a.csv",
            'image,caption,hard_negatives\n1.jpg,a,"[""\\ud83d""]"\n',
            "row 1: a text has half of a surrogate",
        ),
        (
            "a.csv",
            "image,caption,hard_negatives\n1.jpg,a,['it''s' 'b']\n",
            "a comma is missing between two texts",
        ),
        (
            "a.csv",
            'image,caption,hard_negatives\n1.jpg,a,"{""swap"": ""c""}"\n',
            "row 1: the negatives are not a list",
        ),
        (
            "a.csv",
            "image,caption\n1.jpg,[Photo]\n",
            "the caption '[Photo]' is in brackets, but is not a list of texts",
        ),
        (
            "a.csv",
            "image,caption,hard_negatives\n1.jpg,a,N/A\n",
            "row 1: a text is N/A; leave the cell empty",
        ),
        (
            "a.jsonl",
            '{"image": "1.jpg", "caption": "a", "hard_negatives": 0}\n',
            "row 1: texts are a string",
        ),
        (
            "a.csv",
            "image,caption,caption\n1.jpg,a,b\n",
            "a.csv: two columns are called caption. Rename or delete one",
        ),
        (
            "a.csv",
            'image,caption\n1.jpg,"a ""red" cup\n',
            "line 2: text after a closing quote. Double the quotes",
        ),
        (
            "a.jsonl",
            '{"image": "1.jpg", "caption": "a", "caption": "b"}\n',
            "line 1: not JSON (the key 'caption' is there",
        ),
        (
            "a.jsonl",
            '{"image": "1.jpg", "caption": "a", "captions": ["b"]}\n',
            "row 1: both caption and captions have",
        ),
        (
            "a.jsonl",
            '{"image": "1.jpg", "caption": "a", "hard_negatives": {"swap": "c"}}\n',
            "row 1: texts are a string",
        ),
        (
            "a.jsonl",
            '{"image": "1.jpg", "caption": "a", "hard_negatives": ["b", 3]}\n',
            "row 1: a caption or name is not",
        ),
    ],
)
def test_what_would_become_a_wrong_caption_is_an_error(
    folder: Path, name: str, text: str, message: str
):
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(message)):
        make("mine", [folder / name], None, folder)


def test_cells_beyond_the_header_may_be_empty(folder: Path):
    (folder / "a.csv").write_text("image,caption\n1.jpg,a cup,,\n", encoding="utf-8")
    assert make("mine", [folder / "a.csv"], None, folder)["rows"] == {"captions": {"test": 1}}


def test_keys_of_a_shard_may_have_dots(folder: Path):
    files = {
        f"{key}.{suffix}": text
        for key in ("a.1", "a.2", "x")
        for suffix, text in (("jpg", ""), ("txt", key))
    }
    files["x.seg.jpg"] = ""
    with tarfile.open(folder / "shard.tar", "w") as archive:
        for name, text in files.items():
            content = text.encode() or (folder / "1.jpg").read_bytes()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    make("mine", [folder / "shard.tar"], None, folder)
    rows = load_dataset("mine", "captions", "test", data_dir=folder)
    assert rows["captions"] == [["a.1"], ["a.2"], ["x"]]
    assert rows["image_id"] == ["a.1", "a.2", "x"]


def test_pictures_are_upright_and_have_eight_bits(folder: Path):
    ramp = np.tile(np.linspace(0, 65_535, 64), (8, 1))
    expected = np.round(ramp / 257)
    Image.fromarray(ramp.astype(np.uint16)).save(folder / "deep.png")
    Image.fromarray((ramp / 65_535).astype(np.float32)).save(folder / "float.tiff")
    red_above_blue = Image.new("RGB", (40, 60), "blue")
    red_above_blue.paste("red", (0, 0, 40, 30))
    for orientation, transposition in (
        (3, Image.Transpose.ROTATE_180),
        (6, Image.Transpose.ROTATE_90),
    ):
        exif = Image.Exif()
        exif[0x0112] = orientation
        red_above_blue.transpose(transposition).save(folder / f"{orientation}.png", exif=exif)
    names = ["deep.png", "float.tiff", "3.png", "6.png"]
    (folder / "a.csv").write_text(
        "image,caption\n" + "".join(f"{name},a\n" for name in names), encoding="utf-8"
    )
    make("mine", [folder / "a.csv"], None, folder)
    rows = list(load_dataset("mine", "captions", "test", data_dir=folder))
    deep, floating, *turned = (np.asarray(row["image"]) for row in rows)  # pyright: ignore
    np.testing.assert_array_equal(deep, np.stack([expected] * 3, axis=-1))
    assert np.abs(floating.astype(float) - deep).max() <= 1
    for pixels in turned:
        np.testing.assert_array_equal(pixels, np.asarray(red_above_blue))
    assert [(row["width"], row["height"]) for row in rows[2:]] == [(40.0, 60.0)] * 2  # pyright: ignore


def test_pixels_without_a_known_range_are_an_error(folder: Path):
    Image.fromarray(np.full((4, 4), -1, np.float32)).save(folder / "x.tiff")
    (folder / "a.csv").write_text("image,caption\nx.tiff,a\n", encoding="utf-8")
    with pytest.raises(
        ValueError,
        match=r"x\.tiff: .* \(pixels of mode F from -1 to -1; convert the image to 8 bits\)",
    ):
        make("mine", [folder / "a.csv"], None, folder)


def test_columns_that_look_like_hard_negatives_are_named(
    folder: Path, capsys: pytest.CaptureFixture
):
    (folder / "a.csv").write_text(
        "id,image,caption,hard_negative\n5,1.jpg,a cup,a hat\n5,1.jpg,a cup,a hat\n",
        encoding="utf-8",
    )
    make("mine", [folder / "a.csv"], None, folder)
    assert (
        capsys.readouterr().err.count(
            "a.csv: not read: the columns hard_negative. Hard negatives are read from"
        )
        == 1
    )


def test_doubled_keys_and_images_of_a_shard_are_counted(
    folder: Path, capsys: pytest.CaptureFixture
):
    image = (folder / "1.jpg").read_bytes()
    members = [
        ("a.jpg", image),
        ("a.txt", "\ufeffone"),
        ("b.jpg", image),
        ("b.png", image),
        ("b.txt", "two"),
    ]
    members += [("c.jpg", image), ("c.txt", "three"), ("a.jpg", image), ("a.txt", "four")]
    with tarfile.open(folder / "shard.tar.gz", "w:gz") as archive:
        for name, content in members:
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    make("mine", [folder / "shard.tar.gz"], None, folder)
    rows = load_dataset("mine", "captions", "test", data_dir=folder)
    assert (rows["image_id"], rows["captions"]) == (["a", "c"], [["one"], ["three"]])
    assert (
        "1 with more than one image, 1 with the key of an earlier sample."
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        (0, "0"),
        (False, "false"),
        (0.5, "0.5"),
        (1, "1"),
        (float("nan"), "none"),
        (None, "none"),
        ("", "none"),
        (" nan ", "none"),
        ("swap", "swap"),
    ],
)
def test_a_kind_is_what_its_cell_says_and_none_without_a_value(
    folder: Path, cell: object, kind: str
):
    row = {"image": "1.jpg", "caption": "a cup", "hard_negatives": ["a hat"], "kind": cell}
    (folder / "pairs.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    make("mine", [folder / "pairs.jsonl"], None, folder, UserColumns(kind="kind"))
    (made,) = load_dataset("mine", "foils_1", "test", data_dir=folder)
    assert made["categories"] == [{"by": "kind", "name": kind}]  # pyright: ignore


def test_a_number_that_is_missing_is_no_negative(folder: Path):
    rows = [{"image": "1.jpg", "caption": "a cup", "hard_negatives": float("nan")}]
    (folder / "pairs.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    assert make("mine", [folder / "pairs.jsonl"], None, folder)["rows"] == {"captions": {"test": 1}}


def write_folders(folder: Path, *, same: bool) -> list[Path]:
    """Write two tables of thirty images each, whose files have equal names; with equal pictures if ``same``."""
    tables: list[Path] = []
    for part, name in enumerate("ab"):
        (folder / name).mkdir()
        lines = ["image,caption,hard_negatives"]
        for number in range(30):
            color = (255, number, 0 if same else part)
            Image.new("RGB", (8, 6), color).save(folder / name / f"{number}.png")
            lines.append(f"{number}.png,a red cup,['a blue cup']")
        tables.append(folder / name / "pairs.csv")
        tables[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tables


@pytest.mark.parametrize(("same", "count"), [(False, 60), (True, 30)])
def test_an_image_is_what_it_shows_whatever_its_name(folder: Path, same: bool, count: int):
    make("mine", write_folders(folder, same=same), None, folder)
    rows = load_dataset("mine", "foils_1", "test", data_dir=folder)
    assert len(rows) == 60
    assert len(set(rows["image_id"])) == count
    assert len(set(rows["crop_id"])) == count
    task = Task("mine", "foils_1", "test")
    (result,) = run(
        wrap(Colors()), [task], EvaluationOptions(data_dir=folder, output=folder / "results")
    )
    assert result["data"]["images"] == count
    low, high = result["intervals"]["recall@1"]
    assert_close((low, high), wilson_interval(1.0, count))


def test_a_table_whose_rows_are_all_skipped_says_so(tmp_path: Path):
    table = tmp_path / "a.csv"
    table.write_text("image,caption\nnone.png,a cup\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"no rows are left\. Rows skipped: 1\. The first error: .*none\.png"
    ):
        make("mine", [table], None, tmp_path, left_out=LeftOut(skips_errors=True))
