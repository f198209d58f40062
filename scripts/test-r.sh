#!/usr/bin/env bash
# The R package: its tests, its vignette and R CMD check, with Debian's R and the program built from this tree.
set -euo pipefail
cd "$(dirname "$0")/.."
have() { command -v R >/dev/null && command -v pandoc >/dev/null && Rscript -e 'library(jsonlite); library(knitr); library(rmarkdown)' >/dev/null 2>&1; }
if ! have; then
  echo "installing R"
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends \
    r-base-core r-cran-jsonlite r-cran-knitr r-cran-rmarkdown; } >/dev/null
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CGO_ENABLED=0 ${GO:-go} build -o "$work/sdlfilter" ./cmd/sdlfilter
export SDLFILTER_BINARY=$work/sdlfilter LC_ALL=C.UTF-8
cp -r r "$work/r"
cd "$work"
R CMD build r >build.log 2>&1 || { cat build.log; exit 1; }
# The manual as PDF needs LaTeX. What is not on this machine is not asked for over the network.
_R_CHECK_CRAN_INCOMING_=false _R_CHECK_FORCE_SUGGESTS_=true R CMD check --no-manual sdlfilter_*.tar.gz >check.log 2>&1 || true
if ! grep -q '^Status: OK$' check.log; then
  cat check.log
  for log in sdlfilter.Rcheck/tests/*.fail sdlfilter.Rcheck/00install.out; do [[ ! -e $log ]] || tail -n 50 "$log"; done
  exit 1
fi
echo "the R package is clean: R CMD check has neither error nor warning nor note"
