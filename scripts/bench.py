"""Times sdlfilter and DuckDB on the same job, alternating, and prints medians.

    make build && scripts/bench.sh [--rows 10000000] [--runs 5] [--only parquet|csv|memory]

parquet  10 columns (6 float64, 2 int64, 2 low-cardinality strings), zstd, a
         million rows a group. Noise on 4 float columns, one identifier dropped.
         sdlfilter assesses and gates beside it; DuckDB only adds the noise:
         `as it comes`, and at its best setting (preserve_insertion_order=false,
         Parquet v2).
csv      8 fields, 2 masked, CSV to CSV.
memory   peak memory of sdlfilter at 10 and at 50 million rows.

sdlfilter is timed from outside as a whole process. DuckDB is timed from inside,
the statement alone, so that the start of Python does not count against it.
"""

import argparse
import base64
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

import duckdb

UNIFORM = "sqrt(3) * (2 * random() - 1)"
NORMAL = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
MASKED = {"f1": 150, "f2": 1000, "f3": 5, "f4": 20}

DUCKDB_CHILD = """
import duckdb, json, resource, sys, time
settings, sql = json.loads(sys.argv[1])
con = duckdb.connect()
con.execute("SET enable_progress_bar = false")
for s in settings:
    con.execute(s)
def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime
c, t = cpu(), time.perf_counter()
con.execute(sql)
t, c = time.perf_counter() - t, cpu() - c
print(json.dumps([t, c, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def make_parquet(path, rows):
    if path.exists():
        return
    con = duckdb.connect()
    con.execute("SET threads = 2; SELECT setseed(0.5)")
    n = NORMAL
    con.execute(f"""COPY (SELECT
        round(exp(6.2 + 0.7 * {n}), 2) AS f1, round(20000 + 9000 * {n}, 2) AS f2,
        round(40 + 10 * {n}, 1) AS f3, round(exp(3 + {n}), 2) AS f4,
        random() AS f5, round(100 * random(), 3) AS f6,
        range AS id, CAST(floor(1000 * random()) AS BIGINT) AS i2,
        ['north', 'south', 'east', 'west'][1 + CAST(floor(4 * random()) AS INT)] AS region,
        ['a', 'b', 'c', 'd', 'e', 'f', 'g'][1 + CAST(floor(7 * random()) AS INT)] AS class
        FROM range({rows})) TO '{path}.part' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 1000000)""")
    os.rename(f"{path}.part", path)


def make_csv(path, rows):
    if path.exists():
        return
    con = duckdb.connect()
    con.execute("SET threads = 2; SELECT setseed(0.25)")
    n = NORMAL
    con.execute(f"""COPY (SELECT range AS id, round(exp(6.2 + 0.7 * {n}), 2) AS wage,
        CAST(floor(8 + 10 * random()) AS INT) AS education, round(20000 + 9000 * {n}, 2) AS assets,
        ['north', 'south', 'east', 'west'][1 + CAST(floor(4 * random()) AS INT)] AS region,
        ['yes', 'no'][1 + CAST(floor(2 * random()) AS INT)] AS parttime,
        CAST(floor(60 * random()) AS INT) AS experience, round(100 * random(), 3) AS score
        FROM range({rows})) TO '{path}.part' (FORMAT csv, HEADER)""")
    os.rename(f"{path}.part", path)


def pipeline(cache, name, source, sink, columns, masked, masks=True):
    """Writes a configuration and returns its path."""
    key = cache / "bench.key"
    if not key.exists():
        key.write_text(base64.b64encode(os.urandom(32)).decode())
        key.chmod(0o600)
    text = [
        "version: 1", f"name: {name}", f"key: {{file: {key}}}",
        f"source: {source}", f"sink: {sink}", "columns:",
        *(f"  {c}: {{role: {r}{extra}}}" for c, r, extra in columns),
    ]
    if masks:
        text.append("masks:")
        text += [f"  - noise: {{columns: [{c}], sd: {sd}}}" for c, sd in masked.items()]
    text.append(f"report: {{json: {cache / (name + '.report.json')}}}")
    path = cache / f"{name}.yaml"
    path.write_text("\n".join(text) + "\n")
    return path


def timed(command):
    """Runs a command as a whole process: wall seconds, CPU seconds, peak MB."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{command} failed")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def duck(settings, sql):
    out = subprocess.run([sys.executable, "-c", DUCKDB_CHILD, json.dumps([settings, sql])],
                         check=True, capture_output=True, text=True)
    return tuple(json.loads(out.stdout))


def alternate(contestants, runs):
    """Runs each contestant once to warm up, then all in turn."""
    results = {name: [] for name in contestants}
    for turn in range(runs + 1):
        for name, run in contestants.items():
            r = run()
            if turn > 0:
                results[name].append(r)
    return results


def show(title, results, reference):
    print(f"\n{title}\n")
    print(f"| | wall s | CPU s | peak MB | wall, ratio | CPU, ratio |\n|---|---|---|---|---|---|")
    ref = results[reference]
    for name, rs in results.items():
        wall, cpu, mem = (statistics.median(x) for x in zip(*rs))
        rw = statistics.median(a[0] / b[0] for a, b in zip(rs, ref))
        rc = statistics.median(a[1] / b[1] for a, b in zip(rs, ref))
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {mem:.0f} | {rw:.2f} | {rc:.2f} |", flush=True)


def bench_parquet(cache, binary, rows, runs):
    source = cache / f"bench{rows}.parquet"
    make_parquet(source, rows)
    out = {k: cache / f"out.{k}.parquet" for k in ("sdlfilter", "duckdb", "best", "uniform")}
    columns = [("f1", "sensitive", ", decimals: 2, unit: USD"), ("f2", "sensitive", ", decimals: 2"),
               ("f3", "sensitive", ", decimals: 1"), ("f4", "sensitive", ", decimals: 2"),
               ("f5", "other", ""), ("f6", "other", ""), ("id", "identifier", ""), ("i2", "other", ""),
               ("region", "other", ""), ("class", "other", "")]
    config = pipeline(cache, "parquet", f"{{parquet: {{path: {source}}}}}",
                      f"{{parquet: {{path: {out['sdlfilter']}, compression: zstd}}}}", columns, MASKED)
    def sql(noise, target, extra):
        select = ", ".join(f"f{i} + {MASKED[f'f{i}']} * {noise} AS f{i}" for i in (1, 2, 3, 4))
        return (f"COPY (SELECT {select}, f5, f6, i2, region, class FROM '{source}') TO '{target}' "
                f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 1000000{extra})")
    contestants = {
        "DuckDB, as it comes": lambda: duck(["SET threads = 2"], sql(NORMAL, out["duckdb"], "")),
        "DuckDB, best setting": lambda: duck(["SET threads = 2", "SET preserve_insertion_order = false"],
                                             sql(NORMAL, out["best"], ", PARQUET_VERSION v2")),
        "DuckDB, as it comes, uniform noise": lambda: duck(["SET threads = 2"], sql(UNIFORM, out["uniform"], "")),
        "DuckDB, best setting, uniform noise": lambda: duck(
            ["SET threads = 2", "SET preserve_insertion_order = false"], sql(UNIFORM, out["uniform"], ", PARQUET_VERSION v2")),
        "sdlfilter": lambda: timed([binary, "run", "--quiet", str(config)]),
    }
    results = alternate(contestants, runs)
    show(f"Parquet, {rows:,} × 10, {runs} runs, ratios to DuckDB as it comes", results, "DuckDB, as it comes")
    show("The same, ratios to DuckDB at its best setting", results, "DuckDB, best setting")
    con = duckdb.connect()
    print("\nCompressed size of the masked columns' chunks, MB:")
    for name in ("sdlfilter", "duckdb", "best"):
        size = con.execute(f"SELECT sum(total_compressed_size) FROM parquet_metadata('{out[name]}') WHERE path_in_schema IN ('f1','f2','f3','f4')").fetchone()[0]
        print(f"  {name}: {size / 1e6:.1f}")


def bench_csv(cache, binary, rows, runs):
    source = cache / f"bench{rows}.csv"
    make_csv(source, rows)
    columns = [("id", "identifier", ""), ("wage", "sensitive", ", decimals: 2"), ("education", "other", ""),
               ("assets", "sensitive", ", decimals: 2"), ("region", "other", ""), ("parttime", "other", ""),
               ("experience", "other", ""), ("score", "other", "")]
    config = pipeline(cache, "csv", f"{{csv: {{path: {source}}}}}", f"{{csv: {{path: {cache / 'out.sdlfilter.csv'}}}}}",
                      columns, {"wage": 150, "assets": 1000})
    sql = f"""COPY (SELECT wage + 150 * {NORMAL} AS wage, education, assets + 1000 * {NORMAL} AS assets,
        region, parttime, experience, score FROM '{source}') TO '{cache / 'out.duckdb.csv'}' (FORMAT csv, HEADER)"""
    results = alternate({
        "DuckDB, as it comes": lambda: duck(["SET threads = 2"], sql),
        "DuckDB, insertion order given up": lambda: duck(["SET threads = 2", "SET preserve_insertion_order = false"], sql),
        "sdlfilter": lambda: timed([binary, "run", "--quiet", str(config)]),
    }, runs)
    show(f"CSV to CSV, {rows:,} × 8, {runs} runs, ratios to DuckDB as it comes", results, "DuckDB, as it comes")


def bench_memory(cache, binary, runs):
    columns = [("f1", "sensitive", ", decimals: 2"), ("f2", "sensitive", ", decimals: 2"), ("f3", "sensitive", ", decimals: 1"),
               ("f4", "sensitive", ", decimals: 2"), ("f5", "other", ""), ("f6", "other", ""), ("id", "identifier", ""),
               ("i2", "other", ""), ("region", "other", ""), ("class", "other", "")]
    print("\nPeak memory of sdlfilter, MB (median of 3)\n")
    for rows in (10_000_000, 50_000_000):
        source = cache / f"bench{rows}.parquet"
        make_parquet(source, rows)
        config = pipeline(cache, f"memory{rows}", f"{{parquet: {{path: {source}}}}}",
                          f"{{parquet: {{path: {cache / 'out.memory.parquet'}, compression: zstd}}}}", columns, MASKED)
        rs = [timed([binary, "run", "--quiet", str(config)]) for _ in range(3)]
        print(f"  {rows:,} rows: {statistics.median(r[2] for r in rs):.0f} MB, {statistics.median(r[0] for r in rs):.2f} s", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cache", type=pathlib.Path, required=True)
    p.add_argument("--binary", default="bin/sdlfilter")
    p.add_argument("--rows", type=int, default=10_000_000)
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--only", choices=["parquet", "csv", "memory"])
    a = p.parse_args()
    print(f"DuckDB {duckdb.__version__}, {os.cpu_count()} cores, median of {a.runs} runs, alternating")
    if a.only in (None, "parquet"):
        bench_parquet(a.cache, a.binary, a.rows, a.runs)
    if a.only in (None, "csv"):
        bench_csv(a.cache, a.binary, a.rows, a.runs)
    if a.only in (None, "memory"):
        bench_memory(a.cache, a.binary, a.runs)


if __name__ == "__main__":
    main()
