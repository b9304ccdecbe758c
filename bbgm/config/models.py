"""What can be configured, part by part: frozen models, strict about unknown keys and values out of range."""

from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

Positive = Annotated[int, Field(gt=0, lt=2**31)]
Count = Annotated[int, Field(ge=0, lt=2**31)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]


FilterName = Literal["intersection", "inclusion", "unfiltered"]
FILTER_NAMES: tuple[str, ...] = get_args(FilterName)
BudgetName = Literal["smoke", "demo", "willow", "paper"]
BUDGET_NAMES: tuple[str, ...] = get_args(BudgetName)


class Model(BaseModel):
    """Frozen, and strict about unknown keys; numbers are finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DataConfig(Model):
    """Which data set, in which reading."""

    dataset: Literal["willow", "voc", "spair", "folder"] = Field(
        "willow", description="Willow ObjectClass, Pascal VOC with Berkeley keypoints, SPair-71k, a folder of one's own"
    )
    source: Literal["demo", "original"] = Field("demo", description="rendered objects, or the real data set")
    classes: tuple[str, ...] = Field((), description="classes to use; empty: all that the data set has")
    errata: bool = Field(True, description="apply the named corrections of the data set's annotation errors")
    hidden_keypoints: float = Field(
        0.0, ge=0, lt=1, description="share of the keypoints that is left out of each image at random, as if hidden"
    )
    hidden_seed: Seed = 0
    exclude_willow: Literal["none", "images_of_2007", "classes"] = Field(
        "none",
        description="voc, for training that goes on with Willow: leave the 2007 images of car and motorbike out of the "
        "training part (authors' code), or leave out both classes (the paper's text)",
    )
    keep_outside: bool = Field(False, description="voc: keep keypoints outside the object's box, as ThinkMatch does")
    root: str = Field("", description="folder: the one that has keypoints.json, relative to BBGM_DATA or absolute")
    boxes: bool = Field(True, description="folder: the input is an object's box where it has one, not the whole image")
    demo_images_per_class: Positive = 40
    demo_seed: Seed = 0

    @model_validator(mode="after")
    def _options_fit_the_data_set(self) -> Self:
        if self.dataset != "voc" and (self.exclude_willow != "none" or self.keep_outside):
            raise ValueError(f"exclude_willow and keep_outside are for voc, not {self.dataset}: leave them out")
        if self.dataset != "willow" and self.hidden_keypoints:
            raise ValueError(f"hidden_keypoints is for willow, which annotates all, not {self.dataset}: leave it out")
        if self.dataset != "folder" and (self.root or not self.boxes):
            raise ValueError(f"root and boxes are for a folder of one's own, not {self.dataset}: leave them out")
        if self.dataset == "folder" and (not self.root or self.source == "demo"):
            raise ValueError("a folder of one's own has no demo data: set source: original, and root: to its place")
        return self


DATASET_NAMES: tuple[str, ...] = get_args(DataConfig.model_fields["dataset"].annotation)


class ProtocolConfig(Model):
    """Split, pairs and keypoint filter (paper Sec. 4). VOC, SPair and some folders bring their split."""

    filter: FilterName = "intersection"
    train_per_class: Positive = 20
    split: Literal["sorted", "seeded"] = Field(
        "sorted", description="first train_per_class file names of a class, or a shuffle of them by split_seed"
    )
    split_seed: Seed = 0
    min_keypoints: Positive = Field(
        2, description="pairs with fewer common keypoints are drawn again; the other filters want one in each image"
    )
    test_pairs_per_class: Count = Field(1000, description="0: all that the data set lists (SPair)")
    test_sets_per_class: Count = Field(
        0, description="sets of images that are also matched jointly (BB-GM-Multi), for the filter 'unfiltered' only"
    )
    set_size: int = Field(5, ge=2, lt=2**31, description="images of a set")
    test_seed: Seed = Field(123, description="draws the same test pairs and sets in every run")

    @model_validator(mode="after")
    def _sets_are_unfiltered(self) -> Self:
        if self.test_sets_per_class and self.filter != "unfiltered":
            raise ValueError(
                "test_sets_per_class is for the filter 'unfiltered': leave it 0, or set filter: unfiltered"
            )
        return self


class NetworkConfig(Model):
    """The three stages of paper Sec. 3.5."""

    backbone: Literal["vgg16_bn", "vgg16", "small"] = "vgg16_bn"
    weights: str = Field(
        "imagenet",
        description="'imagenet', 'demo' (in its place for small, part of this package), 'random', or the name of a "
        ".safetensors file below BBGM_WEIGHTS",
    )
    freeze_backbone: bool = Field(False, description="no update, batch norm evaluates, features cached on disk")
    refine: bool = Field(True, description="SplineCNN refinement")
    refine_weight: float = Field(0.1, description="weight of the SplineCNN output added to the visual features")
    spline: Literal["bbgm", "torch_geometric"] = Field(
        "bbgm", description="whose SplineConv; both give the same results"
    )
    affinity: Literal["global", "fixed"] = Field("global", description="a from global features, or one learned vector")
    quadratic: bool = Field(True, description="False: only unary costs, as in the paper's ablation")


class SinkhornConfig(Model):
    """The relaxation of `bbgm.methods.bbgm.sinkhorn`; the paper says nothing of it but epsilon."""

    iterations: Positive = 20
    temperature: float = Field(0.05, gt=0, description="in units of the costs")
    epsilon: float = Field(1e-4, ge=0, description="floor of the entries; the paper's first choice was 1e-8")
    loss: Literal["cross_entropy", "hamming"] = Field(
        "cross_entropy", description="of each entry, as PCA-GM, or the Hamming distance, as BB-GM"
    )


class SolverConfig(Model):
    """The solver as a layer (paper Alg. 1 and Sec. 3.3)."""

    method: Literal["best", "dual", "exact"] = "best"
    layer: Literal["blackbox", "sinkhorn"] = Field(
        "blackbox", description="what training differentiates: the solver, or a relaxation that rounds by it at test"
    )
    sinkhorn: SinkhornConfig = SinkhornConfig()
    full: bool = Field(
        False,
        description="match as many keypoints as there can be matches: all of the image that has fewer (BB-GM-Max)",
    )
    lambda_: float = Field(80.0, alias="lambda", gt=0, description="acts on the gradient of the batch-mean loss")
    margin: float = Field(1.0, ge=0, description="alpha, added to the true unary costs in training")
    multi: Literal["best", "sync"] = Field(
        "best", description="solver of sets; sync: as the paper's, by synchronisation"
    )

    model_config = ConfigDict(populate_by_name=True)


class DGMCConfig(Model):
    """Deep Graph Matching Consensus (`bbgm.methods.dgmc`), as its authors run it but for the scale of the features."""

    channels: Positive = Field(256, description="of the local features, psi_1")
    consensus_channels: Positive = Field(128, description="of the indicators and of psi_2")
    steps: Count = Field(10, description="L, consensus iterations, in training and at test")
    dropout: float = Field(0.5, ge=0, lt=1, description="of psi_1")
    features: Literal["unit", "raw"] = Field(
        "unit",
        description="visual features of length 1 as in BB-GM, or as they are as in DGMC, which suits torchvision's "
        "weights only: activations of others may be a hundred times as large, and S_0 saturates",
    )
    feature_scale: float = Field(16.0, gt=0, description="times this")
    pseudo: Literal["graph", "frame"] = Field(
        "graph", description="edges' coordinates relative to the graph's largest, or to the image's side as in BB-GM"
    )
    rounding: Literal["argmax", "lap"] = Field(
        "argmax", description="the likeliest target of each source keypoint, as scored by its authors, or a matching"
    )


class OptimiserConfig(Model):
    """Adam with a step schedule (paper Sec. 4, 'Hyperparameters')."""

    epochs: Count = 2
    iterations_per_epoch: Positive = 100
    batch_size: Positive = 8
    learning_rate: float = Field(2e-3, gt=0)
    backbone_factor: float = Field(0.01, ge=0, description="learning rate of the backbone relative to the rest")
    milestones: tuple[Count, ...] = Field((1,), description="epochs after which decay multiplies the learning rate")
    decay: float = Field(0.5, gt=0, le=1)
