"""The order sets and the retrieval sets, from three pictures with captions to parquet."""

import io
import json
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
from loaders.datasets.load import load_dataset
from loaders.datasets.stats import list_configs

CAPTIONS = {
    "a.jpg": ["A small dog sits under the wooden table.", "A brown dog rests below an old table."],
    "b.jpg": ["Two white boats lie on the calm water.", "Dog."],
    "c.jpg": ["Cat."],
}
"""Two captions are one word each: they have no other order, so they go, and with the last one its picture."""
KEPT = [
    "a small dog sits under the wooden table.",
    "a brown dog rests below an old table.",
    "two white boats lie on the calm water.",
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout's root with both datasets and their cards."""
    root = tmp_path_factory.mktemp("root")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        for number, name in enumerate(CAPTIONS):
            picture = Image.new("RGB", (60, 48), (250, 80 * number, 0))
            picture.paste((0, 0, 250), (0, 0, 20, 16))
            picture.save(name)
        Path("captions.json").write_text(
            json.dumps([{"image": name, "caption": said} for name, said in CAPTIONS.items()])
        )
        Path("params.yaml").write_text("source: microworld\nretrieval: {coco: {captions: captions.json, images: .}}\n")
        retrieval.main("coco")
        aro_card.main()
        retrieval_card.main()
    return root


def rows(built: Path, config: str, split: str) -> list[dict]:
    (path,) = (built / config).glob(f"{split}-*.parquet")
    return pq.read_table(path).to_pylist()


def test_every_seed_has_the_same_captions_and_four_other_orders_of_each(built: Path) -> None:
    drawn = set()
    for seed in retrieval.ORDER_SEEDS:
        found = rows(built, "aro/coco_order", f"test.s{seed}")
        assert [row["caption"] for row in found] == KEPT
        for row in found:
            assert len(row["hard_negatives"]) == 4
            for text in row["hard_negatives"]:
                assert text != row["caption"]
                assert Counter(text.strip(".").split()) == Counter(row["caption"].strip(".").split())
        drawn.add(tuple(text for row in found for text in row["hard_negatives"]))
        assert {row["provenance"]["seed"] for row in found} == {seed}
    assert len(drawn) == 5


def test_another_source_and_output_give_the_same_rows_elsewhere(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built)
    retrieval.main("coco", source=built, output=Path("elsewhere"))
    aro_card.main(Path("elsewhere/aro"))
    assert rows(built, "elsewhere/aro/coco_order", "test.s1") == rows(built, "aro/coco_order", "test.s1")
    cards = [json.loads((built / root / "aro/stats.json").read_text()) for root in (".", "elsewhere")]
    assert cards[0] == cards[1]


def test_perturbed_captions_and_images_beside_the_plain_ones(built: Path) -> None:
    plain = rows(built, "retrieval/coco", "test")
    assert [row["captions"] for row in plain] == [KEPT[:2], KEPT[2:]]
    for seed in retrieval.RETRIEVAL_SEEDS:
        for one in TEXT_PERTURBATIONS:
            changed = rows(built, "retrieval/coco", f"test.{one.__name__}.s{seed}")
            assert [row["crop_id"] for row in changed] == [row["crop_id"] for row in plain], "one picture, encoded once"
            for row, before in zip(changed, plain, strict=True):
                assert all(text != was for text, was in zip(row["captions"], before["captions"], strict=True))
        for name in GRIDS:
            changed = rows(built, "retrieval/coco", f"test.{name}.s{seed}")
            assert [row["captions"] for row in changed] == [row["captions"] for row in plain]
            assert {row["crop_id"] for row in changed}.isdisjoint(row["crop_id"] for row in plain)
            blue_at = [Image.open(io.BytesIO(row["image"]["bytes"])).getpixel((3, 3))[2] for row in changed]  # pyright: ignore
            assert len(blue_at) == 2
    names = [path.name for path in (built / "retrieval/coco").iterdir()]
    assert len(names) == 1 + 3 * (5 + 3)


def test_what_goes_is_counted(built: Path) -> None:
    funnel = json.loads((built / "stats/aro/coco.json").read_text())["funnels"]["coco: captions and images"]
    assert funnel == {
        "captions that some perturbation cannot change": 2,
        "images without a caption left": 1,
        "captions kept": 3,
        "images kept": 2,
    }


def test_a_caption_without_four_different_other_orders_is_in_the_set_of_no_seed() -> None:
    """Of the nouns and of the trigrams, the only other order is "fish fish dive dive"."""
    twins = Words(("fish", "dive", "dive", "fish"), ("", " ", " ", " ", "."), ("other", "noun", "other", "noun"))
    dropped = Counter[str]()
    image = CaptionedImage("1", Path("1.jpg"), (twins.text,))
    assert retrieval.select_entries([image], lambda captions: (twins for _ in captions), dropped) == []  # pyright: ignore
    assert dropped == {"captions that some perturbation cannot change": 1, "images without a caption left": 1}


def test_the_perturbations_are_those_of_the_seed_alone() -> None:
    (words,) = Tagger()(["A small dog sits under the wooden table."])
    assert word_order.make_wrong_captions(words, 0) == word_order.make_wrong_captions(words, 0)
    assert word_order.make_wrong_captions(words, 0) != word_order.make_wrong_captions(words, 1)


def test_cards_and_loading(built: Path) -> None:
    card = (built / "aro/README.md").read_text()
    assert "Synthetic stand-in" in card
    assert "| coco_order | 5 | 20% | 3 | " in card
    assert "captions that some perturbation cannot change | 2 |" in card
    assert "| coco | 2 | 5,000 |" in (built / "retrieval/README.md").read_text()
    loaded = load_dataset("aro", "coco_order", "test.s0", data_dir=built)
    assert loaded["caption"][0] == KEPT[0]
    assert list_configs("retrieval", built)["coco"]["test"] == 2


def test_an_unknown_set_is_named(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built)
    with pytest.raises(ValueError, match=r"params\.yaml, retrieval: no set 'flickr'; it has coco"):
        retrieval.main("flickr")
