"""Settings of BB-GM and its ablations; nothing here needs torch."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from bbgm.base.registry import name_in
from bbgm.config import (
    AFFINITIES,
    GRADIENTS,
    JOINT_SOLVERS,
    LAYERS,
    MARGINS,
    SOLVERS,
    SPLINES,
    BackboneConfig,
    Model,
    RunConfig,
)
from bbgm.config.models import Count, Positive
from bbgm.methods.bbgm.contrast.settings import ContrastConfig
from bbgm.methods.bbgm.geometry.settings import AdversaryConfig, JitterConfig, PositionsConfig, TransformerConfig


class NetworkConfig(BackboneConfig):
    """The three stages of paper Sec. 3.5."""

    refine: bool = Field(True, description="SplineCNN refinement")
    refine_weight: float = Field(0.1, description="weight of the SplineCNN output added to the visual features")
    spline: Annotated[str, name_in(SPLINES)] = Field("bbgm", description="whose SplineConv; both give the same results")
    root_init: Literal["channels", "kernel"] = Field(
        "channels",
        description="first values of SplineConv's root matrices: within 1 / sqrt(C) as in torch_geometric today, or "
        "within 1 / sqrt(K K C) as in 2020",
    )
    affinity: Annotated[str, name_in(AFFINITIES)] = Field(
        "global", description="a from global features, or one learned vector"
    )
    quadratic: bool = Field(True, description="False: only unary costs, as in the paper's ablation")
    unmatched: Literal["none", "learned"] = Field(
        "none", description="what an unmatched keypoint costs: nothing, as in the paper, or what a head says"
    )
    unmatched_gated: bool = Field(False, description="the learned cost depends on the global features")
    count: Literal["none", "predicted"] = Field(
        "none", description="how many keypoints match at test: whatever is cheapest, or a number that a head predicts"
    )
    positions: PositionsConfig = PositionsConfig()
    transformer: TransformerConfig = TransformerConfig()
    mirrored: bool = Field(
        False, description="at test, vertex costs are the mean of those of a pair and of its mirror image"
    )
    projection: Count = Field(0, description="channels after the projection head; 0: there is none")

    @model_validator(mode="after")
    def _one_encoder(self) -> Self:
        if self.transformer.layers and (self.refine or self.positions.kind != "none" or self.projection):
            raise ValueError(
                "network.transformer takes the place of refine, positions and projection: set refine: false, "
                "positions: {kind: none} and projection: 0, or transformer: {layers: 0}"
            )
        return self


class SinkhornConfig(Model):
    """The relaxation of `bbgm.methods.soft.sinkhorn`; the paper gives only epsilon."""

    iterations: Positive = 20
    temperature: float = Field(0.05, gt=0, description="in units of the costs")
    epsilon: float = Field(1e-4, ge=0, description="floor of the entries; the paper's first choice was 1e-8")
    domain: Literal["log", "plain"] = Field(
        "log", description="normalise logarithms, or the numbers themselves, where small ones vanish in rounding"
    )
    loss: Literal["cross_entropy", "hamming"] = Field(
        "cross_entropy", description="of each entry, as PCA-GM, or the Hamming distance, as BB-GM"
    )


class NoiseConfig(Model):
    """Noisy copies of the costs (`bbgm.matching.gradients.perturbation`)."""

    samples: Positive = Field(10, description="copies of each pair")
    sigma: float = Field(0.2, ge=0, description="scale of the noise on vertex costs, in their units")
    sigma_edges: float = Field(0.05, ge=0, description="on edge costs")


class SolverConfig(Model):
    """The solver as a layer (paper Alg. 1 and Sec. 3.3)."""

    method: Annotated[str, name_in(SOLVERS)] = "best"
    layer: Annotated[str, name_in(LAYERS)] = Field(
        "blackbox",
        description="what training differentiates: the solver, a loss of its own, or a relaxation that rounds by it at "
        "test",
    )
    gradient: Annotated[str, name_in(GRADIENTS)] = Field(
        "blackbox", description="estimator of the solver's gradient, for layer: blackbox"
    )
    rho: float = Field(0.1, ge=0, description="of LPGD: weight of its proximal term")
    noise: NoiseConfig = NoiseConfig()
    sinkhorn: SinkhornConfig = SinkhornConfig()
    full: bool = Field(
        False,
        description="match as many keypoints as there can be matches: all of the image that has fewer (BB-GM-Max)",
    )
    lambda_: float = Field(80.0, alias="lambda", gt=0, description="acts on the gradient of the batch-mean loss")
    margin: float = Field(1.0, ge=0, description="alpha, added to the true unary costs in training")
    margin_kind: Annotated[str, name_in(MARGINS)] = Field(
        "truth", description="where: truth, the paper's; informed: half of it up or down; noise: up or down at random"
    )
    normalise: bool = Field(False, description="costs of length 1 in training, vertex and edge costs together")
    centre: bool = Field(False, description="vertex costs of mean 0 in training; needs full: true")
    hamming_edges: float = Field(0.0, ge=0, description="weight of the edges' Hamming distance in the loss")
    multi: Annotated[str, name_in(JOINT_SOLVERS)] = Field(
        "best", description="solver of sets; dual: the paper's; sync: synchronises the pairs' matchings only"
    )
    weight: float = Field(1.0, ge=0, description="of the layer's loss; 0: the terms of contrast alone train the costs")

    model_config = ConfigDict(populate_by_name=True)


class BBGMRun(RunConfig):
    """A run of BB-GM or of one of its ablations."""

    matcher: ClassVar[str] = "bbgm.methods.bbgm.network:BBGM"
    architecture: ClassVar[tuple[str, ...]] = ("network",)
    gives_costs: ClassVar[bool] = True

    network: NetworkConfig = NetworkConfig()
    solver: SolverConfig = SolverConfig()
    contrast: ContrastConfig = ContrastConfig()
    jitter: JitterConfig = JitterConfig()
    adversary: AdversaryConfig = AdversaryConfig()

    @property
    def visual(self) -> NetworkConfig:
        """See `RunConfig.visual`."""
        return self.network

    def with_solver(self, name: str) -> Self:
        """See `RunConfig.with_solver`."""
        SOLVERS.check(name)
        return self.model_copy(update={"solver": self.solver.model_copy(update={"method": name})})

    @model_validator(mode="after")
    def _sinkhorn_has_unary_costs(self) -> Self:
        if self.solver.layer == "sinkhorn" and self.network.quadratic:
            raise ValueError("solver.layer: sinkhorn knows unary costs only: set network.quadratic: false")
        return self

    @model_validator(mode="after")
    def _counts_leave_keypoints_out(self) -> Self:
        if self.network.count == "predicted" and self.solver.full:
            raise ValueError(
                "network.count: predicted says how many keypoints match, and solver.full: true matches all of them: "
                "set one of them only"
            )
        return self

    @model_validator(mode="after")
    def _something_is_learned(self) -> Self:
        if not (self.solver.weight or self.contrast.terms):
            raise ValueError("solver.weight is 0 and contrast.terms is empty: name a term, or give the solver a weight")
        if "edge_nce" in self.contrast.terms and not self.network.quadratic:
            raise ValueError("contrast.terms.edge_nce learns costs of edges: set network.quadratic: true")
        return self

    @model_validator(mode="after")
    def _the_network_sees_where_keypoints_are(self) -> Self:
        network = self.network
        blind = not (network.refine or network.positions.kind != "none" or network.transformer.layers)
        if self.adversary.on and network.freeze_backbone and blind:
            raise ValueError(
                "adversary moves keypoints, but with a frozen backbone the network sees where they are only by its "
                "refinement, its positions or its transformer: set network.refine: true or one of these, or steps: 0"
            )
        return self

    @model_validator(mode="after")
    def _centred_costs_need_full_matchings(self) -> Self:
        if self.solver.centre and not self.solver.full:
            raise ValueError(
                "solver.centre shifts all vertex costs, so without solver.full it changes the best matching: set "
                "solver.full: true, or centre: false"
            )
        return self

    @model_validator(mode="after")
    def _sets_have_partial_matchings(self) -> Self:
        if self.protocol.test_sets_per_class and self.solver.full:
            raise ValueError(
                "protocol.test_sets_per_class asks for sets of images, whose matchings leave keypoints out, and "
                "solver.full for matchings that leave none: set test_sets_per_class: 0"
            )
        return self
