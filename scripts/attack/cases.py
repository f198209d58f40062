"""Random cases: people, relations between their values, masks, and rules of a gate.

A case is a function of its seed. What a snooper may know of it is public in practice too: which
columns add up, which are of one household, how the masks work.
"""
import csv
import json
import math
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Case:
    seed: int
    rng: np.random.Generator
    n: int
    numbers: dict = field(default_factory=dict)  # name: float array, NaN where missing
    texts: dict = field(default_factory=dict)  # name: list of str, "" where missing
    decimals: dict = field(default_factory=dict)  # of numbers
    roles: dict = field(default_factory=dict)
    unmasked: set = field(default_factory=set)  # sensitive, and released as they are
    sums: list = field(default_factory=list)  # [{column: coefficient}]: the sum is 0 in every record
    formulas: list = field(default_factory=list)  # (column, others, function): the column is that of the others
    masks: list = field(default_factory=list)
    rules: list = field(default_factory=list)
    keys: list = field(default_factory=list)
    inversion: bool = True
    identity: list = field(default_factory=lambda: ["id"])
    person: list = field(default_factory=list)  # the columns that tell whose each record is
    releases: int = 1  # under keys of their own, with a ledger
    across: list = field(default_factory=list)  # columns that are computed across the records of units (units.py)
    units: dict = field(default_factory=dict)  # by the column that numbers them: index arrays
    along: str | None = None  # the column along which the records of a unit follow one another
    story: list = field(default_factory=list)  # in words, for who reads a find

    def add(self, name, values, role, decimals=2):
        self.numbers[name] = np.round(values, decimals)
        self.decimals[name], self.roles[name] = decimals, role

    def label(self, name, values, role):
        self.texts[name], self.roles[name] = [str(v) for v in values], role

    def columns(self):
        return ["id", *self.texts, *self.numbers]

    def cell(self, name, i):
        if name == "id":
            return f"S{700000 + i}"
        if name in self.texts:
            return self.texts[name][i]
        v = self.numbers[name][i]
        return "" if math.isnan(v) else f"{v:.{self.decimals[name]}f}"

    def masked(self, column):
        """The masks of a column, in order."""
        return [m for m in self.masks if column in _masks(m)]

    def write(self, folder, release=0):
        with open(folder / "in.csv", "w", newline="") as f:
            w = csv.writer(f)
            w.writerow(self.columns())
            w.writerows([self.cell(c, i) for c in self.columns()] for i in range(self.n))
        listed = {"id": {"role": "identifier"}}
        for c in self.columns()[1:]:
            listed[c] = {"role": self.roles[c]}
            if c in self.unmasked:
                listed[c]["unmasked"] = True
            if c in self.decimals and self.roles[c] == "sensitive":
                listed[c]["decimals"] = self.decimals[c]
        intruder = {"uniqueness": {"person": self.person} if self.person else {}} if self.keys else {}
        if not self.inversion:
            intruder["inversion"] = False
        if "age" in self.keys:
            intruder["categorical"] = ["age"]
        config = {
            "version": 1, "name": f"case-{self.seed}", "key": {"file": f"k{release}"}, "identity": self.identity,
            "source": {"csv": {"path": "in.csv", "types": {"id": "string"} | {c: "string" for c in self.texts}}},
            "columns": listed, "masks": self.masks, "sink": {"csv": {"path": f"out{release}.csv"}},
            "assess": {"sample": "all", "replicates": 20, **({"intruder": intruder} if intruder else {}), **({"keys": self.keys} if self.keys else {})},
            "gate": {"rules": self.rules}, "report": {"json": f"r{release}.json"},
        }
        if self.releases > 1:
            config["ledger"] = "l.sdl"
            if release < self.releases - 1:  # an earlier one, judged by nothing
                config["gate"] = {"rules": [{"column": "wage", "min_efficiency": 0.0001}]}
                config["assess"]["intruder"] = {"inversion": False}
        (folder / "p.yaml").write_text(json.dumps(config, indent=1))  # JSON is YAML


def _masks(mask):
    (kind, p), = mask.items()
    return p["keys"] if kind == "suppress" else p["columns"]


def parameters(mask):
    (kind, p), = mask.items()
    return kind, p


def draw(seed):
    rng = np.random.default_rng(seed)
    c = Case(seed, rng, int(rng.choice([300, 600, 1200])))
    _people(c)
    for relation in rng.choice(RELATIONS, size=rng.integers(1, 4), replace=False):
        relation(c)
    _missing(c)
    _mask(c)
    _rule(c)
    return c


def _people(c):
    r = c.rng
    c.label("sex", r.choice(["f", "m"], c.n), "key")
    c.label("region", r.choice([f"r{i}" for i in range(6)], c.n, p=np.array([30, 25, 20, 12, 9, 4]) / 100), "key")
    c.label("job", r.choice([f"j{i}" for i in range(9)], c.n, p=_falling(9)), str(r.choice(["key", "other"])))
    c.add("age", r.integers(16, 95, c.n).astype(float), str(r.choice(["key", "other"])), 0)
    c.add("wage", np.exp(r.normal(6.5, r.uniform(0.2, 0.9), c.n)), "sensitive", int(r.choice([0, 2])))


def _falling(k):
    p = 1.0 / np.arange(1, k + 1)
    return p / p.sum()


# Relations: each adds columns that tell of others.

def total(c):
    parts = ["wage", "rent"] + (["gift"] if c.rng.random() < 0.4 else [])
    for name in parts[1:]:
        c.add(name, np.exp(c.rng.normal(5, 0.7, c.n)), "sensitive", c.decimals["wage"])
    role = str(c.rng.choice(["other", "sensitive"]))
    c.add("total", sum(c.numbers[p] for p in parts), role, c.decimals["wage"])
    c.sums.append({p: 1 for p in parts} | {"total": -1})
    c.story.append("total = " + " + ".join(parts))


def difference(c):
    c.add("before", c.numbers["wage"] * np.exp(c.rng.normal(0, 0.2, c.n)), "sensitive", c.decimals["wage"])
    c.add("change", c.numbers["wage"] - c.numbers["before"], str(c.rng.choice(["other", "sensitive"])), c.decimals["wage"])
    c.sums.append({"wage": 1, "before": -1, "change": -1})
    c.story.append("change = wage - before")


def ratio(c):
    c.add("hours", c.rng.integers(10, 60, c.n).astype(float), str(c.rng.choice(["other", "sensitive"])), 0)
    c.add("hourly", c.numbers["wage"] / c.numbers["hours"], str(c.rng.choice(["other", "sensitive"])), 2)
    c.formulas.append(("wage", ("hours", "hourly"), np.multiply))
    c.formulas.append(("hours", ("wage", "hourly"), np.divide))
    c.formulas.append(("hourly", ("wage", "hours"), np.divide))
    c.story.append("hourly = wage / hours")


def copy(c):
    factor = float(c.rng.choice([1, 12, 0.5]))
    c.add("again", factor * c.numbers["wage"], str(c.rng.choice(["other", "sensitive"])), 2)
    c.formulas.append(("wage", ("again",), lambda v: v / factor))
    if round(factor * 10 ** c.decimals["wage"]) >= 1 and factor >= 1:
        c.sums.append({"wage": factor, "again": -1})
    c.story.append(f"again = {factor:g} wage")


def panel(c):
    waves = int(c.rng.integers(2, 7))
    spread = float(c.rng.choice([0, 0, 0.01, 0.05]))
    for w in range(waves):
        c.add(f"wave{w}", c.numbers["wage"] * np.exp(spread * c.rng.normal(0, 1, c.n)), "sensitive", c.decimals["wage"])
        if spread == 0:
            c.sums.append({"wage": 1, f"wave{w}": -1})
    c.story.append(f"{waves} waves of wage, spread {spread:g}")


def household(c):
    """An income that all members of a household share; the household's number is released."""
    sizes = []
    while sum(sizes) < c.n:
        sizes.append(int(c.rng.integers(1, 6)))
    of = np.repeat(np.arange(len(sizes)), sizes)[: c.n]
    if c.rng.random() < 0.5:
        of = c.rng.permutation(of)
    c.label("hh", [f"h{h}" for h in of], "other")
    c.add("income", np.exp(c.rng.normal(7, 0.6, len(sizes)))[of], "sensitive", 0)
    c.story.append("income is constant within hh")


def function(c):
    """A value that follows from released categories, nearly or exactly."""
    table = np.exp(c.rng.normal(6, 0.8, (6, 9)))
    at = table[[int(t[1:]) for t in c.texts["region"]], [int(t[1:]) for t in c.texts["job"]]]
    spread = float(c.rng.choice([0, 0.01, 0.1]))
    c.add("benefit", at * np.exp(spread * c.rng.normal(0, 1, c.n)), "sensitive", 0)
    c.story.append(f"benefit follows from region and job, spread {spread:g}")


def curve(c):
    """A value that is no linear function of a released one."""
    age = c.numbers["age"]
    spread = float(c.rng.choice([0, 0.02, 0.1]))
    c.add("pension", 200 + 900 * np.sin(age / 9) ** 2 + spread * 500 * c.rng.normal(0, 1, c.n), "sensitive", 0)
    c.story.append(f"pension is a wave over age, spread {spread:g}")


def grid(c):
    step = float(c.rng.choice([100, 500, 1000]))
    off = float(c.rng.choice([0, 0, step - 1]))
    v = off + step * np.round(np.exp(c.rng.normal(8, 0.5, c.n)) / step)
    other = c.rng.random(c.n) < float(c.rng.choice([0, 0, 0.05]))
    v[other] += np.round(c.rng.uniform(0, step, other.sum()))
    c.add("price", v, "sensitive", int(c.rng.choice([0, 2])))
    c.story.append(f"price lies on {off:g} + {step:g} i, but for {other.mean():.0%}")


def flag(c):
    """0 or 1, as a number."""
    c.add("ill", (c.rng.random(c.n) < c.rng.uniform(0.1, 0.6)).astype(float), "sensitive", 0)
    c.story.append("ill is 0 or 1")


def couples(c):
    """Two by two, of either sex, under one number that is released."""
    of = np.repeat(np.arange((c.n + 1) // 2), 2)[: c.n]
    c.label("couple", [f"c{p}" for p in of], "other")
    c.texts["sex"] = ["f" if i % 2 else "m" for i in range(c.n)]
    c.add("profit", np.exp(c.rng.normal(7, 0.8, c.n)), "sensitive", 0)
    c.story.append("couples under one number")


def share(c):
    """What part of all it is, in percent, beside the rest."""
    digits = int(c.rng.choice([1, 3]))
    c.add("rest", np.exp(c.rng.normal(6, 0.7, c.n)), str(c.rng.choice(["other", "sensitive"])), c.decimals["wage"])
    wage, rest = c.numbers["wage"], c.numbers["rest"]
    c.add("percent", 100 * wage / (wage + rest), "other", digits)
    c.formulas.append(("wage", ("rest", "percent"), lambda r, p: r * p / (100 - p)))
    c.story.append(f"percent = wage in wage + rest, {digits} digits")


def growth(c):
    digits = int(c.rng.choice([1, 3]))
    c.add("last", c.numbers["wage"] * np.exp(c.rng.normal(0, 0.2, c.n)), str(c.rng.choice(["other", "sensitive"])), c.decimals["wage"])
    c.add("growth", 100 * (c.numbers["wage"] / c.numbers["last"] - 1), "other", digits)
    c.formulas.append(("wage", ("last", "growth"), lambda before, g: before * (1 + g / 100)))
    c.formulas.append(("last", ("wage", "growth"), lambda now, g: now / (1 + g / 100)))
    c.story.append(f"growth from last to wage in percent, {digits} digits")


def bent(c):
    """The same on another scale."""
    name, there, back = [("ln", np.log, np.exp), ("root", np.sqrt, np.square), ("inverse", lambda v: 1e4 / v, lambda v: 1e4 / v)][c.rng.integers(3)]
    digits = int(c.rng.choice([2, 4]))
    c.add(name, there(c.numbers["wage"]), "other", digits)
    c.formulas.append(("wage", (name,), back))
    c.story.append(f"{name} of wage, {digits} digits")


RELATIONS = [total, difference, ratio, copy, panel, household, function, curve, grid, flag, couples, share, growth, bent]


def _missing(c):
    """Cells that are missing, some of them by their value or by another column's."""
    for name in [*c.texts, *c.numbers]:
        if c.rng.random() > 0.15 or name in ("hh", "couple"):
            continue
        gone = c.rng.random(c.n) < 0.05
        if name in c.numbers and c.rng.random() < 0.5:
            gone |= c.numbers["age"] > 85
        if name in c.numbers:
            c.numbers[name] = np.where(gone, np.nan, c.numbers[name])
        else:
            c.texts[name] = ["" if g else t for g, t in zip(gone, c.texts[name])]
        c.story.append(f"{name} is missing in {gone.mean():.0%}")


def _noise(c, column):
    spread = float(np.nanstd(c.numbers[column]))
    sd = round(spread * float(np.exp(c.rng.uniform(np.log(0.02), np.log(1.0)))), 2)
    return {"noise": {"columns": [column], "sd": max(sd, 0.01),
                      "distribution": str(c.rng.choice(["normal", "normal", "laplace", "uniform"]))}}


def _bias(c, column):
    return {"bias": {"columns": [column], "phi": round(float(c.rng.uniform(0.02, 0.4)), 3)}}


def _round(c, column):
    spread = float(np.nanstd(c.numbers[column]))
    return {"round": {"columns": [column], "base": float(max(1, round(spread * c.rng.uniform(0.1, 1))))}}


def _topcode(c, column):
    # The bound is not a value, so that "bound" hides those beyond it.
    v = float(np.nanquantile(c.numbers[column], c.rng.uniform(0.5, 0.97)))
    return {"topcode": {"columns": [column], "upper": round(v, 2) + 0.5, "replace": str(c.rng.choice(["bound", "mean"]))}}


def _micro(c, column):
    return {"microaggregate": {"columns": [column], "k": int(c.rng.choice([3, 5, 10])), "method": "univariate"} |
            ({"share": 1} if column == "ill" else {})}  # of 0 and 1, one is more than the others of its group


def _rankswap(c, column):
    return {"rankswap": {"columns": [column], "p": round(max(float(c.rng.choice([0.002, 0.01, 0.05, 0.1])), 2 / c.n), 4)}}


def _swap(c, column):
    within = [k for k in ("couple", "hh", "region", "job") if c.roles.get(k, "identifier") != "identifier"]
    keys = within[:1] if c.rng.random() < 0.7 else [str(c.rng.choice(within))]
    return {"swap": {"keys": keys, "attribute": "sex", "columns": [column], "rate": round(float(c.rng.choice([0.5, 0.9, 0.95, 1])), 2),
                     "policy": "random", "scope": "dataset"}}


def _mask(c):
    r = c.rng
    for column in [x for x in c.numbers if c.roles[x] == "sensitive"]:
        if r.random() < 0.1 and column != "wage":
            c.unmasked.add(column)
            continue
        weights = np.array([6, 1, 1.5, 1, 1, 1, 1.5])
        first = r.choice([_noise, _bias, _round, _topcode, _micro, _rankswap, _swap], p=weights / weights.sum())
        c.masks.append(first(c, column))
        if r.random() < 0.2 and first in (_noise, _bias):
            c.masks.append(_round(c, column))
    if r.random() < 0.5:
        _mask_keys(c)


def _mask_keys(c):
    r = c.rng
    keys = ["sex", "region"] + [k for k in ("job", "age") if c.roles[k] == "key"]
    how = r.random()
    if "age" in keys and r.random() < 0.7:
        c.masks.append({"recode": {"columns": ["age"], "breaks": [0, 25, 35, 45, 55, 65, 75, 120], "labels": ["0-24", "25-34", "35-44", "45-54", "55-64", "65-74", "75+"]}})
    if how < 0.6:
        c.masks.append({"suppress": {"keys": keys, "k": int(r.choice([2, 3, 5])), "missing": str(r.choice(["none", "any"]))}})
    elif how < 0.9:
        column = str(r.choice([k for k in keys if k in c.texts]))
        c.masks.append({"pram": {"columns": [column], "keep": round(float(r.uniform(0.5, 0.95)), 2),
                                 "categories": sorted(set(c.texts[column]) - {""})}})
    c.keys = keys


def spread_of(c, column):
    """About what the released value is off by, as the masks alone say; 0 where they do not."""
    square, v = 0.0, c.numbers[column]
    for mask in c.masked(column):
        kind, p = parameters(mask)
        if kind == "noise":
            square += p["sd"] ** 2
        elif kind == "bias":
            square += p["phi"] ** 2 * float(np.nanmean(v**2))
        elif kind == "round":
            square += p["base"] ** 2 / 12
    return math.sqrt(square)


def _rule(c):
    """Rules that the released values alone would keep, most of them closely."""
    r = c.rng
    for column in dict.fromkeys(x for m in c.masks for x in _masks(m) if x in c.numbers and c.roles[x] == "sensitive"):
        spread = spread_of(c, column) or float(np.nanstd(c.numbers[column])) * 0.02
        if r.random() < 0.8:
            c.rules.append({"column": column, "target": "typical", "knowledge": "index", "min_rmse": round(spread * r.uniform(0.4, 0.97), 4)})
        if r.random() < 0.3:
            c.rules.append({"column": column, "max_exact": {"share": round(float(r.choice([0.05, 0.1, 0.3])), 2), "within": float(r.choice([0.5, 1, 5]))}})
    for mask in c.masks:
        kind, p = parameters(mask)
        if kind == "suppress":
            c.rules.append({"min_k": p["k"]})
            if len(p["keys"]) > 2 and r.random() < 0.5:
                c.rules.append({"min_k": p["k"], "combinations": 2})
        if kind == "pram":
            c.rules.append({"max_posterior": round(float(r.uniform(p["keep"], 0.99)), 3)})
    if not c.rules:
        c.rules.append({"column": "wage", "min_efficiency": 0.01})
