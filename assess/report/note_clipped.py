# Fits the normal column that @NAME@ was before its ends were moved to
# bounds, where it looks like one. Runs as it is, on data made up for the purpose;
# needs nothing but Python 3.10.
import math
import random
from statistics import NormalDist, correlation, covariance, fmean, pstdev, variance

LOWER, UPPER = @LOWER@, @UPPER@  # infinite: no bound
LAMBDA2 = @LAMBDA2@  # λ², the variance of normal noise that was added before


def clipped_normal(y):
    """Mean and SD of y before its ends were moved to the bounds, and the share of
    records within them; None where the values within the bounds do not look
    normal, or are too few to see it. Values at a bound are censored (tobit)."""
    inside = [v for v in y if LOWER < v < UPPER]
    low, high = sum(v <= LOWER for v in y), sum(v >= UPPER for v in y)
    n = len(y)
    if n < 5000 or len(inside) < 0.75 * n or pstdev(inside) == 0:
        return None
    origin = inside[0]
    total = math.fsum(v - origin for v in inside)
    squares = math.fsum((v - origin) ** 2 for v in inside)
    mean, sd = fmean(inside), pstdev(inside)
    for _ in range(10000):
        m, s = total, squares
        for count, bound, sign in ((low, LOWER, -1), (high, UPPER, 1)):
            if count > 0:
                z = sign * (bound - mean) / sd
                hazard = math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / (math.erfc(z / math.sqrt(2)) / 2)
                e = mean - origin + sign * sd * hazard
                m += count * e
                s += count * (sd * sd * (1 + z * hazard - hazard**2) + e * e)
        was, was_sd = mean, sd
        mean, sd = origin + m / n, math.sqrt(s / n - (m / n) ** 2)
        if abs(mean - was) + abs(sd - was_sd) < 1e-9 * sd:
            break
    # Counts in 20 parts of equal probability and at the bounds, by χ².
    fit = NormalDist(mean, sd)
    below = fit.cdf(LOWER) if LOWER > -math.inf else 0.0
    above = fit.cdf(UPPER) if UPPER < math.inf else 1.0
    counts = [0] * 20
    for v in inside:
        counts[min(max(int(20 * (fit.cdf(v) - below) / (above - below)), 0), 19)] += 1
    chi2 = 0.0
    for count, share in [(k, (above - below) / 20) for k in counts] + [(low, below), (high, 1 - above)]:
        if share > 0:
            chi2 += (count - n * share) ** 2 / (n * share)
        elif count > 0:
            return None
    if not chi2 < 30.14:  # which chance passes once in 20 times
        return None
    return mean, sd * math.sqrt(n / (n - 1)), len(inside) / n


# Put your own data here: y, the released column without its missing values, and
# w, another column that is not masked. x is what you do not have.
random.seed(1)
x = [random.gauss(@MEAN@, @SD@) for _ in range(20000)]
w = [v / @SD@ + random.gauss(0, 1) for v in x]
y = [min(max(v + random.gauss(0, math.sqrt(LAMBDA2)), LOWER), UPPER) for v in x]

fit = clipped_normal(y)
if fit is None or fit[1] ** 2 <= LAMBDA2:
    raise SystemExit("The values do not look like a clipped normal column: no correction is known.")
mean, sd, inside = fit
left = sd**2 - LAMBDA2  # the variance of x
cov = covariance(y, w) / inside  # Stein's lemma: where the mean of w is linear in x
print(f"{'':24}{'released':>12}{'corrected':>12}{'true':>12}")
for name, released, corrected, true in [
    ("mean", fmean(y), mean, fmean(x)),
    ("standard deviation", variance(y) ** 0.5, left**0.5, variance(x) ** 0.5),
    ("correlation with w", correlation(y, w), cov / math.sqrt(left * variance(w)), correlation(x, w)),
    ("slope of w on it", covariance(y, w) / variance(y), cov / left, covariance(x, w) / variance(x)),
    ("slope of it on w", covariance(y, w) / variance(w), cov / variance(w), covariance(x, w) / variance(w)),
]:
    print(f"{name:24}{released:12.5g}{corrected:12.5g}{true:12.5g}")
