"""The release of the three tables, as the last node of the graph: if the gate withholds it, the node fails, and so does `dbt build`."""

import json
import subprocess

import pyarrow


def model(dbt, session):
    dbt.config(materialized="table")
    dbt.ref("households"), dbt.ref("persons"), dbt.ref("visits")  # their post-hooks have written what is masked here
    run = subprocess.run(["sdlfilter", "run", "--summary", "json", "project.yaml"], capture_output=True, text=True)
    if run.returncode not in (0, 3):  # 3: released, with some records in quarantine
        raise RuntimeError(f"status {run.returncode}: {run.stderr}")
    return pyarrow.table({"summary": [json.dumps(json.loads(run.stdout))]})
