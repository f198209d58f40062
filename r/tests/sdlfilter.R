# The program's statuses are conditions, a release is what the program releases, and nothing lies about afterwards.
library(sdlfilter)
if (!nzchar(Sys.getenv("SDLFILTER_BINARY"))) {
  message("skipped: SDLFILTER_BINARY names no program")
  quit(save = "no", status = 0)
}

Sys.umask("022")
work <- tempfile("work")
dir.create(work)
work <- normalizePath(work)
setwd(work)
writeLines("nMGAqW36qhGn2WhiWnVo/b2NkyZl0m90Ysv7+tCTDTo=", "test.key") # one for ever: a run ends as it always did
Sys.chmod("test.key", "600")

# Whatever an expression does, no folder and no file of it is left, and the umask is as it was.
clean <- function(code) {
  before <- list(list.files(tempdir()), Sys.umask())
  on.exit(stopifnot(identical(before, list(list.files(tempdir()), Sys.umask()))))
  code
}
caught <- function(code, class) tryCatch({ code; NULL }, condition = function(c) if (inherits(c, class)) c else stop("got ", paste(class(c), collapse = " "), ": ", conditionMessage(c)))

n <- 3000L
set.seed(7)
people <- data.frame(
  id = seq_len(n), name = paste0("canary \"", seq_len(n), "\",\nx"), wage = round(rlnorm(n, 6, 0.6), 2),
  region = factor(sample(c("north", "south", "e\u00e4st"), n, TRUE)), note = rep(c("", NA, "NA-of-R", " a,b \\ "), n / 4L),
  born = as.Date("1950-01-01") + seq_len(n), member = seq_len(n) %% 3L == 0L, share = seq_len(n) / 7, count = seq_len(n),
  check.names = FALSE)
people$count[5] <- NA
people$share[6] <- NA
names(people)[5] <- "a \"note\""
levels(people$region) <- c(levels(people$region), "nobody")

text <- c("version: 1", "name: r", "key: {file: test.key}", "identity: [id]", "unlisted: drop", "# source and sink do not matter to mask()",
  "source:", "  parquet:", "    path: nowhere.parquet", "columns:", "  id: {role: identifier}", "  wage: {role: sensitive, decimals: 2}",
  "  region: {role: other}", "  'a \"note\"': {role: other}", "  born: {role: other}", "  member: {role: other}", "  share: {role: other}", "  count: {role: other}",
  "masks:", "  - noise: {columns: [wage], sd: 20%}", "sink: {csv: {path: out.csv}}",
  "assess: {replicates: 4, intruder: {inversion: false}}", "gate: {rules: [{column: wage, min_efficiency: 0.5}]}")
writeLines(text, "p.yaml", useBytes = TRUE)

# A table comes back as it was, value by value, except for what is masked and what does not leave.
got <- clean(mask(people, "p.yaml"))
out <- got$released
stopifnot(identical(names(out), c("wage", "region", "a \"note\"", "born", "member", "share", "count")), nrow(out) == n)
for (name in c("a \"note\"", "born", "member", "share", "count")) stopifnot(identical(out[[name]], people[[name]]))
stopifnot(is.character(out$region), identical(out$region, as.character(people$region)))
stopifnot(!any(out$wage == people$wage), abs(cor(out$wage, people$wage) - 1) < 0.1, all(round(out$wage, 2) == out$wage))
stopifnot(got$report$records$released == n, isTRUE(got$report$gate$passed), inherits(got$report, "sdlfilter_report"))
stopifnot(!grepl("[0-9]{3}\\.[0-9]|canary", paste(capture.output(print(got$report)), collapse = "")))
# The same from a list, and the same as the program does with files.
config <- list(version = 1L, name = "r", key = list(file = "test.key"), identity = list("id"), unlisted = "drop",
  columns = list(id = list(role = "identifier"), wage = list(role = "sensitive", decimals = 2L), count = list(role = "other")),
  masks = list(list(noise = list(columns = list("wage"), sd = "20%"))), assess = list(replicates = 4L, intruder = list(inversion = FALSE)),
  gate = list(rules = list(list(column = "wage", min_efficiency = 0.5))))
again <- clean(mask(people, config))
stopifnot(identical(again$released$wage, out$wage))
write.csv(people[c("id", "wage", "count")], "in.csv", row.names = FALSE, na = "")
report <- clean(mask_file(c(config, list(source = list(csv = list(path = "in.csv")), sink = list(csv = list(path = "out.csv"))))))
stopifnot(identical(read.csv("out.csv")$wage, out$wage), as.character(file.info("out.csv")$mode) == "644", identical(attr(report, "files"), "out.csv"))
stopifnot(identical(clean(mask(people, config, set = list(masks.0.noise.sd = "20%")))$released$wage, out$wage))
# The order of the sink stays; factors lose the levels that do not occur.
shuffled <- sub("sink: .*", "sink: {csv: {path: out.csv}, order: shuffled}", text)
writeLines(shuffled, "s.yaml", useBytes = TRUE)
mixed <- clean(mask(people, "s.yaml"))$released
stopifnot(!identical(mixed$count, people$count), identical(sort(mixed$wage), sort(out$wage)))

# Statuses are conditions, and their words have no path of the private folder and no value.
strict <- within(config, gate$rules[[1L]]$min_efficiency <- 0.99)
e <- clean(caught(mask(people, strict), "sdlfilter_withheld"))
stopifnot(inherits(e, "sdlfilter_error"), inherits(e, "error"), grepl("min_efficiency|efficiency", conditionMessage(e)), inherits(e$report, "sdlfilter_report"))
e <- clean(caught(mask(people, within(config, masks[[1L]]$noise$sd <- "-1")), "sdlfilter_configuration_error"))
stopifnot(grepl("^masks\\[0\\]\\.noise\\.sd", conditionMessage(e)), !grepl("sdlfilter-|tmp", conditionMessage(e)))
writeLines(sub("sd: 20%", "sd: -1", text), "bad.yaml", useBytes = TRUE)
e <- clean(caught(mask(people, "bad.yaml"), "sdlfilter_configuration_error"))
stopifnot(grepl("(bad.yaml:20:", conditionMessage(e), fixed = TRUE))
e <- clean(caught(mask_file("nowhere.yaml"), "sdlfilter_configuration_error"))
e <- clean(caught(mask(people[setdiff(names(people), "wage")], "p.yaml"), "sdlfilter_configuration_error"))
stopifnot(!grepl("canary", conditionMessage(e)))
e <- clean(caught(mask(transform(people, wage = ifelse(id < 4L, NaN, wage)), config), "sdlfilter_configuration_error"))
stopifnot(conditionMessage(e) == "column wage: must be finite numbers, or NA")
for (wrong in list(list(1), "x", data.frame(), transform(people, wage = as.POSIXct(born)))) {
  e <- clean(caught(mask(wrong, config), "sdlfilter_configuration_error"))
}
writeLines(c("id,wage,count", "1,abc,1", sprintf("%d,%d,%d", 2:500, 1000:1498, 2:500)), "broken.csv")
warned <- clean(caught(mask_file(c(config, list(source = list(csv = list(path = "broken.csv", types = list(wage = "float64"))), sink = list(csv = list(path = "b.csv"))))),
                       "sdlfilter_quarantine"))
stopifnot(inherits(warned, "warning"), conditionMessage(warned) == "1 records could not be masked and are in quarantine")

# What ends R's own code in the middle leaves nothing behind either.
e <- clean(caught(sdlfilter:::in_private(function(folder) {
  stopifnot(as.character(file.info(folder)$mode) == "700")
  writeLines("secret", file.path(folder, "x"))
  made <- sdlfilter:::run("version", folder)$out
  stopifnot(as.character(file.info(c(made, file.path(folder, "stderr")))$mode) == "600", file.size(made) > 0)
  stopifnot(as.character(file.info(file.path(folder, "x"))$mode) == "600")
  signalCondition(structure(class = c("interrupt", "condition"), list()))
}), "interrupt"))

# Measures and the intruder.
measured <- clean(assess(people["wage"], out["wage"]))
stopifnot(inherits(measured, "sdlfilter_report"), abs(measured$columns$wage$utility$efficiency - got$report$columns$wage$utility$efficiency) < 0.1)
found <- clean(attack(original = people[c("wage", "share")][-6, ], released = cbind(out["wage"], people["share"])[-6, ], keys = "wage"))
stopifnot(inherits(found, "sdlfilter_attack"))
e <- clean(caught(attack(), "sdlfilter_configuration_error"))
e <- clean(caught(assess(people["count"], people["count"]), "sdlfilter_configuration_error"))
drawn <- clean(map(c(config, list(source = list(csv = list(path = "in.csv")), sink = list(csv = list(path = "none.csv")),
  map = list(column = "wage", vary = list(masks.0.noise.sd = list(from = "5%", to = "50%", steps = 3L)))))))
stopifnot(inherits(drawn, "sdlfilter_map"), startsWith(attr(drawn, "svg"), "<svg"), !file.exists("none.csv"))

# A program in the folder where one works is not run, by a relative entry of PATH either.
writeLines(c("#!/bin/sh", "exit 9"), "sdlfilter")
Sys.chmod("sdlfilter", "755")
own <- Sys.getenv(c("SDLFILTER_BINARY", "PATH"))
Sys.unsetenv("SDLFILTER_BINARY")
Sys.setenv(PATH = paste0(".:", own[["PATH"]]))
e <- clean(caught(mask(people, config), "sdlfilter_error"))
Sys.setenv(SDLFILTER_BINARY = own[["SDLFILTER_BINARY"]], PATH = own[["PATH"]])
stopifnot(program() == normalizePath(own[["SDLFILTER_BINARY"]]))
