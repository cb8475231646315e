"""Records of a JSON file by id, without loading the file."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.readers import json_records
from generators.readers.json_records import Ids, JsonRecords


def key_of(record, where) -> str:
    return str(record["id"])


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(st.text(), max_size=4),
    indent=st.sampled_from([None, 1]),
    ascii_only=st.booleans(),
    chunk=st.integers(7, 50),
)
def test_reads_what_json_reads(tmp_path_factory, texts, indent, ascii_only, chunk) -> None:
    path = tmp_path_factory.mktemp("json") / "records.json"
    rows = [{"id": number, "text": text, "nested": [{"}": "]"}]} for number, text in enumerate(texts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_records, "CHUNK", chunk)
        path.write_bytes(json.dumps(rows, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass"))
        records = JsonRecords(path, key_of)
        assert [records[key] for key in records] == rows
        keyed = dict(zip("abcdef", rows, strict=False))
        path.write_bytes(json.dumps(keyed, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass"))
        assert {key: JsonRecords(path)[key] for key in JsonRecords(path)} == keyed


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('[{"id": 1}, {"id": 2', r"record 1: broken JSON at byte 20 \(Expecting ',' delimiter\)"),
        ('[{"id": 1}, {"id": nope}]', r"record 1: broken JSON at byte 19 \(Expecting value\)"),
        ('[{"id": 1}', r"record 1: broken JSON at byte 10 \(expected ',' or '\]', got 'the end of the file'\)"),
        ('[{"id": 1} {"id": 2}]', r"record 1: broken JSON at byte 11 \(expected ',' or '\]', got '{'\)"),
        ('[{"id": 1}] x', r"record 1: broken JSON at byte 12 \(more text after the end\)"),
        ("", r"record 0: broken JSON at byte 0 \(expected '\[' or '{', got 'the end of the file'\)"),
        ("[3]", "record 0: got int, expected an object"),
        ('[{"id": 1}, {"id": 1}]', "record 1: duplicate id 1"),
    ],
)
def test_one_clear_message_with_file_and_record(tmp_path, data, message) -> None:
    (tmp_path / "r.json").write_text(data)
    with pytest.raises(ValueError, match=message) as error:
        JsonRecords(tmp_path / "r.json", key_of)
    assert str(tmp_path / "r.json") in str(error.value)


def test_a_broken_record_is_not_read_to_the_end_of_a_large_file(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(json_records, "CHUNK", 10)
    monkeypatch.setattr(json_records, "LARGEST_RECORD", 50)
    (tmp_path / "r.json").write_text('[{"id": nope' + " " * 1000)
    with pytest.raises(ValueError, match=r"record 0: broken JSON at byte 8"):
        JsonRecords(tmp_path / "r.json", key_of)


def test_missing_file(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match=r"r\.json: not found"):
        JsonRecords(tmp_path / "r.json")


@settings(deadline=None)
@given(st.lists(st.integers(0, 300).map(str) | st.sampled_from(["a", "007", "-1", str(1 << 40)])))
def test_ids_are_a_set(items) -> None:
    ids, known = Ids(), set()
    for item in items:
        assert ids.add(item) == (item not in known)
        known.add(item)
