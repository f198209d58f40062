"""A release in shards with a swap as an Airflow DAG: partners come from all shards.

For a configuration with a swap of scope dataset, or of numbers; sdlfilter_shards.py is for
all others. Each shard is surveyed first, by one mapped task, and one task finds the partners.
Surveys and pairs hold values of records. The workers must see the same files. A shard that fails is tried again, and leaves the
same bytes; nothing is published before the commit has judged all of them as one release.
"""

from __future__ import annotations

import json
import logging
import subprocess
from datetime import datetime, timedelta

from airflow.decorators import dag, task
from airflow.exceptions import AirflowException, AirflowFailException

CONFIG = "/etc/sdlfilter/pipeline.yaml"
SHARDS = 8
WORK = "/data/reports/shards"  # confidential, as the data are
log = logging.getLogger(__name__)


def sdlfilter(*arguments: str) -> int:
    """Runs the program; its log and errors, which hold no value of a respondent, go to the task's log.

    Its summary does not: risks are as confidential as the report.
    """
    done = subprocess.run(["sdlfilter", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    for line in done.stderr.splitlines():
        log.info(line)
    if done.returncode == 2:
        raise AirflowFailException("the configuration is wrong, or not the one that was planned with: see the log above")
    if done.returncode == 1 or done.returncode < 0 or done.returncode > 4:
        raise AirflowException(f"failed with status {done.returncode}, nothing was published")
    return done.returncode


@dag(
    schedule="30 2 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,  # a commit replaces the release as a whole
    default_args={"retries": 2, "retry_delay": timedelta(minutes=10)},
    tags=["disclosure-control"],
)
def sdlfilter_shards_swap():
    @task
    def plan(run_id: str | None = None) -> list[dict[str, str]]:
        folder = f"{WORK}/{run_id}"
        manifest = f"{folder}/plan.json"
        sdlfilter("shard", "plan", CONFIG, "--shards", str(SHARDS), "--out", manifest, "--progress", "none")
        with open(manifest, encoding="utf-8") as file:
            count = len(json.load(file)["shards"])  # fewer, where the files cannot be cut so often
        return [{"folder": folder, "shard": str(i)} for i in range(count)]

    @task
    def survey(one: dict[str, str]) -> dict[str, str]:
        folder, shard = one["folder"], one["shard"]
        sdlfilter("shard", "survey", f"{folder}/plan.json", "--shard", shard, "--state", f"{folder}/surveys/{shard}", "--progress", "none")
        return one

    @task
    def pair(shards: list[dict[str, str]]) -> list[dict[str, str]]:
        folder = shards[0]["folder"]
        sdlfilter("shard", "pair", f"{folder}/plan.json", "--states", f"{folder}/surveys", "--out", f"{folder}/pairs", "--progress", "none")
        return list(shards)  # Airflow hands on what came from mapped tasks as a sequence of its own

    @task
    def run(one: dict[str, str]) -> str:
        folder, shard = one["folder"], one["shard"]
        sdlfilter("shard", "run", f"{folder}/plan.json", "--shard", shard, "--pairs", f"{folder}/pairs",
                  "--state", f"{folder}/states/{shard}", "--progress", "none")
        return folder

    @task
    def commit(folders: list[str]) -> str:
        folder = folders[0]
        status = sdlfilter("shard", "commit", f"{folder}/plan.json", "--states", f"{folder}/states")
        if status == 4:
            raise AirflowFailException("the gate refused the release: the earlier one stays; see the report")
        return "released" if status == 0 else "released, with records in quarantine"

    commit(run.expand(one=pair(survey.expand(one=plan()))))


sdlfilter_shards_swap()
