"""The cache of scores: what is computed, what is stored, and what is reported."""

import pytest

from compeval.base.files.sqlite_store import KEYS_PER_QUERY
from compeval.base.text_only.score_cache import ScoreCache


def test_only_missing_distinct_texts_are_computed(tmp_path) -> None:
    calls: list[list[str]] = []

    def compute(texts):
        calls.append(list(texts))
        return [(float(len(text)), 0.1) for text in texts]

    cache = ScoreCache(tmp_path, "model")
    assert cache.score(["ab", "c", "ab", "\ud800"], compute) == {
        "ab": (2.0, 0.1),
        "c": (1.0, 0.1),
        "\ud800": (1.0, 0.1),
    }
    assert ScoreCache(tmp_path, "model").score(["c", "d"], compute) == {
        "c": (1.0, 0.1),
        "d": (1.0, 0.1),
    }
    assert calls == [["ab", "c", "\ud800"], ["d"]]
    ScoreCache(tmp_path, "other").score(["c"], compute)
    assert calls[-1] == ["c"]
    assert cache.score([], compute) == {}


def test_more_texts_than_one_query_reads(tmp_path) -> None:
    texts = [str(number) for number in range(2 * KEYS_PER_QUERY + 1)]
    cache = ScoreCache(tmp_path, "model")
    first = cache.score(texts, lambda part: [(float(text),) for text in part])
    assert cache.score(texts, lambda part: []) == first == {text: (float(text),) for text in texts}


def test_a_file_that_is_no_database(tmp_path) -> None:
    (tmp_path / "model.scores.sqlite").write_bytes(b"no database" * 999)
    with pytest.raises(
        ValueError,
        match=r"model\.scores\.sqlite: the cache of scores failed.*delete it and run again",
    ):
        ScoreCache(tmp_path, "model")
