#!/usr/bin/env bash
# Other libraries read what the program writes, and write what it reads: the Go
# tests of verify/interop/ (arrow/go v15, xitongsys/parquet-go), then pyarrow and DuckDB.
# HiGHS computes the ranges of hidden cells of tables anew.
#
#   scripts/test-interop.sh           everything
#   scripts/test-interop.sh NAME ...  the Python cases whose name holds NAME
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/interop
mkdir -p "$cache"
python=$(scripts/venv.sh "$cache/venv" pyarrow==26.0.1 duckdb==2.0.0 highspy==1.15.1)

# Files of few records and eighty columns: relations among these are sought anew in each, and garbage is a fifth of it.
export CGO_ENABLED=0 GOGC=400 SDLFILTER_BINARY=$cache/sdlfilter
go build -o "$SDLFILTER_BINARY" ./cmd/sdlfilter

passed=0 failed=0 status=0
if [[ $# == 0 ]]; then
  (cd verify/interop && go test -count=1 -v ./...) >"$cache/go.log" 2>&1 || status=1
  SDLFILTER_HIGHS=$python go test -count=1 -v -run HiGHS ./internal/tables/... >>"$cache/go.log" 2>&1 || status=1
  passed=$(grep -cE '^ *--- PASS' "$cache/go.log" || true)
  failed=$(grep -cE '^ *--- FAIL' "$cache/go.log" || true)
  [[ $status == 0 ]] || { cat "$cache/go.log"; [[ $failed != 0 ]] || failed=1; }
fi
PYTHONDONTWRITEBYTECODE=1 "$python" verify/interop/pyarrow_varieties.py "$@" | tee "$cache/python.log" || status=1
counts=$(sed -nE 's/^python: ([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$cache/python.log")
read -r p f <<<"${counts:-0 1}"
echo "$((passed + p)) passed, $((failed + f)) failed"
exit "$status"
