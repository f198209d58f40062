"""Snoopers. Each holds the released file, the public facts of a case, and the originals of half of
the respondents (the halves change places), and estimates the originals of the others.

Nothing here shares code, or a formula, with the program.
"""
import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.neighbors import NearestNeighbors

import ranks
import swaps
import units
from cases import parameters


@dataclass
class Release:
    numbers: dict  # name: float array, NaN where missing
    texts: dict
    raw: dict  # the cells as they stand
    text: str  # the file


def number(text):
    try:
        return float(text)
    except ValueError:
        return math.nan


def grouped(labels, y, size=None):
    """Mean of y over the others of a record's group, and how many they are."""
    sums, counts = {}, {}
    for g, v in zip(labels, y):
        if g != "" and v == v:
            sums[g], counts[g] = sums.get(g, 0) + v, counts.get(g, 0) + 1
    mean, n = np.full(len(y), math.nan), np.zeros(len(y))
    for i, g in enumerate(labels):
        if g in sums:
            own = y[i] == y[i]
            n[i] = counts[g] - own
            if n[i] > 0:
                mean[i] = (sums[g] - (y[i] if own else 0)) / n[i]
    return mean, n


class Snooper:
    def __init__(self, case, release):
        self.case, self.release = case, release
        # Who knows one of a household knows what they share without any release: halves keep them together.
        together = case.texts.get("pid") or case.texts.get("hh") or case.texts.get("couple") or range(case.n)
        _, group = np.unique(np.array(list(together), dtype=str), return_inverse=True)
        self.half = np.random.default_rng(case.seed + 1).random(group.max() + 1)[group] < 0.5
        self.features = self._features()

    def _features(self):
        """Everything that a released record says, as numbers, and what its group says."""
        r, columns = self.release, []
        for name, y in r.numbers.items():
            columns.append(_filled(y))
            if np.isnan(y).any():
                columns.append(np.isnan(y).astype(float))
        for texts in r.texts.values():
            values, counts = np.unique(np.array(texts, dtype=str), return_counts=True)
            for v in values[np.argsort(-counts)][:30]:
                columns.append(np.array([t == v for t in texts], dtype=float))
        base = len(columns)
        for group in ("hh", "couple"):
            if group in r.texts:
                for y in r.numbers.values():
                    mean, n = grouped(r.texts[group], y)
                    known = ~np.isnan(mean)
                    columns.append(np.where(known, mean, _filled(y)))
                columns.append(n)
        linear = len(columns)
        numeric = list(r.numbers.values())[:8]
        for a, b in itertools.combinations(numeric, 2):
            columns.append(_filled(a * b))
            for p, q in ((a, b), (b, a)):
                with np.errstate(all="ignore"):
                    columns.append(_filled(np.where(np.abs(q) > 1e-9, p / q, math.nan)))
        cells = [t for t in ("region", "job") if t in r.texts]
        crossed = ["|".join(t) for t in zip(*(r.texts[t] for t in cells))] if cells else []
        for v in sorted(set(crossed)):
            columns.append(np.array([t == v for t in crossed], dtype=float))
        self.alone, self.linear = base, linear
        return np.column_stack(columns)

    def estimates(self, column):
        """Attack by attack, the estimates of a column's originals."""
        x, y = self.case.numbers[column], self.release.numbers.get(column)
        out = {"mean": self._crossed(x, None, lambda a, b, fit: np.full(len(b), fit.mean()))}
        if y is not None:
            out["released value"] = y
            own = _filled(y)[:, None]
            out["least squares, own column"] = self._crossed(x, own, _least_squares)
            out |= self._exchanged(column, y)
            out |= swaps.estimates(self, column, y)
            if self.case.seed >= ranks.FIRST:
                out |= ranks.estimates(self, column, y)
        f = self.features
        out["least squares, the record"] = self._crossed(x, f[:, : self.alone], _least_squares)
        out["least squares, its group too"] = self._crossed(x, f[:, : self.linear], _least_squares)
        out["least squares, products too"] = self._crossed(x, f, _least_squares)
        for k in (1, 5, 20):
            out[f"{k} nearest neighbours"] = self._crossed(x, f[:, : self.linear], _nearest(k))
        out["boosted trees"] = self._crossed(x, f[:, : self.linear], _trees)
        # What a good estimate leaves, trees may explain.
        out["least squares, then trees"] = self._crossed(x, f[:, : self.linear], _squares_then_trees)
        out |= self._computed(column)
        out |= self._program(column, out["least squares, the record"])
        if self.case.units:
            out |= units.estimates(self, column, out)
        return out

    def _crossed(self, x, features, attack):
        out = np.full(len(x), math.nan)
        known = ~np.isnan(x)
        for held in (self.half, ~self.half):
            a, b = held & known, ~held & known
            if a.sum() < 20 or not b.any():
                continue
            if features is None:
                out[b] = attack(None, np.zeros((b.sum(), 1)), x[a])
            else:
                out[b] = attack(features[a], features[b], x[a])
        return out

    def _exchanged(self, column, y):
        """Undoes exchanges: the others of a group, and the neighbours by rank."""
        case, out, x = self.case, {}, self.case.numbers[column]
        for mask in case.masked(column):
            kind, p = parameters(mask)
            if kind == "swap":
                labels = ["|".join(t) for t in zip(*(self.release.texts[k] for k in p["keys"]))]
                mean, n = grouped(labels, y)
                partner = np.where(n == 1, mean, y)
                out["exchanged back"] = partner
                out["own and partners'"] = self._crossed(x, np.column_stack([_filled(y), np.where(np.isnan(mean), _filled(y), mean), n == 1, (n == 1) * _filled(mean)]), _least_squares)
            if kind == "rankswap":
                order = np.argsort(np.where(np.isnan(y), np.inf, y), kind="stable")
                rank = np.empty(len(y), int)
                rank[order] = np.arange(len(y))
                last = int((~np.isnan(y)).sum()) - 1
                at = lambda r: np.where(np.isnan(y), math.nan, y[order[np.clip(r, 0, max(last, 0))]])
                for d in (1, -1, 2, -2):
                    out[f"{d:+d} in rank"] = at(rank + d)
                for parity in (0, 1):
                    out[f"pairs of ranks from {parity}"] = at(np.where((rank - parity) % 2 == 0, rank + 1, rank - 1))
        return out

    def _solved(self, column):
        """What a column is computed from: sums in which it stands, and formulas."""
        for sum_ in self.case.sums:
            if column in sum_ and all(c in self.release.numbers for c in sum_):
                others = [c for c in sum_ if c != column]
                yield others, lambda *v, s=sum_, o=others: -sum(s[c] * of for c, of in zip(o, v)) / s[column]
        for of, others, function in self.case.formulas:
            if of == column and all(c in self.release.numbers for c in others):
                yield others, function

    def _computed(self, column, depth=2):
        """Computes the column from others, as they are released, or are computed themselves."""
        out = {}
        for others, function in self._solved(column):
            known = [{c: self.release.numbers[c]} | ({} if depth == 1 or not self.case.masked(c) else {
                n: v for n, v in self._computed(c, depth - 1).items() if column not in n.replace("(", " ").replace(")", " ").split()})
                for c in others]
            for names in itertools.product(*known):
                with np.errstate(all="ignore"):
                    v = np.asarray(function(*(k[n] for k, n in zip(known, names))))
                out[f"{column} from ( {' '.join(names)} )"] = np.where(np.isfinite(v), v, math.nan)
        return out

    def most_alike(self, column, within):
        """What most of those known that have the same categories have within a distance: all alike, or by how well their values
        fit the released one."""
        x, y = self.case.numbers[column], self.release.numbers.get(column)
        names = [t for t in self.release.texts if len(set(self.release.texts[t])) <= 40]
        for count in (1, 2, 3):
            for cells in itertools.combinations(names, count):
                labels = np.array(["|".join(t) for t in zip(*(self.release.texts[c] for c in cells))])
                for fits in (False, True):
                    if fits and y is None:
                        continue
                    out = np.full(len(x), math.nan)
                    for held in (self.half, ~self.half):
                        known = held & ~np.isnan(x)
                        if y is not None:
                            off = (y - x)[known]
                            sd = math.sqrt(np.nanmean(off**2)) if (~np.isnan(off)).any() else math.inf
                        for label in np.unique(labels):
                            v = x[known & (labels == label)]
                            rows = np.flatnonzero(~held & (labels == label))
                            if len(v) < 2 or not len(rows):
                                continue
                            near = np.abs(v[:, None] - v[None, :]) <= within
                            w = np.ones((len(rows), len(v)))
                            if fits and sd > 0:
                                e = np.nan_to_num((y[rows][:, None] - v[None, :]) ** 2 / (2 * sd**2))
                                w = np.exp(e.min(1, keepdims=True) - e)
                            out[rows] = v[(w @ near).argmax(1)]
                    yield f"most of {', '.join(cells)}" + (" by the release" if fits else ""), out

    def bounds(self, column):
        """By record, between what values the original lies, from the masks alone."""
        case, y = self.case, self.release.numbers.get(column)
        if y is None:
            return None
        half = 0.5 * 10.0 ** -case.decimals[column]
        masks = [parameters(m) for m in case.masked(column)]
        if not masks:
            return np.column_stack([y, y])
        low, high = y.copy(), y.copy()
        for kind, p in reversed(masks):
            if kind == "noise" and p["distribution"] == "uniform":
                w = p["sd"] * math.sqrt(3) + 2 * half
                low, high = low - w, high + w
            elif kind == "round":
                low, high = low - p["base"] / 2 - half, high + p["base"] / 2 + half
            elif kind == "topcode" and p["replace"] == "bound":
                high = np.where(high >= p["upper"], np.inf, high)
            else:
                return None
        return np.column_stack([low, high])

    def _program(self, column, otherwise, most=400):
        """The middle of what the sums and the bounds of all their columns leave, by linear programs; in some
        records, so that those of them in which the programs say nothing are estimated otherwise."""
        case = self.case
        sums = [s for s in case.sums if all(c in self.release.numbers for c in s)]
        linked = {column}
        for _ in sums:
            linked |= {c for s in sums if linked & set(s) for c in s}
        sums = [s for s in sums if set(s) & linked]
        names = sorted(linked)
        bounds = {c: self.bounds(c) for c in names}
        if not sums or all(b is None for b in bounds.values()):
            return {}
        out = np.full(case.n, math.nan)
        slack = sum(abs(w) * 0.5 * 10.0 ** -case.decimals[c] for s in sums for c, w in s.items())
        a = np.array([[s.get(c, 0) for c in names] for s in sums], float)
        records = np.random.default_rng(case.seed + 2).permutation(case.n)[:most]
        for i in records:
            if bounds[column] is not None and np.ptp(bounds[column][i]) <= 2.1 * 10.0 ** -case.decimals[column]:
                out[i] = bounds[column][i].mean()  # the masks left it as it was
                continue
            box = [(None, None) if bounds[c] is None or np.isnan(bounds[c][i]).any() else tuple(bounds[c][i]) for c in names]
            goal = np.array([c == column for c in names], float)
            ends = [linprog(s * goal, A_ub=np.vstack([a, -a]), b_ub=np.full(2 * len(a), slack), bounds=box, method="highs") for s in (1, -1)]
            solved = all(e.status == 0 for e in ends)
            out[i] = (ends[0].fun - ends[1].fun) / 2 if solved else otherwise[i]
        return {"linear programs": out}


def _filled(y):
    y = np.where(np.isfinite(y), y, math.nan)
    if np.isnan(y).all():
        return np.zeros(len(y))
    return np.where(np.isnan(y), np.nanmean(y), y)


def _least_squares(a, b, x):
    centre, scale = a.mean(0), a.std(0)
    use = scale > 1e-12 * (np.abs(centre) + 1)
    z = np.column_stack([np.ones(len(a)), (a[:, use] - centre[use]) / scale[use]])
    v = np.column_stack([np.ones(len(b)), (b[:, use] - centre[use]) / scale[use]])
    if z.shape[1] > len(a) / 4:  # more than the records carry: a ridge
        g = z.T @ z + np.diag([0.0] + [1.0] * (z.shape[1] - 1))
        beta = np.linalg.solve(g, z.T @ x)
    else:
        beta = np.linalg.lstsq(z, x, rcond=1e-10)[0]
    return v @ beta


def _nearest(k):
    def attack(a, b, x):
        scale = a.std(0) + 1e-12
        near = NearestNeighbors(n_neighbors=min(k, len(a))).fit(a / scale)
        return x[near.kneighbors(b / scale, return_distance=False)].mean(1)
    return attack


def _trees(a, b, x):
    model = HistGradientBoostingRegressor(max_iter=60, learning_rate=0.15, max_leaf_nodes=15, min_samples_leaf=8, random_state=1)
    return model.fit(a, x).predict(b)


def _squares_then_trees(a, b, x):
    return _least_squares(a, b, x) + _trees(a, b, x - _least_squares(a, a, x))


def steps(x):
    """The steps and offsets on which at least nine of ten known values lie."""
    x = x[~np.isnan(x)]
    found = []
    for step in (2, 5, 10, 50, 100, 250, 500, 1000):
        rest, counts = np.unique(np.round(np.mod(x, step), 6), return_counts=True)
        if counts.max() >= 0.9 * len(x):
            found.append((float(step), float(rest[counts.argmax()])))
    return found


def claims(case, column, estimates, half):
    """The estimates, and what they become on the grids of the known half: decimals, steps, values."""
    x = case.numbers[column]
    grid = 10.0 ** -case.decimals[column]
    known = x[half & ~np.isnan(x)]
    values = np.unique(known)
    for name, e in estimates.items():
        yield name, np.round(e / grid) * grid
        for step, rest in steps(known):
            yield f"{name}, on the grid of {step:g}", np.round((e - rest) / step) * step + rest
        if len(values) <= 30 and len(values) > 1:
            at = np.abs(e[:, None] - values[None, :])
            yield f"{name}, to a known value", np.where(np.isnan(e), math.nan, values[np.argmin(np.where(np.isnan(at), 0, at), axis=1)])


def recoded(case, column, texts_or_numbers):
    """The original keys in the coding that masks publish, "" where missing; None where a mask is random."""
    values = list(texts_or_numbers)
    for mask in case.masked(column):
        kind, p = parameters(mask)
        if kind == "recode":
            def label(v):
                if v == "":
                    return ""
                at = sum(float(v) >= b for b in p["breaks"]) - 1
                return p["labels"][min(at, len(p["labels"]) - 1)]
            values = [label(v) for v in values]
        elif kind != "suppress":
            return None
    return values


def candidates(case, release, keys):
    """By respondent, how many released records do not contradict his keys: by enumeration."""
    agree = np.ones((case.n, case.n), bool)
    for key in keys:
        known = recoded(case, key, [case.cell(key, i) for i in range(case.n)])
        if known is None:
            return None
        known, shown = np.array(known), np.array(release.raw[key])
        if key in case.numbers and not case.masked(key):
            shown = np.array([case_text(case, key, v) for v in shown])
        agree &= (known[:, None] == shown[None, :]) | (shown == "")[None, :] | (known == "")[:, None]
    return agree.sum(1)


def case_text(case, column, text):
    return "" if text == "" else f"{float(text):.{case.decimals[column]}f}"


def surest(case, release, column, least=40):
    """The greatest share of one original category among released records that look alike, from the
    known half, where that share is sure: its lower bound at 99.9 %, Wilson's."""
    original = case.texts[column]
    best, what = 0.0, ""
    others = [c for c in (*release.texts, *release.numbers) if c in release.raw and c != column]
    others = [c for c in others if len(set(release.raw[c])) <= 40]
    for used in itertools.chain([()], ((c,) for c in others), itertools.combinations(others, 2)):
        groups = {}
        for i in range(case.n):
            if original[i] != "":
                groups.setdefault(tuple(release.raw[c][i] for c in (column, *used)), []).append(original[i])
        for g, members in groups.items():
            n = len(members)
            if n < least:
                continue
            _, counts = np.unique(members, return_counts=True)
            z = 3.1 + math.log10(max(len(groups), 1))  # the best of many is looked at
            p = counts.max() / n
            low = (p + z * z / (2 * n) - z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))) / (1 + z * z / n)
            if low > best:
                best, what = low, f"{dict(zip((column, *used), g))}: {counts.max()} of {n}"
    return best, what
