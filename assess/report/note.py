# Takes the published masks of @NAME@ out of statistics. Runs as it is, on
# data made up for the purpose; needs nothing but Python 3.10.
import math
import random
from statistics import correlation, covariance, fmean, variance

PHI2 = @PHI2@  # φ²
# (λ², [(above, factor of λ²), …], SD of all that may carry a value past such a
# bound, or None) of each noise
NOISE = [@NOISE@]


def factor_of(v, tiers):
    factor = 1.0
    for above, f in tiers:
        if v > above:
            factor = f
    return factor


def factor_range(y, tiers, spread):
    """Limits of the mean factor of λ², from how many released values lie near the
    bounds: noise carries a value past a bound as often as not, and rarely far
    (Gauss's inequality)."""
    factors = [1.0] + [f for _, f in tiers]
    low = high = before = 1.0
    for above, f in tiers if spread is not None else []:
        share = lambda bound: fmean(v > bound for v in y)
        most, fewest = min(1, 2 * share(above)), max(0, 1 - 2 * (1 - share(above)))
        for c in (1.25, 1.5, 2, 2.5, 3, 4, 5, 7, 10):
            sure = 1 - 2 / (9 * c * c)
            most = min(most, share(above - c * spread) / sure)
            fewest = max(fewest, 1 - (1 - share(above + c * spread)) / sure)
        if f < before:
            most, fewest = fewest, most
        low, high, before = low + (f - before) * fewest, high + (f - before) * most, f
    if spread is None:
        return min(factors), max(factors)
    return max(low, min(factors)), min(high, max(factors))


def corrected_variance(y):
    """Variance of the respondents' values, from the released ones: at least and at
    most. The two differ where the noise has tiers."""
    ranges = [(lambda2, factor_range(y, tiers, spread)) for lambda2, tiers, spread in NOISE]
    rest = variance(y) - PHI2 * fmean(y) ** 2
    least = (rest - sum(lambda2 * high for lambda2, (_, high) in ranges)) / (1 + PHI2)
    most = (rest - sum(lambda2 * low for lambda2, (low, _) in ranges)) / (1 + PHI2)
    return least, most


# Put your own data here: y, the released column without its missing values, and
# w, another column that is not masked. x is what you do not have.
random.seed(1)
x = [random.gauss(@MEAN@, @SD@) for _ in range(20000)]
w = [v / @SD@ + random.gauss(0, 1) for v in x]
y = [v * random.gauss(1, math.sqrt(PHI2)) + sum(random.gauss(0, math.sqrt(n[0] * factor_of(v, n[1]))) for n in NOISE) for v in x]

low, high = corrected_variance(y)
if low <= 0:
    raise SystemExit("The masks may hide all of the variance: nothing can be corrected.")
r, slope = correlation(y, w), covariance(y, w) / variance(y)
print(f"{'':24}{'released':>12}{'at least':>12}{'at most':>12}{'true':>12}")
for name, released, one, other, true in [
    ("mean", fmean(y), fmean(y), fmean(y), fmean(x)),
    ("standard deviation", variance(y) ** 0.5, low ** 0.5, high ** 0.5, variance(x) ** 0.5),
    ("correlation with w", r, r * (variance(y) / high) ** 0.5, r * (variance(y) / low) ** 0.5, correlation(x, w)),
    ("slope of w on it", slope, slope * variance(y) / high, slope * variance(y) / low, covariance(x, w) / variance(x)),
]:
    print(f"{name:24}{released:12.5g}{min(one, other):12.5g}{max(one, other):12.5g}{true:12.5g}")
