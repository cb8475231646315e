"""Linear layers in float32: by PyTorch's own product, or by three bfloat16 ones where a processor is faster at those.

A float32 number is the sum of two bfloat16 numbers but for 2**-16 of it. So three products of such parts, summed in
float32, give a product to about 5e-6 of its largest value: what PyTorch calls float32 matrix products of "high"
precision. Processors with AMX multiply bfloat16 matrices six times faster than float32 ones. PyTorch has no operator
for it on CPUs, but brings oneMKL's along, which is called here.

Shapes: ... any number of axes, M rows, K inputs, N outputs, W width, H outputs of an inner layer.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluators.models import parts

RowWise = Callable[[Tensor], Tensor]
"""A function of rows, each by itself: a normalisation, an activation."""

_NUMBERS_A_STEP = 2**19
"""Normalised or activated, and taken apart, at a time: few enough for a core's own cache, and few steps."""
_INNER_OUTPUTS = 1024
"""Outputs of an inner layer at a time: few enough to be in a cache still when the outer layer reads them."""
_ROW_MAJOR, _AS_IT_IS, _TRANSPOSED = 101, 111, 112
"""CBLAS's numbers for layouts."""


class Linear(Protocol):
    """A way to compute linear layers."""

    name: str
    """What a result calls it."""

    def __call__(
        self, x_K: Tensor, weight_NK: Tensor, bias_N: Tensor, *, before: RowWise, onto_N: Tensor | None = None
    ) -> Tensor:
        """``before`` of inputs (..., K), by the weights, plus the bias, plus ``onto_N`` (..., N) where given.

        May take the memory of ``onto_N`` for the sum. Without it, what is given may last until the thread's next call
        only.
        """
        ...

    def feed_forward(
        self, x_W: Tensor, inner: nn.Linear, outer: nn.Linear, *, before: RowWise, between: RowWise
    ) -> Tensor:
        """Inputs (..., W) plus ``outer`` of ``between`` of ``inner`` of ``before`` of them: a transformer's
        position-wise feed-forward network with its residual (Vaswani et al. 2017, section 3.3).

        May take the memory of the inputs for the sum.
        """
        ...


class Plain:
    """By PyTorch's own product, in the type of the weights."""

    name = "plain"

    def __call__(
        self, x_K: Tensor, weight_NK: Tensor, bias_N: Tensor, *, before: RowWise, onto_N: Tensor | None = None
    ) -> Tensor:
        y_N = functional.linear(before(x_K), weight_NK, bias_N)
        return y_N if onto_N is None else onto_N + y_N

    def feed_forward(
        self, x_W: Tensor, inner: nn.Linear, outer: nn.Linear, *, before: RowWise, between: RowWise
    ) -> Tensor:
        inner_H = self(x_W, inner.weight, inner.bias, before=before)
        return self(inner_H, outer.weight, outer.bias, before=between, onto_N=x_W)


class InParts:
    """By three bfloat16 products of float32 on the CPU.

    Keeps the parameters that it met, and their parts, one and a half times their size, so it is of use while their
    values stay; and for each thread the memory of its largest inputs and outputs. Nothing can be learned through it.
    """

    name = "three bfloat16"

    def __init__(self) -> None:
        parts.prepare()
        self._weights: dict[int, tuple[Tensor, Tensor]] = {}
        self._of_thread = threading.local()

    @torch.inference_mode()
    def __call__(
        self, x_K: Tensor, weight_NK: Tensor, bias_N: Tensor, *, before: RowWise, onto_N: Tensor | None = None
    ) -> Tensor:
        left_MPK = self._rows_in_parts("inputs", 3, x_K.reshape(-1, x_K.shape[-1]), before)
        if onto_N is None:
            y_N = self._memory("outputs", torch.float32, *x_K.shape[:-1], len(weight_NK)).copy_(bias_N)
        else:
            y_N = onto_N.contiguous().add_(bias_N)
        _add_product(y_N, left_MPK.flatten(1), self._weight_in_parts(weight_NK).flatten(1))
        return y_N

    @torch.inference_mode()
    def feed_forward(
        self, x_W: Tensor, inner: nn.Linear, outer: nn.Linear, *, before: RowWise, between: RowWise
    ) -> Tensor:
        left_MPW = self._rows_in_parts("inputs", 3, x_W.reshape(-1, x_W.shape[-1]), before)
        right_HPW, right_WPH = self._weight_in_parts(inner.weight), self._weight_in_parts(outer.weight)
        y_W = x_W.contiguous().add_(outer.bias)
        for start in range(0, len(inner.bias), _INNER_OUTPUTS):
            some = slice(start, start + _INNER_OUTPUTS)
            bias_H = inner.bias[some].detach()
            inner_MH = self._memory("inner outputs", torch.float32, len(left_MPW), len(bias_H))
            _add_product(inner_MH, left_MPW.flatten(1), right_HPW[some].flatten(1), beta=0)
            left_MPH = self._activated_in_parts(inner_MH, bias_H, between)
            for left, right in ((0, 0), (0, 1), (1, 0)):
                _add_product(y_W, left_MPH[:, left], right_WPH[:, right, some])
        return y_W

    def _rows_in_parts(self, place: str, places: int, x_MK: Tensor, before: RowWise) -> Tensor:
        """``before`` of the rows in parts (M, P, K), the high one in all places but the last, in memory kept for it."""
        part_MPK = self._memory(place, torch.bfloat16, len(x_MK), places, x_MK.shape[1])
        step = max(1, _NUMBERS_A_STEP // x_MK.shape[1])
        for some_K, some_PK in zip(x_MK.split(step), part_MPK.split(step), strict=True):
            parts.take_apart(before(some_K).detach().contiguous().numpy(), some_PK.view(torch.uint16).numpy())
        return part_MPK

    def _activated_in_parts(self, x_MH: Tensor, bias_H: Tensor, between: RowWise) -> Tensor:
        """``between`` of the rows plus the bias in parts (M, 2, H); may take the memory of the rows for the sum."""
        if isinstance(between, nn.GELU) and between.approximate == "none":
            part_MPH = self._memory("inner inputs", torch.bfloat16, len(x_MH), 2, len(bias_H))
            parts.take_gelu_apart(x_MH.numpy(), bias_H.numpy(), part_MPH.view(torch.uint16).numpy())
            return part_MPH
        return self._rows_in_parts("inner inputs", 2, x_MH.add_(bias_H), between)

    def _memory(self, place: str, dtype: torch.dtype, *shape: int) -> Tensor:
        """This thread's memory for something, as its next call for the same takes it again: new memory costs more time
        than what is done in it."""
        kept: dict[str, Tensor] = self._of_thread.__dict__
        numbers = math.prod(shape)
        if place not in kept or len(kept[place]) < numbers:
            kept[place] = torch.empty(numbers, dtype=dtype)
        return kept[place][:numbers].view(shape)

    def _weight_in_parts(self, weight_NK: Tensor) -> Tensor:
        """High, low, high (N, 3, K), which side by side meet high, high, low. Kept of parameters."""
        if id(weight_NK) in self._weights:
            return self._weights[id(weight_NK)][1]
        high_NK = weight_NK.bfloat16()
        found_NPK = torch.stack([high_NK, (weight_NK - high_NK.float()).bfloat16(), high_NK], dim=1)
        if isinstance(weight_NK, nn.Parameter):
            self._weights[id(weight_NK)] = weight_NK, found_NPK  # while it is kept, its id is no other's
        return found_NPK


def _add_product(y_N: Tensor, left_MK: Tensor, right_NK: Tensor, beta: float = 1) -> None:
    """Add bfloat16 rows by the transpose of bfloat16 weights to ``beta`` times contiguous float32 sums (..., N), which
    are not read where it is 0."""
    product = bfloat16_product()
    assert product is not None
    product(
        *(_ROW_MAJOR, _AS_IT_IS, _TRANSPOSED, len(left_MK), len(right_NK), left_MK.shape[1]),
        *(1.0, left_MK.data_ptr(), left_MK.stride(0), right_NK.data_ptr(), right_NK.stride(0)),
        *(beta, y_N.data_ptr(), len(right_NK)),
    )


@cache
def bfloat16_product() -> Callable[..., None] | None:
    """oneMKL's ``cblas_gemm_bf16bf16f32`` where this processor has matrix units for it, else None."""
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    if not torch.cpu.get_capabilities().get("amx_bf16") or not library.is_file():
        return None
    product: Any = getattr(ctypes.CDLL(str(library)), "cblas_gemm_bf16bf16f32", None)
    if product is not None:
        size, number, address = ctypes.c_int, ctypes.c_float, ctypes.c_void_p
        product.argtypes = [*[size] * 6, number, address, size, address, size, number, address, size]
        product.restype = None
    return product


def ways(model: nn.Module) -> list[Linear]:
    """The ways there are here to compute a model's linear layers, the fastest first."""
    single = all(parameter.dtype == torch.float32 and parameter.is_cpu for parameter in model.parameters())
    return [InParts(), Plain()] if single and bfloat16_product() is not None else [Plain()]
