#!/usr/bin/env bash
# Measures sdlfilter map beside the same loop in R, and how time and memory grow, and
# prints Markdown for docs/performance.md. Arguments go to verify/bench:
#
#   scripts/bench-map.sh -runs 5 -r-replicates 10 -only side,bare,growth
#   scripts/bench-map.sh -records 2000 -replicates 20 -points 4 -runs 1
#
# R (Debian's r-base-core) is installed where it is missing. Everything it makes
# goes to .cache/bench. It needs a machine that does nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=.cache/bench
mkdir -p "$cache"
export CGO_ENABLED=0
if ! command -v Rscript >/dev/null && [[ "$*" != *-only* || "$*" == *side* ]]; then
  sudo=
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -q >&2 && $sudo apt-get install -qy --no-install-recommends r-base-core >&2
fi
go build -o "$cache/sdlfilter" ./cmd/sdlfilter
(cd verify && go build -o "$cache/bench" ./bench)
go test -c -o "$cache/assess.test" ./assess
exec "$cache/bench" map -dir "$cache" -filter "$cache/sdlfilter" -script scripts/bench-map.R -tests "$cache" "$@"
