mask_file <- function(config, set = NULL, allow_loosening = FALSE) {
  in_private(function(folder) {
    release(written(config, folder), config, set, allow_loosening, folder, "configuration")
  })
}

mask <- function(data, config, set = NULL, allow_loosening = FALSE) {
  in_private(function(folder) {
    table <- write_table(data, file.path(folder, "table.csv"))
    to <- file.path(folder, "released.csv")
    path <- replaced(config, list(source = table$source, sink = table$sink(to)), folder)
    report <- release(path, config, set, allow_loosening, folder, if (is.list(config)) "configuration" else config)
    list(released = read_table(to, table), report = report)
  })
}

# Runs a configuration and returns its report, or signals what became of it.
release <- function(path, config, set, allow_loosening, folder, name) {
  own <- if (reported(config, set)) NULL else file.path(folder, "report.json")
  if (!is.null(own)) set <- c(as.list(set), list(report.json = own))
  arguments <- c("run", path, "--summary", "json", settings(set), if (allow_loosening) "--allow-loosening")
  names <- names_of(folder, name)
  done <- run(arguments, folder, c(released, quarantined, refused), names)
  summary <- jsonlite::fromJSON(done$out, simplifyDataFrame = FALSE)
  report <- if (!is.null(own)) own else report_among(unlist(summary$files))
  if (is.null(report)) stop(condition("sdlfilter_error", "the report is not among the files of the run", status = done$status))
  report <- read_report(report)
  attr(report, "files") <- Filter(function(file) !startsWith(file, folder), unlist(summary$files))
  if (done$status == refused) {
    broken <- vapply(Filter(function(rule) !rule$passed, summary$rules), function(rule) rule$rule, "")
    stop(condition("sdlfilter_withheld", paste0("the gate refused the release: ", paste(broken, collapse = "; ")),
                   report = report, status = done$status))
  }
  if (done$status == quarantined) {
    warning(condition("sdlfilter_quarantine", paste(report$records$quarantined, "records could not be masked and are in quarantine"),
                      kind = "warning", report = report))
  }
  report
}

# What the program calls what the caller knows otherwise.
names_of <- function(folder, name) {
  structure(c(name, "table"), names = file.path(folder, c("configuration.yaml", "table.csv")))
}

report_among <- function(files) {
  for (file in files[grepl("\\.json$", files) & !grepl("\\.public\\.json$", files)]) {
    head <- tryCatch(jsonlite::fromJSON(file, simplifyVector = FALSE)$schema, error = function(e) NULL)
    if (identical(head, "sdlfilter.report/1")) return(file)
  }
  NULL
}

assess <- function(original, released, id = NULL, columns = NULL, targets = NULL) {
  in_private(function(folder) {
    arguments <- c("assess", "--json", "--original", path_of(original, "original", folder),
                   "--released", path_of(released, "released", folder),
                   flags(list(id = id, columns = columns, targets = targets)))
    read_report(run(arguments, folder)$out)
  })
}

attack <- function(config = NULL, original = NULL, released = NULL, set = NULL, ...) {
  if (is.null(config) == is.null(original)) configuration_error("attack: give a configuration, or original (and released)")
  in_private(function(folder) {
    arguments <- c("attack", "--json")
    arguments <- c(arguments, if (!is.null(config)) written(config, folder) else {
      c("--original", path_of(original, "original", folder), if (!is.null(released)) c("--released", path_of(released, "released", folder)))
    }, flags(list(...)), settings(set))
    read_report(run(arguments, folder)$out, "sdlfilter_attack")
  })
}

map <- function(config, set = NULL) {
  in_private(function(folder) {
    out <- file.path(folder, "map")
    run(c("map", written(config, folder), "--out", out, settings(set)), folder)
    result <- read_report(file.path(out, "map.json"), "sdlfilter_map")
    attr(result, "svg") <- paste(readLines(file.path(out, "map.svg"), warn = FALSE, encoding = "UTF-8"), collapse = "\n")
    result
  })
}
