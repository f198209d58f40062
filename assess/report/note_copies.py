# Puts estimates from synthetic copies together (Reiter 2003). As it is, on copies made up
# for the purpose; on the released ones, as CSV: python3 note.py COLUMN OTHER FILE FILE …
# Needs nothing but Python 3.10.
import csv
import math
import random
import sys
from statistics import fmean, variance


def t_quantile(p, df):
    """Student's t: by its density, summed up to the quantile."""
    if df > 1e6:
        df = 1e6
    log = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(df * math.pi)
    density = lambda a: math.exp(log - (df + 1) / 2 * math.log1p(math.tan(a) ** 2 / df)) / math.cos(a) ** 2
    steps, low, high = 400, 0.0, math.pi / 2 - 1e-9
    for _ in range(60):
        mid = (low + high) / 2
        h = mid / steps
        area = h / 3 * sum((1 if k in (0, steps) else 4 if k % 2 else 2) * density(k * h) for k in range(steps + 1))
        low, high = (mid, high) if 0.5 + area < p else (low, mid)
    return math.tan(low)


fitted = @FITTED@  # share of the records that the models were fitted to, at least


def combine(q, u):
    """Estimates q and their variances u, one of each copy: the estimate, its standard
    error and the ends of its 95 % interval."""
    m, estimate, within = len(q), fmean(q), fmean(u) / fitted
    if m == 1:
        total, df = 2 * within, 1e6
    else:
        between = variance(q)
        total = within + between / m
        df = (m - 1) * (1 + within * m / between) ** 2 if between > 0 else 1e6
    half = t_quantile(0.975, df) * math.sqrt(total)
    return estimate, math.sqrt(total), estimate - half, estimate + half


def mean_of(y, x):
    return fmean(y), variance(y) / len(y)


def slope_of(y, x):
    """Of y on x, by least squares."""
    my, mx = fmean(y), fmean(x)
    sxx = sum((v - mx) ** 2 for v in x)
    b = sum((v - mx) * (w - my) for v, w in zip(x, y)) / sxx
    rest = sum((w - my - b * (v - mx)) ** 2 for v, w in zip(x, y))
    return b, rest / (len(y) - 2) / sxx


def read(path, y, x):
    with open(path, newline="") as file:
        rows = [r for r in csv.DictReader(file) if r[y] != "" and r[x] != ""]
    return [float(r[y]) for r in rows], [float(r[x]) for r in rows]


if len(sys.argv) > 3:
    copies = [read(path, sys.argv[1], sys.argv[2]) for path in sys.argv[3:]]
else:  # @NAME@ of some people, and another column that goes with it
    random.seed(1)
    other = [random.gauss(0, 1) for _ in range(500)]
    copies = [([@MEAN@ + @SD@ * (0.6 * v + 0.8 * random.gauss(0, 1)) for v in other], other) for _ in range(@COPIES@)]

print(f"{'':24}{'estimate':>12}{'std. error':>12}{'95 % from':>12}{'to':>12}")
for name, of in [("mean", mean_of), ("slope on the other", slope_of)]:
    q, u = zip(*(of(y, x) for y, x in copies))
    print(f"{name:24}" + "".join(f"{v:12.6g}" for v in combine(q, u)))
