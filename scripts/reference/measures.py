#!/usr/bin/env python3
"""Reference values for the intruder's measures, from their definitions alone.

The data are made here, by a rule; no person stands behind them. The definitions are
written down as they read, in the plainest way and without regard to time: they share
no code with the program, which tests hold against what is printed here:

    python3 scripts/reference/measures.py >internal/golden/testdata/reference.json

Needs Python 3.9 and nothing else.
"""
import itertools
import json
import math
import sys

N = 240


def generator(state):
    """The minimal standard generator of Park and Miller: numbers in (0, 1)."""
    while True:
        state = state * 48271 % 2147483647
        yield state / 2147483647


G = generator(20040229)


def normal():
    return math.sqrt(-2 * math.log(next(G))) * math.cos(2 * math.pi * next(G))


def pick(shares):
    u = next(G)
    for i, share in enumerate(shares):
        u -= share
        if u < 0:
            return i
    return len(shares) - 1


# --- data ---------------------------------------------------------------------

income = [round(math.exp(8 + 0.8 * normal()), 2) for _ in range(N)]
spending = [round(0.6 * x + 400 * abs(normal()), 2) for x in income]
savings = [0.0 if next(G) < 0.3 else round(math.exp(7 + 1.1 * normal()), 2) for _ in range(N)]
hours = [round(38 + 9 * normal()) for _ in range(N)]
numeric = {"income": income, "spending": spending, "savings": savings, "hours": hours}


def deviation(values):
    values = [v for v in values if v is not None]
    m = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((v - m) ** 2 for v in values) / (len(values) - 1))


masked = {name: [round(x + 0.1 * deviation(v) * normal(), 2) for x in v] for name, v in numeric.items()}
for i in range(N):  # gaps on either side
    if i % 31 == 4:
        numeric["savings"][i] = None
    if i % 23 == 7:
        masked["hours"][i] = None

keys = {
    "region": [pick([0.4, 0.3, 0.2, 0.1]) for _ in range(N)],
    "age": [pick([0.1, 0.2, 0.3, 0.2, 0.1, 0.1]) for _ in range(N)],
    "sex": [pick([0.52, 0.48]) for _ in range(N)],
    "trade": [pick([0.5, 0.2, 0.1, 0.1, 0.05, 0.05]) for _ in range(N)],
}
sensitive = {"illness": [pick([0.6, 0.2, 0.1, 0.1]) for _ in range(N)]}
gaps = {name: [None if (7 * i + 3 * k) % 29 == 0 else v for i, v in enumerate(column)] for k, (name, column) in enumerate(keys.items())}
weights = [float(2 + (13 * i) % 37) for i in range(N)]
household = [i // 3 for i in range(N)]

# --- utility --------------------------------------------------------------------


def covariance(a, b):
    both = [(u, v) for u, v in zip(a, b) if u is not None and v is not None]
    ma, mb = (math.fsum(p[k] for p in both) / len(both) for k in (0, 1))
    return math.fsum((u - ma) * (v - mb) for u, v in both) / (len(both) - 1)


def correlation(a, b):
    """The covariance of the complete pairs over the SDs of all values, as R's cov2cor."""
    return covariance(a, b) / (deviation(a) * deviation(b))


def eigenvalues(matrix):
    """Jacobi's rotations, descending."""
    a, n = [row[:] for row in matrix], len(matrix)
    for _ in range(100):
        p, q = max(itertools.combinations(range(n), 2), key=lambda pq: abs(a[pq[0]][pq[1]]))
        if abs(a[p][q]) < 1e-17:
            break
        angle = 0.5 * math.atan2(2 * a[p][q], a[q][q] - a[p][p])
        c, s = math.cos(angle), math.sin(angle)
        for k in range(n):
            a[k][p], a[k][q] = c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]
        for k in range(n):
            a[p][k], a[q][k] = c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]
    return sorted((a[i][i] for i in range(n)), reverse=True)


names = list(numeric)
pairs = {name: [(x, y) for x, y in zip(numeric[name], masked[name]) if x is not None and y is not None] for name in names}
il1 = math.fsum(100 * abs(x - y) / abs(x) for name in names for x, y in pairs[name] if x != 0)
il1s = math.fsum(abs(x - y) / (deviation(numeric[name]) * math.sqrt(2)) for name in names for x, y in pairs[name])
e1 = eigenvalues([[correlation(numeric[a], numeric[b]) for b in names] for a in names])
e2 = eigenvalues([[correlation(masked[a], masked[b]) for b in names] for a in names])


def inside(k):
    """The share of records with every original within k SDs of the released column
    of the released value; a cell without a value counts as inside."""
    hits = 0
    for i in range(N):
        hits += all(
            numeric[name][i] is None or masked[name][i] is None
            or masked[name][i] - k * deviation(masked[name]) <= numeric[name][i] <= masked[name][i] + k * deviation(masked[name])
            for name in names)
    return hits / N


def mean(values):
    values = [v for v in values if v is not None]
    return math.fsum(values) / len(values)


utility = {
    "moments": {name: {"mean": mean(x), "sd": deviation(x), "missing": x.count(None)} for name, x in numeric.items()},
    "released_moments": {name: {"mean": mean(x), "sd": deviation(x), "missing": x.count(None)} for name, x in masked.items()},
    "il1": il1, "il1s": il1s, "il1s_per_cell": il1s / (N * len(names)),
    "eigen": math.fsum(abs(u - v) / u for u, v in zip(e1, e2)),
    "interval": {str(k): inside(k) for k in (0.05, 0.1, 0.2, 0.5, 1)},
    "covariance_original": [[covariance(numeric[a], numeric[b]) for b in names] for a in names],
    "covariance_released": [[covariance(masked[a], masked[b]) for b in names] for a in names],
}

# --- linkage, of the columns without gaps -------------------------------------------


def linked(distance):
    credit = 0.0
    for i in range(N):
        d = [distance(i, j) for j in range(N)]
        nearest = [j for j in range(N) if d[j] == min(d)]
        credit += (i in nearest) / len(nearest)
    return credit


whole = ["income", "spending"]
sds = {name: deviation(masked[name]) for name in whole}
width = {name: max(numeric[name] + masked[name]) - min(numeric[name] + masked[name]) for name in whole}


def by_differences():
    """d'C⁻¹d of the columns, C the covariance of released less original over the pairs
    (Torra, Abowd and Domingo-Ferrer 2006), for two columns."""
    d = [[y - x for x, y in zip(numeric[c], masked[c])] for c in whole]
    (a, b), (_, e) = [[covariance(u, v) for v in d] for u in d]

    def distance(i, j):
        u, v = (numeric[c][i] - masked[c][j] for c in whole)
        return (e * u * u - 2 * b * u * v + a * v * v) / (a * e - b * b)
    return distance


def assignment(distance):
    """The least sum of distances of a one-to-one assignment: shortest augmenting paths
    (Kuhn and Munkres, in the form of Jonker and Volgenant)."""
    cost = [[distance(i, j) for j in range(N)] for i in range(N)]
    u, v, owner = [0.0] * (N + 1), [0.0] * (N + 1), [0] * (N + 1)
    for i in range(1, N + 1):
        owner[0], j0 = i, 0
        least, used, way = [math.inf] * (N + 1), [False] * (N + 1), [0] * (N + 1)
        while owner[j0]:
            used[j0], i0, delta, j1 = True, owner[j0], math.inf, 0
            for j in range(1, N + 1):
                if not used[j]:
                    reduced = cost[i0 - 1][j - 1] - u[i0] - v[j]
                    if reduced < least[j]:
                        least[j], way[j] = reduced, j0
                    if least[j] < delta:
                        delta, j1 = least[j], j
            for j in range(N + 1):
                if used[j]:
                    u[owner[j]] += delta
                    v[j] -= delta
                else:
                    least[j] -= delta
            j0 = j1
        while j0:
            owner[j0], j0 = owner[way[j0]], way[j0]
    return math.fsum(cost[owner[j] - 1][j - 1] for j in range(1, N + 1)), sum(owner[j] == j for j in range(1, N + 1))


# Not by Gower's distance, of which several assignments are equally short.
total, own = assignment(lambda i, j: math.sqrt(sum(((numeric[c][i] - masked[c][j]) / sds[c]) ** 2 for c in whole)))
linkage = {
    "columns": whole,
    "mahalanobis": linked(by_differences()),
    "one_to_one_total": total, "one_to_one_correct": own,
    "standardised": linked(lambda i, j: sum(((numeric[c][i] - masked[c][j]) / sds[c]) ** 2 for c in whole)),
    "gower": linked(lambda i, j: sum(abs(numeric[c][i] - masked[c][j]) / width[c] for c in whole)),
}

# --- uniqueness ---------------------------------------------------------------------


def share(a, b, alpha):
    """What record b adds to f of record a."""
    if a == b:
        return 1.0
    if None not in b:
        return float(all(u is None or u == v for u, v in zip(a, b)))
    return alpha * all(u is None or v is None or u == v for u, v in zip(a, b))


def exact(f, F):
    """E(1/F | f): F − f is negative binomial with probability p = f/F, f ≥ 1 need not
    be whole; the terms Γ(h)/(Γ(f)Γ(h−f+1)) p^f q^(h−f) / h of h = f, f+1, … added up."""
    p = min(1.0, f / F)
    term, total, h = p ** f, [], f
    while term / h > 1e-22 or h < F:
        total.append(term / h)
        term *= h / (h - f + 1) * (1 - p)
        h += 1
    return math.fsum(total)


def approximate(f, F):
    p = min(1.0, f / F)
    if p == 1:
        return 1 / f
    if f == 1:
        return p / (1 - p) * math.log(1 / p)
    if f == 2:
        return p / (1 - p) - (p / (1 - p)) ** 2 * math.log(1 / p)
    return p / (f - (1 - p)) if f > 2 else None


def frequencies(columns, alpha):
    rows = list(zip(*columns.values()))
    f = [math.fsum(share(a, b, alpha) for b in rows) for a in rows]
    F = [math.fsum(w * share(a, b, alpha) for b, w in zip(rows, weights)) for a in rows]
    return {"alpha": alpha, "f": f, "F": F, "exact": [exact(*p) for p in zip(f, F)], "approximate": [approximate(*p) for p in zip(f, F)],
            "below": {str(k): sum(v < k for v in f) for k in (2, 3, 5)}}


plain = frequencies(keys, 1.0)
household_risk = []
for h in household:
    miss = 1.0
    for r, other in zip(plain["exact"], household):
        if other == h:
            miss *= 1 - r
    household_risk.append(1 - miss)


def diversity(c):
    rows = list(zip(*keys.values()))
    distinct, effective, recursive = [], [], []
    for row in rows:
        values = [v for r, v in zip(rows, sensitive["illness"]) if r == row]
        counts = sorted((values.count(v) for v in set(values)), reverse=True)
        distinct.append(len(counts))
        shares = [k / len(values) for k in counts]
        effective.append(math.exp(-math.fsum(p * math.log(p) for p in shares)))
        level = 1
        while level < len(counts) and counts[0] < c * sum(counts[level:]):
            level += 1
        recursive.append(level)
    return {"distinct": distinct, "entropy": effective, "recursive": recursive}


def minimal_uniques(columns):
    """Of each record the sets of columns in which nobody else has its values, and of
    which no smaller one is such a set. A missing value is nobody's match and makes
    nobody unique."""
    m, found = len(columns), []
    for i in range(N):
        minimal = []
        for k in range(1, m + 1):
            for chosen in itertools.combinations(range(m), k):
                if any(columns[j][i] is None for j in chosen) or any(set(s) <= set(chosen) for s in minimal):
                    continue
                if sum(all(columns[j][r] == columns[j][i] for j in chosen) for r in range(N)) == 1:
                    minimal.append(chosen)
        found.append(minimal)
    return found


def elliot(k, m, most):
    """Elliot et al. (2005): a set of k of m keys stands for the paths of the lattice
    above it, (m−k)(m−k−1)…, down to the largest size that is searched; 1 for all keys."""
    return math.prod(m - i for i in range(k, min(most, m - 1) + 1))


def ihsn(k, m, most):
    """The first implementation of the IHSN: the supersets of the set, of which there are
    2^(m−k) − 1, by the number of sets of its size."""
    return (2 ** (m - k) - 1) / math.comb(m, k)


def suda2(columns, weigh, most, fraction):
    """Scores, contributions in per cent, and DIS scores. The level of these is that of
    data intrusion simulation (Skinner and Elliot 2002): of n1 sample uniques and n2 pairs,
    n1·π of n1·π + 2·n2·(1 − π) matches are right. The odds against a right match, in all
    n1·(1 − DIS)/DIS, are shared out by the scores to the power of −Q, Q = 1 + (8 − m)/20."""
    names, columns, m = list(columns), list(columns.values()), len(columns)
    found = [[s for s in sets if len(s) <= most] for sets in minimal_uniques(columns)]
    scores = [math.fsum(weigh(len(s), m, most) for s in sets) for sets in found]
    total = math.fsum(scores)
    contribution = {name: math.fsum(weigh(len(s), m, most) for sets in found for s in sets if j in s) / total for j, name in enumerate(names)}
    rows = list(zip(*columns))
    alone = sum(rows.count(r) == 1 for r in rows)
    pairs = sum(rows.count(r) == 2 for r in rows) // 2
    level = alone * fraction / (alone * fraction + 2 * pairs * (1 - fraction))
    against, power = alone * (1 - level) / level, 1 + (8 - m) / 20
    inverse = math.fsum(s ** -power for s in scores if s > 0)
    dis = [1 / (1 + against * s ** -power / inverse) if s > 0 else 0 for s in scores]
    return {"max_size": most, "fraction": fraction, "score": scores, "contribution": contribution, "dis": dis}


json.dump({
    "numeric": numeric, "masked": masked, "keys": keys, "keys_with_gaps": gaps, "sensitive": sensitive,
    "weights": weights, "household": household,
    "utility": utility, "linkage": linkage,
    "frequencies": plain, "frequencies_with_gaps": [frequencies(gaps, a) for a in (0.0, 0.5, 1.0)],
    "household_risk": household_risk, "diversity": diversity(2), "suda2": {
        "elliot": suda2(keys, elliot, 4, 0.05), "ihsn": suda2(keys, ihsn, 4, 0.2),
        "elliot_of_three": suda2(keys, elliot, 3, 0.05), "ihsn_of_two": suda2(keys, ihsn, 2, 0.9)},
    "suda2_with_gaps": {"elliot": suda2(gaps, elliot, 4, 0.05), "ihsn": suda2(gaps, ihsn, 3, 0.05)},
}, sys.stdout, separators=(",", ":"))
print()
