"""Cases of tables beside masked records of the same people, all in one ledger; and the snooper who has both.

Nothing here shares code, or a formula, with the program.
"""
import csv
import itertools
import json
import math
import subprocess
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linprog
from scipy.stats import norm

import cases
import judge
from cases import Case, parameters

FIRST = 995000  # seeds from here on
USUAL = (995003, 995006, 995013)  # what is tried where no seeds are named

KEYS = ("region", "sex", "job", "band")


@dataclass
class Beside(Case):
    dropped: set = field(default_factory=set)  # columns that the records are released without
    made: list = field(default_factory=list)  # configurations of tables, each a list of tables
    steps: list = field(default_factory=list)  # "records", or which configuration of tables, in order
    ledger: bool = True

    def records(self, folder, name, plain):
        """A pipeline: of the records as they are released, or, plain, of what tables are made."""
        listed = {"id": {"role": "identifier"}}
        for c in self.columns()[1:]:
            if not plain and c in self.dropped:
                continue
            listed[c] = {"role": "key" if c in self.keys else "other"}
            if c in self.numbers:
                listed[c] = {"role": "sensitive", "decimals": self.decimals[c]} | ({} if self.masked(c) and not plain else {"unmasked": True})
        config = {
            "version": 1, "name": name, "key": {"file": "k0"}, "identity": ["id"], "unlisted": "drop",
            "source": {"csv": {"path": "in.csv", "types": {c: "string" for c in ["id", *self.texts]}}},
            "columns": listed, "sink": {"csv": {"path": f"{name}.csv"}}, **({"ledger": "l.sdl"} if self.ledger else {}),
        }
        if not plain:
            config |= {"masks": self.masks, "assess": {"sample": "all", "replicates": 20, "intruder": {"inversion": self.inversion}},
                       "gate": {"rules": self.rules}, "report": {"json": "records.json"}}
        (folder / f"{name}.yaml").write_text(json.dumps(config, indent=1))

    def write(self, folder, _=0):
        rows = [self.columns(), *([self.cell(c, i) for c in self.columns()] for i in range(self.n))]
        (folder / "in.csv").write_text("".join(",".join(row) + "\n" for row in rows))
        self.records(folder, "records", False)
        self.records(folder, "plain", True)
        for k, tables in enumerate(self.made):
            config = {"version": 1, "name": f"tables{k}", "tables": tables, "sink": {"csv": {"path": f"tables{k}.csv"}},
                      "report": {"json": f"tables{k}.json", "cells": f"tables{k}.cells.csv"}, "pipeline": "plain.yaml"}
            (folder / f"tables{k}.yaml").write_text(json.dumps(config, indent=1))

    def codes(self, column):
        return np.array(self.texts[column])


def draw(seed):
    r = np.random.default_rng(seed)
    c = Beside(seed, r, int(r.choice([150, 300, 600])))
    c.ledger = bool(r.random() < 0.75)
    regions = max(3, c.n // int(r.choice([4, 8, 25])))
    c.label("region", [f"r{i}" for i in r.integers(0, regions, c.n)], "key")
    c.label("sex", r.choice(["f", "m"], c.n), "key")
    c.label("job", r.choice([f"j{i}" for i in range(4)], c.n, p=cases._falling(4)), "key")
    skew = float(r.choice([0.2, 0.6, 1.0]))
    wage = np.exp(r.normal(6.5, skew, c.n)) + 50
    c.add("wage", wage, "sensitive", int(r.choice([0, 2])))
    of = r.permutation(c.n) if r.random() < 0.3 else np.arange(c.n)  # bands of somebody else's wage tell nothing
    bands = int(r.choice([2, 3, 6]))
    ends = np.quantile(wage, np.arange(1, bands) / bands)
    c.label("band", [f"b{i}" for i in np.searchsorted(ends, wage[of])], "key")
    if r.random() < 0.4:  # whole regions alike
        order = np.argsort(wage + r.normal(0, float(r.choice([0.001, 0.3])) * wage.std(), c.n))
        place = np.empty(c.n, int)
        place[order] = np.arange(c.n) * regions // c.n
        c.label("region", [f"r{i}" for i in place], "key")
        c.story.append("regions are alike")
    c.add("tax", wage * r.uniform(0.1, 0.4) * np.exp(r.normal(0, float(r.choice([0.05, 0.5])), c.n)), "sensitive", c.decimals["wage"])
    ways = [cases._noise, cases._noise, cases._noise, cases._bias, cases._bias, cases._round, cases._topcode]
    for column in ("wage", "tax"):
        if column == "wage" or r.random() < 0.5:
            c.masks.append(ways[r.integers(len(ways))](c, column))
        else:
            c.dropped.add(column)
    c.dropped |= {x for x, p in (("band", 0.85), ("job", 0.5), ("sex", 0.3)) if r.random() < p}
    c.keys = [x for x in KEYS if x not in c.dropped]
    spread = cases.spread_of(c, "wage") or float(np.std(wage)) * 0.05
    c.rules = [{"column": "wage", "target": "typical", "min_rmse": round(spread * r.uniform(0.2, 0.8), 4)},
               *({"column": x, "max_unchanged": 1} for x in ("wage", "tax") if c.masked(x))]
    c.inversion = bool(r.random() < 0.5) and not any("topcode" in m for m in c.masks)
    rules = {x: {"p_percent": int(r.choice([5, 10, 20]))} if r.random() < 0.7 else {"threshold": 3} for x in ("wage", "tax")}
    for _ in range(int(r.choice([1, 1, 2]))):
        c.made.append([_table(c, k, rules) for k in range(int(r.choice([1, 1, 2])))])
    c.steps = ["records", *range(len(c.made))]
    if len(c.made) > 1:
        c.story.append("two releases of tables")
    at = int(r.integers(len(c.steps)))
    c.steps.insert(at, c.steps.pop(0))
    c.story.append(f"ledger {c.ledger}, steps {c.steps}, without {sorted(c.dropped)}")
    return c


def _table(c, k, rules):
    r = c.rng
    counts = r.random() < 0.5
    if counts:
        rows = [x for x in KEYS if r.random() < 0.5] or ["region"]
        if r.random() < 0.3:
            rows = ["region", "band"]
        return {"name": f"t{k}", "rows": rows, "unsafe": [{"threshold": 3}], "protect": {"suppress": {}}}
    value = str(r.choice(["wage", "wage", "tax"]))
    rows = [x for x in KEYS if x not in c.dropped and r.random() < 0.6] or ["region"]
    return {"name": f"t{k}", "rows": rows, "value": value, "unsafe": [rules[value]], "protect": {"suppress": {}}}


# The run.

def played(c, program, folder, run, loosen):
    """The outcome, and what was found."""
    c.write(folder)
    what = "held"
    for step in c.steps:
        if step != "records":
            status, said = _tables(program, folder, step)
            if status == 4:
                c.made[step], what = None, "held without tables"
                continue
        else:
            (folder / "p.yaml").write_text((folder / "records.yaml").read_text())
            status, said = run(program, folder)
            for _ in range(5):
                if status != 4:
                    break
                what = "held under looser rules"
                loosen(c, json.loads((folder / "records.json").read_text()))
                c.records(folder, "records", False)
                (folder / "p.yaml").write_text((folder / "records.yaml").read_text())
                status, said = run(program, folder)
            if status == 4:
                return "withheld", []
        if status not in (0, 3):
            return "refused" if status == 2 else "failed", [f"{step}: status {status}: {said}"]
    return what, None


def _tables(program, folder, k):
    done = subprocess.run([program, "tables", f"tables{k}.yaml"], cwd=folder, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stderr.strip()


def judged(c, folder, doctor):
    report = json.loads((folder / "records.json").read_text())
    if doctor:
        judge.doctor(c, report)
        for rule in c.rules:
            rule["min_rmse"] = 4 * rule.get("min_rmse", 0)
    last = {k: c.steps.index(k) > c.steps.index("records") for k in c.steps if k != "records"}
    released = _columns(folder / "records.csv")
    finds, cells = [], []
    for k, tables in enumerate(c.made):
        if tables is None:
            continue
        rows = list(csv.DictReader((folder / f"tables{k}.csv").open()))
        known = list(csv.DictReader((folder / f"tables{k}.cells.csv").open()))
        made = json.loads((folder / f"tables{k}.json").read_text())
        for t in tables:
            for row, more in zip([x for x in rows if x.get("table", t["name"]) == t["name"]],
                                 [x for x in known if x.get("table", t["name"]) == t["name"]]):
                cells.append(Cell(c, k, t, row, more, doctor))
        if last[k] or not report.get("ledger", {}).get("not"):
            finds += _warned(c, k, cells, (made if last[k] else report).get("warnings", []))
    # What is not judged is said, and no rule then holds; tables after records are judged by the rules of these.
    if c.ledger and not report["ledger"].get("not"):
        later = any(last[k] for k, tables in enumerate(c.made) if tables)
        finds += _errors(c, released, cells, _untold(report) if later else report)
        finds += _largest(c, released, [x for x in cells if x.value], report)
        finds += _counted(c, cells)
    finds += _counted(c, cells, alone=True)
    return finds


def _untold(report):
    """A report that states nothing of values."""
    return {"columns": {name: {"risk": [{"target": "typical", "knowledge": "record", "R": "Infinity", "rmse": 0}]} for name in report["columns"]}}


def _columns(path):
    rows = list(csv.reader(path.open()))
    return {name: [row[j] for row in rows[1:]] for j, name in enumerate(rows[0])}


class Cell:
    def __init__(self, c, k, table, row, more, doctor):
        self.k, self.table, self.value = k, table, table.get("value")
        self.members = np.ones(c.n, bool)
        self.at = {}
        for x in table["rows"]:
            if row[x] in set(c.texts[x]):
                self.members &= c.codes(x) == row[x]
                self.at[x] = row[x]
        self.hidden = row["status"] == "suppressed"
        self.seen = None if self.hidden else float(row["value"])
        self.true = float(more["value"])
        self.unsafe = self.hidden and more["rule"] != ""
        self.need = [float(more[x]) if more[x] else math.nan for x in ("need_low", "need_high")]
        if doctor and self.hidden:
            self.need = [self.true - 1e9, self.true + 1e9]
        self.percent = table["unsafe"][0].get("p_percent", 30)


# Values: what tables tell of them beside the records.

def _laws(c, column, y, x):
    """Standard deviation of the error of each record by its mask alone, and the likelihood of its released value at x."""
    (kind, p), = (parameters(m) for m in c.masked(column))
    if kind == "noise":
        sd = np.full(len(y), p["sd"])
        laws = {"normal": lambda d: norm.pdf(d / p["sd"]), "laplace": lambda d: np.exp(-np.abs(d) * math.sqrt(2) / p["sd"]),
                "uniform": lambda d: (np.abs(d) <= p["sd"] * math.sqrt(3) + 0.01) + 0.0}
        return sd, lambda i, z: laws[p["distribution"]](y[i] - z)
    if kind == "bias":
        return p["phi"] * np.abs(x), lambda i, z: norm.pdf((y[i] - z) / (p["phi"] * np.abs(z) + 1e-9)) / (p["phi"] * np.abs(z) + 1e-9)
    if kind == "round":
        return np.full(len(y), p["base"] / math.sqrt(12)), lambda i, z: (np.abs(y[i] - z) <= p["base"] / 2 + 0.01) + 0.0
    cut = y >= p["upper"] - 1
    over = x[x > p["upper"]]
    return np.where(cut, np.std(over) if len(over) else 0, 0), lambda i, z: ((z >= p["upper"]) if cut[i] else (np.abs(z - y[i]) < 0.006)) + 0.0


def _estimates(c, column, y, cells):
    x = c.numbers[column]
    sd, likely = _laws(c, column, y, x)
    out = {"released value": y}
    half = np.random.default_rng(c.seed + 1).random(c.n) < 0.5
    out["posterior"] = _posterior(c, x, y, half, likely, np.ones((c.n, c.n)))
    # Which bands, and jobs, the counts leave for each record, and with which weights.
    for unseen in ("band", "job"):
        if unseen in c.dropped:
            told, weights = _possible(c, unseen, [q for q in cells if not q.value and unseen in q.table["rows"]])
            if told:
                codes = c.codes(unseen)
                names = sorted(set(codes))
                index = np.array([names.index(v) for v in codes])
                out[f"by counts of {unseen}"] = _posterior(c, x, y, half, likely, weights[:, index] / np.bincount(index)[index])
    mine = [q for q in cells if q.value == column and not q.hidden and q.members.any()]
    for start in list(out):
        b = out[start]
        spread = sd if start == "released value" else _spread(x, b, sd)
        if mine:
            m = np.array([q.members for q in mine], float)
            rest = np.array([q.seen for q in mine]) - m @ b
            gain = np.linalg.lstsq((m * spread ** 2) @ m.T, rest, rcond=1e-9)[0]
            out[f"{start}, with totals"] = b + spread ** 2 * (m.T @ gain)
    features = np.column_stack([np.ones(c.n), *out.values()])
    fit = np.empty(c.n)
    for a in (half, ~half):
        fit[~a] = features[~a] @ np.linalg.lstsq(features[a], x[a], rcond=1e-7)[0]
    out["least squares"] = fit
    return out


def _spread(x, b, sd):
    near, order = 41, np.argsort(b)
    square = ((x - b) ** 2)[order]
    smooth = np.convolve(square, np.ones(near) / near, "same")
    v = np.empty(len(x))
    v[order] = np.sqrt(smooth)
    return np.where(sd == 0, 0, v + 1e-3)


def _posterior(c, x, y, half, likely, prior):
    """The mean of known values by how likely the released one is at each; prior has a weight by record and value."""
    mean = y.copy()
    for held in (half, ~half):
        for i in np.flatnonzero(~held):
            w = likely(i, x[held]) * prior[i, held]
            if w.sum() <= 0:
                w = likely(i, x[held]) + 0.0
            mean[i] = (w * x[held]).sum() / w.sum() if w.sum() > 0 else y[i]
    return mean


def _possible(c, unseen, cells):
    """By record and code of what is not released, how many of those who look like the record have the code."""
    names = sorted(set(c.texts[unseen]))
    weights, size = np.ones((c.n, len(names))), np.full(c.n, c.n + 1)
    told = False
    for group in itertools.groupby(sorted((q for q in cells if unseen in q.at), key=lambda q: sorted(q.at)), key=lambda q: sorted(q.at)):
        parts = {}
        for q in group[1]:
            if all(x == unseen or x not in c.dropped for x in q.at):
                parts.setdefault(tuple(sorted((x, v) for x, v in q.at.items() if x != unseen)), {})[q.at[unseen]] = q.seen
        for at, seen in parts.items():
            alike = np.ones(c.n, bool)
            for x, v in at:
                alike &= c.codes(x) == v
            open_ = [v for v in names if seen.get(v, 0) is None]
            left = alike.sum() - sum(s for s in seen.values() if s)
            told |= bool(alike.any())
            use = alike & (alike.sum() < size)
            size[use] = alike.sum()
            weights[use] = [max(seen.get(v, 0) if v not in open_ else left / len(open_), 0) for v in names]
    return told, weights


def _errors(c, released, cells, report):
    finds = []
    for column in ("wage", "tax"):
        if not c.masked(column):
            continue
        x, y = c.numbers[column], np.array([float(v) for v in released[column]])
        estimates = {k: np.where(np.isnan(v), y, v) for k, v in _estimates(c, column, y, cells).items()}
        finds += judge._errors(c, report, column, x, estimates | {"least squares, the record": y})
    return finds


def _largest(c, released, cells, report):
    """Largest values of cells that somebody knows within what the table's rule forbids, and not by the records alone: of
    these, what other columns tell is left out, and so are releases in which they tell much."""
    finds = []
    for column in ("wage", "tax"):
        mine = [q for q in cells if q.value == column and not q.hidden and q.members.any()]
        if not mine or not c.masked(column):
            continue
        x, y = c.numbers[column], np.array([float(v) for v in released[column]])
        sd, likely = _laws(c, column, y, x)
        by = {k: min(r["rmse"] for r in judge.rows(report, column, k)) for k in ("index", "record")}
        if parameters(c.masked(column)[0])[0] == "topcode" or by["record"] < 0.8 * by["index"]:
            continue
        half = np.random.default_rng(c.seed + 2).random(c.n) < 0.5
        alone = np.minimum(sd, _spread(x, _posterior(c, x, y, half, likely, np.ones((c.n, c.n))), sd))
        for who in ("an outsider", "the second largest"):
            count = 0
            for q in mine:
                order = np.flatnonzero(q.members)[np.argsort(-x[q.members])]
                v = sd ** 2
                if who != "an outsider" and len(order) > 1:
                    v = v.copy()
                    v[order[1]] = 0
                top = order[0]
                others = v[q.members].sum() - v[top]
                left = math.sqrt(v[top] * others / (v[top] + others)) if others > 0 else 0.0
                need = q.percent / 100 * x[top]
                count += left < need * 0.8 and alone[top] * 0.8 > need
            if count:
                finds.append(f"{column}: {who} knows the largest value of {count} cells of {mine[0].table['name']} … within what the rule forbids")
    return finds


# Counts: what records tell of cells that are held back.

def _counted(c, cells, alone=False):
    """Bounds on unsafe counts by all tables, and by the records as they are counted, by linear programs."""
    finds = []
    for k in sorted({q.k for q in cells}):
        mine = [q for q in cells if not q.value and (q.k == k)]
        hidden = [q for q in mine if q.hidden]
        columns = sorted({x for q in mine for x in q.table["rows"]})
        seen = [x for x in columns if x not in c.dropped]
        if not hidden or not columns or not alone and (len(seen) == len(columns) or not seen):
            continue
        codes = [sorted(set(c.texts[x])) for x in columns]
        if math.prod(map(len, codes)) > 1500:
            continue
        inner = list(itertools.product(*codes))
        has = lambda at: np.array([all(v == at.get(x, v) for x, v in zip(columns, code)) for code in inner], float)
        eq, to, below = [], [], []
        for q in mine:
            if q.hidden:
                below.append(-has(q.at))
            else:
                eq.append(has(q.at))
                to.append(q.seen)
        if not alone:
            for code in itertools.product(*[sorted(set(c.texts[x])) for x in seen]):
                at = dict(zip(seen, code))
                eq.append(has(at))
                to.append(float(np.all([c.codes(x) == v for x, v in at.items()], axis=0).sum()))
        broken = 0
        for q in [q for q in hidden if q.unsafe][:6]:
            ends = []
            for sign in (1, -1):
                s = linprog(sign * has(q.at), A_ub=np.array(below), b_ub=-np.ones(len(below)), A_eq=np.array(eq) if eq else None, b_eq=to or None, method="highs")
                ends.append(sign * s.fun if s.status == 0 else sign * -math.inf)
            broken += not (ends[0] <= q.need[0] + 1e-6 and ends[1] >= q.need[1] - 1e-6)
        if broken:
            finds.append(f"tables {k}: {broken} unsafe counts are known better than their rule allows, " +
                         ("by the tables" if alone else "by the tables and the counted records"))
    return finds


def _warned(c, k, cells, warnings):
    """Cells that are held back, and that anybody counts in the records, are said to be."""
    if not c.ledger:
        return []
    counted = [q for q in cells if q.k == k and q.hidden and not q.value and not set(q.at) & c.dropped]
    if counted and not any("counted" in w for w in warnings):
        return [f"tables {k}: {len(counted)} cells are held back, and counted in the records; no report says so"]
    return []
