# The R-U map of one column in plain vectorised R, for scripts/bench-map.sh:
#
#   Rscript scripts/bench-map.R FILE.csv REPLICATES POINTS plain|common|tuned
#
# Noise of 5 % to 100 % of the column's standard deviation, in equal steps of its
# square; released values have 2 decimals; 6 targets, each known by its record (the
# index) and by its position; Duncan et al. (2004), equations 12 and 14.
#
# plain   draws anew at every point, rounds by round(), sorts
# common  uses the same draws at every point, as sdlfilter does
# tuned   and rounds by floor(), which is faster, and finds the order statistics by
#         quantile(type = 1), which sorts partially
#
# Prints the seconds of the loop, elapsed and of CPU, without reading the file;
# then U and R (maximum, index) of each point.

args <- commandArgs(trailingOnly = TRUE)
x <- scan(args[1], skip = 1, quiet = TRUE)
replicates <- as.integer(args[2])
points <- as.integer(args[3])
how <- match.arg(args[4], c("plain", "common", "tuned"))

n <- length(x)
p <- c(0, 0.01, 0.1, 0.9, 0.99, 1) # min, p01, p10, p90, p99, max
k <- pmax(1, ceiling(n * p))
sds <- sd(x) * sqrt(seq(0.05^2, 1, length.out = points))
set.seed(1)

before <- proc.time()
tau <- sort(x)[k]
holder <- order(x)[k]
mean_x <- mean(x)
index <- position <- matrix(0, points, length(p)) # sums of squared errors
means <- variances <- numeric(points)             # sums
for (m in seq_len(replicates)) {
  if (how != "plain") e <- rnorm(n)
  for (i in seq_len(points)) {
    if (how == "plain") e <- rnorm(n)
    y <- if (how == "tuned") floor((x + sds[i] * e) * 100 + 0.5) / 100 else round(x + sds[i] * e, 2)
    means[i] <- means[i] + mean(y)
    variances[i] <- variances[i] + var(y)
    at <- if (how == "tuned") quantile(y, p, type = 1, names = FALSE) else sort(y)[k]
    position[i, ] <- position[i, ] + (tau - at)^2
    index[i, ] <- index[i, ] + (tau - y[holder])^2
  }
}
U <- 1 / (variances / replicates / n + (means / replicates - mean_x)^2)
index <- replicates / index
position <- replicates / position
taken <- proc.time() - before

cat(taken[["elapsed"]], taken[["user.self"]] + taken[["sys.self"]], "\n")
write.table(cbind(U, index[, 6]), row.names = FALSE, col.names = FALSE)
