# Takes the published masks of @NAME@ out of statistics. Runs as it is, on
# data made up for the purpose; needs nothing but base R.
phi2 <- @PHI2@  # φ²
# λ² of each noise, its factor for values above a bound, and the SD of all that
# may carry a value past such a bound, or NA
noise <- list(@NOISE@)

factor_of <- function(v, n) {
  factor <- rep(1, length(v))
  for (k in seq_along(n$above)) factor[v > n$above[k]] <- n$factor[k]
  factor
}

# Limits of the mean factor of λ², from how many released values lie near the
# bounds: noise carries a value past a bound as often as not, and rarely far
# (Gauss's inequality).
factor_range <- function(y, n) {
  all <- range(c(1, n$factor))
  if (is.na(n$spread)) return(all)
  share <- function(bound) mean(y > bound)
  low <- high <- before <- 1
  for (k in seq_along(n$above)) {
    above <- n$above[k]
    most <- min(1, 2 * share(above))
    fewest <- max(0, 1 - 2 * (1 - share(above)))
    for (c in c(1.25, 1.5, 2, 2.5, 3, 4, 5, 7, 10)) {
      sure <- 1 - 2 / (9 * c^2)
      most <- min(most, share(above - c * n$spread) / sure)
      fewest <- max(fewest, 1 - (1 - share(above + c * n$spread)) / sure)
    }
    step <- n$factor[k] - before
    low <- low + min(step * fewest, step * most)
    high <- high + max(step * fewest, step * most)
    before <- n$factor[k]
  }
  c(max(low, all[1]), min(high, all[2]))
}

# Variance of the respondents' values, from the released ones: at least and at
# most. The two differ where the noise has tiers.
corrected_variance <- function(y) {
  rest <- var(y) - phi2 * mean(y)^2
  added <- c(0, 0)
  for (n in noise) added <- added + n$variance * factor_range(y, n)
  rev(rest - added) / (1 + phi2)
}

# Put your own data here: y, the released column without its missing values, and
# w, another column that is not masked. x is what you do not have.
set.seed(1)
n <- 20000
x <- rnorm(n, @MEAN@, @SD@)
w <- x / @SD@ + rnorm(n)
y <- x * rnorm(n, 1, sqrt(phi2))
for (e in noise) y <- y + rnorm(n, 0, sqrt(e$variance * factor_of(x, e)))

v <- corrected_variance(y)
if (v[1] <= 0) stop("the masks may hide all of the variance: nothing can be corrected")
r <- cor(y, w) * sqrt(var(y) / v)
b <- cov(y, w) / v
print(data.frame(
  released = c(mean(y), sd(y), cor(y, w), cov(y, w) / var(y)),
  at_least = c(mean(y), sqrt(v[1]), min(r), min(b)),
  at_most = c(mean(y), sqrt(v[2]), max(r), max(b)),
  true = c(mean(x), sd(x), cor(x, w), cov(x, w) / var(x)),
  row.names = c("mean", "standard deviation", "correlation with w", "slope of w on it")
), digits = 5)
