"""Executors and drivers that are killed with SIGKILL in every phase of a release.

SPARK_KILLS is how many of each (100 by `make test-spark SPARK_KILLS=100`; else a few).
"""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import sdlfilter
import test_spark
from test_spark import executor, nothing_left, records, same_measures, single, swapped

KILLS = int(os.environ.get("SPARK_KILLS", "6"))


class Mortal(sdlfilter.spark._Shard):
    """Ends the executor of one shard, once: before its work, so many seconds within, or after it."""


    def __call__(self, number):
        command, shard, when, seconds = self.death
        mine = self.command == command and number == shard
        if mine:
            try:
                os.close(os.open(os.path.join(self.states, ".died"), os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                mine = False
        if not mine:
            return super().__call__(number)
        java = executor()

        def die():
            os.kill(java, signal.SIGKILL)

        if when == "within":
            threading.Thread(target=lambda: (time.sleep(seconds), die()), daemon=True).start()
        if when != "before":
            super().__call__(number)
        if when != "within":
            die()
        threading.Event().wait(60)  # for the end of this process with its executor's


def test_executors_that_are_killed(spark, work, monkeypatch):
    swapped()
    want, report = single()
    draw, seen = random.Random(39), {}
    for n in range(KILLS):
        death = (("survey", "run")[n % 2], draw.randrange(3), ("before", "within", "after")[n // 2 % 3], draw.random() * 0.3)

        class Doomed(Mortal):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                self.death = death

        Doomed.__reduce__ = lambda self: (_made, ((self.command, self.plan, self.states, self.folder, self.more), self.death))
        monkeypatch.setattr(sdlfilter.spark, "_Shard", Doomed)
        release = sdlfilter.spark.mask(None, "pipeline.yaml", spark, shards=3)
        assert records(release.path) == want, death
        same_measures(release.report, report)
        nothing_left()
        shutil.rmtree("out/released")
        seen[death[0], death[2]] = seen.get((death[0], death[2]), 0) + 1
    print(KILLS, "executors:", seen)


def _made(arguments, death):
    shard = Mortal(*arguments)
    shard.death = death
    return shard


def driver(command, when, seconds, orphaned):
    """Runs a driver. What it leaves behind, its executors and their shards, goes on for some seconds before it ends too."""
    with open("said", "w+b") as said:
        it = subprocess.Popen([sys.executable, str(pathlib.Path(test_spark.__file__).with_name("driver.py")), command, when, str(seconds)],
                              stdout=subprocess.DEVNULL, stderr=said, start_new_session=True)
        status = it.wait(timeout=300)
        if status != 0:
            time.sleep(orphaned)
            try:
                os.killpg(it.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        said.seek(0)
        return status, said.read()[-2000:]


# The commands of a driver: of plan, pair and commit it runs the program itself; for survey and run it waits for shards.
PHASES = [(command, when) for command in ("plan", "survey", "pair", "run", "commit") for when in ("before", "within", "after")]


def test_drivers_that_are_killed(bucket, work):
    swapped()
    want, _ = single()
    draw, seen = random.Random(39), {}
    before = None
    for n in range(KILLS):
        command, when = PHASES[(7 * n + 12) % len(PHASES)]
        seconds = draw.random() * (0.25 if command == "commit" else 1)
        status, said = driver(command, when, seconds, draw.random() * 2)
        death = (command, when, seconds)
        assert status in (0, -signal.SIGKILL), (death, said)
        there = os.path.isdir("out/released")
        if there:  # this release or the one before, which is the same: but whole
            assert records("out/released") == want, death
        else:
            assert before is None and (command, when) != ("commit", "after"), death
        seen[command, when, "a release" if there else "none"] = seen.get((command, when, "a release" if there else "none"), 0) + 1
        print(n + 1, death, "a release" if there else "none", flush=True)
        if there and n % 2:
            shutil.rmtree("out/released")
        before = True if os.path.isdir("out/released") else None
    status, said = driver("none", "", 0, 0)
    assert status == 0 and records("out/released") == want, said
    print(KILLS, "drivers:", seen)
