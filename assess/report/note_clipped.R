# Fits the normal column that @NAME@ was before its ends were moved to
# bounds, where it looks like one. Runs as it is, on data made up for the purpose;
# needs nothing but base R.
lower <- @LOWER@  # infinite: no bound
upper <- @UPPER@
lambda2 <- @LAMBDA2@  # λ², the variance of normal noise that was added before

# Mean and SD of y before its ends were moved to the bounds, and the share of
# records within them; NULL where the values within the bounds do not look normal,
# or are too few to see it. Values at a bound are censored (tobit).
clipped_normal <- function(y) {
  inside <- y[y > lower & y < upper]
  heap <- c(sum(y <= lower), sum(y >= upper))
  n <- length(y)
  if (n < 5000 || length(inside) < 0.75 * n || var(inside) == 0) return(NULL)
  origin <- inside[1]
  total <- sum(inside - origin)
  squares <- sum((inside - origin)^2)
  m <- mean(inside)
  s <- sqrt(mean((inside - m)^2))
  for (k in 1:10000) {
    sums <- c(total, squares)
    for (side in 1:2) if (heap[side] > 0) {
      sign <- c(-1, 1)[side]
      z <- sign * (c(lower, upper)[side] - m) / s
      hazard <- dnorm(z) / pnorm(z, lower.tail = FALSE)
      e <- m - origin + sign * s * hazard
      sums <- sums + heap[side] * c(e, s^2 * (1 + z * hazard - hazard^2) + e^2)
    }
    was <- c(m, s)
    m <- origin + sums[1] / n
    s <- sqrt(sums[2] / n - (sums[1] / n)^2)
    if (sum(abs(c(m, s) - was)) < 1e-9 * s) break
  }
  # Counts in 20 parts of equal probability and at the bounds, by chi-squared.
  below <- pnorm(lower, m, s)
  above <- pnorm(upper, m, s)
  part <- pmin(pmax(floor(20 * (pnorm(inside, m, s) - below) / (above - below)), 0), 19)
  counts <- c(tabulate(part + 1, 20), heap)
  shares <- c(rep((above - below) / 20, 20), below, 1 - above)
  if (any(counts[shares <= 0] > 0)) return(NULL)
  some <- shares > 0
  if (sum((counts - n * shares)[some]^2 / (n * shares[some])) >= 30.14) return(NULL)  # which chance passes once in 20 times
  c(mean = m, sd = s * sqrt(n / (n - 1)), inside = length(inside) / n)
}

# Put your own data here: y, the released column without its missing values, and
# w, another column that is not masked. x is what you do not have.
set.seed(1)
n <- 20000
x <- rnorm(n, @MEAN@, @SD@)
w <- x / @SD@ + rnorm(n)
y <- pmin(pmax(x + rnorm(n, 0, sqrt(lambda2)), lower), upper)

fit <- clipped_normal(y)
if (is.null(fit) || fit[["sd"]]^2 <= lambda2) stop("the values do not look like a clipped normal column: no correction is known")
left <- fit[["sd"]]^2 - lambda2  # the variance of x
covariance <- cov(y, w) / fit[["inside"]]  # Stein's lemma: where the mean of w is linear in x
print(data.frame(
  released = c(mean(y), sd(y), cor(y, w), cov(y, w) / var(y), cov(y, w) / var(w)),
  corrected = c(fit[["mean"]], sqrt(left), covariance / sqrt(left * var(w)), covariance / left, covariance / var(w)),
  true = c(mean(x), sd(x), cor(x, w), cov(x, w) / var(x), cov(x, w) / var(w)),
  row.names = c("mean", "standard deviation", "correlation with w", "slope of w on it", "slope of it on w")
), digits = 5)
