"""Cases in which several columns that depend on each other are moved one by one: by ranks, shuffled, in groups, by swaps
of their own, beside noise; and the snooper who estimates each from all others as they are released."""
import math

import numpy as np
from scipy.stats import norm, rankdata
from sklearn.ensemble import HistGradientBoostingRegressor

import cases
from cases import parameters

FIRST = 991000  # seeds from here on


def draw(seed):
    r = np.random.default_rng(seed)
    c = cases.Case(seed, r, int(r.choice([300, 1000, 2500])))
    cases._people(c)
    _amounts(c)
    moved = [x for x in c.numbers if c.roles[x] == "sensitive"]
    alike = str(r.choice(["rankswap", "shuffle", "groups", "swaps", "mixed", "mixed"]))
    c.story.append(alike)
    {"rankswap": _ranked, "shuffle": _shuffled, "groups": _grouped, "swaps": _swapped, "mixed": _mixed}[alike](c, moved)
    c.unmasked = {x for x in moved if not c.masked(x)}
    cases._rule(c)
    return c


def _amounts(c):
    """Amounts that depend on what stays, each a part of another one, or moving with it."""
    r, n = c.rng, c.n
    years = r.integers(8, 21, n).astype(float)
    c.add("years", years, "other", 0)
    spread = float(r.choice([0.15, 0.4, 0.9]))
    level = 6 + r.uniform(0, 0.15) * (years - 13) + r.uniform(0, 0.02) * (c.numbers["age"] - 50)
    if r.random() < 0.6:
        wage = np.exp(level + spread * r.normal(0, 1, n))
        c.story.append(f"wage is skewed, {spread:g}")
    else:
        wage = np.maximum(5, 400 + 60 * (level - 6) / 0.15 + 150 * spread * r.normal(0, 1, n))
        c.story.append(f"wage is plain, {spread:g}")
    c.add("wage", wage, "sensitive", int(r.choice([0, 2])))
    wage, off = c.numbers["wage"], float(r.choice([0.01, 0.05, 0.2, 0.5]))
    tax = wage * r.uniform(0.1, 0.4) * np.exp(off * r.normal(0, 1, n))
    if r.random() < 0.4:
        tax = 0.1 * wage + 0.3 * np.maximum(0, wage - np.quantile(wage, 0.6)) + off * 0.1 * np.std(wage) * np.abs(r.normal(0, 1, n))
    c.add("tax", tax, "sensitive", c.decimals["wage"])
    c.story.append(f"tax of wage, off by {off:g}")
    for name in ("net", "spend", "bonus"):
        if r.random() < 0.5:
            continue
        if name == "net":
            c.add("net", wage - c.numbers["tax"], "sensitive", c.decimals["wage"])
            c.sums.append({"wage": 1, "tax": -1, "net": -1})
        if name == "spend":
            c.add("spend", wage * r.beta(6, 3, n), "sensitive", c.decimals["wage"])
        if name == "bonus":
            c.add("bonus", np.exp(0.5 * np.log(np.maximum(wage, 1)) + r.uniform(0.3, 1.2) * r.normal(0, 1, n)), "sensitive", c.decimals["wage"])


def _reach(c):
    return max(float(c.rng.choice([0.01, 0.03, 0.1, 0.25, 0.5])), 2 / c.n)


def _ranked(c, moved):
    if c.rng.random() < 0.5:
        c.masks.append({"rankswap": {"columns": moved, "p": round(_reach(c), 4)}})
    else:
        c.masks += [{"rankswap": {"columns": [x], "p": round(_reach(c), 4)}} for x in moved]


def _shuffled(c, moved):
    on = [x for x in ("years", "age") if c.rng.random() < 0.6]
    if c.rng.random() < 0.5:
        c.masks.append({"shuffle": {"columns": moved, **({"on": on} if on else {})}})
    else:
        c.masks += [{"shuffle": {"columns": [x], "on": on or ["years"]}} for x in moved]


def _grouped(c, moved):
    k = int(c.rng.choice([3, 5, 10, 25]))
    if c.rng.random() < 0.5:
        c.masks.append({"microaggregate": {"columns": moved, "k": k, "method": "mdav", "share": 1}})
    else:
        c.masks += [{"microaggregate": {"columns": [x], "k": k, "method": "univariate", "share": 1}} for x in moved]


def _swapped(c, moved):
    c.masks += [_swap(c, x) for x in moved]


def _swap(c, x):
    return {"swap": {"keys": [str(c.rng.choice(["region", "job"]))], "attribute": "sex", "columns": [x], "policy": "random",
                     "rate": round(float(c.rng.choice([0.3, 0.6, 0.9])), 2), "scope": "dataset"}}


def _mixed(c, moved):
    ways = [lambda x: {"rankswap": {"columns": [x], "p": round(_reach(c), 4)}},
            lambda x: {"shuffle": {"columns": [x], "on": ["years"]}},
            lambda x: {"microaggregate": {"columns": [x], "k": int(c.rng.choice([5, 10, 25])), "method": "univariate", "share": 1}},
            lambda x: _swap(c, x), lambda x: cases._noise(c, x), lambda x: None]
    for x in moved:
        made = ways[c.rng.choice(len(ways), p=[0.4, 0.1, 0.1, 0.15, 0.15, 0.1])](x)
        if made or x == "wage":
            c.masks.append(made or ways[0](x))


def estimates(snooper, column, y):
    """Attack by attack, what all released columns say of a column, on other scales than their own, and of which of the
    values that it may have been exchanged for is its own."""
    case, release, out, half = snooper.case, snooper.release, {}, snooper.half
    x = case.numbers[column]
    texts = []
    for labels in release.texts.values():
        values, counts = np.unique(np.array(labels, dtype=str), return_counts=True)
        texts += [np.array([t == v for t in labels], dtype=float) for v in values[np.argsort(-counts)][:12]]
    own, others = None, []
    for name, v in release.numbers.items():
        if name == column:
            own = v
        else:
            others.append((name, v))
    for scale in ("scores", "logs"):
        if scale == "logs" and min(np.nanmin(v) for v in [x, y]) <= 0:
            continue
        to = (lambda v: _scores(v)) if scale == "scores" else _logs
        of = [np.nan_to_num(to(v) - np.nanmean(to(v))) for _, v in others]
        rest = np.column_stack(of + texts)
        all_ = np.column_stack([np.nan_to_num(to(own) - np.nanmean(to(own))), rest])
        out[f"smeared, {scale}"] = _smeared(x, all_, half, scale)
        out[f"smeared, {scale}, curved"] = _smeared(x, np.column_stack([all_, all_[:, : 1 + len(of)] ** 2]), half, scale)
        for kind, p in map(parameters, case.masked(column)):
            if kind in ("rankswap", "shuffle", "swap") and len(case.masked(column)) == 1:
                reach = int(p["p"] * case.n) if kind == "rankswap" else case.n
                for couples in (False, True):
                    mean, best = _whose(x, y, rest, half, scale, reach, couples and kind != "shuffle")
                    out[f"whose it is, {scale}, {couples}"], out[f"likeliest, {scale}, {couples}"] = mean, best
    wide = _ends(snooper)
    f = np.column_stack([snooper.features[:, : snooper.linear]] + wide) if wide else None
    if f is not None:
        out["trees on ends"] = snooper._crossed(x, f, _boosted)
    return out


def _scores(v):
    out = np.full(len(v), math.nan)
    there = ~np.isnan(v)
    out[there] = norm.ppf((rankdata(v[there]) - 0.5) / there.sum())
    return out


def _logs(v):
    with np.errstate(all="ignore"):
        return np.log(v) if np.nanmin(v) > 0 else v


def _known(x, scale):
    """The scale of known originals, and back."""
    if scale == "logs":
        return np.log, np.exp
    s = np.sort(x)
    at = norm.ppf((np.arange(len(s)) + 0.5) / len(s))
    return lambda v: np.interp(v, s, at), lambda z: np.interp(z, at, s)


def _smeared(x, f, half, scale):
    out = np.full(len(x), math.nan)
    known = ~np.isnan(x)
    for held in (half, ~half):
        a, b = held & known, ~held & known
        if a.sum() < 4 * f.shape[1]:
            continue
        to, back = _known(x[a], scale)
        fa, fb = np.column_stack([np.ones(a.sum()), f[a]]), np.column_stack([np.ones(b.sum()), f[b]])
        beta = np.linalg.lstsq(fa, to(x[a]), rcond=1e-9)[0]
        off = np.quantile(to(x[a]) - fa @ beta, (np.arange(40) + 0.5) / 40)
        out[b] = back((fb @ beta)[:, None] + off[None, :]).mean(1)
    return out


def _whose(x, y, rest, half, scale, reach, couples):
    """By the posterior over the values within the reach of ranks, given all other columns as they are released."""
    n = len(x)
    order = np.argsort(np.where(np.isnan(y), np.inf, y), kind="stable")
    there = int((~np.isnan(y)).sum())
    rank = np.empty(n, int)
    rank[order] = np.arange(n)
    mean, best = np.full(n, math.nan), np.full(n, math.nan)
    known = ~np.isnan(x)
    z, fit = np.full(n, math.nan), np.full(n, math.nan)
    sd = np.ones(n)
    for held in (half, ~half):
        a, b = held & known, ~held
        if a.sum() < 4 * rest.shape[1]:
            return mean, best
        to, _ = _known(x[a], scale)
        fa, fb = np.column_stack([np.ones(a.sum()), rest[a]]), np.column_stack([np.ones(b.sum()), rest[b]])
        beta = np.linalg.lstsq(fa, to(x[a]), rcond=1e-9)[0]
        fit[b], sd[b] = fb @ beta, np.std(to(x[a]) - fa @ beta) + 1e-9
    with np.errstate(all="ignore"):
        z = np.where(np.isnan(y), math.nan, _known(x[known], scale)[0](y))
    centre, wide = np.nanmean(z), np.nanstd(z)
    ratio = lambda i, j: -0.5 * ((z[j] - fit[i]) / sd[i]) ** 2 + 0.5 * ((z[j] - centre) / wide) ** 2
    for i in range(n):
        if np.isnan(y[i]):
            continue
        at = order[max(0, rank[i] - reach): min(there, rank[i] + reach + 1)]
        at = at[at != i] if reach < n else at
        if not len(at):
            mean[i] = best[i] = y[i]
            continue
        logs = ratio(i, at) + (ratio(at, i) if couples else 0)
        w = np.exp(logs - logs.max())
        mean[i], best[i] = (w * y[at]).sum() / w.sum(), y[at[int(np.argmax(w))]]
    return mean, best


def _ends(snooper):
    """What values lie within the reach of ranks of a released one: the least, the greatest and the mean, column by column."""
    out = []
    for name, y in snooper.release.numbers.items():
        for kind, p in map(parameters, snooper.case.masked(name)):
            if kind == "rankswap":
                s, reach = np.sort(y[~np.isnan(y)]), max(1, int(p["p"] * snooper.case.n))
                sums = np.concatenate([[0], np.cumsum(s)])
                at = np.searchsorted(s, np.nan_to_num(y))
                low, high = np.maximum(at - reach, 0), np.minimum(at + reach, len(s) - 1)
                out += [s[low], s[high], (sums[high + 1] - sums[low]) / (high + 1 - low)]
    return out


def _boosted(a, b, x):
    return HistGradientBoostingRegressor(max_iter=80, learning_rate=0.1, max_leaf_nodes=15, min_samples_leaf=8, random_state=1).fit(a, x).predict(b)
