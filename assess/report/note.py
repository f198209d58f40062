# Takes the published masks of @NAME@ out of statistics. Runs as it is, on
# data made up for the purpose; needs nothing but Python 3.10.
import math
import random
from statistics import correlation, covariance, fmean, variance

PHI2 = @PHI2@  # φ²
NOISE = [@NOISE@]  # (λ², [(above, factor of λ²), …]) of each


def noise_variance(v):
    """Variance of the noise that a value v gets."""
    total = 0.0
    for lambda2, tiers in NOISE:
        factor = 1.0
        for above, f in tiers:
            if v > above:
                factor = f
        total += lambda2 * factor
    return total


def corrected_variance(y):
    """Variance of the respondents' values, from the released ones."""
    noise = fmean(noise_variance(v) for v in y)
    return (variance(y) - PHI2 * fmean(y) ** 2 - noise) / (1 + PHI2)


def reliability(y):
    return corrected_variance(y) / variance(y)


# Put your own data here: y, the released column without its missing values, and
# w, another column that is not masked. x is what you do not have.
random.seed(1)
x = [random.gauss(@MEAN@, @SD@) for _ in range(20000)]
w = [v / @SD@ + random.gauss(0, 1) for v in x]
y = [v * random.gauss(1, math.sqrt(PHI2)) + random.gauss(0, math.sqrt(noise_variance(v))) for v in x]

rho = reliability(y)
print(f"{'':24}{'released':>12}{'corrected':>12}{'true':>12}")
for name, released, corrected, true in [
    ("mean", fmean(y), fmean(y), fmean(x)),
    ("standard deviation", variance(y) ** 0.5, corrected_variance(y) ** 0.5, variance(x) ** 0.5),
    ("correlation with w", correlation(y, w), correlation(y, w) / math.sqrt(rho), correlation(x, w)),
    ("slope of w on it", covariance(y, w) / variance(y), covariance(y, w) / variance(y) / rho, covariance(x, w) / variance(x)),
]:
    print(f"{name:24}{released:12.5g}{corrected:12.5g}{true:12.5g}")
