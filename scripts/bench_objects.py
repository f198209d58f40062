"""Times sdlfilter from and to an S3 server on loopback against files, alternating, and
prints medians and ratios.

    make build && scripts/bench-objects.sh [--rows 10000000] [--runs 5] [--only NAME,…]

parquet  the data of bench.py: 10 columns, zstd, a million rows a group, noise on 4 columns,
         one identifier dropped
csv      the data of bench.py: 8 fields, 2 masked, CSV to CSV

The server is VersityGW, on the same machine: its CPU seconds stand beside, and where all
processors are busy they are part of the wall time.
"""

import argparse
import os
import pathlib
import statistics

import bench


def server_cpu(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(binary, config, pid):
    before = server_cpu(pid)
    wall, cpu, peak = bench.timed([binary, "run", "--quiet", config])
    return wall, cpu, peak, server_cpu(pid) - before


def copy(cache, binary, kind, source, target, columns):
    config = bench.pipeline(cache, "objects-copy", f"{{{kind}: {{path: '{source}'}}}}", f"{{{kind}: {{path: '{target}'}}}}",
                            [(name, "other", "") for name, _, _ in columns], [])
    config.write_text(config.read_text().replace("masks:\n", "masks: []\n"))
    bench.timed([binary, "run", "--quiet", config])


def compare(cache, binary, pid, runs, kind, make, rows, columns, masks, options=""):
    source = cache / f"objects-{rows}.{kind}"
    make(source, rows)
    bucket = f"s3://bench/{kind}"
    copy(cache, binary, kind, source, f"{bucket}/in.{kind}", columns)
    places = {"files": (f"{cache}/objects-in.{kind}", f"{cache}/objects-out.{kind}"), "S3": (f"{bucket}/in.{kind}", f"{bucket}/out.{kind}")}
    # Both read the same bytes.
    copy(cache, binary, kind, *reversed([places[p][0] for p in ("files", "S3")]), columns)
    configs = {
        name: bench.pipeline(cache, f"objects-{kind}-{name}", f"{{{kind}: {{path: '{a}'{options}}}}}", f"{{{kind}: {{path: '{b}'}}}}", columns, masks)
        for name, (a, b) in places.items()
    }
    results = bench.alternate({name: lambda c=c: measured(binary, c, pid) for name, c in configs.items()}, runs)
    print(f"\n{kind}, {rows} records, {source.stat().st_size / 1e6:.0f} MB, {runs} runs\n")
    print("| | wall s | CPU s | peak MB | the server's CPU s | wall, ratio | CPU, ratio |\n|---|---|---|---|---|---|---|")
    for name, rs in results.items():
        wall, cpu, mem, server = (statistics.median(x) for x in zip(*rs))
        rw, rc = (statistics.median(a[i] / b[i] for a, b in zip(rs, results["files"])) for i in (0, 1))
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {mem:.0f} | {server:.2f} | {rw:.2f} | {rc:.2f} |", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cache", type=pathlib.Path, required=True)
    p.add_argument("--server", type=int, required=True, help="the server's process")
    p.add_argument("--binary", default="bin/sdlfilter")
    p.add_argument("--rows", type=int, default=10_000_000)
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--only", default="parquet,csv")
    o = p.parse_args()
    o.cache = o.cache.resolve()
    only = o.only.split(",")
    if "parquet" in only:
        compare(o.cache, o.binary, o.server, o.runs, "parquet", bench.make_parquet, o.rows, bench.roles(), bench.noise(bench.MASKED))
    if "csv" in only:
        columns = [("id", "identifier", ""), ("wage", "sensitive", ", decimals: 2"), ("education", "other", ""), ("assets", "sensitive", ", decimals: 2"),
                   ("region", "other", ""), ("parttime", "other", ""), ("experience", "other", ""), ("score", "other", "")]
        compare(o.cache, o.binary, o.server, o.runs, "csv", bench.make_csv, o.rows, columns,
                bench.noise({"wage": 150, "assets": 1000}), ", types: {wage: float64, assets: float64}")


main()
