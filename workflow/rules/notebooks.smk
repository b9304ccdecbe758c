rule run_notebook:
    input:
        needs_of_notebook,
        notebook="notebooks/{notebook}.ipynb",
    output:
        notebook=f"{OUT}/notebooks/{{notebook}}.ipynb",
        pdf=f"{FIGURES}/{{notebook}}.pdf",
        png=f"{FIGURES}/{{notebook}}.png",
    log:
        f"{LOGS}/run_notebook/{{notebook}}.log",
    wildcard_constraints:
        notebook="|".join(NOTEBOOKS),
    conda:
        "../../environment.yml"
    shell:
        "exec python workflow/scripts/papermill.py {input.notebook:q} {output.notebook:q} --kernel python3 --cwd . --no-progress-bar --log-output"
        " -p budget {wildcards.budget} > {log:q} 2>&1"


# The other notebooks link to 04_training; each run has its own copy beside its record.
rule copy_training_notebook:
    input:
        f"{RESULTS}/{SHOWN}/run.ipynb",
    output:
        f"{OUT}/notebooks/04_training.ipynb",
    log:
        f"{LOGS}/copy_training_notebook.log",
    conda:
        "../../environment.yml"
    shell:
        "cp {input:q} {output:q} 2> {log:q}"


# For the report: a notebook may draw more figures than the one with its name; all begin with its number.
rule collect_figures:
    input:
        expand(f"{FIGURES}/{{notebook}}.png", notebook=NOTEBOOKS, allow_missing=True),
    output:
        report(
            directory(f"{OUT}/figures"),
            patterns=["{figure}.png"],
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}", "budget": "{budget}"},
        ),
    log:
        f"{LOGS}/collect_figures.log",
    conda:
        "../../environment.yml"
    shell:
        "(mkdir -p {output:q}; for figure in {input:q}; do name=${{figure##*/}};"
        ' cp "${{figure%/*}}/${{name%%_*}}"_*.png {output:q}; done) 2> {log:q}'


# For the report, and to read without Jupyter.
rule show_notebooks:
    input:
        notebooks=expand(
            f"{OUT}/notebooks/{{notebook}}.ipynb", notebook=[*NOTEBOOKS, "04_training"], allow_missing=True
        ),
        script="workflow/scripts/pages.py",
    output:
        report(
            directory(f"{OUT}/pages"),
            patterns=["{notebook}.html"],
            caption="../report/notebook.rst",
            category="Notebooks",
            labels={"notebook": "{notebook}", "budget": "{budget}"},
        ),
    log:
        f"{LOGS}/show_notebooks.log",
    conda:
        "../../environment.yml"
    params:
        about=about_notebooks,
    shell:
        "python {input.script:q} {output:q} {input.notebooks:q} > {log:q} 2>&1"
