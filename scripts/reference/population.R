# Reference values for the log-linear models of population uniques: what modRisk of sdcMicro finds
# in data that are made here, by a rule; no person stands behind them. The test makes the same data.
#
#     Rscript scripts/reference/population.R >internal/intruder/population/testdata/modrisk.csv
#
# Needs R with sdcMicro. The file in the repository is by modRisk of sdcMicro 5.8.1 in R 4.2.2.
suppressMessages(library(sdcMicro))

n <- 600
state <- 20080101
uniform <- function() { # the minimal standard generator of Park and Miller
  state <<- (state * 16807) %% 2147483647
  state / 2147483647
}
skewed <- function(levels) { u <- uniform(); floor(levels * u * u) }
d <- data.frame(a = numeric(n), b = 0, c = 0, d = 0, equal = 40, weight = 0)
for (i in seq_len(n)) {
  d$a[i] <- skewed(3); d$b[i] <- skewed(4); d$c[i] <- skewed(6)
  d$d[i] <- skewed(7) + (d$a[i] == 2) # depends on a; the level 7 only there
  d$weight[i] <- 2 + floor(80 * uniform())
}
holes <- d # 1 of 29 lacks b, 1 of 41 lacks d
holes$b[seq_len(n) %% 29 == 0] <- NA
holes$d[seq_len(n) %% 41 == 5] <- NA

formulas <- list(main = ~ a + b + c + d, two = ~ a + b + c + d + a:d + b:c, three = ~ a + b + d + a:b + a:d + b:d + a:b:d,
  lone = ~ a + b + c + d + b:c:d)
cat("data,variables,formula,weight,method,gr1,gr2\n")
for (of in c("whole", "holes")) for (as in c("categories", "numbers")) for (f in names(formulas)) for (w in c("equal", "weight")) {
  x <- if (of == "whole") d else holes
  v <- all.vars(formulas[[f]])
  x <- x[, c(v, w)]
  if (as == "categories") for (k in v) x[[k]] <- factor(x[[k]])
  for (m in c("default", "CE", "PML", "weightedLLM", "IPF")) {
    r <- tryCatch(suppressWarnings(modRisk(x, method = m, weights = w, formulaM = formulas[[f]])), error = function(e) NULL)
    if (is.null(r) || !is.finite(r$gr1)) next
    cat(sprintf("%s,%s,%s,%s,%s,%.17g,%.17g\n", of, as, f, w, m, r$gr1, r$gr2))
  }
}
