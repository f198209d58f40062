# Releases of files of statistical packages, against haven: each is read, and compared with its source as haven reads that.
#
#     Rscript statfiles.R FOLDER      the folder that statfiles.py --keep has made

suppressPackageStartupMessages(library(haven))
folder <- commandArgs(trailingOnly = TRUE)[1]
pairs <- read.csv(file.path(folder, "pairs.csv"), stringsAsFactors = FALSE)

load <- function(path) {
  switch(tolower(tools::file_ext(path)),
    sav = , zsav = read_sav(path, user_na = TRUE), dta = read_dta(path), xpt = read_xpt(path), sas7bdat = read_sas(path))
}

# bare is a column without all that is said of it: declared missing codes are values.
bare <- function(x) as.vector(unclass(x))

# differs says in what respect a column of a release differs from its source; "" in none.
differs <- function(x, y, same) {
  dated <- inherits(x, c("Date", "POSIXct", "difftime")) || inherits(y, c("Date", "POSIXct", "difftime"))
  a <- bare(x)
  b <- bare(y)
  if (is.character(a)) {
    a[is.na(a)] <- ""
    b[is.na(b)] <- ""
    if (!identical(a, b)) return("values")
  } else {
    if (!(dated && !same) && !(identical(is.na(a), is.na(b)) && all(a[!is.na(a)] == b[!is.na(b)]))) return("values")
    if (same && !dated && !identical(na_tag(a), na_tag(b))) return("tags of missing values")
  }
  if (!same) return("")
  labels <- function(v) {
    l <- attr(v, "labels", exact = TRUE)
    if (is.null(l)) return(character())
    if (is.character(l)) return(sort(setNames(as.character(l), names(l))))
    l <- setNames(paste(format(as.numeric(l), digits = 17), na_tag(l)), names(l))
    sort(l)
  }
  occurring <- function(v, of) {
    l <- attr(v, "labels", exact = TRUE)
    if (is.null(l) || length(l) == 0) return(character())
    present <- if (is.character(l)) l %in% of else {
      ifelse(is.na(l), na_tag(l) %in% na_tag(of), as.numeric(l) %in% of)
    }
    l <- l[present]
    if (length(l) == 0) return(character())
    attr(v, "labels") <- l
    labels(v)
  }
  if (!identical(unname(labels(y)), unname(occurring(x, bare(x)))) || !identical(names(labels(y)), names(occurring(x, bare(x))))) return("labels of values")
  a <- attr(x, "label", exact = TRUE)
  b <- attr(y, "label", exact = TRUE)
  if (!identical(a, b) && !(is.null(a) && is.null(b)) && !(nchar(a, "bytes") > 250 && startsWith(a, b))) return("its label")
  ""
}

failed <- 0
for (i in seq_len(nrow(pairs))) {
  source <- tryCatch(load(pairs$source[i]), error = function(e) e)
  if (inherits(source, "error")) {
    cat("--  ", pairs$name[i], ": haven cannot read the source\n", sep = "")
    next
  }
  release <- tryCatch(load(pairs$release[i]), error = function(e) e)
  faults <- character()
  if (inherits(release, "error")) {
    faults <- paste("haven cannot read the release:", conditionMessage(release))
  } else if (!identical(names(source), names(release)) || nrow(source) != nrow(release)) {
    faults <- sprintf("%d columns of %d records, want %d of %d", ncol(release), nrow(release), ncol(source), nrow(source))
  } else {
    same <- substr(tools::file_ext(pairs$source[i]), 1, 1) == substr(tools::file_ext(pairs$release[i]), 1, 1) || grepl("sav$", pairs$source[i])
    for (k in seq_along(source)) {
      what <- differs(source[[k]], release[[k]], same)
      if (what != "") faults <- c(faults, sprintf("column %s: %s", names(source)[k], what))
    }
  }
  if (length(faults) > 0) {
    failed <- failed + 1
    cat("FAIL ", pairs$name[i], "\n", paste0("     ", head(faults, 8), "\n"), sep = "")
  } else {
    cat("ok   ", pairs$name[i], "\n", sep = "")
  }
}
cat(sprintf("haven %s: %d releases, %d failed\n", packageVersion("haven"), nrow(pairs), failed))
if (failed > 0 || nrow(pairs) == 0) quit(status = 1)
