import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from evaluators.models.parts import take_apart, take_gelu_apart

NUMBERS = st.floats(-(2.0**100), 2.0**100, width=32, allow_subnormal=False)


def apart(x_MK: np.ndarray, places: int) -> torch.Tensor:
    """The parts (M, P, K) bfloat16."""
    part_MPK = np.zeros((len(x_MK), places, x_MK.shape[1]), dtype=np.uint16)
    take_apart(x_MK, part_MPK)
    return torch.from_numpy(part_MPK).view(torch.bfloat16)


def test_by_hand():
    # 257 = 256 + 1 and -1.00390625 = -1 - 2**-8 need nine bits, bfloat16 has eight; ties go to the even one.
    part = apart(np.array([[257.0, -1.00390625, 3.0, 0.0]], dtype=np.float32), 3)
    high, low = [256.0, -1.0, 3.0, 0.0], [1.0, -0.00390625, 0.0, 0.0]
    assert part.tolist() == [[high, high, low]]
    assert apart(np.array([[257.0, 3.0]], dtype=np.float32), 2).tolist() == [[[256.0, 3.0], [1.0, 0.0]]]


def test_the_parts_are_pytorchs_own_roundings():
    x = torch.randn(300, 700, generator=torch.Generator().manual_seed(0)) * 100
    high = x.bfloat16()
    part = apart(x.numpy(), 2)
    assert torch.equal(part[:, 0], high)
    assert torch.equal(part[:, 1], (x - high).bfloat16())


@given(arrays.arrays(np.float32, st.tuples(st.integers(0, 4), st.integers(0, 40)), elements=NUMBERS))
def test_the_sum_is_the_number_to_sixteen_bits(x_MK: np.ndarray):
    part = apart(x_MK, 3).double().numpy()
    assert (part[:, 0] == part[:, 1]).all()
    assert (np.abs(part[:, 0] + part[:, 2] - x_MK) <= np.abs(x_MK) * 2.0**-16 + 1e-38).all()


def test_what_is_no_number_stays_none():
    part = apart(np.array([[math.nan, math.inf, -math.inf, 1.0]], dtype=np.float32), 2)[0].float()
    assert (part[0] + part[1]).isfinite().tolist() == [False, False, False, True]


def gelu_apart(x_MK: np.ndarray, bias_K: np.ndarray, places: int = 2) -> torch.Tensor:
    """The parts (M, P, K) bfloat16."""
    part_MPK = np.zeros((len(x_MK), places, x_MK.shape[1]), dtype=np.uint16)
    take_gelu_apart(x_MK, bias_K, part_MPK)
    return torch.from_numpy(part_MPK).view(torch.bfloat16)


def test_gelu_by_hand():
    # x times the probability that a standard normal variable is below x: 0.8413447, 0.1586553, 0.9772499.
    x, bias = np.array([[2.0, -2.0, 2.0, 0.0, -100.0, 100.0]], dtype=np.float32), np.zeros(6, dtype=np.float32)
    bias[:2] = -1, 1
    high, low = gelu_apart(x, bias)[0].double()
    found = (high + low).tolist()
    assert found == pytest.approx([0.8413447, -0.1586553, 1.9544997, 0, 0, 100], rel=2**-16)
    assert found[3:] == [0, 0, 100]


@given(
    arrays.arrays(np.float32, st.tuples(st.integers(0, 4), st.just(20)), elements=st.floats(-50, 50, width=32)),
    arrays.arrays(np.float32, 20, elements=st.floats(-9, 9, width=32)),
    st.integers(2, 4),
)
def test_gelu_is_the_exact_one(x_MK: np.ndarray, bias_K: np.ndarray, places: int):
    part = gelu_apart(x_MK, bias_K, places).double()
    assert (part[:, :-1] == part[:, :1]).all()
    y_MK = torch.from_numpy(x_MK + bias_K).double()
    exact_MK = y_MK * torch.special.ndtr(y_MK)
    assert ((part[:, 0] + part[:, -1] - exact_MK).abs() <= 3e-7 * y_MK.abs() + 2**-16 * exact_MK.abs() + 1e-38).all()


def test_gelu_of_what_is_no_number_stays_none():
    x = np.array([[math.nan, math.inf, -math.inf, 1.0]], dtype=np.float32)
    high, low = gelu_apart(x, np.zeros(4, dtype=np.float32))[0].float()
    assert (high + low).isfinite().tolist() == [False, False, False, True]
