rule make_demo_data:
    input:
        needs_of_data,
        budget="config/budgets/{budget}.yaml",
    output:
        f"{OUT}/demo_data/{{dataset}}.json",
    log:
        f"{LOGS}/make_demo_data/{{dataset}}.log",
    # Before all runs, which need them.
    priority: 1_000_000_000
    conda:
        "../../environment.yml"
    shell:
        "bbgm data demo {wildcards.dataset} --budget {wildcards.budget} > {output:q} 2> {log:q}"
