rule run_notebook:
    input:
        needs_of_notebook,
        notebook="notebooks/{notebook}.ipynb",
    output:
        notebook=f"{OUT}/notebooks/{{notebook}}.ipynb",
        pdf=f"{FIGURES}/{{notebook}}.pdf",
        png=report(
            f"{FIGURES}/{{notebook}}.png",
            caption="../report/figure.rst",
            category="Figures",
            labels={"notebook": "{notebook}", "budget": "{budget}"},
        ),
    log:
        f"{LOGS}/run_notebook/{{notebook}}.log",
    wildcard_constraints:
        notebook="|".join(NOTEBOOKS),
    conda:
        "../../environment.yml"
    shell:
        "papermill {input.notebook:q} {output.notebook:q} --kernel python3 --cwd . --no-progress-bar --log-output"
        " -p budget {wildcards.budget} > {log:q} 2>&1"


# The other notebooks link to it; each run has its own beside its record.
rule copy_training_notebook:
    input:
        notebook_of(RUNS[0]),
    output:
        f"{OUT}/notebooks/04_training.ipynb",
    log:
        f"{LOGS}/copy_training_notebook.log",
    conda:
        "../../environment.yml"
    shell:
        "cp {input:q} {output:q} 2> {log:q}"
