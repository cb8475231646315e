import io
import json
import zipfile
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from PIL import Image

from compeval.base.pipeline.params import OURS, PAPER
from compeval.generators.captioner.class_descriptors import DESCRIPTORS
from compeval.generators.captioner.example_captions import PUBLISHED_CAPTIONS
from compeval.generators.compun import (
    CompunSettings,
    Noun,
    make_descriptor_prompting,
    make_promptings,
    make_reversed_prompting,
    make_template_prompting,
    read_nouns,
    write,
)
from compeval.generators.language import wordnet
from compeval.generators.llm.client import Cache, Message, request_hash
from compeval.generators.microworld.compun_images import ImageCollection, can_draw, render_compound
from compeval.loaders.cards.card import write_card
from compeval.loaders.cards.write import main as write_cards
from compeval.loaders.datasets.stats import measure
from compeval.loaders.load import load_dataset

WORDS = Path(__file__).parents[2] / "sample/words"
NOUNS = read_nouns(WORDS / "compun.csv")
BY_NAME = {noun.compound: noun for noun in NOUNS}
DRAWN = [noun for noun in NOUNS if all(map(can_draw, (noun.name, noun.n1, noun.n2)))]


def test_the_nouns_are_the_published_list_in_its_order(real_data: Path):
    published = (real_data / "compun" / "Compun.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert [noun.compound for noun in NOUNS] == [line.strip('"') for line in published]


def split(compound: str) -> tuple[str, str] | None:
    """Return the likeliest constituents of a compound (Kumar et al. 2024, appendix A.3), according to WordNet.

    A compound of several words is cut before its last word. A compound of one word is cut into two nouns of at least
    three letters, such that the first is not a plural (not "lips + tick") and the shorter noun is as long as possible.
    """
    name = compound.lower().replace("-", " ")
    if " " in name:
        first, _, second = name.rpartition(" ")
        return first, second
    cuts = [(name[:position], name[position:]) for position in range(3, len(name) - 2)]
    nouns = [cut for cut in cuts if all(map(wordnet.is_in_wordnet, cut))]
    singular = [
        cut for cut in nouns if not (cut[0].endswith("s") and wordnet.is_in_wordnet(cut[0][:-1]))
    ]
    return max(singular, key=lambda cut: min(map(len, cut)), default=None)


def test_constituents_joined_are_the_compound():
    assert len(NOUNS) == 400
    for noun in NOUNS:
        parts = f"{noun.n1}{' ' if noun.form == 'open' else ''}{noun.n2}"
        assert parts.lower().replace("'", "") == noun.compound.lower(), noun
        assert noun.form == ("open" if " " in noun.compound else "closed")
    assert Counter(noun.form for noun in NOUNS) == {"open": 224, "closed": 176}


def test_the_dictionary_splits_all_compounds_but_two():
    marked = {noun.compound for noun in NOUNS if noun.split == "by hand"}
    wrong = {noun.compound for noun in NOUNS if split(noun.compound) != (noun.n1.lower(), noun.n2)}
    assert wrong == marked == {"bullseye", "crossbow"}


def test_notes_record_duplicates_and_three_word_compounds():
    assert "snowball" in BY_NAME["snow ball"].note
    assert "boat house" in BY_NAME["houseboat"].note
    assert "three words" in BY_NAME["grill surface thermometer"].note
    assert {noun.category for noun in NOUNS} == {"either", "both", "none"}


def test_prompts():
    houseboat, cube, cookies = BY_NAME["houseboat"], BY_NAME["Ice cube"], BY_NAME["M & M cookies"]
    assert make_template_prompting(houseboat).prompts == ["a photo of a houseboat"]
    assert make_reversed_prompting(houseboat).prompts == ["a photo of a boathouse"]
    # The paper's template has no "an".
    assert make_template_prompting(cube).prompts == ["a photo of a ice cube"]
    assert make_reversed_prompting(cube).prompts == ["a photo of a cube ice"]
    assert make_template_prompting(cookies).prompts == ["a photo of a M & M cookies"]
    assert make_descriptor_prompting(
        houseboat, {"houseboat": ["a hull", "a deck"]}, None, Cache([])
    ).prompts == [
        "a photo of a houseboat, which has a hull",
        "a photo of a houseboat, which has a deck",
    ]
    assert make_descriptor_prompting(cube, {}, None, Cache([])).captioner == "template"


def test_sixty_compounds_are_drawn_and_described_twenty_of_each_category():
    descriptors = yaml.safe_load((WORDS / "compun_descriptors.yaml").read_text(encoding="utf-8"))
    assert sorted(noun.name for noun in DRAWN) == sorted(descriptors)
    assert Counter(noun.category for noun in DRAWN) == {"both": 20, "either": 20, "none": 20}


def test_compounds_are_written_in_lower_case():
    assert BY_NAME["Keyhole"].name == "keyhole"
    assert BY_NAME["Pool Table"].name == "pool table"
    assert BY_NAME["M & M cookies"].name == "M & M cookies"


def test_renderings_differ_and_repeat():
    first, second = list(render_compound("fishbowl", "fish", "bowl", 2, 0))
    assert len({*first, *second}) == 6
    assert list(render_compound("fishbowl", "fish", "bowl", 2, 0)) == [first, second]
    assert Image.open(io.BytesIO(first.compound)).size == (224, 224)


def write_image(path: Path) -> None:
    Image.new("RGB", (4, 4), (sum(map(ord, path.stem.lower().replace(" ", "_"))) % 256, 0, 0)).save(
        path
    )


def write_collection(folder: Path) -> Path:
    folder.mkdir()
    for stem in (
        "raincoat",
        "raincoat_n1",
        "raincoat_n2",
        "Ice cube",
        "ice_cube_n1",
        "Ice cube_n2",
    ):
        write_image(folder / f"{stem}.png")
    return folder


def test_files_named_as_by_the_authors_in_a_folder_and_in_a_zip(tmp_path: Path):
    folder = write_collection(tmp_path / "images")
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, f"compun/{path.name}")
    from_folder, from_zip = (
        ImageCollection.open(folder),
        ImageCollection.open(tmp_path / "images.zip"),
    )
    assert from_folder.of("Ice cube") == from_zip.of("Ice cube")
    assert len(set(from_zip.of("raincoat"))) == 3


def write_all(folder: Path, nouns: list[Noun], images: Path) -> dict[str, dict[str, int]]:
    return write(folder, nouns, CompunSettings(0, 2, str(images), {}), WORDS, Cache([]))


def test_incomplete_compounds_are_left_out_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture
):
    images = write_collection(tmp_path / "images")
    (images / "ice_cube_n1.png").write_bytes(b"no image")
    (images / "readme.png").write_bytes(b"an odd file of the archive")
    (images / "__MACOSX").mkdir()
    (images / "__MACOSX" / "raincoat.png").write_bytes(b"not the image, which has the same name")
    nouns = [BY_NAME[name] for name in ("Ice cube", "raincoat", "fishbowl")]
    counts = write_all(tmp_path / "compun", nouns, images)
    assert counts["Images"] == {
        "compounds with a missing or unreadable image": 2,
        "compounds with images": 1,
    }
    rows = pq.read_table(next((tmp_path / "compun/main").glob("test-*"))).to_pylist()
    assert [row["compound"] for row in rows] == ["raincoat"]
    assert rows[0]["image"]["bytes"] == (images / "raincoat.png").read_bytes()
    shown = capsys.readouterr().err
    assert shown.startswith(
        f"{images}: incomplete compounds are left out. The first: Ice cube_n1: cannot identify"
    )
    for stem in ("raincoat_n1", "raincoat_n2"):
        (images / f"{stem}.png").unlink()
    with pytest.raises(ValueError, match=r"images: no compound has its three images \(<noun>"):
        write_all(tmp_path / "compun", nouns, images)


def test_a_path_that_is_neither_folder_nor_zip(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="neither a folder nor a zip"):
        ImageCollection.open(tmp_path / "nowhere")


def test_a_zip_of_a_version_that_is_not_supported(tmp_path: Path):
    path = tmp_path / "images.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.png", b"")
        archive.infolist()[0].extract_version = 148
    with pytest.raises(
        ValueError, match=r"images.zip: the zip file is damaged \(zip file version 14.8\)"
    ):
        ImageCollection.open(path)


def test_all_splits_have_the_same_images_with_different_prompts(tmp_path: Path):
    nouns: list[Noun] = [BY_NAME["fishbowl"], BY_NAME["copper wire"], BY_NAME["Keyhole"]]
    counts = write(tmp_path / "compun", nouns, CompunSettings(0, 2, None, {}), WORDS, Cache([]))
    assert counts == {
        "Images": {"compounds with images": 2},
        "Example captions: compounds by captioner": {"grammar": 2},
    }
    tables = {
        path.name.split("-")[0]: pq.read_table(path).to_pylist()
        for path in (tmp_path / "compun" / "main").glob("*.parquet")
    }
    assert {name: len(rows[0]["prompts"]) for name, rows in tables.items()} == {
        "test": 1,
        "test.reversed": 1,
        "test.descriptors": 3,
        **{f"test.examples.{k}": k for k in range(1, 8)},
    }
    assert tables["test.examples.3"][0]["prompts"] == tables["test.examples.7"][0]["prompts"][:3]
    for rows in tables.values():
        assert [row["compound"] for row in rows] == ["fishbowl", "fishbowl", "keyhole", "keyhole"]
        assert [row["crop_id"] for row in rows] == [row["crop_id"] for row in tables["test"]]
        assert [row["image_row"] for row in rows] == [0, 1, 2, 3]
    assert all(
        row[column] for row in tables["test"] for column in ("image", "image_n1", "image_n2")
    )
    assert not any(
        row[column]
        for row in tables["test.reversed"]
        for column in ("image", "image_n1", "image_n2")
    )
    assert tables["test"][2]["categories"][0] == {"by": "visible constituents", "name": "either"}
    assert pq.read_table(tmp_path / "compun" / "nouns").num_rows == 3
    write_card(tmp_path / "compun", {}, "", measure(tmp_path / "compun"))
    splits = load_dataset("compun", "main", data_dir=tmp_path)
    assert len(splits) == 10
    for rows in splits.values():
        for row, first in zip(rows, splits["test"], strict=True):
            for column in ("image", "image_n1", "image_n2"):
                assert row[column].tobytes() == first[column].tobytes()  # pyright: ignore
    assert "`main` show the same images several times" in (tmp_path / "compun/README.md").read_text(
        encoding="utf-8"
    )


def test_an_encrypted_zip_is_one_message(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        archive.writestr("compun/Ice cube.png", b"pixels")
    content = bytearray((tmp_path / "images.zip").read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1  # the flag for encryption
    (tmp_path / "images.zip").write_bytes(content)
    collection_in_zip = ImageCollection.open(tmp_path / "images.zip")
    with pytest.raises(ValueError, match=r"ice cube: cannot be unpacked \(.*encrypted"):
        collection_in_zip.of("ice cube")


def test_rules_of_the_paper_replace_no_missing_captions(tmp_path: Path):
    """A model has answered for one of two compounds: the other one is left out of the split, and counted."""
    settings = CompunSettings(0, 1, None, {"model": "m"}, PAPER)
    endpoint = settings.endpoint
    assert endpoint is not None
    assert endpoint.temperature == 0.1
    known, unknown = DRAWN[:2]
    cache = Cache([tmp_path], tmp_path / "m.jsonl")
    text = PUBLISHED_CAPTIONS.make_text(0, known.name, 7)
    assert text.startswith(f"Return a list of 7 diverse captions with a {known.name} in a photo.")
    captions = [f"caption {number}, which need not name it" for number in range(7)]
    request = request_hash(endpoint, [Message(role="user", content=text)])
    cache.add(request, {"answer": json.dumps(captions)})
    counts = write(tmp_path / "compun", [known, unknown], settings, WORDS, cache)
    assert counts["Example captions: compounds by captioner"] == {"llm:m": 1, "none: left out": 1}
    assert counts["Descriptors: compounds by captioner"] == {"none: left out": 2}
    files = (tmp_path / "compun/main").glob("*.parquet")
    rows = {path.name.split("-")[0]: pq.read_table(path).to_pylist() for path in files}
    assert [row["compound"] for row in rows["test"]] == [known.name, unknown.name]
    assert [row["compound"] for row in rows["test.examples.5"]] == [known.name]
    assert rows["test.examples.5"][0]["prompts"][0].endswith(captions[0])
    assert not {"test.descriptors", "test.notebook.5"} & set(rows)


def test_prompts_of_the_notebook_join_a_caption_and_all_descriptors(tmp_path: Path):
    settings = CompunSettings(0, 1, None, {"model": "m"}, PAPER)
    endpoint = settings.endpoint
    assert endpoint is not None
    cache, noun = Cache([tmp_path], tmp_path / "m.jsonl"), BY_NAME["raincoat"]
    answers = {
        PUBLISHED_CAPTIONS.make_text(0, noun.name, 7): [f"caption {n}" for n in range(7)],
        DESCRIPTORS.make_text(0, noun.name, 5): [f"feature {n}" for n in range(5)],
    }
    for text, items in answers.items():
        request = request_hash(endpoint, [Message(role="user", content=text)])
        cache.add(request, {"answer": json.dumps(items)})
    prompting = make_promptings(settings, {}, cache)["test.notebook.5"](noun)
    assert prompting == (
        [
            f"An example of raincoat in an image is: caption {n}. Some of its features are: feature 0, feature 1, "
            "feature 2, feature 3, feature 4."
            for n in range(5)
        ],
        "llm:m",
    )
    assert make_promptings(settings, {}, cache)["test.notebook.5"](BY_NAME["Keyhole"]) is None
    ours = CompunSettings(0, 1, None, {"model": "m"})
    assert "test.notebook.5" not in make_promptings(ours, {}, cache)


@pytest.mark.parametrize("rules", [OURS, PAPER])
def test_card_without_a_language_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: str):
    """Under the paper's rules, the splits that need a language model are missing; under ours, none may be."""
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(f"rules: {rules}\n", encoding="utf-8")
    settings = CompunSettings(0, 1, None, {}, PAPER)
    write(Path("compun"), NOUNS, settings, WORDS, Cache([]))
    Path("stats/compun").mkdir(parents=True)
    Path("stats/compun/compun.json").write_text('{"funnels": {}}', encoding="utf-8")
    if rules == OURS:
        with pytest.raises(ValueError, match="compun/main: splits of equal length expected"):
            write_cards("compun")
        return
    write_cards("compun")
    card = Path("compun/README.md").read_text(encoding="utf-8")
    assert "Made with `rules: paper`" in card
    assert "`test.notebook.5` has the prompts of the authors' notebook" in card
    assert "**This folder lacks `test.descriptors`, `test.examples.1`, " in card
    assert "`test.examples.7`, `test.notebook.5`.**" in card
    assert "Hard negatives are not proven" not in card, "the images of Compun are no hard negatives"
