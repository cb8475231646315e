from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from compeval.evaluators.models import prefix_forest
from compeval.evaluators.models.prefix_forest import PrefixForest, PrefixForestEncoder, causal_tower
from tests.close import assert_close, count_layers, count_terms

CONFIG = {
    "embed_dim": 8,
    "vision_cfg": {"image_size": 16, "layers": 1, "width": 16, "patch_size": 8, "head_width": 8},
    "text_cfg": {"context_length": 20, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 3},
}
TOWER = open_clip.CLIP(**CONFIG).transformer
TERMS, LAYERS = count_terms(TOWER), count_layers(TOWER)
TEXTS = ["a dog", "a dog on a table", "a dog on a red table", "a cat", "A DOG", "", "word " * 40]


def prefix(forest: PrefixForest, node: int) -> tuple[int, ...]:
    """Return the tokens from the root to a node."""
    return () if node < 0 else (*prefix(forest, forest.parents[node]), forest.tokens[node])


def test_build_of_four_sequences():
    # 1 2 3 | 1 2 4 | 1 5 | 7: six nodes instead of nine tokens.
    sequences = [(1, 2, 3), (1, 2, 4), (1, 5), (7,)]
    assert prefix_forest.count_new_tokens(sequences) == [3, 1, 1, 1]
    forest = prefix_forest.build(sequences)
    assert forest == PrefixForest(
        [1, 2, 3, 4, 5, 7], [0, 1, 2, 2, 1, 0], [-1, 0, 1, 1, 0, -1], [2, 3, 4, 5]
    )


def test_attention_blocks_of_a_small_forest():
    # The forest 1 (2 (3 4) 5) with the nodes 0 (1 (2 3) 4), in blocks of three: the path to node 3 is 0, 1.
    forest = prefix_forest.build([(1, 2, 3), (1, 2, 4), (1, 5)])
    assert (forest.path(3), forest.path(4), forest.subtree_ends().tolist()) == (
        [0, 1],
        [0],
        [5, 4, 3, 4, 5],
    )
    key_BK, mask_BQK = prefix_forest.attention_blocks(forest, size=3)
    assert key_BK.tolist() == [[4, 4, 0, 1, 2], [0, 1, 3, 4, 4]]
    seen = [
        [set(key_BK[block, mask_BQK[block, query]].tolist()) for query in range(3)]
        for block in range(2)
    ]
    assert seen == [[{0}, {0, 1}, {0, 1, 2}], [{0, 1, 3}, {0, 4}, {4}]]


def test_batches_of_a_small_forest():
    # New tokens 3, 1, 1, 1, which are six nodes; batches of four are two of three nodes each.
    sequences = [(1, 2, 3), (1, 2, 4), (1, 5), (7,)]
    for batch_nodes, expected in ((6, [4]), (4, [1, 3]), (2, [2, 2]), (1, [1, 1, 1, 1])):
        slices = prefix_forest.batches(sequences, batch_nodes)
        assert [len(sequences[batch]) for batch in slices] == expected
    assert prefix_forest.batches([(1, 2), (1, 2), (1, 2)], 1) == [slice(0, 3)]


@given(
    st.lists(
        st.lists(st.integers(0, 2), min_size=1, max_size=9).map(tuple), min_size=1, max_size=20
    ),
    st.integers(1, 30),
)
def test_batches_contain_each_sequence_once_and_have_similar_sizes(
    sequences: list[tuple[int, ...]], batch_nodes: int
):
    sequences = sorted(sequences)
    batches = [sequences[batch] for batch in prefix_forest.batches(sequences, batch_nodes)]
    assert [sequence for batch in batches for sequence in batch] == sequences
    assert all(batches)
    # The first sequence of a batch repeats its prefix, and the last one is not cut.
    longest = max(map(len, sequences))
    assert (
        max(len(prefix_forest.build(batch).tokens) for batch in batches)
        <= batch_nodes + 2 * longest
    )


@given(
    st.lists(
        st.lists(st.integers(0, 2), min_size=1, max_size=12).map(tuple), min_size=1, max_size=12
    ),
    st.integers(1, 9),
)
def test_each_node_attends_to_its_ancestors_and_itself_once(
    sequences: list[tuple[int, ...]], size: int
):
    forest = prefix_forest.build(sorted(sequences))
    key_BK, mask_BQK = prefix_forest.attention_blocks(forest, size)
    for node in range(len(forest.tokens)):
        block, query = divmod(node, size)
        assert key_BK[block, mask_BQK[block, query]].tolist() == [*forest.path(node), node]


@given(
    st.lists(
        st.lists(st.integers(0, 2), min_size=1, max_size=5).map(tuple), min_size=1, max_size=12
    )
)
def test_a_forest_contains_each_prefix_once(sequences: list[tuple[int, ...]]):
    forest = prefix_forest.build(sorted(sequences))
    assert [prefix(forest, end) for end in forest.ends] == sorted(sequences)
    assert all(depth == len(prefix(forest, node)) - 1 for node, depth in enumerate(forest.depths))
    assert len(forest.tokens) == len(
        {sequence[:end] for sequence in sequences for end in range(1, len(sequence) + 1)}
    )


TOWERS = [
    (open_clip.CLIP, {}),
    (open_clip.CustomTextCLIP, {}),
    (open_clip.CLIP, {"pool_type": "eos", "eos_id": 49407}),
    (open_clip.CustomTextCLIP, {"proj_type": "none"}),
    (open_clip.CustomTextCLIP, {"proj_bias": True}),
    (open_clip.CustomTextCLIP, {"ls_init_value": 0.1}),
]


def encode_with_padding(kind: Any, text: dict) -> tuple[Any, torch.Tensor, np.ndarray]:
    """Return a causal text tower, the tokens of TEXTS, and their features by ``encode_text``."""
    torch.manual_seed(0)
    model = kind(**CONFIG | {"text_cfg": CONFIG["text_cfg"] | text}).eval()
    tokens = open_clip.get_tokenizer(context_length=20)(TEXTS)
    with torch.inference_mode():
        return causal_tower(model), tokens, model.encode_text(tokens).numpy()


@pytest.mark.parametrize(("kind", "text"), TOWERS)
def test_features_equal_those_of_the_model(kind: type, text: dict):
    tower, tokens, own = encode_with_padding(kind, text)
    encode = PrefixForestEncoder(tower, "cpu")
    assert_close(encode(tokens, 64), own, summed=TERMS)
    # <s> a dog </s> 4, on a table </s> 4, red table </s> 3, cat </s> 2, the empty text's </s> 1, 18 words and </s> 19.
    assert encode.nodes == 4 + 4 + 3 + 2 + 1 + 19


def test_features_over_many_blocks_equal_those_of_the_model():
    torch.manual_seed(0)
    model = open_clip.CLIP(**CONFIG, cast_dtype=torch.float64).eval().double()
    texts = [f"{text} {number}" for text in TEXTS for number in range(30)]
    tokens = open_clip.get_tokenizer(context_length=20)(texts)
    encode = PrefixForestEncoder(causal_tower(model), "cpu")
    with torch.inference_mode():
        own = model.encode_text(tokens).numpy()
    assert_close(encode(tokens, 1000), own, summed=TERMS)
    assert encode.nodes > 3 * prefix_forest.BLOCK_SIZE


def test_under_autocast_features_are_about_the_same():
    torch.manual_seed(0)
    encode = PrefixForestEncoder(causal_tower(open_clip.CLIP(**CONFIG).eval()), "cpu")
    tokens = open_clip.get_tokenizer(context_length=20)(TEXTS[:1])
    expected = encode(tokens, 64)
    with torch.autocast("cpu", torch.bfloat16):
        assert_close(encode(tokens, 64), expected, summed=LAYERS, dtype=torch.bfloat16)


def test_several_forests_have_the_features_of_one():
    tokens = open_clip.get_tokenizer(context_length=20)(TEXTS)
    encode = PrefixForestEncoder(causal_tower(open_clip.CLIP(**CONFIG).eval()), "cpu")
    together = encode(tokens, 1000)
    first = encode.nodes
    assert_close(encode(tokens, 2), together, summed=TERMS)
    # Each distinct text in a forest of its own: 8, 7, 4 (the same text twice), 4, 20 and 2 tokens.
    assert encode.nodes == first + 8 + 7 + 4 + 4 + 20 + 2


@pytest.mark.parametrize(
    "text",
    [{"no_causal_mask": True}, {"embed_cls": True}, {"pool_type": "last"}, {"pool_type": "first"}],
)
def test_towers_that_need_their_padding_keep_it(text: dict):
    model = open_clip.CustomTextCLIP(**CONFIG | {"text_cfg": CONFIG["text_cfg"] | text})
    assert causal_tower(model) is None


class Adapted(torch.nn.MultiheadAttention):
    """Attention of an adapter that computes more than its weights show."""


def test_a_tower_with_altered_attention_is_computed_by_the_model():
    model = open_clip.CLIP(**CONFIG)
    model.transformer.resblocks[1].attn = Adapted(16, 2)
    assert causal_tower(model) is None
