"""Cases of units: persons over years in long form and households, with columns that are computed across the
records of one unit; and snoopers who use them.

Nothing here shares code, or a formula, with the program.
"""
import math
from dataclasses import dataclass

import numpy as np

import cases
from cases import Case

FIRST = 980000  # seeds from here on draw cases of units


@dataclass
class Across:
    """A column that is computed from the records of a unit: equations Σ a x = b ± of what it is computed from."""
    column: str
    of: str  # the column that holds it
    kind: str  # total, share, running, ratio, change, greatest, least, place
    units: list  # of records: index arrays, in the order of time
    digits: int


def draw(seed):
    r = np.random.default_rng(seed)
    c = Case(seed, r, int(r.choice([300, 600, 1200])))
    c.across, c.units, c.along = [], {}, None
    (_panel if r.random() < 0.65 else _households)(c)
    forms = PANEL if c.along else HOUSEHOLD
    for form in r.choice(forms, size=r.integers(1, 4), replace=False):
        form(c)
    if r.random() < 0.3:
        cases._missing(c)
    cases._mask(c)
    cases._rule(c)
    if r.random() < 0.25:
        c.releases = 2
        c.story.append("two releases under two keys, with a ledger")
    return c


def _panel(c):
    """Persons by years: a level of each person, a trend, and what comes and goes."""
    r = c.rng
    years = int(r.choice([3, 4, 5, 6, 8, 12]))
    persons = c.n // years
    c.n = persons * years
    whose, year = np.repeat(np.arange(persons), years), np.tile(np.arange(years), persons)
    if r.random() < 0.4:
        order = r.permutation(c.n)
        whose, year = whose[order], year[order]
    regions, jobs = r.integers(0, 6, persons), r.choice(9, persons, p=cases._falling(9))
    released = r.random() < 0.85
    c.label("sex", np.array(["f", "m"])[r.integers(0, 2, persons)][whose], "key")
    c.label("region", [f"r{k}" for k in regions[whose]], "key")
    c.label("job", [f"j{k}" for k in jobs[whose]], str(r.choice(["key", "other"])))
    c.label("pid", [f"p{k}" for k in whose], "other" if released else "identifier")
    c.add("year", 2000.0 + year, "other", 0)
    c.add("age", r.integers(16, 80, persons)[whose] + year.astype(float), str(r.choice(["key", "other"])), 0)
    level, trend = r.normal(6.5, r.uniform(0.2, 0.9), persons), r.normal(0.03, float(r.choice([0, 0.01, 0.05])), persons)
    c.add("wage", np.exp(level[whose] + trend[whose] * year + r.normal(0, float(r.choice([0.005, 0.03, 0.15])), c.n)), "sensitive",
          int(r.choice([0, 2])))
    rows = np.lexsort((year, whose)).reshape(persons, years)
    c.units["pid"], c.along = list(rows), "year"
    if r.random() < 0.5:
        c.identity = ["pid"]
    c.person = ["pid"]
    c.story.append(f"{persons} persons by {years} years" + ("" if released else ", whose number is withheld"))


def _households(c):
    r, sizes = c.rng, []
    cases._people(c)
    while sum(sizes) < c.n:
        sizes.append(int(r.integers(1, 6)))
    of = np.repeat(np.arange(len(sizes)), sizes)[: c.n]
    if r.random() < 0.5:
        of = r.permutation(of)
    released = r.random() < 0.7
    c.label("hh", [f"h{h}" for h in of], "other" if released else "identifier")
    c.units["hh"] = [np.flatnonzero(of == h) for h in np.unique(of)]
    c.story.append("households" + ("" if released else ", whose number is withheld"))


def _unit(c):
    return next(iter(c.units.values()))


def _across(c, name, kind, values, units, role="other", digits=None):
    digits = c.decimals["wage"] if digits is None else digits
    c.add(name, values, role, digits)
    c.across.append(Across("wage", name, kind, units, digits))


def _role(c, other=0.7):
    return "other" if c.rng.random() < other else "sensitive"


def total(c):
    wage, out = c.numbers["wage"], np.empty(c.n)
    for rows in _unit(c):
        out[rows] = wage[rows].sum()
    _across(c, "sum", "total", out, _unit(c), _role(c))
    c.story.append("sum is the total of the unit's wages, in each of its records")


def share(c):
    wage, out = c.numbers["wage"], np.empty(c.n)
    digits = int(c.rng.choice([1, 3]))
    for rows in _unit(c):
        out[rows] = 100 * wage[rows] / wage[rows].sum()
    _across(c, "part", "share", out, _unit(c), digits=digits)
    c.story.append(f"part of the unit's total in percent, {digits} digits")


def sector(c):
    """The total over a small sector, and over a year of it."""
    r, wage = c.rng, c.numbers["wage"]
    firms = r.integers(0, max(2, c.n // int(r.choice([4, 10, 30]))), c.n)
    by = ["/".join(t) for t in zip(firms.astype(str), c.numbers["year"].astype(str))] if c.along and r.random() < 0.5 else firms.astype(str)
    c.label("firm", [f"f{f}" for f in firms], "other")
    _, of = np.unique(by, return_inverse=True)
    sums = np.bincount(of, wage)[of]
    _across(c, "firmsum", "total", sums, [np.flatnonzero(of == k) for k in range(of.max() + 1)], _role(c))
    c.story.append("firmsum is the total over the firm" + (" and year" if len(set(by)) > len(set(firms)) else ""))


def greatest(c):
    kind = str(c.rng.choice(["greatest", "least"]))
    wage, out = c.numbers["wage"], np.empty(c.n)
    for rows in _unit(c):
        out[rows] = wage[rows].max() if kind == "greatest" else wage[rows].min()
    _across(c, kind, kind, out, _unit(c))
    c.story.append(f"{kind} wage of the unit")


def place(c):
    wage, out = c.numbers["wage"], np.empty(c.n)
    for rows in _unit(c):
        out[rows] = 1 + np.argsort(np.argsort(wage[rows], kind="stable"), kind="stable")
    _across(c, "place", "place", out, _unit(c), digits=0)
    c.story.append("place of the wage in its unit")


def running(c):
    wage, out = c.numbers["wage"], np.empty(c.n)
    for rows in _unit(c):
        out[rows] = np.cumsum(wage[rows])
    _across(c, "running", "running", out, _unit(c), _role(c))
    c.story.append("running sum of a person's wages")


def ratio(c):
    wage, out = c.numbers["wage"], np.full(c.n, math.nan)
    digits = int(c.rng.choice([1, 3]))
    for rows in _unit(c):
        out[rows[1:]] = 100 * wage[rows[1:]] / np.maximum(wage[rows[:-1]], 1)
    _across(c, "tolast", "ratio", out, _unit(c), digits=digits)
    c.story.append(f"tolast is wage in percent of last year's, {digits} digits")


def change(c):
    wage, out = c.numbers["wage"], np.full(c.n, math.nan)
    for rows in _unit(c):
        out[rows[1:]] = wage[rows[1:]] - wage[rows[:-1]]
    _across(c, "diff", "change", out, _unit(c), _role(c))
    c.story.append("diff to last year's wage")


def currency(c):
    r = c.rng
    years = c.numbers["year"].astype(int) - 2000
    rates = np.round(np.exp(r.normal(0, 0.5, years.max() + 1)), 4)
    c.add("local", c.numbers["wage"] * rates[years], "sensitive", c.decimals["wage"])
    seen = r.random() < 0.5
    if seen:
        c.add("rate", rates[years], "other", 4)
        c.formulas.append(("wage", ("local", "rate"), np.divide))
    c.story.append("local is wage by the rate of the year" + (", which is released" if seen else ""))


def again(c):
    """A second column that is the first one but for a little."""
    spread = float(c.rng.choice([0, 0.02]))
    c.add("again", c.numbers["wage"] * np.exp(spread * c.rng.normal(0, 1, c.n)), "sensitive", c.decimals["wage"])
    c.story.append(f"again is wage, spread {spread:g}")


HOUSEHOLD = [total, share, sector, greatest, place, again]
PANEL = [total, share, sector, greatest, place, running, ratio, change, currency, again]


# Snoopers.

def known(c, release, across):
    """The records of each unit as far as the release shows them: by its number, the order of the file, or equal values."""
    for name, units in c.units.items():
        if units is across.units and name not in release.texts:
            in_order = all((np.diff(rows) == 1).all() for rows in units)
            if not (in_order or across.kind in ("total", "greatest", "least")):
                return None
    return across.units


def equations(c, release, across, values):
    """(records, coefficients, right side, variance) by what the column says, at about the given values."""
    z = release.numbers.get(across.of)
    if z is None or known(c, release, across) is None:
        return
    grid = (0.5 * 10.0**-across.digits) ** 2 / 3
    masked = bool(c.masked(across.of))
    noise = cases.spread_of(c, across.of) ** 2
    if masked and noise == 0:
        return  # exchanged, or in groups: of no law
    for rows in across.units:
        k = len(rows)
        if np.isnan(z[rows]).all():
            continue
        rounding = k * (0.5 * 10.0 ** -c.decimals[across.column]) ** 2 / 3
        if across.kind == "total":
            yield rows, np.ones(k), np.nanmean(z[rows]), grid + noise / (k if masked else 1) + rounding
        elif across.kind == "share":
            for i, row in enumerate(rows):
                if z[row] != z[row]:
                    continue
                a = np.full(k, -z[row] / 100)
                a[i] += 1
                yield rows, a, 0.0, grid / 1e4 * (np.abs(values[rows]).sum() + 1) ** 2 + rounding
        elif across.kind == "running":
            for i in range(k):
                if z[rows[i]] == z[rows[i]]:
                    yield rows[: i + 1], np.ones(i + 1), z[rows[i]], grid + noise + rounding
        elif across.kind in ("ratio", "change"):
            for i in range(1, k):
                if z[rows[i]] != z[rows[i]]:
                    continue
                pair = rows[i - 1 : i + 1]
                if across.kind == "change":
                    yield pair, np.array([-1.0, 1.0]), z[rows[i]], grid + noise + rounding
                else:
                    yield pair, np.array([-z[rows[i]] / 100, 1.0]), 0.0, grid / 1e4 * values[rows[i - 1]] ** 2 + rounding


def conditioned(c, release, column, b, v):
    """The estimates b with errors of variances v, given all equations."""
    out, left = b.copy(), np.maximum(v.copy(), 1e-12)
    lists = [list(equations(c, release, a, b)) for a in c.across if a.column == column]
    rows = [e for part in lists for e in part]
    if not rows:
        return None
    parent = np.arange(c.n)

    def root(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i
    for e in rows:
        for i in e[0][1:]:
            parent[root(i)] = root(e[0][0])
    blocks = {}
    for e in rows:
        blocks.setdefault(root(e[0][0]), []).append(e)
    for block in blocks.values():
        members = np.unique(np.concatenate([e[0] for e in block]))
        at = {m: k for k, m in enumerate(members)}
        m = np.zeros((len(block), len(members)))
        for k, (idx, a, _, _) in enumerate(block):
            m[k, [at[i] for i in idx]] = a
        rhs, slack = np.array([e[2] for e in block]), np.array([e[3] for e in block])
        use = np.isfinite(rhs)
        m, rhs, slack = m[use], rhs[use], slack[use]
        g = left[members][:, None] * m.T
        s = m @ g + np.diag(slack)
        out[members] = b[members] + g @ np.linalg.lstsq(s, rhs - m @ b[members], rcond=1e-12)[0]
    return out


def errors_by(x, b, y, half):
    """Variances of the errors of b, from the known half, by how great b is and by whether y is a heap's."""
    v = np.empty(len(x))
    values, counts = np.unique(y[~np.isnan(y)], return_counts=True)
    heap = values[counts.argmax()] if len(counts) and counts.max() > 0.02 * len(x) else math.nan
    for held in (half, ~half):
        use = held & ~np.isnan(x) & ~np.isnan(b)
        if use.sum() < 20:
            v[~held] = 1.0
            continue
        e = (x - b) ** 2
        order = np.flatnonzero(use)[np.argsort(b[use])]
        edges = np.array_split(order, max(1, len(order) // 40))
        centres, squares = [b[k].mean() for k in edges], [e[k].mean() for k in edges]
        v[~held] = np.interp(b[~held], centres, squares)
        for is_heap in (True, False):
            a = use & ((y == heap) == is_heap)
            if heap == heap and a.sum() >= 10:
                part = ~held & ((y == heap) == is_heap)
                v[part] = e[a].mean() if is_heap else np.minimum(v[part], 1e30)
                if not is_heap and e[a].max() < 1e-12:
                    v[part] = 1e-12
    return v


def along(c, release, values):
    """What the other records of a person say: lags, mean, lines."""
    out = []
    for name, units in c.units.items():
        if name not in release.texts and not all((np.diff(rows) == 1).all() for rows in units):
            continue
        mean, line, logs = values.copy(), values.copy(), values.copy()
        lags = {d: values.copy() for d in (-3, -2, -1, 1, 2, 3)} if c.along else {}
        for rows in units:
            v = values[rows]
            if len(rows) < 2:
                continue
            mean[rows] = v.mean()
            t = np.arange(len(rows), dtype=float) - (len(rows) - 1) / 2
            if c.along and len(rows) > 2:
                line[rows] = v.mean() + t * (t @ v) / (t @ t)
                if (v > 0).all():
                    w = np.log(v)
                    logs[rows] = np.exp(w.mean() + t * (t @ w) / (t @ t))
            for d, lag in lags.items():
                k = np.arange(len(rows)) + d
                inside = (k >= 0) & (k < len(rows))
                lag[rows[inside]] = v[k[inside]]
                lag[rows[~inside]] = v.mean()
        out += [mean, *( [line, logs, *lags.values()] if c.along else [])]
    return out


def ordered(c, release, column, values, v):
    """What the greatest, the least and the place in the unit say of values with errors of variances v."""
    out = {}
    for a in c.across:
        z = release.numbers.get(a.of)
        if a.column != column or z is None or c.masked(a.of) or known(c, release, a) is None:
            continue
        if a.kind == "place":
            e = values.copy()
            for rows in a.units:
                if not np.isnan(z[rows]).any():
                    e[rows] = np.sort(values[rows])[np.argsort(np.argsort(z[rows], kind="stable"))]
            out["by places"] = e
        if a.kind in ("greatest", "least"):
            sign = 1 if a.kind == "greatest" else -1
            e, pick = values.copy(), values.copy()
            for rows in a.units:
                u, top, sd = sign * values[rows], sign * np.nanmax(np.append(z[rows], -np.inf)), np.sqrt(v[rows]) + 1e-9
                if not np.isfinite(top):
                    continue
                d = np.clip((top - u) / sd, -30, 30)
                cdf = np.array([0.5 * math.erfc(-t / math.sqrt(2)) for t in d]) + 1e-30
                weight = np.exp(-(d**2) / 2) / sd / cdf
                weight = np.full(len(rows), 1 / len(rows)) if weight.sum() == 0 else weight / weight.sum()
                below = np.minimum(top, u - sd * np.exp(-(d**2) / 2) / math.sqrt(2 * math.pi) / cdf)
                e[rows] = sign * (weight * top + (1 - weight) * below)
                pick[rows] = sign * np.minimum(u, top)
                pick[rows[weight.argmax()]] = sign * top
            out[f"the {a.kind}"], out[f"picked as the {a.kind}"] = e, pick
    return out


def estimates(snooper, column, squares):
    """Estimates by what units say, in rounds: the record, its unit's course, its equations, and again."""
    c, release, half = snooper.case, snooper.release, snooper.half
    x, y = c.numbers[column], release.numbers.get(column)
    record = snooper.features[:, : snooper.alone]
    out = {}
    b = squares["least squares, the record"]
    own = y if y is not None else b
    start = np.where(np.isnan(own), b, own)
    for name, b in (("released", start), ("record", b)):
        if np.isnan(b).any():
            continue
        for round_ in range(3):
            more = along(c, release, b)
            if more:
                b = snooper._crossed(x, np.column_stack([record, b, start, *more]), squares_of)
                out[f"{name}: along units, {round_}"] = b
            if np.isnan(b).any():
                break
            v = errors_by(x, b, own, half)
            given = conditioned(c, release, column, b, v)
            if given is not None:
                out[f"{name}: equations, {round_}"] = given
                b = snooper._crossed(x, np.column_stack([given, b, start]), squares_of)
                out[f"{name}: equations and squares, {round_}"] = b
                if np.isnan(b).any():
                    break
                v = errors_by(x, b, own, half)
            for what, e in ordered(c, release, column, b, v).items():
                out[f"{name}: {what}, {round_}"] = e
                b = snooper._crossed(x, np.column_stack([e, b, start]), squares_of)
                out[f"{name}: {what} and squares, {round_}"] = b
                if np.isnan(b).any():
                    break
            if np.isnan(b).any():
                break
        else:
            f = np.column_stack([snooper.features[:, : snooper.linear], b, start])
            out[f"{name}: squares of all"] = snooper._crossed(x, f, squares_of)
            out[f"{name}: trees"] = snooper._crossed(x, np.column_stack([record, b, start]), trees_of)
    if y is not None and not np.isnan(y).any():
        for what, e in ordered(c, release, column, y, np.full(c.n, max(np.nanmean((x - y) ** 2), 1e-12))).items():
            out[f"released values by {what}"] = e
    return out


def squares_of(a, b, x):
    import attackers
    return attackers._least_squares(a, b, x)


def trees_of(a, b, x):
    import attackers
    return attackers._squares_then_trees(a, b, x)
