"""Floating-point formats for training."""

from __future__ import annotations

import torch


def fast_bfloat16(device: str) -> bool:
    """True if bfloat16 matrix products are faster than fp32 on a device: CUDA, and processors with AMX."""
    if device.startswith("cuda"):
        return torch.cuda.is_bf16_supported()
    return device == "cpu" and torch.cpu.get_capabilities().get("amx_bf16", False)
