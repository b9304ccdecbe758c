# Not part of `all`: `make crate`, or `snakemake --cores all crate`.
rule make_crate:
    input:
        tables_of(),
        expand(f"{OUT}/provenance.csv", budget=BUDGET),
        expand(f"{OUT}/pages", budget=BUDGET),
        expand(f"{OUT}/figures", budget=BUDGET),
        script="workflow/scripts/crate.py",
    output:
        f"{OUT}/crate.zip",
    log:
        f"{LOGS}/make_crate.log",
    conda:
        "../../environment.yml"
    shell:
        "python {input.script:q} {wildcards.budget} {output:q} > {log:q} 2>&1"
