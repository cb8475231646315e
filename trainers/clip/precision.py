"""Test which floating-point formats a device computes quickly."""

from __future__ import annotations

import torch


def has_fast_bfloat16(device: str) -> bool:
    """Return True if bfloat16 is faster than fp32 on a device: CUDA GPUs and processors with AMX."""
    if device.startswith("cuda"):
        return torch.cuda.is_bf16_supported()
    # torch 2.5 does not tell what a processor can do.
    capabilities = getattr(torch.cpu, "get_capabilities", dict)()
    return device == "cpu" and capabilities.get("amx_bf16", False)
