"""The caption order and retrieval datasets, built from three images with captions."""

import io
import json
import shutil
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from PIL import Image

from generators import retrieval
from generators.hard_negatives import word_order
from generators.hard_negatives.patch_order import GRIDS
from generators.hard_negatives.word_order import TEXT_PERTURBATIONS, Tagger, Words
from generators.readers.karpathy import CaptionedImage
from loaders.cards import aro as aro_card
from loaders.cards import retrieval as retrieval_card
from loaders.datasets.image_sources import list_image_sources
from loaders.datasets.load import load_dataset
from loaders.datasets.stats import list_configs
from loaders.push import prepare_upload

CAPTIONS = {
    "a.jpg": ["A small dog sits under the wooden table.", "A brown dog rests below an old table."],
    "b.jpg": ["Two white boats lie on the calm water.", "Dog."],
    "c.jpg": ["Cat."],
}
"""The two captions of one word have no other order, so they are removed. c.jpg then has no captions and is removed."""
SELECTED = [
    "a small dog sits under the wooden table.",
    "a brown dog rests below an old table.",
    "two white boats lie on the calm water.",
]


def write_params(source: str, inputs: str = "") -> None:
    """Write params.yaml with ``source``, and the source ``inputs`` (by default the same) of the set coco."""
    coco = f"{{source: {inputs or source}, captions: captions.json, images: .}}"
    Path("params.yaml").write_text(f"source: {source}\npixels: null\nretrieval: {{coco: {coco}}}\n")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with both datasets and their cards."""
    root = tmp_path_factory.mktemp("root")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        for number, name in enumerate(CAPTIONS):
            image = Image.new("RGB", (60, 48), (250, 80 * number, 0))
            image.paste((0, 0, 250), (0, 0, 20, 16))
            image.save(name)
        Path("captions.json").write_text(
            json.dumps([{"image": name, "caption": captions} for name, captions in CAPTIONS.items()])
        )
        write_params("microworld")
        Path("truth.jsonl").touch()
        retrieval.main("coco")
        aro_card.main()
        retrieval_card.main()
    return root


def read_rows(built: Path, config: str, split: str) -> list[dict]:
    (path,) = (built / config).glob(f"{split}-*.parquet")
    return pq.read_table(path).to_pylist()


def test_every_seed_has_the_same_captions_with_four_other_orders(built: Path) -> None:
    perturbed_texts = set()
    for seed in retrieval.ORDER_SEEDS:
        order_rows = read_rows(built, "aro/coco_order", f"test.s{seed}")
        assert [row["caption"] for row in order_rows] == SELECTED
        for row in order_rows:
            assert len(row["hard_negatives"]) == 4
            for text in row["hard_negatives"]:
                assert text != row["caption"]
                assert Counter(text.strip(".").split()) == Counter(row["caption"].strip(".").split())
        perturbed_texts.add(tuple(text for row in order_rows for text in row["hard_negatives"]))
        assert {row["provenance"]["seed"] for row in order_rows} == {seed}
    assert len(perturbed_texts) == 5


def test_options_for_source_and_output(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built)
    retrieval.main("coco", source=built, output=Path("elsewhere"))
    aro_card.main(Path("elsewhere/aro"))
    assert read_rows(built, "elsewhere/aro/coco_order", "test.s1") == read_rows(built, "aro/coco_order", "test.s1")
    cards = [json.loads((built / root / "aro/stats.json").read_text()) for root in (".", "elsewhere")]
    assert cards[0] == cards[1]


def test_retrieval_has_original_and_perturbed_splits(built: Path) -> None:
    plain = read_rows(built, "retrieval/coco", "test")
    assert [row["captions"] for row in plain] == [SELECTED[:2], SELECTED[2:]]
    for seed in retrieval.RETRIEVAL_SEEDS:
        for perturbation in TEXT_PERTURBATIONS:
            changed = read_rows(built, "retrieval/coco", f"test.{perturbation.__name__}.s{seed}")
            assert [row["crop_id"] for row in changed] == [row["crop_id"] for row in plain], "the same images"
            for row, plain_row in zip(changed, plain, strict=True):
                assert all(
                    text != original for text, original in zip(row["captions"], plain_row["captions"], strict=True)
                )
        for name in GRIDS:
            changed = read_rows(built, "retrieval/coco", f"test.{name}.s{seed}")
            assert [row["captions"] for row in changed] == [row["captions"] for row in plain]
            assert {row["crop_id"] for row in changed}.isdisjoint(row["crop_id"] for row in plain)
            blue_at = [Image.open(io.BytesIO(row["image"]["bytes"])).getpixel((3, 3))[2] for row in changed]  # pyright: ignore
            assert len(blue_at) == 2
    names = [path.name for path in (built / "retrieval/coco").glob("*.parquet")]
    assert len(names) == 1 + 3 * (5 + 3)


def test_removed_captions_and_images_are_counted(built: Path) -> None:
    funnel = json.loads((built / "stats/aro/coco.json").read_text())["funnels"]["coco: captions and images"]
    assert funnel == {
        "captions that some perturbation cannot change": 2,
        "images without a caption left": 1,
        "captions kept": 3,
        "images kept": 2,
    }


def test_a_caption_without_four_distinct_orders_is_removed() -> None:
    """Swapping the nouns and swapping the trigrams both return "fish fish dive dive", so only three orders differ."""
    twins = Words(("fish", "dive", "dive", "fish"), ("", " ", " ", " ", "."), ("other", "noun", "other", "noun"))
    dropped = Counter[str]()
    image = CaptionedImage("1", Path("1.jpg"), (twins.text,))
    assert retrieval.select_entries([image], lambda captions: (twins for _ in captions), dropped) == []  # pyright: ignore
    assert dropped == {"captions that some perturbation cannot change": 1, "images without a caption left": 1}


def test_perturbations_depend_on_the_seed() -> None:
    (words,) = Tagger()(["A small dog sits under the wooden table."])
    assert word_order.make_wrong_captions(words, 0) == word_order.make_wrong_captions(words, 0)
    assert word_order.make_wrong_captions(words, 0) != word_order.make_wrong_captions(words, 1)


def test_cards_and_loading(built: Path) -> None:
    card = (built / "aro/README.md").read_text()
    assert "Synthetic replacement" in card
    assert "| coco_order | 5 | 20% | 3 | " in card
    assert "captions that some perturbation cannot change | 2 |" in card
    assert "| coco | 2 | 5,000 |" in (built / "retrieval/README.md").read_text()
    loaded = load_dataset("aro", "coco_order", "test.s0", data_dir=built)
    assert loaded["caption"][0] == SELECTED[0]
    assert list_configs("retrieval", built)["coco"]["test"] == 2


def test_an_unknown_set_is_named(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built)
    with pytest.raises(ValueError, match=r"params\.yaml, retrieval: no set 'flickr'; it has coco"):
        retrieval.main("flickr")


def test_a_real_source_beside_inputs_of_the_microworld_builds_nothing(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(built)
    write_params("visual_genome", "microworld")
    with pytest.raises(ValueError, match=r"retrieval\.coco read the micro-world, but source \(visual_genome\)"):
        retrieval.main("coco", output=Path("mixed"))
    assert not Path("mixed").exists()


def test_rows_and_card_have_the_source_and_licence_of_their_images(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (*CAPTIONS, "captions.json"):
        shutil.copy2(built / name, tmp_path)
    write_params("visual_genome", "coco")
    retrieval.main("coco")
    retrieval_card.main()
    assert {row["provenance"]["source"] for row in read_rows(tmp_path, "retrieval/coco", "test")} == {"coco"}
    card = Path("retrieval/README.md").read_text()
    assert "license: other" in card
    assert "images under their Flickr licences" in card
    assert "Visual Genome" not in card
    with prepare_upload(Path("retrieval"), list_image_sources(Path("retrieval"))) as upload:
        schema = pq.read_schema(next((upload / "coco").glob("test-*.parquet")))
    assert not {"image", "image_path"} & set(schema.names)
