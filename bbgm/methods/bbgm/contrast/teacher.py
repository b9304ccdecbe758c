"""A momentum teacher: a slow copy of a network's parameters (He et al., CVPR 2020; as COMMON uses it)."""

import torch
from torch import Tensor, nn

from bbgm.methods.bbgm.contrast.settings import TeacherConfig

LEFT_OUT = ("backbone.", "teacher.")


class Teacher(nn.Module):
    """Copies of the trained parameters of a network, which follow it: t <- m t + (1 - m) p.

    They are buffers, so that checkpoints hold them and the optimiser does not see them. The backbone has no copy: the
    teacher sees the network's visual features.

    Args:
        network: whose parameters are copied; the teacher becomes its attribute ``teacher``.
        settings: momentum m, and the teacher's share in the targets.
    """

    steps: Tensor

    def __init__(self, network: nn.Module, settings: TeacherConfig) -> None:
        super().__init__()
        self._settings = settings
        for name, parameter in _copied(network).items():
            self.register_buffer(_buffer(name), parameter.detach().clone())
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    @torch.no_grad()
    def start_from(self, network: nn.Module) -> None:
        """Copy the network's parameters as they are, before its first step."""
        for name, parameter in _copied(network).items():
            self.get_buffer(_buffer(name)).copy_(parameter)

    @torch.no_grad()
    def follow(self, network: nn.Module) -> None:
        """One step towards the network's parameters."""
        for name, parameter in _copied(network).items():
            self.get_buffer(_buffer(name)).lerp_(parameter, 1 - self._settings.momentum)
        self.steps += 1

    @property
    def alpha(self) -> float:
        """Its share in the targets after so many steps: it grows linearly."""
        return self._settings.alpha * min(1.0, self.steps.item() / max(self._settings.warm_up, 1))

    def state(self, network: nn.Module) -> dict[str, Tensor]:
        """What replaces the network's parameters and buffers while the teacher computes.

        Buffers, such as the running means of batch norm, are copies, so that the network's own stay as they are.
        """
        buffers = {n: buffer.clone() for n, buffer in network.named_buffers() if not n.startswith(LEFT_OUT)}
        return buffers | {name: self.get_buffer(_buffer(name)) for name in _copied(network)}


def _copied(network: nn.Module) -> dict[str, nn.Parameter]:
    return {
        name: parameter
        for name, parameter in network.named_parameters()
        if parameter.requires_grad and not name.startswith(LEFT_OUT)
    }


def _buffer(name: str) -> str:
    """A parameter's name as that of a buffer, which has no dots."""
    return name.replace(".", "/")
