rule make_demo_data:
    input:
        "config/budgets/{budget}.yaml",
    output:
        f"{OUT}/demo_data/{{dataset}}.json",
    log:
        f"{LOGS}/make_demo_data/{{dataset}}.log",
    conda:
        "../../environment.yml"
    shell:
        "bbgm data demo {wildcards.dataset} --budget {wildcards.budget} > {output:q} 2> {log:q}"
