"""Work, and how many cores can share it, of each mask of a whole data set and of each of the intruder's measures: from the execution
traces of runs.

    make bench-masks BENCH='[--rows 2000000] [--cores 8] [--only NAME;…] [--where 20]'

A trace (sdlfilter --trace FILE) with GOMAXPROCS=n has, beside every change of state of a goroutine, the stacks of who uses
the processor, 250 times a second of it. Each sample is shared by as many goroutines as could run at that time, at most n:
the sum of the shares is the time on n cores. A goroutine that has more work than the time of its life allows (the reader,
who is always beside others) makes that longer. The time is that of the processor: other load on the machine does not count.
"""

import argparse
import bisect
import collections
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys

import bench

SECONDS = 1 / 250  # of a sample, see cmd/sdlfilter/trace.go
PROGRAM = "github.com/sdlfilter/sdlfilter/"
TRANSITION = re.compile(r"StateTransition Time=\d+ GoID=(\d+) (\w+)->(\w+)")
SAMPLE = re.compile(r" G=(-?\d+) StackSample ")
READY = ("Runnable", "Running")
COLLECTOR = ("runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge", "runtime.gcDrain")


class Sample:
    """A share of the processor: of goroutine g, with a stack, while ready goroutines could run."""

    def __init__(self, g, stack, ready):
        self.g, self.stack, self.ready = g, stack, ready
        self.garbage = any(f in COLLECTOR for f in stack)


def parsed(lines):
    """Returns the samples of a trace in the order of time."""
    state, own, samples, stack, created = {}, set(), [], None, None
    ready = set()
    for line in lines:
        if line.startswith("\t"):
            if line.startswith("\t\t"):
                continue
            name = line.strip().rsplit(" @ ", 1)[0]
            if created is not None:
                if not name.startswith("runtime"):
                    own.add(created)
                    if state.get(created) in READY:
                        ready.add(created)
                created = None
            elif stack is not None:
                stack.append(name)
            continue
        if line.startswith("TransitionStack"):
            continue
        if line.startswith("Stack="):
            created = None
            continue
        if m := TRANSITION.search(line):
            g, before, after = int(m[1]), m[2], m[3]
            stack = None
            state[g] = after
            created = g if before in ("NotExist", "Undetermined") else None
            if g == 1:
                own.add(g)
            if g in own and after in READY:
                ready.add(g)
            else:
                ready.discard(g)
        elif m := SAMPLE.search(line):
            stack = []
            samples.append((int(m[1]), stack, len(ready | {int(m[1])} if int(m[1]) in own else ready)))
    return [Sample(*s) for s in samples]


def chained(samples, cores):
    """Returns the seconds on so many cores."""
    shared, at = [0.0], 0.0
    of = collections.defaultdict(list)
    for i, s in enumerate(samples):
        at += SECONDS / (cores if s.garbage else max(1, min(s.ready, cores)))
        shared.append(at)
        if not s.garbage:
            of[s.g].append(i)
    # Goroutines one after the other that have more work than their time: the sum of what is missing is greatest.
    lives = []
    for mine in of.values():
        missing = len(mine) * SECONDS - (shared[mine[-1] + 1] - shared[mine[0]])
        if missing > 3 * math.sqrt(len(mine)) * SECONDS:  # not by the chance of the samples
            lives.append((mine[-1], mine[0], missing))
    lives.sort()
    ends, best = [life[0] for life in lives], [0.0]
    for last, first, missing in lives:
        best.append(max(best[-1], missing + best[bisect.bisect_left(ends, first)]))
    return at + best[-1]


def where(samples, cores):
    """Returns what functions of the program lose, with what they call, by having fewer goroutines than cores: seconds."""
    lost = collections.Counter()
    for s in samples:
        if s.garbage:
            continue
        share = SECONDS * (1 / max(1, min(s.ready, cores)) - 1 / cores)
        names = {f.removeprefix(PROGRAM) for f in s.stack if f.startswith(PROGRAM)} or {"others: " + (s.stack or ["?"])[0]}
        for name in names:
            lost[name] += share
    return lost


def read(path):
    with subprocess.Popen(["go", "tool", "trace", "-d=parsed", path], stdout=subprocess.PIPE, text=True) as process:
        return parsed(process.stdout)


# What is measured, with the share of --rows: masks of a configuration, and arguments of attack on what noise releases.
MASKS = {
    "noise": (1, "noise: {columns: [f1, f2, f3, f4], sd: 5}"),
    "swap, random": (1, "swap: {columns: [f1, f2], keys: [region], attribute: sex, rate: 0.3, policy: random, scope: dataset}"),
    "swap, unique": (1, "swap: {columns: [f1, f2], keys: [age, occupation, area], attribute: sex, rate: 0.5, policy: unique, scope: dataset}"),
    "rankswap": (1, "rankswap: {columns: [f1, f2, f3, f4], p: 5%}"),
    "shuffle": (1, "shuffle: {columns: [f1, f2], on: [f3, f4]}"),
    "microaggregate": (0.5, "microaggregate: {columns: [f1, f2, f3, f4], k: 3}"),
    "suppress": (1, "suppress: {keys: [sex, age, region, children, area], k: 5}"),
    "synthesise, regressions": (1, "synthesise: {columns: [f1, f2], on: [f3, f4]}"),
    "synthesise, trees": (1, "synthesise: {columns: [f1, f2], on: [f3, f4], method: cart}"),
}
NUMBERS = ["--keys", "f1,f2,f3,f4"]
CATEGORIES = ["--categorical", "sex,age,region,children,area"]
ATTACKS = {
    "linkage": (1, [*NUMBERS, "--targets", "10000"]),
    "linkage, Mahalanobis": (1, [*NUMBERS, "--targets", "10000", "--distance", "mahalanobis"]),
    "linkage, Gower": (1, [*NUMBERS, *CATEGORIES, "--targets", "1000", "--distance", "gower"]),
    "posterior d.1": (1, [*NUMBERS, "--targets", "1000", "--knowledge", "d1", "--sigma", "5"]),
    "k, individual risk": (1, [*CATEGORIES, "--sensitive", "f3"]),
    "uniqueness with SUDA2": (1, CATEGORIES),
}


def source(cache, rows):
    n = bench.NORMAL
    path = cache / f"span{rows}.parquet"
    bench.made(path, rows, f"""round(exp(6.2 + 0.7 * (0.6 * z + 0.8 * {n})), 2) AS f1, round(20000 + 9000 * (0.5 * z + 0.87 * {n}), 2) AS f2,
        round(40 + 10 * (0.3 * z + 0.95 * {n}), 1) AS f3, round(exp(3 + (0.4 * z + 0.92 * {n})), 2) AS f4,
        ['f', 'm'][1 + CAST(floor(2 * random()) AS INT)] AS sex, CAST(floor(15 + 80 * random() * random()) AS BIGINT) AS age,
        CAST(floor(200 * random() * random()) AS BIGINT) AS occupation, CAST(floor(100 * random() * random()) AS BIGINT) AS area,
        ['north', 'south', 'east', 'west'][1 + CAST(floor(4 * random()) AS INT)] AS region,
        CAST(floor(8 * random() * random()) AS BIGINT) AS children, id""", f"(SELECT range AS id, {n} AS z FROM range({rows}))")
    return path


def configured(cache, name, rows, mask):
    key = name.replace(", ", "-")
    out = cache / f"out.span.{'noise' if name == 'noise' else 'mask'}.parquet"
    named = re.search(r"(?:columns|keys): \[([^]]*)\]", mask)[1].split(", ")
    numbers = {"f1": 2, "f2": 2, "f3": 1, "f4": 2}
    role = lambda c: ("key" if mask.startswith("suppress") else "sensitive") if c in named else "other"
    columns = [(c, role(c), f", decimals: {d}" if c in named else "") for c, d in numbers.items()]
    columns += [(c, role(c), "") for c in ("sex", "age", "occupation", "area", "region", "children")] + [("id", "identifier", "")]
    return out, bench.pipeline(cache, f"span.{key}", f"{{parquet: {{path: {source(cache, rows)}}}}}", f"{{parquet: {{path: {out}, compression: zstd}}}}", columns, [mask])


def traced(cache, binary, cores, args):
    """Returns the samples of a run."""
    trace = cache / "span.trace"
    done = subprocess.run([binary, *args[:1], "--quiet", "--trace", str(trace), *args[1:]], env={**os.environ, "GOMAXPROCS": str(cores)},
                          stdout=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{args} failed")
    return read(str(trace))


def runs(cache, rows):
    """Yields the name and the arguments of each run; attacks are on what noise releases."""
    for name, (share, mask) in MASKS.items():
        yield name, ["run", str(configured(cache, name, int(rows * share), mask)[1])]
    released, _ = configured(cache, "noise", rows, MASKS["noise"][1])
    for name, (share, args) in ATTACKS.items():
        yield name, ["attack", "--json", "--original", str(source(cache, rows)), "--released", str(released), *args]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cache", type=pathlib.Path, required=True)
    p.add_argument("--binary", default="bin/sdlfilter")
    p.add_argument("--rows", type=int, default=2_000_000)
    p.add_argument("--cores", type=int, default=8)
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--only", help="names of MASKS and ATTACKS, separated by semicolons")
    p.add_argument("--where", type=int, default=0, help="how many functions to show that have too few goroutines")
    a = p.parse_args()
    print(f"| {a.rows:,} records | work, CPU s | on {a.cores} cores, s | faster |\n|---|---|---|---|")
    for name, args in runs(a.cache, a.rows):
        if a.only and name not in a.only.split(";"):
            continue
        each = [traced(a.cache, a.binary, a.cores, args) for _ in range(a.runs)]
        works, times = [len(s) * SECONDS for s in each], [chained(s, a.cores) for s in each]
        faster = statistics.median(w / t for w, t in zip(works, times))
        print(f"| {name} | {statistics.median(works):.2f} | {statistics.median(times):.2f} | {faster:.1f} × |", flush=True)
        for function, s in where(each[-1], a.cores).most_common(a.where):
            print(f"{s:7.3f} s  {function}")


if __name__ == "__main__":
    main()
