"""Runs the DAGs of examples/airflow with the program, by a few lines that stand for Airflow's
decorators: tasks run at once, in order, and again where Airflow would try again.

    scripts/test_dags.py PROGRAM

It shows that the tasks hand on to each other what they need and tell the program's statuses
apart; not that Airflow itself takes the DAGs.
"""

import base64
import hashlib
import inspect
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types

# One key for ever: with one of its own a run would end otherwise from time to time.
KEY = base64.b64encode(hashlib.sha256(b"the tests of sdlfilter").digest()).decode()

CONFIGURATION = """\
version: 1
name: dag
key: {file: test.key}
source: {csv: {path: in}}
columns: {id: {role: identifier}, wage: {role: sensitive, decimals: 2}, region: {role: key}, age: {role: key}}
masks: [SWAP{noise: {columns: [wage], sd: 20%}}]
sink: {csv: {path: release/}}
report: {json: report.json}
gate: {rules: [{column: wage, min_efficiency: LIMIT}]}
"""


class AirflowException(Exception):
    pass


class AirflowFailException(AirflowException):
    """Not tried again."""


class Result:
    """What a task has returned."""

    def __init__(self, value):
        self.value = value

    def __rshift__(self, other):
        return other


class Task:
    def __init__(self, work, dag, **own):
        self.work, self.dag, self.own = work, dag, own

    def __call__(self, *arguments, **named):
        plain = [a.value if isinstance(a, Result) else a for a in arguments]
        if "run_id" in inspect.signature(self.work).parameters:
            named["run_id"] = "manual__1"
        return Result(self.tried(lambda: self.work(*plain, **named)))

    def expand(self, **lists):
        (name, values), = lists.items()
        return Result([self.tried(lambda one=one: self.work(**{name: one})) for one in values.value])

    def tried(self, work):
        for _ in range(self.own.get("retries", self.dag.get("default_args", {}).get("retries", 0))):
            try:
                return work()
            except AirflowFailException:
                raise
            except Exception:
                tries.append(self.work.__name__)
        return work()


tries = []  # the tasks that failed and were tried again


def installed():
    """Airflow, as far as the examples need it."""
    settings = {}

    def dag(**given):
        def decorated(make):
            def made():
                settings.clear()
                settings.update(given)
                make()
            return made
        return decorated

    def task(work=None, **own):
        return (lambda work: Task(work, settings, **own)) if work is None else Task(work, settings)

    for name, content in {"airflow": {}, "airflow.decorators": {"dag": dag, "task": task},
                          "airflow.exceptions": {"AirflowException": AirflowException, "AirflowFailException": AirflowFailException}}.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(content)


def run(path):
    """Imports a DAG, which runs it; returns the error that it ends with."""
    text = path.read_text().replace("/etc/sdlfilter/pipeline.yaml", "pipeline.yaml").replace("/data/reports/shards", "work")
    tries.clear()
    with tempfile.TemporaryFile() as printed:
        ours = os.dup(1)
        os.dup2(printed.fileno(), 1)
        try:
            exec(compile(text, str(path), "exec"), {"__name__": path.stem})
        except AirflowException as err:
            return err
        finally:
            os.dup2(ours, 1)
            os.close(ours)
            check("that nothing of the summary is in the log of the worker", os.fstat(printed.fileno()).st_size == 0)
    return None


SWAP = "{swap: {keys: [age], attribute: region, columns: [wage], scope: dataset, rate: 0.5, policy: random}}, "


def written(limit, swap):
    pathlib.Path("pipeline.yaml").write_text(CONFIGURATION.replace("LIMIT", str(limit)).replace("SWAP", SWAP if swap else ""))


def records(folder):
    return [line for f in sorted(pathlib.Path(folder).iterdir()) for line in f.read_bytes().splitlines()[1:]]


def released():
    return b"".join(f.read_bytes() for f in sorted(pathlib.Path("release").iterdir()))


def check(what, held):
    if not held:
        sys.exit(f"{what} does not hold")


def tried_out(path):
    print(f"  {path.name}", flush=True)
    swap = path.stem.endswith("_swap")
    written(0.5, swap)
    check("the release", run(path) is None and not tries)
    first = released()
    check("that all records are released", first.count(b"\n") == 3 * 1001)
    subprocess.run(["sdlfilter", "run", "-q", "--progress", "none", "--set", "sink.csv.path=one/", "--set", "report.json=one.json", "pipeline.yaml"], check=True)
    check("that it is the release of one run", records("one") == records("release"))
    shutil.rmtree("one")
    written(0.9999, swap)
    refused = run(path)
    check("that a refusal is final", isinstance(refused, AirflowFailException) and "gate refused" in str(refused) and not tries)
    check("that the earlier release stays", released() == first)
    written(-3, swap)
    wrong = run(path)
    check("that a wrong configuration is final", isinstance(wrong, AirflowFailException) and "configuration is wrong" in str(wrong) and not tries)
    written(0.5, swap)
    os.rename("in", "away")
    failed = run(path)
    check("that what fails is tried again", type(failed) is AirflowException and len(tries) == 2 and "nothing was published" in str(failed))
    os.rename("away", "in")
    check("the release after", run(path) is None and released() == first)


def main():
    program, examples = os.path.abspath(sys.argv[1]), pathlib.Path(__file__).resolve().parent.parent / "examples/airflow"
    os.environ["PATH"] = os.path.dirname(program) + os.pathsep + os.environ["PATH"]
    installed()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        key = pathlib.Path("test.key")
        key.touch(0o600)
        key.write_text(KEY)
        os.mkdir("in")
        for k in range(3):
            lines = [f"{k * 1000 + i},{100 + (7919 * (k * 1000 + i)) % 90000 / 100:.2f},{'abc'[i * 31 % 3]},{i * 17 % 5}\n" for i in range(1000)]
            pathlib.Path(f"in/{k}.csv").write_text("id,wage,region,age\n" + "".join(lines))
        for path in sorted(examples.glob("*.py")):
            tried_out(path)
        os.chdir("/")


main()
