"""Measures what plan, shards and commit take, and simulates from that a terabyte on 10, 100 and 1,000 executors.

    make bench-shards BENCH='--rows 10000000'

Measured: a folder of 100 Parquet files (the data of bench.py), in 4, 10 and 100 shards, each shard a process of its
own on one core. The CPU seconds of plan, run and commit are fitted by straight lines: in the number of shards, in the
bytes of a shard (of shards with more records than the sample), in the number of shards.

Simulated: a terabyte of such files of 256 MB, a shard for each file, on executors of one core that take the next shard
when they are free. A shard's time is the fitted one, times a lognormal factor (sigma 0.25); one in 50 takes five times
as long, one in 200 dies halfway and is run again. With speculation, an executor that finds no shard left runs a second
attempt of the one that has taken longest beyond 1.5 times the median, and the first of both to end counts. Plan and
commit are done by one process. The times of disks and networks that are slower than the ones measured here are not in
it. Fixed seed, medians of 21 simulations.
"""

import argparse
import heapq
import os
import pathlib
import random
import shutil
import statistics

import bench
import duckdb

FILES = 100
SAMPLE = 100_000  # records, the default of assess.sample: a shard of fewer takes all of its records into its sample
TERABYTE, SHARD = 1e12, 256e6
EXECUTORS = (10, 100, 1000)


@bench.aside
def divided(whole, folder, each):
    part = folder.with_suffix(".part")
    part.mkdir(exist_ok=True)
    con = duckdb.connect()
    for k in range(FILES):
        con.execute(f"COPY (SELECT * FROM '{whole}' WHERE id >= {k * each} AND id < {(k + 1) * each}) TO '{part}/{k:04}.parquet' (FORMAT parquet, COMPRESSION zstd)")
    part.rename(folder)


def line(points):
    """The least-squares line (constant, slope) through points (x, y), neither below 0."""
    mx, my = (statistics.fmean(v) for v in zip(*points))
    across = sum((x - mx) ** 2 for x, _ in points)
    slope = max(0.0, sum((x - mx) * (y - my) for x, y in points) / across) if across else 0.0
    return max(0.0, my - slope * mx), slope


def measured(cache, binary, rows, counts):
    """CPU seconds of plan and commit by number of shards, of each shard with its bytes; bytes of a state."""
    whole, folder = cache / f"bench{rows}.parquet", cache / f"shards{rows}"
    if not folder.exists():
        bench.make_parquet(whole, rows)
        divided(whole, folder, rows // FILES)
    size = sum(f.stat().st_size for f in folder.iterdir())
    plans, shards, commits, state = [], [], [], 0
    for n in counts:
        out, states, plan = cache / "out.shards", cache / "shards.states", cache / "shards.plan.json"
        for old in (out, states):
            shutil.rmtree(old, ignore_errors=True)
        states.mkdir()
        spent = 0.0
        config = bench.pipeline(cache, "shards", f"{{parquet: {{path: {folder}}}}}", f"{{parquet: {{path: {out}, compression: zstd}}}}",
                                bench.roles(), bench.noise(bench.MASKED))
        plans.append((n, bench.timed([binary, "shard", "plan", str(config), "--shards", str(n), "--out", str(plan)])[1]))
        for k in range(n):
            _, cpu, _ = bench.timed(["taskset", "-c", str(k % os.cpu_count()), binary, "shard", "run", str(plan), "--shard", str(k), "--state", str(states / str(k))])
            if rows / n > 2 * SAMPLE:
                shards.append((size / n, cpu))
            spent += cpu
        state = max(f.stat().st_size for f in states.iterdir())
        commits.append((n, bench.timed([binary, "shard", "commit", str(plan), "--states", str(states)])[1]))
        shutil.rmtree(out)
        print(f"{n} shards: plan {plans[-1][1]:.2f} s, shards {spent:.2f} s, commit {commits[-1][1]:.2f} s of CPU; a state {state / 1e6:.1f} MB", flush=True)
    return plans, shards, commits, size


def makespan(rng, executors, shards, seconds, speculate):
    """Wall seconds of the shards on executors, each free again when its shard has ended."""
    def takes():
        t = seconds * rng.lognormvariate(0, 0.25)
        if rng.random() < 1 / 50:
            t *= 5
        if rng.random() < 1 / 200:
            t += t / 2
        return t
    free = [0.0] * executors
    tasks = []  # (end, start)
    for _ in range(shards):
        start = heapq.heappop(free)
        end = start + takes()
        tasks.append([end, start])
        heapq.heappush(free, end)
    if not speculate:
        return max(end for end, _ in tasks)
    usual = statistics.median(end - start for end, start in tasks)
    for task in sorted(tasks, reverse=True):
        idle = free[0]
        begin = max(idle, task[1] + 1.5 * usual)
        if begin >= task[0]:
            continue
        heapq.heappop(free)
        task[0] = min(task[0], begin + takes())
        heapq.heappush(free, task[0])
    return max(end for end, _ in tasks)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cache", type=pathlib.Path, required=True)
    p.add_argument("--binary", default="bin/sdlfilter")
    p.add_argument("--rows", type=int, default=10_000_000)
    p.add_argument("--counts", type=lambda text: [int(n) for n in text.split(",")], default=[4, 10, 100])
    a = p.parse_args()
    print(f"{os.cpu_count()} cores, {a.rows:,} records × 10 in {FILES} files\n")
    plans, shards, commits, _ = measured(a.cache, a.binary, a.rows, a.counts)
    (plan0, plan1), (run0, run1), (commit0, commit1) = line(plans), line(shards), line(commits)
    print(f"\nplan {plan0:.2f} s + {1000 * plan1:.2f} ms a shard; a shard {run0:.2f} s + {run1 * 1e9:.2f} s/GB; commit {commit0:.2f} s + {1000 * commit1:.2f} ms a shard\n")
    n = round(TERABYTE / SHARD)
    one = run0 + run1 * SHARD
    # A file for each shard: what a plan takes for a file is in what it takes for all, of FILES files.
    plan, commit, work = plan0 * n / FILES + plan1 * n, commit0 + commit1 * n, n * one
    print(f"1 TB in {n:,} shards of {SHARD / 1e6:.0f} MB: {work:,.0f} s of work; plan {plan:.1f} s, commit {commit:.1f} s ({100 * commit / (work + plan + commit):.2f} % of all work)\n")
    print("| executors | shards, wall s | with speculation | plan + commit, s | together, s | faster than one | commit, share of the wall |\n|---|---|---|---|---|---|---|")
    for executors in EXECUTORS:
        walls = {s: statistics.median(makespan(random.Random(seed), executors, n, one, s) for seed in range(21)) for s in (False, True)}
        whole = walls[True] + plan + commit
        print(f"| {executors:,} | {walls[False]:,.0f} | {walls[True]:,.0f} | {plan + commit:.1f} | {whole:,.0f} | {(work + plan + commit) / whole:,.0f} × | {100 * commit / whole:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
