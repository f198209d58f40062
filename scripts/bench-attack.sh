#!/usr/bin/env bash
# Measures linkage, the Bayesian intruder, nearest neighbours and uniqueness, and
# sdlfilter attack on two files, and prints Markdown for docs/performance.md.
# Arguments go to verify/bench:
#
#   scripts/bench-attack.sh -runs 5 -only library,command
#   scripts/bench-attack.sh -targets 100 -released 20000 -nearest 2000 -runs 1
#
# Everything it makes goes to .cache/bench. It needs a machine that does nothing
# else.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=.cache/bench
mkdir -p "$cache"
export CGO_ENABLED=0
go build -o "$cache/sdlfilter" ./cmd/sdlfilter
(cd verify && go build -o "$cache/bench" ./bench)
for package in intruder intruder/linkage intruder/uniqueness; do
  go test -c -o "$cache/$(basename "$package").test" "./internal/$package"
done
exec "$cache/bench" attack -dir "$cache" -filter "$cache/sdlfilter" -tests "$cache" "$@"
