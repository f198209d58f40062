# Data frames in and out, as CSV in the private folder: each value is read back as the same value.

# Numbers as the shortest text, of 15 or 17 digits, that is the same double.
digits <- function(x) {
  if (is.integer(x)) return(sprintf("%d", x))
  text <- sprintf("%.15g", x)
  text[is.na(x)] <- "0" # whoever calls puts what is missing in its place
  long <- !is.na(x) & as.numeric(text) != x
  text[long] <- sprintf("%.17g", x[long])
  text
}

kind_of <- function(column, name) {
  kind <- if (is.factor(column) || is.character(column)) "string"
    else if (inherits(column, "Date")) "date"
    else if (is.object(column)) NA
    else if (is.logical(column)) "bool"
    else if (is.integer(column)) "int64"
    else if (is.double(column)) "float64"
    else NA
  if (is.na(kind)) configuration_error("column ", name, ": must be numbers, texts, factors, truth values or dates, and is of class ", class(column)[1L])
  if (kind == "float64" && any(!is.finite(column) & !(is.na(column) & !is.nan(column)))) {
    configuration_error("column ", name, ": must be finite numbers, or NA")
  }
  kind
}

as_text <- function(column, kind) {
  if (kind == "date") {
    if (any(as.numeric(column) %% 1 != 0, na.rm = TRUE)) configuration_error("a date must be a whole day")
    return(format(column, "%Y-%m-%d"))
  }
  switch(kind, string = enc2utf8(as.character(column)), bool = tolower(as.character(column)), digits(column))
}

# Writes a data frame and returns the source for it. A missing value is a text that no cell has, so that an empty text
# stays one.
write_table <- function(data, path) {
  if (!is.data.frame(data)) configuration_error("must be a path or a data frame, got ", class(data)[1L])
  columns <- enc2utf8(names(data))
  if (!length(columns) || anyNA(columns) || any(!nzchar(columns)) || anyDuplicated(columns) || any(grepl("[\r\n]", columns))) {
    configuration_error("the columns of a data frame must have names, each once, without line breaks")
  }
  kinds <- vapply(columns, function(name) kind_of(data[[name]], name), "")
  cells <- Map(as_text, unclass(data)[seq_along(columns)], kinds)
  missing <- "NA-of-R"
  while (missing %in% unlist(cells[kinds == "string"], use.names = FALSE)) missing <- paste0(missing, "_")
  quoted <- function(text) paste0("\"", gsub("\"", "\"\"", text, fixed = TRUE), "\"")
  fields <- lapply(seq_along(cells), function(i) {
    text <- if (kinds[i] == "string") quoted(cells[[i]]) else cells[[i]]
    text[is.na(data[[i]])] <- missing
    text
  })
  rows <- if (nrow(data)) do.call(paste, c(fields, sep = ",")) else character()
  write_text(c(paste(quoted(columns), collapse = ","), rows), path)
  list(kinds = kinds, missing = missing,
       source = list(csv = list(path = path, nulls = I(missing), types = as.list(kinds))),
       sink = function(to) list(csv = list(path = to, nulls = missing, quoting = "all")))
}

# Reads a release back. A column is of the type that it had, if all of its values still are; factors become texts, whose
# levels would name categories that nobody has any more.
read_table <- function(path, table) {
  data <- read.csv(path, colClasses = "character", na.strings = table$missing, check.names = FALSE, encoding = "UTF-8",
                   strip.white = FALSE, blank.lines.skip = FALSE)
  for (name in names(data)) {
    text <- data[[name]]
    value <- suppressWarnings(switch(table$kinds[[name]],
      int64 = as.numeric(text), float64 = as.numeric(text), bool = as.logical(toupper(text)),
      date = as.Date(text, format = "%Y-%m-%d"), text))
    if (identical(is.na(value), is.na(text))) {
      whole <- table$kinds[[name]] == "int64" && all(is.na(value) | value %% 1 == 0 & abs(value) <= .Machine$integer.max)
      data[[name]] <- if (whole) as.integer(value) else value
    }
  }
  data
}

# The path of a file, or of a data frame that is put where the program can read it.
path_of <- function(data, name, folder) {
  if (is.character(data) && length(data) == 1L) return(data)
  # A command that is given files alone cannot be told which text is a missing value.
  if (is.data.frame(data) && anyNA(data)) configuration_error(name, ": must have no missing values; write it to a file, and give its path")
  path <- file.path(folder, paste0(name, ".csv"))
  write_table(data, path)
  path
}
