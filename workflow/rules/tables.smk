rule build_table:
    input:
        runs_of_table,
        published=published_of_table,
        provenance=f"{OUT}/tables/{{table}}.runs.rst",
    output:
        page=report(
            f"{OUT}/tables/{{table}}.html",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}", "budget": "{budget}"},
        ),
        csv=f"{OUT}/tables/{{table}}.csv",
        tex=f"{OUT}/tables/{{table}}.tex",
        comparisons=f"{OUT}/tables/{{table}}.comparisons.csv",
    log:
        f"{LOGS}/build_table/{{table}}.log",
    conda:
        "../../environment.yml"
    shell:
        "bbgm table {wildcards.table} --budget {wildcards.budget} > {log:q} 2>&1"


# How each run of a table was made; shown in the report below the table.
rule list_provenance_of_table:
    input:
        runs_of_table,
    output:
        csv=f"{OUT}/tables/{{table}}.runs.csv",
        rst=f"{OUT}/tables/{{table}}.runs.rst",
    log:
        f"{LOGS}/list_provenance_of_table/{{table}}.log",
    conda:
        "../../environment.yml"
    shell:
        "bbgm provenance --budget {wildcards.budget} --table {wildcards.table} > {output.csv:q} 2> {log:q};"
        " bbgm provenance --budget {wildcards.budget} --table {wildcards.table} --rst > {output.rst:q} 2>> {log:q}"


rule list_provenance:
    input:
        list(map(notebook_of, RUNS)),
    output:
        report(
            f"{OUT}/provenance.csv",
            caption="../report/provenance.rst",
            category="Provenance",
            labels={"runs": "all", "budget": "{budget}"},
        ),
    log:
        f"{LOGS}/list_provenance.log",
    conda:
        "../../environment.yml"
    shell:
        "bbgm provenance --budget {wildcards.budget} > {output:q} 2> {log:q}"
