"""What each of the paper's tables holds: one entry per table, under the paper's own label."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from bbgm.config import DATASETS, RunConfig, is_variant
from bbgm.runs.counts import Which


@dataclass(frozen=True)
class Row:
    """One row that a table makes from the runs of one method.

    Attributes:
        title: of the row; ``{}`` stands for the title of the method.
        measure: a key of `bbgm.scoring.metrics.MEASURES`.
        which: the pairs that are scored. joint: matched jointly (BB-GM-Multi).
        methods: only for these; empty: for all that the table shows.
        setting: what distinguishes rows of one title, formatted with the run's configuration.
        published: the paper's row to compare with, ``{}`` as in ``title``; empty: there is none.
        scored: larger is better: compared with the other rows, and bold where it is best.
    """

    title: str = "{}"
    measure: str = "accuracy"
    which: Which = "test"
    joint: bool = False
    methods: tuple[str, ...] = ()
    setting: str = "filter={protocol.filter}"
    published: str = "{}"
    scored: bool = True

    def setting_of(self, config: RunConfig) -> str:
        """The setting of a run's row."""
        return self.setting.format(protocol=config.protocol, setting=config.setting)


@dataclass(frozen=True)
class TableSpec:
    """One of the paper's tables.

    Attributes:
        label: the paper's own label; name of the table's files.
        published: name of the file in ``bbgm.published`` with the numbers to compare with.
        elsewhere: the other images that those are for; empty: the same as the table's.
        title: what the numbers are.
        dataset, filters, methods: the runs that it shows, see `shows`.
        extras: also shows runs of the user's own methods.
        references: those of ``methods`` that are shown for comparison; there is no table with these alone.
        by: what the columns are.
        columns: class, or number of the viewpoint difficulty -> the paper's column, in the paper's order.
        titles: title of a method -> its name in this table.
        printed_as: name in this table -> the paper's name of it, where that is another one; empty: it has none.
        rows: what is shown of each method.
        summary: name of the last column.
        notes: about the table's own protocol.
    """

    label: str
    published: str
    title: str
    dataset: str
    filters: tuple[str, ...]
    methods: tuple[str, ...]
    elsewhere: str = ""
    extras: bool = True
    references: tuple[str, ...] = ()
    by: Literal["class", "viewpoint"] = "class"
    columns: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    printed_as: Mapping[str, str] = field(default_factory=dict)
    rows: tuple[Row, ...] = (Row(),)
    summary: str = "mean"
    notes: tuple[str, ...] = ()

    def title_of(self, config: RunConfig) -> str:
        """What the table calls the method of a run."""
        return self.titles.get(config.title, config.title)

    def shows(self, config: RunConfig) -> bool:
        """Whether a run belongs to the table: it depends on these runs and no others."""
        right_place = config.data.dataset == self.dataset and config.protocol.filter in self.filters
        return right_place and self.shows_method(config.method)

    def made_of(self, configs: Iterable[RunConfig]) -> bool:
        """Whether these runs are enough for the table: one of them belongs to it that is not a reference."""
        return any(self.shows(config) and config.method not in self.references for config in configs)

    def shows_method(self, method: str) -> bool:
        """Whether it shows the runs of a method on its data set and filters.

        A method that no table of the data set names is a user's own: it joins all of them whose rows may be compared.
        No table shows a variant that other runs start from.
        """
        named = {name for spec in SPECS.values() if spec.dataset == self.dataset for name in spec.methods}
        own = self.extras and method not in named and not is_variant(method, "pretrain")
        return method in self.methods or own


def _columns(dataset: str) -> dict[str, str]:
    """The columns of a data set: for each class the paper's name of it, in the paper's order."""
    return dict(DATASETS[dataset].table_columns())


PEERS = ("gmn", "gmn_pl", "pca_gm", "ipca_gm", "ngm", "ngm_edges", "glmnet", "cie", "harg_ssvm")
"""The methods that the paper compares with, but for DGMC*; and close relatives of them."""

GRADIENTS = (
    *("bbgm", "bbgm_full", "bbgm_normalised", "lpgd_right", "lpgd_left", "lpgd_average", "identity", "imle", "aimle"),
    *("perturbed", "fenchel_young", "hinge", "perceptron"),
)
"""Ways to train the same network through the solver."""

WRONG = tuple(f"{method}_wrong_{share}" for method in GRADIENTS for share in (5, 10, 20))
"""The same with wrong labels: a share of them, in per cent."""

BEYOND = (
    *("bbgm", "unary_costs", "sinkhorn", "info_nce", "info_nce_positions", "info_nce_views", "transformer"),
    *("sup_con", "bbgm_long", "bbgm_views", "bbgm_info_nce"),
)
"""From the paper's method to the best, one change at a time; then what the solver's loss does with more pairs and with
these changes."""

_SHARE = "wrong labels={protocol.wrong_labels:.0%}"

VOC, WILLOW, SPAIR = map(_columns, ("voc", "willow", "spair"))


def _without_filter() -> tuple[Row, ...]:
    """Pair by pair; what BB-GM-Multi makes of the test sets, beside the same pairs alone; keypoints without partner."""
    rows = [Row("{}", "f1", setting="pairs=test")]
    for title, measure in (("Unmatched (%)", "unmatched"), ("Unmatched, source (%)", "unmatched_source")):
        one = Row(title, measure, setting="pairs=test", methods=("bbgm",), published="Unmatched (%)", scored=False)
        rows.append(one)
    for which in ("first", "all"):
        setting, methods = f"pairs={which}", ("bbgm", "sup_con_partial")
        rows.append(Row("{}", "f1", which, setting=setting, methods=methods))
        rows.append(Row("{}-Multi", "f1", which, True, setting=setting, methods=methods, published="{}-Multi"))
    return tuple(rows)


_NOTES_WITHOUT_FILTER = (
    "pairs=test: test pairs, each matched alone; BB-GM-Max must match as many keypoints as it can.",
    "BB-GM-Multi matches all pairs of a set of images jointly, with cycle consistency. pairs=first: the first pair of "
    "each set, as the authors' code scores it; pairs=all: every pair of each set.",
    "Unmatched: keypoints without a partner, in per cent of those of both images, or of the source only; the paper "
    "does not say which of the two it prints.",
)


SPECS: dict[str, TableSpec] = {
    spec.label: spec
    for spec in (
        TableSpec(
            label="PascalVOCSampling",
            published="PascalVOCSampling",
            title="Keypoint matching accuracy (%) of DGMC on Pascal VOC by keypoint filter",
            dataset="voc",
            filters=("intersection", "inclusion"),
            methods=("dgmc",),
            extras=False,
            columns=VOC,
            titles={"DGMC*": "DGMC"},
            notes=("The two filters make different test pairs: the rows are not compared with each other.",),
        ),
        TableSpec(
            label="PascalVOCBig",
            published="PascalVOCBig",
            title="Keypoint matching accuracy (%) on Pascal VOC, keypoints that both images have",
            dataset="voc",
            filters=("intersection",),
            methods=(*PEERS, "dgmc", "bbgm", "bbgm_untrained"),
            columns=VOC,
            notes=(
                "NGM+ is of an early version of its paper that is not available; NGM with edge embedding is probably "
                "the same method, and is not compared with it.",
            ),
        ),
        TableSpec(
            label="PascalVOCunfiltered",
            published="PascalVOCunfiltered",
            title="F1 score (%) on Pascal VOC with all keypoints, those without a partner too",
            dataset="voc",
            filters=("unfiltered",),
            methods=("bbgm_max", "bbgm", "bbgm_untrained"),
            columns=VOC,
            rows=_without_filter(),
            notes=_NOTES_WITHOUT_FILTER,
        ),
        TableSpec(
            label="Willow",
            published="Willow",
            title="Keypoint matching accuracy (%) on Willow ObjectClass",
            dataset="willow",
            filters=("intersection",),
            methods=(
                *(f"{name}{variant}" for name in (*PEERS, "dgmc", "bbgm") for variant in ("", "_pt", "_pt_wt")),
                *("bbgm_untrained", "bbgm_finetuned"),
                *("fixed_affinity", "frozen_vgg", "unary_costs", "sinkhorn"),
            ),
            columns=WILLOW,
            titles={"CIE1-H": "CIE"},
            printed_as={"GMN": "GMN-PL", "GMN-PL": ""},
            rows=(Row(setting="{setting}"),),
            notes=(
                "The paper's row GMN-PL has the numbers that Wang et al. (ICCV 2019) print for GMN, with the "
                "offset loss: it is compared with our GMN.",
                "HARG-SSVM (VGG) has other features and candidates than the printed HARG-SSVM: it is not compared "
                "with it.",
                "Pt: trained on Pascal VOC, Wt: trained on Willow; only rows of one setting are compared, as the paper "
                "asks.",
            ),
        ),
        TableSpec(
            label="Willow-unfiltered",
            published="PascalVOCunfiltered",
            title="F1 score (%) on Willow ObjectClass with all keypoints, those without a partner too",
            dataset="willow",
            filters=("unfiltered",),
            methods=("bbgm_max", "bbgm"),
            elsewhere="Pascal VOC",
            columns=WILLOW,
            rows=_without_filter(),
            notes=("Not a table of the paper: the published means are of Pascal VOC.", *_NOTES_WITHOUT_FILTER),
        ),
        TableSpec(
            label="Spair",
            published="Spair",
            title="Keypoint matching accuracy (%) on SPair-71k by viewpoint difficulty",
            dataset="spair",
            filters=("intersection",),
            methods=("dgmc", "bbgm", "bbgm_untrained"),
            by="viewpoint",
            columns={"0": "easy", "1": "medium", "2": "hard"},
            summary="all",
            notes=("Each column is the mean over the classes that have such pairs.",),
        ),
        TableSpec(
            label="Spair-classes",
            published="Spair-classes",
            title="Keypoint matching accuracy (%) on SPair-71k",
            dataset="spair",
            filters=("intersection",),
            methods=("dgmc", "bbgm", "bbgm_untrained"),
            columns=SPAIR,
        ),
        TableSpec(
            label="PascalVOCAblation",
            published="PascalVOCAblation",
            title="Ablations of BB-GM on Pascal VOC, accuracy (%)",
            dataset="voc",
            filters=("intersection",),
            methods=("bbgm", "fixed_affinity", "frozen_vgg", "unary_costs", "sinkhorn"),
            columns=VOC,
            titles={"BB-GM": "Unmodified"},
        ),
        *(
            TableSpec(
                label=f"{name}-{study}",
                published=published,
                title=f"Accuracy (%) on {title}, {question}",
                dataset=dataset,
                filters=("intersection",),
                methods=methods,
                extras=False,
                references=references,
                columns=columns,
                rows=(Row(setting=setting or ("{setting}" if dataset == "willow" else "filter={protocol.filter}")),),
                notes=("Not a table of the paper, whose method is BB-GM.",),
            )
            for study, question, methods, references, setting in (
                ("gradients", "the same network trained with different gradients", GRADIENTS, ("bbgm",), ""),
                ("labels", "trained with wrong labels", (*GRADIENTS, *WRONG), GRADIENTS, _SHARE),
                ("beyond", "from the paper's method to the best", BEYOND, ("bbgm", "unary_costs", "sinkhorn"), ""),
            )
            for name, published, title, dataset, columns in (
                ("PascalVOC", "PascalVOCBig", "Pascal VOC", "voc", VOC),
                ("Willow", "Willow", "Willow ObjectClass", "willow", WILLOW),
            )
        ),
    )
}
