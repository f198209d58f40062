# Takes the published masks of @NAME@ out of statistics. Runs as it is, on
# data made up for the purpose; needs nothing but base R.
phi2 <- @PHI2@  # φ²
# λ² of each noise, and its factor for values above a bound
noise <- list(@NOISE@)

# Variance of the noise that values v get.
noise_variance <- function(v) {
  total <- numeric(length(v))
  for (n in noise) {
    factor <- rep(1, length(v))
    for (k in seq_along(n$above)) factor[v > n$above[k]] <- n$factor[k]
    total <- total + n$variance * factor
  }
  total
}

# Variance of the respondents' values, from the released ones.
corrected_variance <- function(y) {
  (var(y) - phi2 * mean(y)^2 - mean(noise_variance(y))) / (1 + phi2)
}

reliability <- function(y) corrected_variance(y) / var(y)

# Put your own data here: y, the released column without its missing values, and
# w, another column that is not masked. x is what you do not have.
set.seed(1)
n <- 20000
x <- rnorm(n, @MEAN@, @SD@)
w <- x / @SD@ + rnorm(n)
y <- x * rnorm(n, 1, sqrt(phi2)) + rnorm(n, 0, sqrt(noise_variance(x)))

rho <- reliability(y)
print(data.frame(
  released = c(mean(y), sd(y), cor(y, w), cov(y, w) / var(y)),
  corrected = c(mean(y), sqrt(corrected_variance(y)), cor(y, w) / sqrt(rho), cov(y, w) / var(y) / rho),
  true = c(mean(x), sd(x), cor(x, w), cov(x, w) / var(x)),
  row.names = c("mean", "standard deviation", "correlation with w", "slope of w on it")
), digits = 5)
