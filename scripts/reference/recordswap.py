#!/usr/bin/env python3
"""Compares the mask recordswap with sdcMicro's recordSwap on the same made-up households, by what both promise.

    scripts/test-recordswap.sh SDCMICRO

SDCMICRO is a folder with the source of sdcMicro (5.8.1 was compared), which is not part of this repository. The two draw
differently, so what is compared is what holds for every draw (households stay whole, each that moves gets the area of one that
gets its own and is like it, areas keep households and persons, those at risk leave, the rest as often as the rate says), and how
much the release differs from the original, within what seeds make of either.
"""
import collections
import csv
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

NAMES = ["hid", "region", "district", "postcode", "tenure", "size", "age", "sex"]
PIPELINE = """version: 1
key: {file: k}
household: hid
source: {csv: {path: in.csv}}
sink: {csv: {path: out.csv}}
columns:
  hid: {role: other}
  region: {role: key, level: household}
  district: {role: key, level: household}
  postcode: {role: other, level: household}
  tenure: {role: other}
  size: {role: other}
  age: {role: key}
  sex: {role: key}
masks: [{recordswap: {hierarchy: [region, district], carry: [postcode], risk: [age, sex], k: K, rate: RATE, similar: [[tenure, size], [size]], max_left: 1}}]
assess: {replicates: 0}
"""


def households(seed, n):
    """Members of a household differ in age, so that counts of persons and of households with the keys are the same."""
    r = random.Random(seed)
    rows = []
    for h in range(n):
        region = int(4 * r.random() * r.random())
        district = 10 * region + int(3 * r.random())
        ages = r.sample(range(8), k=r.choice([1, 1, 2, 2, 3, 4]))
        tenure = r.randrange(3)
        for age in ages:
            rows.append([h, region, district, 100 + 7 * district, tenure, len(ages), age, r.randrange(2)])
    return rows


def at_risk(rows, k):
    """Returns the coarsest level at which each household is at risk."""
    counts = collections.Counter()
    for row in rows:
        for level in (1, 2):
            counts[level, tuple(row[1:level + 1]), tuple(row[6:])] += 1
    level_of = {}
    for row in rows:
        for level in (2, 1):
            if counts[level, tuple(row[1:level + 1]), tuple(row[6:])] < k:
                level_of[row[0]] = min(level, level_of.get(row[0], 9))
    return level_of


def distance(a, b, columns):
    """Returns half the sum of the absolute differences of the shares of the combinations of columns."""
    x, y = (collections.Counter(tuple(row[c] for c in columns) for row in rows) for rows in (a, b))
    return sum(abs(x[key] - y[key]) for key in x | y) / 2 / len(a)


def examine(before, after, k, rate):
    """Returns what holds of a release, and figures of it. Records are in one order."""
    of = {}
    for old, new in zip(before, after):
        assert old[0] == new[0] and old[4:] == new[4:], "something else has changed"
        here = (tuple(old[1:4]), tuple(new[1:4]), tuple(old[4:6]))
        assert of.setdefault(old[0], here) == here, "a household is torn apart"
    moved = {h for h, (a, b, _) in of.items() if a != b}
    risk = at_risk(before, k)
    for c in ([1], [1, 2], [1, 2, 3], [1, 2, 5]):
        assert distance(before, after, c) == 0, f"areas have not kept {c}"
    for h in moved:
        if risk.get(h) == 1:
            assert of[h][0][0] != of[h][1][0], "a household at risk in its region stays there"
    area, share = collections.Counter(v[0] for v in of.values()), collections.Counter(of[h][0] for h in moved)
    return {
        "at risk": len(risk), "left": len(risk.keys() - moved), "moved": len(moved) / len(of),
        "least share of a district": min(share[a] / n for a, n in area.items() if n >= 40),
        "moved across regions": sum(of[h][0][0] != of[h][1][0] for h in moved) / max(1, len(moved)),
        "district by age": distance(before, after, [1, 2, 6]), "district by tenure": distance(before, after, [1, 2, 4]),
    }


def main():
    theirs, ours = sys.argv[1:3]
    for n, k, rate in ((3000, 3, 0.05), (3000, 1, 0.2), (1500, 5, 0.1)):
        results = {"sdcMicro": [], "sdlfilter": []}
        for seed in range(1, 11):
            rows = households(seed, n)
            with tempfile.TemporaryDirectory() as folder:
                at = pathlib.Path(folder)
                shuffled = rows[:]
                random.Random(seed).shuffle(shuffled)

                def write(name, list_of):
                    with open(at / name, "w", newline="") as f:
                        csv.writer(f, lineterminator="\n").writerows([NAMES] + list_of)

                def read(name):
                    with open(at / name) as f:
                        return [list(map(int, row)) for row in list(csv.reader(f))[1:]]

                write("sorted.csv", rows)
                write("in.csv", shuffled)
                (at / "p.yaml").write_text(PIPELINE.replace("RATE", str(rate)).replace("k: K", f"k: {k}"))
                (at / "k").write_text(subprocess.run([ours, "keygen"], check=True, capture_output=True, text=True).stdout)
                (at / "k").chmod(0o600)
                with open(at / "sorted.csv") as i, open(at / "theirs.csv", "w") as o:
                    subprocess.run([theirs, str(rate), str(k), str(seed), str(at / "log")], check=True, stdin=i, stdout=o)
                subprocess.run([ours, "run", "p.yaml"], check=True, stdout=subprocess.DEVNULL, cwd=at)
                results["sdcMicro"].append(examine(rows, read("theirs.csv"), k, rate))
                results["sdlfilter"].append(examine(shuffled, read("out.csv"), k, rate))
        print(f"{n} households, k {k}, rate {rate}, 10 files: mean (SD)")
        for what in results["sdcMicro"][0]:
            line = f"  {what:28}"
            for who, list_of in results.items():
                v = [r[what] for r in list_of]
                line += f"{who} {statistics.mean(v):9.4f} ({statistics.stdev(v):.4f})   "
            print(line)
        mean = {who: {what: statistics.mean(r[what] for r in list_of) for what in list_of[0]} for who, list_of in results.items()}
        a, b = mean["sdcMicro"], mean["sdlfilter"]
        assert a["at risk"] == b["at risk"] and b["left"] <= a["left"]
        assert b["least share of a district"] >= 0.9 * rate and b["moved"] <= 1.1 * a["moved"] + 0.01
        assert b["district by age"] <= 1.15 * a["district by age"] and b["district by tenure"] <= a["district by tenure"] + 0.006


main()
