# The paper's results, from the data to tables and figures: `make`, or `snakemake --cores all`.
from snakemake.utils import min_version, validate

min_version("9.0")


configfile: "config/config.yaml"


validate(config, "workflow/schemas/config.schema.yaml")


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/slurm.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/notebooks.smk"
include: "workflow/rules/crate.smk"


# Targets, and copies of files: no job of a cluster for these.
localrules:
    all,
    runs,
    tables,
    figures,
    crate,
    copy_training_notebook,
    collect_figures,


# Named by `all` and `tables` too: Snakemake alone would not notice that the folder of a run was deleted.
rule runs:
    input:
        list(map(notebook_of, RUNS)),


rule tables:
    input:
        rules.runs.input,
        tables_of(),
        expand(f"{OUT}/provenance.csv", budget=BUDGET),


rule figures:
    input:
        expand(f"{FIGURES}/{{notebook}}.{{suffix}}", budget=BUDGET, notebook=NOTEBOOKS, suffix=["pdf", "png"]),
        expand(f"{OUT}/figures", budget=BUDGET),


rule all:
    default_target: True
    input:
        rules.tables.input,
        rules.figures.input,
        expand(f"{OUT}/notebooks/{{notebook}}.ipynb", budget=BUDGET, notebook=[*NOTEBOOKS, "04_training"]),
        expand(f"{OUT}/pages", budget=BUDGET),


rule crate:
    input:
        expand(f"{OUT}/crate.zip", budget=BUDGET),
