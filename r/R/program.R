# Runs the program: arguments, exit statuses, and the folder for what lies about meanwhile.

released <- 0L
quarantined <- 3L
refused <- 4L

program <- function() {
  given <- Sys.getenv("SDLFILTER_BINARY")
  found <- if (nzchar(given)) normalizePath(given, mustWork = FALSE) else unname(Sys.which("sdlfilter"))
  # A folder of PATH that is not absolute is wherever one happens to work: whatever lies there is not run.
  if (!nzchar(found) || !startsWith(found, "/") || file.access(found, 1L) != 0L) {
    stop(condition("sdlfilter_error", "the program sdlfilter is not on PATH: install it, or name it in SDLFILTER_BINARY"))
  }
  found
}

condition <- function(class, message, kind = "error", ...) {
  structure(class = c(class, if (kind == "error") "sdlfilter_error", kind, "condition"), list(message = message, call = NULL, ...))
}

configuration_error <- function(...) stop(condition("sdlfilter_configuration_error", paste0(...)))

# Runs code with a folder of this user alone, which is removed whatever ends it. The folder knows the umask of the caller,
# with which the program writes a release.
in_private <- function(code) {
  old <- Sys.umask("077")
  on.exit(Sys.umask(old))
  folder <- tempfile("sdlfilter-")
  on.exit(unlink(folder, recursive = TRUE, force = TRUE), add = TRUE)
  if (!dir.create(folder, mode = "0700")) stop(condition("sdlfilter_error", "no private folder can be made in tempdir()"))
  code(structure(folder, umask = old))
}

# Runs a command; a status that is not among accept is a condition. names are what the program calls what the caller
# knows otherwise.
run <- function(arguments, folder, accept = released, names = character()) {
  out <- file.path(folder, "stdout")
  err <- file.path(folder, "stderr")
  file.create(out, err) # with their own mode, which they keep
  own <- Sys.umask(attr(folder, "umask"))
  on.exit(Sys.umask(own))
  arguments <- c(arguments, "--log-format", "json", "--progress", "none")
  status <- suppressWarnings(system2(program(), shQuote(enc2utf8(arguments)), stdout = out, stderr = err, stdin = "/dev/null"))
  lines <- if (file.exists(err)) readLines(err, warn = FALSE, encoding = "UTF-8") else character()
  said <- sub("^sdlfilter: ", "", lines[nzchar(lines) & !startsWith(lines, "{")])
  for (path in names(names)) said <- gsub(path, names[[path]], said, fixed = TRUE)
  message <- paste(said, collapse = "\n")
  if (!status %in% accept) {
    if (!nzchar(message)) message <- paste("the program ended with status", status)
    if (status == 2L) configuration_error(message)
    stop(condition("sdlfilter_error", message, status = status))
  }
  list(status = status, out = out, message = message)
}

# The program's --set flags.
settings <- function(set) {
  flags <- character()
  for (path in names(set)) {
    value <- set[[path]]
    if (length(value) != 1L || is.na(value) || !(is.character(value) || is.numeric(value) || is.logical(value))) {
      configuration_error("set: ", path, ": must be one string, number or truth value")
    }
    value <- if (is.logical(value)) tolower(value) else if (is.numeric(value)) digits(value) else value
    flags <- c(flags, "--set", paste0(path, "=", value))
  }
  if (length(set) && is.null(names(set))) configuration_error("set: must have names")
  flags
}

# Flags of a command by the names of arguments: one_to_one = TRUE is --one-to-one.
flags <- function(given) {
  list <- character()
  for (name in names(given)) {
    value <- given[[name]]
    flag <- paste0("--", gsub("_", "-", name, fixed = TRUE))
    if (is.null(value) || isFALSE(value)) next
    list <- c(list, if (isTRUE(value)) flag else if (is.null(names(value))) {
      paste0(flag, "=", paste(value, collapse = ","))
    } else {
      paste0(flag, "=", paste0(names(value), "=", value, collapse = ","))
    })
  }
  list
}

read_report <- function(path, class = NULL) {
  content <- jsonlite::fromJSON(path, simplifyDataFrame = FALSE, simplifyMatrix = FALSE)
  structure(content, class = c(class, "sdlfilter_report", "list"))
}

format.sdlfilter_report <- function(x, ...) {
  records <- x$records
  verdict <- if (!is.null(x$withheld)) "withheld" else if (isTRUE(x$gate$passed)) "released" else "measured"
  paste0("<sdlfilter report", if (!is.null(x$name)) paste0(" of ", x$name), ": ", verdict,
         if (!is.null(records$released)) paste0(", ", records$released, " records"), "; confidential>")
}

# A notebook is saved with what it shows: the figures are shown when they are asked for by name.
print.sdlfilter_report <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}
