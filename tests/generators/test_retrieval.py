"""The caption order and retrieval datasets, built from three images with captions."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest
from PIL import Image

from compeval.base.storage.patches import Patches, arrange_patches
from compeval.generators import retrieval
from compeval.generators.hard_negatives.aro import word_order
from compeval.generators.hard_negatives.aro.patch_order import GRIDS, draw_patches
from compeval.generators.hard_negatives.aro.word_order import TEXT_PERTURBATIONS, Tagger, Words
from compeval.loaders.cards.write import main as write_card
from compeval.loaders.datasets.image_sources import list_image_sources
from compeval.loaders.datasets.stats import list_configs
from compeval.loaders.load import load_dataset
from compeval.loaders.push import prepare_upload

CAPTIONS = {
    "a.jpg": ["A small dog sits under the wooden table.", "A brown dog rests below an old table."],
    "b.jpg": ["Two white boats lie on the calm water.", "Dog."],
    "c.jpg": ["Cat."],
}
"""The two captions of one word have no other order."""
ORDERED = [
    "a small dog sits under the wooden table.",
    "a brown dog rests below an old table.",
    "two white boats lie on the calm water.",
]
ALL_CAPTIONS = [ORDERED[:2], [ORDERED[2], "Dog."], ["Cat."]]
TEXT_VARIANTS = [
    f"test.{function.__name__}.s{seed}" for function in TEXT_PERTURBATIONS for seed in range(3)
]
IMAGE_VARIANTS = [f"test.{name}.s{seed}" for name in GRIDS for seed in range(3)]


def write_params(source: str, inputs: str = "", pixels: str = "null", rules: str = "ours") -> None:
    """Write params.yaml with ``source``, and the source ``inputs`` (by default the same) of the set coco."""
    coco = f"{{source: {inputs or source}, captions: captions.json, images: .}}"
    Path("params.yaml").write_text(
        f"source: {source}\npixels: {pixels}\nrules: {rules}\nretrieval: {{coco: {coco}}}\n",
        encoding="utf-8",
    )


def build(root: Path, source: str = "microworld", inputs: str = "", pixels: str = "null") -> Path:
    """Write both datasets and their cards to a folder with the images and captions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        write_params(source, inputs, pixels)
        retrieval.main("coco")
        write_card("aro")
        write_card("retrieval")
    return root


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with both datasets and their cards."""
    root = tmp_path_factory.mktemp("root")
    for number, name in enumerate(CAPTIONS):
        image = Image.new("RGB", (60, 48), (250, 80 * number, 0))
        image.paste((0, 0, 250), (0, 0, 20, 16))
        image.save(root / name)
    rows = [{"image": name, "caption": captions} for name, captions in CAPTIONS.items()]
    (root / "captions.json").write_text(json.dumps(rows), encoding="utf-8")
    (root / "truth.jsonl").touch()
    return build(root)


def copy_sources(built: Path, root: Path, *others: str) -> None:
    for name in (*CAPTIONS, "captions.json", *others):
        shutil.copy2(built / name, root)


@pytest.fixture(scope="module")
def referencing(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder with the same datasets, which reference their images."""
    root = tmp_path_factory.mktemp("referencing")
    copy_sources(built, root, "truth.jsonl")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPEVAL_IMAGES", str(root))
        yield build(root, pixels="by_reference")


def read_rows(built: Path, config: str, split: str) -> list[dict]:
    (path,) = (built / config).glob(f"{split}-*.parquet")
    return pq.read_table(path).to_pylist()


def test_every_seed_has_the_same_captions_with_four_other_orders(built: Path) -> None:
    perturbed_texts = set()
    for seed in retrieval.ORDER_SEEDS:
        order_rows = read_rows(built, "aro/coco_order", f"test.s{seed}")
        assert [row["caption"] for row in order_rows] == ORDERED
        for row in order_rows:
            assert len(row["hard_negatives"]) == 4
            for text in row["hard_negatives"]:
                assert text != row["caption"]
                assert Counter(text.strip(".").split()) == Counter(
                    row["caption"].strip(".").split()
                )
        perturbed_texts.add(tuple(text for row in order_rows for text in row["hard_negatives"]))
        assert {row["provenance"]["seed"] for row in order_rows} == {seed}
    assert len(perturbed_texts) == 5


def test_options_for_source_and_output(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built)
    retrieval.main("coco", source=built, output=Path("elsewhere"))
    write_card("aro", Path("elsewhere/aro"))
    assert read_rows(built, "elsewhere/aro/coco_order", "test.s1") == read_rows(
        built, "aro/coco_order", "test.s1"
    )
    cards = [
        json.loads((built / root / "aro/stats.json").read_text(encoding="utf-8"))
        for root in (".", "elsewhere")
    ]
    assert cards[0] == cards[1]


def test_the_original_split_has_all_captions_of_all_images(built: Path) -> None:
    rows = read_rows(built, "retrieval/coco", "test")
    assert [row["image_id"] for row in rows] == list(CAPTIONS)
    assert [row["captions"] for row in rows] == ALL_CAPTIONS


@pytest.mark.parametrize("split", TEXT_VARIANTS)
def test_perturbed_captions_are_of_the_same_images(built: Path, split: str) -> None:
    rows, plain = (
        read_rows(built, "retrieval/coco", split),
        read_rows(built, "retrieval/coco", "test"),
    )
    assert [row["crop_id"] for row in rows] == [row["crop_id"] for row in plain]
    for row, captions in zip(rows, ALL_CAPTIONS, strict=True):
        assert [
            text == original for text, original in zip(row["captions"], captions, strict=True)
        ] == [original in ("Dog.", "Cat.") for original in captions]


def test_perturbed_images_differ_from_the_original_and_have_its_captions(built: Path) -> None:
    plain = read_rows(built, "retrieval/coco", "test")
    crop_ids = [row["crop_id"] for row in plain]
    for split in IMAGE_VARIANTS:
        rows = read_rows(built, "retrieval/coco", split)
        assert [row["captions"] for row in rows] == ALL_CAPTIONS
        for row, plain_row in zip(rows, plain, strict=True):
            name, seed = split.split(".")[1], row["provenance"]["seed"]
            patches = draw_patches(name, row["image_id"], seed)
            assert Patches.from_row(row) == patches
            assert plain_row["patches"] is None
        crop_ids += [row["crop_id"] for row in rows]
    assert len(set(crop_ids)) >= 3 * 4, "two seeds may draw the same order"
    names = [path.name for path in (built / "retrieval/coco").glob("*.parquet")]
    assert len(names) == 1 + 3 * (5 + 3)


@pytest.mark.parametrize("config", ["retrieval/coco", "aro/coco_order"])
def test_each_image_is_stored_once(built: Path, referencing: Path, config: str) -> None:
    stored = [
        row["image"]
        for path in (built / config).glob("*.parquet")
        for row in pq.read_table(path).to_pylist()
    ]
    shown = CAPTIONS if config == "retrieval/coco" else ("a.jpg", "b.jpg")
    expected = sorted((built / name).read_bytes() for name in shown)
    assert sorted(image["bytes"] for image in stored if image) == expected
    assert "image" not in pq.read_schema(next((referencing / config).glob("*.parquet"))).names


@pytest.mark.parametrize("config", ["retrieval/coco", "aro/coco_order"])
def test_loaded_rows_show_their_images(built: Path, referencing: Path, config: str) -> None:
    splits = load_dataset(*config.split("/"), data_dir=built)
    referencing_splits = load_dataset(*config.split("/"), data_dir=referencing)
    for split, rows in splits.items():
        for row, other in zip(rows, referencing_splits[split], strict=True):
            with Image.open(built / row["image_id"]) as image:
                pixels = arrange_patches(image.convert("RGB"), Patches.from_row(row)).tobytes()
            assert row["image"].convert("RGB").tobytes() == other["image"].tobytes() == pixels
    one = load_dataset(
        *config.split("/"), "test.s1" if "order" in config else IMAGE_VARIANTS[4], data_dir=built
    )
    assert one[1]["image"].size in ((60, 48), (60, 45))
    assert "captions" in one.column_names or one["caption"] == ORDERED


def test_plain_datasets_returns_pixels_in_the_first_split_only(built: Path) -> None:
    rows = datasets.load_dataset(str(built / "retrieval"), "coco")
    assert [row["image"].size for row in rows["test"]] == [(60, 48)] * 3
    assert [row["image"] for row in rows[IMAGE_VARIANTS[0]]] == [None] * 3
    assert [row["image_row"] for row in rows[IMAGE_VARIANTS[0]]] == [0, 1, 2]
    card = (built / "retrieval/README.md").read_text(encoding="utf-8")
    assert "`image_row`" in card
    assert "`patches`" in card


def test_a_pushed_copy_stores_each_image_once(referencing: Path) -> None:
    with prepare_upload(referencing / "retrieval", {"coco": ["microworld"]}) as upload:
        rows = load_dataset(str(upload), "coco", IMAGE_VARIANTS[0])
        stored = [
            path
            for path in upload.rglob("*.parquet")
            if any(pq.read_table(path)["image"].to_pylist())
        ]
        assert [path.name for path in stored] == ["test-00000-of-00001.parquet"]
        assert rows[2]["image"].size == (60, 48)


def test_dropped_and_unchanged_captions_are_counted(built: Path) -> None:
    funnels = {
        name: json.loads((built / f"stats/{name}/coco.json").read_text(encoding="utf-8"))["funnels"]
        for name in ("aro", "retrieval")
    }
    assert funnels["aro"]["coco: captions and images"] == {
        "images": 3,
        "captions": 5,
        "captions without four different perturbations": 2,
        "captions kept": 3,
    }
    assert funnels["retrieval"]["coco: captions and images"] == {"images": 3, "captions": 5} | {
        f"captions that {function.__name__} leaves as they are": 2
        for function in TEXT_PERTURBATIONS
    }


def test_images_that_cannot_be_used_are_counted(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy2(built / "a.jpg", tmp_path)
    Path("b.jpg").write_bytes(b"no image")
    Path("truth.jsonl").touch()
    captions = {**CAPTIONS, "d.jpg": []}
    Path("captions.json").write_text(
        json.dumps([{"image": key, "caption": value} for key, value in captions.items()]),
        encoding="utf-8",
    )
    write_params("microworld")
    retrieval.main("coco")
    funnel = json.loads(Path("stats/retrieval/coco.json").read_text(encoding="utf-8"))["funnels"][
        "coco: captions and images"
    ]
    assert (
        funnel.items()
        >= {
            "unreadable images": 2,
            "images without captions": 1,
            "images": 1,
            "captions": 2,
        }.items()
    )
    assert capsys.readouterr().err.startswith(
        "Unreadable images are left out. The first: b.jpg: not a readable image"
    )
    Path("captions.json").write_text(
        json.dumps([{"image": "gone.jpg", "caption": "a dog"}]), encoding="utf-8"
    )
    with pytest.raises(
        ValueError, match=r"captions\.json: there is no readable image with captions"
    ):
        retrieval.main("coco")


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ('A "small" dog: sits, (quietly) #1.', "a small dog sits, quietly 1"),
        ("The man's  dog\n", "the man's dog"),
        (" ".join(["word"] * 31), " ".join(["word"] * 30)),
    ],
)
def test_the_authors_clean_captions(text: str, cleaned: str) -> None:
    assert word_order.clean_caption(text) == cleaned


def test_rules_of_the_paper(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Captions are cleaned, and patches are those of the central square that CLIP's preprocessing crops."""
    copy_sources(built, tmp_path)
    monkeypatch.chdir(tmp_path)
    write_params("coco", pixels="by_reference", rules="paper")
    retrieval.main("coco")
    original, shuffled = (
        read_rows(tmp_path, "parts/retrieval/coco", split)
        for split in ("test", "test.shuffle_rows.s0")
    )
    assert original[0]["captions"] == [text.rstrip(".") for text in ORDERED[:2]]
    sides = [(row["width"], row["height"]) for row in shuffled]
    assert sides == [(min(row["width"], row["height"]),) * 2 for row in original]
    write_card("retrieval")
    assert "Made with `rules: paper`" in (tmp_path / "retrieval/README.md").read_text(
        encoding="utf-8"
    )
    assert "rules: paper" not in (built / "retrieval/README.md").read_text(encoding="utf-8")


def test_a_caption_without_four_distinct_orders_is_not_in_the_order_sets() -> None:
    """Swapping the nouns and swapping the trigrams both return "fish fish dive dive", so only three orders differ."""
    twins = Words(
        ("fish", "dive", "dive", "fish"),
        ("", " ", " ", " ", "."),
        ("other", "noun", "other", "noun"),
    )
    assert not retrieval.has_wrong_captions(twins, ("0", "1"))


def test_perturbations_depend_on_the_key() -> None:
    (words,) = Tagger()(["A small dog sits under the wooden table."])
    assert word_order.make_wrong_captions(words, "0") == word_order.make_wrong_captions(words, "0")
    assert word_order.make_wrong_captions(words, "0") != word_order.make_wrong_captions(words, "1")


def test_cards_and_loading(built: Path) -> None:
    card = (built / "aro/README.md").read_text(encoding="utf-8")
    assert "Synthetic replacement" in card
    assert "| coco_order | 5 | 20% | 3 | " in card
    assert "captions without four different perturbations | 2 |" in card
    assert "| coco | 3 | 5,000 |" in (built / "retrieval/README.md").read_text(encoding="utf-8")
    loaded = load_dataset("aro", "coco_order", "test.s0", data_dir=built)
    assert loaded["caption"][0] == ORDERED[0]
    assert list_configs("retrieval", built)["coco"]["test"] == 3


def test_an_unknown_set_is_named(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built)
    with pytest.raises(ValueError, match=r"params\.yaml, retrieval: no set 'flickr'; it has coco"):
        retrieval.main("flickr")


def test_a_real_source_beside_inputs_of_the_microworld_builds_nothing(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(built)
    write_params("visual_genome", "microworld")
    with pytest.raises(
        ValueError, match=r"retrieval\.coco read the micro-world, but source \(visual_genome\)"
    ):
        retrieval.main("coco", output=Path("mixed"))
    assert not Path("mixed").exists()


def test_rows_and_card_have_the_source_and_licence_of_their_images(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    copy_sources(built, tmp_path)
    build(tmp_path, "visual_genome", "coco")
    assert {
        row["provenance"]["source"] for row in read_rows(tmp_path, "retrieval/coco", "test")
    } == {"coco"}
    card = Path("retrieval/README.md").read_text(encoding="utf-8")
    assert "license: other" in card
    assert "images under their Flickr licences" in card
    assert "Visual Genome" not in card
    with prepare_upload(Path("retrieval"), list_image_sources(Path("retrieval"))) as upload:
        schema = pq.read_schema(next((upload / "coco").glob("test-*.parquet")))
    assert not {"image", "image_path"} & set(schema.names)
