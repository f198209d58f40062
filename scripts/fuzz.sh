#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-5s}
for package in $(go list ./...); do
  for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
    echo "== $package $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1x "$package"
  done
done
