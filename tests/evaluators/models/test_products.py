from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from evaluators.models import products

needs_units = pytest.mark.skipif(products.bfloat16_product() is None, reason="no matrix units for bfloat16")


def test_the_plain_way_by_hand():
    x, weight, bias = torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0, 5.0], [7.0, 11.0]]), torch.tensor([0.5, 0.25])
    onto = torch.tensor([[100.0, 200.0]])
    assert products.Plain()(x, weight, bias, before=torch.relu).tolist() == [[3.5, 7.25]]
    assert products.Plain()(x, weight, bias, before=torch.relu, onto_N=onto).tolist() == [[103.5, 207.25]]


@pytest.mark.parametrize("way", [products.Plain, pytest.param(products.InParts, marks=needs_units)])
def test_feed_forward_by_hand(way: type[products.Plain | products.InParts]):
    inner, outer = nn.Linear(2, 3), nn.Linear(3, 2)
    with torch.no_grad():
        inner.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
        inner.bias.copy_(torch.tensor([0.0, -1.0, 2.0]))
        outer.weight.copy_(torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]]))
        outer.bias.copy_(torch.tensor([0.5, 0.25]))
        # Negated: (-1, 3). Inner: (-1, 2, 4), without the negative one (0, 2, 4). Outer: (16.5, 4.25).
        found = way().feed_forward(torch.tensor([[1.0, -3.0]]), inner, outer, before=torch.neg, between=torch.relu)
    assert found.tolist() == [[17.5, 1.25]]


@needs_units
def test_in_parts_by_hand():
    # 257 = 256 + 1 needs nine bits and bfloat16 has eight: the second part holds the 1.
    x, weight = torch.tensor([[257.0, 1.0]]), torch.tensor([[1.0, 0.0], [257.0, 3.0]])
    found = products.InParts()(x, weight, torch.tensor([0.5, 0.0]), before=nn.Identity())
    assert found.tolist() == [[257.5, 257.0 * 256 + 256 + 3]]  # what is left out is 1 x 1


@needs_units
@settings(deadline=None)
@given(
    st.lists(st.integers(1, 5), min_size=0, max_size=2),
    st.integers(1, 1324),
    st.integers(1, 40),
    st.sampled_from([nn.Identity(), torch.relu, nn.GELU()]),
    st.booleans(),
    st.floats(1e-6, 1e6),
)
def test_in_parts_is_the_product(
    shape: list[int], inputs: int, outputs: int, before: products.RowWise, added: bool, scale: float
):
    generator = torch.Generator().manual_seed(0)

    def some(*size: int) -> Tensor:
        return torch.randn(*size, generator=generator) * scale

    x, weight, bias = some(*shape, inputs), some(outputs, inputs), some(outputs)
    onto = some(*shape, outputs) if added else None
    exact = before(x).double() @ weight.double().T + bias + (0 if onto is None else onto)
    found = products.InParts()(x, weight, bias, before=before, onto_N=onto)
    assert found.shape == exact.shape
    size = (before(x).double().abs() @ weight.double().abs().T).max() + scale
    assert float((found - exact).abs().max()) <= 2e-5 * float(size)


@needs_units
@settings(deadline=None)
@given(
    st.lists(st.integers(1, 5), max_size=2),
    st.integers(1, 40),
    st.sampled_from([1, 7, *(products._INNER_OUTPUTS + more for more in (-1, 0, 1, products._INNER_OUTPUTS + 5))]),
    st.sampled_from([nn.GELU(), nn.GELU("tanh"), nn.Sigmoid()]),
    st.booleans(),
)
def test_feed_forward_in_parts_is_the_plain_one(
    shape: list[int], width: int, inner_outputs: int, between: nn.Module, strided: bool
):
    torch.manual_seed(0)
    inner, outer, norm = nn.Linear(width, inner_outputs), nn.Linear(inner_outputs, width), nn.LayerNorm(width)
    x = torch.randn(2, *shape, width).transpose(0, -2)[..., 0, :] if strided and shape else torch.randn(*shape, width)
    with torch.inference_mode():
        plain = products.Plain().feed_forward(x.clone(), inner, outer, before=norm, between=between)
        found = products.InParts().feed_forward(x, inner, outer, before=norm, between=between)
    assert found.shape == plain.shape
    torch.testing.assert_close(found, plain, atol=2e-5, rtol=1e-5)


@needs_units
def test_threads_have_memory_of_their_own():
    in_parts, torch_threads = products.InParts(), torch.get_num_threads()
    inner, outer = nn.Linear(64, 3000), nn.Linear(3000, 64)
    xs = [torch.randn(200, 64) + number for number in range(12)]

    def work(x: Tensor) -> Tensor:
        heads = in_parts(x, inner.weight, inner.bias, before=nn.Identity())
        return in_parts.feed_forward(x.clone(), inner, outer, before=nn.Identity(), between=nn.GELU()) + heads.sum()

    alone = [work(x) for x in xs]
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(work, xs))
    finally:
        torch.set_num_threads(torch_threads)
    for one, other in zip(alone, together, strict=True):
        torch.testing.assert_close(one, other)


@needs_units
def test_a_parameter_that_is_made_anew_is_taken_apart_anew():
    in_parts, x, bias = products.InParts(), torch.eye(4), torch.zeros(4)
    for value in range(20):  # parameters that come and go must not be taken for each other
        weight = nn.Parameter(torch.full((4, 4), float(value)))
        assert in_parts(x, weight, bias, before=nn.Identity()).eq(value).all()
        del weight


@needs_units
def test_in_parts_of_more_rows_than_a_step_and_of_strided_ones():
    x = torch.randn(2 * products._NUMBERS_A_STEP // 512 + 7, 3, 512)
    weight, bias, onto = torch.randn(8, 512), torch.randn(8), torch.randn(len(x), 2, 8)
    found = products.InParts()(x[:, 1], weight, bias, before=nn.LayerNorm(512), onto_N=onto[:, 0])
    plain = products.Plain()(x[:, 1], weight, bias, before=nn.LayerNorm(512), onto_N=onto[:, 0])
    torch.testing.assert_close(found, plain, atol=2e-3, rtol=0)
    assert onto[:, 0].data_ptr() != found.data_ptr()


@needs_units
def test_a_weight_that_is_made_anew_is_taken_apart_anew():
    in_parts, x, bias = products.InParts(), torch.eye(4), torch.zeros(4)
    kept = nn.Parameter(torch.ones(4, 4))
    for value in range(20):  # tensors that come and go may have the same id
        weight = torch.full((4, 4), float(value))
        assert in_parts(x, weight, bias, before=nn.Identity()).eq(value).all()
        assert in_parts(x, kept, bias, before=nn.Identity()).eq(1).all()
        del weight
    assert len(in_parts._weights) == 1


def test_other_types_and_a_mixture_have_the_plain_way_alone():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    count = 1 if products.bfloat16_product() is None else 2
    assert len(products.ways(model)) == count
    model[1].bfloat16()
    assert [way.name for way in products.ways(model)] == ["plain"]


def test_without_the_symbol_there_is_no_product(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(products.ctypes, "CDLL", lambda path: object())
    assert products.bfloat16_product.__wrapped__() is None


@needs_units
def test_in_parts_leaves_its_inputs_and_the_bias_alone():
    in_parts, x, weight, bias = products.InParts(), torch.ones(1, 4), torch.eye(4), torch.ones(4)
    for _ in range(2):
        assert in_parts(x, weight, bias, before=nn.Identity()).tolist() == [[2.0] * 4]
    assert x.eq(1).all()
    assert bias.eq(1).all()
