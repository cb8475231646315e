"""Number formats of trainings."""

from __future__ import annotations

import torch


def fast_bfloat16(device: str) -> bool:
    """Whether a device multiplies matrices of bfloat16 faster than those of fp32: CUDA's; processors with AMX."""
    if device.startswith("cuda"):
        return torch.cuda.is_bf16_supported()
    return device == "cpu" and torch.cpu.get_capabilities().get("amx_bf16", False)
