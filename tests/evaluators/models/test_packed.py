import numpy as np
import open_clip
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evaluators.models import packed
from evaluators.models.products import Plain

CONFIG = {
    "embed_dim": 8,
    "vision_cfg": {"image_size": 16, "layers": 1, "width": 16, "patch_size": 8, "head_width": 8},
    "text_cfg": {"context_length": 20, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 3},
}
TEXTS = ["a dog", "a dog on a table", "a dog on a red table", "a cat", "A DOG", "", "word " * 40]


def spell(block: packed.Forest, end: int) -> tuple[int, ...]:
    """The tokens from a root to a position."""
    return () if end < 0 else (*spell(block, block.parents[end]), block.tokens[end])


def test_pack_by_hand():
    # 1 2 3 | 1 2 4 | 1 5 | 7: six positions instead of nine.
    sequences = [(1, 2, 3), (1, 2, 4), (1, 5), (7,)]
    assert packed.new_tokens(sequences) == [3, 1, 1, 1]
    forest = packed.pack(sequences)
    assert forest == packed.Forest([1, 2, 3, 4, 5, 7], [0, 1, 2, 2, 1, 0], [-1, 0, 1, 1, 0, -1], [2, 3, 4, 5])


def test_tiles_by_hand():
    # The forest 1 (2 (3 4) 5) at positions 0 (1 (2 3) 4), in tiles of three: the second begins below 0 and 1.
    forest = packed.pack([(1, 2, 3), (1, 2, 4), (1, 5)])
    assert (forest.path(3), forest.path(4), forest.subtree_ends().tolist()) == ([0, 1], [0], [5, 4, 3, 4, 5])
    key_TK, seen_TQK = packed.tiles(forest, size=3)
    assert key_TK[:, :2].tolist() == [[4, 4], [0, 1]]
    assert key_TK[:, packed.KEYS_A_STEP :].tolist() == [[0, 1, 2], [3, 4, 4]]
    seen = [[set(key_TK[tile, seen_TQK[tile, query]].tolist()) for query in range(3)] for tile in range(2)]
    assert seen == [[{0}, {0, 1}, {0, 1, 2}], [{0, 1, 3}, {0, 4}, {4}]]


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12).map(tuple), min_size=1, max_size=12),
    st.integers(1, 9),
)
def test_each_position_sees_its_ancestors_and_itself_once(sequences: list[tuple[int, ...]], size: int):
    forest = packed.pack(sorted(sequences))
    key_TK, seen_TQK = packed.tiles(forest, size)
    for position in range(len(forest.tokens)):
        tile, query = divmod(position, size)
        assert key_TK[tile, seen_TQK[tile, query]].tolist() == [*forest.path(position), position]


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=5).map(tuple), min_size=1, max_size=12))
def test_packing_loses_nothing(sequences: list[tuple[int, ...]]):
    forest = packed.pack(sorted(sequences))
    assert [spell(forest, end) for end in forest.ends] == sorted(sequences)
    assert all(depth == len(spell(forest, at)) - 1 for at, depth in enumerate(forest.depths))
    assert len(forest.tokens) == len({sequence[:end] for sequence in sequences for end in range(1, len(sequence) + 1)})


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (open_clip.CLIP, {}),
        (open_clip.CustomTextCLIP, {}),
        (open_clip.CLIP, {"pool_type": "eos", "eos_id": 49407}),
        (open_clip.CustomTextCLIP, {"proj_type": "none"}),
        (open_clip.CustomTextCLIP, {"proj_bias": True}),
    ],
)
def test_packed_features_are_the_models_own(kind: type, text: dict, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)  # else each core's forest repeats a beginning
    torch.manual_seed(0)
    model = kind(**CONFIG | {"text_cfg": CONFIG["text_cfg"] | text}).eval()
    tokens = open_clip.get_tokenizer(context_length=20)(TEXTS)
    encode = packed.PackedText(packed.causal_tower(model), "cpu", Plain())
    with torch.inference_mode():
        plain = model.encode_text(tokens).numpy()
    np.testing.assert_allclose(encode(tokens, 64), plain, atol=2e-6)
    # <s> a dog </s> 4, on a table </s> 4, red table </s> 3, cat </s> 2, the empty text's </s> 1, 18 words and </s> 19.
    assert encode.positions == 4 + 4 + 3 + 2 + 1 + 19


def test_by_tiles_features_are_the_models_own():
    torch.manual_seed(0)
    model = open_clip.CLIP(**CONFIG, cast_dtype=torch.float64).eval().double()
    texts = [f"{text} {number}" for text in TEXTS for number in range(30)]  # forests of more than one tile
    tokens = open_clip.get_tokenizer(context_length=20)(texts)
    encode = packed.PackedText(packed.causal_tower(model), "cpu", Plain())
    with torch.inference_mode():
        plain = model.encode_text(tokens).numpy()
    np.testing.assert_allclose(encode(tokens, 1000), plain, atol=1e-7)


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12).map(tuple), min_size=1, max_size=12),
    st.integers(1, 3),
    st.integers(1, 70),
    st.floats(0.01, 3),
)
def test_attention_one_by_one_is_the_one_by_tiles(
    sequences: list[tuple[int, ...]], heads: int, width: int, scale: float
):
    forest = packed.pack(sorted(sequences))
    generator = torch.Generator().manual_seed(0)
    part_P3HD = torch.randn(len(forest.tokens), 3, heads, width, generator=generator) * scale
    found = packed.attention(forest, "cpu", torch.float32)(part_P3HD)
    expected = packed.attention(forest, "cpu", torch.float64)(part_P3HD.double())
    assert found.shape == expected.shape
    torch.testing.assert_close(found.double(), expected, atol=2e-5 * scale, rtol=1e-4)


def test_one_by_one_what_is_no_number_spoils_those_below_it_alone():
    forest = packed.pack([(1, 2, 3), (1, 4), (5, 6)])
    part_P3HD = torch.ones(len(forest.tokens), 3, 2, 8)
    part_P3HD[1] = torch.nan  # of the 2, with 3 below it; by tiles all are spoilt
    read_PW = packed.attention(forest, "cpu", torch.float32)(part_P3HD)
    assert read_PW.isnan().any(dim=1).tolist() == [False, True, True, False, False, False]


def test_under_autocast_features_are_about_the_same():
    torch.manual_seed(0)
    encode = packed.PackedText(packed.causal_tower(open_clip.CLIP(**CONFIG).eval()), "cpu", Plain())
    tokens = open_clip.get_tokenizer(context_length=20)(TEXTS[:1])
    expected = encode(tokens, 64)
    with torch.autocast("cpu", torch.bfloat16):
        np.testing.assert_allclose(encode(tokens, 64), expected, atol=0.05 * np.abs(expected).max())


def test_several_forests_give_the_features_of_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    tokens = open_clip.get_tokenizer(context_length=20)(TEXTS)
    encode = packed.PackedText(packed.causal_tower(open_clip.CLIP(**CONFIG).eval()), "cpu", Plain())
    together = encode(tokens, 1000)
    first = encode.positions
    np.testing.assert_allclose(encode(tokens, 8), together, atol=2e-6)
    assert encode.positions > 2 * first


@pytest.mark.parametrize(
    "text", [{"no_causal_mask": True}, {"embed_cls": True}, {"pool_type": "last"}, {"pool_type": "first"}]
)
def test_towers_that_need_their_padding_keep_it(text: dict):
    model = open_clip.CustomTextCLIP(**CONFIG | {"text_cfg": CONFIG["text_cfg"] | text})
    assert packed.causal_tower(model) is None
