"""What stands between markers is what the CSV files say."""

import pytest

from bbgm.prose import fill, read_measured

WILLOW = "measured: willow/Willow method=BB-GM"
PROCESSORS = "measured: demo/processors method=BB-GM column=mean"  # the same runs on several kinds of hardware
ZEN5 = 'hardware="AMD EPYC (Zen 5)"'


def between(marker: str) -> str:
    """What an inline marker is filled with."""
    text = fill(f"a <!-- {marker} -->old<!-- end --> b")
    assert text.startswith(f"a <!-- {marker} -->")
    assert text.endswith("<!-- end --> b")
    return text.removeprefix(f"a <!-- {marker} -->").removesuffix("<!-- end --> b")


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        (f"{PROCESSORS} {ZEN5}", "96.5 ± 0.9"),
        (f"{PROCESSORS} {ZEN5} show=value", "96.5"),
        (f"{PROCESSORS} {ZEN5} show=date", "2026-11-28"),
        (f"{WILLOW} show=n", "5"),
        ('measured: willow/Willow method="BB-GM (untrained)" column=car', "28.2 ± 2.6"),
        ("measured: demo/Willow method=BB-GM setting=Pt=yes;Wt=no column=mean show=n", "1"),
        ("published: PascalVOCSampling setting=filter=inclusion column=mean show=value", "73.1"),
        ("published: Willow method=BB-GM setting=Pt=no;Wt=yes column=mean", "96.8"),  # the paper prints none
    ],
)
def test_one_number(marker: str, expected: str) -> None:
    assert between(marker) == expected


def test_one_run_has_no_deviation() -> None:
    frame = read_measured("demo/Willow").query("method == 'BB-GM' and setting == 'Pt=yes;Wt=no' and column == 'mean'")
    assert frame["n"].item() == 1
    shown = between("measured: demo/Willow method=BB-GM setting=Pt=yes;Wt=no column=mean")
    assert shown == f"{frame['value'].item():.1f}"


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        (PROCESSORS, r"chooses 5 in place of one: \['97.1 ± 0.5', '96.6 ± 0.1', "),
        (f"{WILLOW} colum=mean", "there is no column 'colum'"),
        (f"{WILLOW} column=cat", r"no column is 'cat' here: there are \['face', 'motorbike'"),
        (f"{WILLOW} show=mean", "show is 'mean', must be one of"),
        ("measured: willow/Willow method=BB-GM (untrained)", "'\\(untrained\\)' is not of the form name=value"),
        ("measured: willow/Wilow", r"there is no .*Wilow\.csv: the files in .* are \[.*'willow/Willow'"),
        ("published: Wilow column=mean", "table 'Wilow' is not one of"),
    ],
)
def test_what_is_not_there_is_named(marker: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        between(marker)


def table(marker: str) -> list[list[str]]:
    lines = fill(f"<!-- {marker} -->\nold\n<!-- end -->").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


def test_a_table_has_a_row_for_each_method_and_setting() -> None:
    head, _, *rows = table("measured: willow/Willow column=duck column=mean published=yes")
    assert head[:5] == ["method", "setting", "duck", "mean", "runs"]
    frame = read_measured("willow/Willow")
    ours = [row for row in rows if not row[0].endswith(", published")]
    assert len(ours) == len(frame[["method", "setting"]].drop_duplicates()) == 15
    for row in ours:
        numbers = frame[frame["method"] == row[0]].set_index("column")
        assert row[2:4] == [f"{numbers['value'][name]:.1f} ± {numbers['std'][name]:.1f}" for name in ("duck", "mean")]
        assert row[4] == "5"
    paper = [row for row in rows if row[0].endswith(", published")]
    assert ["BB-GM, published", "Pt=no, Wt=yes", "89.0 ± 1.0", "96.8", "20"] in [row[:5] for row in paper]
    assert [row[0] for row in paper] == ["NGM, published", "DGMC*, published", "BB-GM, published"]
    for row in paper:
        assert rows[rows.index(row) + 1][0] == row[0].removesuffix(", published")


def test_rows_of_several_origins_say_where_each_was_measured() -> None:
    head, _, *rows = table("measured: demo/processors")
    assert head[-1] == "measured on"
    frame = read_measured("demo/processors")
    assert len(rows) == len(frame) == 5
    for row in rows:
        lines = [
            one for one in frame.to_dict("records") if row[-1] == "{date}, {hardware}, commit {commit}".format(**one)
        ]
        assert len(lines) == 1
        assert f"{lines[0]['value']:.1f} ± {lines[0]['std']:.1f}" in row


def test_what_all_rows_share_stands_below_the_table() -> None:
    text = fill("<!-- measured: demo/Spair -->\n<!-- end -->")
    (origin,) = set(read_measured("demo/Spair")[["date", "commit"]].itertuples(index=False, name=None))
    assert text.splitlines()[-2].startswith(f"Measured on {origin[0]}, ")
    assert text.splitlines()[-2].endswith(f", commit {origin[1]}.")
    assert table("measured: demo/Spair")[0] == ["method", "easy", "medium", "hard", "all", "runs"]


def test_filling_again_changes_nothing() -> None:
    text = fill("x\n\n<!-- measured: willow/Willow published=yes -->\n<!-- end -->\n\ny")
    assert fill(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "<!-- published: PascalVOCunfiltered method=BB-GM column=mean show=value -->61.4 and the rest of the page",
        "<!-- published: PascalVOCunfiltered method=BB-GM column=mean -->1 <!-- measured: demo/Willow -->2<!-- end -->",
    ],
)
def test_a_marker_without_an_end_is_an_error(text: str) -> None:
    """Filling it in would take the text up to the end of another marker away."""
    with pytest.raises(ValueError, match=r"<!-- published: PascalVOCunfiltered .*has no <!-- end -->"):
        fill(text)


def test_the_printed_mean_is_that_of_the_classes_that_were_measured() -> None:
    """The five classes of the budget `animals`: the README of its data has their printed means."""
    head, _, *rows = table("measured: animals/PascalVOCAblation published=yes")
    assert head[1:] == ["cat", "cow", "dog", "horse", "sheep", "mean", "runs"]
    means = {row[0].removesuffix(", published"): row[6] for row in rows if row[0].endswith(", published")}
    assert means["Unmodified"] == "78.5"
    assert means["Unary Costs"] == "78.3"
    of_mean_only = table("measured: animals/PascalVOCAblation column=mean published=yes")
    assert ["Unmodified, published", "78.5", "5"] in of_mean_only


def test_rows_of_other_settings_are_beside_the_only_ones_that_the_paper_has() -> None:
    chosen = "method=BB-GM method=BB-GM-Max setting=pairs=test column=mean"
    head, _, *rows = table(f"measured: animals/PascalVOCunfiltered {chosen} published=yes")
    printed = {row[0]: row[head.index("mean")] for row in rows if "published" in row[0]}
    assert printed["BB-GM, published"] == "62.0"
    assert printed["BB-GM-Max, published"] == "48.2"


def test_a_row_of_the_paper_is_shown_once_beside_the_first_of_our_settings() -> None:
    rows = table("measured: animals/PascalVOCunfiltered column=mean published=yes")
    paper = [row[:2] for row in rows if row[0].endswith(", published")]
    assert ["BB-GM, published", "pairs=test"] in paper
    assert ["BB-GM-Multi, published", "pairs=first"] in paper
    assert len({name for name, _ in paper}) == len(paper)
