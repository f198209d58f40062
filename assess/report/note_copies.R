# Puts estimates from synthetic copies together (Reiter 2003). As it is, on copies made up
# for the purpose; on the released ones, as CSV: Rscript note.R COLUMN OTHER FILE FILE …
# Needs nothing but base R.

# Estimates q and their variances u, one of each copy: the estimate, its standard error and
# the ends of its 95 % interval.
fitted <- @FITTED@ # share of the records that the models were fitted to, at least
combine <- function(q, u) {
  m <- length(q)
  u <- u / fitted
  if (m == 1) {
    total <- 2 * u
    df <- Inf
  } else {
    between <- var(q)
    total <- mean(u) + between / m
    df <- if (between > 0) (m - 1) * (1 + mean(u) * m / between)^2 else Inf
  }
  half <- qt(0.975, df) * sqrt(total)
  c(estimate = mean(q), std_error = sqrt(total), from = mean(q) - half, to = mean(q) + half)
}

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) > 2) {
  copies <- lapply(arguments[-(1:2)], function(path) {
    d <- read.csv(path, check.names = FALSE)[, arguments[1:2]]
    d <- d[complete.cases(d), ]
    list(y = d[[1]], x = d[[2]])
  })
} else { # @NAME@ of some people, and another column that goes with it
  set.seed(1)
  other <- rnorm(500)
  copies <- replicate(@COPIES@, list(y = @MEAN@ + @SD@ * (0.6 * other + 0.8 * rnorm(500)), x = other), simplify = FALSE)
}

means <- sapply(copies, function(d) c(mean(d$y), var(d$y) / length(d$y)))
slopes <- sapply(copies, function(d) summary(lm(d$y ~ d$x))$coefficients[2, 1:2])
print(rbind(
  "mean" = combine(means[1, ], means[2, ]),
  "slope on the other" = combine(slopes[1, ], slopes[2, ]^2)
), digits = 6)
