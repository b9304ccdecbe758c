"""The spline convolution of torch_geometric, with the parameters of ours: ``network: {spline: torch_geometric}``."""

import warnings
from typing import Any

import torch
from torch import Tensor, nn

from bbgm.methods.spline.convolution import SplineConv
from bbgm.methods.spline.plan import SplinePlan


class GeometricSplineConv(SplineConv):
    """The layer of `bbgm.methods.spline.convolution` as ``torch_geometric.nn.SplineConv`` computes it.

    Names, shapes and first values of the parameters are those of ours, so that either layer reads the other's models;
    results are equal but for rounding. It needs torch-spline-conv, and a GPU to be fast. Its atomic sums may differ in
    their last bits from run to run.

    Raises:
        ImportError: a package is missing; names it, and how to go on.
    """

    def __init__(self, in_channels: int, out_channels: int, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, **settings)
        # In a tuple, so that its parameters, which are not used, are not those of this layer.
        self._reference = (_make_reference(self.kernel_size, self.aggr, self.lin is not None, self.bias is not None),)

    def apply_plan(self, x: Tensor, plan: SplinePlan) -> Tensor:
        """See `SplineConv.apply_plan`."""
        (reference,) = self._reference
        buffers = {name: buffer.to(x.device) for name, buffer in reference.named_buffers()}
        tensors = {**dict(self.named_parameters()), **buffers}
        result: Tensor = torch.func.functional_call(reference, tensors, (x, plan.edge_index, plan.pseudo))
        return result


def _make_reference(kernel_size: int, aggr: str, root_weight: bool, bias: bool) -> nn.Module:
    """torch_geometric's layer, whose parameters are given in each call; torch's generator is left as it was."""
    settings = {"dim": 2, "kernel_size": kernel_size, "aggr": aggr, "root_weight": root_weight, "bias": bias}
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")  # of functions that torch is about to drop
            from torch_geometric.nn import SplineConv as Reference

            layer: nn.Module = Reference(1, 1, **settings)
    except ImportError as error:
        raise ImportError(
            f"network.spline is 'torch_geometric', which cannot be used here ({error}): install it with "
            "'pip install --no-build-isolation torch-geometric torch-spline-conv', or set network.spline: bbgm"
        ) from error
    return layer
