# Only the executed notebook is an output. The record beside it (metrics.json, model, checkpoint) belongs to
# bbgm.runs.train, which resumes or loads it: Snakemake would delete declared outputs before it runs a job again.
# `exec`: a scheduler's SIGTERM to all processes would end a shell at once, before papermill has ended as it should.


rule train_run:
    input:
        needs_of_run,
        notebook="notebooks/04_training.ipynb",
        budget="config/budgets/{budget}.yaml",
        experiment=experiments_of_run,
    output:
        notebook=f"{RUN}/run.ipynb",
    log:
        f"{LOGS}/train_run/{{dataset}}_{{filter}}_{{method}}_seed{{seed}}.log",
    benchmark:
        f"{LOGS}/train_run/{{dataset}}_{{filter}}_{{method}}_seed{{seed}}.tsv"
    priority: priority_of_run
    conda:
        "../../environment.yml"
    threads: threads_of_run
    resources:
        gpu=GPUS_OF_A_RUN,
        training=1,  # so that a profile can limit how many run at a time
        mem_mb=memory_of_run,
        runtime=minutes_of_run,
    params:
        parameters=parameters_of_run,
        hash=hash_of_run,
    shell:
        "exec python workflow/scripts/one_gpu.py python workflow/scripts/papermill.py {input.notebook:q} {output.notebook:q} --kernel python3 --cwd . --no-progress-bar --log-output"
        " -y {params.parameters:q} > {log:q} 2>&1"
