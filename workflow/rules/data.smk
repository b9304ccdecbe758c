rule make_demo_data:
    input:
        "config/budgets/{budget}.yaml",
    output:
        f"{OUT}/demo_data.json",
    log:
        f"{LOGS}/make_demo_data.log",
    conda:
        "../../environment.yml"
    shell:
        "bbgm data demo --budget {wildcards.budget} > {output:q} 2> {log:q}"
