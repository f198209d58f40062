"""Times sdlfilter.spark beside Spark's own copy of the same file, alternating in one
session, and prints medians and ratios.

    make build && scripts/bench-spark.sh [--rows 10000000] [--runs 5] [--cores 2]

copy       spark.read.parquet(…).write.parquet(…)
files      sdlfilter.spark.mask(path, …): the program reads the file, one task a shard
DataFrame  sdlfilter.spark.mask(spark.read.parquet(…), …)

The data are those of bench.py: 10 columns, zstd, a million rows a group. Noise on 4 columns,
one identifier dropped, R and U assessed, the gate judges. Wall times are of the call, with
Spark already started and each contestant run once before. CPU seconds are of the session's
processes together: this one, Spark's, its Python workers and the program. Of files it also
prints the wall times of the steps, and that of a job of Spark that does nothing.
"""

import argparse
import collections
import contextlib
import os
import pathlib
import shutil
import statistics
import sys
import time

import bench
from pyspark.sql import SparkSession

import sdlfilter.spark


def cpu():
    """The CPU seconds of this process and all its descendants, those that ended included."""
    used, parents = {}, {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # one that has just ended
            fields = stat.read_text().rsplit(")", 1)[1].split()
            pid = int(stat.parent.name)
            used[pid], parents[pid] = sum(map(int, fields[11:15])), int(fields[1])

    def ours(pid):
        while pid not in (0, os.getpid()):
            pid = parents.get(pid, 0)
        return pid != 0

    return sum(ticks for pid, ticks in used.items() if ours(pid)) / os.sysconf("SC_CLK_TCK")


def measured(work):
    before, start = cpu(), time.perf_counter()
    work()
    return time.perf_counter() - start, cpu() - before


steps = collections.defaultdict(list)  # wall times, by name


def timed(name, work):
    """work, whose wall times are kept by the name of its arguments."""
    def timing(*arguments, **named):
        start = time.perf_counter()
        try:
            return work(*arguments, **named)
        finally:
            steps[name(*arguments)].append(time.perf_counter() - start)
    return timing


def files(spark, source, config):
    """The release of files, step by step, and then a job that does nothing."""
    whole = {of: getattr(at, of) for at, of in ((sdlfilter.spark, "_call"), (sdlfilter.spark._Job, "_shards"))}
    sdlfilter.spark._call = timed(lambda arguments, *_: arguments[1], whole["_call"])
    sdlfilter.spark._Job._shards = timed(lambda _, n, command, *__: f"{n} × {command}", whole["_shards"])
    try:
        result = measured(lambda: sdlfilter.spark.mask(source, config, spark))
    finally:
        sdlfilter.spark._call, sdlfilter.spark._Job._shards = whole["_call"], whole["_shards"]
    context = spark.sparkContext
    n = context.defaultParallelism
    timed(lambda: "an empty job", lambda: context.parallelize(range(n), n).map(abs).collect())()
    return result


def compare(spark, cache, rows, runs):
    source, copied, released = cache / f"bench{rows}.parquet", cache / "spark-copy", cache / "spark-release"
    bench.make_parquet(source, rows)
    config = bench.pipeline(cache, "spark", f"{{parquet: {{path: {source}}}}}", f"{{parquet: {{path: {released}}}}}", bench.roles(), bench.noise(bench.MASKED))
    address = source.as_uri()
    try:
        return bench.alternate({
            "copy": lambda: measured(lambda: spark.read.parquet(address).write.mode("overwrite").parquet(copied.as_uri())),
            "files": lambda: files(spark, source, config),
            "DataFrame": lambda: measured(lambda: sdlfilter.spark.mask(spark.read.parquet(address), config, spark)),
        }, runs)
    finally:
        for folder in (copied, released):
            shutil.rmtree(folder, ignore_errors=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cache", type=pathlib.Path, default=".cache/bench")
    p.add_argument("--rows", type=int, default=10_000_000)
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--cores", type=int, default=2)
    o = p.parse_args()
    o.cache = o.cache.resolve()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master(f"local[{o.cores}]").appName("sdlfilter-bench").config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.memory", "4g")
        .config("spark.local.dir", str(o.cache / "spark-local")).getOrCreate()
    )
    try:
        results = compare(spark, o.cache, o.rows, o.runs)
    finally:
        spark.stop()
        shutil.rmtree(o.cache / "spark-local", ignore_errors=True)
    print(f"\nParquet, {o.rows:,} × 10, Spark {spark.version} with {o.cores} cores, {o.runs} runs, ratios to Spark's copy\n")
    print("| | wall s | CPU s | wall, ratio | CPU, ratio |\n|---|---|---|---|---|")
    for name, rs in results.items():
        wall, used = (statistics.median(x) for x in zip(*rs))
        rw, rc = (statistics.median(a[i] / b[i] for a, b in zip(rs, results["copy"])) for i in (0, 1))
        print(f"| {name} | {wall:.2f} | {used:.2f} | {rw:.2f} | {rc:.2f} |")
    print("\nFiles, wall s: " + ", ".join(f"{name} {statistics.median(times[-o.runs:]):.2f}" for name, times in steps.items()))


main()
