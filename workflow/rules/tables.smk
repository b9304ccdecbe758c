rule build_table:
    input:
        runs_of_table,
        published=published_of_table,
    output:
        csv=report(
            f"{OUT}/tables/{{table}}.csv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}", "budget": "{budget}"},
        ),
        tex=f"{OUT}/tables/{{table}}.tex",
        comparisons=f"{OUT}/tables/{{table}}.comparisons.csv",
    log:
        f"{LOGS}/build_table/{{table}}.log",
    conda:
        "../../environment.yml"
    shell:
        "bbgm table {wildcards.table} --budget {wildcards.budget} > {log:q} 2>&1"
