#!/usr/bin/env bash
# Runs every fuzz target of the module, or of the packages named, for the given time
# (5s) or number of inputs (1500x) each:
#
#     scripts/fuzz.sh 1000000x ./connectors/parquet
#
# FUZZ=Footer runs the targets whose names begin with FuzzFooter. A run that ends on
# time with Go's own "context deadline exceeded" and no failing input has found
# nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-5s}
shift || true
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for package in $(go list "${@:-./...}"); do
  for target in $(go test -list '^Fuzz' "$package" | grep "^Fuzz${FUZZ:-}" || true); do
    echo "== $package $target"
    if ! go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1x "$package" >"$log" 2>&1; then
      cat "$log"
      if grep -q 'Failing input written' "$log" || ! grep -q 'context deadline exceeded' "$log"; then
        exit 1
      fi
    fi
    grep -E '^(ok|fuzz: elapsed.*execs)' "$log" | tail -1
  done
done
