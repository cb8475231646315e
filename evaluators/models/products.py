"""Linear layers in float32: by PyTorch's own product, or by three bfloat16 ones where a processor is faster at those.

A float32 number is the sum of two bfloat16 numbers but for 2**-16 of it. So three products of such parts, summed in
float32, give a product to about 5e-6 of its largest value: what PyTorch calls float32 matrix products of "high"
precision. Processors with AMX multiply bfloat16 matrices six times faster than float32 ones. PyTorch has no operator
for it on CPUs, but brings oneMKL's along, which is called here.

Shapes: ... any number of axes, M rows, K inputs, N outputs, C inputs in parts (3 K side by side, else K), P
places for parts.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from evaluators.models import parts

RowWise = Callable[[Tensor], Tensor]
"""A function of rows, each by itself: a normalisation, an activation."""

_NUMBERS_A_STEP = 2**19
"""Normalised or activated, and taken apart, at a time: few enough for a core's own cache, and few steps."""
_MANY_INPUTS = 1024
"""From so many inputs on, three products take less time than a single one of parts that are laid side by side."""
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

        May take the memory of ``onto_N`` for the sum.
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


class InParts:
    """By three bfloat16 products of float32 on the CPU.

    Keeps the parts of the parameters it met, up to one and a half times their size, so it is of use while these and
    their values stay; and for each thread the memory of the largest inputs in parts.
    Nothing can be learned through it.
    """

    name = "three bfloat16"

    def __init__(self) -> None:
        parts.prepare()
        self._weights: dict[int, list[Tensor]] = {}
        self._of_thread = threading.local()

    @torch.inference_mode()
    def __call__(
        self, x_K: Tensor, weight_NK: Tensor, bias_N: Tensor, *, before: RowWise, onto_N: Tensor | None = None
    ) -> Tensor:
        product = bfloat16_product()
        assert product is not None
        if onto_N is None:
            y_N = torch.empty(*x_K.shape[:-1], len(weight_NK)).copy_(bias_N)
        else:
            y_N = onto_N.contiguous().add_(bias_N)
        x_MK = x_K.reshape(-1, x_K.shape[-1])
        for left_MC, right_NC in zip(self._rows_in_parts(x_MK, before), self._weight_in_parts(weight_NK), strict=True):
            (rows, inputs), outputs = left_MC.shape, len(right_NC)
            product(
                *(_ROW_MAJOR, _AS_IT_IS, _TRANSPOSED, rows, outputs, inputs),
                *(1.0, left_MC.data_ptr(), left_MC.stride(0), right_NC.data_ptr(), inputs),
                *(1.0, y_N.data_ptr(), outputs),
            )
        return y_N

    def _rows_in_parts(self, x_MK: Tensor, before: RowWise) -> list[Tensor]:
        """High, high, low of ``before`` of the rows: three (M, K) of many inputs, of fewer side by side, one (M, C).

        In memory that the thread's next call takes again: new memory costs more time than what is done in it.
        """
        rows, inputs = x_MK.shape
        places = 3 if inputs < _MANY_INPUTS else 2
        part_MPK = self._memory(rows * places * inputs).view(rows, places, inputs)
        step = max(1, _NUMBERS_A_STEP // inputs)
        for some_K, some_PK in zip(x_MK.split(step), part_MPK.split(step), strict=True):
            parts.take_apart(before(some_K).detach().contiguous().numpy(), some_PK.view(torch.uint16).numpy())
        high_MK, low_MK = part_MPK[:, 0], part_MPK[:, -1]
        return [part_MPK.flatten(1)] if places == 3 else [high_MK, high_MK, low_MK]

    def _memory(self, numbers: int) -> Tensor:
        """So many bfloat16 numbers, of this thread alone."""
        memory: Tensor | None = getattr(self._of_thread, "memory", None)
        if memory is None or len(memory) < numbers:
            memory = self._of_thread.memory = torch.empty(numbers, dtype=torch.bfloat16)
        return memory[:numbers]

    def _weight_in_parts(self, weight_NK: Tensor) -> list[Tensor]:
        """High, low, high: what meets :meth:`_rows_in_parts`. Kept of parameters, which their model keeps."""
        if id(weight_NK) in self._weights:
            return self._weights[id(weight_NK)]
        high_NK = weight_NK.bfloat16()
        low_NK = (weight_NK - high_NK.float()).bfloat16()
        found = [high_NK, low_NK, high_NK]
        if weight_NK.shape[1] < _MANY_INPUTS:
            found = [torch.cat(found, dim=1)]
        if isinstance(weight_NK, torch.nn.Parameter):
            self._weights[id(weight_NK)] = found
        return found


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


def ways(model: torch.nn.Module) -> list[Linear]:
    """The ways there are here to compute a model's linear layers, the fastest first."""
    single = all(parameter.dtype == torch.float32 and parameter.is_cpu for parameter in model.parameters())
    return [InParts(), Plain()] if single and bfloat16_product() is not None else [Plain()]
