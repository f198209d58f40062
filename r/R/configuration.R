# The configuration is a file or the same as a list. The program alone knows what it means; here only the source and the
# sink are put in place of those in a file, line for line, so that errors keep their places.

as_json <- function(x) as.character(jsonlite::toJSON(x, auto_unbox = TRUE, digits = NA, null = "null", na = "null"))

write_text <- function(text, path) {
  con <- file(path, "wb")
  on.exit(close(con))
  writeLines(enc2utf8(text), con, useBytes = TRUE)
  path
}

read_text <- function(path) {
  if (!is.character(path) || length(path) != 1L) configuration_error("the configuration must be a path or a list")
  if (!file.exists(path)) configuration_error(path, ": no such file")
  readLines(path, warn = FALSE, encoding = "UTF-8")
}

# The path of a configuration.
written <- function(config, folder) {
  if (!is.list(config)) return(config)
  write_text(as_json(config), file.path(folder, "configuration.yaml"))
}

# The lines of a section of a file: from its name at the margin to the next text at the margin.
section <- function(lines, name, path) {
  starts <- grep(paste0("^[\"']?", name, "[\"']?[ \t]*:"), lines)
  if (!length(starts)) return(integer())
  if (length(starts) > 1L) configuration_error(path, ": has ", name, " more than once")
  margin <- grep("^[^ \t#]", lines)
  end <- c(margin[margin > starts], length(lines) + 1L)[1L]
  seq(starts, end - 1L)
}

# The path of a configuration with other sections in place of its own; of a sink the order of the records stays.
replaced <- function(config, sections, folder) {
  if (is.list(config)) {
    sections$sink$order <- config$sink$order
    return(written(utils::modifyList(config[setdiff(names(config), names(sections))], sections), folder))
  }
  lines <- read_text(config)
  content <- lines[grepl("^[ \t]*[^ \t#]", lines) & !grepl("^(---|%)", lines)]
  if (length(content) && grepl("^[ \t]*\\{", content[1L])) {
    configuration_error(config, ": begins with a brace; write one section a line, or give the configuration as a list")
  }
  for (name in names(sections)) {
    at <- section(lines, name, config)
    new <- sections[[name]]
    if (name == "sink") {
      text <- sub("(^|[ \t])#.*", "", lines[at])
      order <- regmatches(text, regexpr("\\border[\"']?[ \t]*:[ \t]*[^ \t,}]+", text, perl = TRUE))
      if (length(order)) new$order <- gsub("[\"']", "", sub(".*:[ \t]*", "", order[1L]))
    }
    line <- paste0(name, ": ", as_json(new))
    if (length(at)) lines[at] <- c(line, character(length(at) - 1L)) else lines <- c(lines, line)
  }
  write_text(lines, file.path(folder, "configuration.yaml"))
}

# Whether the report for programs has a file already: in the configuration, by a setting, or by the environment.
reported <- function(config, set) {
  if ("report.json" %in% names(set) || nzchar(Sys.getenv("SDLFILTER_REPORT__JSON"))) return(TRUE)
  if (is.list(config)) return(!is.null(config$report$json))
  lines <- read_text(config)
  any(grepl("\\bjson[\"']?[ \t]*:", sub("(^|[ \t])#.*", "", lines[section(lines, "report", config)]), perl = TRUE))
}
