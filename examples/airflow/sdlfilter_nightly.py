"""A nightly release as an Airflow DAG: validate, run, and say what became of it.

Exit status of sdlfilter: 0 done, 1 failed and nothing published, 2 the
configuration is wrong, 3 done with records in quarantine, 4 the gate refused the
release. Only 1 is tried again; a run that is repeated releases the same values.
"""

from __future__ import annotations

import logging
import subprocess
from datetime import datetime, timedelta

from airflow.decorators import dag, task
from airflow.exceptions import AirflowException, AirflowFailException

CONFIG = "/etc/sdlfilter/pipeline.yaml"
log = logging.getLogger(__name__)


def sdlfilter(*arguments: str) -> int:
    """Runs the program; its log and errors, which hold no value of a respondent, go to the task's log.

    Its summary does not: risks are as confidential as the report.
    """
    done = subprocess.run(["sdlfilter", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    for line in done.stderr.splitlines():
        log.info(line)
    return done.returncode


@dag(
    schedule="30 2 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,  # a run replaces the release as a whole
    default_args={"retries": 2, "retry_delay": timedelta(minutes=10)},
    tags=["disclosure-control"],
)
def sdlfilter_nightly():
    @task(retries=0)
    def validate() -> None:
        if sdlfilter("validate", CONFIG) != 0:
            raise AirflowFailException("the configuration is wrong: see the log above")

    @task
    def release() -> str:
        status = sdlfilter("run", CONFIG, "--progress", "none")
        if status == 0:
            return "released"
        if status == 3:
            return "released, with records in quarantine"
        if status == 4:
            raise AirflowFailException("the gate refused the release: the earlier one stays; see the report")
        if status == 2:
            raise AirflowFailException("the configuration is wrong: see the log above")
        raise AirflowException(f"failed with status {status}, nothing was published")

    validate() >> release()


sdlfilter_nightly()
