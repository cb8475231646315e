"""Streaming JSON records, and joining them by image id on disk."""

import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compeval.base.readers.records import RecordsByImage, stream_records

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(TEXT, max_size=4), indent=st.sampled_from([None, 1]), ascii_only=st.booleans()
)
def test_streams_the_same_records_as_json(tmp_path_factory, texts, indent, ascii_only) -> None:
    path = tmp_path_factory.mktemp("json") / "records.json"
    rows = [
        {"id": number, "text": text, "nested": [{"}": "]"}, 0.5]}
        for number, text in enumerate(texts)
    ]
    path.write_text(json.dumps(rows, indent=indent, ensure_ascii=ascii_only), encoding="utf-8")
    assert list(stream_records(path)) == [(str(number), row) for number, row in enumerate(rows)]
    keyed = dict(zip("abcdef", rows, strict=False))
    path.write_text(json.dumps(keyed, indent=indent, ensure_ascii=ascii_only), encoding="utf-8")
    assert dict(stream_records(path)) == keyed


ENDS = (', {"id": 2', ', {"id": nope}]', "", ' {"id": 2}]', "] x")


@pytest.mark.parametrize(
    ("data", "count"),
    [*((f'[{{"id": 1}}{end}', 1) for end in ENDS), ('{"a": {"id": 1}, "b"', 1), ("", 0)],
)
def test_a_broken_file_raises_a_clear_error(tmp_path, data, count) -> None:
    path, damage = tmp_path / "r.json", r"\(.*\)\. It is cut off or damaged\. Download it"
    path.write_text(data, encoding="utf-8")
    with pytest.raises(
        ValueError, match=rf"r\.json: broken JSON after {count} records {damage}"
    ) as error:
        list(stream_records(path))
    assert str(tmp_path) in str(error.value)


def test_missing_file(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match=r"r\.json: not found"):
        list(stream_records(tmp_path / "r.json"))


def test_records_are_grouped_and_sorted_by_image_id() -> None:
    records = RecordsByImage()
    for image_id, file, record in [
        ("10", "b", 1),
        ("9", "b", [2]),
        ("10", "a", {"x": 3.5}),
        ("9", "b", None),
    ]:
        records.add(image_id, file, record)
    assert list(records) == [
        ("9", [("b", [2]), ("b", None)]),
        ("10", [("b", 1), ("a", {"x": 3.5})]),
    ]


def test_ids_are_new_once() -> None:
    records = RecordsByImage()
    assert [records.is_new(item) for item in ("1", "2", "1", "01", "a", "a")] == [
        True,
        True,
        False,
        True,
        True,
        False,
    ]


def test_memory_does_not_grow_with_the_number_of_records() -> None:
    records, record = RecordsByImage(), {"text": "x" * 10_000}
    tracemalloc.start()
    for number in range(2_000):
        records.add(str(number), "a", record | {"number": number})
    assert sum(1 for _ in records) == 2_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
