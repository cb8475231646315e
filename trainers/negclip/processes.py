"""Processes that fine-tune one model together, one per GPU: ``torchrun`` or ``accelerate launch`` starts them.

Each process encodes its share of a batch. The features are gathered, with their gradients, so that each process
computes the loss of the whole batch: the training is that of one process, whatever their number. (DDP's mean of the
gradients over processes and the sum over processes in the gradient of gathering cancel out.)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

TIMEOUT = timedelta(hours=24)
"""Maximum time that the other processes wait for the first one, which mines hard negatives."""


@dataclass(frozen=True)
class Processes:
    """The processes of a training, seen from one of them."""

    device: str
    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """True for the one process that writes files."""
        return self.rank == 0

    def wrap(self, module: nn.Module) -> nn.Module:
        """Return a module that averages its gradients over the processes."""
        devices = [self.device] if self.device.startswith("cuda") else None
        return DistributedDataParallel(module, devices) if self.size > 1 else module

    def shard(self, items_N: np.ndarray) -> np.ndarray:
        """Return this process's share of a batch. Raises ValueError if the batch is not divisible."""
        if len(items_N) % self.size:
            raise ValueError(
                f"A batch of {len(items_N):,} is not divisible by {self.size} processes. Use a --batch-size that is."
            )
        return np.split(items_N, self.size)[self.rank]

    def gather(self, feature_ND: Tensor) -> Tensor:
        """Return the features of all processes, in the order of the batch, with their gradients."""
        from torch.distributed.nn.functional import all_gather

        return torch.cat(all_gather(feature_ND)) if self.size > 1 else feature_ND

    def wait(self) -> None:
        """Wait until all processes have come here."""
        if self.size > 1:
            distributed.barrier()

    @contextmanager
    def main_process_first(self) -> Iterator[None]:
        """Let the first process run a block alone, and the others after it, which then find its files."""
        if not self.is_first:
            self.wait()
        yield
        if self.is_first:
            self.wait()


def join(device: str) -> Processes:
    """Join the processes that a launcher has started together; without a launcher, there is only this one.

    With several processes, each has the GPU that the launcher assigned.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Processes(device)
    is_gpu = device.startswith("cuda")
    if is_gpu:
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(device)
    if not distributed.is_initialized():
        distributed.init_process_group("nccl" if is_gpu else "gloo", timeout=TIMEOUT)
    return Processes(device, distributed.get_rank(), distributed.get_world_size())
