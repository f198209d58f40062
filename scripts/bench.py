"""Times sdlfilter and DuckDB on the same job, alternating, and prints medians.

    make build && scripts/bench.sh [--rows 10000000] [--runs 5] [--only NAME,…]

parquet  10 columns, zstd, a million rows a group. Noise on 4 columns, one identifier
         dropped. sdlfilter assesses and gates beside it, its noise is normal; DuckDB only
         adds noise: `as it comes`, and at its best setting
         (preserve_insertion_order=false, Parquet v2). Three data sets (--sets):
         decimals  6 float64 of which the 4 masked ones have one or two decimals, 2 int64,
                   2 strings of few values
         doubles   the same, two of the masked ones full-precision doubles
         integers  the masked ones int64: codes of few values (dictionaries) and
                   counts, one value in ten missing
csv      8 fields, 2 masked, CSV to CSV.
gzip     the same, from and to CSV.gz.
many     1,000 Parquet files of a thousandth of the rows each, to a folder; DuckDB to one file, and to as many.
wide     25, 50 and 100 measured columns, a tenth of the rows: sdlfilter alone.
swap     a swap of scope dataset, against the same file with noise: sdlfilter alone.
categories  recode, topcode and pram, likewise.
tables   tables of counts and of values of the same file, against a run with noise: sdlfilter alone.
cells    one table of 1,220,989 cells with three hierarchies, of about 12 million records, by suppression.
memory   peak memory of sdlfilter at 10 and at 50 million rows.
cores    (only if asked for) the data sets of parquet on 1, 2, 4, … cores, as many as there are, the same ones for both
         programs (taskset), DuckDB at its best setting.
span     (only if asked for) what goes by turns and what any core can do: from the CPU profile of a run,
         the bounds of the time on 1 to 64 cores. Needs Go for its `go tool pprof`.

sdlfilter is timed from outside as a whole process. DuckDB is timed from inside,
the statement alone, so that the start of Python does not count against it.
"""

import argparse
import base64
import itertools
import json
import os
import pathlib
import resource
import shutil
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


ROUNDED = [f"round(exp(6.2 + 0.7 * {NORMAL}), 2)", f"round(20000 + 9000 * {NORMAL}, 2)",
           f"round(40 + 10 * {NORMAL}, 1)", f"round(exp(3 + {NORMAL}), 2)"]


def gaps(value):
    return f"CASE WHEN random() < 0.1 THEN NULL ELSE {value} END"


# The four masked columns of each data set, and the decimals that the configuration states.
SETS = {
    "decimals": (ROUNDED, [2, 2, 1, 2]),
    "doubles": ([f"exp(6.2 + 0.7 * {NORMAL})", ROUNDED[1], ROUNDED[2], f"exp(3 + {NORMAL})"], [None, 2, 1, None]),
    "integers": ([gaps(f"CAST(1000 * floor(60 * random()) AS BIGINT)"), gaps(f"CAST(20000 + 9000 * {NORMAL} AS BIGINT)"),
                  gaps("CAST(floor(90 * random()) AS BIGINT)"), gaps(f"CAST(exp(3 + {NORMAL}) AS BIGINT)")], [0, 0, 0, 0]),
}


def aside(work):
    """Does work in a process of its own: the peak memory of a program counts that of the process which starts it."""
    def done(*args):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                work(*args)
                status = 0
            finally:
                sys.stdout.flush()
                os._exit(status)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
            sys.exit(f"{work.__name__} failed")
    return done


@aside
def made(path, rows, select, of=None):
    if path.exists():
        return
    of = of or f"range({rows})"
    con = duckdb.connect()
    con.execute("SET threads = 2; SELECT setseed(0.5)")
    con.execute(f"COPY (SELECT {select} FROM {of}) TO '{path}.part' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 1000000)")
    os.rename(f"{path}.part", path)


def make_parquet(path, rows, masked=ROUNDED):
    made(path, rows, ", ".join(f"{v} AS f{i}" for i, v in enumerate(masked, 1)) + """,
        random() AS f5, round(100 * random(), 3) AS f6,
        range AS id, CAST(floor(1000 * random()) AS BIGINT) AS i2,
        ['north', 'south', 'east', 'west'][1 + CAST(floor(4 * random()) AS INT)] AS region,
        ['a', 'b', 'c', 'd', 'e', 'f', 'g'][1 + CAST(floor(7 * random()) AS INT)] AS class""")


def packed(path):
    return ", COMPRESSION gzip" if str(path).endswith(".gz") else ""


@aside
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
        FROM range({rows})) TO '{path}.part' (FORMAT csv, HEADER{packed(path)})""")
    os.rename(f"{path}.part", path)


def pipeline(cache, name, source, sink, columns, masks):
    """Writes a configuration and returns its path."""
    key = cache / "bench.key"
    if not key.exists():
        key.write_text(base64.b64encode(os.urandom(32)).decode())
        key.chmod(0o600)
    text = [
        "version: 1", f"name: {name}", f"key: {{file: {key}}}",
        f"source: {source}", f"sink: {sink}", "columns:",
        *(f"  {c}: {{role: {r}{extra}}}" for c, r, extra in columns),
        "masks:", *(f"  - {m}" for m in masks),
        f"report: {{json: {cache / (name + '.report.json')}}}",
    ]
    path = cache / f"{name}.yaml"
    path.write_text("\n".join(text) + "\n")
    return path


def noise(masked):
    return [f"noise: {{columns: [{c}], sd: {sd}}}" for c, sd in masked.items()]


def roles(decimals=(2, 2, 1, 2)):
    """The columns of the Parquet data sets."""
    masked = [(f"f{i}", "sensitive", "" if d is None else f", decimals: {d}") for i, d in enumerate(decimals, 1)]
    return masked + [("f5", "other", ""), ("f6", "other", ""), ("id", "identifier", ""), ("i2", "other", ""),
                     ("region", "other", ""), ("class", "other", "")]


def timed(command):
    """Runs a command as a whole process: wall seconds, CPU seconds, peak MB."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{command} failed")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def filtered(binary, config, on=()):
    """Times a run, and sees that each of its masks has changed records: a time for nothing says nothing."""
    result = timed([*on, binary, "run", "--quiet", str(config)])
    for mask in json.loads(config.with_suffix(".report.json").read_text())["masks"]:
        if not mask["records"]:
            sys.exit(f"{config}: the mask {mask['mask']} changed no record")
    return result


def duck(settings, sql, on=()):
    out = subprocess.run([*on, sys.executable, "-c", DUCKDB_CHILD, json.dumps([settings, sql])],
                         check=True, capture_output=True, text=True)
    return tuple(json.loads(out.stdout))


def alternate(contestants, runs):
    """Runs each contestant once to warm up, then all in turn, each on a disk that has nothing left to write
    of the one before: sdlfilter waits until its release is on the disk, and the others do not."""
    results = {name: [] for name in contestants}
    for turn in range(runs + 1):
        for name, run in contestants.items():
            os.sync()
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


def added(noise):
    """What DuckDB selects: the masked columns with noise, the others but the identifier."""
    return ", ".join(f"f{i} + {MASKED[f'f{i}']} * {noise} AS f{i}" for i in (1, 2, 3, 4)) + ", f5, f6, i2, region, class"


def bench_parquet(cache, binary, rows, runs, which):
    source, config = parquet_pipeline(cache, "sdlfilter", rows, which)
    out = {k: cache / f"out.{k}.parquet" for k in ("sdlfilter", "duckdb", "best", "uniform")}
    def sql(noise, target, extra):
        return (f"COPY (SELECT {added(noise)} FROM '{source}') TO '{target}' "
                f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 1000000{extra})")
    best = ["SET threads = 2", "SET preserve_insertion_order = false"]
    contestants = {
        "DuckDB, as it comes": lambda: duck(["SET threads = 2"], sql(NORMAL, out["duckdb"], "")),
        "DuckDB, best setting": lambda: duck(best, sql(NORMAL, out["best"], ", PARQUET_VERSION v2")),
        "DuckDB, as it comes, uniform noise": lambda: duck(["SET threads = 2"], sql(UNIFORM, out["uniform"], "")),
        "DuckDB, best setting, uniform noise": lambda: duck(best, sql(UNIFORM, out["uniform"], ", PARQUET_VERSION v2")),
        "sdlfilter": lambda: filtered(binary, config),
    }
    results = alternate(contestants, runs)
    show(f"Parquet, {which}, {rows:,} × 10, {runs} runs, ratios to DuckDB as it comes with uniform noise", results, "DuckDB, as it comes, uniform noise")
    show("The same, ratios to DuckDB at its best setting with uniform noise", results, "DuckDB, best setting, uniform noise")
    sizes(out)


@aside
def sizes(out):
    con = duckdb.connect()
    print("\nCompressed size of the masked columns' chunks, MB:")
    for name in ("sdlfilter", "duckdb", "best"):
        size = con.execute(f"SELECT sum(total_compressed_size) FROM parquet_metadata('{out[name]}') WHERE path_in_schema IN ('f1','f2','f3','f4')").fetchone()[0]
        print(f"  {name}: {size / 1e6:.1f}")


@aside
def divide(whole, folder, each):
    part = folder.with_suffix(".part")
    part.mkdir(exist_ok=True)
    con = duckdb.connect()
    for k in range(1000):
        con.execute(f"COPY (SELECT * FROM '{whole}' WHERE id >= {k * each} AND id < {(k + 1) * each}) TO '{part}/{k:04}.parquet' (FORMAT parquet, COMPRESSION zstd)")
    part.rename(folder)


def bench_many(cache, binary, rows, runs):
    folder, each = cache / f"many{rows}", max(1, rows // 1000)
    if not folder.exists():
        whole = cache / f"bench{rows}.parquet"
        make_parquet(whole, rows)
        divide(whole, folder, each)
    # Each release has a folder of its own: to replace an earlier one is to remove its files, and
    # ext4 without a journal then looks at each of them again for a minute, whenever it makes a file.
    outputs = iter(cache / f"out.many.{k}" for k in itertools.count())
    written = []
    def run():
        written.append(next(outputs))
        config = pipeline(cache, "many", f"{{parquet: {{path: {folder}}}}}", f"{{parquet: {{path: {written[-1]}, compression: zstd}}}}",
                          roles(), noise(MASKED))
        return filtered(binary, config)
    def sql(extra):
        return (f"COPY (SELECT {added(UNIFORM)} FROM '{folder}/*.parquet') TO '{cache / 'out.many.duckdb.parquet'}' (FORMAT parquet, COMPRESSION zstd{extra})")
    def files():
        # A file for each of the source, by the only way DuckDB has for as many: a folder for each value of an expression.
        written.append(next(outputs))
        return duck(["SET threads = 2", "SET preserve_insertion_order = false"],
                    f"COPY (SELECT {added(UNIFORM)}, id // {each} AS file FROM '{folder}/*.parquet') TO '{written[-1]}' "
                    "(FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2, PARTITION_BY (file))")
    results = alternate({
        "DuckDB, as it comes, to one file": lambda: duck(["SET threads = 2"], sql("")),
        "DuckDB, best setting, to one file": lambda: duck(["SET threads = 2", "SET preserve_insertion_order = false"], sql(", PARQUET_VERSION v2")),
        "DuckDB, best setting, to 1,000 files": files,
        "sdlfilter": run,
    }, runs)
    for path in written:
        shutil.rmtree(path)
    title = f"1,000 Parquet files of {each:,} × 10, uniform noise in DuckDB, {runs} runs, ratios to DuckDB"
    show(title + " to as many files", results, "DuckDB, best setting, to 1,000 files")
    show(title + " as it comes, to one file", results, "DuckDB, as it comes, to one file")
    show(title + " at its best setting, to one file", results, "DuckDB, best setting, to one file")


def bench_wide(cache, binary, rows, runs):
    contestants = {}
    for width in (25, 50, 100):
        source = cache / f"wide{width}.{rows}.parquet"
        made(source, rows, ", ".join(f"round(100 * exp({NORMAL}), 2) AS c{i}" for i in range(width)))
        config = pipeline(cache, f"wide{width}", f"{{parquet: {{path: {source}}}}}", f"{{parquet: {{path: {cache / 'out.wide.parquet'}, compression: zstd}}}}",
                          [(f"c{i}", "sensitive", ", decimals: 2") for i in range(width)], noise({f"c{i}": 20 for i in range(width)}))
        contestants[f"{width} columns"] = lambda config=config: filtered(binary, config)
    show(f"sdlfilter, {rows:,} rows, all columns masked and measured, {runs} runs, ratios to 25 columns", alternate(contestants, runs), "25 columns")


def bench_masks(cache, binary, rows, runs, title, masks):
    """Times masks that stand in the place of one column's noise, against noise on all four."""
    source = cache / f"bench{rows}.parquet"
    make_parquet(source, rows)
    contestants = {}
    others = noise({k: MASKED[k] for k in ("f2", "f3", "f4")})
    for name, list in {"noise": noise(MASKED), **{name: [*others, mask] for name, mask in masks.items()}}.items():
        # What no mask changes is copied.
        columns = [(c, r if c != "f1" or "f1" in list[-1] or name == "noise" else "other", d) for c, r, d in roles()]
        config = pipeline(cache, "masks." + name.replace(", ", "-"), f"{{parquet: {{path: {source}}}}}",
                          f"{{parquet: {{path: {cache / 'out.masks.parquet'}, compression: zstd}}}}", columns, list)
        contestants[name] = lambda config=config: filtered(binary, config)
    show(f"sdlfilter, {rows:,} × 10, one of four columns {title} in place of its noise, {runs} runs", alternate(contestants, runs), "noise")


def bench_swap(cache, binary, rows, runs):
    # Policy random: in these data no combination is unique, so that policy unique exchanges nothing.
    bench_masks(cache, binary, rows, runs, "swapped over the dataset", {
        "swap": "swap: {columns: [f1], keys: [region], attribute: class, rate: 0.3, policy: random, scope: dataset}"})


def bench_categories(cache, binary, rows, runs):
    bench_masks(cache, binary, rows, runs, "recoded, coded or randomised", {
        "recode": "recode: {columns: [class], map: {a: x, b: x, c: x, d: y, e: y, f: y, g: y}}",
        "topcode": "topcode: {columns: [f1], upper: 2000}",
        "pram": "pram: {columns: [class], keep: 0.8, categories: [a, b, c, d, e, f, g]}",
        "pram, invariant, in strata": "pram: {columns: [class], keep: 0.8, categories: [a, b, c, d, e, f, g], invariant: true, by: [region]}"})


def tabulation(cache, name, source, lines):
    """Writes a configuration of tables and returns its path."""
    path = cache / f"{name}.yaml"
    path.write_text("\n".join(["version: 1", f"source: {{parquet: {{path: {source}}}}}", *lines,
                               f"sink: {{csv: {{path: {cache / ('out.' + name + '.csv')}}}}}", f"report: {{json: {cache / (name + '.report.json')}}}"]) + "\n")
    return path


def bench_tables(cache, binary, rows, runs):
    source = cache / f"bench{rows}.parquet"
    make_parquet(source, rows)
    run = pipeline(cache, "parquet", f"{{parquet: {{path: {source}}}}}",
                   f"{{parquet: {{path: {cache / 'out.sdlfilter.parquet'}, compression: zstd}}}}", roles(), noise(MASKED))
    contestants = {"noise": lambda: filtered(binary, run)}
    for title, value in ("counts", ""), ("values, of integers", "value: i2, "), ("values, of decimals", "value: f1, "):
        config = tabulation(cache, "tables" + value[7:9], source, [
            "tables:", f"  - {{name: t, rows: [region, class], {value}unsafe: [{{threshold: 3}}], protect: {{suppress: {{}}}}}}"])
        contestants[title] = lambda config=config: timed([binary, "tables", "--quiet", str(config)])
    show(f"sdlfilter, {rows:,} × 10, tables of 4 × 7 codes in place of noise, {runs} runs", alternate(contestants, runs), "noise")


@aside
def make_cells(path):
    if path.exists():
        return
    con = duckdb.connect()
    con.execute("SET threads = 1; SELECT setseed(0.5)")
    con.execute(f"CREATE TABLE cells AS SELECT range AS i, CAST(floor(14 * exp(0.65 * {NORMAL})) AS INT) AS n FROM range(720000)")
    con.execute(f"""COPY (SELECT printf('%03d', i // 720) AS a,
        printf('%d%d%d', (i // 6) % 120 // 20, (i // 6) % 120 // 4 % 5, (i // 6) % 120 % 4) AS b, 'c' || (i % 6) AS c
        FROM (SELECT i, unnest(range(n)) AS k FROM cells) ORDER BY hash(i, k))
        TO '{path}.part' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 1000000)""")
    os.rename(f"{path}.part", path)


def bench_cells(cache, binary):
    source = cache / "cells.parquet"
    make_cells(source)
    config = tabulation(cache, "cells", source, [
        "hierarchies: {a: {prefix: [1, 2, 3]}, b: {prefix: [1, 2, 3]}}",
        "tables:", "  - {name: t, rows: [a, b, c], unsafe: [{threshold: 3}], protect: {suppress: {}}}"])
    wall, cpu, mem = timed([binary, "tables", str(config)])
    print(f"\nA table of 1,220,989 cells: {wall:.1f} s, {cpu:.1f} CPU s, {mem:.0f} MB", flush=True)


def csv_pipeline(cache, source, ending):
    columns = [("id", "identifier", ""), ("wage", "sensitive", ", decimals: 2"), ("education", "other", ""),
               ("assets", "sensitive", ", decimals: 2"), ("region", "other", ""), ("parttime", "other", ""),
               ("experience", "other", ""), ("score", "other", "")]
    return pipeline(cache, ending, f"{{csv: {{path: {source}}}}}", f"{{csv: {{path: {cache / ('out.sdlfilter.' + ending)}}}}}",
                    columns, noise({"wage": 150, "assets": 1000}))


def bench_csv(cache, binary, rows, runs, ending="csv"):
    source = cache / f"bench{rows}.{ending}"
    make_csv(source, rows)
    config = csv_pipeline(cache, source, ending)
    sql = f"""COPY (SELECT wage + 150 * {UNIFORM} AS wage, education, assets + 1000 * {UNIFORM} AS assets,
        region, parttime, experience, score FROM '{source}') TO '{cache / ('out.duckdb.' + ending)}' (FORMAT csv, HEADER{packed(ending)})"""
    results = alternate({
        "DuckDB, as it comes": lambda: duck(["SET threads = 2"], sql),
        "DuckDB, insertion order given up": lambda: duck(["SET threads = 2", "SET preserve_insertion_order = false"], sql),
        "sdlfilter": lambda: filtered(binary, config),
    }, runs)
    title = f"{ending} to {ending}, {rows:,} × 8, uniform noise in DuckDB, {runs} runs, ratios to DuckDB"
    show(title + " as it comes", results, "DuckDB, as it comes")
    show(title + " with its insertion order given up", results, "DuckDB, insertion order given up")


def bench_memory(cache, binary):
    print("\nPeak memory of sdlfilter, MB (median of 3)\n")
    for rows in (10_000_000, 50_000_000):
        source = cache / f"bench{rows}.parquet"
        make_parquet(source, rows)
        config = pipeline(cache, f"memory{rows}", f"{{parquet: {{path: {source}}}}}",
                          f"{{parquet: {{path: {cache / 'out.memory.parquet'}, compression: zstd}}}}", roles(), noise(MASKED))
        rs = [filtered(binary, config) for _ in range(3)]
        print(f"  {rows:,} rows: {statistics.median(r[2] for r in rs):.0f} MB, {statistics.median(r[0] for r in rs):.2f} s", flush=True)


def bench_cores(cache, binary, rows, runs, which):
    source, config = parquet_pipeline(cache, "cores", rows, which)
    sql = (f"COPY (SELECT {added(UNIFORM)} FROM '{source}') TO '{cache / 'out.cores.duckdb.parquet'}' "
           "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 1000000, PARQUET_VERSION v2)")
    n = 1
    while n <= os.cpu_count():
        on = ["taskset", "-c", f"0-{n - 1}"]
        best = [f"SET threads = {n}", "SET preserve_insertion_order = false"]
        results = alternate({"DuckDB, best setting": lambda: duck(best, sql, on), "sdlfilter": lambda: filtered(binary, config, on)}, runs)
        show(f"Parquet, {which}, {rows:,} × 10 on {n} cores, {runs} runs, ratios to DuckDB at its best setting", results, "DuckDB, best setting")
        n *= 2


# Who works by turns, in the order in which a stack is looked at: a name, and the functions that tell it. What is
# not listed is done by any core; of the phase after the records, what one column takes is never divided.
PROGRAM = "github.com/sdlfilter/sdlfilter/"
CHAINS = [
    ("assessor, ends", ["assess.(*blockSums).addEnds"]), ("assessor", ["assess.(*blockSums).fold", "assess.(*blockSums).end"]),
    ("assessor, sums", ["assess.(*blockSums).sum"]),
    ("assessor, sample", ["internal/sample.(*Sample).Extend"]), ("assessor, order", ["internal/fileorder.(*Order).Add"]),
    ("assessor, counts", ["internal/tally.(*Counts).Add"]), ("assessor", ["assess.(*Accumulator).add"]),
    ("measuring, courses", ["joint.(*sought).alongCourses.func", "joint.(*Frame).order"]),
    ("measuring", ["assess.(*Accumulator).measure", "assess.(*reckoning)", "assess.(*Accumulator).reckon", "assess.recovering", "assess.Judge"]),
    ("inspection", ["connectors/parquet.(*sink).carry.func1", "connectors/parquet.(*sink).inspect"]),
    ("digest", ["publish.(*sequential).Write.func1"]), ("writer of row groups", ["connectors/parquet.(*sink).writeGroup"]), ("writer", ["filejob.(*run).written.(*run).write", "filejob.(*run).write."]),
    ("reader", ["internal/pipeline.read"]), ("workers", ["internal/pipeline.(*Flow).worker"]), ("completing", ["filejob.(*run).complete"]),
    ("garbage", ["runtime.gcBgMarkWorker"]), ("beginning and end", ["main.main"]),
]
BY_COLUMN = {"assessor, counts", "assessor, ends", "assessor, order", "assessor, sample", "measuring"}
PARTS = {"assessor, sums": 16, "measuring, courses": 8}  # a block of 65,536 records in parts of 8 × 512 (assess/sums.go); courses at least
SIDE_BY_SIDE = ["assessor, sums", "assessor, ends", "assessor, sample", "assessor, order", "assessor, counts", "assessor", "digest", "writer of row groups", "writer", "reader"]


def profiled(binary, config, cache):
    """Returns the CPU seconds of a run by chain, and those that no chain has."""
    profile = cache / "span.prof"
    subprocess.run([binary, "run", "--quiet", "--cpuprofile", str(profile), str(config)], check=True)
    text = subprocess.run(["go", "tool", "pprof", "-traces", "-unit=ms", str(profile)], check=True, capture_output=True, text=True).stdout
    seconds = dict.fromkeys([name for name, _ in CHAINS] + ["others"], 0.0)
    for trace in text.split("-----------+")[1:]:
        head, *stack = trace.split("\n", 1)[1].strip().split("\n")
        if not head.endswith("ms") and "ms " not in head:
            continue
        value, stack = head.split("ms", 1)[0], [head.split("ms", 1)[1], *stack]
        name = next((name for name, functions in CHAINS if any(f in line for line in stack for f in functions)), "others")
        seconds[name] += float(value) / 1000
    return seconds


def parquet_pipeline(cache, name, rows, which):
    masked, decimals = SETS[which]
    tag = "" if which == "decimals" else "." + which
    source = cache / f"bench{rows}{tag}.parquet"
    make_parquet(source, rows, masked)
    return source, pipeline(cache, name + tag, f"{{parquet: {{path: {source}}}}}",
                            f"{{parquet: {{path: {cache / ('out.' + name + '.parquet')}, compression: zstd}}}}", roles(decimals), noise(MASKED))


def bench_span(cache, binary, rows, runs, which):
    if which == "csv":
        make_csv(cache / f"bench{rows}.csv", rows)
        config, masks, title = csv_pipeline(cache, cache / f"bench{rows}.csv", "csv"), 2, f"CSV, {rows:,} × 8"
    else:
        config, masks, title = parquet_pipeline(cache, "span", rows, which)[1], len(MASKED), f"Parquet, {which}, {rows:,} × 10"
    taken = [profiled(binary, config, cache) for _ in range(runs)]
    of = {name: statistics.median(t[name] for t in taken) for name in taken[0]}
    span = {name: s / masks if name in BY_COLUMN else s / PARTS.get(name, 1) for name, s in of.items()}
    print(f"\n{title}: CPU seconds, and how much of them is done by turns ({runs} runs, medians)\n")
    print("| | CPU s | by turns |\n|---|---|---|")
    turns = set(SIDE_BY_SIDE) | {"measuring", "measuring, courses", "completing", "beginning and end"}
    for name, s in of.items():
        print(f"| {name} | {s:.2f} | {span[name] if name in turns else 0:.2f} |")
    # The reader, the assessor's parts and the writers work beside one another; measuring and the completion of the files come
    # after them, beside each other.
    work = sum(of.values())
    before = {name: span["assessor"] for name in SIDE_BY_SIDE if name.startswith("assessor, ")}  # of each block
    serial = max(span[name] + before.get(name, 0) for name in SIDE_BY_SIDE) + max(span["measuring"] + span["measuring, courses"], span["completing"]) + span["beginning and end"]
    print(f"\nwork {work:.2f} s, span {serial:.2f} s ({100 * serial / work:.0f} %); "
          "no schedule takes less than the greater of work/n and span, and none that keeps cores busy more than both together (Brent)\n")
    print("| cores | at least, s | at most, s |\n|---|---|---|")
    for n in (1, 2, 4, 8, 16, 32, 64):
        print(f"| {n} | {max(work / n, serial):.2f} | {work / n + serial * (1 - 1 / n):.2f} |", flush=True)


def listed(choices):
    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in choices:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(choices)}")
        return names
    return parse


MEASUREMENTS = ["parquet", "csv", "gzip", "many", "wide", "swap", "categories", "tables", "cells", "memory"]
ON_DEMAND = ["cores", "span"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cache", type=pathlib.Path, required=True)
    p.add_argument("--binary", default="bin/sdlfilter")
    p.add_argument("--rows", type=int, default=10_000_000)
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--only", type=listed(MEASUREMENTS + ON_DEMAND), default=MEASUREMENTS)
    p.add_argument("--sets", type=listed(SETS), default=list(SETS))
    a = p.parse_args()
    print(f"DuckDB {duckdb.__version__}, {os.cpu_count()} cores, median of {a.runs} runs, alternating")
    measure = {
        "parquet": lambda: [bench_parquet(a.cache, a.binary, a.rows, a.runs, which) for which in a.sets],
        "csv": lambda: bench_csv(a.cache, a.binary, a.rows, a.runs),
        "gzip": lambda: bench_csv(a.cache, a.binary, a.rows, a.runs, "csv.gz"),
        "many": lambda: bench_many(a.cache, a.binary, a.rows, a.runs),
        "wide": lambda: bench_wide(a.cache, a.binary, a.rows // 10, a.runs),
        "swap": lambda: bench_swap(a.cache, a.binary, a.rows, a.runs),
        "categories": lambda: bench_categories(a.cache, a.binary, a.rows, a.runs),
        "tables": lambda: bench_tables(a.cache, a.binary, a.rows, a.runs),
        "cells": lambda: bench_cells(a.cache, a.binary),
        "memory": lambda: bench_memory(a.cache, a.binary),
        "cores": lambda: [bench_cores(a.cache, a.binary, a.rows, a.runs, which) for which in a.sets],
        "span": lambda: [bench_span(a.cache, a.binary, a.rows, a.runs, which) for which in [*a.sets, "csv"]],
    }
    for name in a.only:
        measure[name]()


if __name__ == "__main__":
    main()
