"""The nouns that images show together."""

from compeval.generators.hard_negatives.balanced.image_nouns import ImageNouns


def make_row(image_id: str, *nouns: str) -> dict:
    atoms = [{"kind": "object", "text": noun} for noun in nouns]
    return {"image_id": image_id, "atoms": [*atoms, {"kind": "attribute", "text": "red"}]}


def test_nouns_are_counted_once_an_image():
    rows = [
        make_row("1", "cup"),
        make_row("1", "cup", "table"),
        make_row("2", "cup", "hat"),
        make_row("3", "hat"),
    ]
    images = ImageNouns.of_rows(rows)
    assert [images.count(noun) for noun in ("cup", "table", "hat", "red")] == [2, 1, 2, 0]
    assert images.count_companions("cup") == {"table": 1, "hat": 1}
    assert images.count_companions("red") == {}
