"""Cases in which a swap moves several columns together, and the snooper who compares what moved with what stayed."""
import math

import numpy as np

import cases
from cases import parameters

FIRST = 990000  # seeds from here on


def draw(seed):
    c = cases.draw(seed)
    r = np.random.default_rng(seed + 1)
    numbers = [x for x in c.numbers if c.roles[x] == "sensitive" and x not in c.unmasked]
    moved = [str(x) for x in r.choice(numbers, size=min(len(numbers), int(r.integers(1, 7))), replace=False)]
    masks = []
    for mask in c.masks:
        kind, p = parameters(mask)
        left = [x for x in p.get("columns", []) if x not in moved]
        if "columns" not in p:
            masks.append(mask)
        elif left:
            masks.append({kind: {**p, "columns": left}})
    keys = [str(k) for k in r.choice(["region", "job"], size=int(r.integers(1, 3)), replace=False)]
    together = {"swap": {"keys": keys, "attribute": "sex", "columns": moved, "rate": round(float(r.choice([0.2, 0.5, 0.9, 1])), 2),
                         "policy": "random", "scope": "dataset"}}
    c.masks = [together] + masks
    if r.random() < 0.2:
        x = moved[0]
        c.masks.append({"noise": {"columns": [x], "sd": round(0.05 * float(np.nanstd(c.numbers[x])), 2) or 1,
                                  "distribution": "normal"}})
    for x in numbers:  # one that stays, and tells
        if x not in moved and r.random() < 0.3:
            c.masks = [m for m in c.masks if parameters(m)[1].get("columns") != [x]]
            c.unmasked.add(x)
    c.rules = []
    cases._rule(c)
    c.story.append("moved together: " + ", ".join(moved))
    return c


def estimates(snooper, column, y):
    """Attack by attack, what records with whom values were exchanged say of a column."""
    case, release, out = snooper.case, snooper.release, {}
    for mask in case.masked(column):
        kind, p = parameters(mask)
        if kind != "swap":
            continue
        moved = [m for m in p["columns"] if m in release.numbers]
        stayed = [v for name, v in release.numbers.items() if name not in moved]
        for name, texts in release.texts.items():
            values, counts = np.unique(np.array(texts, dtype=str), return_counts=True)
            stayed += [np.array([t == v for t in texts], dtype=float) for v in values[np.argsort(-counts)][:12]]
        cells = {}
        for i, t in enumerate(zip(*(release.texts[k] for k in p["keys"]))):
            cells.setdefault(t, []).append(i)
        for scale in ("", "log "):
            to = _logs if scale else _same
            f = np.column_stack([np.ones(case.n)] + [_centred(to(v)) for v in stayed])
            for names, label in ((moved, "all"), ([column], "one")):
                if label == "one" and len(moved) == 1:
                    continue
                mean, best = _undone(snooper.half, f, [case.numbers[m] for m in names], [release.numbers[m] for m in names], to,
                                     cells.values(), release.texts.get(p["attribute"]), y)
                out[f"{scale}whose it is, by {label}"] = mean
                out[f"{scale}likeliest, by {label}"] = best
    return out


def _same(v):
    return v


def _logs(v):
    with np.errstate(all="ignore"):
        return np.log(v) if np.nanmin(v) > 0 else v


def _centred(v):
    return np.nan_to_num(v - np.nanmean(v), posinf=0, neginf=0)


def _undone(half, f, originals, released, to, cells, attribute, y):
    """By the posterior over the records of a cell that differ in the attribute; one half knows the other's originals."""
    n = len(half)
    middle = [np.nanmean(to(x)) for x in originals]
    x = np.column_stack([np.nan_to_num(to(v) - m) for v, m in zip(originals, middle)])
    r = np.column_stack([np.nan_to_num(to(v) - m) for v, m in zip(released, middle)])
    stay = min(max(float(np.mean(np.all(np.isclose(x, r), axis=1))), 0.02), 0.98)
    fit = np.zeros((n, n)) if n <= 2000 else None
    if fit is None:
        return np.full(n, math.nan), np.full(n, math.nan)
    for known in (half, ~half):
        a, b = f[known], x[known]
        slopes = np.linalg.lstsq(a, b, rcond=1e-9)[0]
        off = b - a @ slopes
        spread = off.T @ off / max(1, len(a) - a.shape[1]) + 1e-9 * np.diag(b.var(0) + 1e-12)
        added = np.maximum(0, r[known].var(0) - b.var(0))
        spread += np.diag(added)
        whole = spread + np.cov((a @ slopes).T).reshape(spread.shape)
        rows = np.flatnonzero(~known)
        fit[rows] = _normal(r[None, :, :] - (f[rows] @ slopes)[:, None, :], spread) - _normal(r, whole)[None, :]
    own = np.diag(fit)
    either = np.logaddexp(math.log(stay) + own, math.log(1 - stay))
    mean, best = np.full(n, math.nan), np.full(n, math.nan)
    for cell in cells:
        for i in cell:
            others = np.array([j for j in cell if j != i and (attribute is None or attribute[j] != attribute[i])], dtype=int)
            logs = [math.log(stay) + own[i]]
            if len(others):
                logs = np.concatenate([logs, math.log((1 - stay) / len(others)) + fit[i, others] + fit[others, i] - either[others]])
            at = np.concatenate([[i], others]).astype(int)
            w = np.exp(logs - np.max(logs)) * ~np.isnan(y[at])
            if w.sum() > 0:
                mean[i], best[i] = (w * np.nan_to_num(y[at])).sum() / w.sum(), y[at[int(np.argmax(w))]]
    return mean, best


def _normal(off, spread):
    inverse = np.linalg.inv(spread)
    return -0.5 * np.einsum("...i,ij,...j->...", off, inverse, off) - 0.5 * np.linalg.slogdet(spread)[1]
