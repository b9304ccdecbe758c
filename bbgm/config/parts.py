"""Every part that a configuration can name, one line each: "module:attribute", imported when a run first needs it.

A part of your own goes here, or into a plugin, which calls ``BACKBONES.add("mine", Mine)`` (`bbgm.base.plugins`).
CONTRIBUTING.md has an example of each kind.
"""

from typing import Any

from bbgm.base.registry import Registry

BACKBONES: Registry[Any] = Registry(
    "backbone",
    "network.backbone",
    "bbgm.features.backbone:Backbone",
    {
        "vgg16_bn": "bbgm.features.vgg16:VGG16BatchNorm",
        "vgg16": "bbgm.features.vgg16:VGG16",
        "small": "bbgm.features.small:SmallCNN",
    },
)
"""Subclasses of `bbgm.features.backbone.Backbone`."""

AFFINITIES: Registry[Any] = Registry(
    "affinity",
    "network.affinity",
    "bbgm.methods.bbgm.affinity:Affinity",
    {
        "global": "bbgm.methods.bbgm.affinity:GlobalAffinity",
        "fixed": "bbgm.methods.bbgm.affinity:FixedAffinity",
        "cosine": "bbgm.methods.bbgm.affinity:CosineAffinity",
    },
)
"""Subclasses of `bbgm.methods.bbgm.affinity.Affinity`."""

SPLINES: Registry[Any] = Registry(
    "spline convolution",
    "network.spline",
    "bbgm.methods.spline.convolution:SplineConv",
    {
        "bbgm": "bbgm.methods.spline.convolution:SplineConv",
        "torch_geometric": "bbgm.methods.spline.geometric:GeometricSplineConv",
    },
)
"""`bbgm.methods.spline.convolution.SplineConv`, and subclasses of it."""

LAYERS: Registry[Any] = Registry(
    "layer",
    "solver.layer",
    None,
    {
        "blackbox": "bbgm.methods.bbgm.layers:solver_loss",
        "hinge": "bbgm.methods.bbgm.layers:hinge_loss",
        "fenchel_young": "bbgm.methods.bbgm.layers:fenchel_young_loss",
        "sinkhorn": "bbgm.methods.bbgm.layers:sinkhorn_loss",
    },
)
"""What training differentiates, which defines the gradient: functions as described in `bbgm.methods.bbgm.layers`."""

GRADIENTS: Registry[Any] = Registry(
    "gradient",
    "solver.gradient",
    None,
    {
        "blackbox": "bbgm.matching.gradients.interpolation:blackbox",
        "lpgd_right": "bbgm.matching.gradients.interpolation:lpgd_right",
        "lpgd_left": "bbgm.matching.gradients.interpolation:lpgd_left",
        "lpgd_average": "bbgm.matching.gradients.interpolation:lpgd_average",
        "identity": "bbgm.matching.gradients.interpolation:identity",
        "imle": "bbgm.matching.gradients.perturbation:imle",
        "aimle": "bbgm.matching.gradients.perturbation:AdaptiveIMLE",
        "perturbed": "bbgm.matching.gradients.perturbation:perturbed",
    },
)
"""Estimators of the solver's gradient: functions as described in `bbgm.matching.gradients`."""

MARGINS: Registry[Any] = Registry(
    "margin",
    "solver.margin_kind",
    None,
    {
        "truth": "bbgm.methods.losses:add_margin",
        "informed": "bbgm.methods.bbgm.margins:informed_margin",
        "noise": "bbgm.methods.bbgm.margins:noise_margin",
    },
)
"""What training adds to vertex costs: functions as described in `bbgm.methods.bbgm.margins`."""

TERMS: Registry[Any] = Registry(
    "term of the loss",
    "contrast.terms",
    None,
    {
        "info_nce": "bbgm.methods.bbgm.contrast.info_nce:info_nce",
        "pair_nce": "bbgm.methods.bbgm.contrast.info_nce:pair_nce",
        "partial_nce": "bbgm.methods.bbgm.contrast.partial_nce:partial_nce",
        "sup_con": "bbgm.methods.bbgm.contrast.sup_con:sup_con",
        "edge_nce": "bbgm.methods.bbgm.contrast.edge_nce:edge_nce",
        "within": "bbgm.methods.bbgm.contrast.consistency:within",
        "across": "bbgm.methods.bbgm.contrast.consistency:across",
        "spread": "bbgm.methods.bbgm.contrast.spread:spread",
    },
)
"""Losses beside the solver's: functions of a `bbgm.methods.bbgm.contrast.batch.Batch`, which return a scalar."""

SOFT_LOSSES: Registry[Any] = Registry(
    "loss of soft assignments",
    "soft.loss",
    None,
    {
        "permutation": "bbgm.methods.soft.losses:permutation",
        "hungarian_attention": "bbgm.methods.soft.losses:hungarian_attention",
        "offset": "bbgm.methods.soft.losses:offset",
    },
)
"""Losses of the methods that learn a soft assignment: functions as described in `bbgm.methods.soft.losses`."""

SOLVERS: Registry[Any] = Registry(
    "solver",
    "solver.method",
    None,
    {
        "best": "bbgm.matching.solvers:best",
        "fast": "bbgm.matching.solvers:fast",
        "dual": "bbgm.matching.solvers:dual",
        "exact": "bbgm.matching.solvers:exact",
    },
)
"""Functions that make a `bbgm.matching.solvers.Solver`, given whether it must match as many nodes as it can."""

JOINT_SOLVERS: Registry[Any] = Registry(
    "joint solver",
    "solver.multi",
    None,
    {
        "best": "bbgm.matching.joint_solvers:best",
        "sync": "bbgm.matching.joint_solvers:sync",
        "dual": "bbgm.matching.joint_solvers:dual",
    },
)
"""Functions that make a solver of several graphs (`bbgm.matching.joint_solvers`), given its effort."""

DATASETS: Registry[Any] = Registry(
    "data set",
    "data.dataset",
    "bbgm.config.models:DataConfig",
    {
        "willow": "bbgm.data.datasets.willow:WillowData",
        "voc": "bbgm.data.datasets.voc:VocData",
        "spair": "bbgm.data.datasets.spair:SpairData",
        "folder": "bbgm.data.datasets.folder:FolderData",
    },
)
"""Subclasses of `bbgm.config.DataConfig`."""

METHODS: Registry[Any] = Registry(
    "method",
    "model",
    "bbgm.config.run:RunConfig",
    {
        "bbgm": "bbgm.methods.bbgm.settings:BBGMRun",
        "dgmc": "bbgm.methods.dgmc.settings:DGMCRun",
        "gmn": "bbgm.methods.gmn.settings:GMNRun",
        "pca": "bbgm.methods.pca.settings:PCARun",
        "ngm": "bbgm.methods.ngm.settings:NGMRun",
        "glmnet": "bbgm.methods.glmnet.settings:GLMNetRun",
        "cie": "bbgm.methods.cie.settings:CIERun",
        "harg": "bbgm.methods.harg.settings:HargRun",
    },
)
"""Subclasses of `bbgm.config.RunConfig`."""
